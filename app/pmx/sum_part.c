#include "sum_part.h"

#include "sum_host.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_past(uint64_t start_ns, uint64_t now_ns)
{
	return start_ns != 0 && (now_ns == 0 || start_ns <= now_ns);
}

static bool has_begun(const struct trial *t, uint64_t now_ns)
{
	return t->kind == TRIAL_MEASURE && is_past(t->start_ns, now_ns);
}

// When a trial ended, or so far; 0 = unknown. A live result may name the end that is planned.
static uint64_t end_of(const struct trial *t, bool done, uint64_t now_ns)
{
	if (done || t->close_ns != 0)
		return t->end_ns;
	return t->end_ns != 0 && t->end_ns < now_ns ? t->end_ns : now_ns;
}

double trial_window_s(const struct result *r, const struct trial *t, uint64_t now_ns)
{
	bool done = strcmp(r->state, "done") == 0;
	uint64_t end_ns = is_past(t->start_ns, now_ns) ? end_of(t, done, now_ns) : 0;

	if (end_ns == 0)
		return NAN;
	return end_ns > t->start_ns ? (double)(end_ns - t->start_ns) / 1e9 : 0;
}

// Length of the measured trials; NAN when one has no known end.
static double window_of(const struct result *r, uint64_t now_ns)
{
	double window_s = 0;

	for (size_t t = 0; t < r->trial_count; t++) {
		const struct trial *trial = &r->trial[t];

		if (has_begun(trial, now_ns))
			window_s += trial_window_s(r, trial, now_ns);
	}
	return window_s;
}

double trial_rate_share(const struct trial *t, const struct ramp *ramp, double window_s)
{
	double ns = window_s * 1e9;
	double from = t->kind == TRIAL_MEASURE ? (double)t->rotated_ns : -ns;

	return ramp_share(ramp, from, from + ns);
}

// Mean of the measured trials.
static double rate_share_of(const struct result *r, const struct ramp *ramp, uint64_t now_ns)
{
	double due_s = 0, window_s = 0;

	for (size_t t = 0; t < r->trial_count; t++) {
		const struct trial *trial = &r->trial[t];
		double s = has_begun(trial, now_ns) ? trial_window_s(r, trial, now_ns) : NAN;

		if (!(s > 0))
			continue;
		due_s += s * trial_rate_share(trial, ramp, s);
		window_s += s;
	}
	return window_s > 0 ? due_s / window_s : 1;
}

// The part of that in which a layer was on.
static double on_of(const struct result *r, uint32_t layer, double window_s, uint64_t now_ns)
{
	bool done = strcmp(r->state, "done") == 0;
	double on_s = 0;

	if (r->rotation.layers == 0 || isnan(window_s))
		return window_s;
	for (size_t t = 0; t < r->trial_count; t++) {
		const struct trial *trial = &r->trial[t];
		uint64_t end_ns = end_of(trial, done, now_ns);

		if (has_begun(trial, now_ns))
			on_s += (double)result_on_ns(r, trial, layer, end_ns) / 1e9;
	}
	return on_s;
}

static bool measuring_began(const struct result *r, uint64_t now_ns)
{
	for (size_t t = 0; t < r->trial_count; t++)
		if (has_begun(&r->trial[t], now_ns))
			return true;
	return false;
}

static double known_or_nan(double v)
{
	return v >= 0 ? v : NAN;
}

static int take_queues(struct sum_host *h, const struct result *r, struct err *e)
{
	h->queue = calloc(r->queue_count ? r->queue_count : 1, sizeof(*h->queue));
	if (h->queue == NULL)
		return err_set(e, ENOMEM, "no memory for %zu queues", r->queue_count);
	h->queue_count = r->queue_count;
	for (uint32_t q = 0; q < r->queue_count; q++) {
		struct sum_queue *to = &h->queue[q];
		uint64_t busy_tsc = 0, total_tsc = 0;

		*to = (struct sum_queue){ .index = q, .lcore = COUNTER_UNKNOWN };
		for (size_t t = 0; t < r->trial_count; t++) {
			const struct queue_counts *from = &r->queue[q].trial[t];

			if (r->trial[t].kind != TRIAL_MEASURE)
				continue;
			to->lcore = from->lcore;
			to->requests_sent += from->requests_sent;
			to->requests_received += from->requests_received;
			to->replies_sent += from->replies_sent;
			to->replies_received += from->replies_received;
			to->off_queue += from->off_queue;
			to->tx_full += from->tx_full;
			busy_tsc += from->busy_tsc;
			total_tsc += from->total_tsc;
		}
		to->busy_pct = share_pct(busy_tsc, total_tsc);
		count_add(&h->off_queue, to->off_queue);
		count_add(&h->tx_full, to->tx_full);
		if (!isnan(to->busy_pct) && (isnan(h->busy_pct) || to->busy_pct > h->busy_pct)) {
			h->busy_pct = to->busy_pct;
			h->busiest_queue = q;
		}
	}
	return 0;
}

static void take_hops(struct sum_hops *to, const struct result *r)
{
	*to = (struct sum_hops){ .count = r->hop_count };
	for (size_t i = 0; i < r->hop_count; i++) {
		const struct result_hop *hop = &r->hop[i];

		to->silent += hop->silent_ns > 0;
		to->silences += hop->silences;
		to->changes += hop->changes;
		if (hop->silent_ns > to->worst.silent_ns)
			to->worst = *hop;
		if (hop->changes > to->moving.changes)
			to->moving = *hop;
	}
	if (to->silent > 0)
		ip_str(&to->worst.addr, to->silent_addr, sizeof(to->silent_addr));
}

static int take_host(struct sum_host *h, const struct result *r, uint64_t now_ns, struct err *e)
{
	snprintf(h->pmx_version, sizeof(h->pmx_version), "%s", r->pmx_version);
	snprintf(h->dpdk_version, sizeof(h->dpdk_version), "%s", r->dpdk_version);
	snprintf(h->driver, sizeof(h->driver), "%s", r->driver);
	snprintf(h->mac, sizeof(h->mac), "%s", r->mac);
	snprintf(h->state, sizeof(h->state), "%s", r->state);
	snprintf(h->ended_by, sizeof(h->ended_by), "%s", r->ended_by);
	h->steering = r->steering;
	h->steered = r->steered;
	memcpy(h->steering_why, r->steering_why, sizeof(h->steering_why));
	h->tsc_hz = r->tsc_hz;
	if (!measuring_began(r, now_ns)) {
		snprintf(h->failure, sizeof(h->failure),
			 "nothing measured: %s%s before the window began",
			 r->ended_by[0] != '\0' ? "ended by " : "it is ",
			 r->ended_by[0] != '\0' ? r->ended_by : r->state);
		return 0;
	}
	h->measured = true;
	h->window_s = window_of(r, now_ns);
	h->cpu_pct = known_or_nan(r->cpu_pct);
	h->cpu_max_pct = known_or_nan(r->cpu_max_pct);
	h->agent_cpu_pct = known_or_nan(r->agent_cpu_pct);
	h->cpus = r->cpus;
	h->icmp = r->icmp;
	take_hops(&h->hops, r);
	if (r->lateness != NULL && r->lateness->count > 0) {
		h->lateness_p99_ns = hist_percentile_ns(r->lateness, 99);
		h->lateness_max_ns = (double)r->lateness->max_ns;
	}
	memcpy(h->drop, r->drop, sizeof(h->drop));
	h->port = r->port;
	return take_queues(h, r, e);
}

static const struct sum_host host_template = {
	.window_s = NAN,
	.target = COUNTER_UNKNOWN,
	.paced_sent = COUNTER_UNKNOWN,
	.sent = COUNTER_UNKNOWN,
	.unsent = COUNTER_UNKNOWN,
	.delivered_to = COUNTER_UNKNOWN,
	.returned = COUNTER_UNKNOWN,
	.served = COUNTER_UNKNOWN,
	.replied = COUNTER_UNKNOWN,
	.reply_unsent = COUNTER_UNKNOWN,
	.lost = LOSS_UNKNOWN,
	.lost_forward = LOSS_UNKNOWN,
	.lost_back = LOSS_UNKNOWN,
	.lost_to = LOSS_UNKNOWN,
	.sent_pps = NAN,
	.returned_pps = NAN,
	.served_pps = NAN,
	.egress_l1_bps = NAN,
	.ingress_l1_bps = NAN,
	.achieved_pct = NAN,
	.loss_pct = NAN,
	.rtt_p99_ns = NAN,
	.cpu_pct = NAN,
	.cpu_max_pct = NAN,
	.agent_cpu_pct = NAN,
	.others_cpu_pct = NAN,
	.icmp = { .unreachable = COUNTER_UNKNOWN,
		  .too_big = COUNTER_UNKNOWN,
		  .expired = COUNTER_UNKNOWN },
	.hops = { .count = COUNTER_UNKNOWN,
		  .silent = COUNTER_UNKNOWN,
		  .silences = COUNTER_UNKNOWN,
		  .changes = COUNTER_UNKNOWN },
	.busy_pct = NAN,
	.lateness_p99_ns = NAN,
	.lateness_max_ns = NAN,
	.off_queue = COUNTER_UNKNOWN,
	.tx_full = COUNTER_UNKNOWN,
	.port = {
		.ipackets = COUNTER_UNKNOWN,
		.opackets = COUNTER_UNKNOWN,
		.ibytes = COUNTER_UNKNOWN,
		.obytes = COUNTER_UNKNOWN,
		.imissed = COUNTER_UNKNOWN,
		.ierrors = COUNTER_UNKNOWN,
		.oerrors = COUNTER_UNKNOWN,
		.rx_nombuf = COUNTER_UNKNOWN,
		.pause_rx = COUNTER_UNKNOWN,
		.pause_tx = COUNTER_UNKNOWN,
		.link_mbps = COUNTER_UNKNOWN,
		.mtu = COUNTER_UNKNOWN,
	},
};

struct sum_host host_unknown(uint32_t host)
{
	struct sum_host h = host_template;

	h.host = host;
	for (int i = 0; i < DROP_REASONS; i++)
		h.drop[i] = COUNTER_UNKNOWN;
	return h;
}

// Over the trials of one flow a count is known only if it is in each of them.
static void across(uint64_t *sum, uint64_t v)
{
	if (v == COUNTER_UNKNOWN)
		*sum = COUNTER_UNKNOWN;
	else if (*sum != COUNTER_UNKNOWN)
		*sum += v;
}

// NULL on no memory.
static struct hist_packed *sum_of_trials(const struct result *r, const struct result_flow_tx *tx)
{
	struct hist *h = malloc(sizeof(*h));
	struct hist_packed *sum;

	if (h == NULL)
		return NULL;
	hist_reset(h);
	for (size_t t = 0; t < r->trial_count; t++)
		if (r->trial[t].kind == TRIAL_MEASURE && tx->trial[t].rtt != NULL)
			hist_merge_packed(h, tx->trial[t].rtt);
	sum = hist_pack(h);
	free(h);
	return sum;
}

static double known_ns(double ns)
{
	return ns >= 0 ? ns : NAN;
}

// The round trips of a flow: of one measured trial, as usual, or of several together.
static int flow_rtt(struct part_tx *f, const struct result *r, const struct result_flow_tx *tx,
		    struct hist *all)
{
	const struct hist_packed *first = NULL;
	struct hist_packed *sum = NULL;
	bool several = false;

	for (size_t t = 0; t < r->trial_count; t++) {
		const struct hist_packed *h = tx->trial[t].rtt;

		if (r->trial[t].kind != TRIAL_MEASURE || h == NULL)
			continue;
		hist_merge_packed(all, h);
		several = several || first != NULL;
		first = first != NULL ? first : h;
	}
	if (several) {
		sum = sum_of_trials(r, tx);
		if (sum == NULL)
			return -ENOMEM;
		first = sum;
	}
	if (first == NULL)
		return 0;
	f->rtt_avg_ns = known_ns(hist_packed_mean_ns(first));
	f->rtt_p50_ns = hist_packed_percentile_ns(first, 50);
	f->rtt_p99_ns = hist_packed_percentile_ns(first, 99);
	f->rtt_p999_ns = hist_packed_percentile_ns(first, 99.9);
	f->rtt_max_ns = (double)first->max_ns;
	free(sum);
	return 0;
}

// Adds a trial's counters by size to *sum; none is none. 0 or -ENOMEM.
static int sizes_across(struct uints **sum, const struct uints *more)
{
	if (more == NULL)
		return 0;
	if (*sum == NULL)
		return uints_copy(sum, more);
	for (uint32_t i = 0; i < more->count && i < (*sum)->count; i++)
		(*sum)->v[i] += more->v[i];
	return 0;
}

static int take_mixes(struct sum_part *p, const struct result *r)
{
	if (r->mix_count == 0)
		return 0;
	p->mix = calloc(r->mix_count, sizeof(*p->mix));
	if (p->mix == NULL)
		return -ENOMEM;
	for (; p->mix_count < r->mix_count; p->mix_count++) {
		struct part_mix *m = &p->mix[p->mix_count];

		m->size = calloc(r->mix[p->mix_count].cycle->count, sizeof(*m->size));
		if (m->size == NULL)
			return -ENOMEM;
		m->count = mix_sizes(&r->mix[p->mix_count], m->size);
	}
	return 0;
}

static int take_tx(struct part_tx *f, const struct result *r, const struct result_flow_tx *tx,
		   struct hist *all)
{
	f->req_bytes = tx->req_bytes;
	f->rep_bytes = tx->rep_bytes;
	f->streams = tx->streams;
	f->rate_pps = tx->rate_pps;
	f->ttl_min = tx->ttl_min;
	f->ttl_max = tx->ttl_max;
	f->req_mix = tx->req_mix;
	f->rep_mix = tx->rep_mix;
	for (size_t t = 0; t < r->trial_count; t++) {
		const struct tx_counts *c = &tx->trial[t];

		if (r->trial[t].kind != TRIAL_MEASURE)
			continue;
		across(&f->sent, c->sent);
		across(&f->unsent, c->unsent);
		across(&f->returned, c->returned);
		across(&f->dup, c->dup);
		across(&f->reordered, c->reordered);
		across(&f->late, c->late);
		across(&f->off_queue, c->off_queue);
		if (sizes_across(&f->by_size, c->by_size) < 0)
			return -ENOMEM;
	}
	f->rtt_avg_ns = f->rtt_p50_ns = f->rtt_p99_ns = f->rtt_p999_ns = f->rtt_max_ns = NAN;
	return flow_rtt(f, r, tx, all);
}

static int take_rx(struct part_rx *f, const struct result *r, const struct result_flow_rx *rx)
{
	f->req_bytes = rx->req_bytes;
	f->rep_bytes = rx->rep_bytes;
	f->ttl_min = rx->ttl_min;
	f->ttl_max = rx->ttl_max;
	f->req_mix = rx->req_mix;
	f->rep_mix = rx->rep_mix;
	for (size_t t = 0; t < r->trial_count; t++) {
		const struct rx_counts *c = &rx->trial[t];

		if (r->trial[t].kind != TRIAL_MEASURE)
			continue;
		across(&f->delivered, c->delivered);
		across(&f->replied, c->replied);
		across(&f->reply_unsent, c->reply_unsent);
		across(&f->dup, c->dup);
		across(&f->reordered, c->reordered);
		across(&f->late, c->late);
		if (sizes_across(&f->by_size, c->by_size) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int find_peer(const struct names *names, const struct result *r, const char *peer,
		     uint32_t *host, struct err *e)
{
	*host = names_find(names, peer);
	if (*host != NAME_NONE)
		return 0;
	return err_set(
		e, EINVAL,
		"result of host '%s': peer '%s' is not a host of %s: summarize with the matrix "
		"that the run had",
		r->host, peer, names->matrix->file);
}

// False on no memory; of an empty one nothing is kept.
static bool keep(struct hist_packed **to, const struct hist *h)
{
	if (h->count == 0)
		return true;
	*to = hist_pack(h);
	return *to != NULL;
}

static int take_flows(struct sum_part *p, const struct names *names, const struct result *r,
		      uint64_t now_ns, struct err *e)
{
	struct hist *rtt = malloc(sizeof(*rtt)), *lateness = malloc(sizeof(*lateness));
	int ret = 0;

	p->tx = calloc(r->tx_count + 1, sizeof(*p->tx));
	p->rx = calloc(r->rx_count + 1, sizeof(*p->rx));
	if (p->tx == NULL || p->rx == NULL || rtt == NULL || lateness == NULL) {
		ret = err_set(e, ENOMEM, "no memory for %zu flows", r->tx_count + r->rx_count);
		goto out;
	}
	hist_reset(rtt);
	hist_reset(lateness);
	for (; ret == 0 && p->tx_count < r->tx_count; p->tx_count++) {
		struct part_tx *f = &p->tx[p->tx_count];
		f->layer = r->tx[p->tx_count].layer;
		f->on_s = on_of(r, f->layer, p->host.window_s, now_ns);
		ret = find_peer(names, r, r->tx[p->tx_count].peer, &f->peer, e);
		if (ret == 0 && take_tx(f, r, &r->tx[p->tx_count], rtt) < 0)
			ret = err_set(e, ENOMEM, "no memory for a histogram");
	}
	for (; ret == 0 && p->rx_count < r->rx_count; p->rx_count++) {
		struct part_rx *f = &p->rx[p->rx_count];
		f->layer = r->rx[p->rx_count].layer;
		f->on_s = on_of(r, f->layer, p->host.window_s, now_ns);
		ret = find_peer(names, r, r->rx[p->rx_count].peer, &f->peer, e);
		if (ret == 0 && take_rx(f, r, &r->rx[p->rx_count]) < 0)
			ret = err_set(e, ENOMEM, "no memory for counters by size");
	}
	if (r->lateness != NULL)
		hist_merge(lateness, r->lateness);
	if (rtt->count > 0)
		p->host.rtt_p99_ns = hist_percentile_ns(rtt, 99);
	if (ret == 0 && (!keep(&p->rtt, rtt) || !keep(&p->lateness, lateness)))
		ret = err_set(e, ENOMEM, "no memory for a histogram");
out:
	free(rtt);
	free(lateness);
	return ret;
}

int sum_part_make(const struct names *names, uint32_t host, const struct result *r, uint64_t now_ns,
		  struct sum_part **out, struct err *e)
{
	const char *name = names->matrix->host[host].name;
	struct sum_part *p = calloc(1, sizeof(*p));
	int ret;

	*out = NULL;
	if (p == NULL)
		return err_set(e, ENOMEM, "no memory for the figures of host '%s'", name);
	p->host = host_unknown(host);
	p->done = strcmp(r->state, "done") == 0;
	p->rotation = r->rotation;
	p->rate_share = rate_share_of(r, &names->matrix->traffic.pacing.ramp, now_ns);
	snprintf(p->run_id, sizeof(p->run_id), "%s", r->run_id);
	if (strcmp(r->host, name) != 0)
		ret = err_set(e, EINVAL, "result of host '%s' stands at the place of host '%s'",
			      r->host, name);
	else
		ret = take_host(&p->host, r, now_ns, e);
	if (ret == 0 && take_mixes(p, r) < 0)
		ret = err_set(e, ENOMEM, "no memory for the sizes of host '%s'", name);
	if (ret == 0 && p->host.measured)
		ret = take_flows(p, names, r, now_ns, e);
	if (ret < 0) {
		sum_part_free(p);
		return ret;
	}
	*out = p;
	return 0;
}

void sum_part_free(struct sum_part *p)
{
	if (p == NULL)
		return;
	free(p->host.queue);
	for (size_t i = 0; i < p->tx_count; i++)
		free(p->tx[i].by_size);
	for (size_t i = 0; i < p->rx_count; i++)
		free(p->rx[i].by_size);
	for (size_t i = 0; i < p->mix_count; i++)
		free(p->mix[i].size);
	free(p->mix);
	free(p->tx);
	free(p->rx);
	free(p->rtt);
	free(p->lateness);
	free(p);
}

#include "sum_host.h"

#include "units.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Below so few received packets per queue an even spread is not to be expected.
#define SKEW_MIN_PACKETS 1000

void count_add(uint64_t *sum, uint64_t v)
{
	if (v == COUNTER_UNKNOWN)
		return;
	*sum = *sum == COUNTER_UNKNOWN ? v : *sum + v;
}

void loss_add(int64_t *sum, int64_t v)
{
	if (v == LOSS_UNKNOWN)
		return;
	*sum = *sum == LOSS_UNKNOWN ? v : *sum + v;
}

void rate_add(double *sum, double v)
{
	if (isnan(v))
		return;
	*sum = isnan(*sum) ? v : *sum + v;
}

int64_t loss_between(uint64_t sent, uint64_t arrived)
{
	if (sent == COUNTER_UNKNOWN || arrived == COUNTER_UNKNOWN)
		return LOSS_UNKNOWN;
	return (int64_t)(sent - arrived);
}

double share_pct(uint64_t part, uint64_t whole)
{
	if (part == COUNTER_UNKNOWN || whole == COUNTER_UNKNOWN || whole == 0)
		return NAN;
	return 100.0 * (double)part / (double)whole;
}

double loss_share_pct(int64_t lost, uint64_t sent)
{
	if (lost == LOSS_UNKNOWN || sent == COUNTER_UNKNOWN || sent == 0)
		return NAN;
	return 100.0 * (double)lost / (double)sent;
}

double per_second(uint64_t count, double window_s)
{
	if (count == COUNTER_UNKNOWN || !(window_s > 0))
		return NAN;
	return (double)count / window_s;
}

// The run that most results are of: a host that was left out of this one may still hold the result
// of an earlier one, and those must not be added up.
static const char *run_of_most(const struct summary_input *in)
{
	size_t n = in->matrix->host_count, best = 0;
	const char *run = "";

	for (size_t i = 0; i < n; i++) {
		size_t same = 0;

		if (in->result[i] == NULL || strcmp(in->result[i]->run_id, run) == 0)
			continue;
		for (size_t k = i; k < n; k++)
			if (in->result[k] != NULL &&
			    strcmp(in->result[k]->run_id, in->result[i]->run_id) == 0)
				same++;
		if (same > best) {
			best = same;
			run = in->result[i]->run_id;
		}
	}
	return run;
}

static bool has_begun(const struct trial *t, uint64_t now_ns)
{
	return t->kind == TRIAL_MEASURE && t->start_ns != 0 &&
	       (now_ns == 0 || t->start_ns <= now_ns);
}

// When a trial ended, or so far; 0 = unknown. A live result may name the end that is planned.
static uint64_t end_of(const struct trial *t, bool done, uint64_t now_ns)
{
	if (done || t->close_ns != 0)
		return t->end_ns;
	return t->end_ns != 0 && t->end_ns < now_ns ? t->end_ns : now_ns;
}

// Length of the measured trials; NAN when one has no known end.
static double window_of(const struct result *r, uint64_t now_ns)
{
	bool done = strcmp(r->state, "done") == 0;
	double window_s = 0;

	for (size_t t = 0; t < r->trial_count; t++) {
		const struct trial *trial = &r->trial[t];

		if (!has_begun(trial, now_ns))
			continue;
		uint64_t end_ns = end_of(trial, done, now_ns);
		if (end_ns == 0)
			return NAN;
		if (end_ns > trial->start_ns)
			window_s += (double)(end_ns - trial->start_ns) / 1e9;
	}
	return window_s;
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

static int take_result(struct sum_host *h, const struct result *r, uint64_t now_ns, struct err *e)
{
	snprintf(h->pmx_version, sizeof(h->pmx_version), "%s", r->pmx_version);
	snprintf(h->dpdk_version, sizeof(h->dpdk_version), "%s", r->dpdk_version);
	snprintf(h->driver, sizeof(h->driver), "%s", r->driver);
	snprintf(h->mac, sizeof(h->mac), "%s", r->mac);
	snprintf(h->state, sizeof(h->state), "%s", r->state);
	snprintf(h->ended_by, sizeof(h->ended_by), "%s", r->ended_by);
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
	if (r->lateness != NULL && r->lateness->count > 0) {
		h->lateness_p99_ns = hist_percentile_ns(r->lateness, 99);
		h->lateness_max_ns = (double)r->lateness->max_ns;
	}
	memcpy(h->drop, r->drop, sizeof(h->drop));
	h->port = r->port;
	return take_queues(h, r, e);
}

static const struct port_counts port_unknown = {
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
};

static const struct sum_host host_unknown = {
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
	.busy_pct = NAN,
	.lateness_p99_ns = NAN,
	.lateness_max_ns = NAN,
	.off_queue = COUNTER_UNKNOWN,
	.tx_full = COUNTER_UNKNOWN,
};

// Frames that had no business here. Not: what the agent lacked an mbuf for, or ARP and ICMP in
// excess.
static uint64_t foreign_frames(const struct sum_host *h)
{
	uint64_t sum = 0;

	for (int i = 0; i < DROP_REASONS; i++)
		if (i != DROP_NOMBUF && i != DROP_SLOW && h->drop[i] != COUNTER_UNKNOWN)
			sum += h->drop[i];
	return sum;
}

int hosts_take(const struct summary_input *in, struct summary *s, struct err *e)
{
	size_t n = in->matrix->host_count, windows = 0;
	const char *run = run_of_most(in);
	double window_s = 0;

	s->host = malloc((n ? n : 1) * sizeof(*s->host));
	if (s->host == NULL)
		return err_set(e, ENOMEM, "no memory for %zu hosts", n);
	s->host_count = n;
	snprintf(s->run_id, sizeof(s->run_id), "%s", run);
	for (uint32_t i = 0; i < n; i++) {
		s->host[i] = host_unknown;
		s->host[i].host = i;
		s->host[i].port = port_unknown;
		for (int k = 0; k < DROP_REASONS; k++)
			s->host[i].drop[k] = COUNTER_UNKNOWN;
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct result *r = in->result[i];
		struct sum_host *h = &s->host[i];
		int ret;

		if (in->failure != NULL && in->failure[i] != NULL)
			snprintf(h->failure, sizeof(h->failure), "%s", in->failure[i]);
		if (r == NULL)
			continue;
		if (strcmp(r->host, in->matrix->host[i].name) != 0)
			return err_set(e, EINVAL,
				       "result of host '%s' stands at the place of host '%s'",
				       r->host, in->matrix->host[i].name);
		if (strcmp(r->run_id, run) != 0) {
			snprintf(h->failure, sizeof(h->failure),
				 "its result is of run '%s', the others are of run '%s'", r->run_id,
				 run);
			continue;
		}
		ret = take_result(h, r, in->now_ns != NULL ? in->now_ns[i] : 0, e);
		if (ret < 0)
			return ret;
		s->running = s->running || (h->measured && strcmp(r->state, "done") != 0);
		s->measured_hosts += h->measured;
		if (h->measured)
			count_add(&s->foreign, foreign_frames(h));
		if (h->window_s > 0) {
			window_s += h->window_s;
			windows++;
		}
		if (strcmp(r->ended_by, "lease") == 0 || strcmp(r->ended_by, "signal") == 0)
			s->partial = true;
	}
	if (windows > 0)
		s->window_s = window_s / (double)windows;
	s->partial = s->partial || s->measured_hosts < n;
	return 0;
}

void hosts_add_flow(struct summary *s, const struct sum_flow *f)
{
	struct sum_host *src = &s->host[f->src], *dst = &s->host[f->dst];

	src->tx_streams += f->streams;
	count_add(&src->target, f->target);
	if (f->target != COUNTER_UNKNOWN)
		count_add(&src->paced_sent, f->sent);
	count_add(&src->sent, f->sent);
	count_add(&src->unsent, f->unsent);
	count_add(&src->returned, f->returned);
	loss_add(&src->lost, f->lost);
	rate_add(&src->sent_pps, f->sent_pps);
	rate_add(&src->returned_pps, f->returned_pps);
	rate_add(&src->egress_l1_bps, l1_bps(f->sent_pps, f->req_bytes));
	rate_add(&src->ingress_l1_bps, l1_bps(f->returned_pps, f->rep_bytes));
	count_add(&src->delivered_to, f->delivered);
	loss_add(&src->lost_forward, f->lost_forward);
	loss_add(&src->lost_back, f->lost_back);

	loss_add(&dst->lost_to, f->lost_forward);
	count_add(&dst->served, f->delivered);
	count_add(&dst->replied, f->replied);
	count_add(&dst->reply_unsent, f->reply_unsent);
	rate_add(&dst->served_pps, f->delivered_pps);
	rate_add(&dst->egress_l1_bps, l1_bps(f->replied_pps, f->rep_bytes));
	rate_add(&dst->ingress_l1_bps, l1_bps(f->delivered_pps, f->req_bytes));

	// lost on the way to the destination, and on the way back to the source; sorted out by
	// cause in hosts_finish, when all of a host's losses are here
	if (f->lost_forward != LOSS_UNKNOWN && f->lost_forward > 0)
		dst->cause.unattributed += (uint64_t)f->lost_forward;
	if (f->lost_back != LOSS_UNKNOWN && f->lost_back > 0)
		src->cause.unattributed += (uint64_t)f->lost_back;
	if (f->late_forward != COUNTER_UNKNOWN)
		dst->cause.late += f->late_forward;
	if (f->late_back != COUNTER_UNKNOWN)
		src->cause.late += f->late_back;
}

static const struct sum_cause cause_unknown = {
	.late = COUNTER_UNKNOWN,
	.missed = COUNTER_UNKNOWN,
	.no_mbuf = COUNTER_UNKNOWN,
	.fabric = COUNTER_UNKNOWN,
	.unattributed = COUNTER_UNKNOWN,
};

static uint64_t take_at_most(uint64_t *from, uint64_t n)
{
	uint64_t taken = n < *from ? n : *from;

	*from -= taken;
	return taken;
}

static void attribute(struct sum_cause *c, const struct port_counts *port)
{
	bool missed = port->imissed != COUNTER_UNKNOWN;
	bool no_mbuf = port->rx_nombuf != COUNTER_UNKNOWN;

	c->late = take_at_most(&c->unattributed, c->late);
	if (missed)
		c->missed = take_at_most(&c->unattributed, port->imissed);
	if (no_mbuf)
		c->no_mbuf = take_at_most(&c->unattributed, port->rx_nombuf);
	if (missed && no_mbuf)
		c->fabric = take_at_most(&c->unattributed, c->unattributed);
}

void hosts_finish(struct summary *s)
{
	bool known = s->complete_flows > 0;

	s->cause = known ? (struct sum_cause){ 0 } : cause_unknown;
	for (size_t i = 0; i < s->host_count; i++) {
		struct sum_host *h = &s->host[i];

		h->achieved_pct = share_pct(h->paced_sent, h->target);
		h->loss_pct = loss_share_pct(h->lost, h->sent);
		attribute(&h->cause, &h->port);
		if (!known)
			continue;
		s->cause.late += h->cause.late;
		s->cause.missed += h->cause.missed;
		s->cause.no_mbuf += h->cause.no_mbuf;
		s->cause.fabric += h->cause.fabric;
		s->cause.unattributed += h->cause.unattributed;
	}
}

double queue_skew(const struct sum_host *h)
{
	uint64_t most = 0, sum = 0;

	for (size_t q = 0; q < h->queue_count; q++) {
		uint64_t n = h->queue[q].requests_received + h->queue[q].replies_received;
		sum += n;
		most = n > most ? n : most;
	}
	if (h->queue_count < 2 || sum < SKEW_MIN_PACKETS * h->queue_count)
		return NAN;
	return (double)most * (double)h->queue_count / (double)sum;
}

#include "collect.h"

#include "agent.h"
#include "collect_sizes.h"

#include <rte_version.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_closed(const struct queue *q, uint32_t trial)
{
	return atomic_load_explicit(&q->closed_trials, memory_order_acquire) > trial;
}

static void add_tx(struct tx_counts *to, const struct tx_counts *c)
{
	to->sent += c->sent;
	to->unsent += c->unsent;
	to->returned += c->returned;
	to->dup += c->dup;
	to->reordered += c->reordered;
	to->late += c->late;
	to->off_queue += c->off_queue;
}

static void add_rx(struct rx_counts *to, const struct rx_counts *c)
{
	to->delivered += c->delivered;
	to->reply_unsent += c->reply_unsent;
	to->dup += c->dup;
	to->reordered += c->reordered;
	to->late += c->late;
}

// What streams hold that no trial was given yet; also into the queue's own row.
static void add_open(struct result *r, const struct queue *q, uint32_t trial)
{
	struct queue_counts *c = &r->queue[q->id].trial[trial];
	for (uint32_t i = 0; q->sending && q->current == trial && i < q->tx_stream_count; i++) {
		uint64_t n = q->tx[i].seq - q->tx_mark[i];
		r->tx[q->tx[i].flow].trial[trial].sent += n;
		c->requests_sent += n;
	}
	for (uint32_t i = 0; i < q->tx_stream_all; i++) {
		const struct rx_stream *s = &q->reply[i];
		uint64_t n = s->trial == trial ? s->recv - q->reply_mark[i] : 0;
		r->tx[s->flow].trial[trial].returned += n;
		c->replies_received += n;
	}
	for (uint32_t i = 0; i < q->rx_stream_count; i++) {
		const struct rx_stream *s = &q->request[i];
		uint64_t n = s->trial == trial ? s->recv - q->request_mark[i] : 0;
		r->rx[s->flow].trial[trial].delivered += n;
		c->requests_received += n;
		c->replies_sent += n;
	}
}

// The row of a queue whose trial is not closed: of what its flows were booked; the streams' open
// counts come on top.
static void add_queue(struct queue_counts *c, const struct queue *q, uint32_t trial)
{
	const struct queue_trial *t = &q->trial[trial];
	bool sends = q->sending && q->current == trial;
	c->lcore = q->total.lcore;
	for (uint32_t f = 0; f < q->tx_flow_count; f++) {
		c->requests_sent += t->tx[f].sent;
		c->replies_received += t->tx[f].returned;
		c->off_queue += t->tx[f].off_queue;
	}
	for (uint32_t f = 0; f < q->rx_flow_count; f++) {
		c->requests_received += t->rx[f].delivered;
		c->replies_sent += t->rx[f].delivered - t->rx[f].reply_unsent;
	}
	if (!sends && q->current <= trial)
		return; // has not begun
	c->tx_full = q->total.tx_full - t->counts.tx_full;
	const struct queue_counts *end = sends ? &q->total : &t->counts_end;
	c->busy_tsc = end->busy_tsc - t->counts.busy_tsc;
	c->total_tsc = end->total_tsc - t->counts.total_tsc;
}

static int merge_hist(struct hist **into, const struct hist *h)
{
	if (h->min_ns == UINT64_MAX)
		return 0;
	if (*into == NULL) {
		*into = malloc(sizeof(**into));
		if (*into == NULL)
			return -1;
		hist_reset(*into);
	}
	hist_merge(*into, h);
	return 0;
}

// The round trips of one flow, of all queues.
static int pack_rtt(struct hist_packed **to, const struct agent *a, uint32_t trial, uint32_t flow,
		    struct hist *sum)
{
	hist_reset(sum);
	for (uint16_t q = 0; q < a->cfg.port.queues; q++) {
		const struct queue_trial *t = &a->queue[q]->trial[trial];
		if (t->rtt_stride == 1 && t->rtt[flow].min_ns != UINT64_MAX)
			hist_merge(sum, &t->rtt[flow]);
	}
	if (sum->count == 0)
		return 0;
	*to = hist_pack(sum);
	return *to != NULL ? 0 : -1;
}

static int fill_rtt(struct result *r, const struct agent *a, uint32_t rtt_of)
{
	struct hist *sum = malloc(sizeof(*sum));
	int bad = sum != NULL ? 0 : -1;
	for (uint32_t f = 0; bad == 0 && f < r->tx_count; f++)
		for (uint32_t t = 0; bad == 0 && t < r->trial_count; t++) {
			if (rtt_of != COLLECT_ALL && rtt_of != f)
				continue;
			bad = pack_rtt(&r->tx[f].trial[t].rtt, a, t, f, sum);
		}
	free(sum);
	return bad;
}

static int add_trial(struct result *r, const struct queue *q, uint32_t trial)
{
	const struct queue_trial *t = &q->trial[trial];
	for (uint32_t f = 0; f < q->tx_flow_count; f++)
		add_tx(&r->tx[f].trial[trial], &t->tx[f]);
	for (uint32_t f = 0; f < q->rx_flow_count; f++)
		add_rx(&r->rx[f].trial[trial], &t->rx[f]);
	int bad = collect_sizes(r, q, trial);
	if (is_closed(q, trial)) {
		r->queue[q->id].trial[trial] = t->counts;
	} else {
		add_queue(&r->queue[q->id].trial[trial], q, trial);
		add_open(r, q, trial);
	}
	return t->rtt_stride == 1 ? bad | merge_hist(&r->lateness, t->lateness) : bad;
}

static void add_ttls(struct result *r, const struct queue *q)
{
	for (uint32_t f = 0; f < q->tx_flow_count; f++)
		ttl_join(&r->tx[f].ttl_min, &r->tx[f].ttl_max, q->tx_flow[f].ttl.min,
			 q->tx_flow[f].ttl.max);
	for (uint32_t f = 0; f < q->rx_flow_count; f++)
		ttl_join(&r->rx[f].ttl_min, &r->rx[f].ttl_max, q->rx_flow[f].ttl.min,
			 q->rx_flow[f].ttl.max);
}

static void fill_trials(struct result *r, const struct agent *a)
{
	const struct queue *q = a->queue[0];
	for (uint32_t i = 0; i < r->trial_count; i++) {
		struct trial *t = &r->trial[i];
		const struct queue_trial *from = &q->trial[i];
		t->id = (uint8_t)i;
		t->kind = i + 1 == r->trial_count ? TRIAL_MEASURE : TRIAL_WARMUP;
		if (a->start_ns == 0 || from->end <= from->start)
			continue;
		t->start_ns = clock_to_ns(&a->clock, from->start);
		t->rotated_ns = t->kind == TRIAL_MEASURE ? a->rotated_ns : 0;
		t->end_ns = clock_to_ns(&a->clock, from->end);
		t->close_ns = is_closed(q, i) ? clock_to_ns(&a->clock, from->close) : 0;
	}
}

static void fill_flows(struct result *r, const struct hostcfg *c)
{
	for (size_t i = 0; i < c->tx_count; i++) {
		struct result_flow_tx *f = &r->tx[i];
		memcpy(f->peer, c->tx[i].peer, sizeof(f->peer));
		f->req_bytes = c->tx[i].req_bytes;
		f->rep_bytes = c->tx[i].rep_bytes;
		f->streams = c->tx[i].streams;
		f->rate_pps = c->tx[i].rate_pps;
		f->layer = c->tx[i].layer;
		f->req_mix = c->tx[i].req_mix;
		f->rep_mix = c->tx[i].rep_mix;
	}
	for (size_t i = 0; i < c->rx_count; i++) {
		struct result_flow_rx *f = &r->rx[i];
		memcpy(f->peer, c->rx[i].peer, sizeof(f->peer));
		f->req_bytes = c->rx[i].req_bytes;
		f->rep_bytes = c->rx[i].rep_bytes;
		f->layer = c->rx[i].layer;
		f->req_mix = c->rx[i].req_mix;
		f->rep_mix = c->rx[i].rep_mix;
	}
}

static void fill_host(struct result *r, const struct agent *a)
{
	memcpy(r->host, a->cfg.host, sizeof(r->host));
	memcpy(r->run_id, a->cfg.run_id, sizeof(r->run_id));
	snprintf(r->pmx_version, sizeof(r->pmx_version), "%s", PMX_VERSION);
	snprintf(r->dpdk_version, sizeof(r->dpdk_version), "%s", rte_version());
	snprintf(r->state, sizeof(r->state), "%s", a->state == AGENT_DONE ? "done" : "running");
	snprintf(r->ended_by, sizeof(r->ended_by), "%s", a->state == AGENT_DONE ? a->ended_by : "");
	snprintf(r->driver, sizeof(r->driver), "%s", a->port.driver);
	rte_ether_format_addr(r->mac, sizeof(r->mac), &a->port.mac);
	r->steering = a->cfg.port.steering;
	r->steered = a->port.claim.steered;
	memcpy(r->steering_why, a->port.claim.why, sizeof(r->steering_why));
	r->tsc_hz = a->clock.tsc_hz;
	r->icmp = a->neigh.icmp;
	r->rotation = a->cfg.rotation;
	port_read(&a->port, &r->port);
	if (!a->cpu_started)
		return;
	struct cpu_sample now;
	if (!a->cpu_ended)
		cpu_read(&now);
	struct cpu_usage u = cpu_between(&a->cpu_start, a->cpu_ended ? &a->cpu_end : &now);
	r->cpu_pct = u.mean;
	r->cpu_max_pct = u.max;
	r->agent_cpu_pct = u.process;
	r->cpus = a->cpu_start.count;
}

static int fill_hops(struct result *r, const struct neigh_table *t, uint64_t now_ns)
{
	r->hop = calloc(t->hop_count + 1, sizeof(*r->hop));
	if (r->hop == NULL)
		return -ENOMEM;
	r->hop_count = t->hop_count;
	for (size_t i = 0; i < t->hop_count; i++) {
		const struct hop *h = &t->hop[i];
		struct result_hop *to = &r->hop[i];
		to->addr = h->addr;
		if (h->known)
			rte_ether_format_addr(to->mac, sizeof(to->mac), &h->mac);
		to->changes = h->changes;
		to->silences = h->silences;
		to->silent_ns = hop_silent_ns(h, now_ns);
	}
	return 0;
}

int collect(const struct agent *a, uint32_t rtt_of, struct result *r)
{
	uint16_t queues = a->cfg.port.queues;
	if (a->queue[0] == NULL || result_alloc(r, a->queue[0]->trial_count, a->cfg.tx_count,
						a->cfg.rx_count, queues) != 0)
		return -ENOMEM;
	fill_host(r, a);
	fill_trials(r, a);
	fill_flows(r, &a->cfg);
	int bad = fill_rtt(r, a, rtt_of) | fill_hops(r, &a->neigh, clock_now_ns());
	bad |= collect_mixes(r, &a->cfg);
	bad |= collect_sizes_alloc(r, a->queue[0]);
	for (uint16_t q = 0; bad == 0 && q < queues; q++) {
		for (uint32_t t = 0; t < a->queue[q]->trial_count; t++)
			bad |= add_trial(r, a->queue[q], t);
		add_ttls(r, a->queue[q]);
		for (int d = 0; d < DROP_REASONS; d++)
			r->drop[d] += a->queue[q]->drop[d];
	}
	for (int d = 0; d < DROP_REASONS; d++)
		r->drop[d] += a->neigh.drop[d];
	for (size_t f = 0; f < r->rx_count; f++) {
		for (size_t t = 0; t < r->trial_count; t++)
			r->rx[f].trial[t].replied =
				r->rx[f].trial[t].delivered - r->rx[f].trial[t].reply_unsent;
	}
	if (bad != 0)
		result_free(r);
	return bad != 0 ? -ENOMEM : 0;
}

json_t *collect_result(const struct agent *a)
{
	struct result r;
	if (collect(a, COLLECT_ALL, &r) != 0)
		return NULL;
	json_t *j = result_write(&r);
	result_free(&r);
	return j;
}

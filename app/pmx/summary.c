#include "summary.h"

#include "names.h"
#include "pairs.h"
#include "pattern.h"
#include "sum_flow.h"
#include "sum_host.h"
#include "sum_layers.h"
#include "sum_steer.h"
#include "sum_part.h"
#include "sum_sizes.h"
#include "sizes.h"
#include "sum_window.h"
#include "units.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// What is only needed while building.
struct build {
	const struct summary_input *in;
	struct summary *s;
	struct sum_part **part; // [host_count]
	struct pair *asked;	// the flows that the matrix asks for
	size_t asked_count;
	struct pairs pairs;
	struct sum_index index;
	struct hist *total_rtt, *lateness; // merged
};

static void rtt_figures(struct sum_flow *f, const struct hist *h)
{
	if (h->count == 0)
		return;
	f->rtt_avg_ns = hist_mean_ns(h) >= 0 ? hist_mean_ns(h) : NAN;
	f->rtt_p50_ns = hist_percentile_ns(h, 50);
	f->rtt_p99_ns = hist_percentile_ns(h, 99);
	f->rtt_p999_ns = hist_percentile_ns(h, 99.9);
	f->rtt_max_ns = (double)h->max_ns;
}

// Packets due: those that the agent sent or booked as unsent. It books them when the trial ends, so
// that of a live one the rate must tell.
static uint64_t target_of(const struct sum_flow *f, const struct sum_part *p, double on_s)
{
	double due = f->target_pps * on_s;

	if (p->windowed)
		return isnan(due) ? COUNTER_UNKNOWN : (uint64_t)llround(due);
	if (isnan(f->target_pps) || f->sent == COUNTER_UNKNOWN || f->unsent == COUNTER_UNKNOWN)
		return COUNTER_UNKNOWN;
	if (p->done)
		return f->sent + f->unsent;
	if (isnan(due))
		return COUNTER_UNKNOWN;
	return due > (double)(f->sent + f->unsent) ? (uint64_t)llround(due) : f->sent + f->unsent;
}

// Of the window, in which the flow's layer was on.
static double share_of(double on_s, double window_s)
{
	return window_s > 0 ? on_s / window_s : NAN;
}

// What the source says of a flow.
static void flow_take_tx(struct sum_flow *f, const struct part_tx *tx, const struct sum_part *p,
			 const struct matrix *m, double window_s)
{
	// reports have the ramp in their rates
	double rate_share = p->windowed ? 1 : p->rate_share;

	sum_sizes_tx(f, tx, p, m);
	f->req_bytes = tx->req_bytes;
	f->rep_bytes = tx->rep_bytes;
	f->streams = tx->streams;
	f->ttl_back_min = tx->ttl_min;
	f->ttl_back_max = tx->ttl_max;
	f->sent = tx->sent;
	f->unsent = tx->unsent;
	f->returned = tx->returned;
	f->dup_back = tx->dup;
	f->reordered_back = tx->reordered;
	f->late_back = tx->late;
	f->off_queue = tx->off_queue;
	f->rtt_avg_ns = tx->rtt_avg_ns;
	f->rtt_p50_ns = tx->rtt_p50_ns;
	f->rtt_p99_ns = tx->rtt_p99_ns;
	f->rtt_p999_ns = tx->rtt_p999_ns;
	f->rtt_max_ns = tx->rtt_max_ns;
	f->target_pps = tx->rate_pps >= 0 ? tx->rate_pps * rate_share : NAN;
	f->target = target_of(f, p, tx->on_s);
	f->measured_s = f->sent != COUNTER_UNKNOWN && tx->on_s > 0 ? tx->on_s : NAN;
	f->sent_share = share_of(tx->on_s, window_s);
	f->sent_pps = per_second(f->sent, tx->on_s);
	f->returned_pps = per_second(f->returned, tx->on_s);
}

// What the destination says of it.
static void flow_take_rx(struct sum_flow *f, const struct part_rx *rx, const struct sum_part *p,
			 const struct matrix *m, double window_s)
{
	sum_sizes_rx(f, rx, p, m);
	f->req_bytes = rx->req_bytes;
	f->rep_bytes = rx->rep_bytes;
	f->ttl_forward_min = rx->ttl_min;
	f->ttl_forward_max = rx->ttl_max;
	f->delivered = rx->delivered;
	f->replied = rx->replied;
	f->reply_unsent = rx->reply_unsent;
	f->dup_forward = rx->dup;
	f->reordered_forward = rx->reordered;
	f->late_forward = rx->late;
	f->served_share = share_of(rx->on_s, window_s);
	f->delivered_pps = per_second(f->delivered, rx->on_s);
	f->replied_pps = per_second(f->replied, rx->on_s);
}

static void flow_losses(struct sum_flow *f, bool windowed)
{
	f->lost = loss_between(f->sent, f->returned);
	f->loss_pct = loss_share_pct(f->lost, f->sent);
	if (windowed) // the ends' intervals do not begin together
		return;
	f->lost_forward = loss_between(f->sent, f->delivered);
	f->lost_back = loss_between(f->replied, f->returned);
	f->loss_forward_pct = loss_share_pct(f->lost_forward, f->sent);
	f->loss_back_pct = loss_share_pct(f->lost_back, f->replied);
}

// sent >= delivered, delivered = replied + unsent replies, replied >= returned.
static bool flow_closes(const struct sum_flow *f)
{
	uint64_t unsent = f->reply_unsent == COUNTER_UNKNOWN ? 0 : f->reply_unsent;

	return f->lost_forward >= 0 && f->lost_back >= 0 && f->delivered == f->replied + unsent;
}

// All pairs that the matrix asks for or that a result tells about.
static int pairs_collect(struct build *b, struct err *e)
{
	const struct summary *s = b->s;
	int ret;

	ret = pairs_init(&b->pairs, s->host_count, e);
	if (ret < 0)
		return ret;
	ret = pattern_build(s->matrix, NULL, &b->asked, &b->asked_count, e);
	if (ret < 0)
		return ret;
	for (size_t i = 0; i < b->asked_count; i++)
		pairs_add(&b->pairs, b->asked[i].src, b->asked[i].dst);
	for (uint32_t h = 0; h < s->host_count; h++) {
		const struct sum_part *p = b->part[h];

		if (!s->host[h].measured)
			continue;
		for (size_t i = 0; i < p->tx_count; i++)
			pairs_add(&b->pairs, h, p->tx[i].peer);
		for (size_t i = 0; i < p->rx_count; i++)
			pairs_add(&b->pairs, p->rx[i].peer, h);
	}
	pairs_rank(&b->pairs);
	return 0;
}

// The same flows, by their layers.
static int flows_collect(struct build *b, struct err *e)
{
	const struct summary *s = b->s;
	int ret = sum_index_init(&b->index, &b->pairs, e);

	for (size_t i = 0; ret == 0 && i < b->asked_count; i++) {
		const struct pair *p = &b->asked[i];
		ret = sum_index_add(&b->index, p->src, p->dst, p->layer, e);
	}
	for (uint32_t h = 0; h < s->host_count; h++) {
		const struct sum_part *p = b->part[h];

		if (!s->host[h].measured)
			continue;
		for (size_t i = 0; ret == 0 && i < p->tx_count; i++)
			ret = sum_index_add(&b->index, h, p->tx[i].peer, p->tx[i].layer, e);
		for (size_t i = 0; ret == 0 && i < p->rx_count; i++)
			ret = sum_index_add(&b->index, p->rx[i].peer, h, p->rx[i].layer, e);
	}
	return ret;
}

static struct sum_flow *flow_of(const struct build *b, uint32_t src, uint32_t dst, uint32_t layer)
{
	return &b->s->flow[sum_index_find(&b->index, src, dst, layer)];
}

static int flows_alloc(struct build *b, struct err *e)
{
	struct summary *s = b->s;
	size_t n = sum_index_sort(&b->index);

	s->flow = malloc((n ? n : 1) * sizeof(*s->flow));
	if (s->flow == NULL)
		return err_set(e, ENOMEM, "no memory for %zu flows", n);
	s->flow_count = n;
	for (size_t i = 0; i < n; i++) {
		s->flow[i] = flow_unknown();
		s->flow[i].req_bytes = s->matrix->traffic.req_bytes;
		s->flow[i].rep_bytes = s->matrix->traffic.rep_bytes;
		s->flow[i].req_mean = request_mean(s->matrix);
		s->flow[i].rep_mean = reply_mean(s->matrix);
	}
	sum_index_name(&b->index, s->flow);
	// what a flow should have been; a result, where there is one, knows better
	for (size_t i = 0; i < b->asked_count; i++) {
		const struct pair *p = &b->asked[i];
		if (!p->rate.max && !(p->line_pct > 0) && !(p->rate.bps > 0))
			flow_of(b, p->src, p->dst, p->layer)->target_pps =
				p->rate.pps * ramp_share(&s->matrix->traffic.pacing.ramp, 0,
							 (double)s->matrix->timing.duration_ns);
	}
	return 0;
}

// Each flow's counters by size; the flows are taken already.
static int sizes_take(struct build *b, struct err *e)
{
	struct summary *s = b->s;
	int ret = sum_sizes_init(s, b->part, e);

	for (uint32_t h = 0; ret == 0 && s->size_count > 0 && h < s->host_count; h++) {
		const struct sum_part *p = b->part[h];

		if (!s->host[h].measured)
			continue;
		for (size_t i = 0; i < p->tx_count; i++)
			sum_sizes_add_tx(
				s, &p->tx[i], p,
				flow_complete(flow_of(b, h, p->tx[i].peer, p->tx[i].layer)));
		for (size_t i = 0; i < p->rx_count; i++)
			sum_sizes_add_rx(
				s, &p->rx[i], p,
				flow_complete(flow_of(b, p->rx[i].peer, h, p->rx[i].layer)));
	}
	return ret;
}

// They are not needed any more.
static void parts_drop(struct build *b)
{
	for (uint32_t h = 0; h < b->s->host_count; h++) {
		if (!b->s->host[h].measured)
			continue;
		sum_part_free(b->part[h]);
		b->part[h] = NULL;
	}
}

static void flows_take(struct build *b)
{
	struct summary *s = b->s;

	for (uint32_t h = 0; h < s->host_count; h++) {
		const struct sum_part *p = b->part[h];
		double window_s = s->host[h].window_s;

		if (!s->host[h].measured)
			continue;
		for (size_t i = 0; i < p->tx_count; i++)
			flow_take_tx(flow_of(b, h, p->tx[i].peer, p->tx[i].layer), &p->tx[i], p,
				     s->matrix, window_s);
		for (size_t i = 0; i < p->rx_count; i++)
			flow_take_rx(flow_of(b, p->rx[i].peer, h, p->rx[i].layer), &p->rx[i], p,
				     s->matrix, window_s);
		if (p->rtt != NULL)
			hist_merge_packed(b->total_rtt, p->rtt);
		if (p->lateness != NULL)
			hist_merge_packed(b->lateness, p->lateness);
	}
}

static void judge_flow(struct summary *s, uint32_t i)
{
	const struct sum_flow *f = &s->flow[i];
	bool negative = f->lost != LOSS_UNKNOWN && f->lost < 0;

	if (s->windowed) {
		s->complete_flows += f->sent != COUNTER_UNKNOWN && f->delivered != COUNTER_UNKNOWN;
	} else if (flow_complete(f)) {
		s->complete_flows++;
		flow_sum(&s->complete, f, f->sent_share, f->served_share);
		negative = negative || f->lost_forward < 0 || f->lost_back < 0;
		s->identity = s->identity && flow_closes(f);
	}
	// the two ends of live figures were read at different instants
	if (negative && !s->running) {
		if (s->invalid_flows++ == 0)
			s->first_invalid = i;
	}
	if (!isnan(f->rtt_p99_ns) && (s->rtt_worst_flow == UINT32_MAX ||
				      f->rtt_p99_ns > s->flow[s->rtt_worst_flow].rtt_p99_ns))
		s->rtt_worst_flow = i;
}

static void totals(struct summary *s)
{
	uint64_t paced_sent = COUNTER_UNKNOWN;

	for (uint32_t i = 0; i < s->flow_count; i++) {
		struct sum_flow *f = &s->flow[i];

		flow_losses(f, s->windowed);
		judge_flow(s, i);
		flow_sum(&s->total, f, f->sent_share, f->served_share);
		if (f->sent != COUNTER_UNKNOWN)
			s->measured_flows++;
		if (f->target != COUNTER_UNKNOWN)
			count_add(&paced_sent, f->sent);
		double sent_pps = f->sent_pps * f->sent_share;
		double replied_pps = f->replied_pps * f->served_share;
		rate_add(&s->request_l1_bps, sent_pps * 8 * f->sent_l1);
		rate_add(&s->request_payload_bps, sent_pps * 8 * f->req_mean);
		rate_add(&s->reply_l1_bps, replied_pps * 8 * f->replied_l1);
		rate_add(&s->reply_payload_bps, replied_pps * 8 * f->replied_mean);
		hosts_add_flow(s, f);
	}
	s->total.loss_pct = loss_share_pct(s->total.lost, s->total.sent);
	// a way's loss is known where both ends are, so its share is of those flows
	s->total.lost_forward = s->complete.lost_forward;
	s->total.lost_back = s->complete.lost_back;
	s->total.loss_forward_pct = loss_share_pct(s->complete.lost_forward, s->complete.sent);
	s->total.loss_back_pct = loss_share_pct(s->complete.lost_back, s->complete.replied);
	s->delivered_pct = share_pct(s->complete.delivered, s->complete.sent);
	s->achieved_pct = share_pct(paced_sent, s->total.target);
	s->identity = s->identity && s->complete_flows > 0;
	s->partial = s->partial || s->complete_flows < s->flow_count;
}

static struct hist *hist_new(void)
{
	struct hist *h = malloc(sizeof(*h));

	if (h != NULL)
		hist_reset(h);
	return h;
}

// Round trips of reports: their mean by replies, and the largest; there are no histograms.
static void window_rtt(struct summary *s)
{
	double sum = 0, weight = 0;

	for (size_t i = 0; i < s->flow_count; i++) {
		const struct sum_flow *f = &s->flow[i];

		if (isnan(f->rtt_avg_ns))
			continue;
		sum += f->rtt_avg_ns * (double)f->returned;
		weight += (double)f->returned;
		if (!(f->rtt_max_ns <= s->total.rtt_max_ns))
			s->total.rtt_max_ns = f->rtt_max_ns;
	}
	if (weight > 0)
		s->total.rtt_avg_ns = sum / weight;
}

static int build_alloc(struct build *b, struct err *e)
{
	b->total_rtt = hist_new();
	b->lateness = hist_new();
	if (b->total_rtt == NULL || b->lateness == NULL)
		return err_set(e, ENOMEM, "no memory for histograms");
	return 0;
}

static void build_free(struct build *b)
{
	free(b->total_rtt);
	free(b->lateness);
	pairs_free(&b->pairs);
	sum_index_free(&b->index);
	free(b->asked);
}

static int build(const struct summary_input *in, struct sum_part **part, struct summary *s,
		 struct err *e)
{
	struct build b = { .in = in, .s = s, .part = part };
	int ret;

	*s = (struct summary){
		.matrix = in->matrix,
		.window_s = NAN,
		.rotation = matrix_rotation(in->matrix),
		.skew_ns = in->skew_ns,
		.skew_error_ns = in->skew_error_ns,
		.first_invalid = UINT32_MAX,
		.total = flow_unknown(),
		.complete = flow_unknown(),
		.achieved_pct = NAN,
		.delivered_pct = NAN,
		.lateness_p99_ns = NAN,
		.lateness_max_ns = NAN,
		.foreign = COUNTER_UNKNOWN,
		.rtt_worst_flow = UINT32_MAX,
		.request_l1_bps = NAN,
		.request_payload_bps = NAN,
		.reply_l1_bps = NAN,
		.reply_payload_bps = NAN,
		.identity = true,
	};
	ret = build_alloc(&b, e);
	if (ret == 0)
		ret = hosts_take(in, part, s, e);
	if (ret == 0)
		ret = pairs_collect(&b, e);
	if (ret == 0)
		ret = flows_collect(&b, e);
	if (ret == 0)
		ret = flows_alloc(&b, e);
	if (ret == 0) {
		flows_take(&b);
		ret = sizes_take(&b, e);
		parts_drop(&b);
	}
	if (ret == 0) {
		totals(s);
		sum_sizes_finish(s);
		rtt_figures(&s->total, b.total_rtt);
		if (s->windowed)
			window_rtt(s);
		if (b.lateness->count > 0) {
			s->lateness_p99_ns = hist_percentile_ns(b.lateness, 99);
			s->lateness_max_ns = (double)b.lateness->max_ns;
		}
		hosts_finish(s);
		sum_steer(s);
		ret = layers_build(s, &b.index, e);
	}
	build_free(&b);
	if (ret < 0)
		summary_free(s);
	return ret;
}

// The parts of the results that are given as such.
static int parts_add(struct summary_parts *p, const struct summary_input *in, struct err *e)
{
	for (uint32_t i = 0; in->result != NULL && i < in->matrix->host_count; i++) {
		int ret;

		if (in->result[i] == NULL)
			continue;
		ret = summary_take(p, i, in->result[i], in->now_ns != NULL ? in->now_ns[i] : 0, e);
		if (ret < 0)
			return ret;
	}
	return 0;
}

int summary_build(const struct summary_input *in, struct summary *s, struct err *e)
{
	struct summary_parts mine = { 0 };
	int ret;

	*s = (struct summary){ 0 };
	if (in->parts != NULL)
		return build(in, in->parts->part, s, e);
	ret = summary_parts_init(&mine, in->matrix, e);
	if (ret == 0)
		ret = parts_add(&mine, in, e);
	if (ret == 0)
		ret = build(in, mine.part, s, e);
	summary_parts_free(&mine);
	return ret;
}

int summary_parts_init(struct summary_parts *p, const struct matrix *m, struct err *e)
{
	size_t n = m->host_count ? m->host_count : 1;

	*p = (struct summary_parts){ .hosts = m->host_count,
				     .part = calloc(n, sizeof(struct sum_part *)),
				     .names = malloc(sizeof(struct names)) };
	if (p->part == NULL || p->names == NULL) {
		free(p->names);
		p->names = NULL;
		summary_parts_free(p);
		return err_set(e, ENOMEM, "no memory for the figures of %zu hosts", m->host_count);
	}
	int ret = names_init(p->names, m, e);
	if (ret < 0)
		summary_parts_free(p);
	return ret;
}

int summary_take(struct summary_parts *p, uint32_t host, const struct result *r, uint64_t now_ns,
		 struct err *e)
{
	sum_part_free(p->part[host]);
	return sum_part_make(p->names, host, r, now_ns, &p->part[host], e);
}

int summary_take_window(struct summary_parts *p, uint32_t host, const char *text, size_t len,
			uint64_t window_ns, uint64_t interval_ns, struct err *e)
{
	sum_part_free(p->part[host]);
	return sum_window_make(p->names, host, text, len, window_ns, interval_ns, &p->part[host],
			       e);
}

void summary_parts_free(struct summary_parts *p)
{
	for (size_t i = 0; p->part != NULL && i < p->hosts; i++)
		sum_part_free(p->part[i]);
	free(p->part);
	if (p->names != NULL)
		names_free(p->names);
	free(p->names);
	*p = (struct summary_parts){ 0 };
}

void summary_free(struct summary *s)
{
	for (size_t i = 0; s->host != NULL && i < s->host_count; i++)
		free(s->host[i].queue);
	free(s->host);
	free(s->flow);
	free(s->layer);
	free(s->size);
	*s = (struct summary){ 0 };
}

#include "summary.h"

#include "names.h"
#include "pairs.h"
#include "pattern.h"
#include "sum_host.h"
#include "units.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// What is only needed while building.
struct build {
	const struct summary_input *in;
	struct summary *s;
	struct names names;
	struct pair *asked; // the flows that the matrix asks for
	size_t asked_count;
	struct pairs pairs;
	struct hist *flow_rtt, *host_rtt, *total_rtt, *lateness; // scratch and merged
};

static const struct sum_flow flow_unknown = {
	.target_pps = NAN,
	.target = COUNTER_UNKNOWN,
	.sent = COUNTER_UNKNOWN,
	.unsent = COUNTER_UNKNOWN,
	.delivered = COUNTER_UNKNOWN,
	.replied = COUNTER_UNKNOWN,
	.reply_unsent = COUNTER_UNKNOWN,
	.returned = COUNTER_UNKNOWN,
	.lost = LOSS_UNKNOWN,
	.lost_forward = LOSS_UNKNOWN,
	.lost_back = LOSS_UNKNOWN,
	.dup_forward = COUNTER_UNKNOWN,
	.dup_back = COUNTER_UNKNOWN,
	.reordered_forward = COUNTER_UNKNOWN,
	.reordered_back = COUNTER_UNKNOWN,
	.late_forward = COUNTER_UNKNOWN,
	.late_back = COUNTER_UNKNOWN,
	.off_queue = COUNTER_UNKNOWN,
	.sent_pps = NAN,
	.delivered_pps = NAN,
	.replied_pps = NAN,
	.returned_pps = NAN,
	.loss_pct = NAN,
	.loss_forward_pct = NAN,
	.loss_back_pct = NAN,
	.rtt_avg_ns = NAN,
	.rtt_p50_ns = NAN,
	.rtt_p99_ns = NAN,
	.rtt_p999_ns = NAN,
	.rtt_max_ns = NAN,
};

// Over the trials of one flow a count is known only if it is in each of them.
static void across(uint64_t *sum, uint64_t v)
{
	if (v == COUNTER_UNKNOWN)
		*sum = COUNTER_UNKNOWN;
	else if (*sum != COUNTER_UNKNOWN)
		*sum += v;
}

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
static uint64_t target_of(const struct sum_flow *f, const struct result *r, double window_s)
{
	double due = f->target_pps * window_s;

	if (isnan(f->target_pps) || f->sent == COUNTER_UNKNOWN || f->unsent == COUNTER_UNKNOWN)
		return COUNTER_UNKNOWN;
	if (strcmp(r->state, "done") == 0)
		return f->sent + f->unsent;
	if (isnan(due))
		return COUNTER_UNKNOWN;
	return due > (double)(f->sent + f->unsent) ? (uint64_t)llround(due) : f->sent + f->unsent;
}

// What the source says of a flow.
static void flow_take_tx(struct build *b, struct sum_flow *f, const struct result *r,
			 const struct result_flow_tx *tx, double window_s)
{
	bool rtt = false;

	f->req_bytes = tx->req_bytes;
	f->rep_bytes = tx->rep_bytes;
	f->streams = tx->streams;
	f->sent = f->unsent = f->returned = 0;
	f->dup_back = f->reordered_back = f->late_back = f->off_queue = 0;
	for (size_t t = 0; t < r->trial_count; t++) {
		const struct tx_counts *c = &tx->trial[t];

		if (r->trial[t].kind != TRIAL_MEASURE)
			continue;
		across(&f->sent, c->sent);
		across(&f->unsent, c->unsent);
		across(&f->returned, c->returned);
		across(&f->dup_back, c->dup);
		across(&f->reordered_back, c->reordered);
		across(&f->late_back, c->late);
		across(&f->off_queue, c->off_queue);
		if (c->rtt == NULL)
			continue;
		if (!rtt)
			hist_reset(b->flow_rtt);
		rtt = true;
		hist_merge(b->flow_rtt, c->rtt);
	}
	if (rtt) {
		rtt_figures(f, b->flow_rtt);
		hist_merge(b->host_rtt, b->flow_rtt);
	}
	f->target_pps = tx->rate_pps >= 0 ? tx->rate_pps : NAN;
	f->target = target_of(f, r, window_s);
	f->sent_pps = per_second(f->sent, window_s);
	f->returned_pps = per_second(f->returned, window_s);
}

// What the destination says of it.
static void flow_take_rx(struct sum_flow *f, const struct result *r,
			 const struct result_flow_rx *rx, double window_s)
{
	f->req_bytes = rx->req_bytes;
	f->rep_bytes = rx->rep_bytes;
	f->delivered = f->replied = f->reply_unsent = 0;
	f->dup_forward = f->reordered_forward = f->late_forward = 0;
	for (size_t t = 0; t < r->trial_count; t++) {
		const struct rx_counts *c = &rx->trial[t];

		if (r->trial[t].kind != TRIAL_MEASURE)
			continue;
		across(&f->delivered, c->delivered);
		across(&f->replied, c->replied);
		across(&f->reply_unsent, c->reply_unsent);
		across(&f->dup_forward, c->dup);
		across(&f->reordered_forward, c->reordered);
		across(&f->late_forward, c->late);
	}
	f->delivered_pps = per_second(f->delivered, window_s);
	f->replied_pps = per_second(f->replied, window_s);
}

static void flow_losses(struct sum_flow *f)
{
	f->lost = loss_between(f->sent, f->returned);
	f->lost_forward = loss_between(f->sent, f->delivered);
	f->lost_back = loss_between(f->replied, f->returned);
	f->loss_pct = loss_share_pct(f->lost, f->sent);
	f->loss_forward_pct = loss_share_pct(f->lost_forward, f->sent);
	f->loss_back_pct = loss_share_pct(f->lost_back, f->replied);
}

static bool flow_complete(const struct sum_flow *f)
{
	return f->sent != COUNTER_UNKNOWN && f->returned != COUNTER_UNKNOWN &&
	       f->delivered != COUNTER_UNKNOWN && f->replied != COUNTER_UNKNOWN;
}

// sent >= delivered, delivered = replied + unsent replies, replied >= returned.
static bool flow_closes(const struct sum_flow *f)
{
	uint64_t unsent = f->reply_unsent == COUNTER_UNKNOWN ? 0 : f->reply_unsent;

	return f->lost_forward >= 0 && f->lost_back >= 0 && f->delivered == f->replied + unsent;
}

static int peer_find(const struct build *b, const struct result *r, const char *peer,
		     uint32_t *host, struct err *e)
{
	*host = names_find(&b->names, peer);
	if (*host != NAME_NONE)
		return 0;
	return err_set(
		e, EINVAL,
		"result of host '%s': peer '%s' is not a host of %s: summarize with the matrix "
		"that the run had",
		r->host, peer, b->in->matrix->file);
}

// All pairs that the matrix asks for or that a result tells about.
static int pairs_collect(struct build *b, struct err *e)
{
	const struct summary *s = b->s;
	uint32_t peer;
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
		const struct result *r = b->in->result[h];

		if (!s->host[h].measured)
			continue;
		for (size_t i = 0; i < r->tx_count; i++) {
			ret = peer_find(b, r, r->tx[i].peer, &peer, e);
			if (ret < 0)
				return ret;
			pairs_add(&b->pairs, h, peer);
		}
		for (size_t i = 0; i < r->rx_count; i++) {
			ret = peer_find(b, r, r->rx[i].peer, &peer, e);
			if (ret < 0)
				return ret;
			pairs_add(&b->pairs, peer, h);
		}
	}
	pairs_rank(&b->pairs);
	return 0;
}

static int flows_alloc(struct build *b, struct err *e)
{
	struct summary *s = b->s;
	size_t n = b->pairs.count;

	s->flow = malloc((n ? n : 1) * sizeof(*s->flow));
	if (s->flow == NULL)
		return err_set(e, ENOMEM, "no memory for %zu flows", n);
	s->flow_count = n;
	for (uint32_t src = 0; src < s->host_count; src++) {
		for (uint32_t dst = 0; dst < s->host_count; dst++) {
			uint32_t at = pairs_index(&b->pairs, src, dst);
			if (at == PAIR_NONE)
				continue;
			s->flow[at] = flow_unknown;
			s->flow[at].src = src;
			s->flow[at].dst = dst;
			s->flow[at].req_bytes = s->matrix->traffic.req_bytes;
			s->flow[at].rep_bytes = s->matrix->traffic.rep_bytes;
		}
	}
	// what a flow should have been; a result, where there is one, knows better
	for (size_t i = 0; i < b->asked_count; i++) {
		const struct pair *p = &b->asked[i];
		if (!p->rate.max && !(p->line_pct > 0))
			s->flow[pairs_index(&b->pairs, p->src, p->dst)].target_pps = p->rate.pps;
	}
	return 0;
}

static struct sum_flow *flow_between(const struct build *b, uint32_t src, uint32_t dst)
{
	return &b->s->flow[pairs_index(&b->pairs, src, dst)];
}

static void flows_take(struct build *b)
{
	struct summary *s = b->s;

	for (uint32_t h = 0; h < s->host_count; h++) {
		const struct result *r = b->in->result[h];
		struct sum_host *host = &s->host[h];

		if (!host->measured)
			continue;
		hist_reset(b->host_rtt);
		for (size_t i = 0; i < r->tx_count; i++) {
			uint32_t peer = names_find(&b->names, r->tx[i].peer);
			flow_take_tx(b, flow_between(b, h, peer), r, &r->tx[i], host->window_s);
		}
		for (size_t i = 0; i < r->rx_count; i++) {
			uint32_t peer = names_find(&b->names, r->rx[i].peer);
			flow_take_rx(flow_between(b, peer, h), r, &r->rx[i], host->window_s);
		}
		if (b->host_rtt->count > 0) {
			host->rtt_p99_ns = hist_percentile_ns(b->host_rtt, 99);
			hist_merge(b->total_rtt, b->host_rtt);
		}
		if (r->lateness != NULL && r->lateness->count > 0)
			hist_merge(b->lateness, r->lateness);
	}
}

static void sum_counts(struct sum_flow *sum, const struct sum_flow *f)
{
	count_add(&sum->target, f->target);
	count_add(&sum->sent, f->sent);
	count_add(&sum->unsent, f->unsent);
	count_add(&sum->delivered, f->delivered);
	count_add(&sum->replied, f->replied);
	count_add(&sum->reply_unsent, f->reply_unsent);
	count_add(&sum->returned, f->returned);
	loss_add(&sum->lost, f->lost);
	loss_add(&sum->lost_forward, f->lost_forward);
	loss_add(&sum->lost_back, f->lost_back);
	count_add(&sum->dup_forward, f->dup_forward);
	count_add(&sum->dup_back, f->dup_back);
	count_add(&sum->reordered_forward, f->reordered_forward);
	count_add(&sum->reordered_back, f->reordered_back);
	count_add(&sum->late_forward, f->late_forward);
	count_add(&sum->late_back, f->late_back);
	count_add(&sum->off_queue, f->off_queue);
	if (f->target != COUNTER_UNKNOWN)
		rate_add(&sum->target_pps, f->target_pps);
	rate_add(&sum->sent_pps, f->sent_pps);
	rate_add(&sum->delivered_pps, f->delivered_pps);
	rate_add(&sum->replied_pps, f->replied_pps);
	rate_add(&sum->returned_pps, f->returned_pps);
}

static void judge_flow(struct summary *s, uint32_t i)
{
	const struct sum_flow *f = &s->flow[i];
	bool negative = f->lost != LOSS_UNKNOWN && f->lost < 0;

	if (flow_complete(f)) {
		s->complete_flows++;
		sum_counts(&s->complete, f);
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

		flow_losses(f);
		judge_flow(s, i);
		sum_counts(&s->total, f);
		if (f->sent != COUNTER_UNKNOWN)
			s->measured_flows++;
		if (f->target != COUNTER_UNKNOWN)
			count_add(&paced_sent, f->sent);
		rate_add(&s->request_l1_bps, l1_bps(f->sent_pps, f->req_bytes));
		rate_add(&s->request_payload_bps, payload_bps(f->sent_pps, f->req_bytes));
		rate_add(&s->reply_l1_bps, l1_bps(f->replied_pps, f->rep_bytes));
		rate_add(&s->reply_payload_bps, payload_bps(f->replied_pps, f->rep_bytes));
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

static int build_alloc(struct build *b, struct err *e)
{
	struct hist **const scratch[] = { &b->flow_rtt, &b->host_rtt, &b->total_rtt, &b->lateness };

	for (size_t i = 0; i < sizeof(scratch) / sizeof(scratch[0]); i++) {
		*scratch[i] = malloc(sizeof(struct hist));
		if (*scratch[i] == NULL)
			return err_set(e, ENOMEM, "no memory for histograms");
		hist_reset(*scratch[i]);
	}
	return names_init(&b->names, b->in->matrix, e);
}

static void build_free(struct build *b)
{
	free(b->flow_rtt);
	free(b->host_rtt);
	free(b->total_rtt);
	free(b->lateness);
	names_free(&b->names);
	pairs_free(&b->pairs);
	free(b->asked);
}

int summary_build(const struct summary_input *in, struct summary *s, struct err *e)
{
	struct build b = { .in = in, .s = s };
	int ret;

	*s = (struct summary){
		.matrix = in->matrix,
		.window_s = NAN,
		.skew_ns = in->skew_ns,
		.skew_error_ns = in->skew_error_ns,
		.first_invalid = UINT32_MAX,
		.total = flow_unknown,
		.complete = flow_unknown,
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
		ret = hosts_take(in, s, e);
	if (ret == 0)
		ret = pairs_collect(&b, e);
	if (ret == 0)
		ret = flows_alloc(&b, e);
	if (ret == 0) {
		flows_take(&b);
		totals(s);
		rtt_figures(&s->total, b.total_rtt);
		if (b.lateness->count > 0) {
			s->lateness_p99_ns = hist_percentile_ns(b.lateness, 99);
			s->lateness_max_ns = (double)b.lateness->max_ns;
		}
		hosts_finish(s);
	}
	build_free(&b);
	if (ret < 0)
		summary_free(s);
	return ret;
}

void summary_free(struct summary *s)
{
	for (size_t i = 0; s->host != NULL && i < s->host_count; i++)
		free(s->host[i].queue);
	free(s->host);
	free(s->flow);
	*s = (struct summary){ 0 };
}

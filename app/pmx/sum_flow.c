#include "sum_flow.h"

#include "sum_host.h"

#include <math.h>

static const struct sum_flow unknown = {
	.req_mean = NAN,
	.rep_mean = NAN,
	.replied_mean = NAN,
	.sent_l1 = NAN,
	.delivered_l1 = NAN,
	.replied_l1 = NAN,
	.returned_l1 = NAN,
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
	.measured_s = NAN,
	.covered_s = NAN,
	.sent_share = 1,
	.served_share = 1,
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

struct sum_flow flow_unknown(void)
{
	return unknown;
}

bool flow_complete(const struct sum_flow *f)
{
	return f->sent != COUNTER_UNKNOWN && f->returned != COUNTER_UNKNOWN &&
	       f->delivered != COUNTER_UNKNOWN && f->replied != COUNTER_UNKNOWN;
}

void flow_sum(struct sum_flow *sum, const struct sum_flow *f, double sent_share,
	      double served_share)
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
		rate_add(&sum->target_pps, f->target_pps * sent_share);
	rate_add(&sum->sent_pps, f->sent_pps * sent_share);
	rate_add(&sum->returned_pps, f->returned_pps * sent_share);
	rate_add(&sum->delivered_pps, f->delivered_pps * served_share);
	rate_add(&sum->replied_pps, f->replied_pps * served_share);
}

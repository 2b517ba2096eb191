#include "tables.h"

#include "columns.h"

#include <math.h>

#define ROW summary

static struct cell returned_pct(const void *ctx, const void *item)
{
	const struct summary *s = item;

	(void)ctx;
	return cell_real(100 - s->total.loss_pct);
}

static struct cell both_pps(const void *ctx, const void *item)
{
	const struct summary *s = item;

	(void)ctx;
	return cell_real(s->total.sent_pps + s->total.replied_pps);
}

static struct cell both_l1(const void *ctx, const void *item)
{
	const struct summary *s = item;

	(void)ctx;
	return cell_real((s->request_l1_bps + s->reply_l1_bps) / BPS_PER_GBPS);
}

static struct cell both_payload(const void *ctx, const void *item)
{
	const struct summary *s = item;

	(void)ctx;
	return cell_real((s->request_payload_bps + s->reply_payload_bps) / BPS_PER_GBPS);
}

// Live figures have packets in flight: whether they will come is not known yet.
static struct cell closes(const void *ctx, const void *item)
{
	const struct summary *s = item;

	(void)ctx;
	if (s->complete_flows == 0 || s->running)
		return (struct cell){ .kind = CELL_NONE };
	return cell_bool(s->identity);
}

static const struct sum_flow *worst(const struct summary *s)
{
	return s->rtt_worst_flow != UINT32_MAX ? &s->flow[s->rtt_worst_flow] : NULL;
}

static struct cell worst_src(const void *ctx, const void *item)
{
	const struct summary *s = item;

	(void)ctx;
	return cell_text(worst(s) != NULL ? s->matrix->host[worst(s)->src].name : NULL);
}

static struct cell worst_dst(const void *ctx, const void *item)
{
	const struct summary *s = item;

	(void)ctx;
	return cell_text(worst(s) != NULL ? s->matrix->host[worst(s)->dst].name : NULL);
}

static struct cell worst_p99(const void *ctx, const void *item)
{
	const struct summary *s = item;

	(void)ctx;
	return cell_real(worst(s) != NULL ? worst(s)->rtt_p99_ns / NS_PER_US : NAN);
}

static const struct column totals_column[] = {
	{ PACKETS("sent", "sent"), AT(U64, total.sent) },
	{ PPS("sent_pps", "sent"), AT(DOUBLE, total.sent_pps) },
	{ GBPS("request_l1_gbps", "wire"), AT(DOUBLE, request_l1_bps) },
	{ GBPS("request_payload_gbps", "payload"), AT(DOUBLE, request_payload_bps) },
	{ PACKETS("delivered", "delivered"), AT(U64, total.delivered) },
	{ PPS("delivered_pps", "delivered"), AT(DOUBLE, total.delivered_pps) },
	{ PCT("delivered_pct", "of sent", 3), AT(DOUBLE, delivered_pct) },
	{ PACKETS("replied", "replied"), AT(U64, total.replied) },
	{ PPS("replied_pps", "replied"), AT(DOUBLE, total.replied_pps) },
	{ GBPS("reply_l1_gbps", "wire"), AT(DOUBLE, reply_l1_bps) },
	{ GBPS("reply_payload_gbps", "payload"), AT(DOUBLE, reply_payload_bps) },
	{ PACKETS("returned", "returned"), AT(U64, total.returned) },
	{ PPS("returned_pps", "returned"), AT(DOUBLE, total.returned_pps) },
	{ PCT("returned_pct", "of sent", 3), MADE(returned_pct) },
	{ PACKETS("target", "target"), AT(U64, total.target) },
	{ PPS("target_pps", "target"), AT(DOUBLE, total.target_pps) },
	{ PCT("achieved_pct", "achieved", 2), AT(DOUBLE, achieved_pct) },
	{ PPS("both_pps", "both directions"), MADE(both_pps) },
	{ GBPS("both_l1_gbps", "wire"), MADE(both_l1) },
	{ GBPS("both_payload_gbps", "payload"), MADE(both_payload) },
	{ PACKETS("unsent", "unsent"), AT(U64, total.unsent) },
	{ PACKETS("reply_unsent", "replies unsent"), AT(U64, total.reply_unsent) },
	{ PACKETS("lost", "lost"), AT(I64, total.lost) },
	{ PCT("loss_pct", "loss", 4), AT(DOUBLE, total.loss_pct) },
	{ PACKETS("lost_forward", "lost forward"), AT(I64, total.lost_forward) },
	{ PCT("loss_forward_pct", "loss forward", 4), AT(DOUBLE, total.loss_forward_pct) },
	{ PACKETS("lost_back", "lost back"), AT(I64, total.lost_back) },
	{ PCT("loss_back_pct", "loss back", 4), AT(DOUBLE, total.loss_back_pct) },
	{ PACKETS("lost_late", "late"), AT(U64, cause.late) },
	{ PACKETS("lost_imissed", "NIC missed"), AT(U64, cause.missed) },
	{ PACKETS("lost_rx_nombuf", "no mbuf"), AT(U64, cause.no_mbuf) },
	{ PACKETS("lost_fabric", "fabric"), AT(U64, cause.fabric) },
	{ PACKETS("lost_unattributed", "unattributed"), AT(U64, cause.unattributed) },
	{ PACKETS("identity_sent", "sent"), AT(U64, complete.sent) },
	{ PACKETS("identity_delivered", "delivered"), AT(U64, complete.delivered) },
	{ PACKETS("identity_replied", "replied"), AT(U64, complete.replied) },
	{ PACKETS("identity_reply_unsent", "unsent"), AT(U64, complete.reply_unsent) },
	{ PACKETS("identity_returned", "returned"), AT(U64, complete.returned) },
	{ YES("identity_closes", "closes"), MADE(closes) },
	{ US("rtt_avg_us", "avg"), AT(DOUBLE, total.rtt_avg_ns) },
	{ US("rtt_p50_us", "p50"), AT(DOUBLE, total.rtt_p50_ns) },
	{ US("rtt_p99_us", "p99"), AT(DOUBLE, total.rtt_p99_ns) },
	{ US("rtt_p999_us", "p99.9"), AT(DOUBLE, total.rtt_p999_ns) },
	{ US("rtt_max_us", "max"), AT(DOUBLE, total.rtt_max_ns) },
	{ NAME("rtt_worst_src", "from"), MADE(worst_src) },
	{ NAME("rtt_worst_dst", "to"), MADE(worst_dst) },
	{ US("rtt_worst_p99_us", "p99"), MADE(worst_p99) },
	{ PACKETS("dup_forward", "duplicate"), AT(U64, total.dup_forward) },
	{ PACKETS("dup_back", "duplicate"), AT(U64, total.dup_back) },
	{ PACKETS("reordered_forward", "reordered"), AT(U64, total.reordered_forward) },
	{ PACKETS("reordered_back", "reordered"), AT(U64, total.reordered_back) },
	{ PACKETS("late_forward", "late"), AT(U64, total.late_forward) },
	{ PACKETS("late_back", "late"), AT(U64, total.late_back) },
	{ PACKETS("off_queue", "off queue"), AT(U64, total.off_queue) },
	{ PACKETS("foreign", "foreign"), AT(U64, foreign) },
	{ US("lateness_p99_us", "late p99"), AT(DOUBLE, lateness_p99_ns) },
	{ US("lateness_max_us", "late max"), AT(DOUBLE, lateness_max_ns) },
	{ US("start_skew_us", "start skew"), AT(DOUBLE, skew_ns) },
	{ US("start_skew_error_us", "+-"), AT(DOUBLE, skew_error_ns) },
	{ PACKETS("hosts_of_queues", "several queues"), AT(U32, several_queues) },
	{ PACKETS("hosts_steered", "steered"), AT(U32, steered_hosts) },
	{ PCT("on_queue_pct", "on queue", 2), AT(DOUBLE, on_queue_pct) },
	{ PCT("uneven_pct", "uneven", 2), AT(DOUBLE, uneven_pct) },
};
_Static_assert(sizeof(totals_column) / sizeof(totals_column[0]) <= COLUMNS_MAX, "COLUMNS_MAX");

struct table table_totals(const struct summary *s)
{
	return (struct table){
		.key = "totals",
		.column = totals_column,
		.columns = sizeof(totals_column) / sizeof(totals_column[0]),
		.rows = 1,
		.item = (const char *)s,
		.item_bytes = sizeof(*s),
	};
}

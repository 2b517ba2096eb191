#include "tables.h"

#include "columns.h"
#include "units.h"

#include <math.h>

#define ROW sum_flow

static struct cell src_name(const void *ctx, const void *item)
{
	const struct summary *s = ctx;
	const struct sum_flow *f = item;

	return cell_text(s->matrix->host[f->src].name);
}

static struct cell dst_name(const void *ctx, const void *item)
{
	const struct summary *s = ctx;
	const struct sum_flow *f = item;

	return cell_text(s->matrix->host[f->dst].name);
}

static struct cell direction(const void *ctx, const void *item)
{
	(void)ctx;
	(void)item;
	return cell_text("tx");
}

static struct cell sent_l1(const void *ctx, const void *item)
{
	const struct sum_flow *f = item;

	(void)ctx;
	return cell_real(f->sent_pps * 8 * f->sent_l1 / BPS_PER_MBPS);
}

static struct cell returned_l1(const void *ctx, const void *item)
{
	const struct sum_flow *f = item;

	(void)ctx;
	return cell_real(f->returned_pps * 8 * f->returned_l1 / BPS_PER_MBPS);
}

static struct cell achieved(const void *ctx, const void *item)
{
	const struct sum_flow *f = item;

	(void)ctx;
	if (f->target == COUNTER_UNKNOWN || f->target == 0)
		return (struct cell){ .kind = CELL_NONE };
	return cell_real(100.0 * (double)f->sent / (double)f->target);
}

static struct cell ttl(uint8_t v)
{
	return cell_count(v > 0 ? v : COUNTER_UNKNOWN);
}

static struct cell ttl_forward_min(const void *ctx, const void *item)
{
	(void)ctx;
	return ttl(((const struct sum_flow *)item)->ttl_forward_min);
}

static struct cell ttl_forward_max(const void *ctx, const void *item)
{
	(void)ctx;
	return ttl(((const struct sum_flow *)item)->ttl_forward_max);
}

static struct cell ttl_back_min(const void *ctx, const void *item)
{
	(void)ctx;
	return ttl(((const struct sum_flow *)item)->ttl_back_min);
}

static struct cell ttl_back_max(const void *ctx, const void *item)
{
	(void)ctx;
	return ttl(((const struct sum_flow *)item)->ttl_back_max);
}

static struct cell streams(const void *ctx, const void *item)
{
	const struct sum_flow *f = item;

	(void)ctx;
	return cell_count(f->streams > 0 ? f->streams : COUNTER_UNKNOWN);
}

static struct cell layer(const void *ctx, const void *item)
{
	const struct summary *s = ctx;
	const struct sum_flow *f = item;

	return cell_count(s->rotation.layers > 0 ? f->layer : COUNTER_UNKNOWN);
}

// The order is that of the report rows that other tools read; a new column goes at the end.
static const struct column flow_column[] = {
	{ NAME("src", "from"), .csv = "host", MADE(src_name) },
	{ NAME("dir", NULL), MADE(direction) },
	{ NAME("dst", "to"), .csv = "peer", MADE(dst_name) },
	{ .key = "request_bytes",
	  .csv = "size",
	  .form = FORM_REAL,
	  .decimals = 3,
	  AT(DOUBLE, req_mean) },
	{ .key = "reply_bytes",
	  .csv = "rep_size",
	  .form = FORM_REAL,
	  .decimals = 3,
	  AT(DOUBLE, rep_mean) },
	{ PPS("target_pps", NULL), AT(DOUBLE, target_pps) },
	{ PPS("sent_pps", "sent pps"), .csv = "pps", AT(DOUBLE, sent_pps) },
	{ MBPS("sent_l1_mbps", NULL), .csv = "mbps", MADE(sent_l1) },
	{ PPS("returned_pps", "back pps"), .csv = "rep_pps", AT(DOUBLE, returned_pps) },
	{ MBPS("returned_l1_mbps", NULL), .csv = "rep_mbps", MADE(returned_l1) },
	{ PCT("loss_pct", "loss %", 3), AT(DOUBLE, loss_pct) },
	{ US("rtt_avg_us", NULL), AT(DOUBLE, rtt_avg_ns) },
	{ US("rtt_p50_us", NULL), AT(DOUBLE, rtt_p50_ns) },
	{ US("rtt_p99_us", "p99"), AT(DOUBLE, rtt_p99_ns) },
	{ US("rtt_max_us", NULL), AT(DOUBLE, rtt_max_ns) },
	{ US("rtt_p999_us", NULL), AT(DOUBLE, rtt_p999_ns) },
	{ PCT("achieved_pct", NULL, 2), MADE(achieved) },
	{ PPS("delivered_pps", NULL), AT(DOUBLE, delivered_pps) },
	{ PPS("replied_pps", NULL), AT(DOUBLE, replied_pps) },
	{ PACKETS("target", NULL), AT(U64, target) },
	{ PACKETS("sent", NULL), AT(U64, sent) },
	{ PACKETS("unsent", NULL), AT(U64, unsent) },
	{ PACKETS("delivered", NULL), AT(U64, delivered) },
	{ PACKETS("replied", NULL), AT(U64, replied) },
	{ PACKETS("reply_unsent", NULL), AT(U64, reply_unsent) },
	{ PACKETS("returned", NULL), AT(U64, returned) },
	{ PACKETS("lost", "lost"), AT(I64, lost) },
	{ PACKETS("lost_forward", "forward"), AT(I64, lost_forward) },
	{ PCT("loss_forward_pct", NULL, 3), AT(DOUBLE, loss_forward_pct) },
	{ PACKETS("lost_back", "back"), AT(I64, lost_back) },
	{ PCT("loss_back_pct", NULL, 3), AT(DOUBLE, loss_back_pct) },
	{ PACKETS("dup_forward", NULL), AT(U64, dup_forward) },
	{ PACKETS("dup_back", NULL), AT(U64, dup_back) },
	{ PACKETS("reordered_forward", NULL), AT(U64, reordered_forward) },
	{ PACKETS("reordered_back", NULL), AT(U64, reordered_back) },
	{ PACKETS("late_forward", NULL), AT(U64, late_forward) },
	{ PACKETS("late_back", NULL), AT(U64, late_back) },
	{ PACKETS("off_queue", NULL), AT(U64, off_queue) },
	{ PACKETS("streams", NULL), MADE(streams) },
	{ .key = "measured_s",
	  .unit = "s",
	  .form = FORM_REAL,
	  .decimals = 9,
	  AT(DOUBLE, measured_s) },
	{ .key = "covered_s",
	  .unit = "s",
	  .form = FORM_REAL,
	  .decimals = 9,
	  AT(DOUBLE, covered_s) },
	{ PACKETS("layer", NULL), MADE(layer) },
	{ PACKETS("ttl_forward_min", NULL), MADE(ttl_forward_min) },
	{ PACKETS("ttl_forward_max", NULL), MADE(ttl_forward_max) },
	{ PACKETS("ttl_back_min", NULL), MADE(ttl_back_min) },
	{ PACKETS("ttl_back_max", NULL), MADE(ttl_back_max) },
};
_Static_assert(sizeof(flow_column) / sizeof(flow_column[0]) <= COLUMNS_MAX, "COLUMNS_MAX");

struct table table_flows(const struct summary *s, const uint32_t *order, size_t rows)
{
	return (struct table){
		.key = "flows",
		.title = "FLOWS",
		.column = flow_column,
		.columns = sizeof(flow_column) / sizeof(flow_column[0]),
		.rows = rows,
		.item = (const char *)s->flow,
		.item_bytes = sizeof(*s->flow),
		.order = order,
		.ctx = s,
	};
}

// 1 = nothing came back. Flows of which that is not known are not among the worst.
static double shortfall(const struct sum_flow *f)
{
	return isnan(f->loss_pct) ? -INFINITY : f->loss_pct;
}

// A heap of the worst, its least bad one on top, would be the book's answer; the list is a
// screenful, so insertion does.
size_t order_worst_flows(const struct summary *s, double delivery_pct, uint32_t *order, size_t max)
{
	size_t found = 0, n = 0;

	for (uint32_t i = 0; i < s->flow_count; i++) {
		double bad = shortfall(&s->flow[i]);
		size_t at;

		if (!(100 - bad < delivery_pct))
			continue;
		found++;
		if (n == max && (max == 0 || bad <= shortfall(&s->flow[order[n - 1]])))
			continue;
		at = n < max ? n++ : n - 1;
		for (; at > 0 && shortfall(&s->flow[order[at - 1]]) < bad; at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
	return found;
}

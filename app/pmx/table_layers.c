#include "tables.h"

#include "columns.h"

#include <math.h>
#include <stdlib.h>

#define ROW sum_layer

// The order of the first columns is that of the text.
static const struct column layer_column[] = {
	{ PACKETS("layer", "layer"), AT(U32, layer) },
	{ PACKETS("flows", "flows"), AT(U64, flows) },
	{ .key = "measured_s",
	  .title = "for s",
	  .form = FORM_REAL,
	  .decimals = 9,
	  .text_decimals = 2,
	  AT(DOUBLE, measured_s) },
	{ PACKETS("sent", "sent"), AT(U64, sum.sent) },
	{ PACKETS("delivered", "delivered"), AT(U64, sum.delivered) },
	{ PACKETS("lost", "lost"), AT(I64, sum.lost) },
	{ PCT("loss_pct", "loss %", 3), AT(DOUBLE, loss_pct) },
	{ PPS("sent_pps", "sent pps"), AT(DOUBLE, sum.sent_pps) },
	{ PPS("returned_pps", "back pps"), AT(DOUBLE, sum.returned_pps) },
	{ US("rtt_worst_p99_us", "worst p99"), AT(DOUBLE, rtt_worst_ns) },
	{ PPS("target_pps", NULL), AT(DOUBLE, sum.target_pps) },
	{ PCT("achieved_pct", NULL, 2), AT(DOUBLE, achieved_pct) },
	{ PCT("delivered_pct", NULL, 3), AT(DOUBLE, delivered_pct) },
	{ PPS("delivered_pps", NULL), AT(DOUBLE, sum.delivered_pps) },
	{ PACKETS("target", NULL), AT(U64, sum.target) },
	{ PACKETS("unsent", NULL), AT(U64, sum.unsent) },
	{ PACKETS("replied", NULL), AT(U64, sum.replied) },
	{ PACKETS("returned", NULL), AT(U64, sum.returned) },
	{ PACKETS("lost_forward", NULL), AT(I64, complete.lost_forward) },
	{ PCT("loss_forward_pct", NULL, 3), AT(DOUBLE, loss_forward_pct) },
	{ PACKETS("lost_back", NULL), AT(I64, complete.lost_back) },
	{ PCT("loss_back_pct", NULL, 3), AT(DOUBLE, loss_back_pct) },
};
_Static_assert(sizeof(layer_column) / sizeof(layer_column[0]) <= COLUMNS_MAX, "COLUMNS_MAX");
_Static_assert(sizeof(size_t) == sizeof(uint64_t), "flows");

struct table table_layers(const struct summary *s, const uint32_t *order)
{
	return (struct table){
		.key = "layers",
		.title = order != NULL ? "LAYERS, worst delivery first" : "LAYERS",
		.column = layer_column,
		.columns = sizeof(layer_column) / sizeof(layer_column[0]),
		.rows = s->layer_count,
		.item = (const char *)s->layer,
		.item_bytes = sizeof(*s->layer),
		.order = order,
		.ctx = s,
	};
}

// Not measured is the worst.
static double shortfall(const struct sum_layer *l)
{
	return isnan(l->loss_pct) ? INFINITY : l->loss_pct;
}

static int compare_layers(const void *a, const void *b, void *ctx)
{
	const struct summary *s = ctx;
	uint32_t la = *(const uint32_t *)a, lb = *(const uint32_t *)b;
	double da = shortfall(&s->layer[la]), db = shortfall(&s->layer[lb]);

	if (da != db)
		return da > db ? -1 : 1;
	return la < lb ? -1 : 1;
}

void order_layers(const struct summary *s, uint32_t *order)
{
	for (uint32_t i = 0; i < s->layer_count; i++)
		order[i] = i;
	qsort_r(order, s->layer_count, sizeof(*order), compare_layers, (void *)(uintptr_t)s);
}

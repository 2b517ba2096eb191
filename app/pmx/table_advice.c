#include "tables.h"

#include "columns.h"

static struct cell rank(const void *ctx, const void *item)
{
	const struct advice *first = ctx, *a = item;

	return cell_count((uint64_t)(a - first) + 1);
}

static struct cell rule(const void *ctx, const void *item)
{
	const struct advice *a = item;

	(void)ctx;
	return cell_text(a->rule);
}

#define ROW advice

static const struct column advice_column[] = {
	{ PACKETS("rank", NULL), MADE(rank) },
	{ NAME("rule", NULL), MADE(rule) },
	{ NAME("evidence", NULL), AT(TEXT, evidence) },
	{ NAME("fix", NULL), AT(TEXT, fix) },
};

struct table table_advice(const struct advice *a, size_t n)
{
	return (struct table){
		.key = "advice",
		.column = advice_column,
		.columns = sizeof(advice_column) / sizeof(advice_column[0]),
		.rows = n,
		.item = (const char *)a,
		.item_bytes = sizeof(*a),
		.ctx = a,
	};
}

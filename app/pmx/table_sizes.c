#include "tables.h"

#include "columns.h"
#include "on_wire.h"
#include "units.h"

#include <math.h>
#include <stdlib.h>

#define ROW sum_size

static struct cell of(const void *ctx, const void *item)
{
	const struct sum_size *z = item;

	(void)ctx;
	return cell_text(z->reply ? "reply" : "request");
}

static struct cell frame(const void *ctx, const void *item)
{
	const struct summary *s = ctx;
	const struct sum_size *z = item;

	struct sender by = matrix_sender(s->matrix);
	uint32_t frames = datagram_frames(&by, z->bytes);

	return cell_count(datagram_l1_bytes(&by, by.tags, z->bytes) - frames * WIRE_OVERHEAD_BYTES);
}

// The order of the first columns is that of the text.
static const struct column size_column[] = {
	{ NAME("of", "of"), MADE(of) },
	{ PACKETS("bytes", "bytes"), AT(U32, bytes) },
	{ PACKETS("frame_bytes", "frame"), MADE(frame) },
	{ PACKETS("sent", "sent"), AT(U64, all.sent) },
	{ PACKETS("delivered", "delivered"), AT(U64, all.delivered) },
	{ PACKETS("replied", "replied"), AT(U64, all.replied) },
	{ PACKETS("returned", "returned"), AT(U64, all.returned) },
	{ PACKETS("lost", "lost"), AT(I64, lost) },
	{ PCT("loss_pct", "loss %", 3), AT(DOUBLE, loss_pct) },
	{ PACKETS("lost_forward", "forward"), AT(I64, lost_forward) },
	{ PCT("loss_forward_pct", NULL, 3), AT(DOUBLE, loss_forward_pct) },
	{ PACKETS("lost_back", "back"), AT(I64, lost_back) },
	{ PCT("loss_back_pct", NULL, 3), AT(DOUBLE, loss_back_pct) },
};
_Static_assert(sizeof(size_column) / sizeof(size_column[0]) <= COLUMNS_MAX, "COLUMNS_MAX");

struct table table_sizes(const struct summary *s, const uint32_t *order)
{
	return (struct table){
		.key = "sizes",
		.title = order != NULL ? "BY SIZE of the request, or of its reply, packets, most "
					 "lost first"
				       : "BY SIZE of the request, or of its reply, packets",
		.column = size_column,
		.columns = sizeof(size_column) / sizeof(size_column[0]),
		.rows = s->size_count,
		.item = (const char *)s->size,
		.item_bytes = sizeof(*s->size),
		.order = order,
		.ctx = s,
	};
}

// Not known is no loss.
static double lost_share(const struct sum_size *z)
{
	return isnan(z->loss_pct) ? 0 : z->loss_pct;
}

static int compare_sizes(const void *a, const void *b, void *ctx)
{
	const struct summary *s = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	double lx = lost_share(&s->size[x]), ly = lost_share(&s->size[y]);

	if (lx != ly)
		return lx > ly ? -1 : 1;
	return x < y ? -1 : x > y;
}

void order_sizes(const struct summary *s, uint32_t *order)
{
	for (uint32_t i = 0; i < s->size_count; i++)
		order[i] = i;
	qsort_r(order, s->size_count, sizeof(*order), compare_sizes, (void *)(uintptr_t)s);
}

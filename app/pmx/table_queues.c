#include "tables.h"

#include "columns.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define ROW sum_queue_row

static struct cell host_name(const void *ctx, const void *item)
{
	const struct summary *s = ctx;
	const struct sum_queue_row *q = item;

	return cell_text(s->matrix->host[q->host].name);
}

static struct cell direction(const void *ctx, const void *item)
{
	(void)ctx;
	(void)item;
	return cell_text("queue");
}

static struct cell queue_index(const void *ctx, const void *item)
{
	const struct sum_queue_row *q = item;

	(void)ctx;
	return q->all ? cell_text("all") : cell_count(q->queue.index);
}

// A rate of a queue, in its host's window.
static struct cell rate(const struct summary *s, const struct sum_queue_row *q, uint64_t count)
{
	double window_s = s->host[q->host].window_s;

	if (count == COUNTER_UNKNOWN || !(window_s > 0))
		return (struct cell){ .kind = CELL_NONE };
	return cell_real((double)count / window_s);
}

static struct cell sent_pps(const void *ctx, const void *item)
{
	const struct sum_queue_row *q = item;

	return rate(ctx, q, q->queue.requests_sent);
}

static struct cell returned_pps(const void *ctx, const void *item)
{
	const struct sum_queue_row *q = item;

	return rate(ctx, q, q->queue.replies_received);
}

static const struct column queue_column[] = {
	{ NAME("host", "host"), MADE(host_name) },
	{ NAME("dir", NULL), MADE(direction) },
	{ PPS("sent_pps", NULL), .csv = "pps", MADE(sent_pps) },
	{ PPS("returned_pps", NULL), .csv = "rep_pps", MADE(returned_pps) },
	{ .key = "queue", .title = "queue", .form = FORM_TEXT, MADE(queue_index) },
	{ .key = "lcore", .title = "cpu", .form = FORM_COUNT, AT(U64, queue.lcore) },
	{ PACKETS("requests_sent", "sent"), AT(U64, queue.requests_sent) },
	{ PACKETS("replies_received", "back"), AT(U64, queue.replies_received) },
	{ PACKETS("requests_received", "asked"), AT(U64, queue.requests_received) },
	{ PACKETS("replies_sent", "answered"), AT(U64, queue.replies_sent) },
	{ PACKETS("off_queue", "off queue"), AT(U64, queue.off_queue) },
	{ PACKETS("tx_full", "tx full"), AT(U64, queue.tx_full) },
	{ PCT("busy_pct", "busy %", 1), AT(DOUBLE, queue.busy_pct) },
};

struct table table_queues(const struct queue_list *l)
{
	return (struct table){
		.key = "queues",
		.title = "QUEUES",
		.column = queue_column,
		.columns = sizeof(queue_column) / sizeof(queue_column[0]),
		.rows = l->rows,
		.item = (const char *)l->row,
		.item_bytes = sizeof(*l->row),
		.ctx = l->s,
	};
}

static int list_make(const struct summary *s, bool (*wanted)(const struct sum_host *h), bool sums,
		     struct queue_list *l, struct err *e)
{
	size_t rows = 0;

	for (size_t i = 0; i < s->host_count; i++)
		if (wanted(&s->host[i]))
			rows += s->host[i].queue_count + sums;
	*l = (struct queue_list){ .s = s, .row = calloc(rows ? rows : 1, sizeof(*l->row)) };
	if (l->row == NULL)
		return err_set(e, ENOMEM, "no memory for %zu queues", rows);
	for (uint32_t i = 0; i < s->host_count; i++) {
		const struct sum_host *h = &s->host[i];

		if (!wanted(h))
			continue;
		for (size_t q = 0; q < h->queue_count; q++)
			l->row[l->rows++] =
				(struct sum_queue_row){ .host = i, .queue = h->queue[q] };
		if (!sums)
			continue;
		// the host's own row, so that the reader can add up
		l->row[l->rows++] = (struct sum_queue_row){
			.host = i,
			.all = true,
			.queue = {
				.lcore = COUNTER_UNKNOWN,
				.requests_sent = h->sent,
				.replies_received = h->returned,
				.requests_received = h->served,
				.replies_sent = h->replied,
				.off_queue = h->off_queue,
				.tx_full = h->tx_full,
				.busy_pct = NAN,
			},
		};
	}
	return 0;
}

static bool any(const struct sum_host *h)
{
	return h->queue_count > 0;
}

static bool uneven(const struct sum_host *h)
{
	return queue_skew(h) > QUEUE_SKEW_MAX;
}

static bool several(const struct sum_host *h)
{
	return h->queue_count > 1;
}

int queue_list_all(const struct summary *s, struct queue_list *l, struct err *e)
{
	return list_make(s, any, false, l, e);
}

int queue_list_shown(const struct summary *s, bool all, struct queue_list *l, struct err *e)
{
	return list_make(s, all ? several : uneven, true, l, e);
}

void queue_list_free(struct queue_list *l)
{
	free(l->row);
	*l = (struct queue_list){ 0 };
}

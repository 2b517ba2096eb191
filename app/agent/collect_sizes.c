#include "collect_sizes.h"

#include <stdlib.h>

int collect_mixes(struct result *r, const struct hostcfg *c)
{
	if (c->mix_count == 0)
		return 0;
	r->mix = calloc(c->mix_count, sizeof(*r->mix));
	if (r->mix == NULL)
		return -1;
	r->mix_count = c->mix_count;
	int bad = 0;
	for (size_t i = 0; i < c->mix_count; i++)
		bad |= uints_copy(&r->mix[i].cycle, c->mix[i].cycle);
	return bad;
}

// Lists of zeros for the flows that have mixes.
int collect_sizes_alloc(struct result *r, const struct queue *q)
{
	bool bad = false;
	for (uint32_t f = 0; f < r->tx_count && q->any.tx_counts > 0; f++) {
		uint32_t n = queue_flow_sizes(&q->any.tx_flow[f]);
		for (size_t t = 0; n > 0 && t < r->trial_count; t++)
			bad |= (r->tx[f].trial[t].by_size = uints_new(2 * n)) == NULL;
	}
	for (uint32_t f = 0; f < r->rx_count && q->any.rx_counts > 0; f++) {
		uint32_t n = queue_flow_sizes(&q->any.rx_flow[f]);
		for (size_t t = 0; n > 0 && t < r->trial_count; t++)
			bad |= (r->rx[f].trial[t].by_size = uints_new(2 * n)) == NULL;
	}
	return bad ? -1 : 0;
}

// The streams of a queue by flow: those of f are stream[first[f]] to stream[first[f + 1] - 1].
struct by_flow {
	uint32_t *first, *stream; // owned
};

static void by_flow_free(struct by_flow *b)
{
	free(b->first);
	free(b->stream);
}

static int by_flow_make(struct by_flow *b, const struct queue *q)
{
	b->first = calloc(q->tx_flow_count + 2, sizeof(*b->first));
	b->stream = calloc(q->tx_stream_count + 1, sizeof(*b->stream));
	if (b->first == NULL || b->stream == NULL)
		return -1;
	for (uint32_t i = 0; i < q->tx_stream_count; i++)
		b->first[q->tx[i].flow + 2]++;
	for (uint32_t f = 0; f < q->tx_flow_count; f++)
		b->first[f + 2] += b->first[f + 1];
	for (uint32_t i = 0; i < q->tx_stream_count; i++)
		b->stream[b->first[q->tx[i].flow + 1]++] = i;
	return 0;
}

// In a trial that may be the one that sends.
static struct tx_run run_of(const struct queue *q, uint32_t trial, uint32_t stream)
{
	struct tx_run run = q->trial[trial].run[stream];
	uint64_t mark = q->tx_mark[stream];
	if (run.n == 0 && q->sending && q->current == trial)
		return (struct tx_run){ mark, q->tx[stream].seq - mark };
	return run;
}

// The packets of flow f that were built, by size.
static void add_runs(uint64_t *count, const struct queue *q, uint32_t trial,
		     const struct by_flow *by, uint32_t f, uint64_t *change)
{
	const struct any_flow *flow = &q->any.tx_flow[f];
	const struct sizes *way[] = { &flow->request_sizes, &flow->reply_sizes };
	for (uint32_t w = 0; w < 2; w++) {
		if (way[w]->turn == NULL)
			continue;
		for (uint32_t k = by->first[f]; k < by->first[f + 1]; k++) {
			uint32_t i = by->stream[k];
			struct tx_run run = run_of(q, trial, i);
			by_size_add(change, way[w], (uint32_t)run.from + queue_tx_index(q, i),
				    run.n);
		}
		by_size_take(change, way[w], count + flow->counts[w] - flow->counts[0]);
	}
}

static int add_tx_sizes(struct result *r, const struct queue *q, uint32_t trial)
{
	const struct tx_by_size *c = q->trial[trial].tx_size;
	struct by_flow by = { 0 };
	uint64_t *change = calloc(MIX_CYCLE_MAX + 1, sizeof(*change));
	int bad = change == NULL || by_flow_make(&by, q) != 0;
	for (uint32_t f = 0; !bad && f < r->tx_count; f++) {
		struct uints *to = r->tx[f].trial[trial].by_size;
		uint32_t first = q->any.tx_flow[f].counts[0], n = to != NULL ? to->count / 2 : 0;
		if (n > 0)
			add_runs(to->v, q, trial, &by, f, change);
		for (uint32_t i = 0; i < n; i++) {
			to->v[i] -= c[first + i].unsent;
			to->v[n + i] += c[first + i].returned;
		}
	}
	by_flow_free(&by);
	free(change);
	return bad ? -1 : 0;
}

static void add_rx_sizes(struct result *r, const struct queue *q, uint32_t trial)
{
	const struct rx_by_size *c = q->trial[trial].rx_size;
	for (uint32_t f = 0; f < r->rx_count; f++) {
		struct uints *to = r->rx[f].trial[trial].by_size;
		uint32_t first = q->any.rx_flow[f].counts[0], n = to != NULL ? to->count / 2 : 0;
		for (uint32_t i = 0; i < n; i++) {
			// its lcore may be counting: what was not answered came before
			uint64_t unsent = c[first + i].reply_unsent;
			uint64_t delivered = c[first + i].delivered;
			to->v[i] += delivered;
			to->v[n + i] += delivered > unsent ? delivered - unsent : 0;
		}
	}
}

int collect_sizes(struct result *r, const struct queue *q, uint32_t trial)
{
	if (q->any.rx_counts > 0)
		add_rx_sizes(r, q, trial);
	return q->any.tx_counts > 0 ? add_tx_sizes(r, q, trial) : 0;
}

static uint64_t l1_of(const struct sizes *z, uint32_t i, const struct sender *by)
{
	return datagram_l1_bytes(by, by->tags, z->size[i].payload_bytes);
}

static uint32_t mix_sizes_of(const struct sizes *z)
{
	return z->turn != NULL ? z->count : 0;
}

// before[p]: the bytes of the first p packets of a cycle.
static void bytes_before(uint64_t *before, const struct sizes *z, const struct sender *by)
{
	before[0] = 0;
	for (uint32_t p = 0; p < z->cycle; p++)
		before[p + 1] = before[p] + l1_of(z, z->turn[p], by);
}

// From the sequences alone: they only grow, whatever is being booked meanwhile.
static void add_sent(const struct queue *q, const struct sender *by, struct size_bytes *tx)
{
	uint64_t *before = calloc(MIX_CYCLE_MAX + 1, sizeof(*before));
	struct by_flow streams = { 0 };
	const uint16_t *turn = NULL; // that `before` is of: flows share mixes
	bool good = before != NULL && by_flow_make(&streams, q) == 0;
	for (uint32_t f = 0; good && f < q->tx_flow_count; f++) {
		const struct sizes *z = &q->any.tx_flow[f].request_sizes;
		if (z->turn == NULL)
			continue;
		if (z->turn != turn)
			bytes_before(before, z, by);
		turn = z->turn;
		for (uint32_t k = streams.first[f]; k < streams.first[f + 1]; k++) {
			uint32_t i = streams.stream[k];
			tx[f].there += by_size_sum(before, z, queue_tx_index(q, i), q->tx[i].seq);
		}
	}
	by_flow_free(&streams);
	free(before);
}

static void add_returned(const struct queue *q, const struct tx_by_size *c, const struct sender *by,
			 struct size_bytes *tx)
{
	for (uint32_t f = 0; f < q->tx_flow_count; f++) {
		const struct any_flow *a = &q->any.tx_flow[f];
		for (uint32_t i = 0; i < mix_sizes_of(&a->reply_sizes); i++)
			tx[f].back += c[a->counts[1] + i].returned * l1_of(&a->reply_sizes, i, by);
	}
}

static void add_delivered(const struct queue *q, const struct rx_by_size *c,
			  const struct sender *by, struct size_bytes *rx)
{
	for (uint32_t f = 0; f < q->rx_flow_count; f++) {
		const struct any_flow *a = &q->any.rx_flow[f];
		for (uint32_t i = 0; i < mix_sizes_of(&a->request_sizes); i++)
			rx[f].there +=
				c[a->counts[0] + i].delivered * l1_of(&a->request_sizes, i, by);
	}
}

void collect_size_bytes(const struct queue *q, const struct sender *by, struct size_bytes *tx,
			struct size_bytes *rx)
{
	if (q->any.tx_counts > 0)
		add_sent(q, by, tx);
	for (uint32_t t = 0; t < q->trial_count; t++) {
		if (q->any.tx_counts > 0)
			add_returned(q, q->trial[t].tx_size, by, tx);
		if (q->any.rx_counts > 0)
			add_delivered(q, q->trial[t].rx_size, by, rx);
	}
}

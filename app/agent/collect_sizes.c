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

static void add_tx_sizes(struct result *r, const struct queue *q, uint32_t trial)
{
	const struct tx_by_size *c = q->trial[trial].tx_size;
	struct tx_by_size *open = NULL;
	if (q->sending && q->current == trial)
		open = calloc(q->any.tx_counts, sizeof(*open));
	for (uint32_t i = 0; open != NULL && i < q->tx_stream_count; i++)
		queue_book_sizes(q, i, open);
	for (uint32_t f = 0; f < r->tx_count; f++) {
		struct uints *to = r->tx[f].trial[trial].by_size;
		uint32_t first = q->any.tx_flow[f].counts[0], n = to != NULL ? to->count / 2 : 0;
		for (uint32_t i = 0; i < n; i++) {
			to->v[i] += c[first + i].sent + (open != NULL ? open[first + i].sent : 0);
			to->v[n + i] += c[first + i].returned;
		}
	}
	free(open);
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

void collect_sizes(struct result *r, const struct queue *q, uint32_t trial)
{
	if (q->any.tx_counts > 0)
		add_tx_sizes(r, q, trial);
	if (q->any.rx_counts > 0)
		add_rx_sizes(r, q, trial);
}

static uint64_t l1_of(const struct sizes *z, uint32_t i, const struct sender *by)
{
	return datagram_l1_bytes(by, by->tags, z->size[i].payload_bytes);
}

static uint32_t mix_sizes_of(const struct sizes *z)
{
	return z->turn != NULL ? z->count : 0;
}

// From the sequences alone: they only grow, whatever is being booked meanwhile.
static void add_sent(const struct queue *q, const struct sender *by, struct size_bytes *tx)
{
	struct tx_by_size *c = calloc(q->any.tx_counts, sizeof(*c));
	for (uint32_t i = 0; c != NULL && i < q->tx_stream_count; i++)
		by_size_sent(c, &q->any.tx_flow[q->tx[i].flow], queue_tx_index(q, i), q->tx[i].seq);
	for (uint32_t f = 0; c != NULL && f < q->tx_flow_count; f++) {
		const struct any_flow *a = &q->any.tx_flow[f];
		for (uint32_t i = 0; i < mix_sizes_of(&a->request_sizes); i++)
			tx[f].there += c[a->counts[0] + i].sent * l1_of(&a->request_sizes, i, by);
	}
	free(c);
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

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
			to->v[i] += c[first + i].delivered;
			to->v[n + i] += c[first + i].delivered - c[first + i].reply_unsent;
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

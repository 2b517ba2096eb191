#include "sum_steer.h"

#include <math.h>

static double on_queue(uint64_t off, uint64_t returned)
{
	if (off == COUNTER_UNKNOWN || returned == COUNTER_UNKNOWN || returned == 0)
		return NAN;
	return 100 * (1 - (double)off / (double)returned);
}

// Of requests alone: where replies come in is the requester's affair.
static double uneven(const struct sum_host *h)
{
	double sum = 0, worst = 0;

	for (size_t q = 0; q < h->queue_count; q++) {
		if (h->queue[q].requests_received == COUNTER_UNKNOWN)
			return NAN;
		sum += (double)h->queue[q].requests_received;
	}
	if (h->queue_count < 2 || sum == 0)
		return NAN;
	double even = sum / (double)h->queue_count;
	for (size_t q = 0; q < h->queue_count; q++)
		worst = fmax(worst, fabs((double)h->queue[q].requests_received - even));
	return 100 * worst / even;
}

void sum_steer(struct summary *s)
{
	uint64_t off = 0, returned = 0;

	s->on_queue_pct = s->uneven_pct = NAN;
	for (size_t i = 0; i < s->host_count; i++) {
		struct sum_host *h = &s->host[i];

		h->on_queue_pct = on_queue(h->off_queue, h->returned);
		h->uneven_pct = uneven(h);
		if (!h->measured || h->queue_count < 2 || s->windowed)
			continue;
		s->several_queues++;
		s->steered_hosts += h->steered;
		if (!h->steered)
			continue;
		if (!isnan(h->on_queue_pct)) {
			off += h->off_queue;
			returned += h->returned;
		}
		s->uneven_pct = fmax(s->uneven_pct, h->uneven_pct); // NAN gives way
	}
	s->on_queue_pct = on_queue(off, returned);
}

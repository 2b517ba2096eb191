#include "barrier.h"

#include <math.h>

#define TELL_ROUND_TRIPS 4

bool clock_offset_of(const struct clock_sample *sample, size_t n, struct clock_offset *out)
{
	const struct clock_sample *best = NULL;
	uint64_t best_rtt = UINT64_MAX;

	for (size_t i = 0; i < n; i++) {
		const struct clock_sample *s = &sample[i];

		if (s->received_ns < s->sent_ns || s->received_ns - s->sent_ns >= best_rtt)
			continue;
		best = s;
		best_rtt = s->received_ns - s->sent_ns;
	}
	if (best == NULL)
		return false;
	// unsigned subtraction wraps to the right signed difference
	out->offset_ns = (int64_t)(best->theirs_ns - (best->sent_ns + best_rtt / 2));
	out->error_ns = (best_rtt + 1) / 2;
	return true;
}

uint64_t clock_theirs(const struct clock_offset *o, uint64_t ours_ns)
{
	return ours_ns + (uint64_t)o->offset_ns;
}

uint64_t barrier_start(uint64_t now_ns, uint64_t worst_rtt_ns, size_t hosts, size_t jobs)
{
	size_t rounds = jobs > 0 ? (hosts + jobs - 1) / jobs : hosts;

	return now_ns + BARRIER_LEAD_NS + rounds * TELL_ROUND_TRIPS * worst_rtt_ns;
}

struct skew barrier_skew(const struct barrier_host *host, size_t n)
{
	double first = INFINITY, last = -INFINITY, first_error = 0, last_error = 0;
	uint64_t base = 0;
	size_t began = 0;

	for (size_t i = 0; i < n; i++) {
		const struct barrier_host *h = &host[i];

		if (h->first_tx_ns == 0 || h->due_ns == 0)
			continue;
		uint64_t late = h->first_tx_ns > h->due_ns ? h->first_tx_ns - h->due_ns : 0;
		uint64_t ours = h->told_ns - (uint64_t)h->offset.offset_ns + late;
		if (began++ == 0)
			base = ours;
		// relative to the first, where a double still holds single nanoseconds
		double at = (double)(int64_t)(ours - base);
		if (at < first) {
			first = at;
			first_error = (double)h->offset.error_ns;
		}
		if (at > last) {
			last = at;
			last_error = (double)h->offset.error_ns;
		}
	}
	if (began < 2)
		return (struct skew){ .ns = NAN, .error_ns = NAN };
	return (struct skew){ .ns = last - first, .error_ns = first_error + last_error };
}

#include "by_size.h"

#define PLACES (UINT64_C(1) << 32)

// n packets from place `from` on, which is below PLACES with all of them. By an lcore, of each of
// its streams, between two trials: so without a division for each packet.
static void add_run(struct tx_by_size *c, const struct sizes *z, uint64_t from, uint64_t n)
{
	uint64_t whole = n / z->cycle, rest = n % z->cycle;
	uint32_t at = (uint32_t)(from % z->cycle);
	for (uint32_t i = 0; whole > 0 && i < z->cycle; i++)
		c[z->turn[i]].sent += whole;
	for (; rest > 0; rest--) {
		c[z->turn[at]].sent++;
		at = at + 1 < z->cycle ? at + 1 : 0;
	}
}

static void add_all(struct tx_by_size *c, const struct sizes *z, uint64_t from, uint64_t n)
{
	if (z->turn == NULL)
		return;
	while (n > 0) { // places begin anew after 2^32, in the middle of a cycle
		uint64_t run = n < PLACES - from ? n : PLACES - from;
		add_run(c, z, from, run);
		n -= run;
		from = 0;
	}
}

void by_size_sent(struct tx_by_size *c, const struct any_flow *flow, uint32_t place, uint64_t n)
{
	add_all(c + flow->counts[0], &flow->request_sizes, place, n);
	add_all(c + flow->counts[1], &flow->reply_sizes, place, n);
}

void by_size_unsent(struct tx_by_size *c, const struct any_flow *flow, uint32_t place)
{
	uint32_t at[2], n = by_size_of(flow, place, at);
	for (uint32_t i = 0; i < n; i++)
		c[at[i]].sent--;
}

#include "hop.h"

#define MS 1000000ull
#define AGAIN_MIN_NS (2000 * MS)
#define AGAIN_MAX_NS (15000 * MS)
#define AGAIN_EACH_NS (15 * MS) // of all hops, so much lies between two that are asked
#define FIRST_NS (100 * MS)	// while unknown
#define FIRST_TRIES 10
#define RETRY_NS (250 * MS) // known, and no answer yet
#define UNICAST_TRIES 3	    // then everybody is asked: it may have moved
#define SILENT_TRIES 6	    // in a row, then it counts as silent
#define SLOW_NS (1000 * MS)
#define GOLDEN 40503u // 2^16 / golden ratio

uint64_t hop_again_ns(size_t i, size_t count)
{
	uint64_t mean = count * AGAIN_EACH_NS;
	mean = mean < AGAIN_MIN_NS ? AGAIN_MIN_NS : mean > AGAIN_MAX_NS ? AGAIN_MAX_NS : mean;
	// half to one and a half, as RFC 4861, 6.3.2 has it
	return mean / 2 + (mean * (i * GOLDEN % 65536) >> 16);
}

enum hop_ask hop_due(const struct hop *h, uint64_t now_ns)
{
	if (now_ns < h->ask_ns)
		return HOP_WAIT;
	return h->known && h->asked < UNICAST_TRIES ? HOP_ASK_IT : HOP_ASK_ALL;
}

void hop_asked(struct hop *h, bool sent, uint64_t now_ns)
{
	uint64_t retry = h->known ? RETRY_NS : FIRST_NS;
	if (sent)
		h->asked++;
	if (h->known && sent && h->asked == SILENT_TRIES + 1) // the last of them had its time
		h->silences++;
	unsigned fast = h->known ? SILENT_TRIES : FIRST_TRIES;
	h->ask_ns = now_ns + (h->asked < fast ? retry : SLOW_NS);
}

void hop_confirm(struct hop *h, uint64_t now_ns)
{
	h->asked = 0;
	h->answer_ns = now_ns;
	h->ask_ns = now_ns + h->again_ns;
}

bool hop_answer(struct hop *h, const struct rte_ether_addr *mac, uint64_t now_ns)
{
	bool moved = h->known && !rte_is_same_ether_addr(&h->mac, mac);
	bool news = moved || !h->known;
	h->changes += moved;
	h->mac = *mac;
	h->known = true;
	hop_confirm(h, now_ns);
	return news;
}

bool hop_disputes(const struct hop *h, const struct rte_ether_addr *mac)
{
	return h->known && h->asked < UNICAST_TRIES && !rte_is_same_ether_addr(&h->mac, mac);
}

void hop_doubt(struct hop *h, uint64_t now_ns)
{
	if (h->asked > 0 || now_ns < h->doubt_ns)
		return;
	h->ask_ns = now_ns;
	h->doubt_ns = now_ns + RETRY_NS;
}

uint64_t hop_silent_ns(const struct hop *h, uint64_t now_ns)
{
	return h->known && h->asked > SILENT_TRIES ? now_ns - h->answer_ns : 0;
}

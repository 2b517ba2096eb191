// Which sequence numbers of one stream were seen: tells new, reordered, duplicate and too old.
// A ring bitmap of 256; the oldest word is cleared as a whole, so at least 192 numbers behind the
// newest are known for sure. Behind that nothing can be said: SEQ_OLD, counted as late.
//
// A run in order needs no bitmap: its owner moves `next` on by itself and says where the run began
// when something else comes (seqwin_run).
#pragma once

#include <rte_branch_prediction.h>

#include <stdint.h>

#define SEQWIN_WORDS 4
#define SEQWIN_BITS (64 * SEQWIN_WORDS)
#define SEQWIN_KNOWN (SEQWIN_BITS - 64)

enum seq_class { SEQ_NEW, SEQ_REORDERED, SEQ_DUPLICATE, SEQ_OLD };

// Ahead of what was expected: numbers between are holes, to be cleared.
static inline void seqwin_skip(uint64_t bit[SEQWIN_WORDS], uint32_t next, uint32_t seq)
{
	uint32_t from = next >> 6, to = seq >> 6;
	// a word that `next` only just enters still holds numbers of 256 ago
	if ((next & 63) == 0)
		from--;
	uint32_t words = to - from;
	if (words > SEQWIN_WORDS)
		words = SEQWIN_WORDS;
	for (uint32_t i = 0; i < words; i++)
		bit[(to - i) % SEQWIN_WORDS] = 0;
}

static inline enum seq_class seqwin_accept(uint64_t bit[SEQWIN_WORDS], uint32_t *next, uint32_t seq)
{
	int32_t ahead = (int32_t)(seq - *next);
	uint64_t mask = 1ull << (seq & 63);
	uint64_t *word = &bit[(seq >> 6) % SEQWIN_WORDS];
	if (likely(ahead >= 0)) {
		if (unlikely(ahead > 0))
			seqwin_skip(bit, *next, seq);
		*word = (seq & 63) == 0 ? mask : *word | mask;
		*next = seq + 1;
		return SEQ_NEW;
	}
	if (ahead < -SEQWIN_KNOWN)
		return SEQ_OLD;
	if (*word & mask)
		return SEQ_DUPLICATE;
	*word |= mask;
	return SEQ_REORDERED;
}

// Numbers from..next-1 came in order, one after the other.
static inline void seqwin_run(uint64_t bit[SEQWIN_WORDS], uint32_t from, uint32_t next)
{
	if (next - from > SEQWIN_BITS)
		from = next - SEQWIN_BITS;
	for (; from != next; from++) {
		uint64_t mask = 1ull << (from & 63);
		uint64_t *word = &bit[(from >> 6) % SEQWIN_WORDS];
		*word = (from & 63) == 0 ? mask : *word | mask;
	}
}

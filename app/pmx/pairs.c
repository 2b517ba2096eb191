#include "pairs.h"

#include <errno.h>
#include <stdlib.h>

int pairs_init(struct pairs *p, size_t hosts, struct err *e)
{
	size_t row_words = (hosts + 63) / 64;
	size_t words = hosts * row_words;

	*p = (struct pairs){
		.hosts = (uint32_t)hosts,
		.row_words = row_words,
		.bit = calloc(words ? words : 1, sizeof(*p->bit)),
		.before = calloc(words ? words : 1, sizeof(*p->before)),
	};
	if (p->bit != NULL && p->before != NULL)
		return 0;
	pairs_free(p);
	return err_set(e, ENOMEM, "no memory for the pairs of %zu hosts", hosts);
}

void pairs_free(struct pairs *p)
{
	free(p->bit);
	free(p->before);
	*p = (struct pairs){ 0 };
}

void pairs_add(struct pairs *p, uint32_t src, uint32_t dst)
{
	p->bit[src * p->row_words + dst / 64] |= UINT64_C(1) << (dst % 64);
}

void pairs_rank(struct pairs *p)
{
	size_t words = p->hosts * p->row_words;
	uint32_t count = 0;

	for (size_t w = 0; w < words; w++) {
		p->before[w] = count;
		count += (uint32_t)__builtin_popcountll(p->bit[w]);
	}
	p->count = count;
}

uint32_t pairs_index(const struct pairs *p, uint32_t src, uint32_t dst)
{
	size_t w = src * p->row_words + dst / 64;
	uint64_t mask = UINT64_C(1) << (dst % 64);

	if (!(p->bit[w] & mask))
		return PAIR_NONE;
	return p->before[w] + (uint32_t)__builtin_popcountll(p->bit[w] & (mask - 1));
}

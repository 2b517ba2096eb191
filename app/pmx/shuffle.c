#include "shuffle.h"

#include "splitmix.h"

void shuffle_order(struct shuffle *s, uint32_t *order, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t j = splitmix_below(&s->state, i + 1);

		if (j != i)
			order[i] = order[j];
		order[j] = i;
	}
}

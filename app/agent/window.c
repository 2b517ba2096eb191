#include "window.h"

#include <rte_common.h>
#include <rte_lcore.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define PASSED_MAX 65536

int window_alloc(struct window *w, uint32_t groups, uint32_t places, uint16_t queue)
{
	char name[RTE_RING_NAMESIZE];
	uint32_t size = rte_align32pow2(places > 0 ? places : 1);
	*w = (struct window){
		.group = calloc(groups + 1, sizeof(*w->group)),
		.group_count = groups,
		.credit = calloc(size, sizeof(*w->credit)),
		.mask = size - 1,
	};
	if (w->group == NULL || w->credit == NULL)
		return -ENOMEM;
	if (groups == 0)
		return 0;
	snprintf(name, sizeof(name), "pmx_credit_%u", queue);
	w->passed = rte_ring_create(name, PASSED_MAX, (int)rte_socket_id(), RING_F_SC_DEQ);
	return w->passed != NULL ? 0 : -ENOMEM;
}

void window_fill(struct window *w)
{
	uint32_t most = 0;
	for (uint32_t i = 0; i < w->group_count; i++)
		most = w->group[i].limit > most ? w->group[i].limit : most;
	for (uint32_t place = 0; place < most; place++) {
		for (uint32_t i = 0; i < w->group_count; i++) {
			if (place < w->group[i].limit)
				w->credit[w->tail++ & w->mask] = i;
		}
	}
}

void window_free(struct window *w)
{
	free(w->group);
	free(w->credit);
	rte_ring_free(w->passed);
	*w = (struct window){ 0 };
}

// One pointer-sized word: group and count. A full ring drops it; the silence frees the places.
void window_pass(struct window *w, uint32_t group, uint32_t count)
{
	rte_ring_mp_enqueue(w->passed, (void *)((uintptr_t)group << 32 | count));
}

void window_take_passed(struct window *w, uint64_t now)
{
	void *word;
	while (rte_ring_sc_dequeue(w->passed, &word) == 0)
		window_credit(w, (uint32_t)((uintptr_t)word >> 32), (uint32_t)(uintptr_t)word, now);
}

void window_silence(struct window *w, uint64_t now)
{
	for (uint32_t i = 0; i < w->group_count; i++) {
		struct window_group *g = &w->group[i];
		if (g->in_flight == 0)
			g->heard = now;
		else if (now - g->heard > w->silence)
			window_credit(w, i, g->in_flight, now);
	}
}

#include "window.h"

#include <rte_common.h>
#include <rte_lcore.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define PASSED_MAX 65536

int window_alloc(struct window *w, uint32_t groups, uint32_t layers, uint16_t queue)
{
	char name[RTE_RING_NAMESIZE];
	*w = (struct window){
		.group = calloc(groups + 1, sizeof(*w->group)),
		.group_count = groups,
		.layer = calloc(layers, sizeof(*w->layer)),
		.layer_count = layers,
	};
	w->on = w->layer;
	if (w->group == NULL || w->layer == NULL)
		return -ENOMEM;
	if (groups == 0)
		return 0;
	snprintf(name, sizeof(name), "pmx_credit_%u", queue);
	w->passed = rte_ring_create(name, PASSED_MAX, (int)rte_socket_id(), RING_F_SC_DEQ);
	return w->passed != NULL ? 0 : -ENOMEM;
}

static int layer_fill(struct window *w, struct window_layer *l)
{
	uint32_t most = 0, places = 0, end = l->first + l->count;
	for (uint32_t i = l->first; i < end; i++) {
		w->group[i].layer = (uint32_t)(l - w->layer);
		most = w->group[i].limit > most ? w->group[i].limit : most;
		places += w->group[i].limit;
	}
	uint32_t size = rte_align32pow2(places > 0 ? places : 1);
	l->mask = size - 1;
	l->credit = calloc(size, sizeof(*l->credit));
	if (l->credit == NULL)
		return -ENOMEM;
	for (uint32_t place = 0; place < most; place++) {
		for (uint32_t i = l->first; i < end; i++) {
			if (place < w->group[i].limit)
				l->credit[l->tail++ & l->mask] = i;
		}
	}
	return 0;
}

int window_fill(struct window *w)
{
	int r = 0;
	for (uint32_t i = 0; r == 0 && i < w->layer_count; i++)
		r = layer_fill(w, &w->layer[i]);
	return r;
}

int window_streams(struct window *w, uint32_t streams)
{
	w->stream = calloc(streams, sizeof(*w->stream));
	for (uint32_t i = 0; w->stream != NULL && i < streams; i++)
		w->stream[i].group = NO_WINDOW;
	return w->stream != NULL ? 0 : -ENOMEM;
}

void window_free(struct window *w)
{
	for (uint32_t i = 0; w->layer != NULL && i < w->layer_count; i++)
		free(w->layer[i].credit);
	free(w->layer);
	free(w->group);
	free(w->stream);
	rte_ring_free(w->passed);
	*w = (struct window){ 0 };
}

// One pointer-sized word of two numbers. A full ring drops it; the silence frees the places.
static void pass(struct window *w, uint32_t high, uint32_t low)
{
	rte_ring_mp_enqueue(w->passed, (void *)((uintptr_t)high << 32 | low));
}

void window_pass(struct window *w, uint32_t group, uint32_t count)
{
	pass(w, group, count);
}

void window_pass_stream(struct window *w, uint32_t stream, uint32_t next)
{
	pass(w, stream, next);
}

void window_take_passed(struct window *w, uint64_t now)
{
	void *word;
	while (rte_ring_sc_dequeue(w->passed, &word) == 0) {
		uint32_t high = (uint32_t)((uintptr_t)word >> 32), low = (uint32_t)(uintptr_t)word;
		if (w->stream != NULL)
			window_reach(w, high, low, now);
		else
			window_credit(w, high, low, now);
	}
}

void window_silence(struct window *w, uint64_t now)
{
	for (uint32_t i = w->on->first; i < w->on->first + w->on->count; i++) {
		struct window_group *g = &w->group[i];
		if (g->in_flight == 0)
			g->heard = now;
		else if (now - g->heard > w->silence)
			window_credit(w, i, g->in_flight, now);
	}
}

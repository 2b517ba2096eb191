// Closed loop: at most N requests of an unpaced pair in flight. A place is a credit; credits wait
// in a FIFO, so pairs share a queue fairly and a full window costs nothing. A reply frees its place
// and those before it in its stream; what never comes back is freed after a long silence of the
// pair, never after a short one: stalls of milliseconds are normal. Each layer of a rotation has a
// FIFO of its own, so the credits of a layer wait until it sends again, whenever they came.
#pragma once

#include <rte_ring.h>

#include <stdint.h>

#define NO_WINDOW UINT32_MAX
#define WINDOW_SILENCE_NS 500e6

struct window_group {		       // one pair, its streams on this queue
	uint32_t first, count, cursor; // range of the queue's transmit streams, the next to send
	uint32_t limit, in_flight;
	uint64_t heard; // TSC of the last reply
	uint32_t layer;
};

// Of a stream whose replies may come in on several queues, whole ones on one and those in fragments
// on another: no queue alone sees which are back, so the owner keeps it.
struct window_stream {
	uint32_t next;	// the sequence after the last that came back
	uint32_t group; // NO_WINDOW = another queue's, or none
};

struct window_layer {
	uint32_t *credit; // owned: FIFO of group numbers, `mask` + 1 places
	uint32_t mask, head, tail;
	uint32_t first, count; // its groups
};

struct window {
	struct window_group *group; // owned
	uint32_t group_count, layer_count;
	struct window_layer *layer;   // owned
	struct window_layer *on;      // that sends
	uint64_t silence;	      // TSC
	struct rte_ring *passed;      // credits from other queues; owned
	struct window_stream *stream; // owned: by stream index; NULL = each has one queue
};

// A queue's windows, all empty, of one layer or more; the first is on. 0 or -ENOMEM. window_fill,
// once every group has its limit and its layer its groups, hands the credits out, those of
// different pairs in turn; 0 or -ENOMEM.
int window_alloc(struct window *w, uint32_t groups, uint32_t layers, uint16_t queue);
int window_fill(struct window *w);
// For streams whose replies may come in on several queues: all at 0 and of no group. 0 or -ENOMEM.
int window_streams(struct window *w, uint32_t streams);
void window_free(struct window *w);
// Takes what other queues passed on.
void window_take_passed(struct window *w, uint64_t now);
// Frees the places of pairs, of the layer that is on, that heard nothing for too long.
void window_silence(struct window *w, uint64_t now);
// By another queue's lcore: places of a group, or where streams are kept, how far one is (next).
void window_pass(struct window *w, uint32_t group, uint32_t count);
void window_pass_stream(struct window *w, uint32_t stream, uint32_t next);

static inline uint32_t window_credits(const struct window *w)
{
	return w->on->tail - w->on->head;
}

// Uses one credit: the transmit stream that sends next.
static inline uint32_t window_spend(struct window *w)
{
	struct window_layer *l = w->on;
	struct window_group *g = &w->group[l->credit[l->head++ & l->mask]];
	uint32_t stream = g->first + g->cursor;
	g->cursor = g->cursor + 1 < g->count ? g->cursor + 1 : 0;
	g->in_flight++;
	return stream;
}

// `count` places become free. More than are taken cannot: their requests were given up before.
static inline void window_credit(struct window *w, uint32_t group, uint32_t count, uint64_t now)
{
	struct window_group *g = &w->group[group];
	struct window_layer *l = &w->layer[g->layer];
	count = count < g->in_flight ? count : g->in_flight;
	g->in_flight -= count;
	g->heard = now;
	while (count-- > 0)
		l->credit[l->tail++ & l->mask] = group;
}

// The replies of a stream came up to `next`, as some queue saw it.
static inline void window_reach(struct window *w, uint32_t stream, uint32_t next, uint64_t now)
{
	struct window_stream *s = &w->stream[stream];
	int32_t advance = (int32_t)(next - s->next);
	if (advance <= 0 || s->group == NO_WINDOW)
		return;
	s->next = next;
	window_credit(w, s->group, (uint32_t)advance, now);
}

// Whether the place that a reply of group g frees is the next to be used: no other waits, and the
// layer that is on is its own.
static inline bool window_is_next(const struct window *w, const struct window_group *g)
{
	return window_credits(w) == 0 && w->on == &w->layer[g->layer] && g->in_flight > 0;
}

// A place that became free is used at once, by the group's next stream.
static inline void window_reuse(struct window_group *g, uint64_t now)
{
	g->cursor = g->cursor + 1 < g->count ? g->cursor + 1 : 0;
	g->heard = now;
}

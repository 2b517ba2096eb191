#include "sum_layers.h"

#include "sum_flow.h"
#include "sum_host.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LAYER_NONE UINT32_MAX

// --- which flows there are

// Sorts by source, destination and layer: 4,096 hosts and layers at most.
static uint64_t key_of(uint32_t src, uint32_t dst, uint32_t layer)
{
	return (uint64_t)src << 40 | (uint64_t)dst << 20 | layer;
}

static int key_cmp(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

int sum_index_init(struct sum_index *x, const struct pairs *pairs, struct err *e)
{
	*x = (struct sum_index){
		.pairs = pairs,
		.layer = malloc((pairs->count + 1) * sizeof(*x->layer)),
	};
	if (x->layer == NULL)
		return err_set(e, ENOMEM, "no memory for the layers of %u pairs", pairs->count);
	for (uint32_t i = 0; i < pairs->count; i++)
		x->layer[i] = LAYER_NONE;
	return 0;
}

void sum_index_free(struct sum_index *x)
{
	free(x->layer);
	free(x->again);
	*x = (struct sum_index){ 0 };
}

int sum_index_add(struct sum_index *x, uint32_t src, uint32_t dst, uint32_t layer, struct err *e)
{
	uint32_t *first = &x->layer[pairs_index(x->pairs, src, dst)];

	if (*first == LAYER_NONE)
		*first = layer;
	if (*first == layer)
		return 0;
	if (x->again_count == x->again_room) {
		size_t room = 2 * x->again_room + 64;
		uint64_t *again = realloc(x->again, room * sizeof(*again));

		if (again == NULL)
			return err_set(e, ENOMEM, "no memory for %zu flows", room);
		x->again = again;
		x->again_room = room;
	}
	x->again[x->again_count++] = key_of(src, dst, layer);
	return 0;
}

size_t sum_index_sort(struct sum_index *x)
{
	size_t n = 0;

	if (x->again_count > 0)
		qsort(x->again, x->again_count, sizeof(*x->again), key_cmp);
	for (size_t i = 0; i < x->again_count; i++)
		if (n == 0 || x->again[n - 1] != x->again[i])
			x->again[n++] = x->again[i];
	x->again_count = n;
	return x->pairs->count + n;
}

size_t sum_index_find(const struct sum_index *x, uint32_t src, uint32_t dst, uint32_t layer)
{
	uint32_t at = pairs_index(x->pairs, src, dst);
	uint64_t key = key_of(src, dst, layer);
	const uint64_t *found;

	if (x->layer[at] == layer)
		return at;
	found = bsearch(&key, x->again, x->again_count, sizeof(key), key_cmp);
	return x->pairs->count + (size_t)(found - x->again);
}

void sum_index_name(const struct sum_index *x, struct sum_flow *flow)
{
	for (uint32_t src = 0; src < x->pairs->hosts; src++)
		for (uint32_t dst = 0; dst < x->pairs->hosts; dst++) {
			uint32_t at = pairs_index(x->pairs, src, dst);

			if (at == PAIR_NONE)
				continue;
			flow[at].src = src;
			flow[at].dst = dst;
			flow[at].layer = x->layer[at];
		}
	for (size_t i = 0; i < x->again_count; i++) {
		struct sum_flow *f = &flow[x->pairs->count + i];

		f->src = (uint32_t)(x->again[i] >> 40);
		f->dst = (uint32_t)(x->again[i] >> 20) & 0xfffff;
		f->layer = (uint32_t)x->again[i] & 0xfffff;
	}
}

// --- how much of the matrix was measured

// For how long a flow was, NAN where it was not: no request left.
static double covered_of(const struct sum_flow *f)
{
	return f->sent != COUNTER_UNKNOWN && f->sent > 0 ? f->measured_s : NAN;
}

static void cover(struct summary *s, const struct sum_index *x)
{
	struct sum_coverage *c = &s->coverage;

	*c = (struct sum_coverage){ .pairs = x->pairs->count, .least_s = NAN, .most_s = NAN };
	for (size_t i = 0; i < c->pairs; i++)
		s->flow[i].covered_s = covered_of(&s->flow[i]);
	for (size_t i = c->pairs; i < s->flow_count; i++) {
		const struct sum_flow *f = &s->flow[i];

		rate_add(&s->flow[pairs_index(x->pairs, f->src, f->dst)].covered_s, covered_of(f));
	}
	for (size_t i = c->pairs; i < s->flow_count; i++) {
		struct sum_flow *f = &s->flow[i];

		f->covered_s = s->flow[pairs_index(x->pairs, f->src, f->dst)].covered_s;
	}
	for (size_t i = 0; i < c->pairs; i++) {
		double t = s->flow[i].covered_s;

		if (isnan(t))
			continue;
		c->measured++;
		c->least_s = isnan(c->least_s) || t < c->least_s ? t : c->least_s;
		c->most_s = isnan(c->most_s) || t > c->most_s ? t : c->most_s;
	}
}

// --- the layers

static void layer_add(struct sum_layer *l, const struct sum_flow *f)
{
	l->flows++;
	flow_sum(&l->sum, f, 1, 1);
	if (f->target != COUNTER_UNKNOWN)
		count_add(&l->paced_sent, f->sent);
	if (flow_complete(f))
		flow_sum(&l->complete, f, 1, 1);
	if (!isnan(f->measured_s) && !(f->measured_s <= l->measured_s))
		l->measured_s = f->measured_s;
	if (!isnan(f->rtt_p99_ns) && !(f->rtt_p99_ns <= l->rtt_worst_ns))
		l->rtt_worst_ns = f->rtt_p99_ns;
}

static void layer_finish(struct sum_layer *l)
{
	const struct sum_flow *c = &l->complete;

	l->loss_pct = loss_share_pct(l->sum.lost, l->sum.sent);
	l->loss_forward_pct = loss_share_pct(c->lost_forward, c->sent);
	l->loss_back_pct = loss_share_pct(c->lost_back, c->replied);
	l->delivered_pct = share_pct(c->delivered, c->sent);
	l->achieved_pct = share_pct(l->paced_sent, l->sum.target);
}

int layers_build(struct summary *s, const struct sum_index *x, struct err *e)
{
	uint32_t layers = s->rotation.layers;

	cover(s, x);
	if (layers == 0)
		return 0;
	for (size_t i = 0; i < s->flow_count; i++)
		layers = s->flow[i].layer < layers ? layers : s->flow[i].layer + 1;
	s->layer = malloc(layers * sizeof(*s->layer));
	if (s->layer == NULL)
		return err_set(e, ENOMEM, "no memory for %u layers", layers);
	s->layer_count = layers;
	for (uint32_t i = 0; i < layers; i++)
		s->layer[i] = (struct sum_layer){
			.layer = i,
			.measured_s = NAN,
			.rtt_worst_ns = NAN,
			.paced_sent = COUNTER_UNKNOWN,
			.sum = flow_unknown(),
			.complete = flow_unknown(),
		};
	for (size_t i = 0; i < s->flow_count; i++)
		layer_add(&s->layer[s->flow[i].layer], &s->flow[i]);
	for (uint32_t i = 0; i < layers; i++)
		layer_finish(&s->layer[i]);
	return 0;
}

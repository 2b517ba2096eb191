#include "lives_sizes.h"

#include <errno.h>
#include <stdlib.h>

// --- what a flow has, whichever end tells

struct flow_sizes {
	uint32_t bytes[2], mix[2];
};

static struct flow_sizes flow_at(const struct result *r, size_t i)
{
	if (i < r->tx_count) {
		const struct result_flow_tx *f = &r->tx[i];

		return (struct flow_sizes){ { f->req_bytes, f->rep_bytes },
					    { f->req_mix, f->rep_mix } };
	}
	const struct result_flow_rx *f = &r->rx[i - r->tx_count];

	return (struct flow_sizes){ { f->req_bytes, f->rep_bytes }, { f->req_mix, f->rep_mix } };
}

static bool same_sizes(const struct flow_sizes *a, const struct flow_sizes *b)
{
	return a->bytes[0] == b->bytes[0] && a->bytes[1] == b->bytes[1] && a->mix[0] == b->mix[0] &&
	       a->mix[1] == b->mix[1];
}

bool lives_sizes_differ(const struct result *const *life, size_t n)
{
	struct flow_sizes first = { 0 };
	bool found = false;

	for (size_t l = 0; n > 1 && l < n; l++) {
		const struct result *r = life[l];

		if (!mixes_equal(r->mix, r->mix_count, life[0]->mix, life[0]->mix_count))
			return true;
		for (size_t i = 0; i < r->tx_count + r->rx_count; i++) {
			struct flow_sizes f = flow_at(r, i);

			first = found ? first : f;
			found = true;
			if (!same_sizes(&f, &first))
				return true;
		}
	}
	return false;
}

// --- all sizes

static int by_bytes(const void *a, const void *b)
{
	const struct mix_size *x = a, *y = b;

	return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

// Room for one more of a set that is not in order yet, unless it is there.
static int set_add(struct size_set *s, uint32_t bytes)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->size[i].bytes == bytes)
			return 0;
	struct mix_size *size = reallocarray(s->size, s->count + 1, sizeof(*size));

	if (size == NULL)
		return -ENOMEM;
	s->size = size;
	size[s->count++] = (struct mix_size){ .bytes = bytes, .weight = 1 };
	return 0;
}

static int way_add(struct lives_sizes *z, int way, const struct flow_sizes *f)
{
	struct size_set *to = &z->way[way];
	int rc = 0;

	if (f->mix[way] == 0)
		return set_add(to, f->bytes[way]);
	const struct size_set *own = &z->own[f->mix[way] - 1];
	for (size_t i = 0; i < own->count && rc == 0; i++)
		rc = set_add(to, own->size[i].bytes);
	return rc;
}

// One life's; flows of the same sizes as the one before add nothing.
static int life_add(struct lives_sizes *z, const struct result *r, bool mixed[2])
{
	struct flow_sizes last = { 0 };
	int rc = lives_sizes_take(z, r);

	for (size_t i = 0; i < r->tx_count + r->rx_count && rc == 0; i++) {
		struct flow_sizes f = flow_at(r, i);

		if (i > 0 && same_sizes(&f, &last))
			continue;
		last = f;
		for (int way = 0; way < 2 && rc == 0; way++) {
			mixed[way] = mixed[way] || f.mix[way] > 0;
			rc = way_add(z, way, &f);
		}
	}
	return rc;
}

int lives_sizes_init(struct lives_sizes *z, const struct result *const *life, size_t n)
{
	bool mixed[2] = { false };
	int rc = 0;

	*z = (struct lives_sizes){ 0 };
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = life_add(z, life[i], mixed);
	for (int way = 0; way < 2; way++) {
		struct size_set *s = &z->way[way];

		if (s->count == 1 && !mixed[way])
			s->count = 0;
		else if (s->count > 0)
			qsort(s->size, s->count, sizeof(*s->size), by_bytes);
	}
	return rc;
}

static void own_free(struct lives_sizes *z)
{
	for (size_t i = 0; i < z->own_count; i++)
		free(z->own[i].size);
	free(z->own);
	z->own = NULL;
	z->own_count = 0;
}

void lives_sizes_free(struct lives_sizes *z)
{
	own_free(z);
	free(z->way[0].size);
	free(z->way[1].size);
	*z = (struct lives_sizes){ 0 };
}

uint32_t lives_sizes_mix(const struct lives_sizes *z, bool reply)
{
	if (z->way[reply].count == 0)
		return 0;
	return reply && z->way[0].count > 0 ? 2 : 1;
}

int lives_sizes_mixes(const struct lives_sizes *z, struct result *out)
{
	out->mix = calloc(2, sizeof(*out->mix));
	if (out->mix == NULL)
		return -ENOMEM;
	for (int way = 0; way < 2; way++) {
		const struct size_set *s = &z->way[way];

		if (s->count == 0)
			continue;
		struct uints *cycle = uints_new((uint32_t)s->count);
		if (cycle == NULL)
			return -ENOMEM;
		for (size_t i = 0; i < s->count; i++)
			cycle->v[i] = s->size[i].bytes;
		out->mix[out->mix_count++].cycle = cycle;
	}
	return 0;
}

// --- one life

int lives_sizes_take(struct lives_sizes *z, const struct result *r)
{
	own_free(z);
	z->own = calloc(r->mix_count + 1, sizeof(*z->own));
	if (z->own == NULL)
		return -ENOMEM;
	for (; z->own_count < r->mix_count; z->own_count++) {
		const struct size_mix *m = &r->mix[z->own_count];
		struct size_set *s = &z->own[z->own_count];

		s->size = calloc(m->cycle->count, sizeof(*s->size));
		if (s->size == NULL)
			return -ENOMEM;
		s->count = mix_sizes(m, s->size);
	}
	return 0;
}

struct place { // of a size's two counters
	struct uints *to;
	uint32_t from, sizes; // where its way begins; of both ways
};

static void put(const struct place *p, const struct size_set *s, uint32_t bytes, uint64_t first,
		uint64_t second)
{
	size_t at = mix_find(s->size, s->count, bytes);

	if (at == s->count)
		return;
	p->to->v[p->from + at] = first;
	p->to->v[p->sizes + p->from + at] = second;
}

int lives_sizes_count(const struct lives_sizes *z, const struct life_counts *c, struct uints **to)
{
	bool mixed = c->mix[0] > 0 || c->mix[1] > 0;
	uint32_t from = 0, half = c->by_size != NULL ? c->by_size->count / 2 : 0;
	struct place p = { .sizes = (uint32_t)(z->way[0].count + z->way[1].count) };

	*to = NULL;
	if (p.sizes == 0 || c->first == COUNTER_UNKNOWN || c->second == COUNTER_UNKNOWN ||
	    (mixed && c->by_size == NULL))
		return 0;
	*to = p.to = uints_new(2 * p.sizes);
	if (*to == NULL)
		return -ENOMEM;
	for (int way = 0; way < 2; way++) {
		const struct size_set *all = &z->way[way];
		const struct size_set *own = c->mix[way] > 0 ? &z->own[c->mix[way] - 1] : NULL;

		if (own == NULL && all->count > 0)
			put(&p, all, c->bytes[way], c->first, c->second);
		for (size_t i = 0; own != NULL && i < own->count; i++, from++)
			put(&p, all, own->size[i].bytes, uints_at(c->by_size, from),
			    uints_at(c->by_size, half + from));
		p.from += (uint32_t)all->count;
	}
	return 0;
}

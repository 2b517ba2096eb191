#include "size_mix.h"

#include "hostcfg.h"
#include "units.h"
#include "wire.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct jm_row mix_row[] = {
	{ "cycle", JM_CODEC, JM_AT(struct size_mix, cycle), .codec = &uints_codec },
};
const struct jm_map size_mix_map = JM_MAP(mix_row, struct size_mix);

static int by_bytes(const void *a, const void *b)
{
	const struct mix_size *x = a, *y = b;

	return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

size_t mix_sizes(const struct size_mix *m, struct mix_size *out)
{
	size_t n = 0;

	for (uint32_t i = 0; i < m->cycle->count; i++)
		out[i] = (struct mix_size){ (uint32_t)m->cycle->v[i], 1 };
	qsort(out, m->cycle->count, sizeof(*out), by_bytes);
	for (uint32_t i = 0; i < m->cycle->count; i++) {
		if (n > 0 && out[n - 1].bytes == out[i].bytes)
			out[n - 1].weight++;
		else
			out[n++] = out[i];
	}
	return n;
}

size_t mix_find(const struct mix_size *sizes, size_t n, uint32_t bytes)
{
	struct mix_size key = { .bytes = bytes };
	const struct mix_size *at = bsearch(&key, sizes, n, sizeof(*sizes), by_bytes);

	return at != NULL ? (size_t)(at - sizes) : n;
}

size_t mix_size_count(const struct size_mix *m)
{
	struct mix_size *sizes = malloc(m->cycle->count * sizeof(*sizes));
	size_t n = sizes != NULL ? mix_sizes(m, sizes) : 0;

	free(sizes);
	return n;
}

uint32_t mix_largest(const struct size_mix *m)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < m->cycle->count; i++)
		most = m->cycle->v[i] > most ? m->cycle->v[i] : most;
	return (uint32_t)most;
}

double mix_mean(const struct size_mix *m)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < m->cycle->count; i++)
		sum += m->cycle->v[i];
	return (double)sum / m->cycle->count;
}

bool mixes_equal(const struct size_mix *a, size_t a_count, const struct size_mix *b, size_t b_count)
{
	bool same = a_count == b_count;

	for (size_t i = 0; same && i < a_count; i++) {
		const struct uints *x = a[i].cycle, *y = b[i].cycle;

		same = x->count == y->count && memcmp(x->v, y->v, x->count * sizeof(x->v[0])) == 0;
	}
	return same;
}

struct place { // (2k + 1) / 2w of the cycle
	uint64_t k2, w2;
	size_t part;
};

static int by_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	uint64_t left = x->k2 * y->w2, right = y->k2 * x->w2;

	if (left != right)
		return left < right ? -1 : 1;
	if (x->part != y->part)
		return x->part < y->part ? -1 : 1;
	return x->k2 < y->k2 ? -1 : x->k2 > y->k2;
}

struct uints *mix_interleave(const struct mix_size *part, size_t parts)
{
	uint32_t count = 0, n = 0;

	for (size_t i = 0; i < parts; i++)
		count += part[i].weight;
	struct place *place = calloc(count + 1, sizeof(*place));
	struct uints *cycle = uints_new(count);
	for (size_t i = 0; place != NULL && i < parts; i++)
		for (uint32_t k = 0; k < part[i].weight; k++)
			place[n++] = (struct place){ 2ull * k + 1, 2ull * part[i].weight, i };
	if (place == NULL || cycle == NULL) {
		free(place);
		free(cycle);
		return NULL;
	}
	qsort(place, count, sizeof(*place), by_place);
	for (uint32_t i = 0; i < count; i++)
		cycle->v[i] = part[place[i].part].bytes;
	free(place);
	return cycle;
}

int mix_check(const struct size_mix *m, struct err *e)
{
	if (m->cycle == NULL || m->cycle->count < 1 || m->cycle->count > MIX_CYCLE_MAX)
		return err_set(e, EINVAL, "cycle: expected 1 to %d sizes", MIX_CYCLE_MAX);
	for (uint32_t i = 0; i < m->cycle->count; i++)
		if (m->cycle->v[i] < PMX_PAYLOAD_MIN || m->cycle->v[i] > PAYLOAD_MAX_BYTES)
			return err_set(e, EINVAL,
				       "cycle[%u]: %" PRIu64 ": expected an integer from %d to %d",
				       i, m->cycle->v[i], PMX_PAYLOAD_MIN, PAYLOAD_MAX_BYTES);
	size_t n = mix_size_count(m);
	if (n == 0)
		return err_set(e, ENOMEM, "no memory for %u sizes", m->cycle->count);
	if (n > MIX_SIZES_MAX)
		return err_set(e, EINVAL, "cycle: %zu different sizes: expected at most %d", n,
			       MIX_SIZES_MAX);
	return 0;
}

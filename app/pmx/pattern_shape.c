#include "pattern_shape.h"

#include "pattern.h"
#include "shuffle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct spot always = { .first = 1 };

// The host at the far end of the i-th shift.
static uint32_t shifted(const struct shape *s, uint32_t src, uint32_t i)
{
	uint32_t n = (uint32_t)s->matrix->host_count, place = s->place[src] + s->shift[i];

	return s->host[place < n ? place : place - n];
}

static void row_peers(const struct shape *s, uint32_t src, struct spot *row)
{
	const struct matrix *m = s->matrix;
	uint32_t shifts = (uint32_t)m->host_count - 1, peers = m->traffic.peers;
	uint32_t layers = pattern_layers(m), used = layers > 1 ? shifts : peers;

	for (uint32_t i = 0; i < used; i++)
		row[shifted(s, src, i)].first = i / peers + 1;
	// the last layer is filled up from the first shifts, which other layers have
	for (uint32_t i = 0; m->traffic.equal_layers && i < layers * peers - used; i++)
		row[shifted(s, src, i)].again = layers;
}

static void row_mesh(const struct shape *s, uint32_t src, struct spot *row)
{
	uint32_t n = (uint32_t)s->matrix->host_count;

	if (s->matrix->traffic.peers > 0) {
		row_peers(s, src, row);
		return;
	}
	for (uint32_t dst = 0; dst < n; dst++)
		if (dst != src)
			row[dst] = always;
}

static void row_cells(const struct shape *s, uint32_t src, struct spot *row)
{
	(void)s;
	(void)src;
	(void)row;
}

static void row_pairs(const struct shape *s, uint32_t src, struct spot *row)
{
	(void)s;
	row[src ^ 1] = always;
}

static void row_one_to_many(const struct shape *s, uint32_t src, struct spot *row)
{
	const bool *hub = s->matrix->traffic.hub;

	for (size_t dst = 0; hub[src] && dst < s->matrix->host_count; dst++)
		if (!hub[dst])
			row[dst] = always;
}

static void row_many_to_one(const struct shape *s, uint32_t src, struct spot *row)
{
	const bool *hub = s->matrix->traffic.hub;

	for (size_t dst = 0; !hub[src] && dst < s->matrix->host_count; dst++)
		if (hub[dst])
			row[dst] = always;
}

static void row_halves(const struct shape *s, uint32_t src, struct spot *row)
{
	size_t n = s->matrix->host_count, half = (n + 1) / 2;

	for (size_t dst = src < half ? half : 0; dst < (src < half ? n : half); dst++)
		row[dst] = always;
}

static void (*const row_of[PATTERN_COUNT])(const struct shape *s, uint32_t src,
					   struct spot *row) = {
	[PATTERN_MESH] = row_mesh,
	[PATTERN_CELLS] = row_cells,
	[PATTERN_PAIRS] = row_pairs,
	[PATTERN_ONE_TO_MANY] = row_one_to_many,
	[PATTERN_MANY_TO_ONE] = row_many_to_one,
	[PATTERN_HALVES] = row_halves,
};

void shape_row(const struct shape *s, uint32_t src, struct spot *row)
{
	memset(row, 0, s->matrix->host_count * sizeof(*row));
	row_of[s->matrix->traffic.pattern](s, src, row);
}

int shape_open(const struct matrix *m, struct shape *s, struct err *e)
{
	uint32_t n = (uint32_t)m->host_count;
	struct shuffle seeded = { .state = m->traffic.seed };

	*s = (struct shape){ .matrix = m };
	if (m->traffic.peers == 0)
		return 0;
	s->place = calloc(n, sizeof(*s->place));
	s->host = calloc(n, sizeof(*s->host));
	s->shift = calloc(n, sizeof(*s->shift));
	if (s->place == NULL || s->host == NULL || s->shift == NULL) {
		shape_close(s);
		return err_set(e, ENOMEM, "%s: out of memory for %u hosts", m->file, n);
	}
	shuffle_order(&seeded, s->host, n);
	for (uint32_t i = 0; i < n; i++)
		s->place[s->host[i]] = i;
	shuffle_order(&seeded, s->shift, n - 1);
	for (uint32_t i = 0; i < n - 1; i++)
		s->shift[i]++; // 1..n-1: a shift of 0 is a host to itself
	return 0;
}

void shape_close(struct shape *s)
{
	free(s->place);
	free(s->host);
	free(s->shift);
	*s = (struct shape){ 0 };
}

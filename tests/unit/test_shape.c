// The shapes of a matrix, over the flows that come of them.
#include "pattern.h"
#include "shuffle.h"

#include "planlib.h"

#include <errno.h>
#include <stdio.h>

// A matrix of n hosts h0, h1, ... with the given traffic.
static void matrix_of(struct matrix *m, unsigned n, const char *traffic)
{
	struct err e = { 0 };
	char *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	fputs("pmx: 1\ndefaults: {device: net_null0}\nhosts:\n", f);
	for (unsigned i = 0; i < n; i++)
		fprintf(f, "  h%u: {addr: 10.%u.%u.1/8}\n", i, i / 256, i % 256);
	fprintf(f, "traffic: %s\n", traffic);
	fclose(f);
	if (matrix_parse("FILE", text, len, m, &e) < 0)
		fail_msg("%s: %s", traffic, e.msg);
	free(text);
}

static struct pair *pairs_of(const struct matrix *m, const bool *excluded, size_t *count)
{
	struct err e = { 0 };
	struct pair *pair;

	if (pattern_build(m, excluded, &pair, count, &e) < 0)
		fail_msg("%s", e.msg);
	return pair;
}

static void sorted(const struct pair *p, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		const struct pair *a = &p[i - 1], *b = &p[i];

		assert_true(a->src < b->src ||
			    (a->src == b->src &&
			     (a->dst < b->dst || (a->dst == b->dst && a->layer < b->layer))));
	}
}

// "01 10 02@1": source, destination and, with a rotation, layer of every flow.
static void flows_are(unsigned n, const char *traffic, const bool *excluded, const char *want)
{
	struct matrix m;
	size_t count, used = 0;
	char got[1024] = "";

	matrix_of(&m, n, traffic);
	struct pair *p = pairs_of(&m, excluded, &count);
	sorted(p, count);
	for (size_t i = 0; i < count && used < sizeof(got); i++) {
		used += (size_t)snprintf(got + used, sizeof(got) - used, "%s%u%u", i > 0 ? " " : "",
					 p[i].src, p[i].dst);
		if (pattern_layers(&m) > 1)
			used += (size_t)snprintf(got + used, sizeof(got) - used, "@%u", p[i].layer);
	}
	if (strcmp(got, want) != 0)
		fail_msg("%u hosts, %s:\n%s\nexpected:\n%s", n, traffic, got, want);
	free(p);
	matrix_free(&m);
}

static void fixed_shapes(void **state)
{
	(void)state;
	flows_are(4, "{rate: 1, pattern: pairs}", NULL, "01 10 23 32");
	flows_are(4, "{rate: 1, pattern: one-to-many, hub: h1}", NULL, "10 12 13");
	flows_are(4, "{rate: 1, pattern: many-to-one, hub: h1}", NULL, "01 21 31");
	flows_are(4, "{rate: 1, pattern: one-to-many, hub: [h3, h0]}", NULL, "01 02 31 32");
	flows_are(4, "{rate: 1, pattern: many-to-one, hub: [h3, h0]}", NULL, "10 13 20 23");
	flows_are(4, "{rate: 1, pattern: halves}", NULL, "02 03 12 13 20 21 30 31");
	flows_are(5, "{rate: 1, pattern: halves}", NULL, "03 04 13 14 23 24 30 31 32 40 41 42");
	flows_are(2, "{rate: 1, pattern: halves}", NULL, "01 10");
	flows_are(2, "{rate: 1, peers: 1}", NULL, "01 10");
	flows_are(3, "{rate: 1, peers: 2}", NULL, "01 02 10 12 20 21");
}

// The others' flows stay what they are.
static void without_hosts(void **state)
{
	static const bool no1[5] = { false, true };

	(void)state;
	flows_are(4, "{rate: 1, pattern: pairs}", no1, "23 32");
	flows_are(4, "{rate: 1, pattern: one-to-many, hub: [h1, h2]}", no1, "20 23");
	flows_are(4, "{rate: 1, pattern: many-to-one, hub: [h0]}", no1, "20 30");
	flows_are(4, "{rate: 1, pattern: halves}", no1, "02 03 20 30");
	for (unsigned n = 3; n <= 5; n++) {
		struct matrix m;
		size_t all, left, at = 0;

		matrix_of(&m, n, "{rate: 1, peers: 2, dwell: 1s, equal_layers: yes}");
		struct pair *p = pairs_of(&m, NULL, &all), *q = pairs_of(&m, no1, &left);
		for (size_t i = 0; i < all; i++) {
			if (p[i].src == 1 || p[i].dst == 1)
				continue;
			assert_true(at < left && p[i].src == q[at].src && p[i].dst == q[at].dst &&
				    p[i].layer == q[at].layer);
			at++;
		}
		assert_int_equal(at, left);
		free(p);
		free(q);
		matrix_free(&m);
	}
}

// A cell goes before the shape, and adds a pair that the shape has not.
static void with_cells(void **state)
{
	(void)state;
	flows_are(4, "{rate: 1, pattern: pairs, cells: {h0: {h1: 0, h3: 5}, h3: {h2: }}}", NULL,
		  "03 10 23");
	flows_are(4, "{rate: 1, pattern: one-to-many, hub: h0, cells: {h2: {h1: 5}}}", NULL,
		  "01 02 03 21");
	flows_are(2, "{rate: 1, peers: 1, dwell: 1s, cells: {h0: {h1: 0}}}", NULL, "10");
}

// Every host has exactly `peers` flows out and in, none to itself and none twice; the same for each
// layer of a rotation but the last, which has what is left, or with equal_layers as many.
static void rotation_holds(unsigned n, unsigned peers, uint64_t seed, bool equal)
{
	unsigned layers = (n - 1 + peers - 1) / peers, last = n - 1 - (layers - 1) * peers;
	struct matrix m;
	char traffic[128];
	size_t count;

	snprintf(traffic, sizeof(traffic), "{rate: 1, peers: %u, seed: %llu, dwell: 2s%s}", peers,
		 (unsigned long long)seed, equal ? ", equal_layers: yes" : "");
	matrix_of(&m, n, traffic);
	struct pair *p = pairs_of(&m, NULL, &count);
	uint16_t *out = calloc((size_t)n * layers, sizeof(*out)),
		 *in = calloc((size_t)n * layers, sizeof(*in));
	uint8_t *met = calloc((size_t)n * n, 1);
	assert_true(out != NULL && in != NULL && met != NULL);
	assert_int_equal(pattern_layers(&m), layers);
	assert_int_equal(count, (size_t)n * (equal ? layers * peers : n - 1));
	sorted(p, count); // and so no pair twice in a layer
	for (size_t i = 0; i < count; i++) {
		assert_true(p[i].src != p[i].dst && p[i].src < n && p[i].dst < n);
		assert_true(p[i].layer < layers);
		out[p[i].layer * n + p[i].src]++;
		in[p[i].layer * n + p[i].dst]++;
		met[p[i].src * n + p[i].dst]++;
	}
	for (unsigned layer = 0; layer < layers; layer++)
		for (unsigned h = 0; h < n; h++) {
			unsigned want = layer + 1 < layers || equal ? peers : last;

			assert_int_equal(out[layer * n + h], want);
			assert_int_equal(in[layer * n + h], want);
		}
	for (unsigned src = 0; src < n; src++)
		for (unsigned dst = 0; dst < n; dst++)
			assert_true(src == dst ? met[src * n + dst] == 0
				    : equal    ? met[src * n + dst] == 1 || met[src * n + dst] == 2
					       : met[src * n + dst] == 1);
	free(met);
	free(in);
	free(out);
	free(p);
	matrix_free(&m);
}

static void exact_cover(void **state)
{
	(void)state;
	for (unsigned n = 2; n <= 14; n++)
		for (unsigned peers = 1; peers < n; peers++) {
			rotation_holds(n, peers, n * 100 + peers, false);
			rotation_holds(n, peers, n * 100 + peers, true);
		}
	rotation_holds(257, 31, 0, false);
	rotation_holds(257, 31, SEED_MAX, true);
	rotation_holds(1000, 8, 42, false); // 999 = 124 * 8 + 7
	rotation_holds(1000, 8, 42, true);
}

static void regular(void **state)
{
	unsigned out[1000] = { 0 }, in[1000] = { 0 };
	struct matrix m, rotated;
	size_t count, all, at = 0;

	(void)state;
	matrix_of(&m, 1000, "{rate: 1, peers: 8, seed: 42}");
	matrix_of(&rotated, 1000, "{rate: 1, peers: 8, seed: 42, dwell: 1s}");
	struct pair *p = pairs_of(&m, NULL, &count), *q = pairs_of(&rotated, NULL, &all);
	assert_int_equal(count, 8000);
	assert_int_equal(pattern_layers(&m), 1);
	sorted(p, count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(p[i].layer, 0);
		assert_int_not_equal(p[i].src, p[i].dst);
		out[p[i].src]++;
		in[p[i].dst]++;
	}
	for (size_t i = 0; i < 1000; i++)
		assert_true(out[i] == 8 && in[i] == 8);
	// what stands still is the first layer of what rotates
	for (size_t i = 0; i < all; i++)
		if (q[i].layer == 0) {
			assert_true(at < count && q[i].src == p[at].src && q[i].dst == p[at].dst);
			at++;
		}
	assert_int_equal(at, count);
	free(p);
	free(q);
	matrix_free(&m);
	matrix_free(&rotated);
}

// A seed means the same flows on every machine and in every version.
static void seeded(void **state)
{
	struct shuffle s = { .state = 42 };
	uint32_t order[8];
	char got[64] = "";

	(void)state;
	shuffle_order(&s, order, 8);
	for (int i = 0; i < 8; i++)
		snprintf(got + strlen(got), sizeof(got) - strlen(got), " %u", order[i]);
	assert_string_equal(got, " 5 1 6 2 7 4 0 3");
	flows_are(5, "{rate: 1, peers: 2, seed: 42, dwell: 1s}", NULL,
		  "01@0 02@0 03@1 04@1 10@0 12@1 13@1 14@0 20@0 21@1 23@0 24@1 30@1 31@1 32@0 34@0 "
		  "40@1 41@0 42@1 43@0");
	flows_are(5, "{rate: 1, peers: 2, seed: 43}", NULL, "02 04 10 13 21 24 30 32 41 43");
	flows_are(
		4, "{rate: 1, peers: 2, seed: 42, dwell: 1s, equal_layers: yes}", NULL,
		"01@0 02@1 03@0 03@1 10@1 12@0 12@1 13@0 20@0 21@0 21@1 23@1 30@0 30@1 31@1 32@0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fixed_shapes), cmocka_unit_test(without_hosts),
		cmocka_unit_test(with_cells),	cmocka_unit_test(exact_cover),
		cmocka_unit_test(regular),	cmocka_unit_test(seeded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "testlib.h"

#include "advice.h"
#include "advice_case.h"

#include <stdlib.h>
#include <string.h>

static void nothing(struct mesh_run *r)
{
	(void)r;
}

static size_t advise(void (*change)(struct mesh_run *), struct advice out[ADVICE_MAX])
{
	struct mesh_run r;
	struct summary s;
	size_t n;

	mesh_run_make(&r, &(struct mesh_spec){ .hosts = 3, .queues = 2, .pps = 5000 });
	change(&r);
	mesh_summarize(&r, &s);
	n = advice_build(&s, out);
	summary_free(&s);
	mesh_run_free(&r);
	return n;
}

static const struct advice *find(const struct advice *a, size_t n, const char *rule)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(a[i].rule, rule) == 0)
			return &a[i];
	return NULL;
}

static void must_say(const char *rule, const char *text, const char *words)
{
	if (words != NULL && strstr(text, words) == NULL)
		fail_msg("%s: '%s' is not in '%s'", rule, words, text);
}

static void test_examples(void **state)
{
	struct advice advice[ADVICE_MAX];

	(void)state;
	for (size_t i = 0; i < advice_cases; i++) {
		const struct advice_case *x = &advice_case[i];
		const struct advice *a = find(advice, advise(x->change, advice), x->rule);

		if ((a != NULL) != (x->outcome != SILENT))
			fail_msg("example %zu: '%s' %s", i, x->rule,
				 x->outcome != SILENT ? "is silent" : "fires");
		if (a == NULL)
			continue;
		must_say(x->rule, a->evidence, x->evidence);
		must_say(x->rule, a->fix, x->fix);
	}
}

static void test_every_rule_has_examples(void **state)
{
	(void)state;
	for (size_t i = 0; i < advice_count; i++) {
		bool fires = false, silent = false;

		for (size_t k = 0; k < advice_cases; k++) {
			if (strcmp(advice_case[k].rule, advice_table[i].name) != 0)
				continue;
			fires = fires || advice_case[k].outcome != SILENT;
			silent = silent || advice_case[k].outcome == SILENT;
		}
		if (!fires || !silent)
			fail_msg("'%s' has no example that %s", advice_table[i].name,
				 fires ? "leaves it silent" : "fires it");
	}
	assert_true(advice_count < ADVICE_MAX);
}

static void everything(struct mesh_run *r)
{
	for (size_t i = 0; i < advice_cases; i++)
		if (advice_case[i].outcome == FIRES)
			advice_case[i].change(r);
}

static void test_rank(void **state)
{
	struct advice advice[ADVICE_MAX];
	size_t n, rule = 0;

	(void)state;
	n = advise(everything, advice);
	assert_true(n > 8);
	for (size_t i = 0; i < n; i++, rule++) // the order of the table
		while (strcmp(advice_table[rule].name, advice[i].rule) != 0)
			assert_true(++rule < advice_count);
}

struct leaves {
	size_t hosts, split; // the first `split` hosts on one leaf, the others on the other
	bool both;
};

// Loss between two leaves; returns whether the rule fires.
static bool advise_block(struct leaves l, struct advice *found)
{
	struct advice advice[ADVICE_MAX];
	struct mesh_run r;
	struct summary s;

	mesh_run_make(&r, &(struct mesh_spec){ .hosts = l.hosts, .pps = 5000 });
	for (size_t src = 0; src < l.split; src++)
		for (size_t dst = l.split; dst < l.hosts; dst++) {
			if (src == 0 && dst == l.split)
				continue; // one pair is lucky
			mesh_lose_forward(&r, src, dst, 400 + src);
			if (l.both)
				mesh_lose_forward(&r, dst, src, 300);
			else
				mesh_lose_back(&r, dst, src, 300); // replies go the same way
		}
	mesh_lose_forward(&r, 0, 1, 5);
	mesh_summarize(&r, &s);
	size_t n = advice_build(&s, advice);
	const struct advice *a = find(advice, n, "sick grid");
	if (a != NULL)
		*found = *a;
	summary_free(&s);
	mesh_run_free(&r);
	return a != NULL;
}

static void test_sick_block(void **state)
{
	struct advice a = { 0 };

	(void)state;
	assert_true(advise_block((struct leaves){ 8, 4, false }, &a));
	must_say("sick grid", a.evidence,
		 "of the lost packets went from a, b, c and 1 more to e, f, g and 1 more");
	must_say("sick grid", a.fix, "the links between their switches");
	assert_true(advise_block((struct leaves){ 70, 30, true }, &a));
	must_say("sick grid", a.evidence,
		 "went between host0000, host0001, host0002 and 27 more "
		 "and host0030, host0031, host0032 and 37 more");
	assert_true(advise_block((struct leaves){ 9, 1, false }, &a)); // a leaf of one host
	must_say("sick grid", a.evidence, "sick row");
}

static void barely_busy(struct mesh_run *r)
{
	for (size_t i = 0; i < r->hosts; i++)
		for (size_t q = 0; q < r->result[i].queue_count; q++)
			r->result[i].queue[q].trial[1].busy_tsc = 10;
}

static void unpaced(struct mesh_run *r)
{
	for (size_t i = 0; i < r->hosts; i++)
		for (size_t k = 0; k < r->result[i].tx_count; k++)
			r->result[i].tx[k].rate_pps = RATE_UNPACED;
}

static void cells(struct mesh_run *r)
{
	r->matrix.traffic.pattern = PATTERN_CELLS;
	r->matrix.traffic.cell = calloc(1, sizeof(*r->matrix.traffic.cell));
	r->matrix.traffic.cell[0] = (struct matrix_cell){ .src = 0, .dst = 1, .rate.pps = 5000 };
	r->matrix.traffic.cell_count = 1;
}

static void live(struct mesh_run *r)
{
	for (size_t i = 0; i < r->hosts; i++) {
		strcpy(r->result[i].state, "running");
		r->now_ns[i] = MESH_START_NS + 10000000000u;
	}
}

static void test_nothing_fired(void **state)
{
	static const struct advice_case last[] = {
		// the busiest queue at 40 %: twice the load brings it to 80
		{ "raise the rate", nothing, FIRES, NULL,
		  "pmx run lab.yaml --scale 2.0, or for good 'rate: 10k' instead of 5k in "
		  "lab.yaml" },
		{ "raise the rate", barely_busy, FIRES, NULL, "'rate: 50k' instead of 5k" },
		{ "raise the rate", cells, FIRES, NULL, "pmx run lab.yaml --scale 2.0" },
		{ "unpaced", unpaced, FIRES, "30.0 kpps is what these hosts send",
		  "pmx run lab.yaml" },
		{ "wait", live, FIRES, NULL, "pmx summarize lab.yaml" },
	};
	struct advice advice[ADVICE_MAX];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(last); i++) {
		assert_int_equal(advise(last[i].change, advice), 1);
		assert_string_equal(advice[0].rule, last[i].rule);
		must_say(last[i].rule, advice[0].evidence, last[i].evidence);
		must_say(last[i].rule, advice[0].fix, last[i].fix);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_examples),   cmocka_unit_test(test_every_rule_has_examples),
		cmocka_unit_test(test_rank),	   cmocka_unit_test(test_nothing_fired),
		cmocka_unit_test(test_sick_block),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

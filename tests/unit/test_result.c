#include "result.h"

#include "sample.h"
#include "testlib.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static json_t *sample_json(void)
{
	struct result r;

	sample_result(&r);
	json_t *v = result_write(&r);
	assert_non_null(v);
	result_free(&r);
	return v;
}

static void golden(void **state)
{
	json_t *v = sample_json();
	char *text = json_dumps(v, JSON_INDENT(1));
	char *want = data_read("lib/result.json", NULL);
	struct result r;
	struct err e = { 0 };

	(void)state;
	assert_string_equal(text, want);
	if (result_load(TEST_DATA "/lib/result.json", &r, &e) < 0)
		fail_msg("%s", e.msg);
	json_t *again = result_write(&r);
	char *text_again = json_dumps(again, JSON_INDENT(1));
	assert_string_equal(text_again, want);
	result_free(&r);
	json_decref(v);
	json_decref(again);
	free(text);
	free(text_again);
	free(want);
}

static void same_packed(const struct hist_packed *a, const struct hist_packed *b)
{
	assert_true(a->min_ns == b->min_ns && a->max_ns == b->max_ns && a->sum_ns == b->sum_ns);
	assert_true(a->count == b->count && a->bins == b->bins);
	for (uint32_t i = 0; i < a->bins; i++)
		assert_true(a->bin[i].bucket == b->bin[i].bucket &&
			    a->bin[i].count == b->bin[i].count);
}

static void fields_come_back(void **state)
{
	struct result want, got;
	struct err e = { 0 };
	json_t *v = sample_json();

	(void)state;
	sample_result(&want);
	assert_int_equal(result_read(v, &got, &e), 0);
	assert_int_equal(got.trial_count, 2);
	assert_memory_equal(got.trial, want.trial, 2 * sizeof(*got.trial));
	assert_true(got.tsc_hz == want.tsc_hz);
	assert_int_equal(got.rotation.layers, 7);
	assert_int_equal(got.rotation.dwell_ns, 2000000000);
	assert_int_equal(got.tx[0].layer, 6);
	assert_int_equal(got.rx[0].layer, 5);
	assert_string_equal(got.mac, want.mac);
	// to the last bit, where a double has run out of them
	assert_true(got.tx[0].trial[1].sent == UINT64_C(9007199254740993));
	assert_true(got.tx[0].trial[1].returned == UINT64_C(9007199254740995));
	assert_true(got.rx[0].trial[1].delivered == INT64_MAX);
	assert_true(got.tx[0].trial[1].late == COUNTER_UNKNOWN);
	assert_null(got.tx[0].trial[0].rtt);
	same_packed(got.tx[0].trial[1].rtt, want.tx[0].trial[1].rtt);
	assert_memory_equal(got.lateness, want.lateness, sizeof(struct hist));
	assert_memory_equal(got.rx[0].trial, want.rx[0].trial, 2 * sizeof(struct rx_counts));
	assert_memory_equal(got.queue[0].trial, want.queue[0].trial,
			    2 * sizeof(struct queue_counts));
	assert_memory_equal(got.drop, want.drop, sizeof(got.drop));
	assert_memory_equal(&got.port, &want.port, sizeof(got.port));
	assert_true(got.cpu_pct == 12.5 && got.cpu_max_pct == 99.75 && got.agent_cpu_pct == -1);
	result_free(&want);
	result_free(&got);
	json_decref(v);
}

static void empty_is_unknown(void **state)
{
	struct result r, got;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(result_alloc(&r, 1, 1, 0, 1), 0);
	assert_null(r.rx);
	assert_int_equal(r.tx[0].trial[0].sent, 0);
	strcpy(r.host, "a");
	strcpy(r.run_id, "r");
	strcpy(r.state, "running");
	strcpy(r.tx[0].peer, "b");
	r.tx[0].req_bytes = r.tx[0].rep_bytes = 18;
	r.tx[0].streams = 1;
	r.tx[0].rate_pps = RATE_UNPACED;
	json_t *v = result_write(&r);
	assert_true(json_is_null(json_object_get(v, "cpu_pct")));
	assert_true(json_is_null(json_object_get(json_object_get(v, "port"), "imissed")));
	assert_true(json_is_null(json_object_get(v, "lateness")));
	assert_string_equal(json_string_value(json_object_get(
				    json_array_get(json_object_get(v, "tx"), 0), "rate_pps")),
			    "max");
	assert_int_equal(result_read(v, &got, &e), 0);
	assert_true(got.port.imissed == COUNTER_UNKNOWN && got.cpu_pct == -1);
	assert_true(got.tx[0].rate_pps == RATE_UNPACED);
	json_decref(v);
	result_free(&r);
	result_free(&got);

	assert_int_equal(result_alloc(&r, SIZE_MAX, 1, 1, 1), -ENOMEM);
	assert_null(r.trial);
	assert_int_equal(result_alloc(&r, 0, 0, 0, 0), 0);
	result_free(&r);
}

static void refused(void **state)
{
	static const struct {
		const char *path, *value, *msg;
	} t[] = {
		{ "version", "1", "$.version: 1: expected 3" },
		{ "hots", "1", "$: unknown key 'hots', did you mean 'host'?" },
		{ "layers", "0", "$.dwell_ns: 2000000000: does not go with 0 layers" },
		{ "dwell_ns", "0", "$.dwell_ns: 0: does not go with 7 layers" },
		{ "tx.0.layer", "4096", "$.tx[0].layer: 4096: expected an integer from 0 to 4095" },
		{ "trials", NULL, "$.trials: missing" },
		{ "trials.0.id", "256", "$.trials[0].id: 256: expected an integer from 0 to 255" },
		{ "trials.0.kind", "\"warm\"",
		  "$.trials[0].kind: \"warm\": expected one of \"warmup\" \"measure\"" },
		{ "trials", "[]", "$.tx[0].trials: 2 elements: expected 0 to 0" },
		{ "tx.0.trials", "[]", "$.tx[0].trials: 0 elements: expected 2 to 2" },
		{ "rx.0.trials", "null", "$.rx[0].trials: null: expected an array" },
		{ "queues.1.trials", "[1,2,3]", "$.queues[1].trials: 3 elements: expected 2 to 2" },
		{ "tx.0.trials.1.sent", "-1",
		  "$.tx[0].trials[1].sent: -1: expected an integer from 0 to "
		  "9223372036854775807 or null" },
		{ "tx.0.trials.1.sent", "1e3",
		  "$.tx[0].trials[1].sent: 1000: expected an integer from 0 to "
		  "9223372036854775807 or null" },
		{ "tx.0.trials.1.lost", "1", "$.tx[0].trials[1]: unknown key 'lost'" },
		{ "drop.l2", NULL, "$.drop.l2: missing" },
		{ "drop.l3", "1", "$.drop: unknown key 'l3'" },
		{ "drop.malformd", "1",
		  "$.drop: unknown key 'malformd', did you mean 'malformed'?" },
		{ "drop.l2", "\"\"",
		  "$.drop.l2: \"\": expected an integer from 0 to 9223372036854775807 or null" },
		{ "port.imissed", "false",
		  "$.port.imissed: false: expected an integer from 0 to 9223372036854775807 or "
		  "null" },
		{ "cpu_pct", "-1", "$.cpu_pct: -1: expected a number from 0 to 1000000 or null" },
		{ "tsc_hz", "null", "$.tsc_hz: null: expected a number from 0 to 1000000000000" },
		// histograms
		{ "lateness", "[]", "$.lateness: an array: expected an object" },
		{ "lateness.count", "0",
		  "$.lateness.count: 0: expected an integer from 1 to 9223372036854775807" },
		{ "lateness.count", "41",
		  "$.lateness.buckets: the counts add up to 42, not to 41" },
		{ "lateness.buckets", "{}",
		  "$.lateness.buckets: expected an array of [bucket, count]" },
		{ "lateness.buckets.0", "7",
		  "$.lateness.buckets[0]: expected [bucket, count] with buckets ascending up to "
		  "3967 and counts above 0" },
		{ "lateness.buckets.1", "[90,41,1]",
		  "$.lateness.buckets[1]: expected [bucket, count] with buckets ascending up to "
		  "3967 and counts above 0" },
		{ "lateness.buckets.1", "[0,41]",
		  "$.lateness.buckets[1]: expected [bucket, count] with buckets ascending up to "
		  "3967 and counts above 0" },
		{ "lateness.buckets.1", "[3968,41]",
		  "$.lateness.buckets[1]: expected [bucket, count] with buckets ascending up to "
		  "3967 and counts above 0" },
		{ "lateness.buckets.1", "[90,0]",
		  "$.lateness.buckets[1]: expected [bucket, count] with buckets ascending up to "
		  "3967 and counts above 0" },
		{ "lateness.buckets.1", "[90,9223372036854775807]",
		  "$.lateness.buckets[1]: the counts add up to more than 2^63" },
		{ "lateness.buckets.1", "[91,41]",
		  "$.lateness.buckets: the last bucket, 91, does not have the max_ns of 90" },
		{ "lateness.min_ns", "1",
		  "$.lateness.buckets[0]: bucket 0 does not have the min_ns of 1" },
		{ "lateness.max_ns", "91",
		  "$.lateness.buckets: the last bucket, 90, does not have the max_ns of 91" },
		{ "lateness.sum_ns", "-5",
		  "$.lateness.sum_ns: -5: expected an integer from 0 to 9223372036854775807 or "
		  "null" },
		{ "tx.0.trials.1.rtt.bucket", "[]",
		  "$.tx[0].trials[1].rtt: unknown key 'bucket', did you mean 'buckets'?" },
		{ "tx.0.trials.1.rtt.buckets", "[]",
		  "$.tx[0].trials[1].rtt.buckets: the counts add up to 0, not to 42" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		struct err e = { 0 };
		struct result r, empty;
		json_t *v = sample_json();
		json_edit(&v, t[i].path, t[i].value);
		int ret = result_read(v, &r, &e);
		assert_true(ret < 0 && e.code == -ret);
		assert_string_equal(e.msg, t[i].msg);
		memset(&empty, 0, sizeof(empty));
		assert_memory_equal(&r, &empty, sizeof(r));
		assert_true(result_read(v, &r, NULL) < 0);
		json_decref(v);
	}
}

static void duplicate_keys(void **state)
{
	static const char text[] = "{\"version\":1,\"drop\":{\"l2\":1,\"l2\":2}}";
	char path[64];
	struct result r;
	struct err e = { 0 };

	(void)state;
	temp_write(path, text, sizeof(text) - 1);
	assert_int_equal(result_load(path, &r, &e), -EINVAL);
	unlink(path);
	assert_string_equal(e.msg + strlen(path),
			    ":1:32: not JSON as expected: duplicate object key near '\"l2\"'");
}

// Beyond what JSON can carry: refused, not wrapped.
static void counter_too_large(void **state)
{
	struct result r;

	(void)state;
	sample_result(&r);
	r.tx[0].trial[0].sent = (uint64_t)INT64_MAX + 1;
	assert_null(result_write(&r));
	r.tx[0].trial[0].sent = 0;
	r.tsc_hz = NAN;
	assert_null(result_write(&r));
	result_free(&r);
}

// A histogram caught in the middle of a record is written so that it can be read.
static void live_histogram(void **state)
{
	struct result r, got;
	struct err e = { 0 };

	(void)state;
	sample_result(&r);
	struct hist *h = r.lateness;
	h->bucket[hist_index(5000)]++; // count, max and sum come later
	json_t *v = result_write(&r);
	assert_non_null(v);
	if (result_read(v, &got, &e) < 0)
		fail_msg("%s", e.msg);
	assert_int_equal(got.lateness->count, 43);
	result_free(&got);
	json_decref(v);
	hist_reset(h);
	v = result_write(&r);
	assert_true(json_is_null(json_object_get(v, "lateness")));
	json_decref(v);
	h->sum_ns = UINT64_MAX;
	hist_record_n(h, 7, 1);
	h->sum_ns = UINT64_MAX;
	v = result_write(&r);
	assert_int_equal(result_read(v, &got, &e), 0);
	assert_true(hist_mean_ns(got.lateness) == -1);
	assert_true(hist_percentile_ns(got.lateness, 50) == 7);
	result_free(&got);
	json_decref(v);
	result_free(&r);
}

static void random_histograms(void **state)
{
	struct rng rng = rng_open("histograms");
	struct result r, got;
	struct err e = { 0 };

	(void)state;
	sample_result(&r);
	for (unsigned round = 0; round < 50; round++) {
		hist_reset(r.lateness);
		for (uint64_t n = rng_below(&rng, 3000) + 1; n > 0; n--)
			hist_record(r.lateness, rng_next(&rng) >> (20 + rng_below(&rng, 44)));
		json_t *v = result_write(&r);
		assert_non_null(v);
		char *text = json_dumps(v, JSON_COMPACT);
		json_t *back = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
		if (result_read(back, &got, &e) < 0)
			fail_msg("%s", e.msg);
		assert_memory_equal(got.lateness, r.lateness, sizeof(struct hist));
		result_free(&got);
		json_decref(v);
		json_decref(back);
		free(text);
	}
	result_free(&r);
}

static unsigned allocations_left;

static void *scarce_malloc(size_t size)
{
	if (allocations_left == 0)
		return NULL;
	allocations_left--;
	return malloc(size);
}

// Whichever allocation fails, the writer gives NULL and leaks nothing (the sanitizers look on).
static void out_of_memory(void **state)
{
	struct result r;
	unsigned n = 0;
	json_t *v = NULL;

	(void)state;
	sample_result(&r);
	json_set_alloc_funcs(scarce_malloc, free);
	for (; v == NULL; n++) {
		allocations_left = n;
		v = result_write(&r);
	}
	json_set_alloc_funcs(malloc, free);
	assert_true(n > 100);
	json_decref(v);
	result_free(&r);
}

static int text_refused(const char *text, const char *msg)
{
	struct result r;
	struct err e = { 0 };
	int ret = result_parse("x", text, strlen(text), &r, &e);

	if (ret < 0)
		assert_string_equal(e.msg, msg);
	else
		result_free(&r);
	return ret;
}

// As agents write it, it is read without jansson; other texts of the same are read by it.
static void text_is_read(void **state)
{
	json_t *v = sample_json();
	char *compact = json_dumps(v, JSON_COMPACT), *wide = json_dumps(v, JSON_INDENT(1));
	struct result r;
	struct err e = { 0 };

	(void)state;
	json_set_alloc_funcs(scarce_malloc, free);
	allocations_left = 0;
	int ret = result_parse("x", compact, strlen(compact), &r, &e);
	json_set_alloc_funcs(malloc, free);
	assert_int_equal(ret, 0);
	json_t *again = result_write(&r);
	assert_true(json_equal(v, again));
	json_decref(again);
	result_free(&r);

	assert_int_equal(result_parse("x", wide, strlen(wide), &r, &e), 0);
	again = result_write(&r);
	assert_true(json_equal(v, again));
	json_decref(again);
	result_free(&r);

	// cut short anywhere, it is no result
	for (size_t i = 0; compact[0] != '\0' && i < strlen(compact); i += 7) {
		char *cut = strndup(compact, i);

		assert_true(result_parse("x", cut, i, &r, &e) < 0);
		free(cut);
	}
	free(compact);
	free(wide);
	json_decref(v);
	assert_true(text_refused("{\"version\":1}", "x: $.version: 1: expected 3") < 0);
}

// Changed in one place each: the reader of the text never takes what the other refuses.
static void text_is_refused(void **state)
{
	static const struct {
		const char *path, *value;
	} t[] = {
		{ "dwell_ns", "0" },
		{ "trials.0.id", "256" },
		{ "trials.0.kind", "\"warm\"" },
		{ "tx.0.trials", "[]" },
		{ "queues.1.trials", "[{},{}]" },
		{ "tx.0.trials.1.sent", "-1" },
		{ "tx.0.trials.1.sent", "1.0" },
		{ "tx.0.req_bytes", "17" },
		{ "tx.0.peer", "\"\"" },
		{ "drop.l2", "\"\"" },
		{ "cpu_pct", "1000001" },
		{ "cpu_pct", "\"max\"" },
		{ "tsc_hz", "null" },
		{ "lateness.count", "0" },
		{ "lateness.count", "41" },
		{ "lateness.min_ns", "1" },
		{ "lateness.max_ns", "91" },
		{ "lateness.buckets.0", "[90,1]" },
		{ "lateness.buckets.1", "[0,41]" },
		{ "lateness.buckets.1", "[3968,41]" },
		{ "lateness.buckets.1", "[90,0]" },
		{ "lateness.buckets.1", "[90,9223372036854775807]" },
		{ "tx.0.trials.1.rtt.buckets", "[]" },
		{ "tx.0.trials.1.rtt.buckets.0", "[1]" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		struct err want = { 0 };
		struct result r;
		json_t *v = sample_json();
		char msg[ERR_MAX + 8];

		json_edit(&v, t[i].path, t[i].value);
		char *text = json_dumps(v, JSON_COMPACT);
		assert_true(result_read(v, &r, &want) < 0);
		snprintf(msg, sizeof(msg), "x: %s", want.msg);
		assert_true(text_refused(text, msg) < 0);
		free(text);
		json_decref(v);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden),	    cmocka_unit_test(fields_come_back),
		cmocka_unit_test(empty_is_unknown), cmocka_unit_test(refused),
		cmocka_unit_test(duplicate_keys),   cmocka_unit_test(counter_too_large),
		cmocka_unit_test(live_histogram),   cmocka_unit_test(random_histograms),
		cmocka_unit_test(out_of_memory),    cmocka_unit_test(text_is_read),
		cmocka_unit_test(text_is_refused),
	};

	return cmocka_run_group_tests_name("result", tests, NULL, NULL);
}

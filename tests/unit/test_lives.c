#include "lives.h"

#include "sample.h"
#include "testlib.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define S UINT64_C(1000000000)

// One life: a warm-up that ended at once and a measured trial from..to, one flow each way per peer.
static void life_make(struct result *r, uint64_t from_s, uint64_t to_s, size_t peers,
		      const char *const *peer, double rate, uint64_t sent)
{
	struct hist *h = malloc(sizeof(*h));

	assert_non_null(h);
	hist_reset(h);
	hist_record(h, 1000 * (uint64_t)rate);
	assert_int_equal(result_alloc(r, 2, peers, peers, 1), 0);
	strcpy(r->host, "a");
	strcpy(r->run_id, "run");
	strcpy(r->state, to_s != 0 ? "done" : "running");
	r->trial[1] = (struct trial){ .id = 1,
				      .kind = TRIAL_MEASURE,
				      .start_ns = from_s * S,
				      .end_ns = to_s != 0 ? to_s * S : 100 * S,
				      .close_ns = to_s * S };
	for (size_t i = 0; i < peers; i++) {
		strcpy(r->tx[i].peer, peer[i]);
		strcpy(r->rx[i].peer, peer[i]);
		r->tx[i].rate_pps = rate;
		r->tx[i].trial[1].sent = sent;
		r->tx[i].trial[1].rtt = hist_pack(h);
		r->rx[i].trial[1].delivered = 2 * sent;
	}
	free(h);
	r->queue[0].trial[1].requests_sent = sent;
	r->port.ipackets = sent;
	r->drop[DROP_L2] = 1;
}

static void flows_are_matched_by_peer(void **state)
{
	static const char *const first[] = { "b", "c" }, *const second[] = { "d", "b" };
	struct result one, two, all;
	const struct result *const life[] = { &one, &two };
	(void)state;

	life_make(&one, 10, 20, 2, first, 100, 1000);
	life_make(&two, 25, 30, 2, second, 400, 7);
	two.port.ipackets = COUNTER_UNKNOWN;
	strcpy(two.ended_by, "stop");
	assert_int_equal(lives_join(life, 2, 0, &all, NULL), 0);
	assert_int_equal(all.trial_count, 4);
	assert_int_equal(all.tx_count, 3);
	assert_int_equal(all.rx_count, 3);
	assert_string_equal(all.tx[0].peer, "b");
	assert_string_equal(all.tx[1].peer, "c");
	assert_string_equal(all.tx[2].peer, "d");
	assert_int_equal(all.tx[0].trial[1].sent, 1000);
	assert_int_equal(all.tx[0].trial[3].sent, 7);
	assert_int_equal(all.tx[1].trial[3].sent, 0);
	assert_null(all.tx[1].trial[3].rtt);
	assert_int_equal(all.tx[2].trial[1].sent, 0);
	assert_int_equal(all.tx[2].trial[3].rtt->count, 1);
	assert_int_equal(all.rx[0].trial[1].delivered, 2000);
	assert_int_equal(all.rx[0].trial[3].delivered, 14);
	assert_int_equal(all.queue[0].trial[3].requests_sent, 7);
	assert_int_equal(all.drop[DROP_L2], 2);
	assert_int_equal(all.port.ipackets, 1000);
	assert_int_equal(all.port.imissed, COUNTER_UNKNOWN);
	assert_string_equal(all.ended_by, "stop");
	// by time: 10 s of 100 and 5 s of 400; c was there for 10 s of 15, d for 5
	assert_true(all.tx[0].rate_pps == 200);
	assert_true(all.tx[1].rate_pps == 1000.0 / 15);
	assert_true(all.tx[2].rate_pps == 2000.0 / 15);
	result_free(&all);
	result_free(&two);
	result_free(&one);
}

static void a_life_that_goes_on_ends_now(void **state)
{
	static const char *const peer[] = { "b" };
	struct result one, two, all;
	const struct result *const life[] = { &one, &two };
	(void)state;

	life_make(&one, 10, 20, 1, peer, 100, 1000);
	life_make(&two, 30, 0, 1, peer, 300, 5);
	assert_int_equal(lives_join(life, 2, 40 * S, &all, NULL), 0);
	assert_true(all.tx[0].rate_pps == 200);
	assert_string_equal(all.state, "running");
	result_free(&all);
	two.tx[0].rate_pps = RATE_UNPACED;
	assert_int_equal(lives_join(life, 2, 40 * S, &all, NULL), 0);
	assert_true(all.tx[0].rate_pps == RATE_UNPACED);
	result_free(&all);
	result_free(&two);
	result_free(&one);
}

// In a rotation a flow is of one layer, and its time that of the layer.
static void layers_are_kept_apart(void **state)
{
	static const char *const peer[] = { "b", "b" };
	struct result one, two, all;
	struct err e = { 0 };
	const struct result *const life[] = { &one, &two };
	(void)state;

	life_make(&one, 10, 20, 2, peer, 100, 1000);
	life_make(&two, 25, 30, 2, peer, 400, 7);
	one.rotation = two.rotation = (struct rotation){ .layers = 2, .dwell_ns = 5 * S };
	one.tx[1].layer = one.rx[1].layer = two.tx[0].layer = two.rx[0].layer = 1;
	two.trial[1].rotated_ns = 15 * S; // it has layer 1 only
	assert_int_equal(lives_join(life, 2, 0, &all, &e), 0);
	assert_int_equal(all.tx_count, 2);
	assert_int_equal(all.rx_count, 2);
	assert_int_equal(all.rotation.layers, 2);
	assert_int_equal(all.trial[3].rotated_ns, 15 * S);
	assert_int_equal(all.tx[1].layer, 1);
	assert_int_equal(all.tx[1].trial[1].sent, 1000);
	assert_int_equal(all.tx[1].trial[3].sent, 7);
	// 5 s of 100 and none of 400; 5 s of each
	assert_true(all.tx[0].rate_pps == 100);
	assert_true(all.tx[1].rate_pps == 250);
	result_free(&all);
	two.rotation.dwell_ns++;
	assert_int_equal(lives_join(life, 2, 0, &all, &e), -EINVAL);
	assert_non_null(strstr(e.msg, "different rotations"));
	result_free(&two);
	result_free(&one);
}

// One life is what it was, to the last field.
static void one_life_is_itself(void **state)
{
	struct result r, all;
	const struct result *const life[] = { &r };
	(void)state;

	sample_result(&r);
	assert_int_equal(lives_join(life, 1, 0, &all, NULL), 0);
	json_t *a = result_write(&r), *b = result_write(&all);
	assert_true(json_equal(a, b));
	json_decref(a);
	json_decref(b);
	result_free(&all);
	result_free(&r);
}

static void other_runs_are_refused(void **state)
{
	static const char *const peer[] = { "b" };
	struct result one, two, all;
	const struct result *const life[] = { &one, &two };
	struct err e = { 0 };
	(void)state;

	life_make(&one, 10, 20, 1, peer, 100, 1000);
	life_make(&two, 30, 40, 1, peer, 300, 5);
	strcpy(two.run_id, "other");
	assert_int_equal(lives_join(life, 2, 0, &all, &e), -EINVAL);
	assert_non_null(strstr(e.msg, "'other'"));
	result_free(&two);
	result_free(&one);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flows_are_matched_by_peer),
		cmocka_unit_test(a_life_that_goes_on_ends_now),
		cmocka_unit_test(layers_are_kept_apart),
		cmocka_unit_test(one_life_is_itself),
		cmocka_unit_test(other_runs_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

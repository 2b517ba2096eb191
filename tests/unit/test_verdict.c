#include "testlib.h"

#include "cmd.h"
#include "mesh_run.h"

#include <math.h>
#include <string.h>

#define PPS 5000.0
#define SENT 50000u // by a flow

static const struct mesh_spec three = { .hosts = 3, .queues = 2, .pps = PPS, .rtt = true };

static void test_unpaced(void **state)
{
	struct mesh_run r;
	struct summary s;

	(void)state;
	mesh_run_make(&r, &(struct mesh_spec){ .hosts = 2, .pps = RATE_UNPACED });
	r.matrix.limits.achieved_pct = 99;
	mesh_summarize(&r, &s);
	assert_true(s.total.target == COUNTER_UNKNOWN);
	assert_true(isnan(s.achieved_pct) && isnan(s.total.target_pps));
	mesh_verdict_is(&s, EXIT_GOOD, "");
	summary_free(&s);
	mesh_run_free(&r);
}

static void test_unsent_is_no_loss(void **state)
{
	struct mesh_run r;
	struct summary s;

	(void)state;
	mesh_run_make(&r, &three);
	mesh_leave_unsent(&r, 0, 1, 5000);
	mesh_summarize(&r, &s);
	assert_int_equal(s.total.unsent, 5000);
	assert_int_equal(s.total.lost, 0);
	assert_int_equal(s.total.target, 6 * SENT);
	assert_near(s.achieved_pct, 100.0 * (6 * SENT - 5000) / (6 * SENT), 1e-9);
	assert_near(s.host[0].achieved_pct, 95, 1e-9);
	mesh_verdict_is(&s, EXIT_GOOD, "sets no limits; the tool offered 98.33 % of the target");
	r.matrix.limits.loss_pct = 0;
	mesh_verdict_is(&s, EXIT_LIMIT, "offered 98.33 %"); // generator-limited is never a pass
	r.matrix.limits.achieved_pct = 98;
	mesh_verdict_is(&s, EXIT_GOOD, "every limit");
	r.matrix.limits.achieved_pct = 99;
	mesh_verdict_is(&s, EXIT_LIMIT, "achieved 98.3333333 % is under the limit of 99 %");
	summary_free(&s);
	mesh_run_free(&r);
}

static void test_limits(void **state)
{
	struct mesh_run r;
	struct summary s;
	struct limit_check limit[LIMITS_MAX];

	(void)state;
	mesh_run_make(&r, &three);
	mesh_lose_forward(&r, 0, 1, 300);
	mesh_summarize(&r, &s); // loss 0.1 %, p99 of at most 120 us
	assert_int_equal(summary_limits(&s, limit), 0);
	r.matrix.limits.loss_pct = 0.1;
	r.matrix.limits.rtt_p99_us = 130;
	r.matrix.limits.achieved_pct = 100;
	assert_int_equal(summary_limits(&s, limit), 3);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(limit[i].pass, LIMIT_HELD);
	mesh_verdict_is(&s, EXIT_GOOD, "every limit of the matrix is held");
	r.matrix.limits.loss_pct = 0;
	mesh_verdict_is(&s, EXIT_LIMIT, "loss 0.1 % is over the limit of 0 %");
	r.matrix.limits.loss_pct = 1;
	r.matrix.limits.rtt_p99_us = 15;
	mesh_verdict_is(&s, EXIT_LIMIT, "over the limit of 15 us");
	summary_free(&s);

	// a figure that should be there and is not holds no limit
	for (size_t src = 0; src < 3; src++)
		for (size_t dst = 0; dst < 3; dst++)
			if (src != dst)
				mesh_set_rtt(&r, src, dst, NULL);
	mesh_summarize(&r, &s);
	mesh_verdict_is(&s, EXIT_LIMIT, "p99 is unknown (limit 15 us)");
	summary_free(&s);

	r.given[2] = NULL; // partial, and the limit is named all the same
	mesh_summarize(&r, &s);
	mesh_verdict_is(&s, EXIT_PARTIAL, "p99 is unknown");
	summary_free(&s);
	mesh_run_free(&r);
}

static void test_live(void **state)
{
	struct mesh_run r;
	struct summary s;

	(void)state;
	mesh_run_make(&r, &three);
	r.matrix.limits.loss_pct = 0;
	for (size_t i = 0; i < 3; i++) {
		strcpy(r.result[i].state, "running");
		strcpy(r.result[i].ended_by, "");
		r.result[i].trial[1].close_ns = 0;
		r.now_ns[i] = MESH_START_NS + 4000000000u;
	}
	mesh_lose_back(&r, 0, 1, 12);	   // in flight
	mesh_rx(&r, 2, 1)->delivered += 9; // read a moment later than the source
	mesh_summarize(&r, &s);
	assert_true(s.running);
	assert_near(s.window_s, 4, 0); // not the planned 10 s
	assert_near(mesh_flow(&s, 1, 0)->sent_pps, SENT / 4.0, 1e-9);
	assert_int_equal(mesh_flow(&s, 1, 0)->target, SENT); // more than 4 s give: it was due, then
	assert_int_equal(s.invalid_flows, 0);
	mesh_verdict_is(&s, EXIT_GOOD, "running");
	summary_free(&s);

	// what a sender is behind by is booked as unsent at the end only, but it was due
	mesh_tx(&r, 1, 0)->sent = 10000;
	mesh_summarize(&r, &s);
	assert_int_equal(mesh_flow(&s, 1, 0)->target, 4 * PPS);
	assert_near(s.host[1].achieved_pct, 100.0 * (10000 + SENT) / (4 * PPS + SENT), 1e-9);
	mesh_tx(&r, 1, 0)->sent = SENT;
	summary_free(&s);

	for (size_t i = 0; i < 3; i++)
		r.now_ns[i] = 0; // nobody asked for the clock: counts, but no rates
	mesh_summarize(&r, &s);
	assert_true(isnan(s.window_s) && isnan(s.total.sent_pps));
	assert_int_equal(s.total.sent, 6 * SENT);
	summary_free(&s);

	r.now_ns[1] = MESH_START_NS - 1; // still warming up
	mesh_summarize(&r, &s);
	assert_false(s.host[1].measured);
	assert_non_null(strstr(s.host[1].failure, "before the window began"));
	summary_free(&s);
	mesh_run_free(&r);
}

static void test_cut_short(void **state)
{
	struct mesh_run r;
	struct summary s;

	(void)state;
	mesh_run_make(&r, &three);
	r.result[2].trial[1].end_ns = MESH_START_NS + 5000000000u;
	strcpy(r.result[2].ended_by, "lease");
	mesh_summarize(&r, &s);
	assert_near(s.host[2].sent_pps, 2 * SENT / 5.0, 1e-9);
	assert_near(s.host[0].sent_pps, 2 * SENT / 10.0, 1e-9);
	// rates are the sums of the hosts', each in its own window
	assert_near(s.total.sent_pps, 2 * SENT / 5.0 + 4 * SENT / 10.0, 1e-6);
	assert_true(s.partial);
	summary_free(&s);

	strcpy(r.result[2].ended_by, "stop"); // the user's own wish
	mesh_summarize(&r, &s);
	assert_false(s.partial);
	summary_free(&s);

	r.result[2].trial[1] = (struct trial){ .id = 1, .kind = TRIAL_MEASURE };
	mesh_summarize(&r, &s);
	assert_false(s.host[2].measured);
	assert_non_null(strstr(s.host[2].failure, "ended by stop before the window began"));
	summary_free(&s);
	mesh_run_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unpaced),	  cmocka_unit_test(test_unsent_is_no_loss),
		cmocka_unit_test(test_limits),	  cmocka_unit_test(test_live),
		cmocka_unit_test(test_cut_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

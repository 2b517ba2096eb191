#include "testlib.h"

#include "cmd.h"
#include "mesh_run.h"
#include "sample.h"
#include "units.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PPS 5000.0
#define WINDOW_S 10.0
#define SENT 50000u // by a flow

static const struct mesh_spec three = { .hosts = 3, .queues = 2, .pps = PPS, .rtt = true };

static void test_clean(void **state)
{
	struct mesh_run r;
	struct summary s;

	(void)state;
	mesh_run_make(&r, &three);
	mesh_summarize(&r, &s);
	assert_int_equal(s.flow_count, 6);
	assert_int_equal(s.complete_flows, 6);
	assert_int_equal(s.total.sent, 6 * SENT);
	assert_int_equal(s.total.delivered, 6 * SENT);
	assert_int_equal(s.total.replied, 6 * SENT);
	assert_int_equal(s.total.returned, 6 * SENT);
	assert_int_equal(s.total.target, 6 * SENT);
	assert_int_equal(s.total.lost, 0);
	assert_int_equal(s.total.lost_forward, 0);
	assert_int_equal(s.total.lost_back, 0);
	assert_true(s.identity && !s.partial && !s.running);
	assert_near(s.window_s, WINDOW_S, 0);
	assert_near(s.total.sent_pps, 6 * PPS, 1e-9);
	assert_near(s.achieved_pct, 100, 0);
	assert_near(s.delivered_pct, 100, 0);
	assert_near(s.total.loss_pct, 0, 0);
	// 18 bytes of payload: the 64-byte frame, 84 bytes on the wire; 466: 512 and 532
	assert_near(s.request_l1_bps, 6 * PPS * 84 * 8, 1e-3);
	assert_near(s.reply_l1_bps, 6 * PPS * 532 * 8, 1e-3);
	assert_near(s.request_payload_bps, 6 * PPS * 18 * 8, 1e-3);
	assert_near(s.reply_payload_bps, 6 * PPS * 466 * 8, 1e-3);
	// replies with data are 8 times the frame that asked
	assert_int_equal(frame_bytes(466), 8 * frame_bytes(18));
	mesh_verdict_is(&s, EXIT_GOOD, "complete");
	summary_free(&s);
	mesh_run_free(&r);
}

// What was asked for on a ramp; who joins a run that is under way finds it partly risen.
static void test_ramp(void **state)
{
	struct mesh_run r;
	struct summary s;

	(void)state;
	mesh_run_make(&r, &three);
	r.matrix.traffic.pacing.ramp = (struct ramp){ .over_ns = 10000000000 };
	r.result[1].trial[1].rotated_ns = 5000000000;
	r.result[2].trial[1].rotated_ns = 20000000000;
	mesh_summarize(&r, &s);
	assert_near(mesh_flow(&s, 0, 1)->target_pps, PPS / 2, 1e-9);
	// 5 s from half to all of the rate, and 5 s of all
	assert_near(mesh_flow(&s, 1, 2)->target_pps, PPS * 0.875, 1e-9);
	assert_near(mesh_flow(&s, 2, 0)->target_pps, PPS, 1e-9);
	summary_free(&s);
	mesh_run_free(&r);
}

static void test_rows_add_up(void **state)
{
	struct mesh_run r;
	struct summary s;
	uint64_t sent = 0, served = 0;
	double pps = 0, egress = 0, ingress = 0;

	(void)state;
	mesh_run_make(&r, &(struct mesh_spec){ .hosts = 5, .queues = 3, .pps = 777 });
	mesh_lose_forward(&r, 0, 1, 10);
	mesh_lose_back(&r, 3, 1, 7);
	mesh_leave_unsent(&r, 4, 0, 11);
	mesh_fill_queues(&r);
	mesh_summarize(&r, &s);
	for (size_t h = 0; h < 5; h++) {
		const struct sum_host *host = &s.host[h];
		struct sum_queue sum = { 0 };

		for (size_t q = 0; q < host->queue_count; q++) {
			sum.requests_sent += host->queue[q].requests_sent;
			sum.replies_received += host->queue[q].replies_received;
			sum.requests_received += host->queue[q].requests_received;
			sum.replies_sent += host->queue[q].replies_sent;
		}
		assert_int_equal(host->queue_count, 3);
		assert_int_equal(sum.requests_sent, host->sent);
		assert_int_equal(sum.replies_received, host->returned);
		assert_int_equal(sum.requests_received, host->served);
		assert_int_equal(sum.replies_sent, host->replied);
		assert_int_equal(host->queue[1].lcore, 2);
		assert_near(host->queue[1].busy_pct, 40, 1e-9);
		assert_near(host->busy_pct, 50, 1e-9);
		assert_int_equal(host->busiest_queue, 2);
		sent += host->sent;
		served += host->served;
		pps += host->sent_pps;
		egress += host->egress_l1_bps;
		ingress += host->ingress_l1_bps;
	}
	assert_int_equal(sent, s.total.sent);
	assert_int_equal(served, s.total.delivered);
	assert_near(pps, s.total.sent_pps, 1e-6);
	assert_near(egress, s.request_l1_bps + s.reply_l1_bps, 1e-3);
	// what arrived is what was sent less what was lost
	assert_near(egress - ingress, l1_bps(10 / WINDOW_S, 18) + l1_bps(7 / WINDOW_S, 466), 1e-3);
	summary_free(&s);
	mesh_run_free(&r);
}

static void test_loss_each_way(void **state)
{
	struct mesh_run r;
	struct summary s;

	(void)state;
	mesh_run_make(&r, &three);
	mesh_lose_forward(&r, 0, 1, 500); // one in a hundred
	mesh_lose_back(&r, 2, 0, 250);
	mesh_summarize(&r, &s);
	assert_int_equal(mesh_flow(&s, 0, 1)->lost_forward, 500);
	assert_int_equal(mesh_flow(&s, 0, 1)->lost_back, 0);
	assert_int_equal(mesh_flow(&s, 0, 1)->lost, 500);
	assert_near(mesh_flow(&s, 0, 1)->loss_forward_pct, 1, 0);
	assert_int_equal(mesh_flow(&s, 2, 0)->lost_forward, 0);
	assert_int_equal(mesh_flow(&s, 2, 0)->lost_back, 250);
	assert_near(mesh_flow(&s, 2, 0)->loss_pct, 0.5, 0);
	assert_int_equal(s.total.lost, 750);
	assert_int_equal(s.total.lost_forward, 500);
	assert_int_equal(s.total.lost_back, 250);
	assert_near(s.total.loss_back_pct, 100.0 * 250 / (6 * SENT - 500), 1e-12);
	assert_true(s.identity);
	// at whose port it went missing
	assert_int_equal(s.host[1].cause.fabric, 500);
	assert_int_equal(s.host[2].cause.fabric, 250);
	assert_int_equal(s.cause.fabric, 750);
	summary_free(&s);
	mesh_run_free(&r);
}

static void test_causes(void **state)
{
	static const struct {
		uint64_t imissed, nombuf;
		struct sum_cause want;
	} c[] = {
		{ 0, 0, { .fabric = 100 } },
		{ 30, 20, { .missed = 30, .no_mbuf = 20, .fabric = 50 } },
		{ 1000, 20, { .missed = 100 } }, // also of the warm-up: explains at most the loss
		{ 90, 20, { .missed = 90, .no_mbuf = 10 } },
		{ COUNTER_UNKNOWN, COUNTER_UNKNOWN, { .unattributed = 100 } },
		{ 30, COUNTER_UNKNOWN, { .missed = 30, .unattributed = 70 } },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(c); i++) {
		struct mesh_run r;
		struct summary s;

		mesh_run_make(&r, &three);
		mesh_lose_forward(&r, 0, 1, 60);
		mesh_lose_back(&r, 1, 2, 40);
		r.result[1].port.imissed = c[i].imissed;
		r.result[1].port.rx_nombuf = c[i].nombuf;
		mesh_summarize(&r, &s);
		assert_memory_equal(&s.host[1].cause, &c[i].want, sizeof(c[i].want));
		assert_memory_equal(&s.cause, &c[i].want, sizeof(c[i].want));
		summary_free(&s);
		mesh_run_free(&r);
	}
}

static void test_dead_destination(void **state)
{
	struct mesh_run r;
	struct summary s;
	struct sum_flow *f;

	(void)state;
	mesh_run_make(&r, &three);
	mesh_lose_forward(&r, 0, 1, SENT); // nothing comes back from a dead host
	mesh_lose_forward(&r, 2, 1, SENT);
	r.given[1] = NULL;
	r.failure[1] = "no route to host";
	mesh_summarize(&r, &s);
	assert_true(s.partial);
	assert_int_equal(s.measured_hosts, 2);
	assert_int_equal(s.flow_count, 6);
	assert_int_equal(s.complete_flows, 2);
	assert_int_equal(s.measured_flows, 4);
	assert_string_equal(s.host[1].failure, "no route to host");

	f = mesh_flow(&s, 0, 1); // the source tells
	assert_int_equal(f->sent, SENT);
	assert_int_equal(f->lost, SENT);
	assert_near(f->loss_pct, 100, 0);
	assert_true(f->delivered == COUNTER_UNKNOWN && f->replied == COUNTER_UNKNOWN);
	assert_true(f->lost_forward == LOSS_UNKNOWN && f->lost_back == LOSS_UNKNOWN);
	assert_true(isnan(f->loss_forward_pct) && isnan(f->loss_back_pct));

	f = mesh_flow(&s, 1, 0); // the destination tells
	assert_true(f->sent == COUNTER_UNKNOWN && f->returned == COUNTER_UNKNOWN);
	assert_true(f->lost == LOSS_UNKNOWN && isnan(f->loss_pct) && isnan(f->sent_pps));
	assert_int_equal(f->delivered, SENT);
	assert_near(f->target_pps, PPS, 0); // what the matrix asked for
	assert_true(f->target == COUNTER_UNKNOWN);

	// shares are of flows that both ends tell about
	assert_near(s.delivered_pct, 100, 0);
	assert_int_equal(s.complete.sent, 2 * SENT);
	assert_true(s.identity);
	assert_near(s.total.target_pps, 4 * PPS, 1e-9);
	mesh_verdict_is(&s, EXIT_PARTIAL, "2 of 3 hosts");
	summary_free(&s);
	mesh_run_free(&r);
}

static void test_nothing(void **state)
{
	struct mesh_run r;
	struct summary s;

	(void)state;
	mesh_run_make(&r, &three);
	for (size_t i = 0; i < 3; i++)
		r.given[i] = NULL;
	mesh_summarize(&r, &s);
	assert_true(isnan(s.window_s) && isnan(s.total.sent_pps) && isnan(s.total.loss_pct));
	assert_true(s.total.sent == COUNTER_UNKNOWN && s.total.lost == LOSS_UNKNOWN);
	assert_true(s.cause.fabric == COUNTER_UNKNOWN && s.foreign == COUNTER_UNKNOWN);
	assert_false(s.identity);
	mesh_verdict_is(&s, EXIT_HOST, "nothing measured");
	summary_free(&s);
	mesh_run_free(&r);
}

static void test_percentiles_are_of_merged_histograms(void **state)
{
	struct mesh_run r;
	struct summary s;

	(void)state;
	mesh_run_make(&r, &(struct mesh_spec){ .hosts = 2, .pps = 100, .rtt = true });
	mesh_set_rtt(&r, 0, 1, sample_packed(1000, 9900, 0, 0));
	mesh_set_rtt(&r, 1, 0, sample_packed(1000000, 100, 0, 0));
	mesh_summarize(&r, &s);
	assert_near(s.total.rtt_p50_ns, 1000, 1000 / 128.0);
	assert_near(s.total.rtt_p99_ns, 1000, 1000 / 128.0); // the mean would be 500,500
	assert_near(s.total.rtt_p999_ns, 1000000, 1000000 / 128.0);
	assert_near(s.total.rtt_max_ns, 1000000, 0);
	assert_near(s.total.rtt_avg_ns, (9900.0 * 1000 + 100.0 * 1000000) / 10000, 1e-6);
	assert_int_equal(s.rtt_worst_flow, 1);
	assert_near(s.host[0].rtt_p99_ns, 1000, 1000 / 128.0);
	summary_free(&s);
	mesh_run_free(&r);
}

static void test_measured_trials_add_up(void **state)
{
	struct mesh_run r;
	struct summary s;

	(void)state;
	mesh_run_make(&r, &(struct mesh_spec){ .hosts = 2, .pps = 100 });
	for (size_t i = 0; i < 2; i++) { // make the warm-up a measured trial of 1 s, too
		r.result[i].trial[0].kind = TRIAL_MEASURE;
		r.result[i].tx[0].trial[0] = (struct tx_counts){ .sent = 100, .returned = 100 };
		r.result[i].rx[0].trial[0] = (struct rx_counts){ .delivered = 100, .replied = 100 };
	}
	mesh_summarize(&r, &s);
	assert_near(s.window_s, 11, 0);
	assert_int_equal(s.total.sent, 2 * 1100);
	assert_near(s.total.sent_pps, 200, 1e-9);
	// a count that one of the trials has not is not known of both
	r.result[0].tx[0].trial[0].sent = COUNTER_UNKNOWN;
	summary_free(&s);
	mesh_summarize(&r, &s);
	assert_true(mesh_flow(&s, 0, 1)->sent == COUNTER_UNKNOWN);
	assert_int_equal(mesh_flow(&s, 0, 1)->returned, 1100);
	summary_free(&s);
	mesh_run_free(&r);
}

static void test_negative_loss_is_said(void **state)
{
	struct mesh_run r;
	struct summary s;

	(void)state;
	mesh_run_make(&r, &three);
	mesh_rx(&r, 1, 2)->delivered += 5;
	mesh_rx(&r, 1, 2)->replied += 5;
	mesh_summarize(&r, &s);
	assert_int_equal(mesh_flow(&s, 1, 2)->lost_forward, -5);
	assert_true(mesh_flow(&s, 1, 2)->loss_forward_pct < 0);
	assert_int_equal(s.total.lost_forward, -5);
	assert_int_equal(s.invalid_flows, 1);
	assert_int_equal(s.flow[s.first_invalid].src, 1);
	assert_false(s.identity);
	mesh_verdict_is(&s, EXIT_LIMIT, "invalid trial");
	summary_free(&s);

	// a loss elsewhere does not hide it
	mesh_lose_forward(&r, 0, 1, 5);
	mesh_summarize(&r, &s);
	assert_int_equal(s.total.lost_forward, 0);
	assert_int_equal(s.invalid_flows, 1);
	mesh_verdict_is(&s, EXIT_LIMIT, "invalid trial");
	summary_free(&s);
	mesh_run_free(&r);
}

static void test_replies_that_vanish(void **state)
{
	struct mesh_run r;
	struct summary s;

	(void)state;
	mesh_run_make(&r, &three);
	mesh_rx(&r, 0, 1)->replied -= 3;
	mesh_rx(&r, 0, 1)->reply_unsent = 3;
	mesh_tx(&r, 0, 1)->returned -= 3;
	mesh_summarize(&r, &s);
	assert_true(s.identity);
	assert_int_equal(s.total.reply_unsent, 3);
	assert_int_equal(s.total.lost_back, 0); // they never left: the tool's limit
	assert_int_equal(s.total.lost, 3);
	summary_free(&s);

	mesh_rx(&r, 0, 1)->reply_unsent = 0;
	mesh_summarize(&r, &s);
	assert_false(s.identity);
	summary_free(&s);
	mesh_run_free(&r);
}

static void test_results_of_another_run(void **state)
{
	struct mesh_run r;
	struct summary s;

	(void)state;
	mesh_run_make(&r, &three);
	strcpy(r.result[0].run_id, "20240130-0000"); // first in order, but alone
	mesh_summarize(&r, &s);
	assert_string_equal(s.run_id, "20240131-a1b2");
	assert_false(s.host[0].measured);
	assert_non_null(strstr(s.host[0].failure, "20240130-0000"));
	assert_int_equal(s.total.sent, 4 * SENT);
	assert_int_equal(s.complete_flows, 2);
	assert_true(s.partial);
	summary_free(&s);
	mesh_run_free(&r);
}

static void refused(struct mesh_run *r, const char *words)
{
	struct err e = { 0 };
	struct summary s;
	const struct summary_input in = { .matrix = &r->matrix, .result = r->given };

	assert_int_equal(summary_build(&in, &s, &e), -EINVAL);
	if (strstr(e.msg, words) == NULL)
		fail_msg("'%s' is not in '%s'", words, e.msg);
	assert_null(s.host);
	assert_null(s.flow);
}

static void test_refused(void **state)
{
	struct mesh_run r;

	(void)state;
	mesh_run_make(&r, &three);
	strcpy(r.result[1].tx[0].peer, "zz");
	refused(&r, "host 'b': peer 'zz' is not a host of lab.yaml");
	strcpy(r.result[1].tx[0].peer, "a");
	strcpy(r.result[2].rx[1].peer, "yy");
	refused(&r, "host 'c': peer 'yy' is not a host of lab.yaml");
	strcpy(r.result[2].rx[1].peer, "b");
	r.given[0] = &r.result[1];
	refused(&r, "host 'b' stands at the place of host 'a'");
	mesh_run_free(&r);
}

static void test_cells(void **state)
{
	struct mesh_run r;
	struct summary s;

	(void)state;
	mesh_run_make(&r, &three);
	r.matrix.traffic.pattern = PATTERN_CELLS;
	r.matrix.traffic.cell = calloc(2, sizeof(*r.matrix.traffic.cell));
	r.matrix.traffic.cell_count = 2;
	r.matrix.traffic.cell[0] = (struct matrix_cell){ .src = 0, .dst = 1, .rate.pps = 100 };
	r.matrix.traffic.cell[1] = (struct matrix_cell){ .src = 2, .dst = 0, .rate.max = true };
	for (size_t i = 0; i < 3; i++)
		r.given[i] = NULL;
	mesh_summarize(&r, &s);
	assert_int_equal(s.flow_count, 2);
	assert_near(mesh_flow(&s, 0, 1)->target_pps, 100, 0);
	assert_true(isnan(mesh_flow(&s, 2, 0)->target_pps));
	summary_free(&s);
	// a result that tells of more than the matrix asks for is not silently cut
	r.given[1] = &r.result[1];
	mesh_summarize(&r, &s);
	assert_int_equal(s.flow_count, 5);
	summary_free(&s);
	mesh_run_free(&r);
}

static void test_scale(void **state)
{
	const char *want = getenv("PMX_TEST_HOSTS");
	size_t hosts = want != NULL ? strtoul(want, NULL, 10) : 150;
	struct mesh_run r;
	struct summary s;

	(void)state;
	mesh_run_make(&r, &(struct mesh_spec){ .hosts = hosts, .pps = 10 });
	mesh_summarize(&r, &s);
	assert_int_equal(s.flow_count, hosts * (hosts - 1));
	assert_int_equal(s.complete_flows, s.flow_count);
	assert_int_equal(s.total.sent, 100 * s.flow_count);
	assert_true(s.identity);
	for (size_t i = 0; i < s.flow_count; i++) {
		assert_int_equal(s.flow[i].src, i / (hosts - 1));
		assert_int_equal(s.flow[i].sent, 100);
	}
	summary_free(&s);
	mesh_run_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clean),
		cmocka_unit_test(test_ramp),
		cmocka_unit_test(test_rows_add_up),
		cmocka_unit_test(test_loss_each_way),
		cmocka_unit_test(test_causes),
		cmocka_unit_test(test_dead_destination),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_percentiles_are_of_merged_histograms),
		cmocka_unit_test(test_measured_trials_add_up),
		cmocka_unit_test(test_negative_loss_is_said),
		cmocka_unit_test(test_replies_that_vanish),
		cmocka_unit_test(test_results_of_another_run),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_cells),
		cmocka_unit_test(test_scale),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

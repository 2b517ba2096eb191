// Runs with a rotation that never were: rates, coverage and layers.
#include "mesh_run.h"
#include "pattern.h"
#include "tables.h"

#include "testlib.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PPS 1000.0
#define DWELL_NS 2000000000u

// What agents would have counted of a window of so long: all that was due, and nothing lost.
static void count_flows(struct mesh_run *r, uint64_t window_ns)
{
	struct rotation rotation = matrix_rotation(&r->matrix);
	size_t n, *tx = calloc(r->hosts, sizeof(*tx)), *rx = calloc(r->hosts, sizeof(*rx));
	struct pair *pair;

	assert_int_equal(pattern_build(&r->matrix, NULL, &pair, &n, NULL), 0);
	for (size_t i = 0; i < n; i++) {
		struct result_flow_tx *to = &r->result[pair[i].src].tx[tx[pair[i].src]++];
		struct result_flow_rx *from = &r->result[pair[i].dst].rx[rx[pair[i].dst]++];
		uint64_t on = rotation_on_ns(&rotation, pair[i].layer, window_ns);
		uint64_t sent = (uint64_t)llround(PPS * (double)on / 1e9);

		strcpy(to->peer, r->matrix.host[pair[i].dst].name);
		strcpy(from->peer, r->matrix.host[pair[i].src].name);
		to->req_bytes = to->rep_bytes = from->req_bytes = from->rep_bytes = 18;
		to->streams = 1;
		to->rate_pps = PPS;
		to->layer = from->layer = pair[i].layer;
		to->trial[MESH_MEASURED].sent = to->trial[MESH_MEASURED].returned = sent;
		from->trial[MESH_MEASURED].delivered = from->trial[MESH_MEASURED].replied = sent;
	}
	free(pair);
	free(tx);
	free(rx);
}

static void run_make(struct mesh_run *r, size_t hosts, uint32_t peers, bool equal, double cycles)
{
	mesh_run_make(r, &(struct mesh_spec){ .hosts = hosts, .pps = PPS });
	r->matrix.traffic.peers = peers;
	r->matrix.traffic.seed = 1;
	r->matrix.traffic.dwell_ns = DWELL_NS;
	r->matrix.traffic.equal_layers = equal;
	struct rotation rotation = matrix_rotation(&r->matrix);
	size_t flows = equal ? rotation.layers * peers : hosts - 1;
	uint64_t window_ns = (uint64_t)(cycles * rotation.layers * DWELL_NS);
	for (size_t i = 0; i < hosts; i++) {
		struct result *res = &r->result[i];
		struct result old = *res;

		assert_int_equal(result_alloc(res, MESH_TRIALS, flows, flows, 1), 0);
		memcpy(res->host, old.host, sizeof(res->host));
		memcpy(res->run_id, old.run_id, sizeof(res->run_id));
		strcpy(res->state, "done");
		memcpy(res->trial, old.trial, MESH_TRIALS * sizeof(*res->trial));
		res->trial[MESH_MEASURED].end_ns = MESH_START_NS + window_ns;
		res->rotation = rotation;
		result_free(&old);
	}
	count_flows(r, window_ns);
}

static void one_cycle(void **state)
{
	struct mesh_run r;
	struct summary s;
	(void)state;

	run_make(&r, 5, 2, false, 1);
	mesh_summarize(&r, &s);
	assert_int_equal(s.flow_count, 20);
	assert_int_equal(s.coverage.pairs, 20);
	assert_int_equal(s.coverage.measured, 20);
	assert_near(s.coverage.least_s, 2, 1e-9);
	assert_near(s.coverage.most_s, 2, 1e-9);
	assert_near(s.window_s, 4, 1e-9);
	for (size_t i = 0; i < s.flow_count; i++) {
		const struct sum_flow *f = &s.flow[i];

		assert_int_equal(f->sent, 2000);
		assert_int_equal(f->target, 2000);
		assert_near(f->measured_s, 2, 1e-9);
		assert_near(f->sent_pps, PPS, 1e-6);
		assert_near(f->delivered_pps, PPS, 1e-6);
	}
	// at any time two flows of each host send
	assert_near(s.total.sent_pps, 10 * PPS, 1e-6);
	assert_near(s.total.target_pps, 10 * PPS, 1e-6);
	assert_near(s.total.delivered_pps, 10 * PPS, 1e-6);
	assert_near(s.achieved_pct, 100, 1e-9);
	for (size_t i = 0; i < 5; i++) {
		assert_near(s.host[i].sent_pps, 2 * PPS, 1e-6);
		assert_near(s.host[i].served_pps, 2 * PPS, 1e-6);
	}
	assert_int_equal(s.layer_count, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(s.layer[i].flows, 10);
		assert_int_equal(s.layer[i].sum.sent, 20000);
		assert_near(s.layer[i].sum.sent_pps, 10 * PPS, 1e-6);
		assert_near(s.layer[i].measured_s, 2, 1e-9);
		assert_near(s.layer[i].loss_pct, 0, 0);
	}
	assert_true(s.identity);
	summary_free(&s);
	mesh_run_free(&r);
}

// A window of three quarters of a cycle of four layers: one of them is never on.
static void a_cut_cycle(void **state)
{
	struct mesh_run r;
	struct summary s;
	(void)state;

	run_make(&r, 5, 1, false, 0.625); // 5 s: layer 2 for 1 s of 2
	mesh_summarize(&r, &s);
	assert_int_equal(s.coverage.pairs, 20);
	assert_int_equal(s.coverage.measured, 15);
	assert_near(s.coverage.least_s, 1, 1e-9);
	assert_near(s.coverage.most_s, 2, 1e-9);
	for (size_t i = 0; i < s.flow_count; i++) {
		const struct sum_flow *f = &s.flow[i];

		if (f->layer < 3)
			assert_near(f->sent_pps, PPS, 1e-6);
		else
			assert_true(isnan(f->sent_pps) && isnan(f->measured_s) &&
				    isnan(f->covered_s) && f->sent == 0);
	}
	assert_near(s.total.sent_pps, 5 * PPS, 1e-6);
	assert_true(isnan(s.layer[3].measured_s));
	assert_int_equal(s.layer[3].sum.sent, 0);
	assert_false(s.partial);
	summary_free(&s);
	mesh_run_free(&r);
}

// Six hosts have five distances, two a layer: the third layer is filled up with pairs of the first.
static void equal_layers(void **state)
{
	struct mesh_run r;
	struct summary s;
	size_t twice = 0;
	(void)state;

	run_make(&r, 6, 2, true, 2);
	mesh_summarize(&r, &s);
	assert_int_equal(s.coverage.pairs, 30);
	assert_int_equal(s.coverage.measured, 30);
	assert_near(s.coverage.least_s, 4, 1e-9);
	assert_near(s.coverage.most_s, 8, 1e-9);
	assert_int_equal(s.flow_count, 36);
	for (size_t i = 0; i < s.flow_count; i++) {
		assert_near(s.flow[i].measured_s, 4, 1e-9);
		assert_near(s.flow[i].sent_pps, PPS, 1e-6);
		twice += i < 30 && s.flow[i].covered_s > 7;
	}
	assert_int_equal(twice, 6);
	for (size_t i = 30; i < 36; i++) {
		const struct sum_flow *f = &s.flow[i];

		assert_int_equal(f->layer, 2);
		assert_int_equal(mesh_flow(&s, f->src, f->dst)->layer, 0);
		assert_near(f->covered_s, 8, 1e-9);
	}
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(s.layer[i].flows, 12);
	assert_near(s.total.sent_pps, 12 * PPS, 1e-6);
	assert_true(s.identity);
	summary_free(&s);
	mesh_run_free(&r);
}

// A flow that loses is of one layer, which comes first.
static void the_worst_layer_is_first(void **state)
{
	struct mesh_run r;
	struct summary s;
	uint32_t order[4];
	(void)state;

	run_make(&r, 5, 1, false, 1);
	for (size_t i = 0; i < 4; i++)
		if (r.result[2].tx[i].layer == 2)
			r.result[2].tx[i].trial[MESH_MEASURED].returned -= 100;
	mesh_summarize(&r, &s);
	assert_int_equal(s.layer[2].sum.lost, 100);
	assert_near(s.layer[2].loss_pct, 1, 1e-9);
	assert_near(s.layer[2].loss_forward_pct, 0, 0);
	assert_near(s.layer[2].loss_back_pct, 1, 1e-9);
	order_layers(&s, order);
	assert_int_equal(order[0], 2);
	assert_int_equal(order[1], 0);
	summary_free(&s);
	mesh_run_free(&r);
}

// Live figures: the window ends now, and so does the layer's time.
static void live(void **state)
{
	struct mesh_run r;
	struct summary s;
	(void)state;

	run_make(&r, 3, 1, false, 1);
	for (size_t i = 0; i < 3; i++) {
		struct result *res = &r.result[i];

		strcpy(res->state, "running");
		res->trial[MESH_MEASURED].close_ns = 0;
		r.now_ns[i] = MESH_START_NS + 2500000000u;
		for (size_t k = 0; k < 2; k++)
			if (res->tx[k].layer == 1)
				res->tx[k].trial[MESH_MEASURED].sent = 500;
	}
	mesh_summarize(&r, &s);
	for (size_t i = 0; i < s.flow_count; i++) {
		assert_near(s.flow[i].measured_s, s.flow[i].layer == 0 ? 2 : 0.5, 1e-9);
		assert_near(s.flow[i].sent_pps, PPS, 1e-6);
		assert_int_equal(s.flow[i].target, s.flow[i].layer == 0 ? 2000 : 500);
	}
	summary_free(&s);
	mesh_run_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_cycle),	cmocka_unit_test(a_cut_cycle),
		cmocka_unit_test(equal_layers), cmocka_unit_test(the_worst_layer_is_first),
		cmocka_unit_test(live),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

// What a summary says by size, and the wire's rate that follows from it, against closed forms.
#include "export.h"
#include "lives.h"
#include "summary.h"

#include "mesh_run.h"
#include "testlib.h"

#include <stdlib.h>
#include <string.h>

#define WINDOW_S 10.0

// Requests of 18, 548 and 1472 bytes, 7 to 4 to 1, replies of 100 and 1400, 1 to 2.
static const uint32_t req_bytes[] = { 18, 548, 1472 }, rep_bytes[] = { 100, 1400 };
static const uint32_t weight[5] = { 7, 4, 1, 4, 8 }; // of 12, requests' sizes, then replies'
static const double l1[5] = { 84, 614, 1538, 166, 1466 };

static struct uints *list(const uint32_t *v, size_t n, const uint32_t *times)
{
	struct uints *u = uints_new(12);
	uint32_t at = 0;

	assert_non_null(u);
	for (size_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < times[i]; k++)
			u->v[at++] = v[i];
	assert_int_equal(at, 12);
	return u;
}

// Each flow of a mesh of 2 sends 12,000 requests in whole cycles.
static void make(struct mesh_run *r)
{
	mesh_run_make(r, &(struct mesh_spec){ .hosts = 2, .pps = 1200 });
	for (size_t h = 0; h < 2; h++) {
		struct result *res = &r->result[h];

		res->mix = calloc(2, sizeof(*res->mix));
		assert_non_null(res->mix);
		res->mix_count = 2;
		res->mix[0].cycle = list(req_bytes, 3, weight);
		res->mix[1].cycle = list(rep_bytes, 2, weight + 3);
		res->tx[0].req_mix = res->rx[0].req_mix = 1;
		res->tx[0].rep_mix = res->rx[0].rep_mix = 2;
		res->tx[0].req_bytes = res->rx[0].req_bytes = 1472;
		res->tx[0].rep_bytes = res->rx[0].rep_bytes = 1400;
		struct uints *tx = res->tx[0].trial[1].by_size = uints_new(10);
		struct uints *rx = res->rx[0].trial[1].by_size = uints_new(10);
		assert_true(tx != NULL && rx != NULL);
		for (size_t i = 0; i < 5; i++)
			tx->v[i] = tx->v[5 + i] = rx->v[i] = rx->v[5 + i] = 1000 * weight[i];
	}
}

// n requests of size i, that ask for replies of size j (both counted from 0), get lost on the way
// from host 0 to 1.
static void lose_forward(struct mesh_run *r, size_t i, size_t j, uint64_t n)
{
	struct uints *tx = mesh_tx(r, 0, 1)->by_size, *rx = mesh_rx(r, 0, 1)->by_size;

	mesh_lose_forward(r, 0, 1, n);
	for (size_t k = 0; k < 2; k++) {
		size_t at = k == 0 ? i : 3 + j;

		tx->v[5 + at] -= n;
		rx->v[at] -= n;
		rx->v[5 + at] -= n;
	}
}

static const struct sum_size *row(const struct summary *s, bool reply, uint32_t bytes)
{
	for (size_t i = 0; i < s->size_count; i++)
		if (s->size[i].reply == reply && s->size[i].bytes == bytes)
			return &s->size[i];
	fail_msg("no row of %u", bytes);
	return NULL;
}

static void by_size(void **state)
{
	struct mesh_run r;
	struct summary s;
	double all = 0;

	(void)state;
	make(&r);
	lose_forward(&r, 1, 0, 100);
	lose_forward(&r, 1, 1, 200);
	mesh_summarize(&r, &s);
	assert_true(s.identity);
	assert_int_equal(s.size_count, 5);
	assert_int_equal(row(&s, false, 18)->all.sent, 14000);
	assert_int_equal(row(&s, false, 18)->lost, 0);
	const struct sum_size *z = row(&s, false, 548);
	assert_int_equal(z->all.sent, 8000);
	assert_int_equal(z->all.delivered, 7700);
	assert_int_equal(z->all.replied, 7700);
	assert_int_equal(z->all.returned, 7700);
	assert_int_equal(z->lost, 300);
	assert_int_equal(z->lost_forward, 300);
	assert_int_equal(z->lost_back, 0);
	assert_near(z->loss_pct, 3.75, 1e-9);
	assert_int_equal(row(&s, true, 100)->lost, 100);
	assert_int_equal(row(&s, true, 1400)->lost_forward, 200);
	// the wire, of what was really sent: requests in whole cycles both ways
	for (size_t i = 0; i < 3; i++)
		all += 2 * 1000 * weight[i] * l1[i];
	assert_near(s.request_l1_bps, 8 * all / WINDOW_S, 1e-3);
	// replies: those that were lost on the way there were never made
	all = 0;
	for (size_t i = 3; i < 5; i++)
		all += 2 * 1000 * weight[i] * l1[i];
	all -= 100 * l1[3] + 200 * l1[4];
	assert_near(s.reply_l1_bps, 8 * all / WINDOW_S, 1e-3);
	// host 1 took in what was left of the requests, and its own replies
	double in = 0;
	for (size_t i = 0; i < 5; i++)
		in += 1000 * weight[i] * l1[i];
	in -= 300 * l1[1];
	assert_near(s.host[1].ingress_l1_bps, 8 * in / WINDOW_S, 1e-3);
	// a flow's size is the mean of what it sent
	assert_near(mesh_flow(&s, 0, 1)->req_mean, (7 * 18.0 + 4 * 548 + 1472) / 12, 1e-9);
	summary_free(&s);
	mesh_run_free(&r);
}

// Of a host without a result nothing is known of the ways apart, and nothing is made up.
static void a_host_is_missing(void **state)
{
	struct mesh_run r;
	struct summary s;

	(void)state;
	make(&r);
	r.given[1] = NULL;
	mesh_summarize(&r, &s);
	const struct sum_size *z = row(&s, false, 548);
	assert_int_equal(z->all.sent, 4000);
	assert_int_equal(z->all.delivered, 4000);
	assert_int_equal(z->lost, 0);
	assert_true(z->lost_forward == LOSS_UNKNOWN && z->lost_back == LOSS_UNKNOWN);
	assert_true(z->complete.sent == COUNTER_UNKNOWN);
	summary_free(&s);
	mesh_run_free(&r);
}

static void more_arrived_than_was_sent(void **state)
{
	struct mesh_run r;
	struct summary s;

	(void)state;
	make(&r);
	// the flow's sums agree, two sizes do not
	mesh_rx(&r, 0, 1)->by_size->v[0]++;
	mesh_rx(&r, 0, 1)->by_size->v[1]--;
	mesh_summarize(&r, &s);
	assert_int_equal(row(&s, false, 18)->lost_forward, -1);
	assert_false(s.identity);
	summary_free(&s);
	mesh_run_free(&r);
}

static void lives_have_the_same_mixes(void **state)
{
	struct mesh_run r, other;
	struct result joined;
	struct err e = { 0 };

	(void)state;
	make(&r);
	make(&other);
	const struct result *life[] = { &r.result[0], &other.result[0] };
	assert_int_equal(lives_join(life, 2, 0, &joined, &e), 0);
	assert_int_equal(joined.mix_count, 2);
	assert_int_equal(joined.tx[0].trial[1].by_size->v[0], 7000);
	assert_int_equal(joined.rx[0].trial[3].by_size->v[0], 7000);
	result_free(&joined);
	mesh_run_free(&r);
	mesh_run_free(&other);
}

static int see_row(const struct export_row *row, void *arg, struct err *e)
{
	struct export_row *seen = arg;

	(void)e;
	if (row->kind != NULL && strcmp(row->kind, "measure") == 0 && strcmp(row->dir, "tx") == 0)
		seen[0] = *row;
	if (row->kind != NULL && strcmp(row->kind, "measure") == 0 && strcmp(row->dir, "rx") == 0)
		seen[1] = *row;
	return 0;
}

// Rows of one host: what went out and came in, by its own counters.
static void exported(void **state)
{
	struct mesh_run r;
	struct summary s;
	struct err e = { 0 };
	struct export_row seen[2];
	double out = 0, back = 0;

	(void)state;
	seen[0] = seen[1] = export_blank;
	make(&r);
	lose_forward(&r, 1, 0, 100);
	mesh_summarize(&r, &s);
	struct summary_input in = mesh_input(&r);
	assert_int_equal(export_result(&in, &s, 0, SCOPE_FLOW, false, see_row, seen, &e), 0);
	for (size_t i = 0; i < 3; i++)
		out += 1000 * weight[i] * l1[i];
	for (size_t i = 3; i < 5; i++)
		back += 1000 * weight[i] * l1[i];
	assert_near(seen[0].mbps, 8e-6 * out / WINDOW_S, 1e-9);
	assert_near(seen[0].rep_mbps, 8e-6 * (back - 100 * l1[3]) / WINDOW_S, 1e-9);
	assert_near(seen[0].size, (7 * 18.0 + 4 * 548 + 1472) / 12, 1e-9);
	assert_near(seen[1].mbps, 8e-6 * out / WINDOW_S, 1e-9);
	// a tag more on 12,000 requests and 11,900 replies
	r.matrix.host[0].vlan_count = 1;
	assert_int_equal(export_result(&in, &s, 0, SCOPE_FLOW, false, see_row, seen, &e), 0);
	assert_near(seen[0].mbps, 8e-6 * (out + 4 * 12000) / WINDOW_S, 1e-9);
	assert_near(seen[0].rep_mbps, 8e-6 * (back - 100 * l1[3] + 4 * 11900) / WINDOW_S, 1e-9);
	// on a ramp over twice the window a quarter of the rate was asked for
	assert_near(seen[0].target_pps, 1200, 1e-9);
	r.matrix.traffic.pacing.ramp = (struct ramp){ .over_ns = 20000000000 };
	assert_int_equal(export_result(&in, &s, 0, SCOPE_FLOW, false, see_row, seen, &e), 0);
	assert_near(seen[0].target_pps, 300, 1e-9);
	summary_free(&s);
	mesh_run_free(&r);
}

// --- lives of other sizes

// A later life of the same hosts: `n` packets of each flow, all of one size each way.
static void make_plain(struct mesh_run *r, uint32_t req, uint32_t rep, uint64_t n)
{
	mesh_run_make(r, &(struct mesh_spec){ .hosts = 2, .pps = (double)n / WINDOW_S });
	for (size_t h = 0; h < 2; h++) {
		r->result[h].tx[0].req_bytes = r->result[h].rx[0].req_bytes = req;
		r->result[h].tx[0].rep_bytes = r->result[h].rx[0].rep_bytes = rep;
	}
}

// Joins the lives of both hosts and puts what comes of it into the place of the first's.
static void join(struct mesh_run *first, struct mesh_run *const *more, size_t n)
{
	const struct result *life[4] = { NULL };
	struct err e = { 0 };

	for (size_t h = 0; h < 2; h++) {
		struct result joined;

		life[0] = &first->result[h];
		for (size_t i = 0; i < n; i++)
			life[i + 1] = &more[i]->result[h];
		assert_int_equal(lives_join(life, n + 1, 0, &joined, &e), 0);
		result_free(&first->result[h]);
		first->result[h] = joined;
	}
}

#define CLOSE_BPS 1e-6 // far below a byte in the windows

// 10 s of 18 and 466 bytes, 10 s of 1472 and 18: frames of 64, 512 and 1518, with 20 on the wire
// each.
static void one_size_after_another(void **state)
{
	struct mesh_run a, b, *more[] = { &b };
	struct summary s;
	struct err e = { 0 };
	struct export_row seen[2] = { export_blank, export_blank };

	(void)state;
	make_plain(&a, 18, 466, 5000);
	make_plain(&b, 1472, 18, 1000);
	join(&a, more, 1);
	mesh_summarize(&a, &s);
	assert_near(s.window_s, 20, 1e-9);
	// two flows over 20 s
	assert_near(s.request_l1_bps, 2 * 8 * (5000 * 84.0 + 1000 * 1538.0) / 20, CLOSE_BPS);
	assert_near(s.reply_l1_bps, 2 * 8 * (5000 * 532.0 + 1000 * 84.0) / 20, CLOSE_BPS);
	assert_near(s.request_payload_bps, 2 * 8 * (5000 * 18.0 + 1000 * 1472.0) / 20, CLOSE_BPS);
	assert_near(s.reply_payload_bps, 2 * 8 * (5000 * 466.0 + 1000 * 18.0) / 20, CLOSE_BPS);
	assert_near(s.host[0].egress_l1_bps, 8 * (5000 * (84.0 + 532) + 1000 * (1538.0 + 84)) / 20,
		    CLOSE_BPS);
	assert_near(s.host[0].ingress_l1_bps, s.host[0].egress_l1_bps, CLOSE_BPS);
	assert_int_equal(s.size_count, 4);
	assert_int_equal(row(&s, false, 18)->all.sent, 10000);
	assert_int_equal(row(&s, false, 1472)->all.delivered, 2000);
	assert_int_equal(row(&s, true, 18)->all.returned, 2000);
	assert_int_equal(row(&s, true, 466)->lost, 0);
	assert_true(s.identity);
	// an export has each life's trial by its own size
	struct summary_input in = mesh_input(&a);
	assert_int_equal(export_result(&in, &s, 0, SCOPE_FLOW, false, see_row, seen, &e), 0);
	assert_int_equal(seen[0].trial, 3);
	assert_near(seen[0].size, 1472, 1e-9);
	assert_near(seen[0].rep_size, 18, 1e-9);
	assert_near(seen[0].mbps, 8e-6 * 1000 * 1538.0 / WINDOW_S, 1e-12);
	assert_near(seen[1].mbps, 8e-6 * 1000 * 1538.0 / WINDOW_S, 1e-12);
	summary_free(&s);
	mesh_run_free(&a);
	mesh_run_free(&b);
}

// Only the replies change: of the requests there is nothing to tell by size.
static void one_way_changes(void **state)
{
	struct mesh_run a, b, *more[] = { &b };
	struct summary s;

	(void)state;
	make_plain(&a, 18, 466, 5000);
	make_plain(&b, 18, 18, 1000);
	join(&a, more, 1);
	mesh_summarize(&a, &s);
	assert_near(s.request_l1_bps, 2 * 8 * 6000 * 84.0 / 20, CLOSE_BPS);
	assert_near(s.reply_l1_bps, 2 * 8 * (5000 * 532.0 + 1000 * 84.0) / 20, CLOSE_BPS);
	assert_int_equal(s.size_count, 2);
	assert_true(s.size[0].reply && s.size[1].reply);
	summary_free(&s);
	mesh_run_free(&a);
	mesh_run_free(&b);
}

// One size, then mixes, from which a size is lost, then another mix that has one of them, then one
// size again.
static void mixes_come_and_go(void **state)
{
	struct mesh_run a, b, c, d, *more[] = { &b, &c, &d };
	struct summary s;

	(void)state;
	make_plain(&a, 1472, 100, 300);
	make(&b);
	lose_forward(&b, 1, 0, 100);
	make(&c);
	for (size_t h = 0; h < 2; h++) // requests of 548 become such of 600
		for (size_t i = 0; i < 12; i++)
			if (c.result[h].mix[0].cycle->v[i] == 548)
				c.result[h].mix[0].cycle->v[i] = 600;
	make_plain(&d, 18, 20, 900);
	join(&a, more, 3);
	mesh_summarize(&a, &s);
	// of each flow: 300 + 1000 + 1000 of 1472, and so on
	double req = 2300 * 1538.0 + (7000 + 7000 + 900) * 84.0 + 4000 * 614.0 + 4000 * 666.0;
	double rep = (300 + 4000 + 4000) * 166.0 + 16000 * 1466.0 + 900 * 86.0;
	assert_near(s.request_l1_bps, 2 * 8 * req / 40, CLOSE_BPS);
	assert_near(s.reply_l1_bps, 8 * (2 * rep - 100 * 166.0) / 40, CLOSE_BPS);
	assert_int_equal(s.size_count, 7);
	assert_int_equal(row(&s, false, 548)->lost_forward, 100);
	assert_int_equal(row(&s, false, 600)->all.sent, 8000);
	assert_int_equal(row(&s, false, 600)->lost, 0);
	assert_int_equal(row(&s, false, 1472)->all.sent, 4600);
	assert_int_equal(row(&s, true, 20)->all.returned, 1800);
	assert_int_equal(row(&s, true, 100)->lost, 100);
	assert_int_equal(mesh_flow(&s, 0, 1)->req_bytes, 1472);
	assert_true(s.identity);
	summary_free(&s);
	mesh_run_free(&a);
	mesh_run_free(&b);
	mesh_run_free(&c);
	mesh_run_free(&d);
}

// What was of requests is of replies in the second life.
static void mixes_change_places(void **state)
{
	struct mesh_run a, b, *more[] = { &b };
	struct summary s;

	(void)state;
	make(&a);
	make(&b);
	for (size_t h = 0; h < 2; h++) {
		struct result *r = &b.result[h];
		struct uints *u[] = { r->tx[0].trial[1].by_size, r->rx[0].trial[1].by_size };

		r->tx[0].req_mix = r->rx[0].req_mix = 2;
		r->tx[0].rep_mix = r->rx[0].rep_mix = 1;
		for (size_t i = 0; i < 10; i++) // requests' come first
			u[0]->v[i] = u[1]->v[i] = 1000 * weight[(i % 5 + 3) % 5];
	}
	join(&a, more, 1);
	mesh_summarize(&a, &s);
	double both = 0;
	for (size_t i = 0; i < 5; i++)
		both += 1000 * weight[i] * l1[i];
	assert_near(s.request_l1_bps, 2 * 8 * both / 20, CLOSE_BPS);
	assert_near(s.reply_l1_bps, 2 * 8 * both / 20, CLOSE_BPS);
	assert_int_equal(s.size_count, 10);
	summary_free(&s);
	mesh_run_free(&a);
	mesh_run_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_size),
		cmocka_unit_test(a_host_is_missing),
		cmocka_unit_test(more_arrived_than_was_sent),
		cmocka_unit_test(lives_have_the_same_mixes),
		cmocka_unit_test(exported),
		cmocka_unit_test(one_size_after_another),
		cmocka_unit_test(one_way_changes),
		cmocka_unit_test(mixes_come_and_go),
		cmocka_unit_test(mixes_change_places),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

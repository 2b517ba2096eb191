#include "testlib.h"

#include "advice.h"
#include "cmd.h"
#include "mesh_run.h"
#include "render.h"
#include "summary.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OLD                                                                                        \
	"ts,host,dir,peer,size,rep_size,target_pps,pps,mbps,rep_pps,rep_mbps,loss_pct,rtt_avg_us," \
	"rtt_p50_us,rtt_p99_us,rtt_max_us,cpu_pct,cpu_max_pct,agent_cpu_pct,workers,layer,queue,"  \
	"busy_pct"
#define HEADER OLD ",interval_s,packets,rep_packets,news\n"

// One interval of a host of two, which sent 10 * n and got 9 * n back.
static size_t put_interval(char *at, size_t size, const char *host, const char *peer, double ts,
			   int n)
{
	int len = snprintf(
		at, size,
		"%.3f,%s,tx,%s,18,466,1000.0,7.0,,6.0,,,%d.0,1.0,2.0,%d.5,,,,,,,,1.0,%d,%d,x\n"
		"%.3f,%s,rx,%s,18,466,,5.0,,,,,,,,,,,,,,,,1.0,%d,,x\n"
		"%.3f,%s,queue,,,,,,,,,,,,,,,,,,,0,%d.0,1.0,%d,%d,x\n"
		"%.3f,%s,host,,,,,,,,,,,,,,%d.0,%d.0,30.0,1,,,,1.0,,,x\n",
		ts, host, peer, 10 * n, 100 * n, 10 * n, 9 * n, ts, host, peer, 8 * n, ts, host,
		10 * n, 10 * n, 9 * n, ts, host, 5 * n, 20 * n);

	assert_true(len > 0 && (size_t)len < size);
	return (size_t)len;
}

static char *make_report(const char *host, const char *peer, double first, int intervals)
{
	size_t size = 16384, len = (size_t)snprintf(NULL, 0, HEADER);
	char *text = malloc(size);

	assert_non_null(text);
	strcpy(text, HEADER);
	for (int i = 1; i <= intervals; i++)
		len += put_interval(text + len, size - len, host, peer, first + i, i);
	snprintf(text + len, size - len, "%.3f,%s,tx,%s,18,4", first + intervals + 1, host, peer);
	return text;
}

struct two {
	struct mesh_run run;
	struct summary_parts parts;
	struct summary s;
};

static void two_make(struct two *t)
{
	struct err e = { 0 };

	mesh_run_make(&t->run, &(struct mesh_spec){ .hosts = 2, .pps = 1000 });
	assert_int_equal(summary_parts_init(&t->parts, &t->run.matrix, &e), 0);
}

static void two_free(struct two *t)
{
	summary_free(&t->s);
	summary_parts_free(&t->parts);
	mesh_run_free(&t->run);
}

static int take(struct two *t, uint32_t host, const char *text, uint64_t window_ns, struct err *e)
{
	return summary_take_window(&t->parts, host, text, strlen(text), window_ns, 1000000000, e);
}

static void summarize(struct two *t)
{
	const struct summary_input in = {
		.matrix = &t->run.matrix, .parts = &t->parts, .skew_ns = NAN, .skew_error_ns = NAN
	};
	struct err e = { 0 };

	if (summary_build(&in, &t->s, &e) < 0)
		fail_msg("%s", e.msg);
}

static void must_be_in(const char *text, const char *words)
{
	if (text == NULL || strstr(text, words) == NULL)
		fail_msg("'%s' is not in:\n%s", words, text != NULL ? text : "");
}

static char *page_of(const struct summary *s)
{
	struct report_opts o = { 0 };
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	assert_int_equal(render_text(f, s, &o, NULL), 0);
	fclose(f);
	return text;
}

// The clocks of the hosts are hours apart: each has its own last instant.
static void test_last_intervals(void **state)
{
	char *a = make_report("a", "b", 1000, 5), *b = make_report("b", "a", 90000.123, 7);
	struct err e = { 0 };
	struct two t;

	(void)state;
	two_make(&t);
	if (take(&t, 0, a, 2000000000, &e) < 0 || take(&t, 1, b, 2000000000, &e) < 0)
		fail_msg("%s", e.msg);
	summarize(&t);
	const struct sum_flow *f = mesh_flow(&t.s, 0, 1);
	assert_true(t.s.windowed && t.s.running && !t.s.partial);
	assert_near(t.s.window_s, 2, 1e-9);
	assert_int_equal(f->sent, 40 + 50);
	assert_int_equal(f->returned, 36 + 45);
	assert_int_equal(f->delivered, 48 + 56); // as b says, of its last two
	assert_int_equal(f->lost, 9);
	assert_near(f->loss_pct, 10, 1e-9);
	assert_near(f->sent_pps, 45, 1e-9);
	assert_int_equal(f->target, 2000);
	assert_near(f->rtt_avg_ns, (36 * 40e3 + 45 * 50e3) / 81, 1e-6);
	assert_near(f->rtt_max_ns, 500.5e3, 1e-6);
	assert_true(isnan(f->rtt_p99_ns) && isnan(t.s.total.rtt_p99_ns));
	assert_true(f->lost_forward == LOSS_UNKNOWN && f->lost_back == LOSS_UNKNOWN);
	assert_true(f->unsent == COUNTER_UNKNOWN && f->replied == COUNTER_UNKNOWN);
	assert_true(t.s.cause.fabric == COUNTER_UNKNOWN);
	assert_near(t.s.total.rtt_max_ns, 700.5e3, 1e-6);
	assert_near(t.s.host[0].cpu_pct, 22.5, 1e-9);
	assert_near(t.s.host[0].cpu_max_pct, 100, 1e-9);
	assert_near(t.s.host[0].busy_pct, 45, 1e-9);
	assert_int_equal(t.s.host[0].queue[0].requests_sent, 90);
	mesh_verdict_is(&t.s, EXIT_GOOD, "window: the last 2.00 s of the reports");

	struct advice advice[ADVICE_MAX];
	size_t n = advice_build(&t.s, advice);
	assert_string_equal(advice[n - 1].rule, "short of target"); // what reports do tell
	char *text = page_of(&t.s);
	must_be_in(text, "WINDOW      the last intervals of the reports");
	must_be_in(text, "They do not tell: loss by");
	must_be_in(text, "RTT         avg");
	assert_null(strstr(text, "IDENTITY"));
	assert_null(strstr(text, "layers: not known"));
	free(text);
	t.run.matrix.traffic.dwell_ns = 1000000000;
	t.run.matrix.traffic.peers = 1;
	text = page_of(&t.s);
	must_be_in(text, "layers: not known of the last seconds alone");
	free(text);
	two_free(&t);
	free(a);
	free(b);
}

// No report tells of the MTU: that of the matrix says how many frames there were.
static void test_fragments(void **state)
{
	char *a = make_report("a", "b", 1000, 3);
	struct err e = { 0 };
	struct two t;

	(void)state;
	two_make(&t);
	t.run.matrix.host[0].mtu = t.run.matrix.host[1].mtu = 400;
	assert_int_equal(take(&t, 0, a, 2000000000, &e), 0);
	summarize(&t);
	// 8 + 466 bytes behind IPv4: 376 and 98
	assert_near(mesh_flow(&t.s, 0, 1)->returned_l1, (38 + 376 + 20) + (38 + 98 + 20), 1e-9);
	assert_true(t.s.host[0].port.mtu == COUNTER_UNKNOWN);
	two_free(&t);
	free(a);
}

static void test_more_than_there_is(void **state)
{
	char *a = make_report("a", "b", 1000, 3);
	struct err e = { 0 };
	struct two t;

	(void)state;
	two_make(&t);
	assert_int_equal(take(&t, 0, a, 3600000000000, &e), 0);
	summarize(&t);
	assert_near(t.s.host[0].window_s, 3, 1e-9);
	assert_int_equal(mesh_flow(&t.s, 0, 1)->sent, 60);
	assert_true(t.s.partial); // b gave none
	assert_true(mesh_flow(&t.s, 0, 1)->delivered == COUNTER_UNKNOWN);
	two_free(&t);
	free(a);
}

// Reports without the counts: what the rates say, over the time between the rows.
static void test_old_report(void **state)
{
	static const char text[] = OLD "\n"
				       "100.000,a,tx,b,18,466,,1000.0,,900.0,,,5.0,,,9.0,,,,,,,\n"
				       "100.000,a,host,,,,,,,,,,,,,,,,,1,,,\n"
				       "102.000,a,tx,b,18,466,,1000.0,,1000.0,,,,,,,,,,,,,\n"
				       "102.000,a,host,,,,,,,,,,,,,,,,,1,,,\n";
	struct err e = { 0 };
	struct two t;

	(void)state;
	two_make(&t);
	if (take(&t, 0, text, 5000000000, &e) < 0)
		fail_msg("%s", e.msg);
	summarize(&t);
	assert_int_equal(mesh_flow(&t.s, 0, 1)->sent, 1000 + 2000);
	assert_int_equal(mesh_flow(&t.s, 0, 1)->returned, 900 + 2000);
	assert_near(t.s.host[0].window_s, 3, 1e-9);
	assert_near(mesh_flow(&t.s, 0, 1)->rtt_avg_ns, 5000, 1e-9);
	assert_true(isnan(t.s.host[0].cpu_pct) && isnan(t.s.host[0].busy_pct));
	assert_true(mesh_flow(&t.s, 0, 1)->target == COUNTER_UNKNOWN); // unpaced
	two_free(&t);
}

static void test_refused(void **state)
{
	static const struct {
		const char *text, *msg;
		int ret;
	} bad[] = {
		{ "", "no interval is over yet", -ENODATA },
		{ HEADER, "no interval is over yet", -ENODATA },
		{ HEADER "1.000,a,tx", "no interval is over yet", -ENODATA },
		{ "ts,host\n1.0,a\n", "1: no column 'dir': not a report of pmx-agent", -EINVAL },
		{ OLD "\n1.000,a\n", "2: 2 fields, where the header has 23", -EINVAL },
		{ OLD "\n1.000,a,tx,z,18,466,,,,,,,,,,,,,,,,,\n",
		  "2: peer 'z' is not a host of lab.yaml: summarize with the matrix that the run "
		  "had",
		  -EINVAL },
		{ OLD "\n1.000,a,xy,b,18,466,,,,,,,,,,,,,,,,,\n",
		  "2: dir 'xy': expected tx, rx, queue or host", -EINVAL },
		{ OLD "\n1.000,a,queue,,,,,,,,,,,,,,,,,,,1000,\n",
		  "2: queue '1000': expected 0 to 127", -EINVAL },
		{ OLD "\n-1,a,tx,b,18,466,,,,,,,,,,,,,,,,,\n2.0,a,host,,,,,,,,,,,,,,,,,,,,\n",
		  "2: ts '-1': expected seconds", -EINVAL },
	};
	struct two t;

	(void)state;
	two_make(&t);
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct err e = { 0 };

		assert_int_equal(take(&t, 0, bad[i].text, 1000000000, &e), bad[i].ret);
		assert_string_equal(e.msg, bad[i].msg);
	}
	summarize(&t);
	assert_int_equal(t.s.measured_hosts, 0);
	two_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_last_intervals),
		cmocka_unit_test(test_fragments),
		cmocka_unit_test(test_more_than_there_is),
		cmocka_unit_test(test_old_report),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "testlib.h"

#include "export.h"
#include "mesh_run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALL (SCOPE_FLOW | SCOPE_QUEUE | SCOPE_HOST)

// What a format writes, in memory.
struct page {
	char *text;
	size_t len;
	FILE *f;
	const struct export_text *format;
};

static void page_open(struct page *p)
{
	p->f = open_memstream(&p->text, &p->len);
	assert_non_null(p->f);
}

static char *page_close(struct page *p)
{
	assert_int_equal(fclose(p->f), 0);
	return p->text;
}

static int put(const struct export_row *row, void *arg, struct err *e)
{
	const struct page *p = arg;

	(void)e;
	export_text_row(p->f, p->format, row);
	return 0;
}

static char *lines_of(struct mesh_run *r, const struct export_text *format)
{
	struct page p = { .format = format };
	const struct summary_input in = mesh_input(r);
	struct summary s;

	mesh_summarize(r, &s);
	page_open(&p);
	export_text_head(p.f, format);
	for (size_t i = 0; i < s.host_count; i++)
		assert_int_equal(export_result(&in, &s, i, ALL, true, put, &p, NULL), 0);
	summary_free(&s);
	return page_close(&p);
}

static char *metrics_of(struct mesh_run *r)
{
	struct page p = { 0 };
	const struct summary_input in = mesh_input(r);
	struct summary s;

	mesh_summarize(r, &s);
	page_open(&p);
	assert_int_equal(export_metrics(p.f, &in, &s, NULL), 0);
	summary_free(&s);
	return page_close(&p);
}

static void is(const char *name, char *got)
{
	golden_is(name, got);
	free(got);
}

static void test_golden(void **state)
{
	struct mesh_run r;

	(void)state;
	mesh_three_make(&r);
	is("export/three.ndjson", lines_of(&r, &export_ndjson));
	is("export/three.tsv", lines_of(&r, &export_tsv));
	is("export/three.openmetrics", metrics_of(&r));
	// a host is missing: its flows' other ends are still there
	r.given[2] = NULL;
	r.failure[2] = "agent killed by signal 9";
	is("export/partial.tsv", lines_of(&r, &export_tsv));
	is("export/partial.openmetrics", metrics_of(&r));
	mesh_run_free(&r);
}

// Labels may hold anything that a driver calls itself.
static void test_escape(void **state)
{
	struct mesh_run r;

	(void)state;
	mesh_run_make(&r, &(struct mesh_spec){ .hosts = 2, .pps = 10 });
	strcpy(r.result[0].driver, "net\"\\\n\tx");
	char *text = metrics_of(&r);
	assert_non_null(strstr(text, "driver=\"net\\\"\\\\\\n\tx\""));
	free(text);
	text = lines_of(&r, &export_tsv);
	assert_non_null(strstr(text, "\tnet\"\\\\\\n\\tx\t"));
	free(text);
	mesh_run_free(&r);
}

// Nothing that was not measured has a sample, and no sum means no _sum.
static void test_unknown(void **state)
{
	struct mesh_run r;

	(void)state;
	mesh_run_make(&r, &(struct mesh_spec){ .hosts = 2, .pps = 1000, .rtt = true });
	mesh_tx(&r, 0, 1)->off_queue = COUNTER_UNKNOWN;
	mesh_tx(&r, 0, 1)->rtt->sum_ns = UINT64_MAX;
	r.result[0].port.imissed = COUNTER_UNKNOWN;
	r.result[0].cpu_pct = -1;
	char *text = metrics_of(&r);
	assert_null(
		strstr(text, "pmx_flow_off_queue_packets_total{src=\"a\",dst=\"b\",trial=\"1\""));
	assert_non_null(
		strstr(text, "pmx_flow_off_queue_packets_total{src=\"b\",dst=\"a\",trial=\"1\""));
	assert_null(strstr(text, "pmx_flow_rtt_seconds_sum{src=\"a\""));
	assert_non_null(strstr(text, "pmx_flow_rtt_seconds_count{src=\"a\""));
	assert_non_null(strstr(text, "pmx_flow_rtt_seconds_sum{src=\"b\""));
	assert_null(strstr(text, "pmx_port_receive_missed_packets_total{host=\"a\""));
	assert_null(strstr(text, "pmx_host_cpu_ratio{host=\"a\""));
	assert_non_null(strstr(text, "pmx_host_cpu_ratio{host=\"b\""));
	free(text);
	mesh_run_free(&r);
}

// Every count lies below its bucket's end, and +Inf has all of them, the longest, too.
static void test_buckets(void **state)
{
	static const uint64_t ns[] = { 0, 1023, 1535, 1536, 2047, 2048, 1000000000, 200000000000 };
	struct mesh_run r;
	struct hist *h;

	(void)state;
	mesh_run_make(&r, &(struct mesh_spec){ .hosts = 2, .pps = 10, .rtt = true });
	h = malloc(sizeof(*h));
	assert_non_null(h);
	hist_reset(h);
	for (size_t i = 0; i < COUNT_OF(ns); i++)
		hist_record(h, ns[i]);
	mesh_set_rtt(&r, 0, 1, hist_pack(h));
	free(h);
	char *text = metrics_of(&r), *at = strstr(text, "pmx_flow_rtt_seconds_bucket{src=\"a\"");
	double last = 0;
	for (; strncmp(at, "pmx_flow_rtt_seconds_bucket", 27) == 0; at = strchr(at, '\n') + 1) {
		double le;
		unsigned long long got;
		uint64_t want = 0;
		char *value = strstr(at, "le=\"") + 4;
		assert_int_equal(sscanf(value, "%lf\"} %llu", &le, &got), 2);
		assert_true(le > last);
		last = le;
		for (size_t i = 0; i < COUNT_OF(ns); i++)
			want += (double)ns[i] / 1e9 <= le;
		assert_int_equal(got, want);
	}
	assert_true(last > 1e300); // +Inf
	assert_memory_equal(at, "pmx_flow_rtt_seconds_count", 26);
	free(text);
	mesh_run_free(&r);
}

static void samples_are(const char *report, const char *want, const char *fault)
{
	struct page p = { .format = &export_tsv };
	struct err e = { 0 };
	char *text = strdup(report);

	page_open(&p);
	int rc = export_samples(text, "x.csv", put, &p, &e);
	assert_int_equal(rc, fault != NULL ? -EINVAL : 0);
	if (fault != NULL)
		assert_string_equal(e.msg, fault);
	free(text);
	text = page_close(&p);
	assert_memory_equal(text, want, strlen(want));
	free(text);
}

static void test_samples(void **state)
{
	(void)state;
	samples_are("", "", NULL);
	samples_are("ts,host,dir,pps\n1796052869.072,a,tx,0.1\n1796052870.5,a,tx,",
		    "1796052869.072\ta\ttx\t\t\t\t\t0.1\t", NULL); // the last has no end yet
	samples_are("loss_pct,new\n-0.5,seven\n", "\t\t\t\t\t\t\t\t\t\t\t-0.5\t", NULL);
	samples_are("host,pps\na\n", "", "x.csv:2: 1 fields, expected 2 as in the first line");
	samples_are("host,pps\na,1\na,nan\n", "\ta\t", "x.csv:3: pps 'nan': expected a number");
	samples_are("host,pps\na,0x1\n", "", "x.csv:2: pps '0x1': expected a number");
	samples_are("host,pps\na,1-1\n", "", "x.csv:2: pps '1-1': expected a number");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),	cmocka_unit_test(test_escape),
		cmocka_unit_test(test_unknown), cmocka_unit_test(test_buckets),
		cmocka_unit_test(test_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "testlib.h"

#include "grid.h"
#include "mesh_run.h"
#include "render.h"
#include "sample.h"
#include "tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// What a renderer writes, in memory.
struct page {
	char *text;
	size_t len;
	FILE *f;
};

static FILE *page_open(struct page *p)
{
	*p = (struct page){ 0 };
	p->f = open_memstream(&p->text, &p->len);
	assert_non_null(p->f);
	return p->f;
}

static const char *page_close(struct page *p)
{
	assert_int_equal(fclose(p->f), 0);
	return p->text;
}

static void golden(const char *name, const char *got)
{
	char path[256];

	snprintf(path, sizeof(path), "summary/%s", name);
	golden_is(path, got);
}

static void test_golden(void **state)
{
	struct mesh_run r;
	struct summary s;
	struct page p;
	struct report_opts o = { 0 };
	struct queue_list queues;
	char *version;

	(void)state;
	mesh_three_make(&r);
	mesh_summarize(&r, &s);

	assert_int_equal(render_text(page_open(&p), &s, &o, NULL), 0);
	golden("three.txt", page_close(&p));
	free(p.text);

	o.verbose = true;
	assert_int_equal(render_text(page_open(&p), &s, &o, NULL), 0);
	golden("three-verbose.txt", page_close(&p));
	free(p.text);

	assert_int_equal(render_json(page_open(&p), &s, NULL), 0);
	page_close(&p);
	version = strstr(p.text, "\"pmx_version\": \"" PMX_VERSION "\"");
	assert_non_null(version);
	memset(version + strlen("\"pmx_version\": \""), 'x', strlen(PMX_VERSION));
	golden("three.json", p.text);
	free(p.text);

	const struct table flows = table_flows(&s, NULL, s.flow_count);
	render_table_csv(page_open(&p), &flows);
	golden("three-flows.csv", page_close(&p));
	free(p.text);

	const struct table hosts = table_hosts(&s, NULL);
	render_table_csv(page_open(&p), &hosts);
	golden("three-hosts.csv", page_close(&p));
	free(p.text);

	assert_int_equal(queue_list_all(&s, &queues, NULL), 0);
	const struct table queue = table_queues(&queues);
	render_table_csv(page_open(&p), &queue);
	golden("three-queues.csv", page_close(&p));
	free(p.text);
	queue_list_free(&queues);

	summary_free(&s);
	mesh_run_free(&r);
}

static void test_golden_partial(void **state)
{
	struct mesh_run r;
	struct summary s;
	struct page p;
	const struct report_opts o = { 0 };

	(void)state;
	mesh_three_make(&r);
	r.given[2] = NULL;
	r.failure[2] = "agent killed by signal 9";
	mesh_summarize(&r, &s);
	assert_int_equal(render_text(page_open(&p), &s, &o, NULL), 0);
	golden("partial.txt", page_close(&p));
	free(p.text);
	for (size_t i = 0; i < grid_count; i++) {
		char name[64];

		render_grid(page_open(&p), &s, &grid_table[i]);
		snprintf(name, sizeof(name), "partial-grid-%s.csv", grid_table[i].name);
		golden(name, page_close(&p));
		free(p.text);
	}
	summary_free(&s);
	mesh_run_free(&r);
}

static void test_golden_clean(void **state)
{
	struct mesh_run r;
	struct summary s;
	struct page p;
	struct report_opts o = { 0 };

	(void)state;
	mesh_run_make(&r, &(struct mesh_spec){ .hosts = 2, .pps = 1500000 });
	mesh_summarize(&r, &s);
	assert_int_equal(render_text(page_open(&p), &s, &o, NULL), 0);
	golden("clean.txt", page_close(&p));
	assert_null(strchr(p.text, '\033'));
	free(p.text);
	o.colour = true;
	assert_int_equal(render_text(page_open(&p), &s, &o, NULL), 0);
	assert_non_null(strchr(page_close(&p), '\033'));
	free(p.text);
	summary_free(&s);
	mesh_run_free(&r);
}

// The cell that a JSON value stands for.
static struct cell cell_of_json(const json_t *v)
{
	if (json_is_string(v))
		return cell_text(json_string_value(v));
	if (json_is_boolean(v))
		return cell_bool(json_is_true(v));
	if (json_is_real(v))
		return cell_real(json_real_value(v));
	if (!json_is_integer(v))
		return (struct cell){ .kind = CELL_NONE };
	return json_integer_value(v) < 0 ? cell_int(json_integer_value(v))
					 : cell_count((uint64_t)json_integer_value(v));
}

// Takes the next cell of a line of text off: what stands between runs of two blanks and more.
static char *take_text(char **at)
{
	char *s = *at + strspn(*at, " ");
	char *end = strstr(s, "  ");

	if (end == NULL) {
		*at = s + strlen(s);
		return s;
	}
	*end = '\0';
	*at = end + 1;
	return s;
}

// All the text's lines of one table against the JSON's rows; each row begins with its name.
static void same_as_text(const struct table *t, const char *const *shown, const char *text,
			 json_t *rows)
{
	size_t i;
	json_t *row;

	text = strstr(text, t->title);
	assert_non_null(text);
	text = strchr(strchr(text, '\n') + 1, '\n') + 1; // title and heads
	json_array_foreach (rows, i, row) {
		size_t len = strcspn(text, "\n");
		char *line = strndup(text, len), *at = line;

		for (size_t c = 0; c < t->columns; c++) {
			const struct column *col =
				&t->column[shown != NULL ? table_find(t, shown[c]) : c];
			struct cell cell = cell_of_json(json_object_get(row, col->key));
			char buf[CELL_TEXT_MAX];
			const char *want = cell_str(col, &cell, buf, sizeof(buf));

			if (col->title != NULL && want[0] != '\0')
				assert_string_equal(take_text(&at), want);
			if (shown != NULL && shown[c + 1] == NULL)
				break;
		}
		assert_int_equal(strspn(at, " "), strlen(at));
		free(line);
		text += len + 1;
	}
}

static char *take_field(char **at)
{
	char *s = *at;
	char *end = s + strcspn(s, ",\n");

	*at = end + (*end != '\0');
	*end = '\0';
	return s;
}

static void same_as_csv(const struct table *t, json_t *rows)
{
	struct page p;
	char *at;
	size_t i;
	json_t *row;

	render_table_csv(page_open(&p), t);
	page_close(&p);
	at = p.text;
	for (size_t c = 0; c < t->columns; c++)
		assert_string_equal(take_field(&at),
				    t->column[c].csv != NULL ? t->column[c].csv : t->column[c].key);
	json_array_foreach (rows, i, row) {
		assert_int_equal(json_object_size(row), t->columns);
		for (size_t c = 0; c < t->columns; c++) {
			const json_t *v = json_object_get(row, t->column[c].key);
			const char *field = take_field(&at);
			char *end;

			assert_non_null(v);
			if (json_is_null(v))
				assert_string_equal(field, "");
			else if (json_is_string(v))
				assert_string_equal(field, json_string_value(v));
			else if (json_is_boolean(v))
				assert_string_equal(field, json_is_true(v) ? "true" : "false");
			else
				assert_true(strtod(field, &end) == json_number_value(v) &&
					    *field != '\0' && *end == '\0');
		}
	}
	assert_int_equal(i, t->rows);
	assert_string_equal(at, "");
	free(p.text);
}

// Each figure of the text's headline is that of the JSON.
static void same_headline(const struct summary *s, const char *text, json_t *totals)
{
	static const char *const key[] = {
		"sent_pps",
		"request_l1_gbps",
		"request_payload_gbps",
		"delivered_pps",
		"delivered_pct",
		"replied_pps",
		"reply_l1_gbps",
		"reply_payload_gbps",
		"returned_pps",
		"returned_pct",
		"target_pps",
		"achieved_pct",
		"both_pps",
		"both_l1_gbps",
		"both_payload_gbps",
		"lost",
		"loss_pct",
		"lost_forward",
		"loss_forward_pct",
		"lost_back",
		"loss_back_pct",
		"lost_fabric",
		"unsent",
		"identity_sent",
		"rtt_avg_us",
		"rtt_p50_us",
		"rtt_p99_us",
		"rtt_max_us",
	};
	struct table t = table_totals(s);

	for (size_t i = 0; i < COUNT_OF(key); i++) {
		const struct column *c = &t.column[table_find(&t, key[i])];
		struct cell cell = cell_of_json(json_object_get(totals, key[i]));
		char buf[CELL_TEXT_MAX];

		assert_true(cell.kind != CELL_NONE);
		if (strstr(text, cell_unit_str(c, &cell, buf, sizeof(buf))) == NULL)
			fail_msg("%s: '%s' is not in the text", key[i], buf);
	}
}

// A hundred hosts, 9,900 flows, every fault by chance: text, CSV and JSON cell by cell.
static void test_hundred_hosts(void **state)
{
	static const char *const shown[] = { "host",	   "sent_pps",	     "returned_pps",
					     "served_pps", "egress_l1_gbps", "loss_pct",
					     "rtt_p99_us", "cpu_pct",	     "cpu_max_pct",
					     "busy_pct",   "busiest_queue",  NULL };
	struct rng rng = rng_open("hundred hosts");
	struct mesh_run r;
	struct summary s;
	struct page text, json;
	struct queue_list all, sums;
	const struct report_opts o = { .verbose = true };
	json_t *root;

	(void)state;
	mesh_run_make(&r, &(struct mesh_spec){ .hosts = 100, .queues = 3, .pps = 123.4 });
	for (int i = 0; i < 2000; i++) {
		size_t src = rng_below(&rng, 100), dst = rng_below(&rng, 100);

		if (src == dst || mesh_tx(&r, src, dst)->returned < 300)
			continue;
		mesh_lose_forward(&r, src, dst, rng_below(&rng, 100));
		mesh_lose_back(&r, src, dst, rng_below(&rng, 100));
		mesh_leave_unsent(&r, src, dst, rng_below(&rng, 100));
		mesh_tx(&r, src, dst)->dup = rng_below(&rng, 5);
	}
	mesh_tx(&r, 0, 1)->rtt = sample_packed(12345, 100, 0, 0);
	mesh_fill_queues(&r);
	r.given[33] = NULL;
	mesh_summarize(&r, &s);

	assert_int_equal(render_text(page_open(&text), &s, &o, NULL), 0);
	page_close(&text);
	assert_int_equal(render_json(page_open(&json), &s, NULL), 0);
	page_close(&json);
	root = json_loadb(json.text, json.len, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(root);
	assert_int_equal(json_integer_value(json_object_get(root, "pmx_summary")), 1);

	const struct table flows = table_flows(&s, NULL, s.flow_count);
	const struct table hosts = table_hosts(&s, NULL);
	assert_int_equal(queue_list_all(&s, &all, NULL), 0);
	assert_int_equal(queue_list_shown(&s, true, &sums, NULL), 0);
	const struct table queues = table_queues(&all);
	assert_int_equal(json_array_size(json_object_get(root, "flows")), 9900);
	assert_int_equal(json_array_size(json_object_get(root, "hosts")), 100);
	assert_int_equal(json_array_size(json_object_get(root, "queues")), 99 * 3);
	same_as_csv(&flows, json_object_get(root, "flows"));
	same_as_csv(&hosts, json_object_get(root, "hosts"));
	same_as_csv(&queues, json_object_get(root, "queues"));
	same_headline(&s, text.text, json_object_get(root, "totals"));
	same_as_text(&flows, NULL, strstr(text.text, "\nFLOWS\n"), json_object_get(root, "flows"));

	// the text has the hosts worst first, and sums among the queues: put the JSON in that order
	uint32_t order[100];
	json_t *sorted = json_array(), *queued = json_array();
	order_hosts(&s, order);
	assert_int_equal(order[0], 33);
	for (size_t i = 0; i < 100; i++)
		json_array_append(sorted, json_array_get(json_object_get(root, "hosts"), order[i]));
	same_as_text(&hosts, shown, text.text, sorted);
	for (size_t i = 0, q = 0; i < sums.rows; i++)
		json_array_append_new(
			queued,
			sums.row[i].all
				? json_pack("{ss ss si si si si si si}", "host",
					    r.matrix.host[sums.row[i].host].name, "queue", "all",
					    "requests_sent", s.host[sums.row[i].host].sent,
					    "replies_received", s.host[sums.row[i].host].returned,
					    "requests_received", s.host[sums.row[i].host].served,
					    "replies_sent", s.host[sums.row[i].host].replied,
					    "off_queue", 0, "tx_full", 0)
				: json_incref(
					  json_array_get(json_object_get(root, "queues"), q++)));
	same_as_text(&queues, NULL, text.text, queued);

	json_decref(sorted);
	json_decref(queued);
	json_decref(root);
	queue_list_free(&all);
	queue_list_free(&sums);
	free(text.text);
	free(json.text);
	summary_free(&s);
	mesh_run_free(&r);
}

static void test_width(void **state)
{
	struct mesh_run r;
	struct summary s;
	struct page p;
	const struct report_opts o = { .verbose = true };

	(void)state;
	mesh_three_make(&r);
	strcpy(r.matrix.host[1].name, "rack-07-server-12"); // longer ones are wider
	strcpy(r.result[1].host, r.matrix.host[1].name);
	for (size_t i = 0; i < 3; i++)
		for (size_t k = 0; k < 2; k++) {
			if (strcmp(r.result[i].tx[k].peer, "b") == 0)
				strcpy(r.result[i].tx[k].peer, r.matrix.host[1].name);
			if (strcmp(r.result[i].rx[k].peer, "b") == 0)
				strcpy(r.result[i].rx[k].peer, r.matrix.host[1].name);
		}
	mesh_summarize(&r, &s);
	assert_int_equal(render_text(page_open(&p), &s, &o, NULL), 0);
	page_close(&p);
	for (const char *line = p.text; *line != '\0'; line += strcspn(line, "\n") + 1) {
		size_t len = strcspn(line, "\n");

		if (len > 100 || (len > 0 && line[len - 1] == ' '))
			fail_msg("%zu wide, or ends in a blank: %.*s", len, (int)len, line);
	}
	free(p.text);
	summary_free(&s);
	mesh_run_free(&r);
}

// Whatever bytes a host says, the JSON can be read, and the CSV has its fields.
static void test_any_bytes(void **state)
{
	static const char failure[] =
		"a \"quoted\", \\ \x01\x7f\xff\xc3\xa9 \xed\xa0\x80 \xe2\x82 line\n";
	struct mesh_run r;
	struct summary s;
	struct page p;
	json_t *root;

	(void)state;
	mesh_three_make(&r);
	r.given[0] = NULL;
	r.failure[0] = failure;
	mesh_summarize(&r, &s);
	assert_int_equal(render_json(page_open(&p), &s, NULL), 0);
	page_close(&p);
	root = json_loadb(p.text, p.len, 0, NULL);
	assert_non_null(root);
	json_t *host = json_array_get(json_object_get(root, "hosts"), 0);
	assert_string_equal(json_string_value(json_object_get(host, "failure")),
			    "a \"quoted\", \\ \x01\x7f\xef\xbf\xbd\xc3\xa9 \xef\xbf\xbd\xef\xbf\xbd"
			    "\xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd line\n");
	json_decref(root);
	free(p.text);

	const struct table hosts = table_hosts(&s, NULL);
	render_table_csv(page_open(&p), &hosts);
	assert_non_null(strstr(page_close(&p), ",\"a \"\"quoted\"\", \\ "));
	free(p.text);
	summary_free(&s);
	mesh_run_free(&r);
}

static void test_top(void **state)
{
	struct mesh_run r;
	struct summary s;
	struct page p;
	struct report_opts o = { .top = 3 };

	(void)state;
	mesh_run_make(&r, &(struct mesh_spec){ .hosts = 60, .pps = 100 });
	for (size_t dst = 1; dst <= 8; dst++)
		mesh_lose_forward(&r, 0, dst, 10 * dst);
	mesh_summarize(&r, &s);
	assert_int_equal(render_text(page_open(&p), &s, &o, NULL), 0);
	page_close(&p);
	assert_non_null(strstr(p.text, "... and 20 more (--verbose"));
	assert_non_null(strstr(p.text, "... and 5 more (--top N"));
	const char *worst = strstr(p.text, "WORST FLOWS");
	const char *first = strstr(worst, "host0000  host0008");
	const char *last = strstr(worst, "host0000  host0006");
	assert_true(first != NULL && last != NULL && first < last);
	assert_null(strstr(worst, "host0000  host0005"));
	free(p.text);
	summary_free(&s);
	mesh_run_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),	     cmocka_unit_test(test_golden_partial),
		cmocka_unit_test(test_golden_clean), cmocka_unit_test(test_hundred_hosts),
		cmocka_unit_test(test_width),	     cmocka_unit_test(test_any_bytes),
		cmocka_unit_test(test_top),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

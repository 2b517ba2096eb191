#include "render.h"

#include "advice.h"
#include "json_put.h"
#include "pacing_words.h"
#include "sizes_json.h"
#include "tables.h"

#include <math.h>

static void put_table(struct json_put *j, const struct table *t)
{
	struct cell cell[COLUMNS_MAX];

	json_put_key(j, t->key);
	json_put_begin(j, '[');
	for (size_t r = 0; r < t->rows; r++) {
		table_row(t, r, cell);
		json_put_row(j, t, cell);
	}
	json_put_end(j, ']');
}

static void put_totals(struct json_put *j, const struct summary *s)
{
	struct table t = table_totals(s);
	struct cell cell[COLUMNS_MAX];

	table_row(&t, 0, cell);
	json_put_key(j, t.key);
	json_put_row(j, &t, cell);
}

static void put_run(struct json_put *j, const struct summary *s)
{
	const struct matrix *m = s->matrix;

	json_put_key(j, "run");
	json_put_begin(j, '{');
	json_put_text(j, "run_id", s->run_id);
	json_put_text(j, "name", m->name);
	json_put_text(j, "matrix", m->file);
	json_put_text(j, "matrix_sha256", m->sha256);
	json_put_text(j, "transport", m->transport == TRANSPORT_SSH ? "ssh" : "local");
	json_put_text(j, "pattern", pattern_name[m->traffic.pattern]);
	sizes_json(j, m);
	pacing_json(j, m);
	json_put_count(j, "udp_port", m->traffic.port);
	json_put_count(j, "streams_per_flow", m->traffic.streams);
	json_put_real(j, "warmup_s", (double)m->timing.warmup_ns / 1e9);
	json_put_real(j, "duration_s", (double)m->timing.duration_ns / 1e9);
	json_put_real(j, "drain_s", (double)m->timing.drain_ns / 1e9);
	json_put_real(j, "window_s", s->window_s);
	json_put_count(j, "hosts", s->host_count);
	json_put_count(j, "hosts_measured", s->measured_hosts);
	json_put_count(j, "flows", s->flow_count);
	json_put_count(j, "flows_measured", s->measured_flows);
	json_put_count(j, "flows_complete", s->complete_flows);
	json_put_end(j, '}');
}

// null without one.
static void put_rotation(struct json_put *j, const struct summary *s)
{
	if (s->rotation.layers == 0) {
		json_put_null(j, "rotation");
		return;
	}
	json_put_key(j, "rotation");
	json_put_begin(j, '{');
	json_put_count(j, "layers", s->rotation.layers);
	json_put_real(j, "dwell_s", (double)s->rotation.dwell_ns / 1e9);
	json_put_real(j, "cycle_s", (double)s->rotation.dwell_ns / 1e9 * s->rotation.layers);
	json_put_end(j, '}');
}

static void put_coverage(struct json_put *j, const struct summary *s)
{
	json_put_key(j, "coverage");
	json_put_begin(j, '{');
	json_put_count(j, "pairs", s->coverage.pairs);
	json_put_count(j, "pairs_measured", s->coverage.measured);
	json_put_real(j, "pair_least_s", s->coverage.least_s);
	json_put_real(j, "pair_most_s", s->coverage.most_s);
	json_put_end(j, '}');
}

static void put_verdict(struct json_put *j, const struct summary *s)
{
	struct limit_check limit[LIMITS_MAX];
	size_t n = summary_limits(s, limit);
	char text[ADVICE_TEXT_MAX];
	enum verdict verdict = summary_verdict(s, text, sizeof(text));

	json_put_key(j, "verdict");
	json_put_begin(j, '{');
	json_put_count(j, "exit", (uint64_t)verdict);
	json_put_text(j, "text", text);
	json_put_bool(j, "partial", s->partial);
	json_put_bool(j, "running", s->running);
	json_put_bool(j, "window_of_reports", s->windowed);
	json_put_bool(j, "valid", s->invalid_flows == 0);
	json_put_count(j, "flows_invalid", s->invalid_flows);
	if (isnan(s->achieved_pct))
		json_put_null(j, "generator_limited");
	else
		json_put_bool(j, "generator_limited", s->achieved_pct < GENERATOR_LIMITED_PCT);
	json_put_key(j, "limits");
	json_put_begin(j, '[');
	for (size_t i = 0; i < n; i++) {
		json_put_begin(j, '{');
		json_put_text(j, "figure", limit[i].key);
		json_put_real(j, "limit", limit[i].limit);
		json_put_real(j, "value", limit[i].value);
		json_put_text(j, "result", limit_pass_name[limit[i].pass]);
		json_put_end(j, '}');
	}
	json_put_end(j, ']');
	json_put_end(j, '}');
}

int render_json(FILE *f, const struct summary *s, struct err *e)
{
	struct json_put j = { .f = f };
	struct advice advice[ADVICE_MAX];
	size_t advices = advice_build(s, advice);
	struct queue_list queues;
	int ret = queue_list_all(s, &queues, e);

	if (ret < 0)
		return ret;
	struct table hosts = table_hosts(s, NULL), flows = table_flows(s, NULL, s->flow_count);
	struct table layers = table_layers(s, NULL), sizes = table_sizes(s, NULL);
	struct table queue = table_queues(&queues), next = table_advice(advice, advices);

	json_put_begin(&j, '{');
	json_put_count(&j, "pmx_summary", PMX_SUMMARY_VERSION);
	json_put_text(&j, "pmx_version", PMX_VERSION);
	json_put_text(&j, "unit_of_counts", "packets");
	put_run(&j, s);
	put_rotation(&j, s);
	put_coverage(&j, s);
	put_verdict(&j, s);
	put_totals(&j, s);
	put_table(&j, &hosts);
	put_table(&j, &queue);
	put_table(&j, &flows);
	put_table(&j, &layers);
	put_table(&j, &sizes);
	put_table(&j, &next);
	json_put_end(&j, '}');
	fputc('\n', f);
	queue_list_free(&queues);
	return 0;
}

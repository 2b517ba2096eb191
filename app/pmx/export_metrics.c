#include "export.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

// Buckets of RTT and lateness: two an octave, each the union of the histogram's own, so their
// counts are exact. `le` is the last nanosecond of a bucket.
#define FIRST_EXP 10
#define STEPS 2u

static const struct {
	enum export_scope scope;
	const char *name;
} scopes[] = {
	{ SCOPE_FLOW, "flow" },
	{ SCOPE_QUEUE, "queue" },
	{ SCOPE_HOST, "host" },
	{ SCOPE_PORT, "port" },
};

struct pass { // one family over all rows
	FILE *f;
	const char *scope_name;
	enum export_scope scope;
	const struct export_column *column; // of counters and gauges
	const struct hist_packed *(*hist)(const struct export_row *row);
	const char *type, *metric, *unit, *help;
	bool *headed; // its head was written; families without a value have none
};

static void put_escaped(FILE *f, const char *s)
{
	for (; *s != '\0'; s++) {
		if (*s == '\n')
			fputs("\\n", f);
		else if (*s == '\\' || *s == '"')
			fprintf(f, "\\%c", *s);
		else
			fputc(*s, f);
	}
}

static void put_label(FILE *f, const char **sep, const char *name, const char *value)
{
	if (value == NULL || value[0] == '\0')
		return;
	fprintf(f, "%s%s=\"", *sep, name);
	put_escaped(f, value);
	fputc('"', f);
	*sep = ",";
}

// From the open brace on; the caller closes it.
static const char *put_labels(FILE *f, enum export_scope scope, const struct export_row *row)
{
	const char *sep = "{";
	char number[24];

	if (scope == SCOPE_FLOW) {
		bool asks = strcmp(row->dir, "tx") == 0;

		put_label(f, &sep, "src", asks ? row->host : row->peer);
		put_label(f, &sep, "dst", asks ? row->peer : row->host);
		if (!isnan(row->layer)) { // a pair may be of several
			snprintf(number, sizeof(number), "%.0f", row->layer);
			put_label(f, &sep, "layer", number);
		}
	} else {
		put_label(f, &sep, "host", row->host);
	}
	if (scope == SCOPE_PORT)
		put_label(f, &sep, "port", row->port);
	if (scope == SCOPE_QUEUE) {
		snprintf(number, sizeof(number), "%.0f", row->queue);
		put_label(f, &sep, "queue", number);
	}
	if (row->trial != COUNTER_UNKNOWN) {
		snprintf(number, sizeof(number), "%" PRIu64, row->trial);
		put_label(f, &sep, "trial", number);
		put_label(f, &sep, "kind", row->kind);
	}
	return sep;
}

static void put_name(const struct pass *p, const char *suffix)
{
	fprintf(p->f, "pmx_%s%s%s%s", p->scope_name, p->metric[0] != '\0' ? "_" : "", p->metric,
		suffix);
}

static void put_head(const struct pass *p)
{
	if (*p->headed)
		return;
	*p->headed = true;
	fputs("# TYPE ", p->f);
	put_name(p, " ");
	fprintf(p->f, "%s\n", p->type);
	if (p->unit != NULL) {
		fputs("# UNIT ", p->f);
		put_name(p, " ");
		fprintf(p->f, "%s\n", p->unit);
	}
	fputs("# HELP ", p->f);
	put_name(p, " ");
	fprintf(p->f, "%s.\n", p->help);
}

// Rows of the other end of a flow, and values that nobody measured, are not there.
static int put_value(const struct export_row *row, void *arg, struct err *e)
{
	const struct pass *p = arg;
	const struct column *c = &p->column->column;
	const void *at = (const char *)row + c->offset;
	uint64_t count = c->source == SOURCE_U64 ? *(const uint64_t *)at : 0;
	double real = c->source == SOURCE_U64 ? (double)count : *(const double *)at;
	double factor = p->column->factor;

	(void)e;
	if (count == COUNTER_UNKNOWN || isnan(real))
		return 0;
	put_head(p);
	put_name(p, p->column->type == METRIC_COUNTER ? "_total" : "");
	const char *sep = put_labels(p->f, p->scope, row);
	put_label(p->f, &sep, "reason", p->column->reason);
	if (c->source == SOURCE_U64 && factor == 0)
		fprintf(p->f, "} %" PRIu64 "\n", count);
	else
		fprintf(p->f, "} %.15g\n", factor != 0 ? real * factor : real);
	return 0;
}

static void put_bucket(const struct pass *p, const struct export_row *row, const char *le,
		       uint64_t count)
{
	put_name(p, "_bucket");
	const char *sep = put_labels(p->f, p->scope, row);
	put_label(p->f, &sep, "le", le);
	fprintf(p->f, "} %" PRIu64 "\n", count);
}

static void put_buckets(const struct pass *p, const struct export_row *row,
			const struct hist_packed *h)
{
	uint64_t below = 0;
	uint32_t b = 0;
	char le[32];

	for (unsigned exp = FIRST_EXP; exp < HIST_MAX_EXP; exp++) {
		for (unsigned step = 1; step <= STEPS; step++) {
			uint64_t upper = (UINT64_C(1) << exp) / STEPS * (STEPS + step);

			// the last bucket takes what is longer, too: that is +Inf's
			for (; b < h->bins && h->bin[b].bucket < HIST_BUCKETS - 1 &&
			       hist_upper_ns(h->bin[b].bucket) <= upper;
			     b++)
				below += h->bin[b].count;
			snprintf(le, sizeof(le), "%.15g", (double)(upper - 1) / 1e9);
			put_bucket(p, row, le, below);
		}
	}
	put_bucket(p, row, "+Inf", h->count);
}

static int put_hist(const struct export_row *row, void *arg, struct err *e)
{
	const struct pass *p = arg;
	const struct hist_packed *h = p->hist(row);

	(void)e;
	if (h == NULL)
		return 0;
	put_head(p);
	put_buckets(p, row, h);
	put_name(p, "_count");
	put_labels(p->f, p->scope, row);
	fprintf(p->f, "} %" PRIu64 "\n", h->count);
	if (h->sum_ns == UINT64_MAX)
		return 0;
	put_name(p, "_sum");
	put_labels(p->f, p->scope, row);
	fprintf(p->f, "} %" PRIu64 ".%09" PRIu64 "\n", h->sum_ns / 1000000000,
		h->sum_ns % 1000000000);
	return 0;
}

static int put_info(const struct export_row *row, void *arg, struct err *e)
{
	const struct pass *p = arg;
	const struct result *r = row->result;

	(void)e;
	if (r == NULL)
		return 0;
	put_head(p);
	put_name(p, "_info");
	const char *sep = put_labels(p->f, SCOPE_PORT, row);
	put_label(p->f, &sep, "run_id", r->run_id);
	put_label(p->f, &sep, "state", r->state);
	put_label(p->f, &sep, "ended_by", r->ended_by);
	put_label(p->f, &sep, "driver", r->driver);
	put_label(p->f, &sep, "mac", r->mac);
	put_label(p->f, &sep, "pmx_version", r->pmx_version);
	put_label(p->f, &sep, "dpdk_version", r->dpdk_version);
	fputs("} 1\n", p->f);
	return 0;
}

static const struct hist_packed *rtt_of(const struct export_row *row)
{
	return row->rtt;
}

static const struct hist_packed *lateness_of(const struct export_row *row)
{
	return row->lateness;
}

struct results {
	const struct summary_input *in;
	const struct summary *s;
};

static int put_family(const struct results *from, struct pass *p, export_each each, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; i < from->s->host_count && rc >= 0; i++)
		rc = export_result(from->in, from->s, i, p->scope, false, each, p, e);
	return rc;
}

static bool same_family(const struct export_column *a, const struct export_column *b,
			unsigned scope)
{
	return a->metric != NULL && b->metric != NULL && (a->scopes & b->scopes & scope) &&
	       strcmp(a->metric, b->metric) == 0;
}

// From the column on, all of its family: a column that came later may stand apart from the others.
static int put_columns_of(const struct results *from, struct pass p, size_t first, struct err *e)
{
	const struct export_column *of = &export_column[first];
	bool headed = false;
	int rc = 0;

	for (size_t c = 0; c < first; c++)
		if (same_family(&export_column[c], of, p.scope))
			return 0;
	p.headed = &headed;
	for (size_t c = first; c < export_columns && rc >= 0; c++) {
		if (!same_family(&export_column[c], of, p.scope))
			continue;
		p.column = &export_column[c];
		rc = put_family(from, &p, put_value, e);
	}
	return rc;
}

static int put_columns(FILE *f, const struct results *from, size_t scope, struct err *e)
{
	int rc = 0;

	for (size_t c = 0; c < export_columns && rc >= 0; c++) {
		const struct export_column *col = &export_column[c];
		const struct pass p = {
			.f = f,
			.scope_name = scopes[scope].name,
			.scope = scopes[scope].scope,
			.type = col->type == METRIC_COUNTER ? "counter" : "gauge",
			.metric = col->metric,
			.unit = col->unit,
			.help = col->help,
		};

		rc = put_columns_of(from, p, c, e);
	}
	return rc;
}

int export_metrics(FILE *f, const struct summary_input *in, const struct summary *s, struct err *e)
{
	const struct results from = { .in = in, .s = s };
	bool headed[3] = { false };
	struct pass info = {
		.f = f,
		.scope_name = "host",
		.scope = SCOPE_HOST,
		.type = "info",
		.metric = "",
		.help = "What measured",
		.headed = &headed[0],
	};
	struct pass rtt = {
		.f = f,
		.scope_name = "flow",
		.scope = SCOPE_FLOW,
		.hist = rtt_of,
		.type = "histogram",
		.metric = "rtt_seconds",
		.unit = "seconds",
		.help = "Round trips",
		.headed = &headed[1],
	};
	struct pass lateness = {
		.f = f,
		.scope_name = "host",
		.scope = SCOPE_HOST,
		.hist = lateness_of,
		.type = "histogram",
		.metric = "lateness_seconds",
		.unit = "seconds",
		.help = "Requests against their schedule",
		.headed = &headed[2],
	};
	int rc = put_family(&from, &info, put_info, e);

	for (size_t i = 0; i < sizeof(scopes) / sizeof(scopes[0]) && rc >= 0; i++)
		rc = put_columns(f, &from, i, e);
	if (rc >= 0)
		rc = put_family(&from, &rtt, put_hist, e);
	if (rc >= 0)
		rc = put_family(&from, &lateness, put_hist, e);
	fputs("# EOF\n", f);
	return rc;
}

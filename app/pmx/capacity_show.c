#include "capacity_show.h"

#include "columns.h"
#include "json_put.h"
#include "pacing_words.h"
#include "rates.h"
#include "sizes.h"
#include "sizes_json.h"
#include "render.h"
#include "text.h"

#include "units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROW capacity_host

static struct cell fit(const void *ctx, const void *item)
{
	const struct capacity_host *h = item;

	(void)ctx;
	return cell_text(fit_name[h->fit]);
}

// clang-format off
static const struct column column[] = {
	{ NAME("host", "host"), AT(TEXT, name) },
	{ PACKETS("layer", "layer"), AT(U64, layer) },
	{ PACKETS("flows_out", "flows out"), AT(U64, flows_out) },
	{ PACKETS("flows_in", "flows in"), AT(U64, flows_in) },
	{ PPS("requests_pps", "requests/s"), AT(DOUBLE, requests_pps) },
	{ PPS("replies_owed_pps", "replies/s"), AT(DOUBLE, owed_pps) },
	{ PPS("tx_pps", "out pps"), AT(DOUBLE, tx_pps) },
	{ GBPS("tx_l1_gbps", "out b/s"), AT(DOUBLE, tx_l1_bps) },
	{ PPS("rx_pps", "in pps"), AT(DOUBLE, rx_pps) },
	{ GBPS("rx_l1_gbps", "in b/s"), AT(DOUBLE, rx_l1_bps) },
	{ PPS("rated_pps", NULL), AT(DOUBLE, rated_pps) },
	{ GBPS("rated_gbps", NULL), AT(DOUBLE, rated_bps) },
	{ PCT("load_pct", "load %", 1), AT(DOUBLE, load_pct) },
	{ NAME("limit", "by"), AT(TEXT, limit) },
	{ NAME("fit", ""), MADE(fit) },
};
// clang-format on

static struct table table_of(const struct capacity *c)
{
	return (struct table){
		.key = "hosts",
		.title = "HOSTS, what the NIC carries each way (wire, L1)",
		.column = column,
		.columns = sizeof(column) / sizeof(column[0]),
		.rows = c->host_count,
		.item = (const char *)c->host,
		.item_bytes = sizeof(*c->host),
	};
}

#define SECOND_NS 1e9

static double cycle_s(const struct plan *p)
{
	return (double)p->matrix->traffic.dwell_ns * p->layers / SECOND_NS;
}

// What a rotation measures of its cycle, and in which time.
static void put_rotation(FILE *f, const struct plan *p)
{
	const struct matrix *m = p->matrix;
	double window = (double)m->timing.duration_ns / SECOND_NS, cycle = cycle_s(p);
	char text[512] = "", each[32], whole[32], shown[32];

	if (p->layers == 1)
		return;
	text_append(text, sizeof(text),
		    "%u layers of %s each, a cycle of %s; hosts are shown in their worst layer",
		    p->layers, ns_str((double)m->traffic.dwell_ns, each, sizeof(each)),
		    ns_str(cycle * SECOND_NS, whole, sizeof(whole)));
	if (window < cycle)
		text_append(text, sizeof(text),
			    ". The window of %s has %.0f of them: a whole cycle takes --for %.9gs",
			    ns_str(window * SECOND_NS, shown, sizeof(shown)),
			    ceil(window / cycle * p->layers), cycle);
	text_wrapped(f, "ROTATION    ", text);
	fputc('\n', f);
}

static void put_title(FILE *f, const struct plan *p, const struct capacity *c, bool colour)
{
	const struct matrix *m = p->matrix;
	double pps = c->requests_pps;
	char buf[RATE_STR_MAX], request[SIZES_STR_MAX], reply[SIZES_STR_MAX];
	char pacing[PACING_STR_MAX];

	text_begin(f, TEXT_BOLD, colour);
	fprintf(f, "%s: %zu hosts, %zu flow%s, request %s, reply %s%s", m->name, m->host_count,
		p->flow_count, p->flow_count == 1 ? "" : "s",
		request_sizes_str(m, request, sizeof(request)),
		reply_sizes_str(m, reply, sizeof(reply)), pacing_str(m, pacing, sizeof(pacing)));
	text_end(f, TEXT_BOLD, colour);
	if (isnan(pps))
		fputs("\n\n", f);
	else
		fprintf(f, "\n%s of requests in all%s, as many replies\n\n",
			rate_unit_str(pps, "pps", buf, sizeof(buf)),
			p->layers > 1 ? " in the fullest layer" : "");
	put_rotation(f, p);
}

// How to make the worst host fit.
static void fix_write(const struct plan *p, const struct capacity *c, char *buf, size_t size)
{
	const struct matrix *m = p->matrix;
	const struct capacity_host *h = &c->host[c->worst];
	const char *less = strchr(h->limit, 'G') != NULL ? ", smaller requests or replies" : "";
	bool one_rate = m->traffic.pattern != PATTERN_CELLS && m->traffic.cell_count == 0 &&
			m->traffic.line_pct == 0 && m->traffic.rate.bps == 0;
	char rate[RATE_STR_MAX], now[RATE_STR_MAX];

	buf[0] = '\0';
	if (one_rate)
		text_append(buf, size, "rate: %s fits everywhere (now %s); else fewer flows%s",
			    rate_str(m->traffic.rate.pps * c->scale, rate, sizeof(rate)),
			    rate_str(m->traffic.rate.pps, now, sizeof(now)), less);
	else
		text_append(buf, size,
			    "multiply every rate by %s, or take load off the hosts marked OVER: "
			    "lower rates in their rows and columns, fewer flows%s",
			    rate_str(c->scale, rate, sizeof(rate)), less);
	text_append(buf, size, ", or a faster NIC (%s is what limits %s)", h->limit, h->name);
}

static void verdict_write(const struct capacity *c, char *buf, size_t size)
{
	struct table t = table_of(c);
	const struct column *pct = &column[table_find(&t, "load_pct")];
	char load[CELL_TEXT_MAX] = "";

	if (c->worst != SIZE_MAX) {
		struct cell cell = cell_real(c->host[c->worst].load_pct);

		cell_unit_str(pct, &cell, load, sizeof(load));
	}
	buf[0] = '\0';
	if (c->over > 0)
		text_append(buf, size, "over capacity on %zu of %zu hosts; the worst is %s with %s",
			    c->over, c->host_count, c->host[c->worst].name, load);
	else if (c->worst != SIZE_MAX)
		text_append(buf, size,
			    "every NIC with a rating carries it; the most loaded is %s with %s",
			    c->host[c->worst].name, load);
	else
		text_append(buf, size, "nothing to compare");
	if (c->unpaced > 0)
		text_append(buf, size,
			    "; %zu of %zu hosts have unpaced flows, which take what they get",
			    c->unpaced, c->host_count);
	if (c->unrated > 0)
		text_append(
			buf, size,
			"; %zu of %zu hosts have no rating in their profile: give --nic-gbps or "
			"--nic-mpps",
			c->unrated, c->host_count);
}

void capacity_text(FILE *f, const struct plan *p, const struct capacity *c, bool colour)
{
	struct table t = table_of(c);
	enum text_style style = c->over > 0 ? TEXT_BAD : TEXT_GOOD;
	char text[1024];

	put_title(f, p, c, colour);
	render_table_text(f, &t, colour);
	fputc('\n', f);
	verdict_write(c, text, sizeof(text));
	text_begin(f, style, colour);
	text_wrapped(f, "VERDICT     ", text);
	text_end(f, style, colour);
	if (c->over == 0)
		return;
	fix_write(p, c, text, sizeof(text));
	text_wrapped(f, "FIX         ", text);
}

void capacity_json(FILE *f, const struct plan *p, const struct capacity *c)
{
	struct json_put j = { .f = f };
	struct table t = table_of(c);
	struct cell cell[COLUMNS_MAX];
	char text[1024];

	json_put_begin(&j, '{');
	json_put_count(&j, "pmx_check", PMX_CHECK_VERSION);
	json_put_text(&j, "name", p->matrix->name);
	json_put_text(&j, "matrix", p->matrix->file);
	json_put_text(&j, "matrix_sha256", p->matrix->sha256);
	sizes_json(&j, p->matrix);
	pacing_json(&j, p->matrix);
	json_put_count(&j, "flows", p->flow_count);
	json_put_real(&j, "requests_pps", c->requests_pps);
	json_put_count(&j, "layers", p->layers);
	json_put_real(&j, "cycle_s", p->layers > 1 ? cycle_s(p) : NAN);
	json_put_key(&j, t.key);
	json_put_begin(&j, '[');
	for (size_t r = 0; r < t.rows; r++) {
		table_row(&t, r, cell);
		json_put_row(&j, &t, cell);
	}
	json_put_end(&j, ']');
	json_put_count(&j, "hosts_over", c->over);
	json_put_count(&j, "hosts_unpaced", c->unpaced);
	json_put_count(&j, "hosts_unrated", c->unrated);
	json_put_real(&j, "rates_fit_times", c->scale);
	verdict_write(c, text, sizeof(text));
	json_put_text(&j, "verdict", text);
	if (c->over > 0)
		fix_write(p, c, text, sizeof(text));
	json_put_text(&j, "fix", c->over > 0 ? text : "");
	json_put_end(&j, '}');
	fputc('\n', f);
}

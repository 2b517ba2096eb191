#include "render.h"

#include "advice.h"
#include "on_wire.h"
#include "pacing_words.h"
#include "sizes.h"
#include "tables.h"
#include "text.h"
#include "units.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HOST_ROWS 40 // a fleet up to so big is shown whole
#define SIZE_ROWS 24 // so many sizes are, too

// A line of the headline. "{key}" stands for that cell of the totals, with its unit. `when`: shown
// only if this cell is known and not 0; NULL = always.
struct line {
	const char *label, *text, *when;
};

static const struct line rate_line[] = {
	{ "REQUESTS", "{sent_pps} sent, {request_l1_gbps} wire, {request_payload_gbps} payload",
	  NULL },
	{ "DELIVERED", "{delivered_pps} as the receivers counted, {delivered_pct} of sent", NULL },
	{ "REPLIES", "{replied_pps}, {reply_l1_gbps} wire, {reply_payload_gbps} payload", NULL },
	{ "RETURNED", "{returned_pps}, {returned_pct} of sent", NULL },
	{ "TARGET", "{target_pps}, {achieved_pct} achieved", "target" },
	{ "TOTAL", "{both_pps} both directions, {both_l1_gbps} wire, {both_payload_gbps} payload",
	  NULL },
};

static const struct line loss_line[] = {
	{ "LOSS",
	  "round trip {lost} ({loss_pct}), forward {lost_forward} ({loss_forward_pct}), "
	  "back {lost_back} ({loss_back_pct})",
	  NULL },
	{ "BY CAUSE",
	  "receiver NIC missed {lost_imissed}, no mbuf {lost_rx_nombuf}, fabric {lost_fabric}",
	  "lost" },
	{ "", "late {lost_late}: in after the drain, or far behind in their stream", "lost_late" },
	{ "", "not told apart {lost_unattributed}: these drivers do not count what they miss",
	  "lost_unattributed" },
	{ "UNSENT", "{unsent} requests were due and not offered: the tool's limit, no loss",
	  "unsent" },
	{ "", "{reply_unsent} replies could not be sent: the tool's limit, no loss",
	  "reply_unsent" },
};

// Of the last intervals of the reports, which know less.
static const struct line window_rate_line[] = {
	{ "REQUESTS", "{sent_pps} sent, {request_l1_gbps} wire, {request_payload_gbps} payload",
	  NULL },
	{ "DELIVERED", "{delivered_pps} as the receivers counted", NULL },
	{ "RETURNED", "{returned_pps}, {returned_pct} of sent", NULL },
	{ "TARGET", "{target_pps}, {achieved_pct} achieved", "target" },
};

static const struct line window_line[] = {
	{ "LOSS", "round trip {lost} ({loss_pct}), with what was in flight at the edges", NULL },
	{ "RTT", "avg {rtt_avg_us}, max {rtt_max_us}", "rtt_max_us" },
};

static const struct line identity_even = {
	"IDENTITY",
	"sent {identity_sent} = delivered {identity_delivered} = replied {identity_replied} "
	"= returned {identity_returned}",
	NULL
};

static const struct line identity_line[] = {
	{ "IDENTITY", "sent {identity_sent} = delivered {identity_delivered} + lost {lost_forward}",
	  NULL },
	{ "",
	  "delivered {identity_delivered} = replied {identity_replied} "
	  "+ unsent {identity_reply_unsent}",
	  NULL },
	{ "", "replied {identity_replied} = returned {identity_returned} + lost {lost_back}",
	  NULL },
};

static const struct line time_line[] = {
	{ "RTT",
	  "avg {rtt_avg_us}, p50 {rtt_p50_us}, p99 {rtt_p99_us}, p99.9 {rtt_p999_us}, max "
	  "{rtt_max_us}",
	  "rtt_max_us" },
	{ "", "worst flow {rtt_worst_src} -> {rtt_worst_dst}: p99 {rtt_worst_p99_us}",
	  "rtt_worst_p99_us" },
	{ "SCHEDULE", "requests left late by p99 {lateness_p99_us}, at most {lateness_max_us}",
	  "lateness_max_us" },
	{ "START", "hosts started within {start_skew_us} of each other (+- {start_skew_error_us})",
	  "start_skew_us" },
	{ "DUPLICATE", "{dup_forward} requests", "dup_forward" },
	{ "DUPLICATE", "{dup_back} replies", "dup_back" },
	{ "REORDERED", "{reordered_forward} requests", "reordered_forward" },
	{ "REORDERED", "{reordered_back} replies", "reordered_back" },
	{ "LATE", "{late_forward} requests came after the drain or in an older trial: lost",
	  "late_forward" },
	{ "LATE", "{late_back} replies came after the drain or in an older trial: lost",
	  "late_back" },
	{ "STEERING",
	  "{hosts_steered} of {hosts_of_queues} hosts with several queues bring replies to the "
	  "queue that asked",
	  "hosts_of_queues" },
	{ "",
	  "{on_queue_pct} of their replies did so; requests at most {uneven_pct} off an even "
	  "spread",
	  "hosts_steered" },
	{ "OFF QUEUE", "{off_queue} replies came back on another queue than asked", "off_queue" },
	{ "FOREIGN", "{foreign} frames that were none of the run's (not counted above)",
	  "foreign" },
};

struct page {
	FILE *f;
	bool colour;
	const struct summary *s;
	struct table totals;
	struct cell cell[COLUMNS_MAX];
};

static bool is_nothing(const struct cell *c)
{
	switch (c->kind) {
	case CELL_NONE:
		return true;
	case CELL_COUNT:
		return c->count == 0;
	case CELL_INT:
		return c->integer == 0;
	case CELL_REAL:
		return c->real == 0;
	default:
		return false;
	}
}

static const struct cell *total(const struct page *p, const char *key)
{
	return &p->cell[table_find(&p->totals, key)];
}

// Copies the text, each {key} replaced by its cell.
static void put_template(const struct page *p, const char *text)
{
	char key[64], buf[CELL_TEXT_MAX];

	while (*text != '\0') {
		const char *end = *text == '{' ? strchr(text, '}') : NULL;

		if (end == NULL) {
			fputc(*text++, p->f);
			continue;
		}
		snprintf(key, sizeof(key), "%.*s", (int)(end - text - 1), text + 1);
		size_t c = table_find(&p->totals, key);
		fputs(cell_unit_str(&p->totals.column[c], &p->cell[c], buf, sizeof(buf)), p->f);
		text = end + 1;
	}
}

static void put_line(const struct page *p, const struct line *l)
{
	text_label(p->f, l->label, p->colour);
	put_template(p, l->text);
}

static void put_lines(const struct page *p, const struct line *l, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (l[i].when != NULL && is_nothing(total(p, l[i].when)))
			continue;
		put_line(p, &l[i]);
		fputc('\n', p->f);
	}
}

#define PUT_LINES(p, lines) put_lines(p, lines, sizeof(lines) / sizeof((lines)[0]))

// `mix`: as the matrix says it; "" = there is none.
static void put_sizes(FILE *f, const char *what, uint32_t least, uint32_t most,
		      const struct sender *by, const char *mix)
{
	uint32_t frames = datagram_frames(by, most);

	if (mix[0] != '\0')
		fprintf(f, ", %s %s", what, mix);
	else if (least == most && frames > 1)
		fprintf(f, ", %s %u B (%u frames)", what, most, frames);
	else if (least == most)
		fprintf(f, ", %s %u B (frame %u)", what, most,
			datagram_l1_bytes(by, by->tags, most) - WIRE_OVERHEAD_BYTES);
	else
		fprintf(f, ", %s %u to %u B", what, least, most);
}

static void put_title(const struct page *p)
{
	const struct summary *s = p->s;
	uint32_t req[2] = { UINT32_MAX, 0 }, rep[2] = { UINT32_MAX, 0 };
	struct sender by = matrix_sender(s->matrix);
	char mix[SIZES_STR_MAX];
	char pacing[PACING_STR_MAX];
	const char *slash = strrchr(s->matrix->file, '/');
	const char *name = s->matrix->name[0] != '\0' ? s->matrix->name
			   : slash != NULL	      ? slash + 1
						      : s->matrix->file;

	for (size_t i = 0; i < s->flow_count; i++) {
		const struct sum_flow *f = &s->flow[i];
		req[0] = f->req_bytes < req[0] ? f->req_bytes : req[0];
		req[1] = f->req_bytes > req[1] ? f->req_bytes : req[1];
		rep[0] = f->rep_bytes < rep[0] ? f->rep_bytes : rep[0];
		rep[1] = f->rep_bytes > rep[1] ? f->rep_bytes : rep[1];
	}
	text_begin(p->f, TEXT_BOLD, p->colour);
	fprintf(p->f, "%s: ", name[0] != '\0' ? name : "matrix");
	if (isnan(s->window_s))
		fputs("window unknown", p->f);
	else
		fprintf(p->f, "%.2f s", s->window_s);
	if (s->measured_hosts < s->host_count)
		fprintf(p->f, ", %zu of %zu hosts", s->measured_hosts, s->host_count);
	else
		fprintf(p->f, ", %zu hosts", s->host_count);
	if (s->complete_flows < s->flow_count)
		fprintf(p->f, ", %zu of %zu flows", s->complete_flows, s->flow_count);
	else
		fprintf(p->f, ", %zu flow%s", s->flow_count, s->flow_count == 1 ? "" : "s");
	put_sizes(p->f, "request", req[0], req[1], &by,
		  s->matrix->traffic.req_mix.cycle == NULL
			  ? ""
			  : request_sizes_str(s->matrix, mix, sizeof(mix)));
	put_sizes(p->f, "reply", rep[0], rep[1], &by,
		  s->matrix->traffic.rep_mix.cycle == NULL
			  ? ""
			  : reply_sizes_str(s->matrix, mix, sizeof(mix)));
	fputs(pacing_str(s->matrix, pacing, sizeof(pacing)), p->f);
	text_end(p->f, TEXT_BOLD, p->colour);
	fputs("\n\n", p->f);
}

static void put_identity(const struct page *p)
{
	const struct summary *s = p->s;
	const struct sum_flow *c = &s->complete;

	if (s->complete_flows == 0)
		return;
	if (c->sent == c->delivered && c->delivered == c->replied && c->replied == c->returned) {
		put_line(p, &identity_even);
	} else {
		put_line(p, &identity_line[0]);
		for (size_t i = 1; i < sizeof(identity_line) / sizeof(identity_line[0]); i++) {
			fputc('\n', p->f);
			put_line(p, &identity_line[i]);
		}
	}
	fprintf(p->f, ": %s\n",
		s->running    ? "open, packets are in flight"
		: s->identity ? "closes"
			      : "DOES NOT CLOSE");
	if (s->complete_flows < s->flow_count) {
		text_label(p->f, "", p->colour);
		fprintf(p->f, "(of the %zu of %zu flows that both ends tell about)\n",
			s->complete_flows, s->flow_count);
	}
}

static void put_accounts(const struct page *p)
{
	PUT_LINES(p, loss_line);
	put_identity(p);
	PUT_LINES(p, time_line);
}

static void put_window(const struct page *p)
{
	PUT_LINES(p, window_line);
	text_wrapped(
		p->f, "WINDOW      ",
		"the last intervals of the reports, warm-up included. They do not tell: loss by "
		"direction and cause, percentiles of the round trip, unsent, duplicate, "
		"reordered and late packets, the accounting identity. Without --window the "
		"summary has them");
}

static int put_hosts(const struct page *p, const struct report_opts *o, struct err *e)
{
	const struct summary *s = p->s;
	size_t top = o->top > HOST_ROWS ? o->top : HOST_ROWS;
	uint32_t *order = malloc((s->host_count ? s->host_count : 1) * sizeof(*order));

	if (order == NULL)
		return err_set(e, ENOMEM, "no memory for %zu hosts", s->host_count);
	order_hosts(s, order);
	struct table t = table_hosts(s, order);
	if (!o->verbose && t.rows > top)
		t.rows = top;
	fputc('\n', p->f);
	render_table_text(p->f, &t, p->colour);
	if (t.rows < s->host_count)
		fprintf(p->f, "  ... and %zu more (--verbose, --report DIR)\n",
			s->host_count - t.rows);
	for (size_t i = 0; i < t.rows; i++) {
		const struct sum_host *h = &s->host[order[i]];
		if (h->failure[0] != '\0' || !h->measured)
			fprintf(p->f, "  %s: %s\n", s->matrix->host[h->host].name,
				h->failure[0] != '\0' ? h->failure : "no result");
	}
	free(order);
	return 0;
}

static int put_queues(const struct page *p, const struct report_opts *o, struct err *e)
{
	struct queue_list list;
	int ret = queue_list_shown(p->s, o->verbose, &list, e);

	if (ret < 0)
		return ret;
	if (list.rows > 0) {
		struct table t = table_queues(&list);
		if (!o->verbose)
			t.title = "QUEUES of the hosts whose queues are uneven, packets";
		fputc('\n', p->f);
		render_table_text(p->f, &t, p->colour);
	}
	queue_list_free(&list);
	return 0;
}

static int put_flows(const struct page *p, const struct report_opts *o, struct err *e)
{
	const struct summary *s = p->s;
	size_t top = o->top > 0 ? o->top : DEFAULT_TOP;
	uint32_t *order = malloc(top * sizeof(*order));
	size_t bad;

	if (order == NULL)
		return err_set(e, ENOMEM, "no memory for %zu rows", top);
	bad = order_worst_flows(s, WORST_FLOW_PCT, order, top);
	fputc('\n', p->f);
	if (o->verbose) {
		struct table t = table_flows(s, NULL, s->flow_count);
		render_table_text(p->f, &t, p->colour);
	} else if (bad > 0) {
		struct table t = table_flows(s, order, bad < top ? bad : top);
		t.title = "WORST FLOWS, under 99.5 % returned";
		render_table_text(p->f, &t, p->colour);
		if (bad > top)
			fprintf(p->f, "  ... and %zu more (--top N, --report DIR)\n", bad - top);
	}
	if (bad == 0 && s->measured_flows > 0) {
		if (o->verbose)
			fputc('\n', p->f);
		text_label(p->f, "FLOWS", p->colour);
		if (s->measured_flows < s->flow_count)
			fprintf(p->f, "%zu of %zu measured; ", s->measured_flows, s->flow_count);
		fprintf(p->f, "all clear: none returned less than %.1f %%\n", WORST_FLOW_PCT);
	}
	free(order);
	return 0;
}

static int put_by_size(const struct page *p, const struct report_opts *o, struct err *e)
{
	const struct summary *s = p->s;
	uint32_t *order = malloc(s->size_count * sizeof(*order));
	struct table t = table_sizes(s, NULL);
	size_t top = o->top > 0 ? o->top : DEFAULT_TOP;

	if (order == NULL)
		return err_set(e, ENOMEM, "no memory for %zu rows", s->size_count);
	if (!o->verbose && s->size_count > SIZE_ROWS) {
		order_sizes(s, order);
		t = table_sizes(s, order);
		t.rows = top < t.rows ? top : t.rows;
	}
	fputc('\n', p->f);
	render_table_text(p->f, &t, p->colour);
	if (t.rows < s->size_count)
		fprintf(p->f, "  ... and %zu more (--top N, --verbose, --report DIR)\n",
			s->size_count - t.rows);
	free(order);
	return 0;
}

static void put_advice(const struct page *p)
{
	struct advice advice[ADVICE_MAX];
	size_t n = advice_build(p->s, advice);
	struct table t = table_advice(advice, n);
	struct cell cell[COLUMNS_MAX];

	fputc('\n', p->f);
	text_begin(p->f, TEXT_BOLD, p->colour);
	fputs("WHAT TO DO NEXT", p->f);
	text_end(p->f, TEXT_BOLD, p->colour);
	fputc('\n', p->f);
	for (size_t i = 0; i < n; i++) {
		char lead[32];

		table_row(&t, i, cell);
		snprintf(lead, sizeof(lead), "  %zu. ", i + 1);
		text_wrapped(p->f, lead, cell[table_find(&t, "evidence")].text);
		text_wrapped(p->f, "     -> ", cell[table_find(&t, "fix")].text);
	}
}

static void put_verdict(const struct page *p)
{
	char text[ADVICE_TEXT_MAX];
	enum verdict verdict = summary_verdict(p->s, text, sizeof(text));
	enum text_style style = verdict == VERDICT_GOOD ? TEXT_GOOD : TEXT_BAD;

	fputc('\n', p->f);
	text_begin(p->f, style, p->colour);
	text_wrapped(p->f, "VERDICT     ", text);
	text_end(p->f, style, p->colour);
}

int render_text(FILE *f, const struct summary *s, const struct report_opts *o, struct err *e)
{
	int ret;
	struct page p = { .f = f, .colour = o->colour, .s = s, .totals = table_totals(s) };

	table_row(&p.totals, 0, p.cell);
	put_title(&p);
	if (s->windowed)
		PUT_LINES(&p, window_rate_line);
	else
		PUT_LINES(&p, rate_line);
	if (s->measured_flows > 0 && s->total.target == COUNTER_UNKNOWN) {
		text_label(f, "TARGET", p.colour);
		fputs("none, unpaced\n", f);
	}
	fputc('\n', f);
	if (s->windowed)
		put_window(&p);
	else
		put_accounts(&p);
	ret = put_hosts(&p, o, e);
	if (ret == 0)
		ret = put_queues(&p, o, e);
	if (ret == 0)
		ret = put_flows(&p, o, e);
	if (ret == 0)
		ret = render_layers_text(f, s, o, e);
	if (ret == 0 && s->size_count > 0)
		ret = put_by_size(&p, o, e);
	if (ret < 0)
		return ret;
	put_advice(&p);
	put_verdict(&p);
	return 0;
}

#include "sum_window.h"

#include "sum_host.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS_MAX 64
#define SAME_S 0.0005	// instants have three decimals
#define NUMBER_MAX 1e15 // sums of it stay exact

enum field {
	TS,
	DIR,
	PEER,
	SIZE,
	REP_SIZE,
	TARGET_PPS,
	PPS,
	REP_PPS,
	RTT_AVG,
	RTT_MAX,
	CPU,
	CPU_MAX,
	AGENT_CPU,
	LAYER,
	QUEUE,
	BUSY,
	// not in reports of older agents
	INTERVAL,
	PACKETS,
	REP_PACKETS,
	FIELDS
};
#define FIELDS_NEEDED INTERVAL

static const char *const field_name[FIELDS] = {
	[TS] = "ts",
	[DIR] = "dir",
	[PEER] = "peer",
	[SIZE] = "size",
	[REP_SIZE] = "rep_size",
	[TARGET_PPS] = "target_pps",
	[PPS] = "pps",
	[REP_PPS] = "rep_pps",
	[RTT_AVG] = "rtt_avg_us",
	[RTT_MAX] = "rtt_max_us",
	[CPU] = "cpu_pct",
	[CPU_MAX] = "cpu_max_pct",
	[AGENT_CPU] = "agent_cpu_pct",
	[LAYER] = "layer",
	[QUEUE] = "queue",
	[BUSY] = "busy_pct",
	[INTERVAL] = "interval_s",
	[PACKETS] = "packets",
	[REP_PACKETS] = "rep_packets",
};

// A mean over time, of what may be missing.
struct mean {
	double sum, weight;
};

struct reading {
	const struct names *names;
	struct sum_part *part;
	double window_s, interval_s;
	int at[FIELDS]; // column of each, -1 = none
	int columns;
	const char *value[FIELDS]; // of the row; "" = blank or none
	size_t line;
	double from, ts, length_s; // instant before the window; of the row; of its interval
	double covered_s;	   // by the intervals so far
	uint32_t *tx_of, *rx_of;   // [hosts], owned: index + 1 in the part, 0 = none
	struct mean *tx_rtt;	   // [hosts], owned
	struct mean cpu, agent_cpu, *busy;
	size_t queues;
};

static double number(const struct reading *r, enum field f)
{
	char *end;
	double v = strtod(r->value[f], &end);

	return r->value[f][0] == '\0' || *end != '\0' || !(v >= 0 && v < NUMBER_MAX) ? NAN : v;
}

// Payload bytes; 0 = unknown.
static uint32_t bytes(const struct reading *r, enum field f)
{
	double v = number(r, f);

	return v <= PAYLOAD_MAX_BYTES ? (uint32_t)v : 0;
}

static void mean_add(struct mean *m, double v, double weight)
{
	if (isnan(v) || !(weight > 0))
		return;
	m->sum += v * weight;
	m->weight += weight;
}

static double mean_of(const struct mean *m)
{
	return m->weight > 0 ? m->sum / m->weight : NAN;
}

// Splits a line in place; returns how many fields there are, at most FIELDS_MAX.
static int split(char *line, char *field[FIELDS_MAX])
{
	int n = 0;

	for (char *p = line; p != NULL && n < FIELDS_MAX; n++) {
		field[n] = p;
		p = strchr(p, ',');
		if (p != NULL)
			*p++ = '\0';
	}
	return n;
}

static int read_header(struct reading *r, char *line, struct err *e)
{
	char *name[FIELDS_MAX];

	r->columns = split(line, name);
	for (int f = 0; f < FIELDS; f++) {
		r->at[f] = -1;
		for (int c = 0; c < r->columns; c++)
			if (strcmp(name[c], field_name[f]) == 0)
				r->at[f] = c;
		if (r->at[f] < 0 && f < FIELDS_NEEDED)
			return err_set(e, EINVAL, "1: no column '%s': not a report of pmx-agent",
				       field_name[f]);
	}
	return 0;
}

// Packets of the row: counted, or in older reports the rate times its time.
static uint64_t packets(const struct reading *r, enum field count, enum field pps)
{
	double n = number(r, count);

	if (isnan(n))
		n = number(r, pps) * r->length_s;
	return n < NUMBER_MAX ? (uint64_t)llround(n) : 0;
}

static int find_peer(const struct reading *r, uint32_t *peer, struct err *e)
{
	*peer = names_find(r->names, r->value[PEER]);
	if (*peer != NAME_NONE)
		return 0;
	return err_set(e, EINVAL,
		       "%zu: peer '%s' is not a host of %s: summarize with the matrix that the run "
		       "had",
		       r->line, r->value[PEER], r->names->matrix->file);
}

// A pair that is in two layers counts in the first that is read.
static uint32_t layer_of(const struct reading *r)
{
	double layer = number(r, LAYER);

	return layer < ROTATION_LAYERS_MAX ? (uint32_t)layer : 0;
}

static int take_tx(struct reading *r, struct err *e)
{
	struct sum_part *p = r->part;
	uint32_t peer;
	int ret = find_peer(r, &peer, e);

	if (ret < 0)
		return ret;
	if (r->tx_of[peer] == 0) {
		p->tx[p->tx_count] = (struct part_tx){
			.peer = peer,
			.layer = layer_of(r),
			.req_bytes = bytes(r, SIZE),
			.rep_bytes = bytes(r, REP_SIZE),
			.rate_pps =
				isnan(number(r, TARGET_PPS)) ? RATE_UNPACED : number(r, TARGET_PPS),
			.unsent = COUNTER_UNKNOWN,
			.dup = COUNTER_UNKNOWN,
			.reordered = COUNTER_UNKNOWN,
			.late = COUNTER_UNKNOWN,
			.off_queue = COUNTER_UNKNOWN,
			.rtt_avg_ns = NAN,
			.rtt_p50_ns = NAN,
			.rtt_p99_ns = NAN,
			.rtt_p999_ns = NAN,
			.rtt_max_ns = NAN,
		};
		r->tx_of[peer] = (uint32_t)++p->tx_count;
	}
	struct part_tx *f = &p->tx[r->tx_of[peer] - 1];
	uint64_t back = packets(r, REP_PACKETS, REP_PPS);
	double due = number(r, TARGET_PPS) * r->length_s;
	if (f->rate_pps != RATE_UNPACED && !isnan(due))
		f->due += due;
	double max_ns = number(r, RTT_MAX) * 1e3;
	f->sent += packets(r, PACKETS, PPS);
	f->returned += back;
	mean_add(&r->tx_rtt[peer], number(r, RTT_AVG) * 1e3, (double)back);
	f->rtt_avg_ns = mean_of(&r->tx_rtt[peer]);
	if (max_ns > f->rtt_max_ns || isnan(f->rtt_max_ns))
		f->rtt_max_ns = max_ns;
	return 0;
}

static int take_rx(struct reading *r, struct err *e)
{
	struct sum_part *p = r->part;
	uint32_t peer;
	int ret = find_peer(r, &peer, e);

	if (ret < 0)
		return ret;
	if (r->rx_of[peer] == 0) {
		p->rx[p->rx_count] = (struct part_rx){
			.peer = peer,
			.layer = layer_of(r),
			.req_bytes = bytes(r, SIZE),
			.rep_bytes = bytes(r, REP_SIZE),
			.replied = COUNTER_UNKNOWN,
			.reply_unsent = COUNTER_UNKNOWN,
			.dup = COUNTER_UNKNOWN,
			.reordered = COUNTER_UNKNOWN,
			.late = COUNTER_UNKNOWN,
		};
		r->rx_of[peer] = (uint32_t)++p->rx_count;
	}
	p->rx[r->rx_of[peer] - 1].delivered += packets(r, PACKETS, PPS);
	return 0;
}

static int take_queue(struct reading *r, struct err *e)
{
	struct sum_host *h = &r->part->host;
	double index = number(r, QUEUE);

	if (!(index < LCORES_MAX))
		return err_set(e, EINVAL, "%zu: queue '%s': expected 0 to %d", r->line,
			       r->value[QUEUE], LCORES_MAX - 1);
	size_t q = (size_t)index;
	for (; h->queue_count <= q; h->queue_count++)
		h->queue[h->queue_count] = (struct sum_queue){
			.index = (uint32_t)h->queue_count,
			.lcore = COUNTER_UNKNOWN,
			.requests_received = COUNTER_UNKNOWN,
			.replies_sent = COUNTER_UNKNOWN,
			.off_queue = COUNTER_UNKNOWN,
			.tx_full = COUNTER_UNKNOWN,
			.busy_pct = NAN,
		};
	h->queue[q].requests_sent += packets(r, PACKETS, PPS);
	h->queue[q].replies_received += packets(r, REP_PACKETS, REP_PPS);
	mean_add(&r->busy[q], number(r, BUSY), r->length_s);
	h->queue[q].busy_pct = mean_of(&r->busy[q]);
	return 0;
}

static int take_host(struct reading *r, struct err *e)
{
	struct sum_host *h = &r->part->host;
	double max = number(r, CPU_MAX);

	(void)e;
	r->covered_s += r->length_s;
	mean_add(&r->cpu, number(r, CPU), r->length_s);
	mean_add(&r->agent_cpu, number(r, AGENT_CPU), r->length_s);
	h->cpu_pct = mean_of(&r->cpu);
	h->agent_cpu_pct = mean_of(&r->agent_cpu);
	if (max > h->cpu_max_pct || isnan(h->cpu_max_pct))
		h->cpu_max_pct = max;
	return 0;
}

static const struct {
	const char *dir;
	int (*take)(struct reading *r, struct err *e);
} taker[] = {
	{ "tx", take_tx },
	{ "rx", take_rx },
	{ "queue", take_queue },
	{ "host", take_host },
};

// `line` is split in place.
static int take_row(struct reading *r, char *line, struct err *e)
{
	char *field[FIELDS_MAX];
	int n = split(line, field);
	double ts;

	if (n != r->columns)
		return err_set(e, EINVAL, "%zu: %d fields, where the header has %d", r->line, n,
			       r->columns);
	for (int f = 0; f < FIELDS; f++)
		r->value[f] = r->at[f] >= 0 ? field[r->at[f]] : "";
	ts = number(r, TS);
	if (isnan(ts))
		return err_set(e, EINVAL, "%zu: ts '%s': expected seconds", r->line, r->value[TS]);
	if (ts > r->ts + SAME_S) { // the next interval
		r->length_s = r->ts > 0 ? ts - r->ts : r->interval_s;
		r->ts = ts;
	}
	if (!isnan(number(r, INTERVAL)))
		r->length_s = number(r, INTERVAL);
	if (ts <= r->from + SAME_S)
		return 0;
	for (size_t i = 0; i < sizeof(taker) / sizeof(taker[0]); i++)
		if (strcmp(r->value[DIR], taker[i].dir) == 0)
			return taker[i].take(r, e);
	return err_set(e, EINVAL, "%zu: dir '%s': expected tx, rx, queue or host", r->line,
		       r->value[DIR]);
}

// Instant of the last whole row, NAN when there is none.
static double last_ts(const char *text)
{
	const char *end = strrchr(text, '\n'), *begin = end;
	char *stop;

	if (end == NULL || end == text)
		return NAN;
	while (begin > text && begin[-1] != '\n')
		begin--;
	double ts = strtod(begin, &stop);
	return begin > text && stop != begin && *stop == ',' ? ts : NAN;
}

static int take_text(struct reading *r, char *text, struct err *e)
{
	double last = last_ts(text);
	char *line = text, *end = strchr(text, '\n'), *header;
	int ret;

	if (end == NULL || isnan(last))
		return err_set(e, ENODATA, "no interval is over yet");
	r->from = last - r->window_s;
	*end = '\0';
	header = strdup(line);
	if (header == NULL)
		return err_set(e, ENOMEM, "no memory for a header");
	ret = read_header(r, line, e);
	for (r->line = 2; ret == 0; r->line++) {
		line = end + 1;
		end = strchr(line, '\n');
		if (end == NULL)
			break;
		*end = '\0';
		// a short report is given with its header twice
		if (strcmp(line, header) != 0)
			ret = take_row(r, line, e);
	}
	free(header);
	return ret;
}

static int reading_alloc(struct reading *r, struct err *e)
{
	size_t hosts = r->names->matrix->host_count;
	struct sum_part *p = r->part;

	r->tx_of = calloc(hosts, sizeof(*r->tx_of));
	r->rx_of = calloc(hosts, sizeof(*r->rx_of));
	r->tx_rtt = calloc(hosts, sizeof(*r->tx_rtt));
	r->busy = calloc(LCORES_MAX, sizeof(*r->busy));
	p->tx = calloc(hosts, sizeof(*p->tx));
	p->rx = calloc(hosts, sizeof(*p->rx));
	p->host.queue = calloc(LCORES_MAX, sizeof(*p->host.queue));
	if (r->tx_of != NULL && r->rx_of != NULL && r->tx_rtt != NULL && r->busy != NULL &&
	    p->tx != NULL && p->rx != NULL && p->host.queue != NULL)
		return 0;
	return err_set(e, ENOMEM, "no memory for the flows of %zu hosts", hosts);
}

static void reading_free(struct reading *r)
{
	free(r->tx_of);
	free(r->rx_of);
	free(r->tx_rtt);
	free(r->busy);
}

static void finish(struct reading *r)
{
	struct sum_host *h = &r->part->host;

	h->measured = true;
	h->window_s = r->covered_s > 0 ? r->covered_s : NAN;
	for (size_t i = 0; i < r->part->tx_count; i++) {
		struct part_tx *f = &r->part->tx[i];

		// rates are over the window, also where a layer was on for a part of it
		f->on_s = h->window_s;
		if (f->rate_pps != RATE_UNPACED && h->window_s > 0)
			f->rate_pps = f->due / h->window_s;
	}
	for (size_t i = 0; i < r->part->rx_count; i++)
		r->part->rx[i].on_s = h->window_s;
	for (size_t q = 0; q < h->queue_count; q++) {
		if (!(h->queue[q].busy_pct > h->busy_pct) && !isnan(h->busy_pct))
			continue;
		h->busy_pct = h->queue[q].busy_pct;
		h->busiest_queue = (uint32_t)q;
	}
}

int sum_window_make(const struct names *names, uint32_t host, const char *text, size_t len,
		    uint64_t window_ns, uint64_t interval_ns, struct sum_part **out, struct err *e)
{
	struct reading r = {
		.names = names,
		.window_s = (double)window_ns / 1e9,
		.interval_s = (double)interval_ns / 1e9,
		.part = calloc(1, sizeof(*r.part)),
	};
	char *copy = strndup(text, len);
	int ret = r.part == NULL || copy == NULL ? err_set(e, ENOMEM, "no memory for a report") : 0;

	*out = NULL;
	if (ret == 0) {
		r.part->host = host_unknown(host);
		r.part->windowed = true;
		ret = reading_alloc(&r, e);
	}
	if (ret == 0)
		ret = take_text(&r, copy, e);
	if (ret == 0) {
		finish(&r);
		*out = r.part;
	} else {
		sum_part_free(r.part);
	}
	reading_free(&r);
	free(copy);
	return ret;
}

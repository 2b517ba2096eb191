#include "export.h"

#include "export_sizes.h"
#include "on_wire.h"
#include "sum_host.h"
#include "sum_part.h"

#include "units.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NONE COUNTER_UNKNOWN
#define NONE4 NONE, NONE, NONE, NONE
#define NS_PER_US 1e3
#define BPS_PER_MBPS 1e6

// clang-format off
const struct export_row export_blank = {
	.ts = NAN, .size = NAN, .rep_size = NAN, .target_pps = NAN, .pps = NAN, .mbps = NAN,
	.rep_pps = NAN, .rep_mbps = NAN, .loss_pct = NAN, .rtt_avg_us = NAN, .rtt_p50_us = NAN,
	.rtt_p99_us = NAN, .rtt_max_us = NAN, .cpu_pct = NAN, .cpu_max_pct = NAN,
	.agent_cpu_pct = NAN, .workers = NAN, .layer = NAN, .queue = NAN, .busy_pct = NAN,
	.interval_s = NAN, .packets = NAN, .rep_packets = NAN,
	.trial = NONE, .measured = NONE, .streams = NONE, .lcore = NONE, .window_s = NAN,
	.sent = NONE, .unsent = NONE, .delivered = NONE, .replied = NONE, .reply_unsent = NONE,
	.returned = NONE, .dup_forward = NONE, .dup_back = NONE, .reordered_forward = NONE,
	.reordered_back = NONE, .late_forward = NONE, .late_back = NONE, .off_queue = NONE,
	.requests_sent = NONE, .requests_received = NONE, .replies_sent = NONE,
	.replies_received = NONE, .tx_full = NONE, .busy_s = NAN, .loop_s = NAN,
	.counts = { NONE4, NONE4, NONE4 },
	.cpus = NONE, .icmp = { NONE4 }, .next_hops_silent = NONE,
	.drop = { NONE4, NONE4, NONE4, NONE4 },
};
// clang-format on
_Static_assert(sizeof(export_blank.counts) == 12 * sizeof(uint64_t) &&
		       sizeof(export_blank.icmp) == 4 * sizeof(uint64_t) &&
		       sizeof(export_blank.drop) == 16 * sizeof(uint64_t),
	       "a NONE for each");

struct walk { // of one host
	const struct result *r;
	const struct sum_host *h;
	const char *name, *port;
	struct sender by; // of its frames
	const struct ramp *ramp;
	struct export_sizes sizes;
	uint64_t now_ns;
	bool percentiles;
	export_each each;
	void *arg;
	struct err *e;
};

static double seconds(uint64_t tsc, const struct result *r)
{
	return r->tsc_hz > 0 && tsc != COUNTER_UNKNOWN ? (double)tsc / r->tsc_hz : NAN;
}

static double micro(double ns)
{
	return ns >= 0 ? ns / NS_PER_US : NAN;
}

static void set_rtt(struct export_row *row, const struct hist_packed *h)
{
	row->rtt_avg_us = micro(hist_packed_mean_ns(h));
	row->rtt_p50_us = micro(hist_packed_percentile_ns(h, 50));
	row->rtt_p99_us = micro(hist_packed_percentile_ns(h, 99));
	row->rtt_max_us = micro((double)h->max_ns);
}

static struct export_row row_of(const struct walk *w, const char *dir, size_t trial)
{
	const struct trial *t = &w->r->trial[trial];
	struct export_row row = export_blank;

	row.row = "result";
	row.host = w->name;
	row.dir = dir;
	row.trial = trial;
	row.kind = t->kind == TRIAL_MEASURE ? "measure" : "warmup";
	row.window_s = trial_window_s(w->r, t, w->now_ns);
	return row;
}

// Of a rotation the flow's layer, and how long it was on: its rates are of that.
static double set_layer(struct export_row *row, const struct walk *w, uint32_t layer, size_t trial)
{
	const struct trial *t = &w->r->trial[trial];

	if (w->r->rotation.layers == 0)
		return row->window_s;
	row->layer = layer;
	if (isnan(row->window_s) || t->kind != TRIAL_MEASURE) // it rotates in the window only
		return row->window_s;
	uint64_t end_ns = t->start_ns + (uint64_t)llround(row->window_s * 1e9);
	return (double)result_on_ns(w->r, t, layer, end_ns) / 1e9;
}

static void set_way(const struct walk *w, const struct export_way *way, double pps, double *size,
		    double *mbps)
{
	struct export_mean mean = export_size_mean(&w->sizes, way, &w->by);

	*size = mean.bytes;
	*mbps = pps * 8 * mean.l1_bytes / BPS_PER_MBPS;
}

// Both ways of a flow, of the rates that the row has; way: the request's.
static void set_ways(const struct walk *w, struct export_row *row, struct export_way way,
		     uint32_t rep_bytes)
{
	set_way(w, &way, row->pps, &row->size, &row->mbps);
	way.bytes = rep_bytes;
	way.reply = way.second = true;
	set_way(w, &way, row->rep_pps, &row->rep_size, &row->rep_mbps);
}

static int put_tx(const struct walk *w, size_t flow, size_t trial)
{
	const struct result_flow_tx *f = &w->r->tx[flow];
	const struct tx_counts *c = &f->trial[trial];
	const struct trial *t = &w->r->trial[trial];
	struct export_row row = row_of(w, "tx", trial);
	double on_s = set_layer(&row, w, f->layer, trial);
	struct export_way way = { f->req_bytes, f->req_mix, f->rep_mix, false, c->by_size, false };

	row.peer = f->peer;
	row.streams = f->streams;
	row.target_pps = f->rate_pps == RATE_UNPACED
				 ? NAN
				 : f->rate_pps * trial_rate_share(t, w->ramp, row.window_s);
	row.sent = c->sent;
	row.unsent = c->unsent;
	row.returned = c->returned;
	row.dup_back = c->dup;
	row.reordered_back = c->reordered;
	row.late_back = c->late;
	row.off_queue = c->off_queue;
	row.pps = per_second(c->sent, on_s);
	row.rep_pps = per_second(c->returned, on_s);
	set_ways(w, &row, way, f->rep_bytes);
	row.loss_pct = loss_share_pct(loss_between(c->sent, c->returned), c->sent);
	row.rtt = c->rtt;
	if (w->percentiles && c->rtt != NULL)
		set_rtt(&row, c->rtt);
	return w->each(&row, w->arg, w->e);
}

static int put_rx(const struct walk *w, size_t flow, size_t trial)
{
	const struct result_flow_rx *f = &w->r->rx[flow];
	const struct rx_counts *c = &f->trial[trial];
	struct export_row row = row_of(w, "rx", trial);
	double on_s = set_layer(&row, w, f->layer, trial);
	struct export_way way = { f->req_bytes, f->req_mix, f->rep_mix, false, c->by_size, false };

	row.peer = f->peer;
	row.delivered = c->delivered;
	row.replied = c->replied;
	row.reply_unsent = c->reply_unsent;
	row.dup_forward = c->dup;
	row.reordered_forward = c->reordered;
	row.late_forward = c->late;
	row.pps = per_second(c->delivered, on_s);
	set_ways(w, &row, way, f->rep_bytes);
	return w->each(&row, w->arg, w->e);
}

static int put_queue(const struct walk *w, size_t queue, size_t trial)
{
	const struct queue_counts *c = &w->r->queue[queue].trial[trial];
	struct export_row row = row_of(w, "queue", trial);

	row.queue = (double)queue;
	row.lcore = c->lcore;
	row.requests_sent = c->requests_sent;
	row.requests_received = c->requests_received;
	row.replies_sent = c->replies_sent;
	row.replies_received = c->replies_received;
	row.off_queue = c->off_queue;
	row.tx_full = c->tx_full;
	row.busy_s = seconds(c->busy_tsc, w->r);
	row.loop_s = seconds(c->total_tsc, w->r);
	row.busy_pct = share_pct(c->busy_tsc, c->total_tsc);
	row.pps = per_second(c->requests_sent, row.window_s);
	row.rep_pps = per_second(c->replies_received, row.window_s);
	return w->each(&row, w->arg, w->e);
}

// The RTT of all flows that the host sends; NULL when none came back, or on no memory.
static struct hist_packed *rtt_of_all(const struct result *r)
{
	struct hist *all = malloc(sizeof(*all));
	struct hist_packed *packed;

	if (all == NULL)
		return NULL;
	hist_reset(all);
	for (size_t f = 0; f < r->tx_count; f++)
		for (size_t t = 0; t < r->trial_count; t++)
			if (r->tx[f].trial[t].rtt != NULL)
				hist_merge_packed(all, r->tx[f].trial[t].rtt);
	packed = all->count > 0 ? hist_pack(all) : NULL;
	free(all);
	return packed;
}

static void set_host(struct export_row *row, const struct sum_host *h, const struct result *r)
{
	row->kind = "measure";
	row->window_s = h->window_s;
	row->workers = (double)h->queue_count;
	row->pps = h->sent_pps;
	row->rep_pps = h->returned_pps;
	row->loss_pct = h->loss_pct;
	row->cpu_pct = h->cpu_pct;
	row->cpu_max_pct = h->cpu_max_pct;
	row->agent_cpu_pct = h->agent_cpu_pct;
	row->busy_pct = h->busy_pct;
	row->cpus = r->cpus > 0 ? r->cpus : COUNTER_UNKNOWN;
	row->counts = r->port;
	memcpy(row->drop, r->drop, sizeof(row->drop));
	row->icmp = r->icmp;
	row->next_hops_silent = h->hops.silent;
	if (r->icmp.path_mtu == 0)
		row->icmp.path_mtu = COUNTER_UNKNOWN;
	row->result = r;
}

static int put_host(const struct walk *w)
{
	const struct result *r = w->h->measured ? w->r : NULL;
	struct hist_packed *rtt = NULL, *lateness = NULL;
	struct export_row row = export_blank;

	row.row = "result";
	row.host = w->name;
	row.dir = "host";
	row.port = w->port;
	row.measured = w->h->measured;
	if (r != NULL)
		set_host(&row, w->h, r);
	if (r != NULL && w->percentiles)
		rtt = rtt_of_all(r);
	if (rtt != NULL)
		set_rtt(&row, rtt);
	if (r != NULL && r->lateness != NULL && r->lateness->count > 0)
		lateness = hist_pack(r->lateness);
	row.lateness = lateness;
	int rc = w->each(&row, w->arg, w->e);
	free(rtt);
	free(lateness);
	return rc;
}

// A row of each trial of each of `count` flows or queues.
static int put_trials(const struct walk *w, size_t count,
		      int (*put)(const struct walk *w, size_t i, size_t trial))
{
	int rc = 0;

	for (size_t i = 0; i < count && rc >= 0; i++)
		for (size_t t = 0; t < w->r->trial_count && rc >= 0; t++)
			rc = put(w, i, t);
	return rc;
}

static int put_flows(const struct walk *w)
{
	int rc = put_trials(w, w->r->tx_count, put_tx);

	return rc < 0 ? rc : put_trials(w, w->r->rx_count, put_rx);
}

int export_result(const struct summary_input *in, const struct summary *s, size_t host,
		  unsigned scopes, bool percentiles, export_each each, void *arg, struct err *e)
{
	const struct matrix_host *m = &in->matrix->host[host];
	const struct result *r = in->result[host];
	struct walk w = {
		.r = r,
		.h = &s->host[host],
		.name = m->name,
		.port = m->device[0] != '\0' || r == NULL ? m->device : r->driver,
		.by = host_sender_at(m, r != NULL ? r->port.mtu : COUNTER_UNKNOWN),
		.ramp = &in->matrix->traffic.pacing.ramp,
		.now_ns = in->now_ns != NULL ? in->now_ns[host] : 0,
		.percentiles = percentiles,
		.each = each,
		.arg = arg,
		.e = e,
	};
	int rc = 0;

	if (w.h->measured && (scopes & SCOPE_FLOW)) {
		rc = export_sizes_init(&w.sizes, r) < 0
			     ? err_set(e, ENOMEM, "out of memory for the sizes of host '%s'",
				       w.name)
			     : put_flows(&w);
		export_sizes_free(&w.sizes);
	}
	if (rc >= 0 && w.h->measured && (scopes & SCOPE_QUEUE))
		rc = put_trials(&w, r->queue_count, put_queue);
	if (rc >= 0 && (scopes & (SCOPE_HOST | SCOPE_PORT)))
		rc = put_host(&w);
	return rc;
}

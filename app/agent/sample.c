#include "sample.h"

#include "agent.h"

#include "units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TICK_NS 1000000000ull

static const char header[] =
	"ts,host,dir,peer,size,rep_size,target_pps,pps,mbps,rep_pps,rep_mbps,loss_pct,"
	"rtt_avg_us,rtt_p50_us,rtt_p99_us,rtt_max_us,cpu_pct,cpu_max_pct,agent_cpu_pct,workers,"
	"layer,queue,busy_pct,interval_s,packets,rep_packets\n";

int sample_open(struct sampler *s, const struct hostcfg *cfg, struct queue *const *queue,
		struct err *e)
{
	(void)queue;
	*s = (struct sampler){
		.status = { .tx_pps = -1,
			    .returned_pps = -1,
			    .served_pps = -1,
			    .loss_pct = -1,
			    .rtt_p50_us = -1,
			    .rtt_p99_us = -1,
			    .busy_pct = -1 },
		.interval_ns = cfg->interval_ns > 0 ? cfg->interval_ns : TICK_NS,
		.tx = calloc(cfg->tx_count + 1, sizeof(*s->tx)),
		.rx = calloc(cfg->rx_count + 1, sizeof(*s->rx)),
		.rtt = calloc(cfg->tx_count + 1, sizeof(*s->rtt)),
		.queue = calloc(cfg->port.queues, sizeof(*s->queue)),
		.cpu = calloc(1, sizeof(*s->cpu)),
		.mix_mean = calloc(cfg->mix_count + 1, sizeof(*s->mix_mean)),
	};
	if (s->tx == NULL || s->rx == NULL || s->rtt == NULL || s->queue == NULL ||
	    s->cpu == NULL || s->mix_mean == NULL)
		return err_set(e, ENOMEM, "no memory for samples of %zu flows", cfg->tx_count);
	for (size_t i = 0; i < cfg->mix_count; i++)
		s->mix_mean[i] = mix_mean(&cfg->mix[i]);
	if (cfg->interval_ns == 0)
		return 0;
	s->report = fopen(SESSION_REPORT, "we");
	if (s->report == NULL)
		return err_set(e, errno, "cannot write " SESSION_REPORT ": %s", strerror(errno));
	fputs(header, s->report);
	return 0;
}

void sample_close(struct sampler *s)
{
	if (s->report != NULL)
		fclose(s->report);
	free(s->tx);
	free(s->rx);
	free(s->rtt);
	free(s->queue);
	free(s->cpu);
	free(s->mix_mean);
	*s = (struct sampler){ 0 };
}

// One row's numbers; < 0 = no data, written blank.
struct row {
	const char *dir, *peer;
	double size, rep_size; // of a mix the mean
	double l1_bps, rep_l1_bps;
	double target_pps, pps, rep_pps, loss_pct;
	double rtt_us[4]; // avg, p50, p99, max
	struct cpu_usage cpu;
	double busy_pct;
	int queue, workers, layer;
	double interval_s, packets, rep_packets; // exact below 2^53
};

static void put(FILE *f, double v, int digits)
{
	if (v >= 0)
		fprintf(f, ",%.*f", digits, v);
	else
		fputc(',', f);
}

static void put_row(FILE *f, const char *ts, const char *host, const struct row *r)
{
	fprintf(f, "%s,%s,%s,%s", ts, host, r->dir, r->peer);
	put(f, r->size, 0);
	put(f, r->rep_size, 0);
	put(f, r->target_pps, 1);
	put(f, r->pps, 1);
	put(f, r->l1_bps < 0 ? -1 : r->l1_bps / 1e6, 3);
	put(f, r->rep_pps, 1);
	put(f, r->rep_l1_bps < 0 ? -1 : r->rep_l1_bps / 1e6, 3);
	put(f, r->loss_pct, 4);
	for (int i = 0; i < 4; i++)
		put(f, r->rtt_us[i], 3);
	put(f, r->cpu.mean, 1);
	put(f, r->cpu.max, 1);
	put(f, r->cpu.process, 1);
	put(f, r->workers, 0);
	put(f, r->layer, 0);
	put(f, r->queue, 0);
	put(f, r->busy_pct, 1);
	put(f, r->interval_s, 6);
	put(f, r->packets, 0);
	put(f, r->rep_packets, 0);
	fputc('\n', f);
}

static struct row row_blank(const char *dir, const char *peer)
{
	return (struct row){
		.dir = dir,
		.peer = peer,
		.size = -1,
		.rep_size = -1,
		.l1_bps = -1,
		.rep_l1_bps = -1,
		.target_pps = -1,
		.pps = -1,
		.rep_pps = -1,
		.loss_pct = -1,
		.rtt_us = { -1, -1, -1, -1 },
		.cpu = { -1, -1, -1 },
		.busy_pct = -1,
		.queue = -1,
		.workers = -1,
		.layer = -1,
		.interval_s = -1,
		.packets = -1,
		.rep_packets = -1,
	};
}

static void take_counts(struct row *r, double sec, uint64_t n, uint64_t replies)
{
	r->interval_s = sec;
	r->packets = (double)n;
	r->rep_packets = (double)replies;
	r->pps = (double)n / sec;
	r->rep_pps = (double)replies / sec;
}

static void read_sizes(const struct agent *a, struct flow_sample *tx, struct flow_sample *rx)
{
	const struct hostcfg *c = &a->cfg;
	struct sender by = hostcfg_sender(c);
	struct size_bytes *out = calloc(c->tx_count + 1, sizeof(*out));
	struct size_bytes *in = calloc(c->rx_count + 1, sizeof(*in));
	for (uint16_t n = 0; out != NULL && in != NULL && n < c->port.queues; n++)
		collect_size_bytes(a->queue[n], &by, out, in);
	for (size_t i = 0; out != NULL && i < c->tx_count; i++)
		tx[i].bytes = out[i];
	for (size_t i = 0; in != NULL && i < c->rx_count; i++)
		rx[i].bytes = in[i];
	free(out);
	free(in);
}

static void read_flows(const struct agent *a, struct flow_sample *tx, struct flow_sample *rx)
{
	if (a->cfg.mix_count > 0)
		read_sizes(a, tx, rx);
	for (uint16_t n = 0; n < a->cfg.port.queues; n++) {
		const struct queue *q = a->queue[n];
		for (uint32_t i = 0; i < q->tx_stream_count; i++)
			tx[q->tx[i].flow].sent += q->tx[i].seq;
		for (uint32_t i = 0; i < q->tx_stream_all; i++)
			tx[q->reply[i].flow].returned += q->reply[i].recv;
		for (uint32_t i = 0; i < q->rx_stream_count; i++)
			rx[q->request[i].flow].served += q->request[i].recv;
	}
}

// The measured trial's histogram of flow f since the last row, into d; moves the mark on.
static void read_rtt(const struct agent *a, uint32_t f, struct hist *mark, struct hist *d)
{
	uint32_t trial = a->queue[0]->trial_count - 1;
	hist_reset(d);
	for (uint16_t n = 0; n < a->cfg.port.queues; n++) {
		const struct hist *h = &a->queue[n]->trial[trial].rtt[f];
		d->sum_ns += h->sum_ns;
		for (uint32_t b = 0; b < HIST_BUCKETS; b++)
			d->bucket[b] += h->bucket[b];
	}
	uint64_t sum = d->sum_ns;
	d->sum_ns -= mark->sum_ns;
	mark->sum_ns = sum;
	for (uint32_t b = 0; b < HIST_BUCKETS; b++) {
		uint64_t all = d->bucket[b];
		d->bucket[b] -= mark->bucket[b];
		mark->bucket[b] = all;
		if (d->bucket[b] == 0)
			continue;
		d->count += d->bucket[b];
		if (d->min_ns == UINT64_MAX)
			d->min_ns = hist_lower_ns(b);
		d->max_ns = hist_upper_ns(b) - 1;
	}
}

static void rtt_columns(const struct hist *h, double us[4])
{
	if (h->count == 0)
		return;
	us[0] = hist_mean_ns(h) / 1e3;
	us[1] = hist_percentile_ns(h, 50) / 1e3;
	us[2] = hist_percentile_ns(h, 99) / 1e3;
	us[3] = (double)h->max_ns / 1e3;
}

// Bits/s on the wire: of a mix by the bytes counted since, else of so many packets of that size;
// both ends cut them alike.
static double wire_bps(const struct agent *a, uint32_t mix, uint64_t mix_bytes, double sec,
		       double pps, uint32_t bytes)
{
	struct sender by = hostcfg_sender(&a->cfg);
	if (mix > 0)
		return 8 * (double)mix_bytes / sec;
	return pps * 8 * datagram_l1_bytes(&by, by.tags, bytes);
}

static double mean_size(const struct sampler *s, uint32_t mix, uint32_t bytes)
{
	return mix > 0 ? s->mix_mean[mix - 1] : bytes;
}

static double lost_pct(uint64_t sent, uint64_t returned)
{
	if (sent == 0)
		return -1;
	return returned >= sent ? 0 : (double)(sent - returned) * 100 / (double)sent;
}

// The share of the interval since the last row in which a layer sent; in the warm-up the first
// does.
static double on_share(const struct sampler *s, const struct agent *a, uint32_t layer,
		       uint64_t now_ns)
{
	const struct rotation *r = &a->cfg.rotation;
	uint64_t from = agent_rotated_ns(a, s->last_ns), to = agent_rotated_ns(a, now_ns);
	uint64_t on = rotation_on_ns(r, layer, to) - rotation_on_ns(r, layer, from);
	if (r->layers == 0)
		return 1;
	if (layer == 0)
		on += now_ns - s->last_ns - (to - from);
	return (double)on / (double)(now_ns - s->last_ns);
}

// Of the rate, in the interval: less on a ramp, which began before a run that was joined.
static double rate_share(const struct sampler *s, const struct agent *a, uint64_t now_ns)
{
	const struct hostcfg *c = &a->cfg;
	double window = (double)a->window_ns - (double)a->rotated_ns;

	return ramp_share(&c->pacing.ramp, (double)s->last_ns - window, (double)now_ns - window);
}

static int layer_of(const struct hostcfg *c, uint32_t layer)
{
	return c->rotation.layers > 0 ? (int)layer : -1;
}

static void flow_rows(struct sampler *s, const struct agent *a, const char *ts, uint64_t now_ns,
		      double sec, struct hist *host_rtt)
{
	const struct hostcfg *c = &a->cfg;
	struct flow_sample *tx = calloc(c->tx_count + 1, sizeof(*tx));
	struct flow_sample *rx = calloc(c->rx_count + 1, sizeof(*rx));
	struct hist *d = malloc(sizeof(*d));
	uint64_t sent = 0, returned = 0, served = 0;
	if (tx == NULL || rx == NULL || d == NULL)
		goto out;
	read_flows(a, tx, rx);
	for (uint32_t i = 0; i < c->tx_count; i++) {
		uint64_t n = tx[i].sent - s->tx[i].sent, back = tx[i].returned - s->tx[i].returned;
		struct row r = row_blank("tx", c->tx[i].peer);
		double share = on_share(s, a, c->tx[i].layer, now_ns);
		read_rtt(a, i, &s->rtt[i], d);
		hist_merge(host_rtt, d);
		rtt_columns(d, r.rtt_us);
		r.size = mean_size(s, c->tx[i].req_mix, c->tx[i].req_bytes);
		r.rep_size = mean_size(s, c->tx[i].rep_mix, c->tx[i].rep_bytes);
		r.layer = layer_of(c, c->tx[i].layer);
		r.target_pps = c->tx[i].rate_pps == RATE_UNPACED
				       ? -1
				       : c->tx[i].rate_pps * share * rate_share(s, a, now_ns);
		take_counts(&r, sec, n, back);
		r.l1_bps = wire_bps(a, c->tx[i].req_mix, tx[i].bytes.there - s->tx[i].bytes.there,
				    sec, r.pps, c->tx[i].req_bytes);
		r.rep_l1_bps = wire_bps(a, c->tx[i].rep_mix, tx[i].bytes.back - s->tx[i].bytes.back,
					sec, r.rep_pps, c->tx[i].rep_bytes);
		r.loss_pct = lost_pct(n, back);
		if (s->report != NULL && (share > 0 || n > 0 || back > 0))
			put_row(s->report, ts, c->host, &r);
		sent += n;
		returned += back;
		s->tx[i] = tx[i];
	}
	for (uint32_t i = 0; i < c->rx_count; i++) {
		uint64_t n = rx[i].served - s->rx[i].served;
		struct row r = row_blank("rx", c->rx[i].peer);
		double share = on_share(s, a, c->rx[i].layer, now_ns);
		r.layer = layer_of(c, c->rx[i].layer);
		r.size = mean_size(s, c->rx[i].req_mix, c->rx[i].req_bytes);
		r.rep_size = mean_size(s, c->rx[i].rep_mix, c->rx[i].rep_bytes);
		take_counts(&r, sec, n, 0);
		r.l1_bps = wire_bps(a, c->rx[i].req_mix, rx[i].bytes.there - s->rx[i].bytes.there,
				    sec, r.pps, c->rx[i].req_bytes);
		r.rep_pps = r.rep_packets = -1;
		if (s->report != NULL && (share > 0 || n > 0))
			put_row(s->report, ts, c->host, &r);
		served += n;
		s->rx[i] = rx[i];
	}
	s->sent = sent;
	s->returned = returned;
	s->status.tx_pps = (double)sent / sec;
	s->status.returned_pps = (double)returned / sec;
	s->status.served_pps = (double)served / sec;
	s->status.loss_pct = lost_pct(sent, returned);
out:
	free(tx);
	free(rx);
	free(d);
}

static void queue_rows(struct sampler *s, const struct agent *a, const char *ts, double sec)
{
	s->status.busy_pct = -1;
	for (uint16_t n = 0; n < a->cfg.port.queues; n++) {
		struct queue_counts now = a->queue[n]->total, *last = &s->queue[n];
		struct row r = row_blank("queue", "");
		r.queue = n;
		take_counts(&r, sec, now.requests_sent - last->requests_sent,
			    now.replies_received - last->replies_received);
		if (now.total_tsc > last->total_tsc)
			r.busy_pct = (double)(now.busy_tsc - last->busy_tsc) * 100 /
				     (double)(now.total_tsc - last->total_tsc);
		if (r.busy_pct > s->status.busy_pct)
			s->status.busy_pct = r.busy_pct;
		if (s->report != NULL)
			put_row(s->report, ts, a->cfg.host, &r);
		*last = now;
	}
}

static void host_row(struct sampler *s, const struct agent *a, const char *ts, uint64_t now_ns,
		     double sec, const struct hist *rtt)
{
	struct row r = row_blank("host", "");
	struct cpu_sample now;
	cpu_read(&now);
	r.cpu = cpu_between(s->cpu, &now);
	*s->cpu = now;
	take_counts(&r, sec, s->sent, s->returned);
	r.loss_pct = s->status.loss_pct;
	r.busy_pct = s->status.busy_pct;
	r.workers = a->cfg.port.queues;
	// that of the middle: a row is made just after its interval
	r.layer = layer_of(&a->cfg, agent_layer(a, s->last_ns / 2 + now_ns / 2));
	rtt_columns(rtt, r.rtt_us);
	s->status.rtt_p50_us = r.rtt_us[1];
	s->status.rtt_p99_us = r.rtt_us[2];
	if (s->report != NULL)
		put_row(s->report, ts, a->cfg.host, &r);
}

void sample_tick(struct sampler *s, const struct agent *a, uint64_t now_ns)
{
	if (s->next_ns == 0) { // rows start with the traffic
		s->next_ns = a->start_ns + s->interval_ns;
		s->last_ns = a->start_ns;
		cpu_read(s->cpu);
		read_flows(a, s->tx, s->rx); // after a reload sequences do not begin at 0
	}
	if (now_ns < s->next_ns)
		return;
	struct hist *rtt = malloc(sizeof(*rtt));
	if (rtt == NULL)
		return;
	hist_reset(rtt);
	struct timespec wall;
	char ts[40];
	clock_gettime(CLOCK_REALTIME, &wall);
	snprintf(ts, sizeof(ts), "%lld.%03ld", (long long)wall.tv_sec, wall.tv_nsec / 1000000);
	double sec = (double)(now_ns - s->last_ns) / 1e9;
	flow_rows(s, a, ts, now_ns, sec, rtt);
	queue_rows(s, a, ts, sec);
	host_row(s, a, ts, now_ns, sec, rtt);
	if (s->report != NULL)
		fflush(s->report);
	free(rtt);
	s->last_ns = now_ns;
	while (s->next_ns <= now_ns)
		s->next_ns += s->interval_ns;
}

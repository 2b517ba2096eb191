#include "ticker.h"

#include "clock.h"

#include "units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SHOW_NS (500 * NS_PER_MS)
#define CLEAR_LINE "\r\033[K"

void ticker_begin(struct ticker *t, const struct fleet *f, uint64_t start_ns, uint64_t total_ns)
{
	*t = (struct ticker){
		.fleet = f,
		.start_ns = start_ns,
		.total_ns = total_ns,
		.live = isatty(STDERR_FILENO) && !f->opts->quiet,
	};
	if (!t->live)
		note(f->opts, "running for %.3g s", (double)total_ns / NS_PER_S);
}

static void add(double *sum, double v)
{
	if (v < 0)
		return;
	*sum = (*sum < 0 ? 0 : *sum) + v;
}

static void larger(double *most, double v)
{
	if (v > *most)
		*most = v;
}

static struct status sum_up(const struct fleet *f)
{
	struct status sum = {
		.tx_pps = -1,
		.returned_pps = -1,
		.served_pps = -1,
		.loss_pct = -1,
		.rtt_p50_us = -1,
		.rtt_p99_us = -1,
		.busy_pct = -1,
	};

	for (size_t i = 0; i < f->count; i++) {
		struct status s;

		if (!fleet_status(&f->host[i], &s))
			continue;
		add(&sum.tx_pps, s.tx_pps);
		add(&sum.returned_pps, s.returned_pps);
		larger(&sum.loss_pct, s.loss_pct);
		larger(&sum.rtt_p99_us, s.rtt_p99_us);
		larger(&sum.busy_pct, s.busy_pct);
		sum.layer = s.layer;
		sum.layers = s.layers;
	}
	return sum;
}

// " tx 1.23 Mpps", or nothing when there is no figure.
static void put_rate(FILE *f, const char *label, double pps)
{
	char buf[16];

	if (pps < 0)
		return;
	si_str(pps, buf, sizeof(buf)); // "1.23 M", "594"
	fprintf(f, "  %s %s%spps", label, buf, strchr(buf, ' ') != NULL ? "" : " ");
}

static void put_time(FILE *f, const char *label, double us)
{
	char buf[16];

	if (us >= 0)
		fprintf(f, "  %s %s", label, ns_str(us * 1e3, buf, sizeof(buf)));
}

static void put_figures(FILE *f, const struct status *s)
{
	if (s->layers > 0 && s->layer != UINT64_MAX)
		fprintf(f, "  layer %" PRIu64 " of %u", s->layer, s->layers);
	put_rate(f, "tx", s->tx_pps);
	put_rate(f, "back", s->returned_pps);
	put_rate(f, "served", s->served_pps);
	if (s->loss_pct >= 0)
		fprintf(f, "  loss %.3g%%", s->loss_pct);
	put_time(f, "p50", s->rtt_p50_us);
	put_time(f, "p99", s->rtt_p99_us);
	if (s->busy_pct >= 0)
		fprintf(f, "  busy %.3g%%", s->busy_pct);
}

void ticker_show(struct ticker *t)
{
	char line[160] = "";
	uint64_t now = raw_ns();
	FILE *f;

	if (!t->live || now < t->next_ns || (f = fmemopen(line, sizeof(line), "w")) == NULL)
		return;
	t->next_ns = now + SHOW_NS;
	double elapsed = now > t->start_ns ? (double)(now - t->start_ns) / NS_PER_S : 0;
	struct status sum = sum_up(t->fleet);
	fprintf(f, "%.0f/%.0f s  %zu hosts", elapsed, (double)t->total_ns / NS_PER_S,
		fleet_live(t->fleet));
	put_figures(f, &sum);
	fclose(f);
	fprintf(stderr, CLEAR_LINE "%.79s", line);
	fflush(stderr);
	t->shown = true;
}

void ticker_end(struct ticker *t)
{
	if (t->shown)
		fputs(CLEAR_LINE, stderr);
	t->shown = false;
}

char *ticker_status_str(const struct status *s, char *buf, size_t size)
{
	FILE *f = fmemopen(buf, size, "w");

	buf[0] = '\0';
	if (f == NULL)
		return buf;
	fputs(agent_state_name[s->state], f);
	if (s->state >= AGENT_RUNNING && s->state != AGENT_FAILED) {
		fprintf(f, " %.1f s", s->elapsed_s);
		put_figures(f, s);
	}
	if (!ip_none(&s->silent_hop)) {
		char ip[IP_STR_MAX];

		fprintf(f, "  NEXT HOP %s SILENT FOR %.1f s",
			ip_str(&s->silent_hop, ip, sizeof(ip)), s->silent_s);
	}
	if (s->error[0] != '\0')
		fprintf(f, ": %s", s->error);
	fclose(f);
	buf[size - 1] = '\0';
	return buf;
}

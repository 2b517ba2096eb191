#include "gen_show.h"

#include "rates.h"
#include "on_wire.h"
#include "pacing_words.h"
#include "sizes.h"

#include "units.h"

#include <math.h>

// "10.0 kpps, 6.72 Mb/s"
static void load_put(FILE *f, double pps, double bps)
{
	char packets[RATE_STR_MAX], bits[RATE_STR_MAX];

	fprintf(f, "%s, %s", rate_unit_str(pps, "pps", packets, sizeof(packets)),
		rate_unit_str(bps, "b/s", bits, sizeof(bits)));
}

static void pair_put(FILE *f, const struct gen_plan *p)
{
	double low = INFINITY, high = 0;
	char text[RATE_STR_MAX];
	size_t unpaced = 0;

	for (size_t i = 0; i < p->plan.flow_count; i++) {
		double pps = p->plan.flow[i].rate_pps;

		unpaced += pps == RATE_UNPACED;
		if (pps == RATE_UNPACED)
			continue;
		low = fmin(low, pps);
		high = fmax(high, pps);
	}
	fputs("  per pair   ", f);
	if (unpaced == p->plan.flow_count) {
		fputs("unpaced: each sends what its port takes\n", f);
		return;
	}
	if (low < high)
		fprintf(f, "%s to ", rate_unit_str(low, "pps", text, sizeof(text)));
	struct sender by = hostcfg_sender(&p->plan.host[0]);
	load_put(f, high, high * 8 * request_wire(&p->matrix, &by, by.tags).l1_bytes);
	fputs(" of requests, ", f);
	fprintf(f, "%s of replies",
		rate_unit_str(high * 8 * reply_wire(&p->matrix, &by, by.tags).l1_bytes, "b/s", text,
			      sizeof(text)));
	if (unpaced > 0)
		fprintf(f, "; %zu unpaced", unpaced);
	fputc('\n', f);
}

// The host that carries most; NULL when every one has an unpaced flow.
static const struct capacity_host *busiest(const struct capacity *c, bool *alike)
{
	const struct capacity_host *most = NULL;

	*alike = true;
	for (size_t i = 0; i < c->host_count; i++) {
		const struct capacity_host *h = &c->host[i];
		double bps = fmax(h->tx_l1_bps, h->rx_l1_bps);

		if (isnan(bps)) {
			*alike = false;
			continue;
		}
		if (most != NULL && (fabs(h->tx_l1_bps - most->tx_l1_bps) > 1 ||
				     fabs(h->rx_l1_bps - most->rx_l1_bps) > 1))
			*alike = false;
		if (most == NULL || bps > fmax(most->tx_l1_bps, most->rx_l1_bps))
			most = h;
	}
	return most;
}

static void host_put(FILE *f, const struct gen_plan *p)
{
	bool alike;
	const struct capacity_host *h = busiest(&p->load, &alike);

	if (h == NULL)
		return;
	fprintf(f, "  per host   out ");
	load_put(f, h->tx_pps, h->tx_l1_bps);
	fputs("; in ", f);
	load_put(f, h->rx_pps, h->rx_l1_bps);
	fputs(", replies included", f);
	if (!alike)
		fprintf(f, " (%s, the busiest%s)", h->name,
			p->load.unpaced > 0 ? " of the paced" : "");
	fputc('\n', f);
}

static void rotation_put(FILE *f, const struct gen_plan *p)
{
	const struct matrix *m = &p->matrix;
	char each[32], cycle[32], pairs[32];
	size_t all = m->host_count * (m->host_count - 1);

	if (p->plan.layers == 1)
		return;
	fprintf(f, "  rotation   %u layers of %s: a cycle of %s measures all %s pairs %s\n",
		p->plan.layers, ns_str((double)m->traffic.dwell_ns, each, sizeof(each)),
		ns_str((double)m->traffic.dwell_ns * p->plan.layers, cycle, sizeof(cycle)),
		count_str(all, pairs, sizeof(pairs)),
		p->plan.flow_count > all ? "at least once" : "exactly once");
}

void gen_show(FILE *f, const struct gen_plan *p)
{
	const struct matrix *m = &p->matrix;
	char flows[32], request[SIZES_STR_MAX], reply[SIZES_STR_MAX];
	char pacing[PACING_STR_MAX];

	fprintf(f, "%zu hosts, %s flows, request %s, reply %s%s\n", m->host_count,
		count_str(p->plan.flow_count, flows, sizeof(flows)),
		request_sizes_str(m, request, sizeof(request)),
		reply_sizes_str(m, reply, sizeof(reply)), pacing_str(m, pacing, sizeof(pacing)));
	pair_put(f, p);
	host_put(f, p);
	if (!isnan(p->load.requests_pps)) {
		fputs("  fleet      ", f);
		load_put(f, 2 * p->load.requests_pps, p->load.l1_bps);
		fprintf(f, ", requests and replies%s\n",
			p->plan.layers > 1 ? ", in the fullest layer" : "");
	}
	rotation_put(f, p);
}

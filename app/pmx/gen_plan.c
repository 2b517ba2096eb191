#include "gen_plan.h"

#include "units.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define PROBE_PPS 1000.0 // of each pair, to see what a rate makes of the hosts
#define BPS_PER_GBPS 1e9

int gen_text(const struct gen *g, char **text, size_t *len, struct err *e)
{
	FILE *f = open_memstream(text, len);
	int ret;

	if (f == NULL)
		return err_set(e, ENOMEM, "out of memory");
	ret = gen_write(f, g, e);
	if (fclose(f) != 0 && ret == 0)
		ret = err_set(e, ENOMEM, "out of memory");
	if (ret < 0)
		free(*text);
	return ret;
}

static int read_back(const struct gen *g, struct matrix *m, struct err *e)
{
	struct gen filled = *g;
	char *text;
	size_t len;
	int ret;

	if (g->device == NULL)
		filled.device = g->device_example;
	ret = gen_text(&filled, &text, &len, e);
	if (ret < 0)
		return ret;
	ret = matrix_parse("the matrix", text, len, m, e);
	free(text);
	return ret;
}

int gen_plan_build(const struct gen *g, const struct profile_dirs *dirs, double nic_gbps,
		   double nic_mpps, struct gen_plan *p, struct err *e)
{
	int ret;

	*p = (struct gen_plan){ 0 };
	ret = read_back(g, &p->matrix, e);
	if (ret == 0)
		ret = profile_load_all(&p->matrix, dirs->dir, &p->profile, e);
	if (ret == 0) {
		struct plan_input in = {
			.matrix = &p->matrix,
			.profile = p->profile,
			.run_id = "gen",
			.flows_only = true,
			.local_cpus = 1,
			.duration_ns = p->matrix.timing.duration_ns,
		};

		ret = plan_build(&in, &p->plan, e);
	}
	if (ret == 0)
		ret = capacity_build(&p->plan, p->profile, nic_gbps, nic_mpps, &p->load, e);
	if (ret < 0)
		gen_plan_free(p);
	return ret;
}

void gen_plan_free(struct gen_plan *p)
{
	capacity_free(&p->load);
	plan_free(&p->plan);
	free(p->profile);
	matrix_free(&p->matrix);
	*p = (struct gen_plan){ 0 };
}

// In whole packets where that costs less than 1 in 1000, else to the thousandth.
static double rounded(double pps)
{
	return pps >= 1000 ? floor(pps * (1 + 1e-12)) : floor(pps * 1000 * (1 + 1e-12)) / 1000;
}

static double most_requests(const struct capacity *c)
{
	double most = 0;

	for (size_t i = 0; i < c->host_count; i++)
		most = fmax(most, c->host[i].requests_pps);
	return most;
}

// The slowest of the links; < 0 when one is not known.
static double link_gbps(const struct gen_plan *p, double nic_gbps)
{
	double slowest = INFINITY;

	if (nic_gbps > 0)
		return nic_gbps;
	for (size_t i = 0; i < p->matrix.host_count; i++)
		slowest = fmin(slowest, p->profile[i].speed_gbps);
	return slowest;
}

static int budget_of(const struct gen_plan *p, const struct gen_goal *goal, double *gbps,
		     struct err *e)
{
	double link;

	*gbps = goal->host_gbps;
	if (goal->line_pct <= 0)
		return 0;
	link = link_gbps(p, goal->nic_gbps);
	if (link <= 0)
		return err_set(
			e, EINVAL,
			"option '--line': the link speed is not known (driver '%s'): expected "
			"--nic-gbps N",
			p->profile[0].name);
	*gbps = link * goal->line_pct / 100;
	return 0;
}

int gen_size(struct gen *g, const struct gen_goal *goal, const struct profile_dirs *dirs,
	     struct err *e)
{
	struct gen probe = *g;
	struct gen_plan p;
	double gbps, pps;
	int ret;

	if (goal->host_rate.bps > 0)
		return err_set(
			e, EINVAL,
			"option '--host-pps': expected packets/s; bits are --gbps, of the wire");
	if (goal->host_rate.max) {
		g->rate = goal->host_rate;
		return 0;
	}
	probe.rate = (struct rate){ .pps = PROBE_PPS };
	ret = gen_plan_build(&probe, dirs, 1, 0, &p, e);
	if (ret < 0)
		return ret;
	ret = budget_of(&p, goal, &gbps, e);
	if (ret == 0) {
		pps = goal->host_rate.pps > 0
			      ? PROBE_PPS * goal->host_rate.pps / most_requests(&p.load)
			      : PROBE_PPS * p.load.scale * gbps;
		g->rate = (struct rate){ .pps = rounded(pps) };
		if (g->rate.pps <= 0)
			ret = err_set(e, ERANGE,
				      "less than 0.001 requests/s for each pair: expected a larger "
				      "goal, or fewer flows");
	}
	gen_plan_free(&p);
	return ret;
}

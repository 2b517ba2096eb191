#include "plan_rate.h"

#include "on_wire.h"
#include "rates.h"

#include "units.h"

#include <math.h>

// Of the link: what the matrix says goes before the profile; < 0 = not known.
static double speed_of(const struct plan_input *in, uint32_t host)
{
	const struct matrix_host *h = &in->matrix->host[host];

	return h->speed_gbps > 0 ? h->speed_gbps : in->profile[host].speed_gbps;
}

// Bits, percentages and the gaps of bursts are packets/s only now.
static int rate_check(const struct matrix *m, const struct pair *pair, double pps, struct err *e)
{
	char rate[RATE_STR_MAX];

	if (pps <= RATE_MAX_PPS)
		return 0;
	return pos_fail(m->file, pair->pos, e,
			"rate: %s packets/s of these sizes: expected at most 10G",
			rate_exact_str(floor(pps), false, rate, sizeof(rate)));
}

int plan_rate(const struct plan_input *in, const struct plan *p, const struct pair *pair,
	      double *pps, struct err *e)
{
	*pps = pair->rate.max ? RATE_UNPACED : pair->rate.pps;
	if (pair->line_pct == 0 && pair->rate.bps == 0)
		return rate_check(in->matrix, pair, *pps, e);
	struct sender by = hostcfg_sender(&p->host[pair->src]);
	struct wire_mean wire = request_wire(in->matrix, &by, by.tags);
	if (pair->rate.bps > 0) {
		double overhead = pair->rate.l2 ? WIRE_OVERHEAD_BYTES * wire.frames : 0;

		*pps = pair->rate.bps / (8 * (wire.l1_bytes - overhead));
		return rate_check(in->matrix, pair, *pps, e);
	}
	double from = speed_of(in, pair->src), to = speed_of(in, pair->dst);
	if (from < 0 || to < 0) {
		uint32_t unknown = from < 0 ? pair->src : pair->dst;

		return pos_fail(
			in->matrix->file, pair->pos, e,
			"rate '%g%%': the link speed of host '%s' is not known (driver '%s'): "
			"expected 'speed_gbps:' of the host, or packets/s, as 100k",
			pair->line_pct, in->matrix->host[unknown].name, in->profile[unknown].name);
	}
	*pps = (from < to ? from : to) * 1e9 / (8 * wire.l1_bytes) * pair->line_pct / 100;
	return rate_check(in->matrix, pair, *pps, e);
}

#include "pacing.h"

#include <math.h>

const char *const spacing_name[SPACINGS] = {
	[SPACING_EVEN] = "even",
	[SPACING_UNIFORM] = "uniform",
	[SPACING_POISSON] = "poisson",
};

// Level k of `steps`, and the sum of those before it.
static double level(const struct ramp *r, double k)
{
	return r->from + k * (1 - r->from) / (r->steps - 1);
}

static double levels(const struct ramp *r, double k)
{
	return k * r->from + k * (k - 1) / 2 * (1 - r->from) / (r->steps - 1);
}

// How much of `over` the whole ramp is worth.
static double whole(const struct ramp *r)
{
	return r->steps > 0 ? levels(r, r->steps) / r->steps : (1 + r->from) / 2;
}

double ramp_sent(const struct ramp *r, double over, double t)
{
	if (t < 0)
		return r->from * t;
	if (t >= over)
		return t - over + whole(r) * over;
	if (r->steps == 0)
		return t * (r->from + (1 - r->from) * t / over / 2);
	double step = over / r->steps, k = floor(t / step);
	return levels(r, k) * step + level(r, k) * (t - k * step);
}

// The step in which `sum` levels are reached: levels() solved, and put right where that is rounded.
static double step_at(const struct ramp *r, double sum)
{
	double a = (1 - r->from) / (r->steps - 1) / 2, b = r->from - a;
	double k = a > 0 ? floor((sqrt(b * b + 4 * a * sum) - b) / (2 * a)) : floor(sum / b);

	k = fmin(fmax(k, 0), r->steps - 1);
	while (k > 0 && levels(r, k) > sum)
		k--;
	while (k + 1 < r->steps && levels(r, k + 1) <= sum)
		k++;
	return k;
}

double ramp_at(const struct ramp *r, double over, double sent)
{
	if (sent < 0)
		return r->from > 0 ? sent / r->from : -INFINITY;
	if (sent >= whole(r) * over)
		return sent - whole(r) * over + over;
	if (r->steps == 0 && sent == 0)
		return 0;
	if (r->steps == 0) {
		// of the quadratic's two forms the one that also holds for a ramp that hardly rises
		double rise = (1 - r->from) / over;
		return 2 * sent / (r->from + sqrt(r->from * r->from + 2 * rise * sent));
	}
	double step = over / r->steps, k = step_at(r, sent / step);
	return k * step + (sent - levels(r, k) * step) / level(r, k);
}

double ramp_share(const struct ramp *r, double from_ns, double to_ns)
{
	double over = (double)r->over_ns;

	if (r->over_ns == 0 || !(to_ns > from_ns))
		return 1;
	return (ramp_sent(r, over, to_ns) - ramp_sent(r, over, from_ns)) / (to_ns - from_ns);
}

#include "rates.h"

#include "units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

char *rate_str(double pps, char *buf, size_t size)
{
	static const struct {
		double pps;
		const char *suffix;
	} unit[] = { { 1e9, "G" }, { 1e6, "M" }, { 1e3, "k" }, { 0, "" } };
	size_t i = 0;

	while (pps < unit[i].pps)
		i++;
	double v = unit[i].pps > 0 ? pps / unit[i].pps : pps;
	double step = v > 0 ? pow(10, floor(log10(v)) - 3) : 1;
	// 125.0 must not become 124.9 by the last bit of the quotient
	snprintf(buf, size, "%.4g%s", floor(v / step + 1e-6) * step, unit[i].suffix);
	return buf;
}

char *rate_unit_str(double v, const char *unit, char *buf, size_t size)
{
	char number[RATE_STR_MAX];

	si_str(v, number, sizeof(number));
	// a number with a suffix has its blank already: "5.00 k"
	snprintf(buf, size, "%s%s%s", number, strchr(number, ' ') == NULL ? " " : "", unit);
	return buf;
}

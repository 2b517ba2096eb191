#include "rates.h"

#include "parse.h"
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

char *rate_exact_str(double pps, bool suffix, char *buf, size_t size)
{
	static const struct {
		double pps;
		const char *suffix;
	} unit[] = { { 1e9, "G" }, { 1e6, "M" }, { 1e3, "k" } };

	for (size_t i = 0; suffix && i < sizeof(unit) / sizeof(unit[0]); i++) {
		char bits[RATE_STR_MAX + 4];
		struct rate back;

		if (pps < unit[i].pps)
			continue;
		snprintf(buf, size, "%.6g%s", pps / unit[i].pps, unit[i].suffix);
		// read as bits, of which there may be more than of packets
		snprintf(bits, sizeof(bits), "%sbps", buf);
		if (strchr(buf, 'e') == NULL && parse_rate(bits, &back, NULL) == 0 &&
		    back.bps == pps)
			return buf;
	}
	// 18 digits are read, and a double has no more
	int whole = snprintf(buf, size, "%.0f", pps);
	snprintf(buf, size, "%.*f", whole > 9 && whole < 18 ? 18 - whole : 9, pps);
	size_t len = strlen(buf);
	while (buf[len - 1] == '0')
		buf[--len] = '\0';
	if (buf[len - 1] == '.')
		buf[len - 1] = '\0';
	return buf;
}

char *rate_text_str(const struct rate *rate, char *buf, size_t size)
{
	if (rate->max) {
		snprintf(buf, size, "max");
		return buf;
	}
	rate_exact_str(rate->bps > 0 ? rate->bps : rate->pps, true, buf, size);
	if (rate->bps > 0)
		strncat(buf, rate->l2 ? "bpsL2" : "bps", size - strlen(buf) - 1);
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

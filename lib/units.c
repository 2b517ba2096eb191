#include "units.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

uint32_t frame_bytes(uint32_t payload_bytes)
{
	uint32_t frame = payload_bytes + IP4_UDP_OVERHEAD_BYTES;

	return frame < FRAME_MIN_BYTES ? FRAME_MIN_BYTES : frame;
}

uint32_t l1_bytes(uint32_t payload_bytes)
{
	return frame_bytes(payload_bytes) + WIRE_OVERHEAD_BYTES;
}

double l1_bps(double pps, uint32_t payload_bytes)
{
	return pps * l1_bytes(payload_bytes) * 8;
}

double l2_bps(double pps, uint32_t payload_bytes)
{
	return pps * frame_bytes(payload_bytes) * 8;
}

double payload_bps(double pps, uint32_t payload_bytes)
{
	return pps * payload_bytes * 8;
}

double line_rate_pps(double link_bps, uint32_t payload_bytes)
{
	return link_bps / (8.0 * l1_bytes(payload_bytes));
}

struct unit {
	double scale;
	const char *name;
};

// Three significant digits of v in the largest unit that leaves at least 1, by what is *shown*:
// 999.6 shows as 1.00 k, never as 1000.
static char *scaled_str(double v, const struct unit *unit, size_t units, char *buf, size_t size)
{
	size_t u = units - 1;

	while (u > 0 && fabs(v) < unit[u].scale * 0.9995)
		u--;
	double shown = v / unit[u].scale;
	double a = fabs(shown);
	int decimals = a >= 99.95 ? 0 : a >= 9.995 ? 1 : 2;
	char num[32];
	if (u == 0)
		// the base unit counts things: no zeros that were not measured
		snprintf(num, sizeof(num), "%.3g", shown);
	else if (a < 1e6)
		snprintf(num, sizeof(num), "%.*f", decimals, shown);
	else
		snprintf(num, sizeof(num), "%.3g", shown);
	snprintf(buf, size, "%s%s%s", num, unit[u].name[0] != '\0' ? " " : "", unit[u].name);
	return buf;
}

char *si_str(double v, char *buf, size_t size)
{
	static const struct unit si[] = {
		{ 1, "" }, { 1e3, "k" }, { 1e6, "M" }, { 1e9, "G" }, { 1e12, "T" },
	};

	if (isnan(v)) {
		snprintf(buf, size, "%s", "");
		return buf;
	}
	return scaled_str(v, si, sizeof(si) / sizeof(si[0]), buf, size);
}

char *ns_str(double ns, char *buf, size_t size)
{
	static const struct unit time[] = {
		{ 1, "ns" },
		{ 1e3, "us" },
		{ 1e6, "ms" },
		{ 1e9, "s" },
	};

	if (isnan(ns) || ns < 0) {
		snprintf(buf, size, "%s", "");
		return buf;
	}
	return scaled_str(ns, time, sizeof(time) / sizeof(time[0]), buf, size);
}

char *count_str(uint64_t v, char *buf, size_t size)
{
	char digits[24];
	int n = snprintf(digits, sizeof(digits), "%" PRIu64, v);
	size_t out = 0;

	for (int i = 0; i < n && out + 2 < size; i++) {
		if (i > 0 && (n - i) % 3 == 0)
			buf[out++] = ',';
		buf[out++] = digits[i];
	}
	if (size > 0)
		buf[out] = '\0';
	return buf;
}

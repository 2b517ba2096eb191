#include "parse.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define QUOTE_MAX 60			// of a bad value; the rest is "..."
#define DIGITS_MAX 18			// of a decimal
#define MANTISSA_MAX 100000000000000000 // takes one more digit: 10^18 in all
#define CPU_ID_MAX 8191			// NR_CPUS of Linux ends there
#define DURATION_MAX_NS (365ull * 86400 * 1000000000)

__extension__ typedef unsigned __int128 u128;

static int __attribute__((format(printf, 5, 6)))
refuse(struct err *e, int code, const char *what, const char *s, const char *fmt, ...)
{
	char form[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(form, sizeof(form), fmt, ap);
	va_end(ap);
	return err_set(e, code, "%s '%.*s%s': %s", what, QUOTE_MAX, s,
		       strlen(s) > QUOTE_MAX ? "..." : "", form);
}

// isdigit() and its like depend on the locale.
static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

struct decimal {
	uint64_t mantissa; // value = mantissa / 10^frac_digits
	unsigned frac_digits;
	const char *rest; // behind the number
};

static int decimal_push(struct decimal *d, unsigned digit, bool fraction)
{
	if (d->mantissa >= MANTISSA_MAX || d->frac_digits + fraction > DIGITS_MAX)
		return -ERANGE;
	d->mantissa = d->mantissa * 10 + digit;
	d->frac_digits += fraction;
	return 0;
}

// "12", "1.5": -EINVAL when s does not begin with such a number (no sign, no leading zero that
// might mean octal, digits on both sides of the point), -ERANGE with more than DIGITS_MAX digits.
static int decimal_scan(const char *s, struct decimal *d)
{
	unsigned zeros = 0; // at the end of the fraction: they count when a digit follows
	bool fraction = false;
	int ret = 0;

	*d = (struct decimal){ 0 };
	if (!is_digit(s[0]) || (s[0] == '0' && is_digit(s[1])))
		return -EINVAL;
	for (; ret == 0; s++) {
		if (*s == '.' && !fraction && is_digit(s[1])) {
			fraction = true;
		} else if (!is_digit(*s)) {
			break;
		} else if (*s == '0' && fraction) {
			zeros++;
		} else {
			for (; ret == 0 && zeros > 0; zeros--)
				ret = decimal_push(d, 0, true);
			if (ret == 0)
				ret = decimal_push(d, (unsigned)(*s - '0'), fraction);
		}
	}
	d->rest = s;
	return ret;
}

static u128 pow10_u128(unsigned n)
{
	u128 v = 1;

	while (n-- > 0)
		v *= 10;
	return v;
}

int parse_u64(const char *s, uint64_t min, uint64_t max, uint64_t *out, struct err *e)
{
	uint64_t v = 0;
	const char *p = s;

	if (!is_digit(*p) || (*p == '0' && is_digit(p[1])))
		goto bad;
	for (; is_digit(*p); p++) {
		uint64_t digit = (uint64_t)(*p - '0');
		if (v > (UINT64_MAX - digit) / 10)
			goto range;
		v = v * 10 + digit;
	}
	if (*p != '\0')
		goto bad;
	if (v < min || v > max)
		goto range;
	*out = v;
	return 0;
bad:
	return refuse(e, EINVAL, "number", s,
		      "expected a whole number from %" PRIu64 " to %" PRIu64, min, max);
range:
	return refuse(e, ERANGE, "number", s,
		      "expected a whole number from %" PRIu64 " to %" PRIu64, min, max);
}

struct suffix {
	const char *text;
	unsigned exponent; // of ten
};

// What stands behind the number of a rate: k, M or G, then what it counts.
static int rate_unit(const char *s, unsigned *exponent, struct rate *unit)
{
	static const struct suffix prefix[] = { { "k", 3 }, { "K", 3 }, { "M", 6 }, { "G", 9 } };
	static const struct {
		const char *text;
		struct rate rate; // the one that is 1 is what is counted
	} word[] = {
		{ "", { .pps = 1 } },
		{ "pps", { .pps = 1 } },
		{ "bps", { .bps = 1 } },
		{ "b/s", { .bps = 1 } },
		{ "bpsL1", { .bps = 1 } },
		{ "b/sL1", { .bps = 1 } },
		{ "bpsL2", { .bps = 1, .l2 = true } },
		{ "b/sL2", { .bps = 1, .l2 = true } },
	};

	*exponent = 0;
	for (size_t i = 0; i < sizeof(prefix) / sizeof(prefix[0]); i++)
		if (s[0] == prefix[i].text[0]) {
			*exponent = prefix[i].exponent;
			s++;
			break;
		}
	for (size_t i = 0; i < sizeof(word) / sizeof(word[0]); i++)
		if (strcmp(s, word[i].text) == 0) {
			*unit = word[i].rate;
			return 0;
		}
	return -EINVAL;
}

int parse_rate(const char *s, struct rate *out, struct err *e)
{
	static const char form[] = "expected packets/s with k, M or G, bits/s as 1Gbps, or 'max'";
	struct rate unit;
	unsigned up;

	if (strcmp(s, "max") == 0) {
		*out = (struct rate){ .max = true };
		return 0;
	}
	if (s[0] == '-' && is_digit(s[1]))
		return refuse(e, ERANGE, "rate", s, "%s; it cannot be negative", form);

	struct decimal d;
	int ret = decimal_scan(s, &d);
	if (ret == -ERANGE)
		return refuse(e, ERANGE, "rate", s, "%s; at most 18 digits", form);
	if (ret < 0 || rate_unit(d.rest, &up, &unit) < 0)
		return refuse(e, EINVAL, "rate", s, "%s", form);
	// powers of ten up to 10^22 are exact in a double: one rounding only
	unsigned down = d.frac_digits;
	double v = up >= down ? (double)d.mantissa * (double)pow10_u128(up - down)
			      : (double)d.mantissa / (double)pow10_u128(down - up);
	if (unit.bps > 0 && v > RATE_MAX_BPS)
		return refuse(e, ERANGE, "rate", s, "expected at most 10000Gbps");
	if (unit.pps > 0 && v > RATE_MAX_PPS)
		return refuse(e, ERANGE, "rate", s, "expected at most 10G packets/s");
	*out = (struct rate){ .pps = v * unit.pps, .bps = v * unit.bps, .l2 = unit.l2 };
	return 0;
}

int parse_duration_ns(const char *s, uint64_t *out_ns, struct err *e)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} unit[] = {
		{ "", 1000000000 }, { "s", 1000000000 },  { "ms", 1000000 },
		{ "us", 1000 },	    { "m", 60000000000 }, { "h", 3600000000000 },
	};
	static const char form[] = "expected seconds, or a number with us, ms, s, m or h";

	if (s[0] == '-' && is_digit(s[1]))
		return refuse(e, ERANGE, "duration", s, "%s; it cannot be negative", form);

	struct decimal d;
	int ret = decimal_scan(s, &d);
	if (ret == -ERANGE)
		return refuse(e, ERANGE, "duration", s, "expected at most 365 days and 18 digits");
	if (ret < 0)
		return refuse(e, EINVAL, "duration", s, "%s", form);
	for (size_t i = 0; i < sizeof(unit) / sizeof(unit[0]); i++) {
		if (strcmp(d.rest, unit[i].text) != 0)
			continue;
		u128 scaled = (u128)d.mantissa * unit[i].ns, div = pow10_u128(d.frac_digits);
		if (scaled % div != 0)
			return refuse(e, ERANGE, "duration", s, "expected whole nanoseconds");
		if (scaled / div > DURATION_MAX_NS)
			return refuse(e, ERANGE, "duration", s, "expected at most 365 days");
		*out_ns = (uint64_t)(scaled / div);
		return 0;
	}
	return refuse(e, EINVAL, "duration", s, "%s", form);
}

// 0..max without leading zeros, at most four digits; NULL when s does not begin with one.
static const char *small_scan(const char *s, unsigned max, unsigned *out)
{
	unsigned v = 0, digits = 0;

	for (; is_digit(*s); s++, digits++) {
		if (digits == 4 || (digits > 0 && v == 0))
			return NULL;
		v = v * 10 + (unsigned)(*s - '0');
	}
	if (digits == 0 || v > max)
		return NULL;
	*out = v;
	return s;
}

static const char *ip4_scan(const char *s, uint32_t *out)
{
	uint32_t addr = 0;

	for (int i = 0; i < 4; i++) {
		unsigned octet;
		if (i > 0 && *s++ != '.')
			return NULL;
		s = small_scan(s, 255, &octet);
		if (s == NULL)
			return NULL;
		addr = addr << 8 | octet;
	}
	*out = addr;
	return s;
}

int parse_ip4(const char *s, uint32_t *out, struct err *e)
{
	uint32_t addr;
	const char *end = ip4_scan(s, &addr);

	if (end == NULL || *end != '\0')
		return refuse(e, EINVAL, "address", s, "expected IPv4, as 198.18.0.1");
	*out = addr;
	return 0;
}

int parse_ip4_prefix(const char *s, uint32_t *addr, unsigned *prefix_len, struct err *e)
{
	uint32_t a;
	unsigned len = 0;
	const char *end = ip4_scan(s, &a);

	if (end != NULL && *end == '\0')
		return refuse(e, EINVAL, "address", s,
			      "the prefix length is missing: expected as %.*s/24", 15, s);
	if (end != NULL && *end == '/')
		end = small_scan(end + 1, 32, &len);
	else
		end = NULL;
	if (end == NULL || *end != '\0' || len == 0)
		return refuse(e, EINVAL, "address", s,
			      "expected IPv4 and a prefix length from 1 to 32, as 198.18.0.1/24");
	*addr = a;
	*prefix_len = len;
	return 0;
}

static int hex_digit(char c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int parse_mac(const char *s, uint8_t out[6], struct err *e)
{
	static const char form[] = "expected six pairs of hex digits, as 52:54:00:12:34:56";
	uint8_t mac[6];

	if (strlen(s) != 17)
		return refuse(e, EINVAL, "MAC", s, "%s", form);
	for (int i = 0; i < 6; i++) {
		int hi = hex_digit(s[3 * i]), lo = hex_digit(s[3 * i + 1]);
		if (hi < 0 || lo < 0 || s[3 * i + 2] != (i < 5 ? ':' : '\0'))
			return refuse(e, EINVAL, "MAC", s, "%s", form);
		mac[i] = (uint8_t)(hi << 4 | lo);
	}
	memcpy(out, mac, sizeof(mac));
	return 0;
}

static bool has_cpu(const uint16_t *id, size_t n, unsigned cpu)
{
	for (size_t i = 0; i < n; i++)
		if (id[i] == cpu)
			return true;
	return false;
}

int parse_cpulist(const char *s, uint16_t *out, size_t cap, size_t *n, struct err *e)
{
	static const char form[] = "expected CPU numbers and ranges, as 0-3,8";
	const char *p = s;
	size_t count = 0;

	for (;;) {
		unsigned first, last;
		p = small_scan(p, CPU_ID_MAX, &first);
		last = first;
		if (p != NULL && *p == '-')
			p = small_scan(p + 1, CPU_ID_MAX, &last);
		if (p == NULL || (*p != ',' && *p != '\0'))
			return refuse(e, EINVAL, "CPU list", s, "%s", form);
		if (last < first)
			return refuse(e, EINVAL, "CPU list", s, "the range %u-%u runs backwards",
				      first, last);
		for (unsigned cpu = first; cpu <= last; cpu++) {
			if (has_cpu(out, count, cpu))
				return refuse(e, EINVAL, "CPU list", s, "CPU %u is there twice",
					      cpu);
			if (count == cap)
				return refuse(e, ERANGE, "CPU list", s, "expected at most %zu CPUs",
					      cap);
			out[count++] = (uint16_t)cpu;
		}
		if (*p++ == '\0')
			break;
	}
	*n = count;
	return 0;
}

int parse_bool(const char *s, bool *out, struct err *e)
{
	static const char *const word[] = { "false", "true", "no", "yes", "off", "on" };

	for (size_t i = 0; i < sizeof(word) / sizeof(word[0]); i++)
		if (strcmp(s, word[i]) == 0) {
			*out = i % 2 == 1;
			return 0;
		}
	return refuse(e, EINVAL, "value", s, "expected true or false, yes or no, on or off");
}

char *ip4_str(uint32_t addr, char *buf, size_t size)
{
	snprintf(buf, size, "%u.%u.%u.%u", addr >> 24, addr >> 16 & 255, addr >> 8 & 255,
		 addr & 255);
	return buf;
}

#include "table.h"

#include "summary.h"
#include "units.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const double power10[] = { 1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9 };

// Fifteen digits survive the way to a double and back, and a multiplication on it. What needs more
// stays as it is and is printed in full.
#define EXACT_MAX 1e15

// v in units of the last decimal, where that is exact: so that what is rounded here, printed and
// read back is the same double.
static bool scaled(double v, unsigned decimals, int64_t *out)
{
	double n = round(v * power10[decimals]);

	if (!(fabs(n) < EXACT_MAX))
		return false;
	*out = (int64_t)n;
	return true;
}

static struct cell cell_of(const struct column *c, const void *ctx, const char *item)
{
	const void *at = item + c->offset;

	switch (c->source) {
	case SOURCE_MAKE:
		return c->make(ctx, item);
	case SOURCE_U32:
		return cell_count(*(const uint32_t *)at);
	case SOURCE_U64:
		return cell_count(*(const uint64_t *)at);
	case SOURCE_I64:
		return cell_int(*(const int64_t *)at);
	case SOURCE_DOUBLE:
		return cell_real(*(const double *)at / (c->scale > 0 ? c->scale : 1));
	case SOURCE_TEXT:
		return cell_text(at);
	case SOURCE_STRING:
		return cell_text(*(const char *const *)at);
	}
	return (struct cell){ .kind = CELL_NONE };
}

void table_row(const struct table *t, size_t row, struct cell *out)
{
	const char *item = t->item + (t->order != NULL ? t->order[row] : row) * t->item_bytes;
	int64_t n;

	for (size_t i = 0; i < t->columns; i++) {
		out[i] = cell_of(&t->column[i], t->ctx, item);
		if (out[i].kind == CELL_REAL && scaled(out[i].real, t->column[i].decimals, &n))
			out[i].real = (double)n / power10[t->column[i].decimals];
	}
}

size_t table_find(const struct table *t, const char *key)
{
	for (size_t i = 0; i < t->columns; i++)
		if (strcmp(t->column[i].key, key) == 0)
			return i;
	return SIZE_MAX;
}

struct cell cell_text(const char *s)
{
	if (s == NULL || s[0] == '\0')
		return (struct cell){ .kind = CELL_NONE };
	return (struct cell){ .kind = CELL_TEXT, .text = s };
}

struct cell cell_count(uint64_t v)
{
	if (v == COUNTER_UNKNOWN)
		return (struct cell){ .kind = CELL_NONE };
	return (struct cell){ .kind = CELL_COUNT, .count = v };
}

struct cell cell_int(int64_t v)
{
	if (v == LOSS_UNKNOWN)
		return (struct cell){ .kind = CELL_NONE };
	return (struct cell){ .kind = CELL_INT, .integer = v };
}

struct cell cell_real(double v)
{
	if (!isfinite(v))
		return (struct cell){ .kind = CELL_NONE };
	return (struct cell){ .kind = CELL_REAL, .real = v };
}

struct cell cell_bool(bool v)
{
	return (struct cell){ .kind = CELL_BOOL, .yes = v };
}

static double cell_value(const struct cell *cell)
{
	if (cell->kind == CELL_COUNT)
		return (double)cell->count;
	return cell->kind == CELL_INT ? (double)cell->integer : cell->real;
}

// A share that is not exactly none or all is not shown as if it were.
static void pct_str(double v, unsigned decimals, char *buf, size_t size)
{
	double step = 1 / power10[decimals];

	if (v == 0 || v == 100)
		snprintf(buf, size, "%.0f", v);
	else if (fabs(v) <= step / 2)
		snprintf(buf, size, "%s%.*f", v < 0 ? ">-" : "<", (int)decimals, step);
	else if (v < 100 && v >= 100 - step / 2)
		snprintf(buf, size, ">%.*f", (int)decimals, 100 - step);
	else
		snprintf(buf, size, "%.*f", (int)decimals, v);
}

static void grouped_str(const struct cell *cell, char *buf, size_t size)
{
	if (cell->kind != CELL_INT) {
		count_str(cell->count, buf, size);
		return;
	}
	uint64_t magnitude =
		cell->integer < 0 ? 0 - (uint64_t)cell->integer : (uint64_t)cell->integer;
	buf[0] = '-';
	count_str(magnitude, buf + (cell->integer < 0), size - 1);
}

const char *cell_str(const struct column *c, const struct cell *cell, char *buf, size_t size)
{
	buf[0] = '\0';
	if (cell->kind == CELL_NONE)
		return buf;
	if (cell->kind == CELL_TEXT)
		return cell->text;
	switch (c->form) {
	case FORM_TEXT:
		return cell_plain(c, cell, buf, size);
	case FORM_COUNT:
		grouped_str(cell, buf, size);
		break;
	case FORM_REAL:
		snprintf(buf, size, "%.*f", c->text_decimals, cell_value(cell));
		break;
	case FORM_SI:
		si_str(cell_value(cell), buf, size);
		break;
	case FORM_MBPS:
		si_str(cell_value(cell) * 1e6, buf, size);
		break;
	case FORM_GBPS:
		si_str(cell_value(cell) * 1e9, buf, size);
		break;
	case FORM_US:
		ns_str(cell_value(cell) * 1e3, buf, size);
		break;
	case FORM_PCT:
		pct_str(cell_value(cell), c->text_decimals, buf, size);
		break;
	case FORM_BOOL:
		snprintf(buf, size, "%s", cell->yes ? "yes" : "no");
		break;
	}
	return buf;
}

const char *cell_unit_str(const struct column *c, const struct cell *cell, char *buf, size_t size)
{
	const char *s = cell_str(c, cell, buf, size);
	size_t len = strlen(s);

	if (cell->kind == CELL_NONE) {
		snprintf(buf, size, "-");
		return buf;
	}
	if (s != buf || c->unit == NULL)
		return s;
	// an SI prefix stands before its unit without a space: 1.23 Mpps
	bool prefix = len > 0 && strchr("kMGT", s[len - 1]) != NULL;
	snprintf(buf + len, size - len, "%s%s", prefix ? "" : " ", c->unit);
	return buf;
}

// Digits of n, right to left from `end`; returns where they begin.
static char *digits_before(char *end, uint64_t n)
{
	do {
		*--end = (char)('0' + n % 10);
		n /= 10;
	} while (n > 0);
	return end;
}

static const char *real_plain(double v, unsigned decimals, char *buf, size_t size)
{
	char *end = buf + size - 1, *at;
	int64_t n;

	if (!scaled(v, decimals, &n)) {
		snprintf(buf, size, "%.17g", v);
		return buf;
	}
	uint64_t u = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
	while (decimals > 0 && u % 10 == 0) {
		u /= 10;
		decimals--;
	}
	*end = '\0';
	at = end;
	if (decimals > 0) {
		for (; decimals > 0; decimals--, u /= 10)
			*--at = (char)('0' + u % 10);
		*--at = '.';
	}
	at = digits_before(at, u);
	if (n < 0)
		*--at = '-';
	return at;
}

const char *cell_plain(const struct column *c, const struct cell *cell, char *buf, size_t size)
{
	switch (cell->kind) {
	case CELL_NONE:
		return "";
	case CELL_TEXT:
		return cell->text;
	case CELL_COUNT:
		buf[size - 1] = '\0';
		return digits_before(buf + size - 1, cell->count);
	case CELL_INT:
		snprintf(buf, size, "%" PRId64, cell->integer);
		return buf;
	case CELL_REAL:
		return real_plain(cell->real, c->decimals, buf, size);
	case CELL_BOOL:
		return cell->yes ? "true" : "false";
	}
	return "";
}

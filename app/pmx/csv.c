#include "csv.h"

#define SHOW_MAX 60

bool csv_line_ended(const struct csv *c)
{
	return c->at == c->end || *c->at == '\n';
}

void csv_step(struct csv *c)
{
	c->at++;
	c->pos.col++;
}

void csv_line_next(struct csv *c)
{
	while (!csv_line_ended(c))
		c->at++;
	if (c->at < c->end)
		c->at++;
	c->pos = (struct pos){ .line = c->pos.line + 1, .col = 1 };
}

static int field_add(struct csv *c, size_t *len, struct err *e)
{
	if (*len + 1 == sizeof(c->field) || *c->at == '\0')
		return pos_fail(c->file, c->where, e,
				"field '%.*s...': expected a name or a rate, without NUL bytes",
				SHOW_MAX, c->field);
	c->field[(*len)++] = *c->at;
	c->field[*len] = '\0';
	csv_step(c);
	return 0;
}

bool csv_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

// `at` is behind the opening quote; "" within is a quote.
static int quoted_read(struct csv *c, struct err *e)
{
	bool closed = false;
	size_t len = 0;
	int ret = 0;

	while (ret == 0 && !closed && !csv_line_ended(c)) {
		if (*c->at == '"') {
			csv_step(c);
			closed = csv_line_ended(c) || *c->at != '"';
		}
		if (!closed)
			ret = field_add(c, &len, e);
	}
	if (ret < 0)
		return ret;
	if (!closed)
		return pos_fail(c->file, c->where, e,
				"the quote of this field is not closed in its line");
	while (!csv_line_ended(c) && csv_blank(*c->at))
		csv_step(c);
	if (!csv_line_ended(c) && *c->at != ',')
		return pos_fail(c->file, c->pos, e,
				"'%.1s' behind a quoted field: expected a comma", c->at);
	return 0;
}

// The next field of the line, without the blanks around it, and the comma behind it. *more says
// whether there was one.
int csv_field(struct csv *c, bool *more, struct err *e)
{
	size_t len = 0;
	int ret = 0;

	while (!csv_line_ended(c) && csv_blank(*c->at))
		csv_step(c);
	c->where = c->pos;
	c->field[0] = '\0';
	if (!csv_line_ended(c) && *c->at == '"') {
		csv_step(c);
		ret = quoted_read(c, e);
	} else {
		while (ret == 0 && !csv_line_ended(c) && *c->at != ',')
			ret = field_add(c, &len, e);
		while (len > 0 && csv_blank(c->field[len - 1]))
			c->field[--len] = '\0';
	}
	*more = !csv_line_ended(c);
	if (*more)
		csv_step(c);
	return ret;
}

#include "export.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS_MAX 64
#define IGNORED SIZE_MAX

// Splits a line in place; returns how many fields there are, of which at most FIELDS_MAX are set.
static size_t split(char *line, char *field[FIELDS_MAX])
{
	size_t n = 0;

	for (char *at = line; at != NULL; n++) {
		if (n < FIELDS_MAX)
			field[n] = at;
		at = strchr(at, ',');
		if (at != NULL)
			*at++ = '\0';
	}
	return n;
}

// Names of the head to columns. A column that a later agent may have and this table has not is left
// out.
static size_t read_head(char *line, size_t column[FIELDS_MAX])
{
	char *field[FIELDS_MAX];
	size_t n = split(line, field);

	for (size_t i = 0; i < n && i < FIELDS_MAX; i++) {
		column[i] = IGNORED;
		for (size_t c = 0; c < export_columns; c++)
			if (strcmp(export_column[c].column.key, field[i]) == 0)
				column[i] = c;
	}
	return n;
}

static int set_field(struct export_row *row, const struct column *c, const char *text)
{
	void *at = (char *)row + c->offset;
	char *end;

	if (text[0] == '\0')
		return 0;
	if (c->source == SOURCE_STRING) {
		*(const char **)at = text;
		return 0;
	}
	// a negative loss is one; no name, no hexadecimal number
	if (text[strspn(text, "-0123456789.")] != '\0' || c->source != SOURCE_DOUBLE)
		return -EINVAL;
	double v = strtod(text, &end);
	if (*end != '\0' || !isfinite(v))
		return -EINVAL;
	*(double *)at = v;
	return 0;
}

static int read_row(char *line, const size_t *column, size_t fields, struct export_row *row,
		    struct err *e)
{
	char *field[FIELDS_MAX];
	size_t n = split(line, field);

	if (n != fields)
		return err_set(e, EINVAL, "%zu fields, expected %zu as in the first line", n,
			       fields);
	*row = export_blank;
	for (size_t i = 0; i < n; i++) {
		if (column[i] == IGNORED)
			continue;
		const struct column *c = &export_column[column[i]].column;
		if (set_field(row, c, field[i]) < 0)
			return err_set(e, EINVAL, "%s '%.40s': expected a number", c->key,
				       field[i]);
	}
	row->row = "sample";
	return 0;
}

int export_samples(char *text, const char *path, export_each each, void *arg, struct err *e)
{
	size_t column[FIELDS_MAX], fields = 0, number = 0;
	int rc = 0;

	for (char *end; rc >= 0 && (end = strchr(text, '\n')) != NULL; text = end + 1) {
		struct export_row row;

		*end = '\0';
		if (number++ == 0) {
			fields = read_head(text, column);
			if (fields > FIELDS_MAX)
				rc = err_set(e, E2BIG, "%zu columns, at most %d are read", fields,
					     FIELDS_MAX);
		} else {
			rc = read_row(text, column, fields, &row, e);
		}
		if (rc < 0)
			return err_wrap(e, "%s:%zu", path, number);
		if (number > 1)
			rc = each(&row, arg, e);
	}
	return rc;
}

#include "export.h"

#include "json_put.h"

struct export_text {
	void (*head)(FILE *f, const struct table *t);
	void (*row)(FILE *f, const struct table *t, const struct cell *cell);
};

// A table of one row: the export's columns on that item.
static struct table table_of(struct column column[COLUMNS_MAX], const struct export_row *row)
{
	for (size_t c = 0; c < export_columns; c++)
		column[c] = export_column[c].column;
	return (struct table){
		.key = "export",
		.column = column,
		.columns = export_columns,
		.rows = 1,
		.item = (const char *)row,
		.item_bytes = sizeof(*row),
	};
}

static void ndjson_row(FILE *f, const struct table *t, const struct cell *cell)
{
	struct json_put j = { .f = f };

	json_put_row(&j, t, cell);
	fputc('\n', f);
}

static void tsv_head(FILE *f, const struct table *t)
{
	for (size_t c = 0; c < t->columns; c++)
		fprintf(f, "%s%s", c > 0 ? "\t" : "", t->column[c].key);
	fputc('\n', f);
}

// A tab or a line's end cannot stand in a field.
static void tsv_field(FILE *f, const char *s)
{
	for (; *s != '\0'; s++) {
		if (*s == '\t')
			fputs("\\t", f);
		else if (*s == '\n')
			fputs("\\n", f);
		else if (*s == '\r')
			fputs("\\r", f);
		else if (*s == '\\')
			fputs("\\\\", f);
		else
			putc_unlocked(*s, f);
	}
}

static void tsv_row(FILE *f, const struct table *t, const struct cell *cell)
{
	char buf[CELL_TEXT_MAX];

	for (size_t c = 0; c < t->columns; c++) {
		if (c > 0)
			putc_unlocked('\t', f);
		tsv_field(f, cell_plain(&t->column[c], &cell[c], buf, sizeof(buf)));
	}
	putc_unlocked('\n', f);
}

const struct export_text export_ndjson = { .row = ndjson_row };
const struct export_text export_tsv = { .head = tsv_head, .row = tsv_row };

void export_text_head(FILE *f, const struct export_text *text)
{
	struct column column[COLUMNS_MAX];
	const struct table t = table_of(column, &export_blank);

	if (text->head != NULL)
		text->head(f, &t);
}

void export_text_row(FILE *f, const struct export_text *text, const struct export_row *row)
{
	struct column column[COLUMNS_MAX];
	struct cell cell[COLUMNS_MAX];
	const struct table t = table_of(column, row);

	table_row(&t, 0, cell);
	text->row(f, &t, cell);
}

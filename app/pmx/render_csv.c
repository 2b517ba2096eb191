#include "render.h"

#include "table.h"

#include <string.h>

// RFC 4180: quoted where it must be.
static void put_field(FILE *f, const char *s)
{
	if (strpbrk(s, ",\"\r\n") == NULL) {
		fputs(s, f);
		return;
	}
	fputc('"', f);
	for (; *s != '\0'; s++) {
		if (*s == '"')
			fputc('"', f);
		fputc(*s, f);
	}
	fputc('"', f);
}

void render_table_csv(FILE *f, const struct table *t)
{
	struct cell cell[COLUMNS_MAX];
	char buf[CELL_TEXT_MAX];

	for (size_t c = 0; c < t->columns; c++) {
		const struct column *col = &t->column[c];
		fprintf(f, "%s%s", c > 0 ? "," : "", col->csv != NULL ? col->csv : col->key);
	}
	fputc('\n', f);
	for (size_t r = 0; r < t->rows; r++) {
		table_row(t, r, cell);
		for (size_t c = 0; c < t->columns; c++) {
			if (c > 0)
				fputc(',', f);
			put_field(f, cell_plain(&t->column[c], &cell[c], buf, sizeof(buf)));
		}
		fputc('\n', f);
	}
}

#include "text.h"

#include "render.h"
#include "table.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LABEL_WIDTH 12

static const char *const style_code[TEXT_STYLES] = {
	[TEXT_BOLD] = "\033[1m",
	[TEXT_GOOD] = "\033[32m",
	[TEXT_BAD] = "\033[31m",
};

bool report_colour(FILE *f)
{
	const char *term = getenv("TERM"), *no = getenv("NO_COLOR");

	return isatty(fileno(f)) && term != NULL && strcmp(term, "dumb") != 0 &&
	       (no == NULL || no[0] == '\0');
}

void text_begin(FILE *f, enum text_style style, bool colour)
{
	if (colour)
		fputs(style_code[style], f);
}

void text_end(FILE *f, enum text_style style, bool colour)
{
	(void)style;
	if (colour)
		fputs("\033[0m", f);
}

void text_label(FILE *f, const char *label, bool colour)
{
	text_begin(f, TEXT_BOLD, colour);
	fputs(label, f);
	text_end(f, TEXT_BOLD, colour);
	fprintf(f, "%*s", LABEL_WIDTH - (int)strlen(label), "");
}

void text_wrapped(FILE *f, const char *lead, const char *text)
{
	size_t indent = strlen(lead), at = indent;

	fputs(lead, f);
	while (*text != '\0') {
		size_t word = strcspn(text, " ");
		bool first = at == indent;

		if (!first && at + 1 + word > TEXT_WIDTH) {
			fprintf(f, "\n%*s", (int)indent, "");
			at = indent;
			first = true;
		}
		if (!first)
			fputc(' ', f);
		fwrite(text, 1, word, f);
		at += word + !first;
		text += word;
		text += strspn(text, " ");
	}
	fputc('\n', f);
}

void text_vappend(char *buf, size_t size, const char *fmt, va_list ap)
{
	size_t len = strlen(buf);

	if (len + 1 < size)
		vsnprintf(buf + len, size - len, fmt, ap);
}

void text_append(char *buf, size_t size, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	text_vappend(buf, size, fmt, ap);
	va_end(ap);
}

// Columns on screen of UTF-8 text: its bytes but the continuation bytes.
static int shown_width(const char *s)
{
	int n = 0;

	for (; *s != '\0'; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

// One line of a table, made cell by cell. Spaces are put when something follows them, so that no
// line ends in any.
struct row_line {
	FILE *f;
	int owed; // spaces
};

static void put_cell(struct row_line *l, const char *s, int width, bool left)
{
	int pad = width - shown_width(s);

	l->owed += 2 + (left ? 0 : pad);
	if (*s == '\0') {
		l->owed += left ? pad : 0;
		return;
	}
	fprintf(l->f, "%*s%s", l->owed, "", s);
	l->owed = left ? pad : 0;
}

// What of a table the text shows: columns in order, and how wide over the rows.
struct view {
	size_t column[COLUMNS_MAX];
	int width[COLUMNS_MAX];
	size_t columns;
};

static void choose(const struct table *t, struct view *v)
{
	v->columns = 0;
	for (size_t i = 0; t->shown != NULL && t->shown[i] != NULL; i++)
		v->column[v->columns++] = table_find(t, t->shown[i]);
	for (size_t c = 0; t->shown == NULL && c < t->columns; c++)
		if (t->column[c].title != NULL)
			v->column[v->columns++] = c;
	memset(v->width, 0, sizeof(v->width));
}

// A column in which no row has a value is left out.
static void measure(const struct table *t, struct view *v)
{
	struct cell cell[COLUMNS_MAX];
	char buf[CELL_TEXT_MAX];

	choose(t, v);
	for (size_t r = 0; r < t->rows; r++) {
		table_row(t, r, cell);
		for (size_t i = 0; i < v->columns; i++) {
			size_t c = v->column[i];
			int w = shown_width(cell_str(&t->column[c], &cell[c], buf, sizeof(buf)));
			v->width[i] = w > v->width[i] ? w : v->width[i];
		}
	}
	for (size_t i = 0; i < v->columns; i++) {
		int w = shown_width(t->column[v->column[i]].title);
		if (v->width[i] > 0 && v->width[i] < w)
			v->width[i] = w;
	}
}

static void put_row(FILE *f, const struct table *t, const struct view *v, const struct cell *cell)
{
	struct row_line line = { .f = f };
	char buf[CELL_TEXT_MAX];

	for (size_t i = 0; i < v->columns; i++) {
		const struct column *c = &t->column[v->column[i]];
		const char *s = cell == NULL ? c->title
					     : cell_str(c, &cell[v->column[i]], buf, sizeof(buf));
		if (v->width[i] > 0)
			put_cell(&line, s, v->width[i], c->left);
	}
	fputc('\n', f);
}

void render_table_text(FILE *f, const struct table *t, bool colour)
{
	struct cell cell[COLUMNS_MAX];
	struct view v;

	measure(t, &v);
	if (t->title != NULL) {
		text_begin(f, TEXT_BOLD, colour);
		fputs(t->title, f);
		text_end(f, TEXT_BOLD, colour);
		fputc('\n', f);
	}
	put_row(f, t, &v, NULL);
	for (size_t r = 0; r < t->rows; r++) {
		table_row(t, r, cell);
		put_row(f, t, &v, cell);
	}
}

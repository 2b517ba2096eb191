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

static void put_padded(FILE *f, const char *s, int width, bool left)
{
	int pad = width - shown_width(s);

	if (left)
		fprintf(f, "%s%*s", s, pad, "");
	else
		fprintf(f, "%*s%s", pad, "", s);
}

// How wide each column is over the rows shown; 0 = not shown, because it has no title or no cell
// with a value.
static void measure(const struct table *t, int *width)
{
	struct cell cell[COLUMNS_MAX];
	char buf[CELL_TEXT_MAX];

	memset(width, 0, t->columns * sizeof(*width));
	for (size_t r = 0; r < t->rows; r++) {
		table_row(t, r, cell);
		for (size_t c = 0; c < t->columns; c++) {
			if (t->column[c].title == NULL)
				continue;
			int w = shown_width(cell_str(&t->column[c], &cell[c], buf, sizeof(buf)));
			width[c] = w > width[c] ? w : width[c];
		}
	}
	for (size_t c = 0; c < t->columns; c++)
		if (width[c] > 0 && shown_width(t->column[c].title) > width[c])
			width[c] = shown_width(t->column[c].title);
}

void render_table_text(FILE *f, const struct table *t, bool colour)
{
	struct cell cell[COLUMNS_MAX];
	char buf[CELL_TEXT_MAX];
	int width[COLUMNS_MAX];

	measure(t, width);
	if (t->title != NULL) {
		text_begin(f, TEXT_BOLD, colour);
		fputs(t->title, f);
		text_end(f, TEXT_BOLD, colour);
		fputc('\n', f);
	}
	for (size_t c = 0; c < t->columns; c++) {
		if (width[c] == 0)
			continue;
		fputs("  ", f);
		put_padded(f, t->column[c].title, width[c], t->column[c].left);
	}
	fputc('\n', f);
	for (size_t r = 0; r < t->rows; r++) {
		table_row(t, r, cell);
		for (size_t c = 0; c < t->columns; c++) {
			if (width[c] == 0)
				continue;
			fputs("  ", f);
			put_padded(f, cell_str(&t->column[c], &cell[c], buf, sizeof(buf)), width[c],
				   t->column[c].left);
		}
		fputc('\n', f);
	}
}

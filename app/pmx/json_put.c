#include "json_put.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

// Length of the UTF-8 sequence at s (RFC 3629), 0 when it is none.
static size_t utf8_length(const unsigned char *s)
{
	size_t n = s[0] < 0x80	 ? 1
		   : s[0] < 0xc2 ? 0
		   : s[0] < 0xe0 ? 2
		   : s[0] < 0xf0 ? 3
		   : s[0] < 0xf5 ? 4
				 : 0;

	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	// overlong, surrogates, beyond U+10FFFF
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

// What cannot stand in a string as it is; returns how many bytes of it that was.
static size_t put_escaped(FILE *f, const unsigned char *s)
{
	size_t n = utf8_length(s);

	if (n == 0)
		fputs("\\ufffd", f);
	else if (*s == '"' || *s == '\\')
		fprintf(f, "\\%c", *s);
	else if (n == 1)
		fprintf(f, "\\u%04x", *s);
	else
		fwrite(s, 1, n, f);
	return n > 0 ? n : 1;
}

// What hosts say may be any bytes; the JSON stays valid.
static void put_string(FILE *f, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	putc_unlocked('"', f);
	while (*s != '\0') {
		size_t n = 0;

		while (is_plain(s[n]))
			n++;
		fwrite_unlocked(s, 1, n, f);
		s += n;
		if (*s != '\0')
			s += put_escaped(f, s);
	}
	putc_unlocked('"', f);
}

static void new_line(struct json_put *j)
{
	fprintf(j->f, "\n%*s", (int)(2 * j->depth), "");
}

// What stands between the last thing and the next.
static void separate(struct json_put *j)
{
	if (j->keyed) {
		j->keyed = false;
		return;
	}
	if (j->some)
		fputs_unlocked(j->inside ? ", " : ",", j->f);
	if (j->depth > 0 && !j->inside)
		new_line(j);
	j->some = true;
}

void json_put_begin(struct json_put *j, char bracket)
{
	separate(j);
	fputc(bracket, j->f);
	j->depth++;
	j->some = false;
}

void json_put_end(struct json_put *j, char bracket)
{
	j->depth--;
	if (j->some && !j->inside)
		new_line(j);
	fputc(bracket, j->f);
	j->some = true;
}

void json_put_key(struct json_put *j, const char *key)
{
	separate(j);
	put_string(j->f, key);
	fputs_unlocked(": ", j->f);
	j->keyed = true;
}

static void put_raw(struct json_put *j, const char *key, const char *raw)
{
	json_put_key(j, key);
	j->keyed = false;
	fputs_unlocked(raw, j->f);
}

void json_put_null(struct json_put *j, const char *key)
{
	put_raw(j, key, "null");
}

void json_put_bool(struct json_put *j, const char *key, bool v)
{
	put_raw(j, key, v ? "true" : "false");
}

void json_put_count(struct json_put *j, const char *key, uint64_t v)
{
	char buf[24];

	snprintf(buf, sizeof(buf), "%" PRIu64, v);
	put_raw(j, key, buf);
}

void json_put_real(struct json_put *j, const char *key, double v)
{
	char buf[32];

	snprintf(buf, sizeof(buf), "%.15g", v);
	put_raw(j, key, isfinite(v) ? buf : "null");
}

void json_put_text(struct json_put *j, const char *key, const char *s)
{
	if (s[0] == '\0') {
		json_put_null(j, key);
		return;
	}
	json_put_key(j, key);
	j->keyed = false;
	put_string(j->f, s);
}

void json_put_row(struct json_put *j, const struct table *t, const struct cell *cell)
{
	char buf[CELL_TEXT_MAX];

	json_put_begin(j, '{');
	j->inside = true;
	for (size_t c = 0; c < t->columns; c++) {
		const char *key = t->column[c].key;

		if (cell[c].kind == CELL_TEXT)
			json_put_text(j, key, cell[c].text);
		else if (cell[c].kind == CELL_NONE)
			json_put_null(j, key);
		else
			put_raw(j, key, cell_plain(&t->column[c], &cell[c], buf, sizeof(buf)));
	}
	json_put_end(j, '}');
	j->inside = false;
}

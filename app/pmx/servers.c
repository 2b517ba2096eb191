#include "servers.h"

#include "matrix.h"
#include "pos.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LINE_FORM "expected name[=address[:port]]"
#define BLANKS " \t\r"
#define SHOW_MAX 60

static size_t lines_count(const char *text, size_t len)
{
	size_t n = 1;

	for (size_t i = 0; i < len; i++)
		n += text[i] == '\n';
	return n;
}

static bool copy(char *to, size_t size, const char *from, size_t len)
{
	if (len >= size || memchr(from, '\0', len) != NULL)
		return false;
	memcpy(to, from, len);
	to[len] = '\0';
	return true;
}

// A word of a line, without its comment and the blanks around it.
static int word_parse(const char *file, struct pos pos, const char *word, size_t len,
		      struct server *s, struct err *e)
{
	const char *equals = memchr(word, '=', len);
	size_t name_len = equals == NULL ? len : (size_t)(equals - word);
	int show = (int)(len < SHOW_MAX ? len : SHOW_MAX);

	*s = (struct server){ .line = pos.line };
	// a bare `address:port` is named by its address
	if (equals == NULL && memchr(word, ':', len) != NULL) {
		if (!copy(s->ssh, sizeof(s->ssh), word, len) || !ssh_target_ok(s->ssh))
			return pos_fail(file, pos, e, "server '%.*s': " LINE_FORM, show, word);
		name_len = strcspn(s->ssh, ":");
	}
	if (!copy(s->name, sizeof(s->name), word, name_len) || !host_name_ok(s->name))
		return pos_fail(file, pos, e,
				"server '%.*s': " LINE_FORM "; names are made of " HOST_NAME_FORM,
				show, word);
	if (equals == NULL)
		return 0;
	pos.col += (int)name_len + 1;
	if (!copy(s->ssh, sizeof(s->ssh), equals + 1, len - name_len - 1) || !ssh_target_ok(s->ssh))
		return pos_fail(
			file, pos, e,
			"address '%.*s' of server '%s': expected [user@]address[:port], the "
			"port from 1 to 65535",
			(int)(len - name_len - 1 < SHOW_MAX ? len - name_len - 1 : SHOW_MAX),
			equals + 1, s->name);
	return 0;
}

static const char *target(const struct server *s)
{
	return s->ssh[0] != '\0' ? s->ssh : s->name;
}

static int by_name(const void *a, const void *b)
{
	const struct server *const *x = a, *const *y = b;
	int c = strcmp((*x)->name, (*y)->name);

	return c != 0 ? c : (*x)->line - (*y)->line;
}

static int by_target(const void *a, const void *b)
{
	const struct server *const *x = a, *const *y = b;
	int c = strcmp(target(*x), target(*y));

	return c != 0 ? c : (*x)->line - (*y)->line;
}

static int twins_refuse(const char *file, const struct servers *s, struct err *e)
{
	const struct server **order = calloc(s->count, sizeof(*order));
	int ret = 0;

	if (order == NULL)
		return err_set(e, ENOMEM, "%s: out of memory", file);
	for (size_t i = 0; i < s->count; i++)
		order[i] = &s->server[i];
	qsort(order, s->count, sizeof(*order), by_name);
	for (size_t i = 1; ret == 0 && i < s->count; i++)
		if (strcmp(order[i - 1]->name, order[i]->name) == 0)
			ret = pos_fail(file, (struct pos){ order[i]->line, 1 }, e,
				       "server '%s' a second time: it stands in line %d; keep one",
				       order[i]->name, order[i - 1]->line);
	qsort(order, s->count, sizeof(*order), by_target);
	for (size_t i = 1; ret == 0 && i < s->count; i++)
		if (strcmp(target(order[i - 1]), target(order[i])) == 0)
			ret = pos_fail(file, (struct pos){ order[i]->line, 1 }, e,
				       "address '%s' a second time: server '%s' in line %d has it; "
				       "expected one agent a machine",
				       target(order[i]), order[i - 1]->name, order[i - 1]->line);
	free(order);
	return ret;
}

static int lines_parse(const char *file, const char *text, size_t len, struct servers *s,
		       struct err *e)
{
	const char *end = text + len;
	struct pos pos = { .line = 1, .col = 1 };

	for (const char *line = text; line < end; pos.line++) {
		const char *eol = memchr(line, '\n', (size_t)(end - line));
		size_t all = (size_t)((eol == NULL ? end : eol) - line), skip, used;

		skip = 0;
		while (skip < all && strchr(BLANKS, line[skip]) != NULL && line[skip] != '\0')
			skip++;
		const char *hash = memchr(line, '#', all);
		used = hash == NULL ? all : (size_t)(hash - line);
		while (used > skip && strchr(BLANKS, line[used - 1]) != NULL &&
		       line[used - 1] != '\0')
			used--;
		if (used > skip) {
			pos.col = (int)skip + 1;
			int ret = word_parse(file, pos, line + skip, used - skip,
					     &s->server[s->count], e);
			if (ret < 0)
				return ret;
			s->count++;
		}
		line += all + 1;
	}
	if (s->count < 2 || s->count > HOSTS_MAX)
		return err_set(e, EINVAL, "%s: %zu servers: expected 2 to %d, one a line", file,
			       s->count, HOSTS_MAX);
	return twins_refuse(file, s, e);
}

int servers_parse(const char *file, const char *text, size_t len, struct servers *s, struct err *e)
{
	int ret;

	*s = (struct servers){ .server = calloc(lines_count(text, len), sizeof(*s->server)) };
	if (s->server == NULL)
		return err_set(e, ENOMEM, "%s: out of memory", file);
	ret = lines_parse(file, text, len, s, e);
	if (ret < 0)
		servers_free(s);
	return ret;
}

void servers_free(struct servers *s)
{
	free(s->server);
	*s = (struct servers){ 0 };
}

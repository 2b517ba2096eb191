#include "facts.h"

#include "parse.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// One record of the answer; false when what stands there is none.
static bool record(const char *line, size_t len, size_t *path_len)
{
	const char *nul = memchr(line, '\0', len);

	if (nul == NULL || nul == line)
		return false;
	*path_len = (size_t)(nul - line);
	return *path_len < FACT_PATH_MAX;
}

static void put(struct facts *f, const char *s, size_t len)
{
	memcpy(f->data + f->len, s, len);
	f->len += len;
}

// data has room for the whole answer, which is never shorter than what is made of it.
static int add(struct facts *f, const char *path, size_t path_len, const char *text,
	       size_t text_len)
{
	struct fact *last = f->count > 0 ? &f->item[f->count - 1] : NULL;

	if (last != NULL && strcmp(last->path, path) == 0) {
		f->data[f->len - 1] = '\n';
	} else {
		if (f->count == FACTS_MAX)
			return -E2BIG;
		f->item[f->count].path = f->data + f->len;
		put(f, path, path_len + 1);
		f->item[f->count++].text = f->data + f->len;
	}
	// a binary file's NULs end its text early
	put(f, text, text_len);
	f->data[f->len++] = '\0';
	return 0;
}

// By path; of one that came twice the first goes first.
static int by_path(const void *a, const void *b)
{
	const struct fact *x = a, *y = b;
	int d = strcmp(x->path, y->path);

	return d != 0 ? d : (x->path > y->path) - (x->path < y->path);
}

static bool is_whole(const struct facts *f)
{
	return f->count > 0 && strcmp(f->item[f->count - 1].path, FACT_END) == 0;
}

int facts_read(const char *answer, size_t len, struct facts *f, struct err *e)
{
	const char *end = answer + len;
	int ret = 0;

	*f = (struct facts){ 0 };
	if (len > FACTS_BYTES_MAX)
		return err_set(e, EINVAL, "an answer of %zu bytes: expected at most %u", len,
			       FACTS_BYTES_MAX);
	f->data = malloc(len + 2);
	f->item = calloc(FACTS_MAX, sizeof(*f->item));
	if (f->data == NULL || f->item == NULL)
		ret = err_set(e, ENOMEM, "out of memory");
	while (ret == 0 && answer < end) {
		const char *nl = memchr(answer, '\n', (size_t)(end - answer));
		size_t n = nl != NULL ? (size_t)(nl - answer) : 0, path_len;

		if (nl == NULL)
			break; // the rest of a line that did not arrive
		if (record(answer, n, &path_len) &&
		    add(f, answer, path_len, answer + path_len + 1, n - path_len - 1) < 0)
			ret = err_set(e, EINVAL, "more than %d facts", FACTS_MAX);
		answer = nl + 1;
	}
	if (ret == 0 && !is_whole(f))
		ret = err_set(e, EINVAL, "the answer stops in the middle");
	if (ret < 0) {
		facts_free(f);
		return ret;
	}
	qsort(f->item, f->count, sizeof(*f->item), by_path);
	return 0;
}

void facts_free(struct facts *f)
{
	free(f->data);
	free(f->item);
	*f = (struct facts){ 0 };
}

static const char *look_up(const struct facts *f, const char *path)
{
	size_t low = 0, high = f->count;

	while (low < high) { // the first that is not before it
		size_t mid = low + (high - low) / 2;

		if (strcmp(f->item[mid].path, path) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low < f->count && strcmp(f->item[low].path, path) == 0 ? f->item[low].text : NULL;
}

static const char *look_upv(const struct facts *f, const char *fmt, va_list ap)
{
	char path[FACT_PATH_MAX];
	int n = vsnprintf(path, sizeof(path), fmt, ap);

	return n > 0 && (size_t)n < sizeof(path) ? look_up(f, path) : NULL;
}

const char *fact(const struct facts *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	const char *text = look_upv(f, fmt, ap);
	va_end(ap);
	return text;
}

bool fact_u64(const struct facts *f, uint64_t *v, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	const char *text = look_upv(f, fmt, ap);
	va_end(ap);
	return text != NULL && parse_u64(text, 0, UINT64_MAX, v, NULL) == 0;
}

bool fact_i64(const struct facts *f, int64_t *v, const char *fmt, ...)
{
	uint64_t u;
	va_list ap;

	va_start(ap, fmt);
	const char *text = look_upv(f, fmt, ap);
	va_end(ap);
	bool minus = text != NULL && text[0] == '-';
	if (text == NULL || parse_u64(text + minus, 0, INT64_MAX, &u, NULL) < 0)
		return false;
	*v = minus ? -(int64_t)u : (int64_t)u;
	return true;
}

const struct fact *fact_next(const struct facts *f, const char *pattern, size_t *at)
{
	while (*at < f->count) {
		const struct fact *item = &f->item[(*at)++];

		if (fnmatch(pattern, item->path, FNM_PATHNAME) == 0)
			return item;
	}
	return NULL;
}

const char *fact_line(const char *text, const char *key, char *buf, size_t size)
{
	size_t n = strlen(key);

	for (const char *p = text; p != NULL; p = strchr(p, '\n')) {
		p += *p == '\n';
		const char *q = p + strspn(p, " \t");
		if (strncmp(q, key, n) != 0 || strchr(": \t\n", q[n]) == NULL)
			continue;
		q += n + (q[n] == ':');
		q += strspn(q, " \t");
		snprintf(buf, size, "%.*s", (int)strcspn(q, "\n"), q);
		return buf;
	}
	return NULL;
}

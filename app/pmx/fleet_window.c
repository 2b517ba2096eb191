#include "fleet_window.h"

#include "session.h"
#include "summary.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROW_BYTES 256 // at most, by far
#define TAIL_MAX (1u << 30)

// Rows that the window may have, and one interval more on either side.
static uint64_t rows_wanted(const struct fleet_host *h)
{
	const struct matrix *m = h->fleet->matrix;
	uint64_t interval_ns = m->timing.interval_ns > 0 ? m->timing.interval_ns : 1;
	uint64_t intervals = h->fleet->opts->window_ns / interval_ns + 3;

	return intervals * (2 * (m->host_count - 1) + m->host[h->index].queues + 1);
}

static size_t bytes_wanted(const struct fleet_host *h)
{
	uint64_t rows = rows_wanted(h);

	return rows < TAIL_MAX / ROW_BYTES ? (size_t)rows * ROW_BYTES : TAIL_MAX;
}

static int no_report(const char *path, struct err *e)
{
	return err_set(e, ENOENT,
		       "no %s: nothing was started there, or `interval` of the matrix is 0", path);
}

static int read_remote(struct fleet_host *h, char **text, size_t *len, struct err *e)
{
	char path[PATH_MAX], rows[24];
	struct output o = { 0 };

	snprintf(path, sizeof(path), "%s/" SESSION_REPORT, h->site.dir);
	snprintf(rows, sizeof(rows), "%llu", (unsigned long long)rows_wanted(h));
	const struct script s = {
		.what = "read the end of the report",
		.text = "[ -f \"$1\" ] || exit 3; head -n 1 \"$1\" && tail -n \"$2\" \"$1\"",
		.args = { path, rows },
		.out_max = bytes_wanted(h),
	};
	int rc = remote_exec(h->remote, &s, &o, e);
	if (rc == 0 && o.status == 3)
		rc = no_report(path, e);
	else if (rc == 0 && o.status != 0)
		rc = err_set(e, EIO, "cannot read %s: %s", path, o.err);
	else if (rc == 0 && o.cut)
		rc = err_set(e, EFBIG, "the window has more than %u bytes of %s: a shorter one",
			     TAIL_MAX, path);
	if (rc == 0) {
		*text = o.out;
		*len = o.out_len;
		o.out = NULL;
	}
	output_free(&o);
	return rc;
}

// The header, and what the end of the file has, from the begin of a line on.
static int read_tail(FILE *f, size_t max, char **text, size_t *len)
{
	char header[4096];
	long size;

	if (fgets(header, sizeof(header), f) == NULL || fseek(f, 0, SEEK_END) < 0)
		return -EIO;
	size = ftell(f);
	if (size < 0)
		return -EIO;
	long begin = (size_t)size > max ? size - (long)max : 0;
	size_t head = strlen(header);
	*text = malloc(head + (size_t)(size - begin) + 1);
	if (*text == NULL)
		return -ENOMEM;
	memcpy(*text, header, head);
	if (fseek(f, begin, SEEK_SET) < 0)
		return -EIO;
	for (int c = begin > 0 ? fgetc(f) : '\n'; c != '\n' && c != EOF;)
		c = fgetc(f);
	*len = head + fread(*text + head, 1, (size_t)(size - begin), f);
	(*text)[*len] = '\0';
	return ferror(f) ? -EIO : 0;
}

static int read_local(struct fleet_host *h, char **text, size_t *len, struct err *e)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s/" SESSION_REPORT, h->fleet->opts->results, h->name);
	FILE *f = fopen(path, "re");
	if (f == NULL)
		return errno == ENOENT ? no_report(path, e)
				       : err_set(e, errno, "%s: %s", path, strerror(errno));
	int rc = read_tail(f, bytes_wanted(h), text, len);
	fclose(f);
	return rc < 0 ? err_set(e, -rc, "cannot read %s: %s", path, strerror(-rc)) : 0;
}

static int window_one(struct fleet_host *h, void *arg, struct err *e)
{
	const struct opts *o = h->fleet->opts;
	char *text = NULL;
	size_t len = 0;
	int rc = o->no_collect ? read_local(h, &text, &len, e) : read_remote(h, &text, &len, e);

	if (rc == 0 && !h->fleet->dry) {
		rc = summary_take_window(arg, (uint32_t)h->index, text, len, o->window_ns,
					 h->fleet->matrix->timing.interval_ns, e);
		if (rc < 0)
			err_wrap(e, "%s", SESSION_REPORT);
	}
	free(text);
	return rc;
}

size_t fleet_window(struct fleet *f, struct summary_parts *parts)
{
	if (!f->opts->no_collect)
		fleet_connect(f);
	return fleet_each(f, FLEET_LIVE, window_one, parts);
}

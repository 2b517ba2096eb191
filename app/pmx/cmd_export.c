#include "cmd.h"
#include "export.h"
#include "fleet_collect.h"
#include "fleet_verb.h"
#include "outfile.h"
#include "slurp.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REPORT_MAX_BYTES (1u << 30)

static const struct {
	const char *name;
	const struct export_text *text; // NULL = OpenMetrics
} formats[] = {
	{ "openmetrics", NULL },
	{ "ndjson", &export_ndjson },
	{ "tsv", &export_tsv },
};

struct lines {
	FILE *f;
	const struct export_text *text;
};

static int put_row(const struct export_row *row, void *arg, struct err *e)
{
	const struct lines *l = arg;

	(void)e;
	export_text_row(l->f, l->text, row);
	return 0;
}

// A host's report.csv; *text is NULL when it has none.
static int read_report(struct fleet_host *h, char *path, size_t size, char **text, struct err *e)
{
	size_t len;
	int rc;

	*text = NULL;
	if (h->fleet->opts->no_collect) {
		snprintf(path, size, "%s/%s/" SESSION_REPORT, h->fleet->opts->results, h->name);
		rc = slurp(path, text, &len, e);
	} else {
		snprintf(path, size, "%s/" SESSION_REPORT, h->site.dir);
		rc = remote_get(h->remote, path, REPORT_MAX_BYTES, text, &len, e);
	}
	return rc == -ENOENT ? 0 : rc;
}

// What cannot be read is that host's failure; the others go on.
static void put_samples(struct fleet_host *h, struct lines *l)
{
	char path[PATH_MAX + 128], *text;
	struct err e = { 0 };
	int rc = read_report(h, path, sizeof(path), &text, &e);

	if (rc == 0 && text != NULL)
		rc = export_samples(text, path, put_row, l, &e);
	free(text);
	if (rc < 0)
		fleet_fail(h, &e);
}

static int put_lines(struct fleet *f, const struct summary_input *in, const struct summary *s,
		     struct lines *l, struct err *e)
{
	int rc = 0;

	export_text_head(l->f, l->text);
	for (size_t i = 0; i < f->count && rc >= 0; i++) {
		if (s->host[i].measured)
			put_samples(&f->host[i], l);
		rc = export_result(in, s, i, SCOPE_FLOW | SCOPE_QUEUE | SCOPE_HOST, true, put_row,
				   l, e);
	}
	return rc;
}

static int put_all(struct fleet *f, const struct summary_input *in, const struct summary *s,
		   struct err *e)
{
	const char *format = f->opts->format;
	struct outfile o;
	size_t i = 0;
	int rc = outfile_open(&o, f->opts->output != NULL ? f->opts->output : "-", e);

	if (rc < 0)
		return rc;
	while (strcmp(formats[i].name, format) != 0)
		i++; // the option's words are these
	if (formats[i].text == NULL)
		rc = export_metrics(o.f, in, s, e);
	else
		rc = put_lines(f, in, s, &(struct lines){ o.f, formats[i].text }, e);
	return outfile_close(&o, rc, e);
}

static int export_fleet(struct fleet *f, const struct summary_input *in)
{
	char verdict[512];
	struct summary s;
	struct err e = { 0 };

	if (summary_build(in, &s, &e) < 0) {
		complain("%s", e.msg);
		return EXIT_HOST;
	}
	size_t failed = fleet_failed(f);
	int code = summary_verdict(&s, verdict, sizeof(verdict));
	if (put_all(f, in, &s, &e) < 0) {
		complain("%s", e.msg);
		code = EXIT_HOST;
	}
	if (fleet_complain(f) > failed && code != EXIT_HOST)
		code = EXIT_PARTIAL; // a report that could not be read
	note(f->opts, "%s", verdict);
	summary_free(&s);
	return code;
}

static int export_part(struct fleet *f, void *arg)
{
	(void)arg;
	size_t failed = fleet_gather(f);
	if (f->dry)
		return failed > 0 ? EXIT_HOST : EXIT_GOOD;
	const struct result **result = calloc(f->count, sizeof(*result));
	const char **failure = calloc(f->count, sizeof(*failure));
	uint64_t *now_ns = calloc(f->count, sizeof(*now_ns));
	int code = EXIT_HOST;
	if (result == NULL || failure == NULL || now_ns == NULL) {
		complain("out of memory");
	} else {
		for (size_t i = 0; i < f->count; i++) {
			result[i] = f->host[i].result;
			failure[i] = f->host[i].failed ? f->host[i].why : NULL;
			now_ns[i] = f->host[i].now_ns;
		}
		code = export_fleet(f, &(struct summary_input){ .matrix = f->matrix,
								.result = result,
								.failure = failure,
								.now_ns = now_ns,
								.skew_ns = NAN,
								.skew_error_ns = NAN });
	}
	free(result);
	free(failure);
	free(now_ns);
	return code;
}

int cmd_export(struct opts *o)
{
	return fleet_with(o, export_part, NULL);
}

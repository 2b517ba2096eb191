#include "fleet_collect.h"

#include "render.h"
#include "session_calls.h"
#include "summary.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int keep_result(struct fleet_host *h, json_t *root, struct err *e)
{
	struct result *r = calloc(1, sizeof(*r));
	int rc = r != NULL ? result_read(root, r, e) : err_set(e, ENOMEM, "out of memory");

	if (rc < 0) {
		free(r);
		return rc;
	}
	h->result = r;
	h->now_ns = 0;
	return 0;
}

static int read_remote(struct fleet_host *h, struct err *e)
{
	char path[PATH_MAX], *text;
	json_error_t fault;
	size_t len;

	snprintf(path, sizeof(path), "%s/" SESSION_RESULT, h->site.dir);
	int rc = remote_get(h->remote, path, SESSION_LINE_MAX, &text, &len, e);
	if (rc == -ENOENT)
		return err_set(e, ENOENT, "no agent runs and no result is in %s", h->site.dir);
	if (rc < 0)
		return rc;
	json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &fault);
	free(text);
	rc = root != NULL ? keep_result(h, root, e)
			  : err_set(e, EPROTO, "line %d: %s", fault.line, fault.text);
	json_decref(root);
	return rc < 0 ? err_wrap(e, "%s", path) : 0;
}

static int collect_one(struct fleet_host *h, void *arg, struct err *e)
{
	struct err ignored = { 0 };

	(void)arg;
	if (remote_is_dry(h->remote)) {
		read_remote(h, &ignored);
		return 0;
	}
	if ((remote_attached(h->remote) || call_hello(h, NULL, &ignored) == 0) &&
	    call_result(h, &ignored) == 0)
		return 0;
	return read_remote(h, e);
}

size_t fleet_collect(struct fleet *f)
{
	return fleet_each(f, FLEET_LIVE, collect_one, NULL);
}

static int read_local(struct fleet_host *h, void *arg, struct err *e)
{
	char path[PATH_MAX];
	struct result *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return err_set(e, ENOMEM, "out of memory");
	snprintf(path, sizeof(path), "%s/%s/" SESSION_RESULT, (const char *)arg, h->name);
	int rc = result_load(path, r, e);
	if (rc < 0)
		free(r);
	else
		h->result = r;
	return rc;
}

size_t fleet_collect_dir(struct fleet *f, const char *dir)
{
	return fleet_each(f, FLEET_LIVE, read_local, (void *)dir);
}

static int report(const struct fleet *f, const struct summary_input *in)
{
	const struct opts *o = f->opts;
	const struct report_opts ro = {
		.json = o->json,
		.report = o->report,
		.grid = o->grid,
		.top = (size_t)o->top,
		.verbose = o->verbose,
		.colour = strcmp(o->color, "always") == 0 ||
			  (strcmp(o->color, "auto") == 0 && report_colour(stdout)),
	};
	struct err e = { 0 };
	struct summary s;
	char verdict[512];

	if (summary_build(in, &s, &e) < 0) {
		complain("%s", e.msg);
		return EXIT_HOST;
	}
	int code = summary_verdict(&s, verdict, sizeof(verdict));
	if (report_emit(&s, &ro, &e) < 0) {
		complain("%s", e.msg);
		code = EXIT_HOST;
	}
	summary_free(&s);
	return code;
}

int fleet_report(const struct fleet *f, struct skew skew)
{
	const struct result **result = calloc(f->count, sizeof(*result));
	const char **failure = calloc(f->count, sizeof(*failure));
	uint64_t *now = calloc(f->count, sizeof(*now));
	const struct summary_input in = {
		.matrix = f->matrix,
		.result = result,
		.failure = failure,
		.now_ns = now,
		.skew_ns = skew.ns,
		.skew_error_ns = skew.error_ns,
	};
	int code = EXIT_HOST;

	if (result == NULL || failure == NULL || now == NULL) {
		complain("out of memory");
	} else {
		for (size_t i = 0; i < f->count; i++) {
			result[i] = f->host[i].result;
			failure[i] = f->host[i].failed ? f->host[i].why : NULL;
			now[i] = f->host[i].now_ns;
		}
		code = report(f, &in);
	}
	free(result);
	free(failure);
	free(now);
	return code;
}

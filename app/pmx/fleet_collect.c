#include "fleet_collect.h"

#include "fleet_lives.h"
#include "render.h"
#include "session_calls.h"
#include "summary.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void drop_result(struct fleet_host *h)
{
	if (h->result != NULL)
		result_free(h->result);
	free(h->result);
	h->result = NULL;
}

static int take_result(struct fleet_host *h, struct err *e)
{
	int rc = h->fleet->take != NULL ? h->fleet->take(h, h->fleet->take_arg, e) : 0;

	if (h->fleet->take != NULL)
		drop_result(h);
	return rc;
}

static int read_remote(struct fleet_host *h, struct err *e)
{
	char path[PATH_MAX], *text;
	struct result *r;
	size_t len;

	snprintf(path, sizeof(path), "%s/" SESSION_RESULT, h->site.dir);
	int rc = remote_get(h->remote, path, SESSION_LINE_MAX, &text, &len, e);
	if (rc == -ENOENT)
		return err_set(e, ENOENT, "no agent runs and no result is in %s", h->site.dir);
	if (rc < 0)
		return rc;
	r = calloc(1, sizeof(*r));
	rc = r != NULL ? result_parse(path, text, len, r, e) : err_set(e, ENOMEM, "out of memory");
	free(text);
	if (rc < 0) {
		free(r);
		return rc;
	}
	drop_result(h);
	h->result = r;
	h->now_ns = 0;
	return 0;
}

static int read_last(struct fleet_host *h, struct err *e)
{
	struct err ignored = { 0 };

	if ((remote_attached(h->remote) || call_hello(h, NULL, &ignored) == 0) &&
	    call_result(h, &ignored) == 0)
		return 0;
	return read_remote(h, e);
}

static int collect_one(struct fleet_host *h, void *arg, struct err *e)
{
	const enum lives *lives = arg;
	struct err ignored = { 0 };
	int rc = 0;

	if (remote_is_dry(h->remote)) {
		call_hello(h, NULL, &ignored);
		read_remote(h, &ignored);
	} else {
		rc = read_last(h, e);
	}
	if (rc == 0 && *lives != LIVES_LAST)
		rc = lives_fetch(h, e);
	if (rc == 0 && *lives == LIVES_JOINED)
		rc = lives_settle(h, e);
	return rc < 0 || remote_is_dry(h->remote) ? rc : take_result(h, e);
}

size_t fleet_collect(struct fleet *f, enum lives lives)
{
	return fleet_each(f, FLEET_LIVE, collect_one, &lives);
}

static int read_local(struct fleet_host *h, void *arg, struct err *e)
{
	char path[PATH_MAX];
	struct result *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return err_set(e, ENOMEM, "out of memory");
	snprintf(path, sizeof(path), "%s/%s/" SESSION_RESULT, (const char *)arg, h->name);
	int rc = result_load(path, r, e);
	if (rc < 0) {
		free(r);
		return rc;
	}
	h->result = r;
	rc = lives_load(h, arg, e);
	if (rc == 0)
		rc = lives_settle(h, e);
	return rc < 0 ? rc : take_result(h, e);
}

size_t fleet_collect_dir(struct fleet *f, const char *dir)
{
	return fleet_each(f, FLEET_LIVE, read_local, (void *)dir);
}

size_t fleet_gather(struct fleet *f)
{
	if (f->opts->no_collect) {
		fleet_collect_dir(f, f->opts->results);
	} else {
		fleet_connect(f);
		fleet_collect(f, LIVES_JOINED);
	}
	return fleet_complain(f);
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

static int digest_one(struct fleet_host *h, void *arg, struct err *e)
{
	return summary_take(arg, (uint32_t)h->index, h->result, h->now_ns, e);
}

int fleet_digest(struct fleet *f, struct summary_parts *parts)
{
	struct err e = { 0 };

	if (summary_parts_init(parts, f->matrix, &e) < 0) {
		complain("%s", e.msg);
		return EXIT_HOST;
	}
	f->take = digest_one;
	f->take_arg = parts;
	return EXIT_GOOD;
}

int fleet_report(struct fleet *f, struct summary_parts *parts, struct skew skew)
{
	const char **failure = calloc(f->count, sizeof(*failure));
	const struct summary_input in = {
		.matrix = f->matrix,
		.parts = parts,
		.failure = failure,
		.skew_ns = skew.ns,
		.skew_error_ns = skew.error_ns,
	};

	if (failure == NULL) {
		complain("out of memory");
		return EXIT_HOST;
	}
	for (size_t i = 0; i < f->count; i++)
		failure[i] = f->host[i].failed ? f->host[i].why : NULL;
	int code = report(f, &in);
	free(failure);
	return code;
}

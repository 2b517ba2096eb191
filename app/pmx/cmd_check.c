// pmx check: will the NICs carry this?
#include "cmd.h"

#include "capacity.h"
#include "capacity_show.h"
#include "csv_grid.h"
#include "plan.h"
#include "profile.h"
#include "render.h"
#include "spew.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int json_write(const char *path, const struct plan *p, const struct capacity *c,
		      struct err *e)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	int ret;

	if (f == NULL)
		return err_set(e, ENOMEM, "out of memory");
	capacity_json(f, p, c);
	ret = fclose(f) == 0 ? spew(path, text, len, e) : err_set(e, ENOMEM, "out of memory");
	free(text);
	return ret;
}

static int csv_write(const char *path, const struct plan *p, struct err *e)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	int ret;

	if (f == NULL)
		return err_set(e, ENOMEM, "out of memory");
	if (p->matrix->traffic.req_words[0] != '\0' || p->matrix->traffic.rep_words[0] != '\0') {
		fclose(f);
		free(text);
		return err_set(e, EINVAL,
			       "%s: its sizes change, and a CSV grid can only say one each way",
			       p->matrix->file);
	}
	csv_grid_write(f, p);
	ret = fclose(f) == 0 ? spew(path, text, len, e) : err_set(e, ENOMEM, "out of memory");
	free(text);
	return ret;
}

static bool is_stdout(const char *path)
{
	return path != NULL && strcmp(path, "-") == 0;
}

static int show(const struct opts *o, const struct plan *p, const struct capacity *c)
{
	bool colour = strcmp(o->color, "always") == 0 ||
		      (strcmp(o->color, "auto") == 0 && report_colour(stdout));
	struct err e = { 0 };

	if (!is_stdout(o->json) && !is_stdout(o->csv))
		capacity_text(stdout, p, c, colour);
	if (o->csv != NULL && p->layers > 1)
		note(o, "the grid has every pair of the rotation once, and no layers");
	if ((o->json != NULL && json_write(o->json, p, c, &e) < 0) ||
	    (o->csv != NULL && csv_write(o->csv, p, &e) < 0)) {
		complain("%s", e.msg);
		return EXIT_HOST;
	}
	return c->over > 0 ? EXIT_LIMIT : EXIT_GOOD;
}

static int check(const struct opts *o, const struct matrix *m, const struct profile *profile,
		 struct err *e)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct plan_input in = {
		.matrix = m,
		.profile = profile,
		.run_id = "check",
		.flows_only = true,
		.local_cpus = cpus > 0 ? (unsigned)cpus : 1,
		.warmup_ns = m->timing.warmup_ns,
		.duration_ns = m->timing.duration_ns,
		.lease_ns = m->timing.lease_ns,
	};
	struct capacity c;
	struct plan p;
	int ret = plan_build(&in, &p, e);

	if (ret < 0)
		return ret;
	ret = capacity_build(&p, profile, o->nic_gbps, o->nic_mpps, &c, e);
	if (ret == 0) {
		ret = show(o, &p, &c);
		capacity_free(&c);
	}
	plan_free(&p);
	return ret;
}

int cmd_check(struct opts *o)
{
	struct profile_dirs dirs;
	struct profile *profile;
	struct matrix m;
	struct err e = { 0 };
	int ret;

	if (is_stdout(o->json) && is_stdout(o->csv)) {
		complain("options '--json' and '--csv' both want stdout: give one a file");
		return EXIT_USAGE;
	}
	ret = cmd_load(o, &m);
	if (ret != EXIT_GOOD)
		return ret;
	profile_dirs_find(o->drivers, &dirs);
	ret = profile_load_all(&m, dirs.dir, &profile, &e);
	if (ret == 0) {
		ret = check(o, &m, profile, &e);
		free(profile);
	}
	matrix_free(&m);
	if (ret >= 0)
		return ret;
	complain("%s", e.msg);
	return EXIT_USAGE;
}

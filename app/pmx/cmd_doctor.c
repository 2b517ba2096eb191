// pmx doctor: is the fleet ready?
#include "cmd.h"

#include "doctor.h"
#include "fleet.h"
#include "launch.h"
#include "render.h"
#include "spew.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int doctor_exit(const struct doctor_counts *c)
{
	if (c->asked < c->hosts)
		return EXIT_HOST;
	return c->of[HEALTH_BLOCKER] > 0 ? EXIT_LIMIT : EXIT_GOOD;
}

static int ask_one(struct fleet_host *h, void *arg, struct err *e)
{
	return doctor_ask(arg, h->index, h->remote, h->site.dir, h->site.agent, e);
}

// Another root is read by this machine, whatever the transport.
static int open_here(struct fleet_host *h, void *arg, struct err *e)
{
	return remote_open(arg, h->index, h->fleet->dry ? REMOTE_DRY : REMOTE_LIVE, NULL,
			   &h->remote, e);
}

static int show(const struct opts *o, const struct doctor *d, const bool *chosen)
{
	bool colour = strcmp(o->color, "always") == 0 ||
		      (strcmp(o->color, "auto") == 0 && report_colour(stdout));
	struct doctor_counts c;
	struct err e = { 0 };

	if (o->json == NULL || strcmp(o->json, "-") != 0)
		doctor_text(stdout, d, chosen, o->all, colour);
	if (o->json != NULL) {
		char *text = doctor_json(d, chosen);
		int rc = text != NULL ? spew(o->json, text, strlen(text), &e)
				      : err_set(&e, ENOMEM, "out of memory");

		free(text);
		if (rc < 0) {
			complain("%s", e.msg);
			return EXIT_HOST;
		}
	}
	doctor_count(d, chosen, &c);
	return doctor_exit(&c);
}

static int examine(const struct opts *o, struct fleet *f, struct doctor *d)
{
	struct matrix local = *f->matrix;
	struct err e = { 0 };
	bool *chosen = calloc(f->count, sizeof(*chosen));

	if (chosen == NULL) {
		complain("out of memory");
		return EXIT_HOST;
	}
	local.transport = TRANSPORT_LOCAL;
	if (!f->dry)
		doctor_here(d, &e);
	note(o, "asking %zu hosts", f->chosen);
	if (d->root != NULL)
		fleet_each(f, FLEET_LIVE, open_here, &local);
	else
		fleet_connect(f);
	fleet_each(f, FLEET_LIVE, ask_one, d);
	for (size_t i = 0; i < f->count; i++) {
		chosen[i] = f->host[i].chosen;
		snprintf(d->host[i].why, sizeof(d->host[i].why), "%s", f->host[i].why);
	}
	doctor_compare(d);
	int code = f->dry ? EXIT_GOOD : show(o, d, chosen);
	if (fleet_complain(f) > 0)
		code = EXIT_HOST;
	free(chosen);
	fleet_free(f); // before the matrix that its connections may have
	return code;
}

static int check_root(const char *root)
{
	struct stat st;

	if (root == NULL || (stat(root, &st) == 0 && S_ISDIR(st.st_mode)))
		return EXIT_GOOD;
	complain("option '--root': '%s': expected a directory", root);
	return EXIT_USAGE;
}

static int doctor(const struct opts *o, const struct matrix *m)
{
	struct fleet f;
	struct launch l = { 0 };
	struct doctor d;
	struct err e = { 0 };
	int code = fleet_init(&f, o, m, false);

	if (code != EXIT_GOOD)
		return code;
	code = launch_init(&l, &f, m->timing.duration_ns, m->timing.lease_ns);
	if (code == EXIT_GOOD && doctor_begin(&d, m, l.profile, &l.plan, o->root, &e) < 0) {
		complain("%s", e.msg);
		code = EXIT_HOST;
	} else if (code == EXIT_GOOD) {
		code = examine(o, &f, &d);
		doctor_end(&d);
	}
	launch_free(&l);
	fleet_free(&f);
	return code;
}

int cmd_doctor(struct opts *o)
{
	struct matrix m;
	int code = check_root(o->root);

	if (code == EXIT_GOOD)
		code = cmd_load(o, &m);
	if (code != EXIT_GOOD)
		return code;
	code = doctor(o, &m);
	matrix_free(&m);
	return code;
}

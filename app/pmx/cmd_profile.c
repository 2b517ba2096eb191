// pmx profile: what is known of the drivers.
#include "cmd.h"

#include "plan_look.h"
#include "profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const struct err *e)
{
	complain("%s", e->msg);
	return EXIT_USAGE;
}

static const char *number(double v, char *buf, size_t size)
{
	snprintf(buf, size, v < 0 ? "-" : "%.6g", v);
	return buf;
}

// A profile that does not load is said, and the others are listed.
static int list(const char *const *dirs)
{
	char *name[PROFILES_MAX];
	size_t n = profile_names(dirs, name);
	int code = EXIT_GOOD;

	printf("%-12s %-16s %-14s %6s %6s %5s %5s %-7s %s\n", "PROFILE", "PMD", "BIND", "QUEUES",
	       "MTU", "BURST", "Mpps", "STEERS", "FILE");
	for (size_t i = 0; i < n; i++) {
		struct profile p;
		struct err e = { 0 };
		char mpps[32];

		if (profile_load(name[i], dirs, &p, &e) < 0) {
			code = fail(&e);
			continue;
		}
		printf("%-12s %-16s %-14s %6u %6u %5u %5s %-7s %s\n", p.name,
		       p.pmd[0] != '\0' ? p.pmd : "-", bind_mode_name[p.bind], p.queues_max,
		       p.mtu_max, p.burst, number(p.rated_mpps, mpps, sizeof(mpps)),
		       steering_name[p.steering], p.file);
	}
	profile_names_free(name, n);
	return code;
}

// What EAL is told of the device, which only the whole plan knows.
static int show_device(const struct matrix *m, size_t host, const char *const *dirs, struct err *e)
{
	struct profile *profile;
	struct plan plan;
	int ret = profile_load_all(m, dirs, &profile, e);

	if (ret < 0)
		return ret;
	ret = plan_to_look(m, profile, "profile", &plan, e);
	if (ret == 0) {
		const struct hostcfg *c = &plan.host[host];

		printf("# device of host %s: %s\n", c->host,
		       c->port.vdev[0] != '\0' ? c->port.vdev : c->port.pci);
		profile_show(stdout, &profile[host]);
		plan_free(&plan);
	}
	free(profile);
	return ret;
}

static int show_host(struct opts *o, const char *name, const char *const *dirs)
{
	struct matrix m;
	struct err e = { 0 };
	size_t i = 0;
	int code = cmd_load(o, &m);

	if (code != EXIT_GOOD)
		return code;
	while (i < m.host_count && strcmp(m.host[i].name, name) != 0)
		i++;
	if (i == m.host_count) {
		complain("%s has no host '%s'", m.file, name);
		code = EXIT_USAGE;
	} else if (show_device(&m, i, dirs, &e) < 0) {
		code = fail(&e);
	}
	matrix_free(&m);
	return code;
}

static int show(struct opts *o, const char *const *dirs)
{
	struct profile p;
	struct err e = { 0 };
	char *colon = strrchr(o->more, ':');

	if (colon != NULL) {
		char *file = strndup(o->more, (size_t)(colon - o->more));

		if (file == NULL) {
			complain("out of memory");
			return EXIT_HOST;
		}
		o->arg = file;
		int code = show_host(o, colon + 1, dirs);
		free(file);
		return code;
	}
	if (profile_load(o->more, dirs, &p, &e) < 0)
		return fail(&e);
	profile_show(stdout, &p);
	return EXIT_GOOD;
}

int cmd_profile(struct opts *o)
{
	struct profile_dirs dirs;
	bool wants_show = o->arg != NULL && strcmp(o->arg, "show") == 0;

	profile_dirs_find(o->drivers, &dirs);
	if (o->arg == NULL || strcmp(o->arg, "list") == 0) {
		if (o->more == NULL)
			return list(dirs.dir);
		complain("'%s': `pmx profile list` takes no name: pmx profile show %s", o->more,
			 o->more);
	} else if (!wants_show) {
		complain("'%s': expected list or show: pmx profile show %s", o->arg, o->arg);
	} else if (o->more == NULL) {
		complain("`pmx profile show` needs a profile or a host of a matrix: pmx profile "
			 "show "
			 "NAME|MATRIX:HOST");
	} else {
		return show(o, dirs.dir);
	}
	return EXIT_USAGE;
}

// pmx prepare, pmx restore: what hosts need before their agents, and back.
#include "cmd.h"
#include "fleet.h"

#include "plan.h"
#include "prepare.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct job {
	struct matrix *matrix;
	const struct profile *profile; // [host_count]
	const struct plan *plan;
	struct prepare_want want;
	bool dry;
};

// Which card a host has decides which profile is its own.
static int look_one(struct fleet_host *h, void *arg, struct err *e)
{
	struct job *job = arg;
	struct matrix_host *host = &job->matrix->host[h->index];
	unsigned vendor, device;
	char pci[DEVICE_MAX_BYTES + 8], *out;

	if (host->driver[0] != '\0' || prepare_pci(host, pci, sizeof(pci))[0] == '\0')
		return 0;
	int rc = prepare_run(h->remote, "look", false, pci, &out, e);
	if (rc < 0)
		return rc;
	if (sscanf(out, "%*s 0x%x 0x%x", &vendor, &device) == 2)
		host->pci_id = vendor << 16 | device;
	free(out);
	return 0;
}

// Agents of one machine need their pages at the same time.
static uint64_t pages_so_far(const struct job *job, size_t host)
{
	uint64_t sum = 0;

	for (size_t i = job->matrix->transport == TRANSPORT_LOCAL ? 0 : host; i <= host; i++)
		sum += prepare_pages(&job->plan->host[i], &job->profile[i]);
	return sum;
}

static int take_one(struct fleet_host *h, void *arg, struct err *e)
{
	const struct job *job = arg;
	const struct profile *p = &job->profile[h->index];
	const struct hostcfg *c = &job->plan->host[h->index];
	char items[PREPARE_ITEMS_MAX], *out;

	prepare_items(c, p, &job->matrix->host[h->index], &job->want, pages_so_far(job, h->index),
		      items, sizeof(items));
	if (items[0] == '\0') {
		fleet_say(h, "driver %s: nothing to prepare", p->name);
		return 0;
	}
	int rc = prepare_run(h->remote, "take", job->dry, items, &out, e);
	if (rc < 0)
		return rc;
	fleet_say(h, "%s", out[0] != '\0' ? out : "nothing to do");
	free(out);
	return 0;
}

static int restore_one(struct fleet_host *h, void *arg, struct err *e)
{
	const struct job *job = arg;
	char *out;
	int rc = prepare_run(h->remote, "restore", job->dry, NULL, &out, e);

	if (rc < 0)
		return rc;
	fleet_say(h, "%s", out);
	free(out);
	return 0;
}

static int plan_take(struct fleet *f, const struct opts *o, struct job *job, struct err *e)
{
	struct matrix *m = job->matrix;
	struct profile_dirs dirs;
	struct profile *profile;
	struct plan plan;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	fleet_each(f, FLEET_LIVE, look_one, job);
	profile_dirs_find(o->drivers, &dirs);
	int ret = profile_load_all(m, dirs.dir, &profile, e);
	if (ret < 0)
		return ret;
	const struct plan_input in = {
		.matrix = m,
		.profile = profile,
		.run_id = "prepare",
		.local_cpus = cpus > 0 ? (unsigned)cpus : 1,
		.warmup_ns = m->timing.warmup_ns,
		.duration_ns = m->timing.duration_ns,
		.lease_ns = m->timing.lease_ns,
	};
	ret = plan_build(&in, &plan, e);
	if (ret == 0) {
		job->profile = profile;
		job->plan = &plan;
		fleet_each(f, FLEET_LIVE, take_one, job);
		plan_free(&plan);
	}
	free(profile);
	return ret;
}

// With --dry-run the hosts are asked, since what would be done hangs on what they are; the commands
// are printed and none is run.
static int on_hosts(struct opts *o, bool take)
{
	struct matrix m;
	struct fleet f;
	struct err e = { 0 };
	struct job job = { .matrix = &m,
			   .want = { .hugetlbfs = o->hugetlbfs, .noiommu = o->noiommu },
			   .dry = o->dry_run };
	int code = cmd_load(o, &m);

	if (code != EXIT_GOOD)
		return code;
	code = fleet_init(&f, o, &m, false);
	if (code == EXIT_GOOD) {
		f.dry = false;
		f.jobs = m.transport == TRANSPORT_LOCAL ? 1 : o->jobs;
		fleet_connect(&f);
		if (!take)
			fleet_each(&f, FLEET_LIVE, restore_one, &job);
		else if (plan_take(&f, o, &job, &e) < 0) {
			complain("%s", e.msg);
			code = EXIT_USAGE;
		}
		fleet_print(&f);
		if (fleet_complain(&f) > 0)
			code = EXIT_HOST;
		fleet_free(&f);
	}
	matrix_free(&m);
	return code;
}

int cmd_prepare(struct opts *o)
{
	return on_hosts(o, true);
}

int cmd_restore(struct opts *o)
{
	return on_hosts(o, false);
}

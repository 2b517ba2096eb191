// pmx prepare, pmx restore: what hosts need before their agents, and back.
#include "cmd.h"
#include "fleet.h"

#include "locate.h"
#include "plan_look.h"
#include "prepare.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct job {
	struct matrix *matrix;
	struct profile *profile; // [host_count]; owned
	const struct plan *plan;
	struct prepare_want want;
	bool dry;
	bool *chosen;	 // [host_count], the ports; owned
	bool *addressed; // [host_count]: the device was a data subnet; owned
};

// The script runs once on a host, by its first port that is chosen and under the host's name; what
// it does is for all of them. Local agents have nothing in common but hugepages.
static int machines_only(struct fleet *f, struct job *job)
{
	const struct matrix *m = job->matrix;

	job->chosen = calloc(f->count, sizeof(*job->chosen));
	job->addressed = calloc(f->count, sizeof(*job->addressed));
	if (job->chosen == NULL || job->addressed == NULL) {
		complain("out of memory");
		return EXIT_HOST;
	}
	for (size_t i = 0; i < f->count; i++) {
		bool done = false;

		job->chosen[i] = f->host[i].chosen;
		for (size_t k = m->host[i].first; k < i && m->transport == TRANSPORT_SSH; k++)
			done = done || job->chosen[k];
		if (m->transport == TRANSPORT_SSH)
			f->host[i].name = m->host[i].machine;
		if (done && f->host[i].chosen) {
			f->host[i].chosen = false;
			f->chosen--;
		}
	}
	return EXIT_GOOD;
}

// The next port that a machine's first one speaks for, from `at` on, itself before all; false:
// none.
static bool next_port(const struct fleet_host *h, const struct job *job, size_t *at)
{
	const struct matrix_host *host = &job->matrix->host[h->index];
	bool alone = job->matrix->transport == TRANSPORT_LOCAL;
	size_t end = alone ? h->index + 1 : host->first + host->ports;

	while (*at < end && !job->chosen[*at])
		++*at;
	return *at < end;
}

// An address that the kernel has on an interface goes when its device is bound, and by it the
// device would not be found again.
static int keeps_address(const struct matrix_host *host, const struct located *l,
			 const struct profile *p, struct err *e)
{
	if (p->bind != BIND_VFIO_PCI || l->pci[0] == '\0')
		return 0;
	return err_set(e, EINVAL,
		       "device '%s' is %s, and driver '%s' takes it from the kernel with its "
		       "addresses: expected device: %s",
		       host->device, l->iface, p->name, l->pci);
}

static int locate_port(struct fleet_host *h, const struct profile *p, struct matrix_host *host,
		       bool *addressed, struct err *e)
{
	struct located found;
	int rc = locate_device(h->remote, host->device, "", &found, e);

	*addressed = device_kind(host->device) == DEVICE_NET;
	if (rc == 0 && *addressed)
		rc = keeps_address(host, &found, p, e);
	return rc < 0 ? rc : locate_settle(&found, p->virtual, host, e);
}

static int look_port(struct fleet_host *h, struct job *job, size_t at, struct err *e)
{
	struct matrix_host *host = &job->matrix->host[at];
	const struct profile *p = &job->profile[at];
	enum device_kind kind = device_kind(host->device);
	unsigned vendor, device;
	char pci[DEVICE_MAX_BYTES + 8], *out;

	if (kind == DEVICE_NET || (kind == DEVICE_IFACE && !p->virtual))
		return locate_port(h, p, host, &job->addressed[at], e);
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

// Which device a port has, and which card that is, decides which profile is its own.
static int look_one(struct fleet_host *h, void *arg, struct err *e)
{
	struct job *job = arg;
	int rc = 0;

	for (size_t i = h->index; rc == 0 && next_port(h, job, &i); i++)
		rc = look_port(h, job, i, e);
	return rc;
}

// Agents of one machine need their pages at the same time. Items of one call add up by themselves.
static uint64_t pages_so_far(const struct job *job, size_t host)
{
	uint64_t sum = 0;

	for (size_t i = job->matrix->transport == TRANSPORT_LOCAL ? 0 : host; i <= host; i++)
		sum += prepare_pages(&job->plan->host[i], &job->profile[i]);
	return sum;
}

// The items of all ports of a host, in one line; owned, NULL on no memory.
static char *items_of(struct fleet_host *h, const struct job *job)
{
	struct prepare_want want = job->want;
	char one[PREPARE_ITEMS_MAX], *all = NULL;
	size_t len;
	FILE *f = open_memstream(&all, &len);

	for (size_t i = h->index; f != NULL && next_port(h, job, &i); i++) {
		want.addressed = job->addressed[i];
		prepare_items(&job->plan->host[i], &job->profile[i], &job->matrix->host[i], &want,
			      pages_so_far(job, i), one, sizeof(one));
		fprintf(f, "%s%s", ftell(f) > 0 && one[0] != '\0' ? " " : "", one);
		want.hugetlbfs = false; // once
	}
	if (f != NULL && fclose(f) != 0) {
		free(all);
		all = NULL;
	}
	return all;
}

static int take_one(struct fleet_host *h, void *arg, struct err *e)
{
	const struct job *job = arg;
	char *items = items_of(h, job), *out = NULL;
	int rc = items == NULL	    ? err_set(e, ENOMEM, "out of memory")
		 : items[0] == '\0' ? 0
				    : prepare_run(h->remote, "take", job->dry, items, &out, e);

	if (rc == 0 && out == NULL)
		fleet_say(h, "driver %s: nothing to prepare", job->profile[h->index].name);
	else if (rc == 0)
		fleet_say(h, "%s", out[0] != '\0' ? out : "nothing to do");
	free(items);
	free(out);
	return rc;
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
	struct plan plan;

	profile_dirs_find(o->drivers, &dirs);
	int ret = profile_load_all(m, dirs.dir, &job->profile, e);
	if (ret < 0)
		return ret;
	fleet_each(f, FLEET_LIVE, look_one, job);
	free(job->profile);
	job->profile = NULL;
	ret = profile_load_all(m, dirs.dir, &job->profile, e);
	if (ret == 0)
		ret = plan_to_look(m, job->profile, "prepare", &plan, e);
	if (ret == 0) {
		job->plan = &plan;
		fleet_each(f, FLEET_LIVE, take_one, job);
		plan_free(&plan);
	}
	free(job->profile);
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
	if (code == EXIT_GOOD)
		code = machines_only(&f, &job);
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
	free(job.chosen);
	free(job.addressed);
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

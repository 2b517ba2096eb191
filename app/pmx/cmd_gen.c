// pmx gen: the matrix file from a server list.
#include "cmd.h"

#include "gen.h"
#include "plan.h"
#include "profile.h"
#include "rates.h"
#include "servers.h"
#include "slurp.h"
#include "spew.h"

#include "units.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PCI_EXAMPLE "0000:3b:00.0"
#define IFACE_EXAMPLE "eth1"

static int servers_load(const char *path, struct servers *s, struct err *e)
{
	char *text;
	size_t len;
	int ret = slurp(path, &text, &len, e);

	if (ret < 0)
		return ret;
	ret = servers_parse(strcmp(path, "-") == 0 ? "stdin" : path, text, len, s, e);
	free(text);
	return ret;
}

static int text_make(const struct gen *g, char **text, size_t *len, struct err *e)
{
	FILE *f = open_memstream(text, len);
	int ret;

	if (f == NULL)
		return err_set(e, ENOMEM, "out of memory");
	ret = gen_write(f, g, e);
	if (fclose(f) != 0 && ret == 0)
		ret = err_set(e, ENOMEM, "out of memory");
	if (ret < 0)
		free(*text);
	return ret;
}

// Whether the matrix gives a plan. What is left open for the editor is put in for that.
static int verify(const struct gen *g, const struct profile_dirs *dirs, struct matrix *m,
		  struct err *e)
{
	struct gen filled = *g;
	struct profile *profile;
	struct plan plan;
	char *text;
	size_t len;
	int ret;

	if (g->device == NULL)
		filled.device = g->device_example;
	ret = text_make(&filled, &text, &len, e);
	if (ret < 0)
		return ret;
	ret = matrix_parse("the matrix", text, len, m, e);
	free(text);
	if (ret < 0)
		return ret;
	ret = profile_load_all(m, dirs->dir, &profile, e);
	if (ret == 0) {
		struct plan_input in = {
			.matrix = m,
			.profile = profile,
			.run_id = "gen",
			.flows_only = true,
			.local_cpus = 1,
			.duration_ns = m->timing.duration_ns,
		};

		ret = plan_build(&in, &plan, e);
		if (ret == 0)
			plan_free(&plan);
		free(profile);
	}
	if (ret < 0)
		matrix_free(m);
	return ret;
}

static void next_steps(const struct opts *o, const struct gen *g, const struct matrix *m)
{
	const char *file = o->output != NULL ? o->output : "MATRIX";
	size_t peers = m->host_count - 1, pairs = m->host_count * peers;
	double pps = g->pps.pps * (double)peers;
	double wire = l1_bps(pps, m->traffic.req_bytes) + l1_bps(pps, m->traffic.rep_bytes);
	char pair[RATE_STR_MAX], all[RATE_STR_MAX], bits[RATE_STR_MAX];

	if (g->pps.max)
		note(o, "%zu hosts, %zu flows, unpaced: each sends what it can", m->host_count,
		     pairs);
	else
		note(o,
		     "%zu hosts, %zu flows of %s: each host sends %s of requests and as many "
		     "replies, %s on the wire",
		     m->host_count, pairs, rate_unit_str(g->pps.pps, "pps", pair, sizeof(pair)),
		     rate_unit_str(pps, "pps", all, sizeof(all)),
		     rate_unit_str(wire, "b/s", bits, sizeof(bits)));
	if (g->device == NULL && g->device_example != NULL)
		note(o, "next: fill in 'device:' in %s, under defaults or for each host", file);
	note(o, "next: pmx check %s --nic-gbps N", file);
	note(o, "next: pmx run %s", file);
}

static int gen(const struct opts *o, const struct servers *s, struct err *e)
{
	struct gen g = {
		.servers = s,
		.source = strcmp(o->arg, "-") == 0 ? "stdin" : o->arg,
		.device = o->device,
		.driver = o->driver,
		.data_net = o->data_net,
		.ssh_user = o->ssh_user,
		.pps = o->pps,
		.request = o->request,
		.reply = o->reply,
		.port = o->port,
		.streams = o->streams,
		.queues = o->queues,
	};
	struct profile_dirs dirs;
	struct profile profile;
	struct matrix m;
	char *text;
	size_t len;
	int ret;

	profile_dirs_find(o->drivers, &dirs);
	g.device_example = PCI_EXAMPLE;
	if (g.driver != NULL) {
		ret = profile_load(g.driver, dirs.dir, &profile, e);
		if (ret < 0)
			return ret;
		g.local = profile.peer[0] != '\0'; // a cable between agents on one machine
		if (!profile_needs_device(&profile))
			g.device_example = NULL;
		else if (profile_wants_iface(&profile))
			g.device_example = IFACE_EXAMPLE;
	}
	ret = verify(&g, &dirs, &m, e);
	if (ret < 0)
		return ret;
	ret = text_make(&g, &text, &len, e);
	if (ret == 0) {
		ret = spew(o->output != NULL ? o->output : "-", text, len, e);
		free(text);
	}
	if (ret == 0)
		next_steps(o, &g, &m);
	matrix_free(&m);
	return ret;
}

int cmd_gen(struct opts *o)
{
	struct servers s;
	struct err e = { 0 };
	int ret;

	if (!opt_given(o, &o->pps)) {
		complain("option '--pps' is missing: expected the requests/s of each pair, as 5k, "
			 "or "
			 "max");
		return EXIT_USAGE;
	}
	ret = servers_load(o->arg, &s, &e);
	if (ret == 0) {
		ret = gen(o, &s, &e);
		servers_free(&s);
	}
	if (ret == 0)
		return EXIT_GOOD;
	complain("%s", e.msg);
	return EXIT_USAGE;
}

// pmx gen: the matrix file from a server list or a CSV grid.
#include "cmd.h"

#include "gen.h"
#include "gen_grid.h"
#include "gen_opts.h"
#include "gen_plan.h"
#include "gen_show.h"
#include "spew.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct job {
	const struct opts *o;
	struct gen gen;
	struct profile_dirs dirs;
	struct servers servers;
	struct gen_grid grid;
	struct gen_plan plan;
	bool *hub;
	struct pair *cell;
};

static void job_end(struct job *j)
{
	gen_plan_free(&j->plan);
	gen_grid_free(&j->grid);
	servers_free(&j->servers);
	free(j->hub);
	free(j->cell);
}

// With a grid, the options that say what it says are refused.
static int grid_alone(const struct opts *o, struct err *e)
{
	const struct {
		const char *name;
		const void *field;
	} said[] = {
		{ "pps", &o->pps },	  { "host-pps", &o->host_pps }, { "gbps", &o->gbps },
		{ "line", &o->line_pct }, { "shape", &o->shape },	{ "peers", &o->peers },
	};

	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++)
		if (opt_given(o, said[i].field))
			return err_set(
				e, EINVAL,
				"option '--%s': the grid of --from-csv says who sends to whom "
				"and how much: give one of the two",
				said[i].name);
	return 0;
}

// Sizes and port of the grid, where no option goes before them.
static void grid_sizes(struct job *j)
{
	const struct csv_grid *csv = &j->grid.csv;
	const struct opts *o = j->o;
	struct gen *g = &j->gen;

	if (csv->req_bytes > 0 && !opt_given(o, &o->request) && !opt_given(o, &o->tx_frame))
		g->request = gen_own_size(g->own_request, csv->req_bytes);
	if (csv->rep_bytes > 0 && !opt_given(o, &o->reply) && !opt_given(o, &o->rx_frame))
		g->reply = gen_own_size(g->own_reply, csv->rep_bytes);
	if (csv->port > 0 && !opt_given(o, &o->port))
		g->port = csv->port;
}

static int sources_read(struct job *j, struct err *e)
{
	const struct opts *o = j->o;
	struct gen *g = &j->gen;
	int ret = 0;

	g->source = o->from_csv != NULL ? o->from_csv : o->arg;
	if (strcmp(g->source, "-") == 0)
		g->source = "stdin";
	if (o->arg != NULL)
		ret = gen_opts_servers(o->arg, &j->servers, e);
	if (ret < 0)
		return ret;
	g->servers = &j->servers;
	if (o->from_csv == NULL) {
		ret = gen_opts_hubs(o, g, &j->hub, e);
		return ret < 0 ? ret : gen_opts_rate(o, g, &j->dirs, e);
	}
	ret = gen_grid_load(o->from_csv, o->arg != NULL ? &j->servers : NULL, &j->grid, g, e);
	if (ret < 0)
		return ret;
	grid_sizes(j);
	if (j->grid.left_out > 0)
		note(o, "%zu servers of '%s' are not in the grid: left out", j->grid.left_out,
		     o->arg);
	return 0;
}

// The pairs of the plan, one cell each.
static int expand(struct job *j, struct err *e)
{
	size_t count;
	int ret = pattern_build(&j->plan.matrix, NULL, &j->cell, &count, e);

	if (ret < 0)
		return ret;
	j->gen.pattern = PATTERN_CELLS;
	j->gen.peers = 0;
	j->gen.cell = j->cell;
	j->gen.cell_count = count;
	return 0;
}

static int write_out(const struct job *j, struct err *e)
{
	const char *path = j->o->output != NULL ? j->o->output : "-";
	char *text;
	size_t len;
	int ret = gen_text(&j->gen, &text, &len, e);

	if (ret < 0)
		return ret;
	ret = j->o->force ? spew(path, text, len, e) : spew_new(path, text, len, e);
	free(text);
	return ret != -EEXIST
		       ? ret
		       : err_set(e, EEXIST, "'%s' is there already: --force writes over it", path);
}

static void next_steps(const struct job *j)
{
	const char *file = j->o->output != NULL ? j->o->output : "MATRIX";
	const struct gen *g = &j->gen;

	if (j->o->quiet)
		return;
	gen_show(stderr, &j->plan);
	if (g->device == NULL && g->device_example != NULL)
		note(j->o, "next: fill in 'device:' in %s, under defaults or for each host", file);
	note(j->o, "next: pmx check %s%s", file,
	     j->plan.load.unrated > 0 ? " --nic-gbps N     # what its NICs are rated at" : "");
	note(j->o, "next: pmx run %s", file);
}

static int gen(struct job *j, struct err *e)
{
	const struct opts *o = j->o;
	int ret;

	if (o->arg == NULL && o->from_csv == NULL)
		return err_set(
			e, EINVAL,
			"`pmx gen` needs a server list or a grid: pmx gen SERVERS --pps RATE, "
			"or pmx gen --from-csv FILE");
	// before any work; again, and for sure, when it is written
	if (o->output != NULL && strcmp(o->output, "-") != 0 && !o->force &&
	    access(o->output, F_OK) == 0)
		return err_set(e, EEXIST, "'%s' is there already: --force writes over it",
			       o->output);
	ret = o->from_csv != NULL ? grid_alone(o, e) : 0;
	if (ret == 0)
		ret = gen_opts_read(o, &j->gen, &j->dirs, e);
	if (ret == 0)
		ret = sources_read(j, e);
	if (ret == 0)
		ret = gen_plan_build(&j->gen, &j->dirs, o->nic_gbps, 0, &j->plan, e);
	if (ret == 0 && o->expand)
		ret = expand(j, e);
	if (ret == 0)
		ret = write_out(j, e);
	if (ret == 0)
		next_steps(j);
	return ret;
}

int cmd_gen(struct opts *o)
{
	struct job j = { .o = o };
	struct err e = { 0 };
	int ret = gen(&j, &e);

	job_end(&j);
	if (ret == 0)
		return EXIT_GOOD;
	complain("%s", e.msg);
	return EXIT_USAGE;
}

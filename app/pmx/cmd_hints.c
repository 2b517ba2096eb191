// pmx hints: from a goal to the commands. Every number is computed from what was given, and the
// line says from which.
#include "cmd.h"

#include "gen.h"
#include "gen_opts.h"
#include "gen_plan.h"
#include "gen_show.h"
#include "rates.h"
#include "shell.h"
#include "text.h"

#include "units.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_NAME "matrix.yaml"
#define PPS_PER_MPPS 1e6
#define BPS_PER_GBPS 1e9

struct job {
	const struct opts *o;
	struct gen gen;
	struct profile_dirs dirs;
	struct servers servers;
	struct gen_plan plan;
	bool *hub;
	uint64_t queues;  // of each host; 0 = cannot be said
	uint64_t streams; // of each pair
};

// h1, h2, ...: what a list would be.
static int servers_make(uint64_t count, struct servers *s, struct err *e)
{
	s->server = calloc(count, sizeof(*s->server));
	if (s->server == NULL)
		return err_set(e, ENOMEM, "out of memory");
	s->count = count;
	for (uint64_t i = 0; i < count; i++)
		snprintf(s->server[i].name, sizeof(s->server[i].name), "h%" PRIu64, i + 1);
	return 0;
}

static int plan_make(struct job *j, struct err *e)
{
	const struct opts *o = j->o;
	int ret;

	if ((o->arg != NULL) == opt_given(o, &o->count))
		return err_set(e, EINVAL,
			       "how many hosts? Expected a server list, pmx hints SERVERS, or "
			       "--count N");
	ret = gen_opts_read(o, &j->gen, &j->dirs, e);
	if (ret < 0)
		return ret;
	j->gen.source = o->arg != NULL ? o->arg : "hints";
	ret = o->arg != NULL ? gen_opts_servers(o->arg, &j->servers, e)
			     : servers_make(o->count, &j->servers, e);
	j->gen.servers = &j->servers;
	if (ret == 0)
		ret = gen_opts_hubs(o, &j->gen, &j->hub, e);
	if (ret == 0)
		ret = gen_opts_rate(o, &j->gen, &j->dirs, e);
	if (ret == 0)
		ret = gen_plan_build(&j->gen, &j->dirs, o->nic_gbps, o->nic_mpps, &j->plan, e);
	return ret;
}

// The packets/s that the busiest host carries, the busier way; NAN with an unpaced flow.
static double most_pps(const struct capacity *c, uint64_t *flows_out)
{
	double most = 0;

	*flows_out = 0;
	for (size_t i = 0; i < c->host_count; i++) {
		const struct capacity_host *h = &c->host[i];

		if (isnan(h->tx_pps))
			return NAN;
		most = fmax(most, fmax(h->tx_pps, h->rx_pps));
		if (h->flows_out > *flows_out)
			*flows_out = h->flows_out;
	}
	return most;
}

// As many queues as the packets need, and as many streams as fill them.
static void queues_size(struct job *j)
{
	uint64_t flows;
	double pps = most_pps(&j->plan.load, &flows);

	j->streams = j->o->streams;
	if (isnan(pps) || !opt_given(j->o, &j->o->queue_mpps))
		return;
	j->queues = (uint64_t)ceil(pps / (j->o->queue_mpps * PPS_PER_MPPS) * (1 - 1e-9));
	if (j->queues == 0)
		j->queues = 1;
	if (flows * j->streams < j->queues)
		j->streams = (j->queues + flows - 1) / flows;
}

static void queues_put(const struct job *j)
{
	const struct profile *p = &j->plan.profile[0];
	char text[512] = "", rate[RATE_STR_MAX];
	uint64_t flows;
	double pps = most_pps(&j->plan.load, &flows);

	if (isnan(pps))
		text_append(text, sizeof(text),
			    "cannot be computed: unpaced flows take what they get");
	else if (j->queues == 0)
		text_append(
			text, sizeof(text),
			"not computed: nothing says what one queue carries. Give --queue-mpps N; "
			"a run with --queues 1 shows it, as pps over busy %%");
	else
		text_append(text, sizeof(text),
			    "%" PRIu64 " a host, one CPU each: the busiest carries %s one way, and "
			    "one queue %.9g Mpps by --queue-mpps",
			    j->queues, rate_unit_str(pps, "pps", rate, sizeof(rate)),
			    j->o->queue_mpps);
	if (j->queues > p->queues_max)
		text_append(text, sizeof(text), ". Driver '%s' has at most %u", p->name,
			    p->queues_max);
	if (j->streams > j->o->streams)
		text_append(text, sizeof(text),
			    ". With %" PRIu64 " streams a pair, so that each has some", j->streams);
	text_wrapped(stdout, "QUEUES      ", text);
}

static void nic_put(const struct job *j)
{
	const struct capacity *c = &j->plan.load;
	const struct opts *o = j->o;
	char text[512] = "", by[128];

	if (c->worst == SIZE_MAX) {
		text_append(text, sizeof(text),
			    c->unpaced == c->host_count
				    ? "nothing to compare: unpaced flows take what they get"
				    : "not rated: give --nic-gbps or --nic-mpps");
		text_wrapped(stdout, "NIC         ", text);
		return;
	}
	const struct capacity_host *h = &c->host[c->worst];
	bool bits = strchr(h->limit, 'G') != NULL,
	     option = bits ? o->nic_gbps > 0 : o->nic_mpps > 0;

	if (option)
		snprintf(by, sizeof(by), "--nic-%s", bits ? "gbps" : "mpps");
	else
		snprintf(by, sizeof(by), "profile '%s'", j->plan.profile[c->worst].name);
	text_append(text, sizeof(text), "%s: %.3g %% of %.9g %s by %s (%s of %s)",
		    c->over > 0 ? "OVER" : "fits", h->load_pct,
		    bits ? h->rated_bps / BPS_PER_GBPS : h->rated_pps / PPS_PER_MPPS,
		    bits ? "Gb/s" : "Mpps", by, h->limit, h->name);
	text_wrapped(stdout, "NIC         ", text);
}

// A word for a shell, quoted where it has to be.
static void word_put(const char *s)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "._/@-:,=+%";
	char *quoted = strspn(s, plain) == strlen(s) ? NULL : shell_quote(s);

	fputs(quoted != NULL ? quoted : s, stdout);
	free(quoted);
}

// An option of gen as it was given to hints.
static void option_put(const struct opts *o, const struct opt *row)
{
	const void *field = (const char *)o + row->offset;

	switch (row->type) {
	case OPT_FLAG:
		printf(" --%s%s", row->name, *(const bool *)field ? "" : "=no");
		break;
	case OPT_COUNT:
		printf(" --%s %" PRIu64, row->name, *(const uint64_t *)field);
		break;
	case OPT_DURATION:
		printf(" --%s %.12gs", row->name, (double)*(const uint64_t *)field / 1e9);
		break;
	default:
		printf(" --%s ", row->name);
		word_put(*(char *const *)field);
	}
}

// Whether gen is to be given this option as it is: what sizes the rate and the queues is not.
static bool is_passed_on(const struct opts *o, const struct opt *row)
{
	static const char *const sizing[] = { "pps",	  "host-pps", "gbps",  "line",	"nic-gbps",
					      "nic-mpps", "streams",  "color", "quiet", "verbose" };

	if (!(row->verbs & VERB_GEN) || !(row->verbs & VERB_HINTS) || !o->given[row - opt_table])
		return false;
	for (size_t i = 0; i < sizeof(sizing) / sizeof(sizing[0]); i++)
		if (strcmp(row->name, sizing[i]) == 0)
			return false;
	return true;
}

static void commands_put(const struct job *j)
{
	const struct opts *o = j->o;
	char rate[RATE_STR_MAX];

	fputs("\n  pmx gen ", stdout);
	if (o->arg != NULL)
		word_put(o->arg);
	else
		fputs("SERVERS", stdout);
	printf(" --pps %s", rate_text_str(&j->gen.rate, rate, sizeof(rate)));
	for (size_t i = 0; i < opt_count; i++)
		if (is_passed_on(o, &opt_table[i]))
			option_put(o, &opt_table[i]);
	if (j->streams > 1)
		printf(" --streams %" PRIu64, j->streams);
	if (j->queues > 0)
		printf(" --queues %" PRIu64, j->queues);
	fputs(" --output " FILE_NAME "\n  pmx check " FILE_NAME, stdout);
	if (o->nic_gbps > 0)
		printf(" --nic-gbps %.9g", o->nic_gbps);
	if (o->nic_mpps > 0)
		printf(" --nic-mpps %.9g", o->nic_mpps);
	fputc('\n', stdout);
	if (verb_find("doctor") != NULL)
		puts("  pmx doctor " FILE_NAME);
	puts("  pmx run " FILE_NAME);
	puts("  pmx clean " FILE_NAME);
	if (o->arg == NULL)
		puts("\nSERVERS is a file with a line for each host, name=address.");
	if (j->gen.device == NULL && j->gen.device_example != NULL)
		puts("\nBefore the check, fill in 'device:' in " FILE_NAME
		     ", or give gen --device.");
}

int cmd_hints(struct opts *o)
{
	struct job j = { .o = o };
	struct err e = { 0 };
	int ret = plan_make(&j, &e);

	if (ret == 0) {
		queues_size(&j);
		gen_show(stdout, &j.plan);
		fputc('\n', stdout);
		queues_put(&j);
		nic_put(&j);
		commands_put(&j);
		ret = j.plan.load.over > 0 ? EXIT_LIMIT : EXIT_GOOD;
	} else {
		complain("%s", e.msg);
		ret = EXIT_USAGE;
	}
	gen_plan_free(&j.plan);
	servers_free(&j.servers);
	free(j.hub);
	return ret;
}

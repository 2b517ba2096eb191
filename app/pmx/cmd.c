#include "cmd.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct verb_arg matrix_arg = {
	.name = "MATRIX",
	.env = "PMX_MATRIX",
	.required = true,
	.help = "the matrix file",
};
static const struct verb_arg servers_arg = {
	.name = "SERVERS",
	.env = "PMX_SERVERS",
	.help = "the server list, - for stdin",
};
static const struct verb_arg verb_arg = {
	.name = "VERB",
	.help = "the verb to explain",
};
static const struct verb_arg profile_arg = {
	.name = "list|show",
	.help = "all profiles, or one (list)",
};
static const struct verb_arg which_arg = {
	.name = "NAME|MATRIX:HOST",
	.help = "a profile, or the one that a host of a matrix gets",
};

const struct verb verb_table[] = {
	{
		.id = VERB_GEN,
		.name = "gen",
		.arg = &servers_arg,
		.brief = "build the matrix file from a server list or a CSV grid",
		.text = "SERVERS is a file (- for stdin) with one name[=address[:port]] a line. "
			"How much\n"
			"is said by --pps of each pair, --host-pps, --gbps or --line of each host, "
			"or by the\n"
			"grid of --from-csv, whose names are the hosts; a server list then has "
			"their\n"
			"addresses. The matrix goes to stdout or to --output; what it leaves open "
			"(devices)\n"
			"is marked in it for the editor. Shapes stay words, but for --expand.",
		.run = cmd_gen,
	},
	{
		.id = VERB_HINTS,
		.name = "hints",
		.arg = &servers_arg,
		.brief = "from a goal to the commands",
		.text = "The goal is --pps, --host-pps, --gbps or --line, of SERVERS or of --count "
			"hosts.\n"
			"Prints what that is for each pair, host and the fleet, how many queues it "
			"takes by\n"
			"--queue-mpps, whether the NICs carry it by --nic-gbps, --nic-mpps or the "
			"profile,\n"
			"and the commands. Touches nothing. Over capacity: exit 1.",
		.run = cmd_hints,
	},
	{
		.id = VERB_CHECK,
		.name = "check",
		.arg = &matrix_arg,
		.brief = "say whether the hosts' NICs can carry the matrix",
		.text = "Adds up, for every host, its own requests and the replies it owes: "
			"packets/s and\n"
			"wire Gb/s both ways, against --nic-gbps and --nic-mpps or the profile's "
			"rating.\n"
			"Touches no host. Over capacity: exit 1.",
		.run = cmd_check,
	},
	{
		.id = VERB_DOCTOR,
		.name = "doctor",
		.arg = &matrix_arg,
		.brief = "say whether this machine and the hosts are ready for the matrix",
		.text = "Looks at this machine, then asks every host by one script that writes "
			"nothing "
			"and\n"
			"needs no agent there. Each problem comes with the command or the edit "
			"that "
			"mends\n"
			"it; [doctor-NAME] is where the manual says more. Exit 0 when nothing "
			"stands in "
			"the\n"
			"way (warnings may), 1 when something does, 3 when a host could not be "
			"asked.",
		.run = cmd_doctor,
	},
	{
		.id = VERB_RUN,
		.name = "run",
		.arg = &matrix_arg,
		.brief = "deploy, start together, measure, collect and summarize",
		.text = "Ends by itself after warm-up, measured window and drain. ^C stops the "
			"agents and\n"
			"summarizes what there is; a second ^C quits at once and the agents end by "
			"their\n"
			"lease. A host that fails before the start stops the run (exit 3) unless\n"
			"--allow-partial measures the others (exit 4).",
		.run = cmd_run,
	},
	{
		.id = VERB_START,
		.name = "start",
		.arg = &matrix_arg,
		.brief = "deploy and start the agents, detached",
		.text = "The agents go on without pmx, until --for or the matrix's timing.max is "
			"over or\n"
			"`pmx stop`. Look with `pmx status`, read with `pmx summarize`.",
		.run = cmd_start,
	},
	{
		.id = VERB_STATUS,
		.name = "status",
		.arg = &matrix_arg,
		.brief = "one line for each host: its live rates, or what it is instead",
		.text = "A host without an agent is NOT-RUNNING, one without pmx's directory is\n"
			"NOT-DEPLOYED, one that cannot be asked is UNREACHABLE. Exit 0 when every "
			"host has\n"
			"a live or finished agent, 1 when one has not, 3 when one cannot be asked.",
		.run = cmd_status,
	},
	{
		.id = VERB_RELOAD,
		.name = "reload",
		.arg = &matrix_arg,
		.brief = "plan a started fleet again: only hosts whose config changed restart",
		.text = "For a fleet that `pmx start` left running: MATRIX was edited, and what it "
			"says\n"
			"becomes so. A changed rate restarts the agent that asks, a changed size "
			"or "
			"number of\n"
			"streams both ends, a new host itself and its peers. The others go on, and "
			"the run\n"
			"ends when it was to. Results so far stay and are added up by `pmx "
			"summarize`.\n"
			"--dry-run looks at the hosts to tell which would restart, and changes "
			"nothing.",
		.run = cmd_reload,
	},
	{
		.id = VERB_SUMMARIZE,
		.name = "summarize",
		.arg = &matrix_arg,
		.brief = "collect the results and print what they say",
		.text = "Asks running agents for their live counters and reads the results of "
			"finished\n"
			"ones. With --no-collect it reads what `pmx collect` brought earlier.",
		.run = cmd_summarize,
	},
	{
		.id = VERB_EXPORT,
		.name = "export",
		.arg = &matrix_arg,
		.brief = "write the results for other tools: OpenMetrics, NDJSON, TSV",
		.text = "Results as `pmx summarize` reads them, with the same exit status; raw "
			"counts "
			"of every\n"
			"trial. ndjson and tsv also have the rows of every host's report.csv.",
		.run = cmd_export,
	},
	{
		.id = VERB_COLLECT,
		.name = "collect",
		.arg = &matrix_arg,
		.brief = "bring result, report and log of every host here",
		.text = "They go to DIR/<host>/result.json, report.csv and agent.log, where DIR is "
			"that of\n"
			"--output.",
		.run = cmd_collect,
	},
	{
		.id = VERB_LOGS,
		.name = "logs",
		.arg = &matrix_arg,
		.brief = "print the last lines of every agent's log",
		.text = "And how the agent ended, where it has.",
		.run = cmd_logs,
	},
	{
		.id = VERB_STOP,
		.name = "stop",
		.arg = &matrix_arg,
		.brief = "stop the agents; results stay on the hosts",
		.text = "Says for each host how its agent ended: stopped, killed or not running.",
		.run = cmd_stop,
	},
	{
		.id = VERB_CLEAN,
		.name = "clean",
		.arg = &matrix_arg,
		.brief = "stop the agents, remove pmx's directory, verify that nothing is left",
		.text = "Removes only a directory that pmx made. Success means that it was looked "
			"for\n"
			"afterwards: the directory is gone and no agent runs out of it.",
		.run = cmd_clean,
	},
	{
		.id = VERB_PREPARE,
		.name = "prepare",
		.arg = &matrix_arg,
		.brief = "hugepages, driver binding and a quiet kernel, as each host's agent needs",
		.text = "Every former value is written down on the host, on its disk, before it "
			"changes;\n"
			"`pmx restore` puts it back. The device that carries the SSH session and "
			"any "
			"that\n"
			"is in use are refused. --dry-run asks the hosts and prints the commands.",
		.run = cmd_prepare,
	},
	{
		.id = VERB_RESTORE,
		.name = "restore",
		.arg = &matrix_arg,
		.brief = "put back what prepare changed",
		.text = "Also after a crash half way. What a reboot has undone since is said and "
			"left alone.",
		.run = cmd_restore,
	},
	{
		.id = VERB_PROFILE,
		.name = "profile",
		.arg = &profile_arg,
		.more = &which_arg,
		.brief = "list the driver profiles, or show one",
		.text = "`show` writes the profile in force as YAML that reads back equal, and "
			"behind "
			"each\n"
			"value the line of the file that says it, or \"default\". A directory of "
			"--drivers\n"
			"goes before the profiles that come with pmx, file by file.",
		.run = cmd_profile,
	},
	{
		.id = VERB_HELP,
		.name = "help",
		.arg = &verb_arg,
		.brief = "every verb, option and environment variable on one page, or one verb",
		.text = "The same as `pmx VERB --help` when a verb is named.",
		.run = cmd_help,
	},
};
const size_t verb_count = sizeof(verb_table) / sizeof(verb_table[0]);

const struct verb *verb_find(const char *name)
{
	for (size_t i = 0; i < verb_count; i++)
		if (strcmp(verb_table[i].name, name) == 0)
			return &verb_table[i];
	return NULL;
}

void complain(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	flockfile(stderr);
	fputs("pmx: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	funlockfile(stderr);
	va_end(ap);
}

void note(const struct opts *o, const char *fmt, ...)
{
	va_list ap;

	if (o->quiet || o->dry_run)
		return;
	va_start(ap, fmt);
	flockfile(stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	funlockfile(stderr);
	va_end(ap);
}

// The command line's user goes before one that a host's own entry names.
static void set_user(struct matrix *m, const char *user)
{
	snprintf(m->ssh.user, sizeof(m->ssh.user), "%s", user);
	for (size_t i = 0; i < m->host_count; i++) {
		char *ssh = m->host[i].ssh, *at = strrchr(ssh, '@');

		if (at != NULL)
			memmove(ssh, at + 1, strlen(at + 1) + 1);
	}
}

// False when a rate gets beyond what there is.
static bool scale_rate(struct rate *rate, double *line_pct, double scale)
{
	rate->pps *= scale;
	rate->bps *= scale;
	*line_pct *= scale;
	return rate->pps <= RATE_MAX_PPS && rate->bps <= RATE_MAX_BPS && *line_pct <= 100;
}

static bool scale_rates(struct matrix *m, double scale)
{
	bool good = scale_rate(&m->traffic.rate, &m->traffic.line_pct, scale);

	for (size_t i = 0; i < m->traffic.cell_count; i++)
		good &= scale_rate(&m->traffic.cell[i].rate, &m->traffic.cell[i].line_pct, scale);
	return good;
}

int cmd_load(const struct opts *o, struct matrix *m)
{
	struct err e = { 0 };

	if (opt_given(o, &o->remote_dir) && !remote_dir_ok(o->remote_dir)) {
		complain("option '--remote-dir': '%s': expected " REMOTE_DIR_FORM, o->remote_dir);
		return EXIT_USAGE;
	}

	if (matrix_load(o->arg, m, &e) < 0) {
		complain("%s", e.msg);
		return EXIT_USAGE;
	}
	if (opt_given(o, &o->user))
		set_user(m, o->user);
	if (opt_given(o, &o->remote_dir))
		snprintf(m->remote_dir, sizeof(m->remote_dir), "%s", o->remote_dir);
	if (opt_given(o, &o->for_ns))
		m->timing.duration_ns = o->for_ns;
	if (opt_given(o, &o->warmup_ns))
		m->timing.warmup_ns = o->warmup_ns;
	if (opt_given(o, &o->scale) && !scale_rates(m, o->scale)) {
		complain("option '--scale': '%.9g': a rate gets over %g packets/s or 100 %% of the "
			 "line",
			 o->scale, RATE_MAX_PPS);
		matrix_free(m);
		return EXIT_USAGE;
	}
	return EXIT_GOOD;
}

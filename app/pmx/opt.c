#include "opt.h"

#include "cmd.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define VERBS_ALL 0xffffffffu
#define VERBS_FLEET                                                                          \
	(VERB_RUN | VERB_START | VERB_RELOAD | VERB_STATUS | VERB_SUMMARIZE | VERB_COLLECT | \
	 VERB_LOGS | VERB_STOP | VERB_CLEAN | VERB_PREPARE | VERB_RESTORE | VERB_DOCTOR |    \
	 VERB_EXPORT)
#define VERBS_LAUNCH (VERB_RUN | VERB_START)
#define VERBS_SIZE (VERB_GEN | VERB_HINTS)
#define VERBS_SUMMARY (VERB_RUN | VERB_SUMMARIZE)

// clang-format off
const struct opt opt_table[] = {
	// every verb
	{ "help", 'h', NULL, NULL, NULL, "explain the verb and its options, and stop",
	  VERBS_ALL, OPT_FLAG, offsetof(struct opts, help), 0, 0 },
	{ "version", 'V', NULL, NULL, NULL, "print the versions of pmx and of DPDK, and stop",
	  VERBS_ALL, OPT_FLAG, offsetof(struct opts, version), 0, 0 },
	{ "quiet", 'q', NULL, "PMX_QUIET", NULL, "no progress on stderr, errors only",
	  VERBS_ALL, OPT_FLAG, offsetof(struct opts, quiet), 0, 0 },
	{ "verbose", 'v', NULL, "PMX_VERBOSE", NULL, "say what is done on each host",
	  VERBS_ALL, OPT_FLAG, offsetof(struct opts, verbose), 0, 0 },
	{ "color", 0, "auto|always|never", "PMX_COLOR", "auto", "colour in text; auto = on a terminal",
	  VERBS_ALL, OPT_CHOICE, offsetof(struct opts, color), 0, 0 },

	{ "format", 0, "text|man|bash", "PMX_HELP_FORMAT", "text",
	  "text, the manual page's source, or the completion for bash; of all verbs",
	  VERB_HELP, OPT_CHOICE, offsetof(struct opts, help_format), 0, 0 },

	// the fleet
	{ "user", 0, "NAME", "PMX_USER", NULL, "log in as NAME (else matrix, ssh_config, current user)",
	  VERBS_FLEET, OPT_TEXT, offsetof(struct opts, user), 0, 0 },
	{ "jobs", 'j', "N", "PMX_JOBS", "64", "hosts that are worked on at the same time",
	  VERBS_FLEET, OPT_COUNT, offsetof(struct opts, jobs), 1, 1024 },
	{ "remote-dir", 0, "DIR", "PMX_REMOTE_DIR", NULL,
	  "the one directory used on a host (else matrix, /var/tmp/pmx)",
	  VERBS_FLEET, OPT_TEXT, offsetof(struct opts, remote_dir), 0, 0 },
	{ "hosts", 0, "A,B,...", "PMX_HOSTS", NULL, "these hosts of the matrix only",
	  VERB_STATUS | VERB_COLLECT | VERB_LOGS | VERB_STOP | VERB_CLEAN | VERB_PREPARE | VERB_RESTORE |
	  VERB_DOCTOR,
	  OPT_TEXT, offsetof(struct opts, hosts), 0, 0 },
	{ "dry-run", 'n', NULL, "PMX_DRY_RUN", NULL, "print what would be run and written; touch nothing",
	  VERBS_FLEET, OPT_FLAG, offsetof(struct opts, dry_run), 0, 0 },

	// run, start
	{ "for", 0, "TIME", "PMX_FOR", NULL, "measure for TIME (else the matrix's timing)",
	  VERBS_LAUNCH, OPT_DURATION, offsetof(struct opts, for_ns), 1, 0 },
	{ "warmup", 0, "TIME", "PMX_WARMUP", NULL, "warm up for TIME first (else the matrix's timing)",
	  VERBS_LAUNCH, OPT_DURATION, offsetof(struct opts, warmup_ns), 0, 0 },
	{ "scale", 0, "N", "PMX_SCALE", "1", "every rate of the matrix times N; max stays max",
	  VERBS_LAUNCH | VERB_RELOAD | VERB_CHECK, OPT_NUMBER, offsetof(struct opts, scale), 0.000001, 1000000 },
	{ "allow-partial", 0, NULL, "PMX_ALLOW_PARTIAL", NULL,
	  "leave out hosts that fail before the start, measure the others",
	  VERBS_LAUNCH, OPT_FLAG, offsetof(struct opts, allow_partial), 0, 0 },
	{ "drivers", 0, "DIR", "PMX_DRIVERS", NULL, "look for driver profiles in DIR first",
	  VERBS_LAUNCH | VERB_RELOAD | VERB_CHECK | VERBS_SIZE | VERB_PROFILE | VERB_PREPARE | VERB_DOCTOR, OPT_DIR, offsetof(struct opts, drivers), 0, 0 },

	// results
	{ "json", 0, "FILE", "PMX_JSON", NULL, "write the result as JSON to FILE; - = stdout, no text",
	  VERBS_SUMMARY | VERB_CHECK | VERB_STATUS | VERB_DOCTOR, OPT_TEXT,
	  offsetof(struct opts, json), 0, 0 },
	{ "report", 0, "DIR", "PMX_REPORT", NULL, "write CSV reports into DIR",
	  VERBS_SUMMARY, OPT_TEXT, offsetof(struct opts, report), 0, 0 },
	{ "grid", 0, "DIR", "PMX_GRID", NULL, "write host x host grids as CSV into DIR",
	  VERBS_SUMMARY, OPT_TEXT, offsetof(struct opts, grid), 0, 0 },
	{ "top", 0, "N", "PMX_TOP", "10", "rows of the tables of the worst",
	  VERBS_SUMMARY, OPT_COUNT, offsetof(struct opts, top), 0, 100000 },
	{ "no-collect", 0, NULL, "PMX_NO_COLLECT", NULL, "read what `pmx collect` brought; ask no host",
	  VERB_SUMMARIZE | VERB_EXPORT, OPT_FLAG, offsetof(struct opts, no_collect), 0, 0 },
	{ "window", 0, "TIME", "PMX_WINDOW", NULL,
	  "only the last TIME of the agents' reports; while they run, too",
	  VERB_SUMMARIZE, OPT_DURATION, offsetof(struct opts, window_ns), 0, 0 },
	{ "results", 0, "DIR", "PMX_RESULTS", "pmx-results", "where collected results stand",
	  VERB_EXPORT, OPT_TEXT, offsetof(struct opts, results), 0, 0 },
	{ "format", 'f', "openmetrics|ndjson|tsv", "PMX_FORMAT", "openmetrics", "what to write",
	  VERB_EXPORT, OPT_CHOICE, offsetof(struct opts, format), 0, 0 },
	{ "output", 'o', "FILE", "PMX_OUTPUT", NULL, "write to FILE (else stdout)",
	  VERB_EXPORT, OPT_TEXT, offsetof(struct opts, output), 0, 0 },
	{ "output", 'o', "DIR", "PMX_RESULTS", "pmx-results", "where collected results stand",
	  VERB_COLLECT | VERB_SUMMARIZE, OPT_TEXT, offsetof(struct opts, results), 0, 0 },
	{ "watch", 'w', "TIME", "PMX_WATCH", NULL, "again every TIME, until ^C",
	  VERB_STATUS, OPT_DURATION, offsetof(struct opts, watch_ns), 0, 0 },
	{ "lines", 0, "N", "PMX_LINES", "20", "lines of each log",
	  VERB_LOGS, OPT_COUNT, offsetof(struct opts, lines), 1, 1000000 },

	// gen, hints
	{ "pps", 0, "RATE", "PMX_PPS", NULL, "requests/s of each pair: 5000, 5k, 1.5M, max; or bits, 1Gbps, 1GbpsL2",
	  VERBS_SIZE, OPT_RATE, offsetof(struct opts, pps), 0, 0 },
	{ "host-pps", 0, "RATE", "PMX_HOST_PPS", NULL,
	  "requests/s of each host instead, split over its peers",
	  VERBS_SIZE, OPT_RATE, offsetof(struct opts, host_pps), 0, 0 },
	{ "gbps", 0, "N", "PMX_GBPS", NULL,
	  "Gb/s of the wire (L1) each way of each host instead, requests and replies",
	  VERBS_SIZE, OPT_NUMBER, offsetof(struct opts, gbps), 0.000001, 100000 },
	{ "line", 0, "N", "PMX_LINE", NULL, "the same in % of the link: the profile's, or --nic-gbps",
	  VERBS_SIZE, OPT_NUMBER, offsetof(struct opts, line_pct), 0.000001, 100 },
	{ "burst", 0, "N", "PMX_BURST", "1", "requests of a stream back to back",
	  VERBS_SIZE, OPT_COUNT, offsetof(struct opts, burst), 1, PACING_BURST_MAX },
	{ "spacing", 0, "even|uniform|poisson", "PMX_SPACING", "even", "of the gaps between them",
	  VERBS_SIZE, OPT_CHOICE, offsetof(struct opts, spacing), 0, 0 },
	{ "ramp", 0, "TIME", "PMX_RAMP", NULL, "the rate rises from 0 within TIME of the window",
	  VERBS_SIZE, OPT_DURATION, offsetof(struct opts, ramp_ns), 0, 0 },
	{ "shape", 0, "mesh|pairs|one-to-many|many-to-one|halves", "PMX_SHAPE", "mesh",
	  "who sends to whom",
	  VERBS_SIZE, OPT_CHOICE, offsetof(struct opts, shape), 0, 0 },
	{ "hub", 0, "A,B,...", "PMX_HUB", NULL, "the hubs of one-to-many, many-to-one (the first host)",
	  VERBS_SIZE, OPT_TEXT, offsetof(struct opts, hub), 0, 0 },
	{ "peers", 0, "K", "PMX_PEERS", NULL, "mesh: K flows out and K in of each host (all)",
	  VERBS_SIZE, OPT_COUNT, offsetof(struct opts, peers), 1, 4095 },
	{ "seed", 0, "N", "PMX_SEED", "1", "draws the peers, and gaps that are not even",
	  VERBS_SIZE, OPT_COUNT, offsetof(struct opts, seed), 0, SEED_MAX },
	{ "dwell", 0, "TIME", "PMX_DWELL", NULL,
	  "other peers after each TIME, until every pair had its turn",
	  VERBS_SIZE, OPT_DURATION, offsetof(struct opts, dwell_ns), 0, 0 },
	{ "equal-layers", 0, NULL, "PMX_EQUAL_LAYERS", NULL,
	  "fill the last of those turns up, so that the load never dips",
	  VERBS_SIZE, OPT_FLAG, offsetof(struct opts, equal_layers), 0, 0 },
	{ "request", 0, "SIZES", "PMX_REQUEST", "18", "UDP payload of a request, or several, as imix",
	  VERBS_SIZE, OPT_TEXT, offsetof(struct opts, request), 0, 0 },
	{ "reply", 0, "SIZES", "PMX_REPLY", "18", "UDP payload of a reply, or several",
	  VERBS_SIZE, OPT_TEXT, offsetof(struct opts, reply), 0, 0 },
	{ "tx-frame", 0, "SIZES", "PMX_TX_FRAME", NULL, "a request as Ethernet frame with FCS instead",
	  VERBS_SIZE, OPT_TEXT, offsetof(struct opts, tx_frame), 0, 0 },
	{ "rx-frame", 0, "SIZES", "PMX_RX_FRAME", NULL, "a reply as Ethernet frame with FCS instead",
	  VERBS_SIZE, OPT_TEXT, offsetof(struct opts, rx_frame), 0, 0 },
	{ "port", 0, "PORT", "PMX_PORT", "5300", "UDP port that answers",
	  VERB_GEN, OPT_COUNT, offsetof(struct opts, port), 1, 65535 },
	{ "streams", 0, "N", "PMX_STREAMS", "1", "4-tuples of each pair; its rate is split over them",
	  VERBS_SIZE, OPT_COUNT, offsetof(struct opts, streams), 1, 16384 },
	{ "queues", 0, "N", "PMX_QUEUES", "1", "RX/TX queue pairs of each host, one CPU each",
	  VERB_GEN, OPT_COUNT, offsetof(struct opts, queues), 1, 128 },
	{ "device", 0, "DEV", "PMX_DEVICE", NULL, "device under test of each host",
	  VERBS_SIZE, OPT_TEXT, offsetof(struct opts, device), 0, 0 },
	{ "driver", 0, "NAME", "PMX_DRIVER", NULL, "driver profile of each host (else from the device)",
	  VERBS_SIZE, OPT_TEXT, offsetof(struct opts, driver), 0, 0 },
	{ "data-net", 0, "NET", "PMX_DATA_NET", NULL, "give data addresses out of NET (198.18.0.0/24)",
	  VERB_GEN, OPT_TEXT, offsetof(struct opts, data_net), 0, 0 },
	{ "ssh-user", 0, "NAME", "PMX_SSH_USER", NULL, "the matrix's ssh user",
	  VERB_GEN, OPT_TEXT, offsetof(struct opts, ssh_user), 0, 0 },
	{ "from-csv", 0, "FILE", "PMX_FROM_CSV", NULL,
	  "hosts, rates and sizes from a grid 'src\\dst,a,b'; - = stdin",
	  VERB_GEN, OPT_TEXT, offsetof(struct opts, from_csv), 0, 0 },
	{ "expand", 0, NULL, "PMX_EXPAND", NULL, "write a cell for each pair instead of the shape",
	  VERB_GEN, OPT_FLAG, offsetof(struct opts, expand), 0, 0 },
	{ "output", 'o', "FILE", "PMX_OUTPUT", NULL, "write the matrix to FILE (else stdout)",
	  VERB_GEN, OPT_TEXT, offsetof(struct opts, output), 0, 0 },
	{ "force", 'f', NULL, "PMX_FORCE", NULL, "write over a FILE that is there",
	  VERB_GEN, OPT_FLAG, offsetof(struct opts, force), 0, 0 },
	{ "count", 0, "N", "PMX_COUNT", NULL, "so many hosts, where there is no list yet",
	  VERB_HINTS, OPT_COUNT, offsetof(struct opts, count), 2, 4096 },
	{ "queue-mpps", 0, "N", "PMX_QUEUE_MPPS", NULL,
	  "what one queue carries each way, million packets/s",
	  VERB_HINTS, OPT_NUMBER, offsetof(struct opts, queue_mpps), 0.000001, 100000 },

	// prepare
	{ "hugetlbfs", 0, NULL, "PMX_HUGETLBFS", NULL, "mount hugetlbfs too, for other programs of DPDK",
	  VERB_PREPARE, OPT_FLAG, offsetof(struct opts, hugetlbfs), 0, 0 },
	{ "noiommu", 0, NULL, "PMX_NOIOMMU", NULL, "let vfio-pci do without an IOMMU (not safe)",
	  VERB_PREPARE, OPT_FLAG, offsetof(struct opts, noiommu), 0, 0 },

	// doctor
	{ "all", 0, NULL, "PMX_ALL", NULL, "show what is well or not known, too",
	  VERB_DOCTOR, OPT_FLAG, offsetof(struct opts, all), 0, 0 },
	{ "root", 0, "DIR", "PMX_ROOT", NULL,
	  "examine the copy of a host's files in DIR instead of the hosts",
	  VERB_DOCTOR, OPT_TEXT, offsetof(struct opts, root), 0, 0 },

	// check
	{ "nic-gbps", 0, "N", "PMX_NIC_GBPS", NULL, "what each NIC carries each way, wire Gb/s",
	  VERB_CHECK | VERBS_SIZE, OPT_NUMBER, offsetof(struct opts, nic_gbps), 0.000001, 100000 },
	{ "nic-mpps", 0, "N", "PMX_NIC_MPPS", NULL, "what each NIC carries each way, million packets/s",
	  VERB_CHECK | VERB_HINTS, OPT_NUMBER, offsetof(struct opts, nic_mpps), 0.000001, 100000 },
	{ "csv", 0, "FILE", "PMX_CSV", NULL,
	  "write the grid of rates as CSV to FILE; - = stdout, no text",
	  VERB_CHECK, OPT_TEXT, offsetof(struct opts, csv), 0, 0 },
};
// clang-format on
const size_t opt_count = sizeof(opt_table) / sizeof(opt_table[0]);
_Static_assert(sizeof(opt_table) / sizeof(opt_table[0]) <= OPTS_ROWS_MAX, "raise OPTS_ROWS_MAX");

bool opt_given(const struct opts *o, const void *field)
{
	size_t offset = (size_t)((const char *)field - (const char *)o);

	for (size_t i = 0; i < opt_count; i++)
		if (opt_table[i].offset == offset && o->given[i])
			return true;
	return false;
}

static bool choice_has(const char *choices, const char *word)
{
	size_t len = strlen(word);

	if (strchr(word, '|') != NULL)
		return false;
	for (const char *p = choices; p != NULL; p = strchr(p, '|') ? strchr(p, '|') + 1 : NULL)
		if (strncmp(p, word, len) == 0 && (p[len] == '|' || p[len] == '\0') && len > 0)
			return true;
	return false;
}

static int read_number(const char *s, double min, double max, double *out, struct err *e)
{
	char *end;

	errno = 0;
	double v = strtod(s, &end);
	if (s[0] < '0' || s[0] > '9' || strspn(s, "0123456789.") != strlen(s) || *end != '\0' ||
	    errno != 0 || !isfinite(v))
		return err_set(e, EINVAL, "'%s': expected a plain decimal number", s);
	if (v < min || v > max)
		return err_set(e, ERANGE, "'%s': expected %g to %g", s, min, max);
	*out = v;
	return 0;
}

static int check_dir(const char *s, struct err *e)
{
	struct stat st;

	if (stat(s, &st) < 0)
		return err_set(e, errno, "'%s': %s: expected a directory", s, strerror(errno));
	return S_ISDIR(st.st_mode) ? 0 : err_set(e, ENOTDIR, "'%s': is no directory", s);
}

static int read_value(struct opts *o, const struct opt *row, const char *s, struct err *e)
{
	void *field = (char *)o + row->offset;

	switch (row->type) {
	case OPT_FLAG:
		return parse_bool(s, field, e);
	case OPT_CHOICE:
		if (!choice_has(row->arg, s))
			return err_set(e, EINVAL, "'%s': expected %s", s, row->arg);
		*(const char **)field = s;
		return 0;
	case OPT_TEXT:
		if (s[0] == '\0')
			return err_set(e, EINVAL, "'': expected %s", row->arg);
		*(const char **)field = s;
		return 0;
	case OPT_DIR:
		*(const char **)field = s;
		return check_dir(s, e);
	case OPT_COUNT:
		return parse_u64(s, (uint64_t)row->min, (uint64_t)row->max, field, e);
	case OPT_NUMBER:
		return read_number(s, row->min, row->max, field, e);
	case OPT_RATE:
		return parse_rate(s, field, e);
	case OPT_DURATION:
		if (parse_duration_ns(s, field, e) < 0)
			return -EINVAL;
		if ((double)*(uint64_t *)field < row->min)
			return err_set(e, ERANGE, "'%s': expected more than 0", s);
		return 0;
	}
	return err_set(e, EINVAL, "'%s': no such kind of option", s);
}

static const struct opt *find_row(const struct verb *v, const char *name, size_t len, char letter)
{
	for (size_t i = 0; i < opt_count; i++) {
		const struct opt *row = &opt_table[i];

		if (!(row->verbs & v->id))
			continue;
		if (name != NULL && strlen(row->name) == len && strncmp(row->name, name, len) == 0)
			return row;
		if (name == NULL && row->letter == letter && letter != '\0')
			return row;
	}
	return NULL;
}

// The option may belong to another verb; else it may be misspelt.
static int unknown_option(const struct verb *v, const char *name, struct err *e)
{
	const char *words[OPTS_ROWS_MAX];
	size_t n = 0;

	for (size_t i = 0; i < opt_count; i++)
		if (opt_table[i].verbs & v->id)
			words[n++] = opt_table[i].name;
	const char *near = nearest_word(name, words, n);
	if (near != NULL)
		return err_set(e, EINVAL, "unknown option '--%s' of `pmx %s`, did you mean '--%s'?",
			       name, v->name, near);
	for (size_t i = 0; i < opt_count; i++)
		for (size_t j = 0; strcmp(opt_table[i].name, name) == 0 && j < verb_count; j++)
			if (opt_table[i].verbs & verb_table[j].id)
				return err_set(e, EINVAL,
					       "option '--%s' belongs to `pmx %s`, not to `pmx %s`",
					       name, verb_table[j].name, v->name);
	return err_set(e, EINVAL, "unknown option '--%s' of `pmx %s`; `pmx %s --help` lists them",
		       name, v->name, v->name);
}

// One option of the command line, at argv[*i]; moves *i on when the value is the next argument.
static int read_option(struct opts *o, int argc, char *const *argv, int *i, struct err *e)
{
	const char *s = argv[*i], *value = NULL, *name;
	const struct opt *row;
	char shown[80];

	if (s[1] == '-') {
		const char *eq = strchr(s, '=');

		name = s + 2;
		size_t len = eq != NULL ? (size_t)(eq - name) : strlen(name);
		value = eq != NULL ? eq + 1 : NULL;
		snprintf(shown, sizeof(shown), "%.*s", (int)len, name);
		row = find_row(o->verb, name, len, 0);
		if (row == NULL)
			return unknown_option(o->verb, shown, e);
	} else {
		row = find_row(o->verb, NULL, 0, s[1]);
		if (row == NULL)
			return err_set(
				e, EINVAL,
				"unknown option '%s' of `pmx %s`; `pmx %s --help` lists them", s,
				o->verb->name, o->verb->name);
		if (s[2] != '\0')
			value = s + 2 + (s[2] == '=');
	}
	if (value == NULL && row->type == OPT_FLAG)
		value = "yes";
	if (value == NULL) {
		if (*i + 1 >= argc)
			return err_set(e, EINVAL, "option '--%s' needs a value: --%s %s", row->name,
				       row->name, row->arg);
		value = argv[++*i];
	}
	if (read_value(o, row, value, e) < 0)
		return err_wrap(e, "option '--%s'", row->name);
	o->given[row - opt_table] = true;
	o->typed[row - opt_table] = true;
	return 0;
}

static int read_defaults(struct opts *o, struct err *e)
{
	for (size_t i = 0; i < opt_count; i++) {
		const struct opt *row = &opt_table[i];
		const char *env = row->env != NULL ? getenv(row->env) : NULL;

		if (row->preset != NULL && read_value(o, row, row->preset, e) < 0)
			return err_wrap(e, "default of '--%s'", row->name);
		if (env == NULL || env[0] == '\0' || !(row->verbs & o->verb->id))
			continue;
		if (read_value(o, row, env, e) < 0)
			return err_wrap(e, "environment variable %s", row->env);
		o->given[i] = true;
	}
	return 0;
}

static int read_verb(struct opts *o, const char *name, struct err *e)
{
	const char *words[32];
	size_t n = 0;

	o->verb = verb_find(name);
	if (o->verb != NULL)
		return 0;
	if (name[0] == '-')
		return err_set(e, EINVAL, "'%s': options stand after the verb: pmx VERB %s", name,
			       name);
	for (; n < verb_count && n < 32; n++)
		words[n] = verb_table[n].name;
	const char *near = nearest_word(name, words, n);
	if (near != NULL)
		return err_set(e, EINVAL, "unknown verb '%s', did you mean '%s'?", name, near);
	return err_set(e, EINVAL, "unknown verb '%s'; `pmx help` lists them", name);
}

static int read_argument(struct opts *o, const char *s, struct err *e)
{
	if (o->verb->arg == NULL)
		return err_set(e, EINVAL, "'%s': `pmx %s` takes no argument", s, o->verb->name);
	const struct verb_arg *arg = o->arg == NULL ? o->verb->arg : o->verb->more;
	if (arg == NULL)
		return err_set(e, EINVAL, "'%s': `pmx %s` takes one %s, and has '%s'", s,
			       o->verb->name, o->verb->arg->name, o->arg);
	if (o->more != NULL)
		return err_set(e, EINVAL, "'%s': `pmx %s` takes %s and %s, and has '%s' and '%s'",
			       s, o->verb->name, o->verb->arg->name, arg->name, o->arg, o->more);
	if (s[0] == '\0')
		return err_set(e, EINVAL, "'': expected %s", arg->name);
	*(o->arg == NULL ? &o->arg : &o->more) = s;
	return 0;
}

// Options that say one thing in different ways: where one of them is on the command line, the
// environment's others do not count.
static const size_t rivals[][4] = {
	{ offsetof(struct opts, pps), offsetof(struct opts, host_pps), offsetof(struct opts, gbps),
	  offsetof(struct opts, line_pct) },
	{ offsetof(struct opts, request), offsetof(struct opts, tx_frame) },
	{ offsetof(struct opts, reply), offsetof(struct opts, rx_frame) },
};

static bool is_rival(const size_t group[4], size_t row)
{
	for (size_t i = 0; i < 4 && group[i] != 0; i++)
		if (opt_table[row].offset == group[i])
			return true;
	return false;
}

static int forget(struct opts *o, size_t row, struct err *e)
{
	static const size_t bytes[] = {
		[OPT_FLAG] = sizeof(bool),	   [OPT_CHOICE] = sizeof(char *),
		[OPT_TEXT] = sizeof(char *),	   [OPT_COUNT] = sizeof(uint64_t),
		[OPT_NUMBER] = sizeof(double),	   [OPT_RATE] = sizeof(struct rate),
		[OPT_DURATION] = sizeof(uint64_t), [OPT_DIR] = sizeof(char *),
	};
	const struct opt *r = &opt_table[row];

	o->given[row] = false;
	memset((char *)o + r->offset, 0, bytes[r->type]);
	return r->preset != NULL ? read_value(o, r, r->preset, e) : 0;
}

static int settle_rivals(struct opts *o, struct err *e)
{
	for (size_t g = 0; g < sizeof(rivals) / sizeof(rivals[0]); g++) {
		bool typed = false;

		for (size_t i = 0; i < opt_count; i++)
			typed = typed || (o->typed[i] && is_rival(rivals[g], i));
		for (size_t i = 0; typed && i < opt_count; i++)
			if (o->given[i] && !o->typed[i] && is_rival(rivals[g], i) &&
			    forget(o, i, e) < 0)
				return -EINVAL;
	}
	return 0;
}

int opts_read(struct opts *o, int argc, char *const *argv, struct err *e)
{
	bool only_arguments = false;
	int rc;

	*o = (struct opts){ 0 };
	if (argc < 2)
		return err_set(e, EINVAL, "no verb");
	o->help = strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0;
	o->version = strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0;
	if (o->help || o->version)
		return 0;
	rc = read_verb(o, argv[1], e);
	if (rc == 0)
		rc = read_defaults(o, e);
	for (int i = 2; i < argc && rc == 0 && !o->help && !o->version; i++) {
		if (!only_arguments && strcmp(argv[i], "--") == 0)
			only_arguments = true;
		else if (!only_arguments && argv[i][0] == '-' && argv[i][1] != '\0')
			rc = read_option(o, argc, argv, &i, e);
		else
			rc = read_argument(o, argv[i], e);
	}
	if (rc == 0)
		rc = settle_rivals(o, e);
	if (rc < 0 || o->help || o->version || o->verb->arg == NULL)
		return rc;

	const struct verb_arg *arg = o->verb->arg;
	if (o->arg == NULL && arg->env != NULL)
		o->arg = getenv(arg->env);
	if (o->arg == NULL && arg->required)
		return err_set(e, EINVAL, "`pmx %s` needs %s: pmx %s %s", o->verb->name, arg->help,
			       o->verb->name, arg->name);
	return 0;
}

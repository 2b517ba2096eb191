#include "cmd.h"
#include "opt.h"

#include "testlib.h"

#include <stdlib.h>
#include <string.h>

#define ARGS_MAX 16

static int read_args(struct opts *o, struct err *e, const char *const *arg)
{
	char *argv[ARGS_MAX + 1] = { (char *)"pmx" };
	int argc = 1;

	while (*arg != NULL)
		argv[argc++] = (char *)*arg++;
	memset(e, 0, sizeof(*e));
	return opts_read(o, argc, argv, e);
}

#define READ(o, e, ...) read_args((o), (e), (const char *const[]){ __VA_ARGS__, NULL })

static void refused(const char *want, const char *const *arg)
{
	struct opts o;
	struct err e;

	if (read_args(&o, &e, arg) == 0)
		fail_msg("not refused: %s", want);
	assert_string_equal(e.msg, want);
}

#define REFUSED(want, ...) refused((want), (const char *const[]){ __VA_ARGS__, NULL })

static void forms(void **state)
{
	struct opts o;
	struct err e;

	(void)state;
	assert_int_equal(READ(&o, &e, "run", "m.yaml", "--jobs", "3", "--for=90", "-q"), 0);
	assert_string_equal(o.verb->name, "run");
	assert_string_equal(o.arg, "m.yaml");
	assert_int_equal(o.jobs, 3);
	assert_int_equal(o.for_ns, 90000000000);
	assert_true(o.quiet);
	assert_true(opt_given(&o, &o.jobs) && opt_given(&o, &o.for_ns));
	assert_false(opt_given(&o, &o.user) || opt_given(&o, &o.warmup_ns));

	assert_int_equal(READ(&o, &e, "run", "-j4", "--json", "-", "m"), 0);
	assert_int_equal(o.jobs, 4);
	assert_string_equal(o.json, "-");
	assert_int_equal(READ(&o, &e, "run", "-j=5", "--", "--m"), 0);
	assert_int_equal(o.jobs, 5);
	assert_string_equal(o.arg, "--m");
	assert_int_equal(READ(&o, &e, "gen", "-", "--pps", "1.5M"), 0);
	assert_string_equal(o.arg, "-");
	assert_true(o.pps.pps == 1.5e6);
}

static void defaults(void **state)
{
	struct opts o;
	struct err e;

	(void)state;
	assert_int_equal(READ(&o, &e, "collect", "m"), 0);
	assert_int_equal(o.jobs, 64);
	assert_string_equal(o.color, "auto");
	assert_string_equal(o.results, "pmx-results");
	assert_null(o.remote_dir);
	assert_false(opt_given(&o, &o.jobs));
}

// What the command line says in another way takes the place of the environment's.
static void rivals(void **state)
{
	struct opts o;
	struct err e;

	(void)state;
	setenv("PMX_PPS", "1k", 1);
	setenv("PMX_REQUEST", "64", 1);
	assert_int_equal(READ(&o, &e, "gen", "-", "--gbps", "10", "--tx-frame", "128"), 0);
	assert_false(opt_given(&o, &o.pps) || opt_given(&o, &o.request));
	assert_true(opt_given(&o, &o.gbps) && opt_given(&o, &o.tx_frame));
	assert_int_equal(READ(&o, &e, "gen", "-", "--queues", "2"), 0);
	assert_true(opt_given(&o, &o.pps) && o.pps.pps == 1000);
	assert_true(opt_given(&o, &o.request));
	assert_int_equal(READ(&o, &e, "gen", "-", "--pps", "2k", "--gbps", "10"), 0);
	assert_true(opt_given(&o, &o.pps) && opt_given(&o, &o.gbps)); // the verb refuses both
	unsetenv("PMX_PPS");
	unsetenv("PMX_REQUEST");
}

static void environment(void **state)
{
	struct opts o;
	struct err e;

	(void)state;
	setenv("PMX_JOBS", "7", 1);
	setenv("PMX_DRY_RUN", "yes", 1);
	setenv("PMX_USER", "", 1);
	setenv("PMX_MATRIX", "env.yaml", 1);
	setenv("PMX_TOP", "nonsense", 1); // of another verb: not looked at
	assert_int_equal(READ(&o, &e, "stop"), 0);
	assert_int_equal(o.jobs, 7);
	assert_true(o.dry_run);
	assert_true(opt_given(&o, &o.jobs));
	assert_null(o.user);
	assert_string_equal(o.arg, "env.yaml");
	assert_int_equal(READ(&o, &e, "stop", "--jobs", "9", "--dry-run=no", "arg.yaml"), 0);
	assert_int_equal(o.jobs, 9);
	assert_false(o.dry_run);
	assert_string_equal(o.arg, "arg.yaml");
	setenv("PMX_JOBS", "0", 1);
	REFUSED("environment variable PMX_JOBS: number '0': expected a whole number from 1 to 1024",
		"stop", "m");
	unsetenv("PMX_JOBS");
	unsetenv("PMX_DRY_RUN");
	unsetenv("PMX_USER");
	unsetenv("PMX_MATRIX");
	unsetenv("PMX_TOP");
}

static void refusals(void **state)
{
	(void)state;
	REFUSED("unknown verb 'runn', did you mean 'run'?", "runn");
	REFUSED("unknown verb 'sing'; `pmx help` lists them", "sing");
	REFUSED("'--jobs': options stand after the verb: pmx VERB --jobs", "--jobs", "3");
	REFUSED("unknown option '--jbos' of `pmx run`, did you mean '--jobs'?", "run", "m",
		"--jbos=3");
	REFUSED("option '--csv' belongs to `pmx check`, not to `pmx run`", "run", "m", "--csv",
		"x");
	REFUSED("unknown option '--zzz' of `pmx run`; `pmx run --help` lists them", "run", "--zzz");
	REFUSED("unknown option '-z' of `pmx run`; `pmx run --help` lists them", "run", "-z");
	REFUSED("option '--jobs' needs a value: --jobs N", "run", "m", "--jobs");
	REFUSED("option '--color': 'red': expected auto|always|never", "run", "m", "--color=red");
	REFUSED("option '--color': 'auto|always': expected auto|always|never", "run", "m",
		"--color=auto|always");
	REFUSED("option '--nic-gbps': '1e3': expected a plain decimal number", "check", "m",
		"--nic-gbps", "1e3");
	REFUSED("option '--remote-dir': '': expected DIR", "run", "m", "--remote-dir=");
	REFUSED("option '--for': '0': expected more than 0", "run", "m", "--for", "0");
	REFUSED("option '--drivers': '/nonexistent': No such file or directory: expected a "
		"directory",
		"run", "m", "--drivers", "/nonexistent");
	REFUSED("option '--drivers': '/dev/null': is no directory", "run", "m",
		"--drivers=/dev/null");
	REFUSED("`pmx run` needs the matrix file: pmx run MATRIX", "run");
	REFUSED("'n': `pmx run` takes one MATRIX, and has 'm'", "run", "m", "n");
	REFUSED("no verb", NULL);
}

static void asks_for_help(void **state)
{
	struct opts o;
	struct err e;

	(void)state;
	assert_int_equal(READ(&o, &e, "--help"), 0);
	assert_true(o.help && o.verb == NULL);
	assert_int_equal(READ(&o, &e, "-V"), 0);
	assert_true(o.version);
	assert_int_equal(READ(&o, &e, "run", "--help", "--nonsense"), 0); // no matrix needed
	assert_true(o.help);
	assert_string_equal(o.verb->name, "run");
}

static bool stands_in(const char *text, const char *what)
{
	if (strstr(text, what) == NULL)
		fail_msg("'%s' is not in the help", what);
	return true;
}

// Every row of both tables is on the one page, and the names are what they should be.
static void help_has_all(void **state)
{
	char *text = NULL, word[64];
	size_t len;
	FILE *f = open_memstream(&text, &len);

	(void)state;
	opts_help_all(f);
	fclose(f);
	for (size_t i = 0; i < verb_count; i++) {
		snprintf(word, sizeof(word), "\n  %s", verb_table[i].name);
		stands_in(text, word);
		assert_non_null(verb_table[i].run);
	}
	for (size_t i = 0; i < opt_count; i++) {
		const struct opt *row = &opt_table[i];

		snprintf(word, sizeof(word), "--%s", row->name);
		stands_in(text, word);
		assert_int_equal(row->arg == NULL, row->type == OPT_FLAG);
		if (row->env == NULL)
			continue;
		assert_int_equal(strncmp(row->env, "PMX_", 4), 0);
		stands_in(text, row->env);
		for (size_t j = 0; j < i; j++) {
			const struct opt *other = &opt_table[j];

			// the same thing may have another name with another verb
			if (other->env != NULL && strcmp(row->env, other->env) == 0)
				assert_true(row->offset == other->offset &&
					    !(row->verbs & other->verbs));
			if (row->verbs & other->verbs) {
				assert_string_not_equal(row->name, other->name);
				assert_true(row->letter == 0 || row->letter != other->letter);
			}
		}
	}
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forms),	cmocka_unit_test(defaults),
		cmocka_unit_test(rivals),	cmocka_unit_test(environment),
		cmocka_unit_test(refusals),	cmocka_unit_test(asks_for_help),
		cmocka_unit_test(help_has_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

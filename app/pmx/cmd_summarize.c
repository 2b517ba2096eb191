#include "cmd.h"
#include "fleet_collect.h"
#include "fleet_window.h"
#include "summary.h"

#include <math.h>

_Static_assert((int)VERDICT_GOOD == EXIT_GOOD && (int)VERDICT_LIMIT == EXIT_LIMIT &&
		       (int)VERDICT_NOTHING == EXIT_HOST && (int)VERDICT_PARTIAL == EXIT_PARTIAL,
	       "verdicts are exit codes");

// From the hosts, or from what `pmx collect` brought here.
static int summarize(struct fleet *f, struct summary_parts *parts)
{
	const struct opts *o = f->opts;

	if (opt_given(o, &o->window_ns)) {
		fleet_window(f, parts);
	} else if (o->no_collect) {
		fleet_collect_dir(f, o->results);
	} else {
		fleet_connect(f);
		fleet_collect(f, LIVES_JOINED);
	}
	size_t failed = fleet_complain(f);
	if (f->dry)
		return failed > 0 ? EXIT_HOST : EXIT_GOOD;
	// how far apart they started is known to who started them only
	return fleet_report(f, parts, (struct skew){ .ns = NAN, .error_ns = NAN });
}

int cmd_summarize(struct opts *o)
{
	struct summary_parts parts = { 0 };
	struct matrix m;
	struct fleet f;
	int code;

	if (opt_given(o, &o->window_ns) && o->window_ns == 0) {
		complain("option '--window': '0': expected a time above 0, as 10s");
		return EXIT_USAGE;
	}
	code = cmd_load(o, &m);
	if (code != EXIT_GOOD)
		return code;
	code = fleet_init(&f, o, &m, false);
	if (code == EXIT_GOOD) {
		code = fleet_digest(&f, &parts);
		if (code == EXIT_GOOD)
			code = summarize(&f, &parts);
		summary_parts_free(&parts);
		fleet_free(&f);
	}
	matrix_free(&m);
	return code;
}

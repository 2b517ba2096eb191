#include "cmd.h"
#include "fleet_collect.h"
#include "fleet_verb.h"
#include "fleet_window.h"
#include "summary.h"

#include <math.h>

_Static_assert((int)VERDICT_GOOD == EXIT_GOOD && (int)VERDICT_LIMIT == EXIT_LIMIT &&
		       (int)VERDICT_NOTHING == EXIT_HOST && (int)VERDICT_PARTIAL == EXIT_PARTIAL,
	       "verdicts are exit codes");

static int summarize(struct fleet *f, void *arg)
{
	struct summary_parts *parts = arg;
	int code = fleet_digest(f, parts);
	size_t failed;

	if (code != EXIT_GOOD)
		return code;
	if (opt_given(f->opts, &f->opts->window_ns)) {
		fleet_window(f, parts);
		failed = fleet_complain(f);
	} else {
		failed = fleet_gather(f);
	}
	if (f->dry)
		return failed > 0 ? EXIT_HOST : EXIT_GOOD;
	// how far apart they started is known to who started them only
	return fleet_report(f, parts, (struct skew){ .ns = NAN, .error_ns = NAN });
}

int cmd_summarize(struct opts *o)
{
	struct summary_parts parts = { 0 };

	if (opt_given(o, &o->window_ns) && o->window_ns == 0) {
		complain("option '--window': '0': expected a time above 0, as 10s");
		return EXIT_USAGE;
	}
	int code = fleet_with(o, summarize, &parts);
	summary_parts_free(&parts);
	return code;
}

#include "cmd.h"
#include "fleet_collect.h"
#include "halt.h"
#include "launch.h"
#include "signals.h"
#include "watch.h"

#include <stdio.h>

static uint64_t total_ns(const struct matrix *m)
{
	return m->timing.warmup_ns + m->timing.duration_ns + m->timing.drain_ns;
}

// From ready agents to the summary; no agent is left when it returns.
static int measure(struct fleet *f, struct summary_parts *parts)
{
	uint64_t start_ns;
	int code = watch_arm(f, &start_ns);

	if (code == EXIT_GOOD)
		code = fleet_digest(f, parts);
	if (code == EXIT_GOOD) {
		watch_run(f, start_ns, total_ns(f->matrix));
		fleet_collect(f, LIVES_LAST);
	}
	halt_agents(f);
	if (code != EXIT_GOOD)
		return code;
	size_t failed = fleet_complain(f);
	code = fleet_report(f, parts, watch_skew(f));
	if (signals_got() != 0)
		return 128 + signals_got();
	return failed > 0 && code != EXIT_HOST ? EXIT_PARTIAL : code;
}

static void print_rest(const struct matrix *m)
{
	printf("then: time, arm for a common start, status until %.3g s are over, result, quit\n",
	       (double)total_ns(m) / 1e9);
}

static int run_fleet(const struct opts *o, const struct matrix *m)
{
	struct summary_parts parts = { 0 };
	struct fleet f;
	struct launch l;
	int code = fleet_init(&f, o, m, true);

	if (code != EXIT_GOOD)
		return code;
	f.leased = m->timing.lease_ns > 0;
	code = launch_init(&l, &f, m->timing.duration_ns, m->timing.lease_ns);
	if (code == EXIT_GOOD)
		code = launch_all(&l, &f);
	if (code == EXIT_GOOD && f.dry)
		print_rest(m);
	else if (code == EXIT_GOOD)
		code = measure(&f, &parts);
	launch_free(&l);
	summary_parts_free(&parts);
	fleet_free(&f);
	return code;
}

int cmd_run(struct opts *o)
{
	struct matrix m;
	int code = cmd_load(o, &m);

	if (code != EXIT_GOOD)
		return code;
	signals_catch();
	code = run_fleet(o, &m);
	matrix_free(&m);
	return code;
}

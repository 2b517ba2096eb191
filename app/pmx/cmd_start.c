#include "clock.h"
#include "cmd.h"
#include "halt.h"
#include "launch.h"
#include "session_calls.h"
#include "signals.h"
#include "ticker.h"
#include "watch.h"

#include <errno.h>
#include <stdio.h>

#define LOOK_NS (300 * NS_PER_MS) // after the start: long enough for the first requests

static uint64_t duration_of(const struct opts *o, const struct matrix *m)
{
	return opt_given(o, &o->for_ns) ? o->for_ns : m->timing.max_ns;
}

static int look_one(struct fleet_host *h, void *arg, struct err *e)
{
	const uint64_t *duration = arg;
	int rc = call_status(h, e);

	if (rc < 0)
		return rc;
	if (h->status.state < AGENT_ARMED)
		return err_set(e, EIO, "did not start: state %s",
			       agent_state_name[h->status.state]);
	fleet_say(h, "%s, ends by itself after %.6g s", agent_state_name[h->status.state],
		  (double)(h->fleet->matrix->timing.warmup_ns + *duration) / NS_PER_S);
	return 0;
}

// From ready agents to running ones that are left alone.
static int begin(struct fleet *f, uint64_t duration_ns)
{
	uint64_t start_ns;
	int code = watch_arm(f, &start_ns);

	while (code == EXIT_GOOD && raw_ns() < start_ns + LOOK_NS && signals_got() == 0)
		sleep_ns(20 * NS_PER_MS);
	if (code == EXIT_GOOD && signals_got() != 0)
		code = 128 + signals_got();
	if (code != EXIT_GOOD) {
		halt_agents(f);
		return code;
	}
	fleet_each(f, FLEET_LIVE, look_one, &duration_ns);
	fleet_print(f);
	return fleet_complain(f) > 0 ? EXIT_PARTIAL : EXIT_GOOD;
}

static int start_fleet(const struct opts *o, const struct matrix *m)
{
	uint64_t duration_ns = duration_of(o, m);
	struct fleet f;
	struct launch l;
	int code = fleet_init(&f, o, m, true);

	if (code != EXIT_GOOD)
		return code;
	code = launch_init(&l, &f, duration_ns, 0);
	if (code == EXIT_GOOD)
		code = launch_all(&l, &f);
	if (code == EXIT_GOOD && f.dry)
		printf("then: time, arm for a common start; the agents go on by themselves\n");
	else if (code == EXIT_GOOD)
		code = begin(&f, duration_ns);
	launch_free(&l);
	fleet_free(&f);
	return code;
}

int cmd_start(struct opts *o)
{
	struct matrix m;
	int code = cmd_load(o, &m);

	if (code != EXIT_GOOD)
		return code;
	signals_catch();
	code = start_fleet(o, &m);
	matrix_free(&m);
	return code;
}

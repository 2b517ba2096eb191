#include "cmd.h"
#include "poller.h"
#include "reload.h"
#include "signals.h"

#include <stdio.h>

// Only those that have something to do are chosen from here on.
static void choose(struct fleet *f, const struct reload *r)
{
	for (size_t i = 0; i < f->count; i++) {
		struct fleet_host *h = &f->host[i];

		h->chosen = r->host[i].part != PART_GOES_ON;
		f->chosen -= !h->chosen;
		if (!h->chosen)
			fleet_say(h, "goes on");
	}
}

// What was looked at was asked for real; from here on commands are only printed.
static void go_dry(struct fleet *f)
{
	fleet_disconnect(f);
	f->dry = true;
	f->jobs = 1;
	fleet_connect(f);
}

static int reload_fleet(struct fleet *f, struct reload *r, struct launch *l)
{
	bool dry = f->dry;
	int code;

	f->dry = false;
	f->cancellable = true;
	note(f->opts, "asking %zu hosts", f->chosen);
	fleet_connect(f);
	code = reload_look(r, f);
	if (code == EXIT_GOOD)
		code = launch_locate(l, f);
	if (code == EXIT_GOOD && fleet_complain(f) > 0)
		code = EXIT_HOST;
	if (code == EXIT_GOOD)
		code = launch_replan(l, r->like);
	if (code == EXIT_GOOD)
		code = reload_decide(r, f, l);
	if (code != EXIT_GOOD)
		return code;
	note(f->opts, "%zu of %zu agents restart, %zu join", r->restarts, f->count, r->joins);
	if (dry)
		go_dry(f);
	choose(f, r);
	if (r->restarts + r->joins > 0)
		code = reload_do(r, f, l);
	poller_end(f);
	fleet_print(f);
	return code;
}

int cmd_reload(struct opts *o)
{
	struct reload r = { 0 };
	struct launch l;
	struct matrix m;
	struct fleet f;
	int code = cmd_load(o, &m);

	if (code != EXIT_GOOD)
		return code;
	signals_catch();
	code = fleet_init(&f, o, &m, true);
	if (code == EXIT_GOOD) {
		code = launch_init(&l, &f, m.timing.max_ns, 0);
		if (code == EXIT_GOOD)
			code = reload_fleet(&f, &r, &l);
		launch_free(&l);
		reload_free(&r);
		fleet_free(&f);
	}
	matrix_free(&m);
	return code;
}

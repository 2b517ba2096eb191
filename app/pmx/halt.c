#include "halt.h"

#include "clock.h"
#include "poller.h"
#include "session_calls.h"
#include "signals.h"

#include <stdio.h>
#include <stdlib.h>

#define AHEAD_NS (50 * NS_PER_MS)
#define SPARE_S \
	10 // for an agent that was asked to go, on top of its drain: many may share a machine

static int stop_one(struct fleet_host *h, void *arg, struct err *e)
{
	const uint64_t *at = arg;

	if (!remote_attached(h->remote))
		return 0;
	// without a clock comparison there was no start either
	if (h->barrier.told_ns == 0)
		return call_stop(h, 0, e);
	return call_stop(h, clock_theirs(&h->barrier.offset, *at), e);
}

void halt_requests(struct fleet *f)
{
	uint64_t at = raw_ns() + AHEAD_NS;

	fleet_each(f, FLEET_LIVE, stop_one, &at);
}

// Who answers, and how far its clock is from ours. One that does not is told by halt_agent, alone.
static int meet_one(struct fleet_host *h, void *arg, struct err *e)
{
	bool *met = arg;

	met[h->index] =
		(remote_attached(h->remote) || call_hello(h, NULL, e) == 0) && call_time(h, e) == 0;
	return 0;
}

struct together {
	const bool *met;
	uint64_t at;
};

static int stop_met(struct fleet_host *h, void *arg, struct err *e)
{
	const struct together *t = arg;

	if (t->met[h->index])
		call_stop(h, clock_theirs(&h->barrier.offset, t->at), e);
	return 0;
}

void halt_together(struct fleet *f)
{
	bool *met = calloc(f->count, sizeof(*met));
	struct together t = { .met = met };

	if (met == NULL)
		return; // they are told one by one
	fleet_each(f, FLEET_LIVE, meet_one, met);
	t.at = raw_ns() + AHEAD_NS;
	fleet_each(f, FLEET_LIVE, stop_met, &t);
	free(met);
}

// An agent whose session broke is asked by a new one before it is told by signals.
static bool ask_to_quit(struct fleet_host *h)
{
	struct err e;

	if (remote_is_suspect(h->remote))
		return false;
	if (remote_attached(h->remote) || call_hello(h, NULL, &e) == 0)
		return call_quit(h, &e) == 0;
	return false;
}

int halt_agent(struct fleet_host *h, enum stop_how *how, struct err *e)
{
	uint64_t drain_s = h->fleet->matrix->timing.drain_ns / NS_PER_S;
	bool asked = ask_to_quit(h);
	fleet_watch(h, false);
	int rc = deploy_stop(h->remote, &h->site, asked ? SPARE_S + (unsigned)drain_s : 0, how, e);

	if (rc < 0)
		return rc;
	if (asked && *how == STOP_NOT_RUNNING)
		*how = STOP_STOPPED; // it went before it was looked for
	h->launched = false;
	fleet_detail(h, "agent %s", stop_how_name[*how]);
	return 0;
}

static int halt_one(struct fleet_host *h, void *arg, struct err *e)
{
	enum stop_how how;

	(void)arg;
	if (halt_agent(h, &how, e) < 0)
		complain("%s: its agent could not be stopped: %s%s", h->name, e->msg,
			 h->fleet->leased ? "; its lease will end it" : "");
	return 0;
}

void halt_agents(struct fleet *f)
{
	poller_end(f);
	fleet_each(f, FLEET_LAUNCHED, halt_one, NULL);
}

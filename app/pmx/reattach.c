#include "reattach.h"

#include "clock.h"
#include "session_calls.h"
#include "signals.h"

#include <errno.h>
#include <stdio.h>

// Before the start a host may be left out, and after the end there is nothing to renew.
static bool is_under_way(const struct fleet_host *h)
{
	struct status s;

	return fleet_status(h, &s) && s.state >= AGENT_ARMED && s.state < AGENT_DONE;
}

// Whether the host itself can still be spoken to; then it is the agent that is gone.
static bool host_answers(struct fleet_host *h)
{
	const struct script script = { .what = "see whether it answers", .text = "exit 0" };
	struct output o;
	struct err ignored;
	bool answers = remote_exec(h->remote, &script, &o, &ignored) == 0 && o.status == 0;

	output_free(&o);
	return answers;
}

static int attach_anew(struct fleet_host *h, struct err *e)
{
	struct remote *r;
	int rc = remote_open(&h->fleet->hasty, h->index, REMOTE_LIVE, signals_flag(), &r, e);

	if (rc < 0)
		return rc;
	remote_close(h->remote);
	h->remote = r;
	remote_set_cancel(r, NULL);
	rc = call_hello(h, NULL, e);
	return rc < 0 ? rc : call_status(h, e);
}

int reattach_status(struct fleet_host *h, void *arg, struct err *e)
{
	uint64_t lease_ns = h->fleet->matrix->timing.lease_ns;
	int rc = 0;

	(void)arg;
	if (h->lost_ns == 0) {
		// whoever had the host before may have detached it meanwhile
		if (!remote_attached(h->remote))
			return 0;
		uint64_t asked = mono_ns();
		rc = call_status(h, e);
		// refused, or in state failed: the connection is good
		if (rc == 0 || remote_attached(h->remote) || !is_under_way(h) ||
		    (rc != -ETIMEDOUT && host_answers(h)))
			return rc;
		h->lost_ns = asked;
		note(h->fleet->opts, "%s: %s; trying again for %.3g s", h->name, e->msg,
		     (double)lease_ns / NS_PER_S);
	}
	rc = attach_anew(h, e);
	if (rc == 0) {
		note(h->fleet->opts, "%s: attached again after %.1f s", h->name,
		     (double)(mono_ns() - h->lost_ns) / NS_PER_S);
		h->lost_ns = 0;
		return 0;
	}
	bool gone = rc != -ETIMEDOUT && host_answers(h);
	if (!gone && signals_got() == 0 && mono_ns() - h->lost_ns < lease_ns)
		return 0;
	return err_wrap(e, "lost %.1f s ago", (double)(mono_ns() - h->lost_ns) / NS_PER_S);
}

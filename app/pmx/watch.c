#include "watch.h"

#include "clock.h"
#include "halt.h"
#include "session_calls.h"
#include "signals.h"
#include "ticker.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POLL_NS (500 * NS_PER_MS)
#define POLL_END_NS (50 * NS_PER_MS) // once the end is near
#define SPARE_NS (10 * NS_PER_S)     // for what is late at the end

// --- the start

static int time_one(struct fleet_host *h, void *arg, struct err *e)
{
	(void)arg;
	return call_time(h, e);
}

static int arm_one(struct fleet_host *h, void *arg, struct err *e)
{
	const uint64_t *start = arg;

	return call_arm(h, clock_theirs(&h->barrier.offset, *start), e);
}

static uint64_t worst_rtt(const struct fleet *f)
{
	uint64_t worst = 0;

	for (size_t i = 0; i < f->count; i++)
		if (!f->host[i].failed && 2 * f->host[i].barrier.offset.error_ns > worst)
			worst = 2 * f->host[i].barrier.offset.error_ns;
	return worst;
}

int watch_arm(struct fleet *f, uint64_t *start_ns)
{
	size_t failed = fleet_each(f, FLEET_LIVE, time_one, NULL);

	*start_ns = barrier_start(raw_ns(), worst_rtt(f), fleet_live(f), f->jobs);
	if (failed == 0 && signals_got() == 0)
		failed = fleet_each(f, FLEET_LIVE, arm_one, start_ns);
	if (signals_got() != 0)
		return 128 + signals_got();
	if (failed == 0)
		return EXIT_GOOD;
	// the plan is the others' plan too: too late to leave somebody out
	fleet_complain(f);
	complain("nothing was measured: not every host could be told when to start");
	return EXIT_HOST;
}

// --- the run

static int poll_one(struct fleet_host *h, void *arg, struct err *e)
{
	(void)arg;
	if (h->status.state == AGENT_DONE && h->barrier.due_ns != 0)
		return 0;
	int rc = call_status(h, e);
	h->barrier.due_ns = h->status.start_ns;
	h->barrier.first_tx_ns = h->status.first_tx_ns;
	return rc;
}

static int overdue_one(struct fleet_host *h, void *arg, struct err *e)
{
	(void)arg;
	if (h->status.state == AGENT_DONE)
		return 0;
	return err_set(e, ETIMEDOUT, "did not end in time: still in state %s",
		       agent_state_name[h->status.state]);
}

static bool all_done(const struct fleet *f)
{
	for (size_t i = 0; i < f->count; i++)
		if (f->host[i].chosen && !f->host[i].failed &&
		    f->host[i].status.state != AGENT_DONE)
			return false;
	return true;
}

// Sleeps until the instant, or until a signal comes.
static void doze(uint64_t until_ns)
{
	int before = signals_got();

	while (raw_ns() < until_ns && signals_got() == before) {
		uint64_t left = until_ns - raw_ns();

		sleep_ns(left < 20 * NS_PER_MS ? left : 20 * NS_PER_MS);
	}
}

void watch_run(struct fleet *f, uint64_t start_ns, uint64_t total_ns)
{
	uint64_t end = start_ns + total_ns, next = raw_ns();
	struct ticker t;
	bool stopped = false;

	ticker_begin(&t, f, start_ns, total_ns);
	for (;;) {
		if (signals_got() != 0 && !stopped) {
			ticker_end(&t);
			note(f->opts, "stopping the agents");
			halt_requests(f);
			stopped = true;
			end = raw_ns() + f->matrix->timing.drain_ns;
		}
		fleet_each(f, FLEET_LIVE, poll_one, NULL);
		ticker_show(&t);
		if (fleet_live(f) == 0 || all_done(f))
			break;
		if (raw_ns() > end + SPARE_NS) {
			fleet_each(f, FLEET_LIVE, overdue_one, NULL);
			break;
		}
		next = raw_ns() + POLL_NS;
		if (next > end)
			next = end > raw_ns() ? end : raw_ns() + POLL_END_NS;
		doze(next);
	}
	ticker_end(&t);
}

struct skew watch_skew(const struct fleet *f)
{
	struct barrier_host *host = calloc(f->count, sizeof(*host));
	struct skew skew = { .ns = NAN, .error_ns = NAN };
	size_t n = 0;

	if (host == NULL)
		return skew;
	for (size_t i = 0; i < f->count; i++)
		if (f->host[i].barrier.told_ns != 0)
			host[n++] = f->host[i].barrier;
	skew = barrier_skew(host, n);
	free(host);
	return skew;
}

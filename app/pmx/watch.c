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

#define LOOK_NS (20 * NS_PER_MS)
#define DONE_SPARE_NS (20 * NS_PER_MS) // to close the books and write the result
#define SPARE_NS (10 * NS_PER_S)       // for what is late at the end

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

	pthread_mutex_lock(f->lock);
	for (size_t i = 0; i < f->count; i++)
		if (!f->host[i].failed && 2 * f->host[i].barrier.offset.error_ns > worst)
			worst = 2 * f->host[i].barrier.offset.error_ns;
	pthread_mutex_unlock(f->lock);
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

static int overdue_one(struct fleet_host *h, void *arg, struct err *e)
{
	struct status s;

	(void)arg;
	if (!fleet_status(h, &s) || s.state == AGENT_DONE)
		return 0;
	return err_set(e, ETIMEDOUT, "did not end in time: still in state %s",
		       agent_state_name[s.state]);
}

// Also when no host is left.
static bool all_done(const struct fleet *f)
{
	struct status s;

	for (size_t i = 0; i < f->count; i++)
		if (fleet_status(&f->host[i], &s) && s.state != AGENT_DONE)
			return false;
	return true;
}

// Agents are asked when they are due to be done, not half a second later.
static void expect_end(struct fleet *f, uint64_t end_ns)
{
	uint64_t now = raw_ns();

	pthread_mutex_lock(f->lock);
	f->end_ns = mono_ns() + (end_ns > now ? end_ns - now : 0) + DONE_SPARE_NS;
	pthread_mutex_unlock(f->lock);
}

void watch_run(struct fleet *f, uint64_t start_ns, uint64_t total_ns)
{
	uint64_t end = start_ns + total_ns;
	struct ticker t;
	bool stopped = false;

	expect_end(f, end);
	ticker_begin(&t, f, start_ns, total_ns);
	while (!all_done(f)) {
		if (signals_got() != 0 && !stopped) {
			ticker_end(&t);
			note(f->opts, "stopping the agents");
			halt_requests(f);
			stopped = true;
			end = raw_ns() + f->matrix->timing.drain_ns;
			expect_end(f, end);
		}
		if (raw_ns() > end + SPARE_NS) {
			fleet_each(f, FLEET_LIVE, overdue_one, NULL);
			break;
		}
		ticker_show(&t);
		sleep_ns(LOOK_NS); // a signal ends it
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
	pthread_mutex_lock(f->lock);
	for (size_t i = 0; i < f->count; i++)
		if (f->host[i].barrier.told_ns != 0)
			host[n++] = f->host[i].barrier;
	pthread_mutex_unlock(f->lock);
	skew = barrier_skew(host, n);
	free(host);
	return skew;
}

#include "lease.h"

#include "clock.h"
#include "session_calls.h"
#include "signals.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define RENEWALS 4 // in one lease

struct keeper {
	struct fleet *fleet;
	fleet_step step;
	void *arg;
	uint64_t period_ns;
	atomic_bool *launched; // owned, [count]: the step is over, the remote is free
	atomic_bool over;
};

static int step_one(struct fleet_host *h, void *arg, struct err *e)
{
	struct keeper *k = arg;
	int rc = k->step(h, k->arg, e);

	if (rc == 0 && remote_attached(h->remote))
		atomic_store_explicit(&k->launched[h->index], true, memory_order_release);
	return rc;
}

static void renew(struct keeper *k)
{
	for (size_t i = 0; i < k->fleet->count; i++) {
		struct fleet_host *h = &k->fleet->host[i];
		struct err e = { 0 };

		if (!atomic_load_explicit(&k->launched[i], memory_order_acquire))
			continue;
		if (!h->failed && call_status(h, &e) < 0)
			fleet_fail(h, &e);
	}
}

static void *keep(void *arg)
{
	struct keeper *k = arg;
	uint64_t next = mono_ns() + k->period_ns;

	signals_block();
	while (!atomic_load(&k->over)) {
		sleep_ns(10 * NS_PER_MS);
		if (mono_ns() < next)
			continue;
		renew(k);
		next = mono_ns() + k->period_ns;
	}
	return NULL;
}

size_t lease_keep(struct fleet *f, uint64_t lease_ns, fleet_step step, void *arg)
{
	struct keeper k = {
		.fleet = f,
		.step = step,
		.arg = arg,
		.period_ns = lease_ns / RENEWALS,
	};
	pthread_t thread;

	k.launched = calloc(f->count, sizeof(*k.launched));
	if (k.launched == NULL || lease_ns == 0 || f->dry ||
	    pthread_create(&thread, NULL, keep, &k) != 0) {
		free(k.launched);
		return fleet_each(f, FLEET_LIVE, step, arg);
	}
	size_t failed = fleet_each(f, FLEET_LIVE, step_one, &k);
	atomic_store(&k.over, true);
	pthread_join(thread, NULL);
	free(k.launched);
	return failed;
}

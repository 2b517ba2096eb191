#include "poller.h"

#include "clock.h"
#include "reattach.h"
#include "signals.h"

#include <pthread.h>
#include <stdlib.h>

#define PERIOD_NS (500 * NS_PER_MS)
#define LEASE_SHARE 4		  // renewals in a lease, at least
#define BUSY_NS (20 * NS_PER_MS)  // somebody else talks to the host: again soon
#define IDLE_NS (20 * NS_PER_MS)  // nothing is due
#define DONE_NS (50 * NS_PER_MS)  // the end is awaited
#define FIRST_NS (25 * NS_PER_MS) // at first, doubled by each: most are ready soon
#define FIRST_POLLS 5
#define STACK_BYTES (512u << 10)

struct poller {
	struct fleet *fleet;
	fleet_step step;
	void *arg;
	uint64_t period_ns;
	bool eager; // follows agents from launch to end
	bool over;  // under fleet->lock
	size_t threads;
	pthread_t thread[];
};

// The watched host that has waited longest and is due, marked as being asked; NULL = none.
static struct fleet_host *take(struct poller *p, bool *over)
{
	struct fleet *f = p->fleet;
	struct fleet_host *best = NULL;
	uint64_t now = mono_ns();

	pthread_mutex_lock(f->lock);
	*over = p->over;
	for (size_t i = 0; i < f->count && !p->over; i++) {
		struct fleet_host *h = &f->host[i];

		if (h->watched && !h->polling && !h->failed && h->poll_ns <= now &&
		    (best == NULL || h->poll_ns < best->poll_ns))
			best = h;
	}
	if (best != NULL)
		best->polling = true;
	pthread_mutex_unlock(f->lock);
	return best;
}

static void give_back(struct poller *p, struct fleet_host *h, uint64_t pause_ns)
{
	pthread_mutex_lock(p->fleet->lock);
	h->polling = false;
	h->poll_ns = mono_ns() + pause_ns;
	pthread_mutex_unlock(p->fleet->lock);
}

// Of a host that has just been asked: what is soon to be ready or done is asked sooner.
static uint64_t next_pause(struct poller *p, struct fleet_host *h)
{
	uint64_t now = mono_ns(), pause = p->period_ns;

	pthread_mutex_lock(p->fleet->lock);
	uint64_t end = p->fleet->end_ns;
	if (h->polls < FIRST_POLLS && pause > FIRST_NS << h->polls)
		pause = FIRST_NS << h->polls;
	h->polls++;
	pthread_mutex_unlock(p->fleet->lock);
	if (end != 0 && now + pause > end)
		pause = end > now + DONE_NS ? end - now : DONE_NS;
	return pause;
}

static void *work(void *arg)
{
	struct poller *p = arg;
	bool over;

	signals_block();
	for (;;) {
		struct fleet_host *h = take(p, &over);
		struct err e = { 0 };

		if (over)
			return NULL;
		if (h == NULL) {
			sleep_ns(IDLE_NS);
			continue;
		}
		if (pthread_mutex_trylock(&h->busy) != 0) {
			give_back(p, h, BUSY_NS);
			continue;
		}
		if (p->step(h, p->arg, &e) < 0)
			fleet_fail(h, &e);
		pthread_mutex_unlock(&h->busy);
		give_back(p, h, p->eager ? next_pause(p, h) : p->period_ns);
	}
}

static void begin(struct fleet *f, const struct poller *like)
{
	size_t want = f->jobs < f->chosen ? f->jobs : f->chosen;
	pthread_attr_t attr;
	struct poller *p;

	if (f->poller != NULL || f->dry)
		return;
	p = calloc(1, sizeof(*p) + want * sizeof(p->thread[0]));
	if (p == NULL)
		return;
	*p = *like;
	p->fleet = f;
	f->poller = p;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	while (p->threads < want && pthread_create(&p->thread[p->threads], &attr, work, p) == 0)
		p->threads++;
	pthread_attr_destroy(&attr);
}

void poller_begin(struct fleet *f, uint64_t lease_ns)
{
	uint64_t period_ns = PERIOD_NS;

	if (lease_ns > 0 && lease_ns / LEASE_SHARE < PERIOD_NS)
		period_ns = lease_ns / LEASE_SHARE;
	begin(f,
	      &(struct poller){ .step = reattach_status, .period_ns = period_ns, .eager = true });
}

void poller_begin_step(struct fleet *f, uint64_t period_ns, fleet_step step, void *arg)
{
	begin(f, &(struct poller){ .step = step, .arg = arg, .period_ns = period_ns });
}

void poller_end(struct fleet *f)
{
	struct poller *p = f->poller;

	if (p == NULL)
		return;
	pthread_mutex_lock(f->lock);
	p->over = true;
	pthread_mutex_unlock(f->lock);
	for (size_t i = 0; i < p->threads; i++)
		pthread_join(p->thread[i], NULL);
	free(p);
	f->poller = NULL;
}

#include "worker.h"

#include "frag.h"
#include "lone.h"
#include "queue.h"
#include "trial.h"

#include <rte_lcore.h>

#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CLOCK_POLLS 16
#define FEW 4 // received frames whose work takes no longer than to read the clock again
#define HOUSEKEEPING_NS 20000
#define IDLE_POLLS 16 // empty polls before an idle policy gives the core away
#define SLICE_NS 100000
#define SLEEPER_NICE -10
#define IDLE_YIELD_NS 1000 // doubled with every empty poll
#define YIELD_STEPS 4u
#define IDLE_SLEEP_NS 50000
#define IDLE_SLEEP_MAX_NS 1000000
#define SILENCE_SHARE \
	4 // a sleep is a quarter of the silence so far: many agents may share the core

static void take_injected(struct queue *q)
{
	void *m;
	while (out_room(q) > 0 && rte_ring_sc_dequeue(q->inject, &m) == 0) {
		*out_tail(q) = m;
		out_add(q, 1);
	}
}

static void housekeeping(struct queue *q, uint64_t now, uint64_t every)
{
	uint32_t generation =
		atomic_load_explicit(&q->shared->neigh_generation, memory_order_acquire);
	if (generation != q->neigh_seen) {
		q->neigh_seen = generation;
		queue_take_macs(q);
	}
	take_injected(q);
	if (q->frag != NULL)
		frag_expire(q, now);
	if (q->window.group_count > 0) {
		window_take_passed(&q->window, now);
		window_silence(&q->window, now);
	}
	q->boundary = trial_step(q, now);
	q->next_event = RTE_MIN(q->boundary, now + every);
}

// Nothing to do: leave the core to others, but not past the next packet that is due. Also `yield`
// is a sleep, the shortest: sched_yield() gives away a whole slice of the scheduler's, again with
// every call, and a busy neighbour on the core then holds a polling thread off for 100s of ms.
// Sleeps that are all of the shortest would use up the thread's share of the core on the way in and
// out.
static double idle_ns(const struct queue *q, uint32_t empty, double silence_ns)
{
	if (q->idle == IDLE_YIELD)
		return IDLE_YIELD_NS << RTE_MIN(empty - IDLE_POLLS, YIELD_STEPS);
	return RTE_MIN(RTE_MAX(silence_ns / SILENCE_SHARE, IDLE_SLEEP_NS), IDLE_SLEEP_MAX_NS);
}

static void idle(const struct queue *q, uint64_t now, uint32_t empty, uint64_t worked,
		 double tsc_hz)
{
	double silence_ns = (double)(now - worked) * 1e9 / tsc_hz;
	uint64_t wake = now + (uint64_t)(idle_ns(q, empty, silence_ns) * tsc_hz / 1e9);
	if (q->sending && q->pace.heap_count > 0) {
		uint64_t key = pace_key(&q->pace.group[q->pace.heap[0]]);
		wake = key < wake ? key : wake;
	}
	wake = q->boundary < wake ? q->boundary : wake;
	if (wake <= now)
		return;
	struct timespec t = { .tv_nsec = (long)((double)(wake - now) * 1e9 / tsc_hz) };
	nanosleep(&t, NULL);
}

// A thread that sleeps between polls asks for short slices and some weight, so that it runs soon
// after it wakes even where another never sleeps (slices: EEVDF, from Linux 6.12, ignored before).
// Without the right to, it goes on as it is.
static void ask_to_wake_soon(void)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime_ns, deadline_ns, period_ns;
	} attr = { .size = sizeof(attr),
		   .policy = SCHED_OTHER,
		   .nice = SLEEPER_NICE,
		   .runtime_ns = SLICE_NS };
	prctl(PR_SET_TIMERSLACK, 1);
	syscall(SYS_sched_setattr, 0, &attr, 0);
}

// Most polls of a lcore that spins find nothing, and the clock costs more than the poll: it is read
// after the first that did, which ends what was busy before, and then every few times, unless a
// schedule wants it.
static bool needs_no_clock(const struct queue *q, uint32_t empty)
{
	return empty % CLOCK_POLLS != 0 && q->idle == IDLE_SPIN && q->out_count == 0 &&
	       (!q->sending || (q->pace.heap_count == 0 && window_credits(&q->window) == 0));
}

static inline __attribute__((always_inline)) void run(struct queue *q, bool plain)
{
	const double tsc_hz = (double)rte_get_tsc_hz(); // for waits only
	const uint64_t every = (uint64_t)(HOUSEKEEPING_NS * tsc_hz / 1e9);
	uint64_t last = rte_rdtsc(), worked = last;
	uint32_t empty = 0;
	if (q->idle != IDLE_SPIN)
		ask_to_wake_soon();
	q->total.lcore = (uint64_t)sched_getcpu();

	while (!atomic_load_explicit(&q->shared->quit, memory_order_relaxed)) {
		uint64_t now = 0;
		uint32_t work = rx_poll(q, &now, plain);
		if (work == 0) {
			if (needs_no_clock(q, empty)) {
				empty++;
				continue;
			}
			now = rte_rdtsc();
		} else if (now == 0) {
			now = rte_rdtsc();
		}
		// a turn lasts until the next reading
		q->total.total_tsc += now - last;
		if (empty == 0)
			q->total.busy_tsc += now - last;
		last = now;

		if (unlikely(now >= q->next_event)) {
			rx_release(q); // a trial that closes has all of its round trips
			housekeeping(q, now, every);
			lone_forget(q);
		}
		if (q->sending)
			work += tx_due(q, work > FEW ? rte_rdtsc() : now, plain);
		if (q->out_count > 0)
			work += plain || q->frag == NULL ? out_flush(q) : frag_flush(q);
		rx_release(q);
		if (plain && q->lone_last != 0)
			lone_prepare(q);

		empty = work > 0 ? 0 : empty + 1;
		if (q->idle == IDLE_SPIN)
			continue;
		worked = work > 0 ? now : worked;
		if (empty > IDLE_POLLS)
			idle(q, now, empty, worked, tsc_hz);
	}
}

// One loop for frames whose form the compiler knows, one for all others.
static void run_plain(struct queue *q)
{
	run(q, true);
}

static void run_any(struct queue *q)
{
	run(q, false);
}

int worker_run(void *arg)
{
	struct queue *q = arg;
	if (q->plain)
		run_plain(q);
	else
		run_any(q);
	return 0;
}

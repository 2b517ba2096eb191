#include "advice_rules.h"

#include <inttypes.h>
#include <math.h>

#define BUSY_CEILING_PCT 95.0
#define RAN_SHARE 0.5 // of its busy time, that an agent at its ceiling has run
#define OFF_QUEUE_SHARE 0.01
#define OTHERS_PCT 25.0 // of the box
#define LATE_NS 1e6	// no burst and no idle nap takes so long

// NAN where the loops were not done because the agent did not run: then the CPU is the cause.
static double busy_of(const struct sum_host *h)
{
	return h->agent_cpu_pct < RAN_SHARE * h->busy_pct ? NAN : h->busy_pct;
}

static bool at_ceiling(const struct sum_host *h)
{
	return busy_of(h) > BUSY_CEILING_PCT;
}

bool rule_tool_at_ceiling(const struct summary *s, struct advice *a)
{
	const struct sum_host *h = worst_host(s, busy_of, BUSY_CEILING_PCT);
	const char *file = s->matrix->file;

	if (h == NULL)
		return false;
	because(a, "the tool is the limit: queue %u of %s is busy %.1f %% of the time",
		h->busiest_queue, name_of(s, h->host), h->busy_pct);
	if (h->achieved_pct < GENERATOR_LIMITED_PCT)
		because(a, ", and offered %.2f %% of its target", h->achieved_pct);
	if (h->tx_streams < h->queue_count)
		fix(a,
		    "%s has %u streams for %zu queues, so some stand idle: raise 'streams' in %s",
		    name_of(s, h->host), h->tx_streams, h->queue_count, file);
	else
		fix(a, "give %s more queues: 'queues: %zu' in %s (each takes a core of its own)",
		    name_of(s, h->host), 2 * h->queue_count, file);
	return true;
}

// A queue at its ceiling is the cause where there is one.
static double short_of(const struct sum_host *h)
{
	return at_ceiling(h) ? NAN : 100 - h->achieved_pct;
}

bool rule_short_of_target(const struct summary *s, struct advice *a)
{
	const struct sum_host *h = worst_host(s, short_of, 100 - GENERATOR_LIMITED_PCT);
	struct figures t = { 0 };

	if (h == NULL)
		return false;
	because(a, "%s offered %.2f %% of its target (%s requests unsent)", name_of(s, h->host),
		h->achieved_pct, count_of(&t, h->unsent));
	if (h->busy_pct > BUSY_CEILING_PCT)
		because(a, ": it had work %.0f %% of the time, and ran %.0f %% of it", h->busy_pct,
			h->agent_cpu_pct);
	else if (!isnan(h->busy_pct))
		because(a, " though its busiest queue is only %.0f %% busy", h->busy_pct);
	if (known(h->tx_full) && h->tx_full > 0) {
		because(a, "; its port refused %s bursts", count_of(&t, h->tx_full));
		fix(a, "its port or link is full: lower the rate, or see link speed, pause frames "
		       "and who "
		       "empties the other end");
		return true;
	}
	if (!isnan(h->lateness_max_ns))
		because(a, "; it was late by up to %s", time_of(&t, h->lateness_max_ns));
	fix(a,
	    "something else runs on its cores: give %s its own, isolated ones ('lcores' in %s), "
	    "with "
	    "'idle: spin'",
	    name_of(s, h->host), s->matrix->file);
	return true;
}

static double others_of(const struct sum_host *h)
{
	return h->others_cpu_pct;
}

bool rule_box_busy(const struct summary *s, struct advice *a)
{
	const struct sum_host *h = worst_host(s, others_of, OTHERS_PCT);

	if (h == NULL)
		return false;
	because(a, "others take %.0f %% of all CPUs of %s: the box is busy %.0f %%",
		h->others_cpu_pct, name_of(s, h->host), h->cpu_pct);
	because(a, ", its busiest core %.0f %%, where the agent takes %.0f %% of one of %" PRIu64,
		h->cpu_max_pct, h->agent_cpu_pct, h->cpus);
	fix(a,
	    "see what else runs on %s (top), or give the agent isolated cores of its own ('lcores' "
	    "in %s): round trips include what they take",
	    name_of(s, h->host), s->matrix->file);
	return true;
}

static double late_of(const struct sum_host *h)
{
	return at_ceiling(h) ? NAN : h->lateness_p99_ns;
}

bool rule_running_late(const struct summary *s, struct advice *a)
{
	const struct sum_host *h = worst_host(s, late_of, LATE_NS);
	struct figures t = { 0 };

	if (h == NULL)
		return false;
	because(a, "%s sent late: one request in a hundred by %s and more, at most %s",
		name_of(s, h->host), time_of(&t, h->lateness_p99_ns),
		time_of(&t, h->lateness_max_ns));
	if (!isnan(h->busy_pct))
		because(a, ", with its busiest queue %.0f %% busy", h->busy_pct);
	fix(a,
	    "its lcores are kept from running, and round trips include that: see what else runs on "
	    "%s, "
	    "give it cores of its own ('lcores' in %s)",
	    name_of(s, h->host), s->matrix->file);
	return true;
}

static double replies_unsent_of(const struct sum_host *h)
{
	return known(h->reply_unsent) ? (double)h->reply_unsent : NAN;
}

bool rule_replies_unsent(const struct summary *s, struct advice *a)
{
	const struct sum_host *h = worst_host(s, replies_unsent_of, 0);
	struct figures t = { 0 };

	if (h == NULL)
		return false;
	because(a, "%s could not send %s of the %s replies it owed", name_of(s, h->host),
		count_of(&t, h->reply_unsent), count_of(&t, h->served));
	fix(a, "its port did not take them: lower the rate or 'reply', or give it a longer TX ring "
	       "(txd "
	       "of its driver profile)");
	return true;
}

static double dropped_by_receiver(const struct sum_host *h)
{
	return (double)h->cause.missed + (double)h->cause.no_mbuf;
}

bool rule_receiver_drops(const struct summary *s, struct advice *a)
{
	const struct sum_host *h = worst_host(s, dropped_by_receiver, 0);
	struct figures t = { 0 };

	if (h == NULL)
		return false;
	because(a, "receiver side: the NIC of %s missed %s and had no mbuf for %s packets",
		name_of(s, h->host), count_of(&t, h->cause.missed), count_of(&t, h->cause.no_mbuf));
	because(a, ": the tool's loss, not the network's");
	if (h->cause.missed >= h->cause.no_mbuf)
		fix(a,
		    "empty its rings faster: 'queues: %zu' for %s in %s, cores of their own, or "
		    "more "
		    "rxd in its driver profile",
		    2 * h->queue_count, name_of(s, h->host), s->matrix->file);
	else
		fix(a, "give the agent of %s more memory (hugepages), or fewer descriptors a queue",
		    name_of(s, h->host));
	return true;
}

bool rule_uneven_queues(const struct summary *s, struct advice *a)
{
	const struct sum_host *h = worst_host(s, queue_skew, QUEUE_SKEW_MAX);

	if (h == NULL)
		return false;
	because(a,
		"the queues of %s are uneven: one received %.1f times the mean of its %zu queues",
		name_of(s, h->host), queue_skew(h), h->queue_count);
	fix(a, "raise 'streams' in %s (%s sends %u), or see the RSS of its driver profile",
	    s->matrix->file, name_of(s, h->host), h->tx_streams);
	return true;
}

static double off_queue_of(const struct sum_host *h)
{
	if (!known(h->off_queue) || !known(h->returned) || h->returned == 0)
		return NAN;
	return (double)h->off_queue / (double)h->returned;
}

bool rule_off_queue(const struct summary *s, struct advice *a)
{
	const struct sum_host *h = worst_host(s, off_queue_of, OFF_QUEUE_SHARE);
	struct figures t = { 0 };

	if (h == NULL)
		return false;
	because(a, "%s of the %s replies to %s came back on another queue than asked (%.1f %%)",
		count_of(&t, h->off_queue), count_of(&t, h->returned), name_of(s, h->host),
		100 * off_queue_of(h));
	if (h->steering_why[0] != '\0')
		fix(a,
		    "they are counted right, but cores share cache lines. Its driver profile "
		    "plans with 'steering: %s', and the port does not: %s",
		    steering_name[h->steering], h->steering_why);
	else if (!h->steered)
		fix(a,
		    "they are counted right, but cores share cache lines: its driver ('steering: "
		    "%s') leaves the queue to others; with 'queues: 1' there is but one",
		    steering_name[h->steering]);
	else
		fix(a,
		    "they are counted right, but cores share cache lines. Its driver profile says "
		    "'steering: %s', which does not hold here: see 'steering' there",
		    steering_name[h->steering]);
	return true;
}

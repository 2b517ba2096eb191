#include "advice_rules.h"

#include <math.h>

#define P99_OVER_P50 10.0
#define P99_MIN_NS 100e3 // a spread below this is no queue filling

static double forward_loss_of(const struct sum_flow *f)
{
	return f->loss_forward_pct;
}

static double back_loss_of(const struct sum_flow *f)
{
	return f->loss_back_pct;
}

static const struct sum_flow *worst_flow(const struct summary *s,
					 double (*of)(const struct sum_flow *))
{
	const struct sum_flow *worst = NULL;

	for (size_t i = 0; i < s->flow_count; i++)
		if (of(&s->flow[i]) > (worst != NULL ? of(worst) : 0))
			worst = &s->flow[i];
	return worst;
}

// Requests for a host that went missing without its own port dropping them. What receivers drop has
// a rule of its own, and so has what no counter tells.
static double fabric_loss_of(const struct sum_host *h)
{
	double dropped = (double)h->cause.missed + (double)h->cause.no_mbuf;

	if (h->lost_to == LOSS_UNKNOWN || h->cause.fabric == 0)
		return NAN;
	return (double)h->lost_to - dropped;
}

bool rule_forward_loss(const struct summary *s, struct advice *a)
{
	const struct sum_flow *f = worst_flow(s, forward_loss_of);
	struct figures t = { 0 };

	if (f == NULL || s->running || worst_host(s, fabric_loss_of, 0) == NULL)
		return false;
	because(a, "fabric: %s requests (%.4f %%) did not arrive",
		count_of(&t, (uint64_t)s->complete.lost_forward), s->total.loss_forward_pct);
	because(a, ", where the receivers' NICs dropped %s packets; worst %s to %s: %s (%.4f %%)",
		count_of(&t, s->cause.missed + s->cause.no_mbuf), name_of(s, f->src),
		name_of(s, f->dst), count_of(&t, (uint64_t)f->lost_forward), f->loss_forward_pct);
	fix(a,
	    "read the drop counters of the switches from %s to %s; in the grids (--grid DIR) a "
	    "sick "
	    "row is a sender, a column a receiver",
	    name_of(s, f->src), name_of(s, f->dst));
	return true;
}

bool rule_return_loss(const struct summary *s, struct advice *a)
{
	const struct sum_flow *f = worst_flow(s, back_loss_of);
	struct figures t = { 0 };

	if (f == NULL || s->running)
		return false;
	const char *from = name_of(s, f->dst), *to = name_of(s, f->src);
	because(a, "reply path: %s replies (%.4f %%) did not come back",
		count_of(&t, (uint64_t)s->complete.lost_back), s->total.loss_back_pct);
	because(a, "; worst those of %s to %s: %s (%.4f %%)", from, to,
		count_of(&t, (uint64_t)f->lost_back), f->loss_back_pct);
	if (f->rep_bytes > f->req_bytes)
		fix(a,
		    "replies are the larger packets: see the bandwidth from %s to %s, or make "
		    "'reply' "
		    "smaller in %s",
		    from, to, s->matrix->file);
	else
		fix(a,
		    "read the drop counters of the switches from %s to %s, and those of the NIC of "
		    "%s",
		    from, to, to);
	return true;
}

static double unattributed_of(const struct sum_host *h)
{
	return (double)h->cause.unattributed;
}

bool rule_loss_unattributed(const struct summary *s, struct advice *a)
{
	const struct sum_host *h = worst_host(s, unattributed_of, 0);
	struct figures t = { 0 };

	if (h == NULL || s->running)
		return false;
	because(a,
		"%s packets were lost on the way to %s, whose driver (%s) does not count what it "
		"misses",
		count_of(&t, h->cause.unattributed), name_of(s, h->host),
		h->driver[0] != '\0' ? h->driver : "unknown");
	fix(a,
	    "NIC and fabric cannot be told apart here: read the counters of the NIC of %s itself "
	    "(ethtool -S), or halve the rate and see whether the loss stays",
	    name_of(s, h->host));
	return true;
}

static double paused_of(const struct sum_host *h)
{
	double rx = known(h->port.pause_rx) ? (double)h->port.pause_rx : 0;
	double tx = known(h->port.pause_tx) ? (double)h->port.pause_tx : 0;

	return rx + tx;
}

bool rule_pause_frames(const struct summary *s, struct advice *a)
{
	const struct sum_host *h = worst_host(s, paused_of, 0);
	struct figures t = { 0 };

	if (h == NULL)
		return false;
	because(a, "pause frames: load was held back without a drop");
	if (known(h->port.pause_rx) && h->port.pause_rx > 0)
		because(a, "; %s received %s: the network could not take more", name_of(s, h->host),
			count_of(&t, h->port.pause_rx));
	if (known(h->port.pause_tx) && h->port.pause_tx > 0)
		because(a, "; %s sent %s: it could not take more", name_of(s, h->host),
			count_of(&t, h->port.pause_tx));
	fix(a, "turn flow control off at both ends of the link (ethtool -A, the switch) to see the "
	       "loss "
	       "it hides, or lower the rate");
	return true;
}

bool rule_queues_filling(const struct summary *s, struct advice *a)
{
	const struct sum_flow *total = &s->total;
	struct figures t = { 0 };

	if (!(total->rtt_p99_ns > P99_OVER_P50 * total->rtt_p50_ns &&
	      total->rtt_p99_ns > P99_MIN_NS))
		return false;
	because(a, "queues are filling: the p99 of the round trip, %s, is %.0f times the p50, %s",
		time_of(&t, total->rtt_p99_ns), total->rtt_p99_ns / total->rtt_p50_ns,
		time_of(&t, total->rtt_p50_ns));
	fix(a, "lower the rate until the p99 falls: that load the path carries without queueing; "
	       "if it "
	       "does not fall, cores are shared ('idle: spin', isolated ones)");
	return true;
}

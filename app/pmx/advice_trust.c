#include "advice_rules.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define RANDOM_OFF 6	    // standard deviations of the count of random gaps
#define SCHEDULE_OFF 0.005  // share by which the packets due may differ from rate x window
#define SKEW_OF_WINDOW 0.01 // as RFC 2889 has it
#define STRAY_SHARE 0.01    // of what was received

bool rule_invalid_trial(const struct summary *s, struct advice *a)
{
	const struct sum_flow *f = &s->flow[s->invalid_flows > 0 ? s->first_invalid : 0];
	struct figures t = { 0 };

	if (s->invalid_flows == 0)
		return false;
	because(a, "invalid trial: on %zu flow%s more arrived than was sent", s->invalid_flows,
		s->invalid_flows == 1 ? "" : "s");
	because(a, " (%s to %s: sent %s, delivered %s, replied %s, returned %s)",
		name_of(s, f->src), name_of(s, f->dst), count_of(&t, f->sent),
		count_of(&t, f->delivered), count_of(&t, f->replied), count_of(&t, f->returned));
	fix(a,
	    "no loss of this run can be trusted: see that no other run uses these addresses, run "
	    "again; if it stays, report it with the run's --json");
	return true;
}

bool rule_identity_open(const struct summary *s, struct advice *a)
{
	const struct sum_flow *c = &s->complete;
	struct figures t = { 0 };

	if (s->identity || s->running || s->complete_flows == 0 || s->invalid_flows > 0)
		return false;
	because(a, "the accounts do not close: delivered %s is not replied %s + unsent %s",
		count_of(&t, c->delivered), count_of(&t, c->replied),
		count_of(&t, c->reply_unsent));
	fix(a,
	    "a responder lost track of requests: run again; if it stays, report it with the run's "
	    "--json");
	return true;
}

bool rule_dead_host(const struct summary *s, struct advice *a)
{
	size_t dead = s->host_count - s->measured_hosts;
	const struct sum_host *h = s->host;
	const char *file = s->matrix->file;

	if (dead == 0)
		return false;
	while (h->measured)
		h++;
	because(a, "%zu of %zu hosts not measured: %s%s (%.300s)", dead, s->host_count,
		name_of(s, h->host), dead > 1 ? " and others" : "",
		h->failure[0] != '\0' ? h->failure : "no result");
	fix(a, "pmx logs %s says how its agent ended; mend it or take it out, then: pmx run %s",
	    file, file);
	return true;
}

bool rule_ended_early(const struct summary *s, struct advice *a)
{
	for (size_t i = 0; i < s->host_count; i++) {
		const struct sum_host *h = &s->host[i];
		bool lease = strcmp(h->ended_by, "lease") == 0;

		if (!h->measured || (!lease && strcmp(h->ended_by, "signal") != 0))
			continue;
		because(a, "the agent of %s ended early, by %s, after %.2f s", name_of(s, i),
			lease ? "its lease" : "a signal", h->window_s);
		if (lease)
			fix(a,
			    "it was cut off from pmx: see its management network, or set a longer "
			    "'lease' under timing in %s",
			    s->matrix->file);
		else
			fix(a,
			    "somebody or something on %s ended it: see its system log (out of "
			    "memory?)",
			    name_of(s, i));
		return true;
	}
	return false;
}

bool rule_schedule_off(const struct summary *s, struct advice *a)
{
	const struct pacing *pacing = &s->matrix->traffic.pacing;
	// of random gaps the count has a variance of the mean, or less, times a burst
	double burst = pacing->burst > 0 ? pacing->burst : 1;
	double random = pacing->spacing == SPACING_EVEN ? 0 : RANDOM_OFF;

	for (size_t i = 0; i < s->flow_count && !s->running; i++) {
		const struct sum_flow *f = &s->flow[i];
		double due = f->target_pps * f->measured_s, edge = burst * (f->streams + 1);

		// each stream's first burst may fall on either side of the window's edge
		if (!known(f->target) || isnan(due) ||
		    fabs((double)f->target - due) <=
			    SCHEDULE_OFF * due + edge + random * sqrt(due * burst))
			continue;
		because(a, "the schedule is off: %s to %s had %" PRIu64 " requests due",
			name_of(s, f->src), name_of(s, f->dst), f->target);
		because(a, " where rate x window gives %.0f", due);
		fix(a,
		    "the clock of %s runs wrong (TSC against CLOCK_MONOTONIC_RAW), or its agent "
		    "does: "
		    "report it with the run's --json",
		    name_of(s, f->src));
		return true;
	}
	return false;
}

bool rule_start_skew(const struct summary *s, struct advice *a)
{
	struct figures t = { 0 };

	if (!(s->skew_ns > SKEW_OF_WINDOW * s->window_s * 1e9))
		return false;
	because(a,
		"the hosts started within %s of each other, more than 1 %% of the %.2f s measured",
		time_of(&t, s->skew_ns), s->window_s);
	fix(a, "measure longer ('duration' under timing in %s, or --for)", s->matrix->file);
	return true;
}

static double other_run_of(const struct sum_host *h)
{
	return known(h->drop[DROP_COOKIE]) ? (double)h->drop[DROP_COOKIE] : NAN;
}

bool rule_other_run(const struct summary *s, struct advice *a)
{
	const struct sum_host *h = worst_host(s, other_run_of, 0);
	struct figures t = { 0 };

	if (h == NULL)
		return false;
	because(a, "%s received %s frames of another pmx run", name_of(s, h->host),
		count_of(&t, h->drop[DROP_COOKIE]));
	fix(a,
	    "an agent left behind still sends to it: pmx stop with the matrix of that run, or "
	    "other "
	    "addresses in %s",
	    s->matrix->file);
	return true;
}

static bool is_stray(const struct sum_host *h, int reason)
{
	return reason != DROP_NOMBUF && reason != DROP_SLOW && reason != DROP_INCOMPLETE &&
	       reason != DROP_COOKIE && known(h->drop[reason]);
}

// Share of the frames received that were none of pmx's.
static double stray_of(const struct sum_host *h)
{
	double stray = 0, mine = 0;

	for (int i = 0; i < DROP_REASONS; i++)
		stray += is_stray(h, i) ? (double)h->drop[i] : 0;
	mine += known(h->served) ? (double)h->served : 0;
	mine += known(h->returned) ? (double)h->returned : 0;
	return stray > 0 ? stray / (stray + mine) : 0;
}

bool rule_foreign_traffic(const struct summary *s, struct advice *a)
{
	const struct sum_host *h = worst_host(s, stray_of, STRAY_SHARE);
	struct figures t = { 0 };
	int most = -1;

	if (h == NULL)
		return false;
	for (int i = 0; i < DROP_REASONS; i++)
		if (is_stray(h, i) && (most < 0 || h->drop[i] > h->drop[most]))
			most = i;
	because(a, "foreign traffic: %.1f %% of what %s received was not pmx's", 100 * stray_of(h),
		name_of(s, h->host));
	because(a, ", most by '%s' (%s frames)", drop_reason_name[most],
		count_of(&t, h->drop[most]));
	fix(a,
	    "it takes the NIC's and the agent's time: keep other traffic off the data network, or "
	    "find its sender with tcpdump");
	return true;
}

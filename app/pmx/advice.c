#include "advice.h"

#include "advice_rules.h"
#include "text.h"
#include "units.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#define STEP_MAX 10.0
#define BUSY_WANTED_PCT 80.0 // as far as a rate is raised at once

const struct advice_rule advice_table[] = {
	{ "invalid trial", rule_invalid_trial },
	{ "identity open", rule_identity_open },
	{ "dead host", rule_dead_host },
	{ "dead column", rule_dead_column },
	{ "dead row", rule_dead_row },
	{ "silent next hop", rule_silent_hop },
	{ "ended early", rule_ended_early },
	{ "schedule off", rule_schedule_off },
	{ "tool at its ceiling", rule_tool_at_ceiling },
	{ "short of target", rule_short_of_target },
	{ "box busy", rule_box_busy },
	{ "running late", rule_running_late },
	{ "replies unsent", rule_replies_unsent },
	{ "path MTU", rule_path_mtu },
	{ "unreachable", rule_unreachable },
	{ "TTL expired", rule_ttl_expired },
	{ "address twice", rule_address_twice },
	{ "moving next hop", rule_moving_hop },
	{ "receiver drops", rule_receiver_drops },
	{ "forward loss", rule_forward_loss },
	{ "return loss", rule_return_loss },
	{ "sick grid", rule_sick_grid },
	{ "loss unattributed", rule_loss_unattributed },
	{ "other run", rule_other_run },
	{ "pause frames", rule_pause_frames },
	{ "paths differ", rule_paths_differ },
	{ "queues filling", rule_queues_filling },
	{ "uneven queues", rule_uneven_queues },
	{ "off queue", rule_off_queue },
	{ "foreign traffic", rule_foreign_traffic },
	{ "start skew", rule_start_skew },
};
const size_t advice_count = sizeof(advice_table) / sizeof(advice_table[0]);

void because(struct advice *a, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	text_vappend(a->evidence, sizeof(a->evidence), fmt, ap);
	va_end(ap);
}

void fix(struct advice *a, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	text_vappend(a->fix, sizeof(a->fix), fmt, ap);
	va_end(ap);
}

static char *figure(struct figures *f)
{
	assert(f->used < sizeof(f->text) / sizeof(f->text[0]));
	return f->text[f->used++];
}

const char *count_of(struct figures *f, uint64_t v)
{
	return v == COUNTER_UNKNOWN ? "unknown" : count_str(v, figure(f), sizeof(f->text[0]));
}

const char *time_of(struct figures *f, double ns)
{
	return isnan(ns) ? "unknown" : ns_str(ns, figure(f), sizeof(f->text[0]));
}

const char *name_of(const struct summary *s, size_t host)
{
	return s->matrix->host[host].name;
}

bool known(uint64_t v)
{
	return v != COUNTER_UNKNOWN;
}

const struct sum_host *worst_host(const struct summary *s, double (*of)(const struct sum_host *),
				  double floor)
{
	const struct sum_host *worst = NULL;

	for (size_t i = 0; i < s->host_count; i++) {
		const struct sum_host *h = &s->host[i];
		if (h->measured && of(h) > (worst != NULL ? of(worst) : floor))
			worst = h;
	}
	return worst;
}

// A rate as the matrix takes it, in two digits: 10k, 1.5M.
static void rate_text(double pps, char *buf, size_t size)
{
	double digits = pow(10, floor(log10(pps)) - 1);
	double v = round(pps / digits) * digits;

	if (v >= 1e6)
		snprintf(buf, size, "%.9gM", v / 1e6);
	else if (v >= 1e3)
		snprintf(buf, size, "%.9gk", v / 1e3);
	else
		snprintf(buf, size, "%.9g", v);
}

// By how much the load may grow before the busiest queue of all is at its ceiling.
static double headroom(const struct summary *s)
{
	double busy = NAN;

	for (size_t i = 0; i < s->host_count; i++)
		if (!(s->host[i].busy_pct <= busy) && !isnan(s->host[i].busy_pct))
			busy = s->host[i].busy_pct;
	if (isnan(busy))
		return 2;
	if (busy * STEP_MAX < BUSY_WANTED_PCT)
		return STEP_MAX;
	return fmax(BUSY_WANTED_PCT / busy, 1.1);
}

static void raise_rate(const struct summary *s, struct advice *a)
{
	const struct matrix *m = s->matrix;
	double factor = headroom(s);
	char rate[32], now[32];

	if (s->windowed) {
		*a = (struct advice){ .rule = "window" };
		because(a, "nothing speaks against the last %.2f s, as far as reports tell",
			s->window_s);
		fix(a, "pmx summarize %s for the exact accounts", m->file);
		return;
	}
	if (s->running) {
		*a = (struct advice){ .rule = "wait" };
		because(a, "still running, and nothing speaks against it");
		fix(a, "pmx summarize %s again when it is done", m->file);
		return;
	}
	if (s->total.target == COUNTER_UNKNOWN) {
		*a = (struct advice){ .rule = "unpaced" };
		si_str(s->total.sent_pps, now, sizeof(now));
		because(a, "unpaced, and nothing stood in the way: %spps is what these hosts send",
			now);
		fix(a, "for more, raise 'queues' of the hosts, then: pmx run %s", m->file);
		return;
	}
	*a = (struct advice){ .rule = "raise the rate" };
	because(a, "nothing stands in the way: the target was offered and came back");
	fix(a, "pmx run %s --scale %.1f", m->file, factor);
	if (m->traffic.pattern == PATTERN_CELLS || m->traffic.rate.max || m->traffic.line_pct > 0 ||
	    !(m->traffic.rate.pps > 0))
		return;
	rate_text(m->traffic.rate.pps, now, sizeof(now));
	rate_text(m->traffic.rate.pps * factor, rate, sizeof(rate));
	fix(a, ", or for good 'rate: %s' instead of %s in %s", rate, now, m->file);
}

size_t advice_build(const struct summary *s, struct advice out[ADVICE_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < advice_count && n < ADVICE_MAX; i++) {
		out[n] = (struct advice){ .rule = advice_table[i].name };
		if (advice_table[i].fires(s, &out[n]))
			n++;
	}
	if (n == 0)
		raise_rate(s, &out[n++]);
	return n;
}

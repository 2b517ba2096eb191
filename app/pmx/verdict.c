#include "summary.h"

#include "text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *const limit_pass_name[3] = {
	[LIMIT_MISSED] = "missed",
	[LIMIT_HELD] = "held",
	[LIMIT_NOT_JUDGED] = "not judged",
};

// What a limit says in words: the figure, and on which side of the limit it must lie.
struct limit_word {
	const char *key, *name, *unit;
	bool at_least;
};

static const struct limit_word limit_word[] = {
	{ "loss_pct", "loss", "%", false },
	{ "rtt_p99_us", "p99", "us", false },
	{ "achieved_pct", "achieved", "%", true },
};

static const struct limit_word *word_of(const char *key)
{
	for (size_t i = 0; i < LIMITS_MAX; i++)
		if (strcmp(limit_word[i].key, key) == 0)
			return &limit_word[i];
	return NULL;
}

static enum limit_pass judge(const struct summary *s, double value, double limit, bool at_least,
			     bool may_be_unknown)
{
	if (s->running)
		return LIMIT_NOT_JUDGED;
	if (isnan(value))
		return may_be_unknown ? LIMIT_NOT_JUDGED : LIMIT_MISSED;
	return (at_least ? value >= limit : value <= limit) ? LIMIT_HELD : LIMIT_MISSED;
}

size_t summary_limits(const struct summary *s, struct limit_check out[LIMITS_MAX])
{
	const double limit[LIMITS_MAX] = {
		s->matrix->limits.loss_pct,
		s->matrix->limits.rtt_p99_us,
		s->matrix->limits.achieved_pct,
	};
	const double value[LIMITS_MAX] = {
		s->total.loss_pct,
		s->total.rtt_p99_ns / 1e3,
		s->achieved_pct,
	};
	size_t n = 0;

	for (size_t i = 0; i < LIMITS_MAX; i++) {
		const struct limit_word *w = &limit_word[i];

		if (limit[i] < 0 || isnan(limit[i]))
			continue;
		// an unpaced run has no target to achieve
		bool may_be_unknown = w->at_least && s->measured_flows > 0;
		out[n++] = (struct limit_check){
			.key = w->key,
			.limit = limit[i],
			.value = value[i],
			.pass = judge(s, value[i], limit[i], w->at_least, may_be_unknown),
		};
	}
	return n;
}

// The line of the verdict, made of parts.
struct line {
	char *text;
	size_t size;
};

static void part(const struct line *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void part(const struct line *l, const char *fmt, ...)
{
	va_list ap;

	if (l->text[0] != '\0')
		text_append(l->text, l->size, "; ");
	va_start(ap, fmt);
	text_vappend(l->text, l->size, fmt, ap);
	va_end(ap);
}

static void say_limit(const struct line *line, const struct limit_check *l)
{
	const struct limit_word *word = word_of(l->key);

	if (isnan(l->value))
		part(line, "%s is unknown (limit %.9g %s)", word->name, l->limit, word->unit);
	else
		part(line, "%s %.9g %s is %s the limit of %.9g %s", word->name, l->value,
		     word->unit, word->at_least ? "under" : "over", l->limit, word->unit);
}

static void say_invalid(const struct line *line, const struct summary *s)
{
	const struct sum_flow *f = &s->flow[s->first_invalid];

	part(line, "invalid trial: more arrived than was sent on %zu flow%s, first %s to %s",
	     s->invalid_flows, s->invalid_flows == 1 ? "" : "s", s->matrix->host[f->src].name,
	     s->matrix->host[f->dst].name);
}

// A limit on what was achieved is the user's own word on it; without one the usual share holds.
static bool generator_limited(const struct summary *s, const struct limit_check *l, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(l[i].key, "achieved_pct") == 0)
			return false;
	return n > 0 && s->achieved_pct < GENERATOR_LIMITED_PCT;
}

// Everything that speaks against the run; true if anything does.
static bool say_faults(const struct line *line, const struct summary *s,
		       const struct limit_check *l, size_t n)
{
	size_t before = strlen(line->text);

	if (s->invalid_flows > 0)
		say_invalid(line, s);
	for (size_t i = 0; i < n; i++)
		if (l[i].pass == LIMIT_MISSED)
			say_limit(line, &l[i]);
	if (!s->running && generator_limited(s, l, n))
		part(line, "the tool offered %.2f %% of the target: no limit is held by that",
		     s->achieved_pct);
	return strlen(line->text) > before;
}

enum verdict summary_verdict(const struct summary *s, char *text, size_t size)
{
	struct line line = { .text = text, .size = size };
	struct limit_check limit[LIMITS_MAX];
	size_t n = summary_limits(s, limit);

	text[0] = '\0';
	if (s->measured_hosts == 0) {
		part(&line, "nothing measured: none of %zu hosts gave a result", s->host_count);
		return VERDICT_NOTHING;
	}
	if (s->partial) {
		part(&line, "partial: %zu of %zu hosts and %zu of %zu flows measured at both ends",
		     s->measured_hosts, s->host_count, s->complete_flows, s->flow_count);
		say_faults(&line, s, limit, n);
		return VERDICT_PARTIAL;
	}
	if (say_faults(&line, s, limit, n))
		return VERDICT_LIMIT;
	if (s->windowed)
		part(&line, "window: the last %.2f s of the reports, which no limit is judged by",
		     s->window_s);
	else if (s->running)
		part(&line, "running: live figures, what is in flight counts as not yet returned");
	else if (n > 0)
		part(&line, "good: every limit of the matrix is held");
	else
		part(&line, "complete: the matrix sets no limits");
	if (!s->running && n == 0 && s->achieved_pct < GENERATOR_LIMITED_PCT)
		part(&line, "the tool offered %.2f %% of the target", s->achieved_pct);
	return VERDICT_GOOD;
}

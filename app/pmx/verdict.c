#include "summary.h"

#include "table.h"

#include <inttypes.h>
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

struct words {
	char *text;
	size_t size, len;
};

static void say(struct words *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void say(struct words *w, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (w->len + 1 >= w->size)
		return;
	va_start(ap, fmt);
	n = vsnprintf(w->text + w->len, w->size - w->len, fmt, ap);
	va_end(ap);
	if (n > 0)
		w->len += (size_t)n < w->size - w->len ? (size_t)n : w->size - w->len - 1;
}

static void say_limit(struct words *w, const struct limit_check *l)
{
	const struct limit_word *word = word_of(l->key);

	if (isnan(l->value))
		say(w, "%s%s is unknown (limit %.9g %s)", w->len > 0 ? "; " : "", word->name,
		    l->limit, word->unit);
	else
		say(w, "%s%s %.9g %s is %s the limit of %.9g %s", w->len > 0 ? "; " : "",
		    word->name, l->value, word->unit, word->at_least ? "under" : "over", l->limit,
		    word->unit);
}

static void say_invalid(struct words *w, const struct summary *s)
{
	const struct sum_flow *f = &s->flow[s->first_invalid];

	say(w, "%sinvalid trial: more arrived than was sent on %zu flow%s, first %s to %s",
	    w->len > 0 ? "; " : "", s->invalid_flows, s->invalid_flows == 1 ? "" : "s",
	    s->matrix->host[f->src].name, s->matrix->host[f->dst].name);
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
static bool say_faults(struct words *w, const struct summary *s, const struct limit_check *l,
		       size_t n)
{
	size_t before = w->len;

	if (s->invalid_flows > 0)
		say_invalid(w, s);
	for (size_t i = 0; i < n; i++)
		if (l[i].pass == LIMIT_MISSED)
			say_limit(w, &l[i]);
	if (!s->running && generator_limited(s, l, n))
		say(w, "%sthe tool offered %.2f %% of the target: no limit is held by that",
		    w->len > 0 ? "; " : "", s->achieved_pct);
	return w->len > before;
}

enum pmx_exit summary_verdict(const struct summary *s, char *text, size_t size)
{
	struct words w = { .text = text, .size = size };
	struct limit_check limit[LIMITS_MAX];
	size_t n = summary_limits(s, limit);

	if (size > 0)
		text[0] = '\0';
	if (s->measured_hosts == 0) {
		say(&w, "nothing measured: none of %zu hosts gave a result", s->host_count);
		return EXIT_HOST;
	}
	if (s->partial) {
		say(&w, "partial: %zu of %zu hosts and %zu of %zu flows measured at both ends",
		    s->measured_hosts, s->host_count, s->complete_flows, s->flow_count);
		say_faults(&w, s, limit, n);
		return EXIT_PARTIAL;
	}
	if (say_faults(&w, s, limit, n))
		return EXIT_LIMIT;
	if (s->running)
		say(&w, "running: live figures, what is in flight counts as not yet returned");
	else if (n > 0)
		say(&w, "good: every limit of the matrix is held");
	else
		say(&w, "complete: the matrix sets no limits");
	return EXIT_GOOD;
}

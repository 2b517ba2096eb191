// How requests are spread over time: bursts and the gap between them, a ramp.
#include "matrix_parts.h"

#include <errno.h>
#include <string.h>

#define SECOND_NS 1e9
#define RAMP_MIN_NS UINT64_C(10000000)

struct ramp_draft {
	uint64_t over_ns;
	double from_pct;
	uint32_t steps;
	struct pos over_at, from_at, steps_at;
};

#define FIELD(field) YAML_FIELD(struct ramp_draft, field)
#define AT(field) .pos = offsetof(struct ramp_draft, field)
// clang-format off
static const struct yaml_key ramp_key[] = {
	{ .name = "over", .type = YAML_TYPE_DURATION, FIELD(over_ns), .min = RAMP_MIN_NS,
	  .max = RAMP_MAX_NS, AT(over_at) },
	{ .name = "from", .type = YAML_TYPE_PERCENT, FIELD(from_pct), AT(from_at) },
	{ .name = "steps", .type = YAML_TYPE_UINT, FIELD(steps), .min = 2, .max = RAMP_STEPS_MAX,
	  AT(steps_at) },
};
// clang-format on
#undef AT
#undef FIELD
static const struct yaml_table ramp_table = YAML_TABLE("ramp", ramp_key);

static int ramp_text(const struct yaml_doc *d, const struct yaml_item *value, uint64_t *ns,
		     struct err *e)
{
	int ret = yaml_want_text(d, value, "ramp", "a time, as 10s, or a mapping", e);

	if (ret < 0)
		return ret;
	if (parse_duration_ns(value->text, ns, e) < 0)
		return yaml_wrap(d, value->pos, "ramp", e);
	if (*ns < RAMP_MIN_NS || *ns > RAMP_MAX_NS)
		return pos_fail(d->file, value->pos, e, "ramp '%s': expected 10ms to 24h",
				value->text);
	return 0;
}

int ramp_read(const struct yaml_doc *d, const struct yaml_item *value, struct ramp *ramp,
	      struct err *e)
{
	struct ramp_draft r = { 0 };
	int ret = value->kind == YAML_MAP ? yaml_map_read(d, value, &ramp_table, &r, e)
					  : ramp_text(d, value, &r.over_ns, e);

	if (ret < 0)
		return ret;
	if (r.over_ns == 0)
		return pos_fail(d->file, value->pos, e,
				"ramp: over is missing: expected the time in which the rate rises, "
				"as 'over: 10s'");
	// the levels of so many steps are as high as what each adds, unless the first one is told
	if (r.steps > 0 && r.from_at.line == 0)
		r.from_pct = 100.0 / r.steps;
	if (r.from_pct >= 100)
		return pos_fail(
			d->file, r.from_at, e,
			"from '%g': a ramp from the whole rate does not rise: expected less "
			"than 100%%",
			r.from_pct);
	*ramp = (struct ramp){
		.from = r.from_pct / 100,
		.over_ns = r.over_ns,
		.steps = r.steps,
	};
	return 0;
}

int gap_settle(const struct yaml_doc *d, struct draft *draft, struct err *e)
{
	struct matrix *m = &draft->m;

	if (m->traffic.gap_ns == 0)
		return 0;
	if (m->traffic.at.rate.line != 0)
		return pos_fail(
			d->file, m->traffic.at.gap, e,
			"gap: 'rate' stands at %d:%d, and a gap of each burst says how much, "
			"too: keep one",
			m->traffic.at.rate.line, m->traffic.at.rate.col);
	m->traffic.rate = (struct rate){
		.pps = m->traffic.pacing.burst * SECOND_NS / (double)m->traffic.gap_ns,
	};
	m->traffic.at.rate = m->traffic.at.gap;
	return 0;
}

// The shape of the traffic: which keys go together, and with which pattern.
#include "matrix_parts.h"

#include <errno.h>
#include <stdlib.h>

static bool has_hubs(enum pattern p)
{
	return p == PATTERN_ONE_TO_MANY || p == PATTERN_MANY_TO_ONE;
}

static int rate_check(const struct yaml_doc *d, const struct draft *draft, struct err *e)
{
	const struct matrix *m = &draft->m;
	bool rate = m->traffic.at.rate.line != 0, cells = draft->cells != NULL;
	struct pos pos = draft->traffic_at.line != 0 ? draft->traffic_at : draft->root;

	if (m->traffic.pattern != PATTERN_CELLS && !rate)
		return pos_fail(d->file, pos, e,
				"traffic: rate is missing: expected 'rate: 100k' for each pair%s",
				cells ? ", or 'pattern: cells' for the cells alone" : "");
	if (m->traffic.pattern == PATTERN_CELLS && !cells)
		return pos_fail(
			d->file, pos, e,
			"traffic: cells is missing: expected 'cells: {%s: {%s: 100k}}' with "
			"'pattern: cells'",
			m->host[0].name, m->host[1].name);
	if (m->traffic.pattern == PATTERN_CELLS && rate)
		return pos_fail(d->file, m->traffic.at.rate, e,
				"%s: has no effect with 'pattern: cells': remove it, or say "
				"'pattern: mesh'",
				m->traffic.gap_ns > 0 ? "gap" : "rate");
	return 0;
}

// A key that is there without what it is about.
static int needs_check(const struct yaml_doc *d, const struct matrix *m, struct err *e)
{
	bool mesh = m->traffic.pattern == PATTERN_MESH, peers = m->traffic.at.peers.line != 0;
	bool drawn = m->traffic.pacing.spacing != SPACING_EVEN;
	const struct {
		const char *key;
		struct pos pos;
		bool met;
		const char *need;
	} rule[] = {
		{ "peers", m->traffic.at.peers, mesh, "'pattern: mesh'" },
		{ "seed", m->traffic.at.seed, peers || drawn,
		  "'peers:' or 'spacing:', for which it draws" },
		{ "dwell", m->traffic.at.dwell, peers, "'peers:', as many flows as a layer has" },
		{ "equal_layers", m->traffic.at.equal_layers, m->traffic.at.dwell.line != 0,
		  "'dwell:', the time of a layer" },
		{ "hub", m->traffic.at.hub, has_hubs(m->traffic.pattern),
		  "'pattern: one-to-many' or 'many-to-one'" },
	};

	for (size_t i = 0; i < sizeof(rule) / sizeof(rule[0]); i++)
		if (rule[i].pos.line != 0 && !rule[i].met)
			return pos_fail(d->file, rule[i].pos, e,
					"%s: has no effect without %s: remove it, or say that",
					rule[i].key, rule[i].need);
	return 0;
}

static int ramp_check(const struct yaml_doc *d, const struct matrix *m, struct err *e)
{
	if (m->traffic.at.ramp.line == 0 || m->traffic.dwell_ns == 0)
		return 0;
	return pos_fail(d->file, m->traffic.at.ramp, e,
			"ramp: with 'dwell:' each layer would be sent at another rate: keep one of "
			"the two");
}

static int hosts_check(const struct yaml_doc *d, const struct matrix *m, struct err *e)
{
	if (m->traffic.peers >= m->host_count)
		return pos_fail(d->file, m->traffic.at.peers, e,
				"peers %u: %zu hosts have %zu others each: expected 1 to %zu",
				m->traffic.peers, m->host_count, m->host_count - 1,
				m->host_count - 1);
	if (m->traffic.pattern == PATTERN_PAIRS && m->host_count % 2 != 0)
		return pos_fail(
			d->file, m->traffic.at.pattern, e,
			"pattern 'pairs': of %zu hosts '%s' has no partner: expected an even "
			"number",
			m->host_count, m->host[m->host_count - 1].name);
	return 0;
}

static int hub_add(const struct yaml_doc *d, struct draft *draft, const struct yaml_item *item,
		   struct err *e)
{
	uint32_t host;
	int ret = yaml_want_text(d, item, "hub", "a host, or a list of hosts", e);

	if (ret == 0)
		ret = host_of(d, draft, "hub", item, &host, e);
	if (ret < 0)
		return ret;
	if (draft->m.traffic.hub[host])
		return pos_fail(d->file, item->pos, e, "hub: '%s' a second time: keep one",
				item->text);
	draft->m.traffic.hub[host] = true;
	return 0;
}

static int hubs_read(const struct yaml_doc *d, struct draft *draft, struct err *e)
{
	const struct yaml_item *hub = draft->hub;
	struct matrix *m = &draft->m;
	struct pos pos = draft->traffic_at;
	size_t count = 0;
	int ret = 0;

	if (hub == NULL || (hub->kind == YAML_LIST && hub->count == 0))
		return pos_fail(d->file, hub == NULL ? pos : hub->pos, e,
				"hub is missing: expected 'hub: %s', the host that all the others "
				"%s, or a list of hosts",
				m->host[0].name,
				m->traffic.pattern == PATTERN_ONE_TO_MANY ? "hear from"
									  : "send to");
	m->traffic.hub = calloc(m->host_count, sizeof(*m->traffic.hub));
	if (m->traffic.hub == NULL)
		return err_set(e, ENOMEM, "%s: out of memory", d->file);
	if (hub->kind != YAML_LIST)
		ret = hub_add(d, draft, hub, e);
	else
		for (const struct yaml_item *i = hub->child; ret == 0 && i != NULL; i = i->next)
			ret = hub_add(d, draft, i, e);
	if (ret < 0)
		return ret;
	for (size_t i = 0; i < m->host_count; i++)
		count += m->traffic.hub[i];
	if (count == m->host_count)
		return pos_fail(d->file, hub->pos, e,
				"hub: all %zu hosts: expected one or more that are none", count);
	return 0;
}

int draft_shape(const struct yaml_doc *d, struct draft *draft, struct err *e)
{
	int ret = rate_check(d, draft, e);

	if (ret == 0)
		ret = needs_check(d, &draft->m, e);
	if (ret == 0)
		ret = ramp_check(d, &draft->m, e);
	if (ret == 0)
		ret = hosts_check(d, &draft->m, e);
	return ret == 0 && has_hubs(draft->m.traffic.pattern) ? hubs_read(d, draft, e) : ret;
}

struct rotation matrix_rotation(const struct matrix *m)
{
	uint32_t shifts = (uint32_t)m->host_count - 1, peers = m->traffic.peers;

	if (m->traffic.dwell_ns == 0)
		return (struct rotation){ 0 };
	return (struct rotation){
		.layers = (shifts + peers - 1) / peers,
		.dwell_ns = m->traffic.dwell_ns,
	};
}

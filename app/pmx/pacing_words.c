#include "pacing_words.h"

#include "text.h"

#include "units.h"

#define NS_PER_S 1e9

const char *pacing_str(const struct matrix *m, char *buf, size_t size)
{
	const struct pacing *p = &m->traffic.pacing;
	char over[32];

	buf[0] = '\0';
	if (p->burst > 1)
		text_append(buf, size, ", bursts of %u", p->burst);
	if (p->spacing != SPACING_EVEN)
		text_append(buf, size, ", %s gaps", spacing_name[p->spacing]);
	if (p->ramp.over_ns == 0)
		return buf;
	text_append(buf, size, ", ramp of %s", ns_str((double)p->ramp.over_ns, over, sizeof(over)));
	if (p->ramp.from > 0)
		text_append(buf, size, " from %.3g %%", p->ramp.from * 100);
	if (p->ramp.steps > 0)
		text_append(buf, size, " in %u steps", p->ramp.steps);
	return buf;
}

void pacing_json(struct json_put *j, const struct matrix *m)
{
	const struct pacing *p = &m->traffic.pacing;

	json_put_count(j, "burst", p->burst);
	json_put_text(j, "spacing", spacing_name[p->spacing]);
	if (p->spacing == SPACING_EVEN)
		json_put_null(j, "spacing_seed");
	else
		json_put_count(j, "spacing_seed", m->traffic.seed);
	if (p->ramp.over_ns == 0) {
		json_put_null(j, "ramp");
		return;
	}
	json_put_key(j, "ramp");
	json_put_begin(j, '{');
	json_put_real(j, "over_s", (double)p->ramp.over_ns / NS_PER_S);
	json_put_real(j, "from_pct", p->ramp.from * 100);
	json_put_count(j, "steps", p->ramp.steps);
	json_put_end(j, '}');
}

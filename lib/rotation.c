#include "rotation.h"

bool rotation_ok(const struct rotation *r)
{
	if (r->layers == 0)
		return r->dwell_ns == 0;
	return r->layers <= ROTATION_LAYERS_MAX && r->dwell_ns >= ROTATION_DWELL_MIN_NS &&
	       r->dwell_ns <= ROTATION_DWELL_MAX_NS;
}

bool rotation_has(const struct rotation *r, uint32_t layer)
{
	return layer < (r->layers > 0 ? r->layers : 1);
}

uint32_t rotation_layer(const struct rotation *r, uint64_t t_ns)
{
	return r->layers > 0 ? (uint32_t)(t_ns / r->dwell_ns % r->layers) : 0;
}

uint64_t rotation_on_ns(const struct rotation *r, uint32_t layer, uint64_t t_ns)
{
	if (r->layers == 0)
		return t_ns;
	uint64_t cycle_ns = r->layers * r->dwell_ns, before_ns = layer * r->dwell_ns;
	uint64_t rest_ns = t_ns % cycle_ns;
	uint64_t part_ns = rest_ns > before_ns ? rest_ns - before_ns : 0;

	if (part_ns > r->dwell_ns)
		part_ns = r->dwell_ns;
	return t_ns / cycle_ns * r->dwell_ns + part_ns;
}

// Rotation: layers of flows that take turns, each for a dwell, from the start of a measured trial
// on and round again. Every agent derives the layer from its own clock; nobody tells it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define ROTATION_DWELL_MIN_NS UINT64_C(1000000) // below it a stall outlasts a dwell
#define ROTATION_DWELL_MAX_NS (UINT64_C(86400) * 1000000000)
#define ROTATION_LAYERS_MAX 4096

struct rotation {
	uint32_t layers;   // 0 = none: every flow sends all the time
	uint64_t dwell_ns; // 0 without layers
};

// Whether both are in range. The functions below are for such only.
bool rotation_ok(const struct rotation *r);
// Whether a flow may be of that layer.
bool rotation_has(const struct rotation *r, uint32_t layer);

// The layer that sends `t_ns` after the start; 0 without a rotation.
uint32_t rotation_layer(const struct rotation *r, uint64_t t_ns);
// For how long a layer sent in the first `t_ns`; all of it without a rotation.
uint64_t rotation_on_ns(const struct rotation *r, uint32_t layer, uint64_t t_ns);

// An owned list of unsigned integers, as JSON: an array, or null where there is none.
#pragma once

#include "jsonmap.h"

#include <stdint.h>

#define UINTS_MAX (1u << 22)

struct uints {
	uint32_t count;
	uint64_t v[]; // up to INT64_MAX
};

// Of zeros; NULL on no memory. free() ends it.
struct uints *uints_new(uint32_t count);
// A copy into *to; none of none. 0 or -ENOMEM.
int uints_copy(struct uints **to, const struct uints *from);
// Element i; 0 of none.
static inline uint64_t uints_at(const struct uints *u, uint32_t i)
{
	return u != NULL && i < u->count ? u->v[i] : 0;
}

extern const struct jm_codec uints_codec; // of a member `struct uints *`

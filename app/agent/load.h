// Words of a frame: memory order, no alignment asked.
#pragma once

#include <stdint.h>

typedef uint64_t vec128 __attribute__((vector_size(16)));
typedef uint16_t words128 __attribute__((vector_size(16)));

static inline uint16_t load16(const void *p)
{
	uint16_t v;
	__builtin_memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint32_t load32(const void *p)
{
	uint32_t v;
	__builtin_memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint64_t load64(const void *p)
{
	uint64_t v;
	__builtin_memcpy(&v, p, sizeof(v));
	return v;
}

static inline vec128 load128(const void *p)
{
	vec128 v;
	__builtin_memcpy(&v, p, sizeof(v));
	return v;
}

// 16 bytes in one store.
static inline void store_pair(uint8_t *to, uint64_t first, uint64_t second)
{
	vec128 pair = { first, second };
	__builtin_memcpy(to, &pair, sizeof(pair));
}

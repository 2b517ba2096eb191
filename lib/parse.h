// Text to value, exactly or not at all: no leading or trailing junk, no silent overflow, no sign
// where none is meant. Every function returns 0 or -EINVAL/-ERANGE with an error that quotes the
// value and says the right form. The caller adds where it stood.
#pragma once

#include "err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RATE_MAX_PPS 1e10 // above 64-byte line rate of 400 Gb/s by far
#define RATE_MAX_BPS 1e13

struct rate {
	bool max;   // "max": unpaced
	double pps; // >= 0; 0 with !max and no bit rate = no flow
	double bps; // > 0: bits/s on the wire (L1), or of frames with FCS (L2), instead of pps
	bool l2;
};

// Decimal, min..max inclusive.
int parse_u64(const char *s, uint64_t min, uint64_t max, uint64_t *out, struct err *e);
// "5000", "5k", "1.5M", "2G", "10kpps", "max"; k/M/G (K accepted) are powers of ten. "1Gbps",
// "1Gb/s", "800MbpsL1" and "800MbpsL2" are bit rates, without a word more of the wire (L1).
// Refused: negative, non-finite, exponents ("1e99"), hex, over RATE_MAX_PPS or RATE_MAX_BPS. Form
// in errors: "expected packets/s with k, M or G, bits/s as 1Gbps, or 'max'".
int parse_rate(const char *s, struct rate *out, struct err *e);
// "10" (seconds), "10s", "500ms", "50us", "2m", "1h", "1.5s" -> nanoseconds; at most 365 days.
int parse_duration_ns(const char *s, uint64_t *out_ns, struct err *e);
// Dotted quad -> host byte order. Leading zeros refused.
int parse_ip4(const char *s, uint32_t *out, struct err *e);
// "198.18.0.1/24"; the prefix is required, 1..32.
int parse_ip4_prefix(const char *s, uint32_t *addr, unsigned *prefix_len, struct err *e);
// "52:54:00:12:34:56"
int parse_mac(const char *s, uint8_t out[6], struct err *e);
// "0-3,8,10-11" -> ids in the order written, no duplicates, at most cap; returns the count in *n.
int parse_cpulist(const char *s, uint16_t *out, size_t cap, size_t *n, struct err *e);
// "true/false/yes/no/on/off"
int parse_bool(const char *s, bool *out, struct err *e);

// Dotted quad of a host-order address into buf (>= 16 bytes); returns buf.
char *ip4_str(uint32_t addr, char *buf, size_t size);

// The nearest of n words to s, the first of equals, or NULL: "did you mean ...". At most 2 edits
// (Levenshtein's, and a swap of neighbours) and fewer than half of the length.
const char *nearest_word(const char *s, const char *const *words, size_t n);

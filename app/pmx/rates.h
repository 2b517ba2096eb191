// Rates as text.
#pragma once

#include "parse.h"

#include <stdbool.h>
#include <stddef.h>

#define RATE_STR_MAX 32

// "92.5k": what parse_rate reads, rounded down to four digits, so that a limit stays kept. Returns
// buf (>= RATE_STR_MAX).
char *rate_str(double pps, char *buf, size_t size);
// The shortest that parse_rate reads as this very rate, to nine decimals: "12.5k", with k, M or G
// if `suffix`, else "12500". Returns buf (>= RATE_STR_MAX).
char *rate_exact_str(double pps, bool suffix, char *buf, size_t size);
// The same of a rate of any kind: "max", "12.5k", "1Gbps", "1GbpsL2".
char *rate_text_str(const struct rate *rate, char *buf, size_t size);
// "5.00 kpps", "5 pps": for people.
char *rate_unit_str(double v, const char *unit, char *buf, size_t size);

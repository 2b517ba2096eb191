// Filled examples for the tests of JSON: every field has a value of its own, so that two rows of a
// table cannot be mixed up unseen.
#pragma once

#include "hostcfg.h"
#include "result.h"

// Owned by the caller, as *_read would leave them.
void sample_hostcfg(struct hostcfg *c);
void sample_result(struct result *r);
// n records of one value and m of another (m may be 0); owned by the caller.
struct hist_packed *sample_packed(uint64_t ns, uint64_t n, uint64_t other_ns, uint64_t m);

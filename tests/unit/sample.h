// Filled examples for the tests of JSON: every field has a value of its own, so that two rows of a
// table cannot be mixed up unseen.
#pragma once

#include "hostcfg.h"
#include "result.h"

// Owned by the caller, as *_read would leave them.
void sample_hostcfg(struct hostcfg *c);
void sample_result(struct result *r);

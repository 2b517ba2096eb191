// Results of earlier agents of the same run on one host (see lives.h): into host.older, and into
// the one result that the summary takes.
#pragma once

#include "fleet.h"

#include "err.h"

// From the host's directory; none is no error.
int lives_fetch(struct fleet_host *h, struct err *e);
// From DIR/<host>/result.1.json, ... on this machine.
int lives_load(struct fleet_host *h, const char *dir, struct err *e);
// host.result becomes the sum of all lives; host.older is empty afterwards.
int lives_settle(struct fleet_host *h, struct err *e);

// What of a host's queues is decided by the source ports of requests.
#pragma once

#include "hostcfg.h"
#include "profile.h"

// c->port.steering and rss_key as the profile has them for addresses of this family; c->port.queues
// and rss are there already.
void steer_own(const struct profile *p, bool ip4, struct hostcfg *c);
// *peer_steer for a flow between c's host and that of `peer`, which c->steer gets if it has none
// like it yet. 0 or -ENOMEM.
int steer_peer(struct hostcfg *c, const struct hostcfg *peer, uint32_t *peer_steer);

// On the wire: what a request and a reply of the matrix are there, as the host that sends them
// does.
#pragma once

#include "datagram.h"
#include "matrix.h"

#include <stdint.h>

// Of one packet, over a cycle of sizes.
struct wire_mean {
	double l1_bytes, frames;
};

// On a link where they have `tags` tags.
struct wire_mean request_wire(const struct matrix *m, const struct sender *by, uint32_t tags);
struct wire_mean reply_wire(const struct matrix *m, const struct sender *by, uint32_t tags);
// A host's, its MTU as the matrix has it, or Ethernet's.
struct sender host_sender(const struct matrix_host *h);
// The same with the MTU that its agent found in effect; COUNTER_UNKNOWN = not known.
struct sender host_sender_at(const struct matrix_host *h, uint64_t mtu);
// What titles go by: that of the host with the most encapsulation.
struct sender matrix_sender(const struct matrix *m);

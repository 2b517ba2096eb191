// Device: what a host's `device`, `driver` and `role` come to for DPDK. Pure.
//
// Templates of a profile may name, in braces:
//   iface, device   the host's `device`
//   queues rxd txd mtu
//   slot            bytes of a ring's slot that carries a frame of the MTU, a multiple of 1 KiB
//   block           four slots: a multiple of the page and of the slot
//   dir             the run's directory on the host
//   role            server or client
#pragma once

#include "matrix.h"
#include "profile.h"

#include "err.h"
#include "hostcfg.h"

#include <stddef.h>

int device_template_check(const char *text, struct err *e);

// The role of one host: "server", "client" or "" where the device has none. A cabled device (see
// profile.peer) that pmx makes needs exactly two hosts, both here, one of each role.
int device_role(const struct matrix *m, const struct profile *profile, size_t host,
		const char **role, struct err *e);

// Fills c->port.vdev or .pci, .unlink_path and .restart_until_link; reads the rest of c->port.
// Errors point into the matrix.
int device_resolve(const struct matrix *m, const struct profile *p, size_t host, const char *role,
		   struct hostcfg *c, struct err *e);

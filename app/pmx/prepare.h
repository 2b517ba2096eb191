// Prepare: what a host needs before its agent can have the device: hugepages, a driver, silence of
// the kernel. scripts/prepare does it on the host and puts it back; it is sent as it is.
#pragma once

#include "matrix.h"
#include "profile.h"
#include "remote.h"

#include "err.h"
#include "hostcfg.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PREPARE_PAGE_KB 2048
#define PREPARE_ITEMS_MAX 1024 // bytes

struct prepare_want {
	bool hugetlbfs, noiommu; // as asked for
	bool addressed; // the matrix names the device by an address of its interface, which must
			// stay
};

// Pages of PREPARE_PAGE_KB that one agent needs: none with `hugepages: no`, and none on a virtual
// device that does not insist (it takes ordinary memory).
uint64_t prepare_pages(const struct hostcfg *c, const struct profile *p);
// The items of scripts/prepare for one port, in one line; "" when there is nothing to do. `pages`
// are those of all agents so far that share the machine in calls of their own; items of one call
// add up by themselves.
void prepare_items(const struct hostcfg *c, const struct profile *p, const struct matrix_host *h,
		   const struct prepare_want *w, uint64_t pages, char *buf, size_t size);
// The PCI address of a host's device in full, or "" where it has none.
char *prepare_pci(const struct matrix_host *h, char *buf, size_t size);

// Runs scripts/prepare on the host: `prepare VERB [-n] ITEMS`. *out is its stdout, owned by the
// caller.
int prepare_run(struct remote *r, const char *verb, bool dry, const char *items, char **out,
		struct err *e);

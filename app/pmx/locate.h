// Which device of its host a `device` is, asked on the host before anything is made there: a kernel
// interface or a PCI address that must exist, or a data subnet, which stands for the one interface
// that has an address of it. An interface whose device `prepare` took is known by its journal.
// Refused: the NIC that carries the SSH session, by whatever name.
#pragma once

#include "matrix.h"
#include "remote.h"

#include "err.h"

#include <stdbool.h>
#include <stdint.h>

struct located {
	char iface[DEVICE_MAX_BYTES]; // "" = the kernel has none for it
	char pci[DEVICE_MAX_BYTES];   // "" = not on PCI
	uint32_t pci_id;	      // vendor << 16 | device; 0 = not known
};

// `root` stands in front of /sys ("" but in tests). A device that pmx makes by itself (memif, ...)
// is not looked for: *out is empty. Errors name the device and what there is instead.
int locate_device(struct remote *r, const char *device, const char *root, struct located *out,
		  struct err *e);
// Puts what was found into the host: the interface for drivers that sit on one, else the address.
int locate_settle(const struct located *l, bool wants_iface, struct matrix_host *h, struct err *e);

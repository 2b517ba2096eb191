#include "prepare.h"

#include "clock.h"

#include "footprint.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREPARE_NS (120 * NS_PER_S) // zeroing pages, the probe of a driver

// scripts/prepare, with a NUL behind it
static const unsigned char prepare_sh[] = {
#include "prepare_sh.inc"
	0,
};

uint64_t prepare_pages(const struct hostcfg *c, const struct profile *p)
{
	uint64_t bytes = PREPARE_PAGE_KB * UINT64_C(1024);

	if (c->hugepages == HUGE_NO || (c->hugepages == HUGE_AUTO && p->virtual))
		return 0;
	return (footprint_bytes(c) + bytes - 1) / bytes;
}

char *prepare_pci(const struct matrix_host *h, char *buf, size_t size)
{
	size_t len = strcspn(h->device, ",");
	bool whole = len >= strlen("0000:00:00.0");

	buf[0] = '\0';
	if (device_kind(h->device) == DEVICE_PCI)
		snprintf(buf, size, "%s%.*s", whole ? "" : "0000:", (int)len, h->device);
	return buf;
}

void prepare_items(const struct hostcfg *c, const struct profile *p, const struct matrix_host *h,
		   const struct prepare_want *w, uint64_t pages, char *buf, size_t size)
{
	bool iface = device_kind(h->device) == DEVICE_IFACE;
	char pci[DEVICE_MAX_BYTES + 8];
	bool binds = prepare_pci(h, pci, sizeof(pci))[0] != '\0' && p->bind == BIND_VFIO_PCI;
	size_t n = 0;

	buf[0] = '\0';
	if (prepare_pages(c, p) > 0)
		n += (size_t)snprintf(buf + n, size - n, "pages=%" PRIu64 ":%d:%s ", pages,
				      PREPARE_PAGE_KB,
				      pci[0] != '\0' ? pci
				      : iface	     ? h->device
						     : "-");
	if (w->hugetlbfs)
		n += (size_t)snprintf(buf + n, size - n, "hugetlbfs ");
	if (binds && w->noiommu)
		n += (size_t)snprintf(buf + n, size - n, "noiommu ");
	if (binds)
		n += (size_t)snprintf(buf + n, size - n, "bind=%s:%s ", pci,
				      bind_mode_name[p->bind]);
	if (iface && p->quiet && !w->addressed)
		n += (size_t)snprintf(buf + n, size - n, "quiet=%s ", h->device);
	if (n > 0)
		buf[n - 1] = '\0';
}

int prepare_run(struct remote *r, const char *verb, bool dry, const char *items, char **out,
		struct err *e)
{
	const struct script script = {
		.what = "prepare the host",
		.text = "exec sh -s -- \"$@\"",
		.args = { verb, dry ? "-n" : items, dry ? items : NULL },
		.in = prepare_sh,
		.in_len = sizeof(prepare_sh) - 1,
		.timeout_ns = PREPARE_NS,
	};
	struct output o;
	int rc = remote_check(r, &script, &o, e);

	*out = rc == 0 ? o.out : NULL;
	if (rc == 0)
		o.out = NULL;
	output_free(&o);
	return rc;
}

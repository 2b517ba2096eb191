#include "probes.h"

#include "parse.h"

#include <stdio.h>
#include <string.h>

#define PCI "sys/bus/pci/devices/%s/"

// Vendors whose devices stay on their kernel driver, where the profile is none of their own.
static const struct {
	uint64_t vendor;
	const char *driver;
} shared_table[] = {
	{ 0x15b3, "mlx5_core" },
	{ 0x1414, "mana" },
};
// Kernel drivers that hand a device over.
static const char *const handing_driver[] = { "vfio-pci", "igb_uio", "uio_pci_generic" };
// What may stand beside it in an IOMMU group.
static const char *const harmless_driver[] = { "vfio-pci", "pcieport", "pci-stub" };

static bool is_one_of(const char *word, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(word, list[i]) == 0)
			return true;
	return false;
}

// The last part of what a link points to; "" when there is no link.
static const char *link_end(const char *target)
{
	const char *slash = target != NULL ? strrchr(target, '/') : NULL;

	return slash != NULL ? slash + 1 : target != NULL ? target : "";
}

static const char *driver_of(const struct exam *x)
{
	return link_end(fact(x->facts, PCI "driver", exam_pci(x)));
}

static bool pci_id(const struct exam *x, uint32_t *id)
{
	const char *vendor = fact(x->facts, PCI "vendor", exam_pci(x));
	const char *device = fact(x->facts, PCI "device", exam_pci(x));
	unsigned v, d;

	if (vendor == NULL || device == NULL || sscanf(vendor, "0x%x", &v) != 1 ||
	    sscanf(device, "0x%x", &d) != 1 || v > UINT16_MAX || d > UINT16_MAX)
		return false;
	*id = v << 16 | d;
	return true;
}

// The driver that such devices stay on, or NULL when they are handed over.
static const char *shared_driver(const struct exam *x)
{
	const struct profile *p = x->profile;
	uint32_t id;

	if (p->bind == BIND_BIFURCATED && p->kernel_driver[0] != '\0')
		return p->kernel_driver;
	for (size_t i = 0; i < sizeof(shared_table) / sizeof(shared_table[0]); i++)
		if (pci_id(x, &id) && id >> 16 == shared_table[i].vendor)
			return shared_table[i].driver;
	return NULL;
}

static bool is_shared(const struct exam *x)
{
	const char *stays = shared_driver(x);

	return stays != NULL && strcmp(driver_of(x), stays) == 0;
}

// Whether the profile lists the device, or lists none.
static bool is_listed(const struct exam *x)
{
	uint32_t id;

	if (x->profile->pci_id[0] == 0 || !pci_id(x, &id))
		return true;
	for (size_t i = 0; i < PCI_IDS_MAX && x->profile->pci_id[i] != 0; i++)
		if (x->profile->pci_id[i] == id)
			return true;
	return false;
}

static bool is_there(const struct exam *x)
{
	return fact(x->facts, PCI "vendor", exam_pci(x)) != NULL;
}

// By UIO, or by VFIO without an IOMMU, a device writes to any address of the machine.
static bool is_unsafe(const struct exam *x)
{
	return strstr(driver_of(x), "uio") != NULL ||
	       fact(x->facts, PCI "iommu_group", exam_pci(x)) == NULL;
}

static void bind_to_vfio(const struct exam *x, struct finding *f)
{
	mend(f, "pmx prepare %.100s; or modprobe vfio-pci && dpdk-devbind.py --bind vfio-pci %s",
	     x->matrix->file, exam_pci(x));
}

static void find_iface(const struct exam *x, struct finding *f)
{
	const char *name = exam_iface(x);

	if (name[0] == '\0') {
		found(f, HEALTH_UNKNOWN, "whether the interface is there is not known");
	} else if (fact(x->facts, "sys/class/net/%s/flags", name) != NULL) {
		found(f, HEALTH_OK, "interface %s is there", name);
	} else {
		found(f, HEALTH_BLOCKER, "the host has no interface %s", name);
		mend(f, "ip -br link  shows what it has; device: in the matrix");
	}
}

static void find_pci(const struct exam *x, struct finding *f)
{
	const char *pci = exam_pci(x), *now = driver_of(x), *stays = shared_driver(x);

	if (fact(x->facts, "dev/pci") == NULL) {
		found(f, HEALTH_UNKNOWN, "whether the device is there is not known");
	} else if (!is_there(x)) {
		found(f, HEALTH_BLOCKER, "the host has no PCI device %s", pci);
		mend(f, "lspci -D | grep -i eth  shows what it has; device: in the matrix");
	} else if (!is_listed(x)) {
		found(f, HEALTH_BLOCKER, "%s is %s:%s, which driver '%s' does not list", pci,
		      fact(x->facts, PCI "vendor", pci), fact(x->facts, PCI "device", pci),
		      x->profile->name);
		mend(f, "driver: another in the matrix, or none: pmx takes the one for the device");
	} else if (stays != NULL && !is_shared(x)) {
		found(f, HEALTH_BLOCKER, "%s is on driver '%s', and must stay on %s", pci,
		      now[0] != '\0' ? now : "none", stays);
		mend(f, "dpdk-devbind.py --bind %s %s", stays, pci);
	} else if (stays == NULL && now[0] == '\0') {
		found(f, HEALTH_BLOCKER, "%s is bound to no driver", pci);
		bind_to_vfio(x, f);
	} else if (stays == NULL &&
		   !is_one_of(now, handing_driver,
			      sizeof(handing_driver) / sizeof(handing_driver[0]))) {
		found(f, HEALTH_BLOCKER, "%s is on the kernel driver %s: DPDK cannot have it", pci,
		      now);
		bind_to_vfio(x, f);
	} else {
		found(f, HEALTH_OK, "%s is on %s", pci, now);
	}
}

void probe_device(const struct exam *x, struct finding *f)
{
	if (exam_is_pci(x))
		find_pci(x, f);
	else if (exam_on_iface(x))
		find_iface(x, f);
}

// Another device of the group that some other driver holds: VFIO hands out whole groups.
static const struct fact *intruder(const struct exam *x)
{
	char pattern[FACT_PATH_MAX];
	const struct fact *item;
	size_t at = 0;

	snprintf(pattern, sizeof(pattern), PCI "iommu_group/devices/*/driver", exam_pci(x));
	while ((item = fact_next(x->facts, pattern, &at)) != NULL) {
		const char *driver = link_end(item->text);

		if (strstr(strstr(item->path, "/iommu_group/"), exam_pci(x)) == NULL &&
		    !is_one_of(driver, harmless_driver,
			       sizeof(harmless_driver) / sizeof(harmless_driver[0])))
			return item;
	}
	return NULL;
}

static void without_group(const struct exam *x, struct finding *f)
{
	const char *allowed =
		fact(x->facts, "sys/module/vfio/parameters/enable_unsafe_noiommu_mode");

	if (strstr(driver_of(x), "uio") != NULL) {
		found(f, HEALTH_NOTE, "no IOMMU is used: the device may write to all memory");
	} else if (allowed != NULL && allowed[0] == 'Y') {
		found(f, HEALTH_WARNING,
		      "no IOMMU, vfio-pci is in its unsafe mode: the device may write to all "
		      "memory");
		mend(f, "on the kernel's command line: intel_iommu=on iommu=pt (AMD: iommu=pt)");
	} else {
		found(f, HEALTH_BLOCKER, "the device is in no IOMMU group: vfio-pci refuses it");
		mend(f,
		     "on the kernel's command line: intel_iommu=on iommu=pt; or, not safe, pmx "
		     "prepare --noiommu %.100s",
		     x->matrix->file);
	}
}

void probe_iommu(const struct exam *x, struct finding *f)
{
	const char *group = fact(x->facts, PCI "iommu_group", exam_pci(x));
	const struct fact *other;

	if (!exam_is_pci(x) || is_shared(x))
		return;
	if (!is_there(x)) {
		found(f, HEALTH_UNKNOWN, "the IOMMU group of the device is not known");
		return;
	}
	if (group == NULL) {
		without_group(x, f);
		return;
	}
	other = intruder(x);
	if (other == NULL) {
		found(f, HEALTH_OK, "IOMMU group %s is the device's alone", link_end(group));
		return;
	}
	const char *address = strstr(other->path, "/devices/");
	address = strstr(address + 1, "/devices/") + strlen("/devices/");
	found(f, HEALTH_BLOCKER, "IOMMU group %s holds %.12s too, on driver %s: not viable",
	      link_end(group), address, link_end(other->text));
	mend(f, "dpdk-devbind.py --bind vfio-pci %.12s, or another slot (ACS)", address);
}

// Whether user or group may write to what a line of `stat -c "%n %u %g %a"` shows.
static bool may_write(const struct exam *x, const char *line)
{
	const char *groups = fact(x->facts, "cmd/groups");
	unsigned uid, gid, mode, id;
	uint64_t me;
	int n;

	if (sscanf(line, "%*s %u %u %o", &uid, &gid, &mode) != 3 ||
	    !fact_u64(x->facts, &me, "cmd/uid"))
		return false;
	if (me == 0 || mode & 0002 || (uid == me && mode & 0200))
		return true;
	for (const char *p = groups; p != NULL && sscanf(p, "%u%n", &id, &n) == 1; p += n)
		if (id == gid && mode & 0020)
			return true;
	return false;
}

void probe_vfio(const struct exam *x, struct finding *f)
{
	const char *said = fact(x->facts, "cmd/vfio");
	char path[128];

	if (!exam_is_pci(x) || strcmp(driver_of(x), "vfio-pci") != 0)
		return;
	if (said == NULL) {
		found(f, HEALTH_UNKNOWN, "who may use /dev/vfio is not known");
		return;
	}
	for (const char *p = said; p != NULL; p = strchr(p, '\n')) {
		p += *p == '\n';
		if (sscanf(p, "/dev/vfio/%100s", path) != 1) {
			found(f, HEALTH_BLOCKER, "the device's group is not in /dev/vfio: %.*s",
			      (int)strcspn(p, "\n"), p);
			mend(f, "modprobe vfio-pci, and bind the device again");
			return;
		}
		if (may_write(x, p))
			continue;
		found(f, HEALTH_BLOCKER, "%s may not use /dev/vfio/%s", exam_user(x), path);
		mend(f, "chown %s /dev/vfio/%s; or ssh: {sudo: yes} in the matrix", exam_user(x),
		     path);
		return;
	}
	found(f, HEALTH_OK, "%s may use the device's group in /dev/vfio", exam_user(x));
}

void probe_iova(const struct exam *x, struct finding *f)
{
	bool known, root = exam_root(x, &known);

	if (!exam_is_pci(x))
		return;
	if (!is_there(x) || !known) {
		found(f, HEALTH_UNKNOWN, "by what addresses the device works is not known");
	} else if (is_shared(x) || !is_unsafe(x)) {
		found(f, HEALTH_OK, "the device works by virtual addresses");
	} else if (!root) {
		found(f, HEALTH_BLOCKER,
		      "without an IOMMU the device works by physical addresses, which only root "
		      "may know");
		mend(f, "ssh: {sudo: yes} in the matrix, or an IOMMU");
	} else if (x->cfg->hugepages == HUGE_NO) {
		found(f, HEALTH_BLOCKER, "without an IOMMU the device needs hugepages");
		mend(f, "hugepages: yes in the matrix, or an IOMMU");
	} else {
		found(f, HEALTH_OK, "the device works by physical addresses, as root");
	}
}

void probe_lockdown(const struct exam *x, struct finding *f)
{
	const char *text = fact(x->facts, "sys/kernel/security/lockdown");
	const char *boot = fact(x->facts, "cmd/secureboot");
	char mode[32];

	if (!exam_is_pci(x))
		return;
	const char *open = text != NULL ? strchr(text, '[') : NULL;
	if (open == NULL || sscanf(open, "[%30[a-z]]", mode) != 1 || !is_there(x)) {
		found(f, HEALTH_UNKNOWN, "whether the kernel is locked down is not known");
		return;
	}
	bool secure = boot != NULL && strchr(boot, '1') != NULL;
	if (strcmp(mode, "none") == 0 || is_shared(x) || !is_unsafe(x)) {
		found(f, HEALTH_OK, "lockdown is %s%s, which the device does not mind", mode,
		      secure ? " with secure boot" : "");
		return;
	}
	found(f, HEALTH_BLOCKER,
	      "the kernel is locked down (%s%s): no device without an IOMMU, no igb_uio", mode,
	      secure ? ", secure boot" : "");
	mend(f, "an IOMMU and vfio-pci; or secure boot off");
}

void probe_pcie(const struct exam *x, struct finding *f)
{
	const char *pci = exam_pci(x);
	const char *speed = fact(x->facts, PCI "current_link_speed", pci);
	const char *speed_max = fact(x->facts, PCI "max_link_speed", pci);
	uint64_t width, width_max;
	double now, best;

	if (pci[0] == '\0' && !exam_is_pci(x))
		return;
	if (speed == NULL || speed_max == NULL || sscanf(speed, "%lf GT/s", &now) != 1 ||
	    sscanf(speed_max, "%lf GT/s", &best) != 1 ||
	    !fact_u64(x->facts, &width, PCI "current_link_width", pci) ||
	    !fact_u64(x->facts, &width_max, PCI "max_link_width", pci)) {
		found(f, HEALTH_UNKNOWN, "the PCIe link is not known");
	} else if (now < best || width < width_max) {
		found(f, HEALTH_WARNING,
		      "the PCIe link runs at %g GT/s x%llu, the device can %g GT/s x%llu", now,
		      (unsigned long long)width, best, (unsigned long long)width_max);
		mend(f, "another slot; the slot's speed in the firmware's set-up");
	} else {
		found(f, HEALTH_OK, "the PCIe link runs at %g GT/s x%llu, its best", now,
		      (unsigned long long)width);
	}
}

#include "probes.h"

#include "capability.h"
#include "parse.h"

#include <linux/capability.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NET "sys/class/net/%s/"

static bool is_there(const struct exam *x)
{
	return fact(x->facts, NET "flags", exam_iface(x)) != NULL;
}

void probe_rights(const struct exam *x, struct finding *f)
{
	uint64_t have, want = x->profile->capabilities, lacks;
	char words[160];

	if (want == 0)
		return; // of a device on PCI: vfio and iova
	if (!exam_capabilities(x, &have)) {
		found(f, HEALTH_UNKNOWN, "the capabilities of the log-in are not known");
		return;
	}
	lacks = want & ~have;
	// before 5.8 there was no CAP_BPF, and CAP_SYS_ADMIN still stands for it
	if (have >> CAP_SYS_ADMIN & 1)
		lacks &= ~(UINT64_C(1) << CAP_BPF);
	if (lacks == 0) {
		found(f, HEALTH_OK, "%s has %s", exam_user(x),
		      capability_str(want, words, sizeof(words)));
		return;
	}
	found(f, HEALTH_BLOCKER, "%s lacks %s", exam_user(x),
	      capability_str(lacks, words, sizeof(words)));
	mend(f, exam_local(x) ? "run pmx as root"
			      : "ssh: {sudo: yes} in the matrix, or log in as root");
}

// The interface that has an address, of `ip -o addr`: "2: eth0    inet 192.0.2.1/24 ...".
static bool holder_of(const char *addr, const char *ip, char *name, size_t size)
{
	size_t n = strlen(ip);

	for (const char *p = addr; p != NULL && *p != '\0'; p = strchr(p, '\n')) {
		char iface[32], at[128];

		p += *p == '\n';
		if (sscanf(p, "%*d: %31s inet%*[6 ]%127s", iface, at) != 2)
			continue;
		iface[strcspn(iface, "@")] = '\0';
		if (strncmp(at, ip, n) == 0 && (at[n] == '/' || at[n] == '\0')) {
			snprintf(name, size, "%s", iface);
			return true;
		}
	}
	return false;
}

// Whether an interface is the device, or stands on it (VLAN, bond, bridge).
static bool is_on(const struct exam *x, const char *name)
{
	const char *device = exam_iface(x);
	const char *master = fact(x->facts, NET "master", device);

	if (master != NULL && strrchr(master, '/') != NULL)
		master = strrchr(master, '/') + 1;
	return strcmp(name, device) == 0 || fact(x->facts, NET "upper_%s", device, name) != NULL ||
	       (master != NULL && strcmp(name, master) == 0);
}

static bool default_route(const struct exam *x, char *name)
{
	const char *route = fact(x->facts, "cmd/route");
	const char *dev = route != NULL ? strstr(route, " dev ") : NULL;

	return dev != NULL && sscanf(dev, " dev %31s", name) == 1;
}

void probe_management(const struct exam *x, struct finding *f)
{
	const char *ssh = fact(x->facts, "cmd/ssh"), *addr = fact(x->facts, "cmd/addr");
	char server[128], name[32] = "", route[32] = "";

	if (!exam_has_iface(x))
		return; // a device that is handed over carries no log-in
	if (ssh == NULL || addr == NULL || !is_there(x)) {
		found(f, HEALTH_UNKNOWN, "what interface the log-in comes by is not known");
		return;
	}
	bool by_ssh = sscanf(ssh, "%*s %*s %127s", server) == 1;
	if (by_ssh) {
		server[strcspn(server, "%")] = '\0';
		if (!holder_of(addr, server, name, sizeof(name))) {
			found(f, HEALTH_UNKNOWN, "no interface has the address %s of the log-in",
			      server);
			return;
		}
	}
	if (by_ssh && is_on(x, name)) {
		found(f, HEALTH_BLOCKER, "the log-in comes by %s, the device under test", name);
		mend(f, "device: another port in the matrix, or another management address");
	} else if (default_route(x, route) && is_on(x, route)) {
		found(f, HEALTH_WARNING, "the default route goes by %s, the device under test",
		      route);
		mend(f, "device: another port in the matrix; or ip route del default dev %s",
		     route);
	} else {
		found(f, HEALTH_OK, "%s is not the way in%s%s", exam_iface(x),
		      by_ssh ? ", which is " : "", name);
	}
}

void probe_link(const struct exam *x, struct finding *f)
{
	const char *name = exam_iface(x), *flags = fact(x->facts, NET "flags", name);
	uint64_t carrier;

	if (!exam_has_iface(x) && !exam_is_pci(x))
		return;
	if (flags == NULL) {
		found(f, HEALTH_UNKNOWN, "the kernel does not see the device's link");
	} else if (!exam_is_pci(x) && !(strtoul(flags, NULL, 16) & IFF_UP)) {
		found(f, HEALTH_BLOCKER, "%s is down", name);
		mend(f, "ip link set dev %s up", name);
	} else if (!fact_u64(x->facts, &carrier, NET "carrier", name)) {
		found(f, HEALTH_UNKNOWN, "whether %s has a link is not known", name);
	} else if (carrier == 0) {
		found(f, HEALTH_BLOCKER, "%s has no link", name);
		mend(f, "cable, transceiver, switch port: ethtool %s", name);
	} else {
		found(f, HEALTH_OK, "%s has a link", name);
	}
}

// What the profile says of the device's model, else of all of them; <= 0 = nothing.
static double rated_gbps(const struct exam *x)
{
	const char *vendor = fact(x->facts, "sys/bus/pci/devices/%s/vendor", exam_pci(x));
	const char *device = fact(x->facts, "sys/bus/pci/devices/%s/device", exam_pci(x));
	uint32_t id = 0;

	if (vendor != NULL && device != NULL)
		id = (uint32_t)(strtoul(vendor, NULL, 16) << 16 | strtoul(device, NULL, 16));
	for (size_t i = 0; i < PROFILE_MODELS_MAX && id != 0; i++)
		for (size_t j = 0; j < 4 && x->profile->model[i].name[0] != '\0'; j++)
			if (x->profile->model[i].id[j] == id)
				return x->profile->model[i].speed_gbps;
	return x->profile->speed_gbps;
}

void probe_speed(const struct exam *x, struct finding *f)
{
	int64_t mbps;
	double said = x->matrix->host[x->host].speed_gbps, want = rated_gbps(x);

	if (!exam_has_iface(x) && !exam_is_pci(x))
		return;
	if (!fact_i64(x->facts, &mbps, NET "speed", exam_iface(x)) || mbps <= 0) {
		found(f, HEALTH_UNKNOWN, "the link's speed is not known");
	} else if (said > 0 && (double)mbps != said * 1000) {
		found(f, HEALTH_WARNING,
		      "the link runs at %g Gb/s, the matrix says %g: a rate in %% of the line is "
		      "of "
		      "that",
		      (double)mbps / 1000, said);
		mend(f, "speed_gbps: %g in the matrix, or the speed: ethtool -s %s autoneg on",
		     (double)mbps / 1000, exam_iface(x));
	} else if (said <= 0 && want > 0 && (double)mbps < want * 1000) {
		found(f, HEALTH_WARNING, "the link runs at %g Gb/s, the profile says %g",
		      (double)mbps / 1000, want);
		mend(f, "the other end's speed; ethtool -s %s autoneg on", exam_iface(x));
	} else {
		found(f, HEALTH_OK, "the link runs at %g Gb/s", (double)mbps / 1000);
	}
}

void probe_mtu(const struct exam *x, struct finding *f)
{
	const char *name = exam_iface(x);
	unsigned want = x->cfg->port.mtu;
	uint64_t mtu;

	if (!exam_on_iface(x))
		return; // the agent sets the port's
	if (!fact_u64(x->facts, &mtu, NET "mtu", name)) {
		found(f, HEALTH_UNKNOWN, "the interface's MTU is not known");
	} else if (mtu < want) {
		found(f, HEALTH_BLOCKER, "%s has an MTU of %llu, the matrix takes %u", name,
		      (unsigned long long)mtu, want);
		mend(f, "ip link set dev %s mtu %u; or mtu: %llu in the matrix", name, want,
		     (unsigned long long)mtu);
	} else if (x->profile->all_queues && mtu > x->profile->mtu_max) {
		found(f, HEALTH_WARNING,
		      "%s has an MTU of %llu: XDP takes %u at most, by the fast way", name,
		      (unsigned long long)mtu, x->profile->mtu_max);
		mend(f, "ip link set dev %s mtu %u", name, x->profile->mtu_max);
	} else {
		found(f, HEALTH_OK, "%s has an MTU of %llu, the matrix takes %u", name,
		      (unsigned long long)mtu, want);
	}
}

// The kernel would answer too: ARP by its own MAC, UDP by ICMP.
void probe_address(const struct exam *x, struct finding *f)
{
	const char *addr = fact(x->facts, "cmd/addr");
	char ip[IP_STR_MAX], name[32];

	if (addr == NULL) {
		found(f, HEALTH_UNKNOWN, "the kernel's own addresses are not known");
		return;
	}
	ip_str(&x->cfg->addr, ip, sizeof(ip));
	if (!holder_of(addr, ip, name, sizeof(name))) {
		found(f, HEALTH_OK, "the kernel does not have the data address %s", ip);
		return;
	}
	found(f, HEALTH_WARNING,
	      "the kernel has the data address %s on %s: it answers too, by ARP and ICMP", ip,
	      name);
	mend(f, "ip addr del %s/%u dev %s", ip, x->cfg->prefix_len, name);
}

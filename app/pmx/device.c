#include "device.h"

#include "template.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

// What a ring's slot holds besides the MTU's bytes: the Ethernet header, and the 66 bytes that
// TPACKET_V2 keeps before it (net_af_packet drops in silence what does not fit).
#define SLOT_EXTRA_BYTES (14 + 66)
#define SLOT_ALIGN 1024
#define SLOTS_PER_BLOCK 4

enum var {
	VAR_IFACE,
	VAR_DEVICE,
	VAR_QUEUES,
	VAR_RXD,
	VAR_TXD,
	VAR_MTU,
	VAR_SLOT,
	VAR_BLOCK,
	VAR_DIR,
	VAR_ROLE,
	VARS,
};

// clang-format off
static const char *const var_name[VARS] = {
	[VAR_IFACE] = "iface",
	[VAR_DEVICE] = "device",
	[VAR_QUEUES] = "queues",
	[VAR_RXD] = "rxd",
	[VAR_TXD] = "txd",
	[VAR_MTU] = "mtu",
	[VAR_SLOT] = "slot",
	[VAR_BLOCK] = "block",
	[VAR_DIR] = "dir",
	[VAR_ROLE] = "role",
};
// clang-format on

int device_template_check(const char *text, struct err *e)
{
	struct template_var var[VARS];
	char out[8 * DEVICE_MAX_BYTES];

	for (size_t i = 0; i < VARS; i++)
		var[i] = (struct template_var){ .name = var_name[i], .value = "" };
	return template_expand(text, var, VARS, out, sizeof(out), e);
}

static const char *other_role(const char *role)
{
	return strcmp(role, "server") == 0 ? "client" : "server";
}

static bool is_made(const struct matrix_host *h, const struct profile *p)
{
	return p->virtual && device_kind(h->device) != DEVICE_VDEV;
}

// What the host or its driver says of the role, "" when neither does.
static const char *own_role(const struct matrix_host *h, const struct profile *p)
{
	return p->role[0] != '\0' ? p->role : h->role;
}

static int cable_role(const struct matrix *m, const struct profile *profile, size_t host,
		      const char **role, struct err *e)
{
	const struct matrix_host *h = &m->host[host];
	const struct profile *p = &profile[host];
	size_t other = 1 - host;

	if (m->transport != TRANSPORT_LOCAL || m->host_count != 2)
		return pos_fail(
			m->file, h->at.driver, e,
			"driver '%s': a cable between two agents on one machine: expected "
			"'transport: local' and two hosts, or a vdev written out in 'device:'",
			p->name);
	if (strcmp(profile[other].name, p->peer) != 0)
		return pos_fail(
			m->file, h->at.driver, e,
			"driver '%s': its other end is '%s': expected 'driver: %s' for host "
			"'%s'",
			p->name, p->peer, p->peer, m->host[other].name);
	if (p->role[0] != '\0' && h->role[0] != '\0' && strcmp(p->role, h->role) != 0)
		return pos_fail(m->file, h->at.role, e, "role '%s': driver '%s' is always the %s",
				h->role, p->name, p->role);

	const char *mine = own_role(h, p), *theirs = own_role(&m->host[other], &profile[other]);
	if (mine[0] != '\0' && strcmp(mine, theirs) == 0)
		return pos_fail(
			m->file, h->at.role, e,
			"role '%s': host '%s' has it too: expected one server and one client", mine,
			m->host[other].name);
	// what is sent on a queue that has none at the other end is lost, or waits for ever
	if (h->queues != m->host[other].queues)
		return pos_fail(m->file, h->at.queues, e,
				"queues %u: host '%s' at the other end has %u: expected as many",
				h->queues, m->host[other].name, m->host[other].queues);
	if (mine[0] == '\0')
		mine = theirs[0] != '\0' ? other_role(theirs) : host == 0 ? "server" : "client";
	*role = mine;
	return 0;
}

int device_role(const struct matrix *m, const struct profile *profile, size_t host,
		const char **role, struct err *e)
{
	const struct matrix_host *h = &m->host[host];
	const struct profile *p = &profile[host];

	if (p->peer[0] != '\0' && is_made(h, p))
		return cable_role(m, profile, host, role, e);
	if (p->peer[0] == '\0' && h->role[0] != '\0')
		return pos_fail(m->file, h->at.role, e,
				"role '%s': driver '%s' has no server and client: remove it",
				h->role, p->name);
	// a vdev as written may say it itself
	*role = h->role[0] != '\0'			    ? h->role
		: strstr(h->device, ",role=client") != NULL ? "client"
		: strstr(h->device, ",role=server") != NULL ? "server"
							    : "";
	return 0;
}

static int kind_check(const struct matrix *m, const struct profile *p, const struct matrix_host *h,
		      struct err *e)
{
	enum device_kind kind = device_kind(h->device);
	bool wants_iface = profile_wants_iface(p);
	struct pos pos = h->at.device.line != 0 ? h->at.device : h->at.driver;

	if (kind == DEVICE_NONE && profile_needs_device(p))
		return pos_fail(m->file, h->pos, e,
				"host '%s': device is missing: driver '%s' needs %s", h->name,
				p->name,
				p->virtual ? "a kernel interface, as 'device: eth1'"
					   : "a PCI address, as 'device: 0000:3b:00.0'");
	// an interface or a subnet is looked up on the host before the launch
	if (!p->virtual && kind == DEVICE_VDEV)
		return pos_fail(
			m->file, pos, e,
			"device '%s': driver '%s' is for a device on PCI: expected its address, "
			"as 0000:3b:00.0, or its interface",
			h->device, p->name);
	if (p->virtual && kind == DEVICE_VDEV && strncmp(h->device, p->pmd, strlen(p->pmd)) != 0)
		return pos_fail(
			m->file, pos, e,
			"device '%s': driver '%s' is for %s: expected a name that begins so",
			h->device, p->name, p->pmd);
	if (!p->virtual || kind == DEVICE_VDEV)
		return 0;
	if (wants_iface && kind != DEVICE_IFACE && kind != DEVICE_NET)
		return pos_fail(
			m->file, pos, e,
			"device '%s': driver '%s' sits on a kernel interface: expected its name, "
			"as eth1",
			h->device, p->name);
	if (!wants_iface && kind != DEVICE_NONE)
		return pos_fail(
			m->file, pos, e,
			"device '%s': driver '%s' makes its own: remove it, or write the vdev "
			"out (%s0,...)",
			h->device, p->name, p->pmd);
	return 0;
}

struct numbers {
	char queues[8], rxd[8], txd[8], mtu[8], slot[16], block[16];
};

static void numbers_fill(const struct hostcfg *c, struct numbers *n)
{
	unsigned slot = (c->port.mtu + SLOT_EXTRA_BYTES + SLOT_ALIGN - 1) / SLOT_ALIGN * SLOT_ALIGN;

	snprintf(n->queues, sizeof(n->queues), "%u", c->port.queues);
	snprintf(n->rxd, sizeof(n->rxd), "%u", c->port.rxd);
	snprintf(n->txd, sizeof(n->txd), "%u", c->port.txd);
	snprintf(n->mtu, sizeof(n->mtu), "%u", c->port.mtu);
	snprintf(n->slot, sizeof(n->slot), "%u", slot);
	snprintf(n->block, sizeof(n->block), "%u", slot * SLOTS_PER_BLOCK);
}

static int unlink_fill(const struct matrix *m, const struct profile *p, const struct matrix_host *h,
		       const char *role, const struct template_var *var, struct hostcfg *c,
		       struct err *e)
{
	char path[DEVICE_MAX_BYTES];

	if (p->unlink[0] == '\0')
		return 0;
	if (template_expand(p->unlink, var, VARS, path, sizeof(path), e) < 0)
		return e == NULL ? -EINVAL : err_wrap(e, "profile %s: unlink", p->name);
	if (strlen(path) > SOCKET_NAME_MAX)
		return pos_fail(
			m->file, h->pos, e,
			"remote_dir '%s': %zu characters too long for the socket of host '%s'",
			m->remote_dir, strlen(path) - SOCKET_NAME_MAX, h->name);
	if (strcmp(role, "server") == 0)
		memcpy(c->port.unlink_path, path, sizeof(path));
	return 0;
}

int device_resolve(const struct matrix *m, const struct profile *p, size_t host, const char *role,
		   struct hostcfg *c, struct err *e)
{
	const struct matrix_host *h = &m->host[host];
	bool as_written = device_kind(h->device) == DEVICE_VDEV || p->devargs[0] == '\0';
	struct numbers n;
	int ret = kind_check(m, p, h, e);

	if (ret < 0)
		return ret;
	c->port.restart_until_link = p->restart_until_link && strcmp(role, "client") == 0;
	char *device = p->virtual ? c->port.vdev : c->port.pci;
	if (as_written) {
		snprintf(device, sizeof(c->port.vdev), "%s", h->device);
		return 0;
	}

	numbers_fill(c, &n);
	const struct template_var var[VARS] = {
		[VAR_IFACE] = { var_name[VAR_IFACE], h->device },
		[VAR_DEVICE] = { var_name[VAR_DEVICE], h->device },
		[VAR_QUEUES] = { var_name[VAR_QUEUES], n.queues },
		[VAR_RXD] = { var_name[VAR_RXD], n.rxd },
		[VAR_TXD] = { var_name[VAR_TXD], n.txd },
		[VAR_MTU] = { var_name[VAR_MTU], n.mtu },
		[VAR_SLOT] = { var_name[VAR_SLOT], n.slot },
		[VAR_BLOCK] = { var_name[VAR_BLOCK], n.block },
		[VAR_DIR] = { var_name[VAR_DIR], m->remote_dir },
		[VAR_ROLE] = { var_name[VAR_ROLE], role[0] != '\0' ? role : NULL },
	};
	if (template_expand(p->devargs, var, VARS, device, sizeof(c->port.vdev), e) < 0)
		return e == NULL ? -EINVAL
				 : err_wrap(e, "%s:%d:%d: host '%s', profile %s: devargs", m->file,
					    h->pos.line, h->pos.col, h->name, p->name);
	return unlink_fill(m, p, h, role, var, c, e);
}

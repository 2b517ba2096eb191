// The hosts of a matrix, and the defaults they start from.
#include "matrix_frame.h"
#include "matrix_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SSH_PORT_MAX 65535
#define IFACE_NAME_MAX 15 // IFNAMSIZ less its NUL

bool name_ok(const char *s, const char *also)
{
	if (s[0] == '\0' || s[0] == '-' || s[0] == '.')
		return false;
	for (; *s != '\0'; s++)
		if (!((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') ||
		      (*s >= '0' && *s <= '9') || strchr(also, *s) != NULL))
			return false;
	return true;
}

// Copies a word of the given shape into buf; `form` says which one.
static int word_copy(const struct yaml_doc *d, const struct yaml_item *v, const char *key,
		     const char *also, const char *form, char *buf, size_t size, struct err *e)
{
	char show[96];
	int ret = yaml_want_text(d, v, key, form, e);

	if (ret < 0)
		return ret;
	if (!name_ok(v->text, also) || strlen(v->text) >= size)
		return pos_fail(d->file, v->pos, e, "%s %s: expected %s, at most %zu characters",
				key, yaml_show(v, show, sizeof(show)), form, size - 1);
	memcpy(buf, v->text, strlen(v->text) + 1);
	return 0;
}

static const char *hex_skip(const char *s, size_t min, size_t max)
{
	size_t n = s == NULL ? 0 : strspn(s, "0123456789abcdefABCDEF");

	return n >= min && n <= max ? s + n : NULL;
}

static bool is_pci(const char *s)
{
	const char *domain = hex_skip(s, 4, 8);

	if (domain != NULL && *domain == ':')
		s = domain + 1;
	s = hex_skip(s, 2, 2);
	s = s != NULL && *s == ':' ? hex_skip(s + 1, 2, 2) : NULL;
	s = s != NULL && *s == '.' ? hex_skip(s + 1, 1, 1) : NULL;
	return s != NULL && (*s == '\0' || *s == ',');
}

static bool is_net(const char *s)
{
	struct ip_addr addr;
	unsigned prefix_len;

	return parse_ip_prefix(s, &addr, &prefix_len, NULL) == 0;
}

enum device_kind device_kind(const char *device)
{
	if (device[0] == '\0')
		return DEVICE_NONE;
	// what goes into EAL's options and, for interfaces, into a template of them
	if (!name_ok(device, "_-.:,=/@+[]"))
		return DEVICE_BAD;
	if (strncmp(device, "net_", 4) == 0 && device[4] != '\0')
		return DEVICE_VDEV;
	if (is_pci(device))
		return DEVICE_PCI;
	if (strchr(device, '/') != NULL)
		return is_net(device) ? DEVICE_NET : DEVICE_BAD;
	return name_ok(device, "_-.@+") && strlen(device) <= IFACE_NAME_MAX ? DEVICE_IFACE
									    : DEVICE_BAD;
}

bool host_name_ok(const char *s)
{
	return name_ok(s, "._-") && strlen(s) < NAME_MAX_BYTES;
}

bool ssh_target_ok(const char *s)
{
	const char *at = strrchr(s, '@'), *host = at == NULL ? s : at + 1;
	const char *colon = strrchr(host, ':'), *close = strrchr(host, ']');
	uint64_t port;

	if (s[0] == '-' || at == s || host[0] == '\0' || host[0] == '-' || host[0] == ':')
		return false;
	for (const char *p = s; *p != '\0'; p++)
		if ((unsigned char)*p <= ' ' || *p == 0x7f || strchr("'\"\\`$;&|<>()", *p) != NULL)
			return false;
	if ((host[0] == '[') != (close != NULL))
		return false;
	if (close != NULL)
		return close[1] == '\0' ||
		       (close[1] == ':' && parse_u64(close + 2, 1, SSH_PORT_MAX, &port, NULL) == 0);
	// more than one colon without brackets is a bare IPv6 address
	return colon == NULL || strchr(host, ':') != colon ||
	       parse_u64(colon + 1, 1, SSH_PORT_MAX, &port, NULL) == 0;
}

static int set_ssh(const struct yaml_doc *d, const struct yaml_item *v, void *obj, struct err *e)
{
	static const char form[] = "[user@]address[:port]";
	struct matrix_host *h = obj;
	char show[96];
	int ret = yaml_want_text(d, v, "ssh", form, e);

	if (ret < 0)
		return ret;
	if (!ssh_target_ok(v->text) || strlen(v->text) >= sizeof(h->ssh))
		return pos_fail(d->file, v->pos, e, "ssh %s: expected %s",
				yaml_show(v, show, sizeof(show)), form);
	memcpy(h->ssh, v->text, strlen(v->text) + 1);
	return 0;
}

int role_read(const struct yaml_doc *d, const struct yaml_item *v, char *role, size_t size,
	      struct err *e)
{
	char show[96];
	int ret = yaml_want_text(d, v, "role", "server or client", e);

	if (ret < 0)
		return ret;
	if (strcmp(v->text, "server") != 0 && strcmp(v->text, "client") != 0)
		return pos_fail(d->file, v->pos, e, "role %s: expected server or client",
				yaml_show(v, show, sizeof(show)));
	snprintf(role, size, "%s", v->text);
	return 0;
}

static int set_role(const struct yaml_doc *d, const struct yaml_item *v, void *obj, struct err *e)
{
	struct matrix_host *h = obj;

	return role_read(d, v, h->role, sizeof(h->role), e);
}

static int set_addr(const struct yaml_doc *d, const struct yaml_item *v, void *obj, struct err *e)
{
	struct matrix_host *h = obj;
	int ret = yaml_want_text(d, v, "addr", "an address and prefix, as 198.18.0.1/24", e);

	if (ret < 0)
		return ret;
	if (parse_ip_prefix(v->text, &h->addr, &h->prefix_len, e) < 0)
		return yaml_wrap(d, v->pos, "addr", e);
	if (!addr_is_unicast(&h->addr))
		return pos_fail(d->file, v->pos, e,
				"addr '%s': not an address of a host: expected a unicast one, as "
				"198.18.0.1/24",
				v->text);
	const char *whose = addr_subnet_end(&h->addr, h->prefix_len);
	if (whose != NULL)
		return pos_fail(d->file, v->pos, e,
				"addr '%s': the %s address of its subnet: expected a host's",
				v->text, whose);
	return 0;
}

static int set_addrs(const struct yaml_doc *d, const struct yaml_item *v, void *obj, struct err *e)
{
	return addrs_read(d, v, obj, e);
}

static int set_gateway(const struct yaml_doc *d, const struct yaml_item *v, void *obj,
		       struct err *e)
{
	struct matrix_host *h = obj;
	int ret = yaml_want_text(d, v, "gateway", "an address, as 198.18.0.254", e);

	if (ret < 0)
		return ret;
	return parse_ip(v->text, &h->gateway, e) < 0 ? yaml_wrap(d, v->pos, "gateway", e) : 0;
}

static int set_vlan(const struct yaml_doc *d, const struct yaml_item *v, void *obj, struct err *e)
{
	return vlan_read(d, v, obj, e);
}

static int set_lcores(const struct yaml_doc *d, const struct yaml_item *v, void *obj, struct err *e)
{
	struct matrix_host *h = obj;
	int ret = yaml_want_text(d, v, "lcores", "CPU numbers and ranges, as 2-5,8", e);

	if (ret < 0)
		return ret;
	if (parse_cpulist(v->text, h->lcores, LCORES_MAX, &h->lcore_count, e) < 0)
		return yaml_wrap(d, v->pos, "lcores", e);
	return 0;
}

static int set_driver(const struct yaml_doc *d, const struct yaml_item *v, void *obj, struct err *e)
{
	struct matrix_host *h = obj;

	return word_copy(d, v, "driver", "_-", "a profile of drivers-config, as af_packet",
			 h->driver, sizeof(h->driver), e);
}

static int set_device(const struct yaml_doc *d, const struct yaml_item *v, void *obj, struct err *e)
{
	static const char form[] =
		"a PCI address (0000:3b:00.0), a kernel interface, a data subnet "
		"(198.18.0.0/24) or a DPDK vdev (net_...)";
	struct matrix_host *h = obj;
	uint8_t mac[6];
	char show[96];
	int ret = yaml_want_text(d, v, "device", form, e);

	if (ret < 0)
		return ret;
	if (parse_mac(v->text, mac, NULL) == 0)
		return pos_fail(d->file, v->pos, e, "device '%s': a MAC address: expected %s",
				v->text, form);
	if (device_kind(v->text) == DEVICE_BAD || strlen(v->text) >= sizeof(h->device))
		return pos_fail(d->file, v->pos, e,
				"device %s: expected %s, at most %zu characters",
				yaml_show(v, show, sizeof(show)), form, sizeof(h->device) - 1);
	memcpy(h->device, v->text, strlen(v->text) + 1);
	return 0;
}

struct host_draft {
	struct matrix_host h; // first: the rows of host_key are of it
	const struct yaml_item *ports;
	struct pos ports_at;
};

// The first rows: what belongs to a machine, and what no two ports share.
#define MACHINE_KEYS 2
#define OWN_KEYS 5
#define HOST_AT(field) offsetof(struct matrix_host, at.field)
// clang-format off
static const struct yaml_key host_key[] = {
	{ .name = "ports", .type = YAML_TYPE_ITEM, YAML_FIELD(struct host_draft, ports),
	  .pos = offsetof(struct host_draft, ports_at) },
	{ .name = "ssh", .type = YAML_TYPE_CALL, .set = set_ssh, .pos = HOST_AT(ssh) },
	{ .name = "addr", .type = YAML_TYPE_CALL, .set = set_addr, .pos = HOST_AT(addr) },
	{ .name = "addrs", .type = YAML_TYPE_CALL, .set = set_addrs, .pos = HOST_AT(addrs) },
	{ .name = "role", .type = YAML_TYPE_CALL, .set = set_role, .pos = HOST_AT(role) },
	{ .name = "device", .type = YAML_TYPE_CALL, .set = set_device, .pos = HOST_AT(device) },
	{ .name = "driver", .type = YAML_TYPE_CALL, .set = set_driver, .pos = HOST_AT(driver) },
	{ .name = "gateway", .type = YAML_TYPE_CALL, .set = set_gateway, .pos = HOST_AT(gateway) },
	{ .name = "vlan", .type = YAML_TYPE_CALL, .set = set_vlan, .pos = HOST_AT(vlan) },
	{ .name = "pcp", .type = YAML_TYPE_UINT, YAML_FIELD(struct matrix_host, pcp),
	  .max = PCP_MAX, .pos = HOST_AT(pcp) },
	{ .name = "speed_gbps", .type = YAML_TYPE_REAL, YAML_FIELD(struct matrix_host, speed_gbps),
	  .max = 100000 },
	{ .name = "queues", .type = YAML_TYPE_UINT, YAML_FIELD(struct matrix_host, queues),
	  .min = 1, .max = LCORES_MAX, .pos = HOST_AT(queues) },
	{ .name = "lcores", .type = YAML_TYPE_CALL, .set = set_lcores, .pos = HOST_AT(lcores) },
	{ .name = "mtu", .type = YAML_TYPE_UINT, YAML_FIELD(struct matrix_host, mtu),
	  .min = 68, .max = UINT16_MAX, .pos = HOST_AT(mtu) },
	{ .name = "hugepages", .type = YAML_TYPE_WORD, YAML_FIELD(struct matrix_host, hugepages),
	  .words = huge_policy_name, .word_count = HUGE_POLICIES },
	{ .name = "idle", .type = YAML_TYPE_WORD, YAML_FIELD(struct matrix_host, idle),
	  .words = idle_policy_name, .word_count = IDLE_POLICIES, .pos = HOST_AT(idle) },
};
// clang-format on
static const struct yaml_table host_table = YAML_TABLE("host", host_key);
static const struct yaml_table port_table = {
	.what = "port",
	.key = host_key + MACHINE_KEYS,
	.count = sizeof(host_key) / sizeof(host_key[0]) - MACHINE_KEYS,
};
static const struct yaml_table defaults_table = {
	.what = "defaults",
	.key = host_key + OWN_KEYS,
	.count = sizeof(host_key) / sizeof(host_key[0]) - OWN_KEYS,
};

// The data port that a host or one of its ports is.
static int host_check(const struct yaml_doc *d, struct matrix_host *h, struct err *e)
{
	if (h->at.addr.line == 0)
		return pos_fail(d->file, h->pos, e,
				"host '%s': addr is missing: expected its data address, as "
				"'addr: 198.18.0.1/24'",
				h->name);
	if (h->device[0] == '\0' && h->driver[0] == '\0')
		return pos_fail(
			d->file, h->pos, e,
			"host '%s': device is missing: expected 'device:' with a PCI address, "
			"a kernel interface or a DPDK vdev",
			h->name);
	if (!ip_none(&h->gateway) &&
	    (ip_eq(&h->gateway, &h->addr) || !ip_same_net(&h->gateway, &h->addr, h->prefix_len))) {
		char gateway[IP_STR_MAX], addr[IP_STR_MAX];

		ip_str(&h->gateway, gateway, sizeof(gateway));
		ip_str(&h->addr, addr, sizeof(addr));
		return pos_fail(
			d->file, h->at.gateway, e,
			"gateway '%s': expected another address in %s/%u, the subnet of host "
			"'%s'",
			gateway, addr, h->prefix_len, h->name);
	}
	int ret = addrs_settle(d, h, e);
	if (ret < 0)
		return ret;
	if (h->at.pcp.line != 0 && h->vlan_count == 0)
		return pos_fail(
			d->file, h->at.pcp, e,
			"pcp %u: host '%s' has no tag to say it in: expected 'vlan:' with it",
			h->pcp, h->name);
	if (h->lcore_count != 0 && h->lcore_count != h->queues)
		return pos_fail(d->file, h->at.lcores, e,
				"lcores: %zu CPUs for %u queues of host '%s': expected one each",
				h->lcore_count, h->queues, h->name);
	return 0;
}

// One endpoint, of what its machine says and, for one of several ports, its own mapping.
static int endpoint_add(const struct yaml_doc *d, struct draft *draft,
			const struct host_draft *machine, const struct yaml_item *port,
			struct err *e)
{
	struct matrix *m = &draft->m;
	struct matrix_host *h, *grown;

	if (m->host_count == HOSTS_MAX)
		return pos_fail(d->file, draft->hosts->pos, e,
				"hosts: more than %d with their ports: expected 2 to %d", HOSTS_MAX,
				HOSTS_MAX);
	grown = reallocarray(m->host, m->host_count + 1, sizeof(*grown));
	if (grown == NULL)
		return err_set(e, ENOMEM, "%s: out of memory", d->file);
	m->host = grown;
	h = &m->host[m->host_count++];
	*h = machine->h;
	if (port != NULL) {
		char name[NAME_MAX_BYTES];
		int ret = word_copy(d, port, "port", "_-", PORT_NAME_FORM, name, sizeof(name), e);

		if (ret < 0)
			return ret;
		if (strlen(h->machine) + 1 + strlen(name) >= sizeof(h->name))
			return pos_fail(d->file, port->pos, e,
					"port '%s': '%s.%s' is too long: expected at most %zu "
					"characters",
					name, h->machine, name, sizeof(h->name) - 1);
		strcat(strcat(h->name, "."), name);
		h->pos = port->pos;
		if (!yaml_blank(port->next))
			ret = yaml_map_read(d, port->next, &port_table, h, e);
		if (ret < 0)
			return ret;
	}
	h->idle_set = h->at.idle.line != 0;
	return host_check(d, h, e);
}

static int ports_add(const struct yaml_doc *d, struct draft *draft, struct host_draft *machine,
		     struct err *e)
{
	const struct yaml_item *ports = machine->ports;
	char show[96];

	if (ports->kind != YAML_MAP || ports->count == 0)
		return pos_fail(d->file, ports->pos, e,
				"ports: %s given: expected a mapping, as 'p0: {addr: "
				"198.18.0.1/24, device: eth1}'",
				ports->kind == YAML_MAP ? "none"
							: yaml_show(ports, show, sizeof(show)));
	if (machine->h.at.addr.line != 0)
		return pos_fail(d->file, machine->h.at.addr, e,
				"addr: host '%s' has ports: expected each to have its own",
				machine->h.name);
	machine->h.ports = (uint32_t)ports->count;
	for (const struct yaml_item *key = ports->child; key != NULL; key = key->next->next) {
		int ret = endpoint_add(d, draft, machine, key, e);

		if (ret < 0)
			return ret;
	}
	return 0;
}

static int host_read(const struct yaml_doc *d, struct draft *draft,
		     const struct matrix_host *defaults, const struct yaml_item *key, struct err *e)
{
	struct host_draft machine = { .h = *defaults };
	struct matrix_host *h = &machine.h;
	int ret = word_copy(d, key, "host", "._-", HOST_NAME_FORM, h->name, sizeof(h->name), e);

	if (ret < 0)
		return ret;
	memcpy(h->machine, h->name, sizeof(h->machine));
	h->machine_at = h->pos = key->pos;
	h->first = (uint32_t)draft->m.host_count;
	h->ports = 1;
	ret = yaml_map_read(d, key->next, &host_table, &machine, e);
	if (ret < 0)
		return ret;
	if (draft->m.transport == TRANSPORT_LOCAL && h->ssh[0] != '\0')
		return pos_fail(d->file, h->at.ssh, e,
				"ssh '%s': transport local starts agents here: remove it, or say "
				"'transport: ssh'",
				h->ssh);
	if (draft->m.transport == TRANSPORT_SSH && h->ssh[0] == '\0') {
		memcpy(h->ssh, h->name, sizeof(h->name));
		h->at.ssh = h->pos;
	}
	return machine.ports != NULL ? ports_add(d, draft, &machine, e)
				     : endpoint_add(d, draft, &machine, NULL, e);
}

int draft_hosts(const struct yaml_doc *d, struct draft *draft, struct err *e)
{
	struct matrix_host defaults = { .queues = 1 };
	struct matrix *m = &draft->m;
	size_t n;
	char show[96];
	int ret;

	if (draft->hosts == NULL)
		return pos_fail(d->file, draft->root, e,
				"hosts is missing: expected 'hosts:' with at least two of them");
	if (draft->hosts->kind != YAML_MAP)
		return pos_fail(
			d->file, draft->hosts->pos, e,
			"hosts: %s given: expected a mapping, as 'a: {addr: 198.18.0.1/24}'",
			yaml_show(draft->hosts, show, sizeof(show)));
	if (draft->defaults != NULL) {
		ret = yaml_map_read(d, draft->defaults, &defaults_table, &defaults, e);
		if (ret < 0)
			return ret;
	}
	for (const struct yaml_item *key = draft->hosts->child; key != NULL;
	     key = key->next->next) {
		ret = host_read(d, draft, &defaults, key, e);
		if (ret < 0)
			return ret;
	}
	n = m->host_count;
	if (n < 2)
		return pos_fail(d->file, draft->hosts->pos, e, "hosts: %zu given: expected 2 to %d",
				n, HOSTS_MAX);
	draft->index = (struct host_index){ .m = m, .order = calloc(n, sizeof(uint32_t)) };
	if (draft->index.order == NULL)
		return err_set(e, ENOMEM, "%s: out of memory", d->file);
	for (size_t i = 0; i < n; i++)
		draft->index.order[i] = (uint32_t)i;
	return draft_twins(d, draft, e);
}

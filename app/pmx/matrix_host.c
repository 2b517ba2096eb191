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

// Neither unspecified, loopback nor multicast; RFC 4291, 2.4.
static bool is_unicast(const struct ip_addr *a)
{
	static const struct ip_addr loopback = { { [15] = 1 } };
	uint32_t four = ip4_of(a);

	if (ip_is4(a))
		return four >> 24 != 0 && four >> 24 != 127 && four >> 28 < 0xe;
	return !ip_none(a) && !ip_eq(a, &loopback) && a->b[0] != 0xff;
}

// The subnet's own addresses: IPv4's network and broadcast, IPv6's of its routers (RFC
// 4291, 2.6.1); point-to-point links have none (RFC 3021, RFC 6164). NULL = a host's.
static const char *subnet_end(const struct ip_addr *a, unsigned prefix_len)
{
	bool zeros = true, ones = true;

	if (prefix_len + 1 >= ip_bits(a))
		return NULL;
	for (unsigned i = prefix_len + 128 - ip_bits(a); i < 128; i++) {
		bool bit = a->b[i / 8] >> (7 - i % 8) & 1;

		zeros = zeros && !bit;
		ones = ones && bit;
	}
	if (zeros)
		return ip_is4(a) ? "network" : "routers'";
	return ones && ip_is4(a) ? "broadcast" : NULL;
}

static int set_addr(const struct yaml_doc *d, const struct yaml_item *v, void *obj, struct err *e)
{
	struct matrix_host *h = obj;
	int ret = yaml_want_text(d, v, "addr", "an address and prefix, as 198.18.0.1/24", e);

	if (ret < 0)
		return ret;
	if (parse_ip_prefix(v->text, &h->addr, &h->prefix_len, e) < 0)
		return yaml_wrap(d, v->pos, "addr", e);
	if (!is_unicast(&h->addr))
		return pos_fail(d->file, v->pos, e,
				"addr '%s': not an address of a host: expected a unicast one, as "
				"198.18.0.1/24",
				v->text);
	const char *whose = subnet_end(&h->addr, h->prefix_len);
	if (whose != NULL)
		return pos_fail(d->file, v->pos, e,
				"addr '%s': the %s address of its subnet: expected a host's",
				v->text, whose);
	return 0;
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

#define OWN_KEYS 3 // the first rows: what no two hosts share
#define HOST_AT(field) offsetof(struct matrix_host, at.field)
// clang-format off
static const struct yaml_key host_key[] = {
	{ .name = "ssh", .type = YAML_TYPE_CALL, .set = set_ssh, .pos = HOST_AT(ssh) },
	{ .name = "addr", .type = YAML_TYPE_CALL, .set = set_addr, .pos = HOST_AT(addr) },
	{ .name = "role", .type = YAML_TYPE_CALL, .set = set_role, .pos = HOST_AT(role) },
	{ .name = "device", .type = YAML_TYPE_CALL, .set = set_device, .pos = HOST_AT(device) },
	{ .name = "driver", .type = YAML_TYPE_CALL, .set = set_driver, .pos = HOST_AT(driver) },
	{ .name = "gateway", .type = YAML_TYPE_CALL, .set = set_gateway, .pos = HOST_AT(gateway) },
	{ .name = "vlan", .type = YAML_TYPE_CALL, .set = set_vlan, .pos = HOST_AT(vlan) },
	{ .name = "pcp", .type = YAML_TYPE_UINT, YAML_FIELD(struct matrix_host, pcp),
	  .max = PCP_MAX, .pos = HOST_AT(pcp) },
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
static const struct yaml_table defaults_table = {
	.what = "defaults",
	.key = host_key + OWN_KEYS,
	.count = sizeof(host_key) / sizeof(host_key[0]) - OWN_KEYS,
};

static int host_check(const struct yaml_doc *d, const struct draft *draft,
		      const struct matrix_host *h, struct err *e)
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
	if (draft->m.transport == TRANSPORT_LOCAL && h->ssh[0] != '\0')
		return pos_fail(d->file, h->at.ssh, e,
				"ssh '%s': transport local starts agents here: remove it, or say "
				"'transport: ssh'",
				h->ssh);
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

static int host_read(const struct yaml_doc *d, const struct draft *draft,
		     const struct matrix_host *defaults, const struct yaml_item *key,
		     struct matrix_host *h, struct err *e)
{
	int ret;

	*h = *defaults;
	ret = word_copy(d, key, "host", "._-", HOST_NAME_FORM, h->name, sizeof(h->name), e);
	if (ret < 0)
		return ret;
	h->pos = key->pos;
	ret = yaml_map_read(d, key->next, &host_table, h, e);
	if (ret < 0)
		return ret;
	h->idle_set = h->at.idle.line != 0;
	if (draft->m.transport == TRANSPORT_SSH && h->ssh[0] == '\0') {
		memcpy(h->ssh, h->name, sizeof(h->name));
		h->at.ssh = h->pos;
	}
	return host_check(d, draft, h, e);
}

static int cmp_name(const struct matrix_host *a, const struct matrix_host *b)
{
	return strcmp(a->name, b->name);
}

static int cmp_addr(const struct matrix_host *a, const struct matrix_host *b)
{
	return ip_cmp(&a->addr, &b->addr);
}

static int cmp_ssh(const struct matrix_host *a, const struct matrix_host *b)
{
	return strcmp(a->ssh, b->ssh);
}

struct host_order {
	const struct matrix_host *host;
	int (*cmp)(const struct matrix_host *a, const struct matrix_host *b);
};

static int by_order(const void *a, const void *b, void *arg)
{
	const struct host_order *o = arg;
	const uint32_t *x = a, *y = b;
	int c = o->cmp(&o->host[*x], &o->host[*y]);

	return c != 0 ? c : (*x > *y) - (*x < *y);
}

// Sorts the index; of hosts that are alike then, the second of the first two, with its twin.
static const struct matrix_host *twin_find(struct draft *draft,
					   int (*cmp)(const struct matrix_host *,
						      const struct matrix_host *),
					   const struct matrix_host **twin)
{
	struct host_order o = { .host = draft->m.host, .cmp = cmp };
	uint32_t *order = draft->index.order;

	qsort_r(order, draft->m.host_count, sizeof(*order), by_order, &o);
	for (size_t i = 1; i < draft->m.host_count; i++) {
		*twin = &o.host[order[i - 1]];
		if (cmp(*twin, &o.host[order[i]]) == 0)
			return &o.host[order[i]];
	}
	return NULL;
}

static int twins_refuse(const struct yaml_doc *d, struct draft *draft, struct err *e)
{
	const struct matrix_host *h, *twin;
	char addr[IP_STR_MAX];

	h = twin_find(draft, cmp_name, &twin);
	if (h != NULL)
		return pos_fail(d->file, h->pos, e,
				"host '%s' a second time: it stands at %d:%d; rename one", h->name,
				twin->pos.line, twin->pos.col);
	h = twin_find(draft, cmp_addr, &twin);
	if (h != NULL)
		return pos_fail(
			d->file, h->at.addr, e,
			"addr '%s': host '%s' has it too (line %d): expected one of its own",
			ip_str(&h->addr, addr, sizeof(addr)), twin->name, twin->at.addr.line);
	h = draft->m.transport == TRANSPORT_SSH ? twin_find(draft, cmp_ssh, &twin) : NULL;
	if (h != NULL)
		return pos_fail(d->file, h->at.ssh, e,
				"ssh '%s': host '%s' is there too (line %d): expected one agent a "
				"machine",
				h->ssh, twin->name, twin->at.ssh.line);
	twin_find(draft, cmp_name, &twin); // the order that the index is searched in
	return 0;
}

int draft_hosts(const struct yaml_doc *d, struct draft *draft, struct err *e)
{
	struct matrix_host defaults = { .queues = 1 };
	struct matrix *m = &draft->m;
	size_t n, i = 0;
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
	n = draft->hosts->count;
	if (n < 2 || n > HOSTS_MAX)
		return pos_fail(d->file, draft->hosts->pos, e, "hosts: %zu given: expected 2 to %d",
				n, HOSTS_MAX);
	if (draft->defaults != NULL) {
		ret = yaml_map_read(d, draft->defaults, &defaults_table, &defaults, e);
		if (ret < 0)
			return ret;
	}
	m->host = calloc(n, sizeof(*m->host));
	draft->index = (struct host_index){ .m = m, .order = calloc(n, sizeof(uint32_t)) };
	if (m->host == NULL || draft->index.order == NULL)
		return err_set(e, ENOMEM, "%s: out of memory", d->file);
	m->host_count = n;
	for (const struct yaml_item *key = draft->hosts->child; key != NULL;
	     key = key->next->next, i++) {
		ret = host_read(d, draft, &defaults, key, &m->host[i], e);
		if (ret < 0)
			return ret;
		draft->index.order[i] = (uint32_t)i;
	}
	return twins_refuse(d, draft, e);
}

uint32_t host_index_find(const struct host_index *x, const char *name)
{
	size_t low = 0, high = x->m->host_count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int c = strcmp(name, x->m->host[x->order[mid]].name);

		if (c == 0)
			return x->order[mid];
		if (c < 0)
			high = mid;
		else
			low = mid + 1;
	}
	return UINT32_MAX;
}

int host_of(const struct yaml_doc *d, const struct draft *draft, const char *key,
	    const struct yaml_item *name, uint32_t *host, struct err *e)
{
	const struct matrix *m = &draft->m;
	char show[96], hint[512];

	*host = host_index_find(&draft->index, name->text);
	if (*host != UINT32_MAX)
		return 0;

	const char **names = calloc(m->host_count, sizeof(*names));
	if (names == NULL)
		return err_set(e, ENOMEM, "%s: out of memory", d->file);
	for (size_t i = 0; i < m->host_count; i++)
		names[i] = m->host[i].name;
	pos_fail(d->file, name->pos, e, "%s: no host %s: %s", key,
		 yaml_show(name, show, sizeof(show)),
		 yaml_suggest(name->text, names, m->host_count, hint, sizeof(hint)));
	free(names);
	return -EINVAL;
}

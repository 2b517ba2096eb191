// What no two hosts may share, the ports of one machine, and hosts by name.
#include "matrix_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int cmp_name(const struct matrix_host *a, const struct matrix_host *b)
{
	return strcmp(a->name, b->name);
}

static int cmp_addr(const struct matrix_host *a, const struct matrix_host *b)
{
	return ip_cmp(&a->addr, &b->addr);
}

static int cmp_machine(const struct matrix_host *a, const struct matrix_host *b)
{
	return strcmp(a->machine, b->machine);
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

// Sorts the index; of hosts that are alike then, the second of the first two, with its twin. What
// belongs to the machine its ports have in common.
static const struct matrix_host *twin_find(struct draft *draft,
					   int (*cmp)(const struct matrix_host *,
						      const struct matrix_host *),
					   bool of_machine, const struct matrix_host **twin)
{
	struct host_order o = { .host = draft->m.host, .cmp = cmp };
	uint32_t *order = draft->index.order;

	qsort_r(order, draft->m.host_count, sizeof(*order), by_order, &o);
	for (size_t i = 1; i < draft->m.host_count; i++) {
		const struct matrix_host *h = &o.host[order[i]];

		*twin = &o.host[order[i - 1]];
		if (cmp(*twin, h) == 0 && !(of_machine && (*twin)->first == h->first))
			return h;
	}
	return NULL;
}

// A name given by --hosts is that of one machine or of one port. The index is in the order of
// names.
static int names_check(const struct yaml_doc *d, const struct draft *draft, struct err *e)
{
	for (size_t i = 0; i < draft->m.host_count; i += draft->m.host[i].ports) {
		const struct matrix_host *h = &draft->m.host[i], *other;
		uint32_t found = host_index_find(&draft->index, h->machine);

		if (found == UINT32_MAX || draft->m.host[found].first == h->first)
			continue;
		other = &draft->m.host[found];
		return pos_fail(d->file, h->machine_at, e,
				"host '%s': a port at %d:%d has this name, too; rename one",
				h->machine, other->pos.line, other->pos.col);
	}
	return 0;
}

static bool same_device(const struct matrix_host *a, const struct matrix_host *b)
{
	enum device_kind kind = device_kind(a->device);

	return kind != DEVICE_NONE && kind != DEVICE_VDEV && strcmp(a->device, b->device) == 0;
}

static bool same_cpu(const struct matrix_host *a, const struct matrix_host *b, unsigned *cpu)
{
	for (size_t i = 0; i < a->lcore_count; i++)
		for (size_t k = 0; k < b->lcore_count; k++)
			if (a->lcores[i] == b->lcores[k]) {
				*cpu = a->lcores[i];
				return true;
			}
	return false;
}

// Agents of one machine have a device and CPUs each.
static int machine_check(const struct yaml_doc *d, const struct matrix_host *port, struct err *e)
{
	unsigned cpu;

	for (uint32_t i = 1; i < port->ports; i++)
		for (uint32_t k = 0; k < i; k++) {
			const struct matrix_host *h = &port[i], *other = &port[k];

			if (same_device(h, other))
				return pos_fail(d->file, h->at.device, e,
						"device '%s': port '%s' has it too: expected "
						"another one for '%s'",
						h->device, other->name, h->name);
			if (same_cpu(h, other, &cpu))
				return pos_fail(d->file, h->at.lcores, e,
						"lcores: port '%s' has CPU %u too: expected others "
						"for '%s'",
						other->name, cpu, h->name);
		}
	return 0;
}

int draft_twins(const struct yaml_doc *d, struct draft *draft, struct err *e)
{
	const struct matrix_host *h, *twin;
	char addr[IP_STR_MAX];

	h = twin_find(draft, cmp_name, false, &twin);
	if (h != NULL)
		return pos_fail(d->file, h->pos, e,
				"host '%s' a second time: it stands at %d:%d; rename one", h->name,
				twin->pos.line, twin->pos.col);
	h = twin_find(draft, cmp_machine, true, &twin);
	if (h != NULL)
		return pos_fail(d->file, h->machine_at, e,
				"host '%s' a second time: it stands at %d:%d; rename one",
				h->machine, twin->machine_at.line, twin->machine_at.col);
	h = twin_find(draft, cmp_addr, false, &twin);
	if (h != NULL)
		return pos_fail(
			d->file, h->at.addr, e,
			"addr '%s': host '%s' has it too (line %d): expected one of its own",
			ip_str(&h->addr, addr, sizeof(addr)), twin->name, twin->at.addr.line);
	h = draft->m.transport == TRANSPORT_SSH ? twin_find(draft, cmp_ssh, true, &twin) : NULL;
	if (h != NULL)
		return pos_fail(d->file, h->at.ssh, e,
				"ssh '%s': host '%s' is there too (line %d): expected one agent a "
				"machine, or 'ports:'",
				h->ssh, twin->name, twin->at.ssh.line);
	twin_find(draft, cmp_name, false, &twin); // the order that the index is searched in
	int ret = draft_addrs(d, draft, e);
	if (ret == 0)
		ret = names_check(d, draft, e);
	for (size_t i = 0; ret == 0 && i < draft->m.host_count; i += draft->m.host[i].ports)
		ret = machine_check(d, &draft->m.host[i], e);
	return ret;
}

bool host_is(const struct matrix_host *h, const char *word, size_t len)
{
	return (strlen(h->name) == len && strncmp(h->name, word, len) == 0) ||
	       (strlen(h->machine) == len && strncmp(h->machine, word, len) == 0);
}

bool matrix_same_machine(const struct matrix *m, size_t a, size_t b)
{
	return m->transport == TRANSPORT_LOCAL || m->host[a].first == m->host[b].first;
}

bool host_has_subdir(const struct matrix *m, size_t host)
{
	const struct matrix_host *h = &m->host[host];

	return m->transport == TRANSPORT_LOCAL || strcmp(h->name, h->machine) != 0;
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

	for (size_t i = 0; i < m->host_count; i += m->host[i].ports)
		if (strcmp(m->host[i].machine, name->text) == 0)
			return pos_fail(d->file, name->pos, e,
					"%s: host %s has %u ports: expected one of them, as '%s'",
					key, yaml_show(name, show, sizeof(show)), m->host[i].ports,
					m->host[i].name);

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

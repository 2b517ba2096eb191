// The data addresses of hosts: what may be one, and hosts that ask from many.
#include "matrix_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ADDRS_FORM \
	"how many from 'addr' on, as 250, or which, as 198.18.1.1-198.18.1.250 or 198.18.1.128/25"

bool addr_is_unicast(const struct ip_addr *a)
{
	static const struct ip_addr loopback = { { [15] = 1 } };
	uint32_t four = ip4_of(a);

	if (ip_is4(a))
		return four >> 24 != 0 && four >> 24 != 127 && four >> 28 < 0xe;
	return !ip_none(a) && !ip_eq(a, &loopback) && a->b[0] != 0xff;
}

const char *addr_subnet_end(const struct ip_addr *a, unsigned prefix_len)
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

// How many addresses there are from one to another; 0 = more than SOURCES_MAX, or none.
static uint32_t span(const struct ip_addr *first, const struct ip_addr *last)
{
	uint32_t more = ip4_of(last) - ip4_of(first);

	return memcmp(first->b, last->b, 12) == 0 && more < SOURCES_MAX ? more + 1 : 0;
}

static bool range_parse(const char *text, struct matrix_host *h)
{
	const char *dash = strchr(text, '-');
	char first[IP_STR_MAX];
	struct ip_addr last;

	if (dash == NULL || dash - text >= IP_STR_MAX)
		return false;
	memcpy(first, text, (size_t)(dash - text));
	first[dash - text] = '\0';
	if (parse_ip(first, &h->src_addr, NULL) < 0 || parse_ip(dash + 1, &last, NULL) < 0)
		return false;
	h->src_count = span(&h->src_addr, &last);
	return h->src_count > 0;
}

// All hosts' addresses of a subnet.
static bool prefix_parse(const char *text, struct matrix_host *h)
{
	unsigned prefix_len;
	struct ip_addr net, last;

	if (parse_ip_prefix(text, &net, &prefix_len, NULL) < 0)
		return false;
	unsigned host_bits = ip_bits(&net) - prefix_len;
	if (host_bits > 16)
		return false;
	for (unsigned i = 128 - host_bits; i < 128; i++)
		net.b[i / 8] &= (uint8_t) ~(0x80 >> i % 8);
	last = source_addr(&net, 1u << host_bits, (1u << host_bits) - 1);
	if (addr_subnet_end(&net, prefix_len) != NULL)
		net = source_addr(&net, 2, 1);
	h->src_addr = net;
	h->src_count = span(&net, &last) - (addr_subnet_end(&last, prefix_len) != NULL);
	return true;
}

int addrs_read(const struct yaml_doc *d, const struct yaml_item *v, struct matrix_host *h,
	       struct err *e)
{
	char show[96];
	uint64_t n;
	int ret = yaml_want_text(d, v, "addrs", ADDRS_FORM, e);

	if (ret < 0)
		return ret;
	h->src_addr = (struct ip_addr){ 0 };
	if (parse_u64(v->text, 1, SOURCES_MAX, &n, NULL) == 0)
		h->src_count = (uint32_t)n;
	else if (!range_parse(v->text, h) && !prefix_parse(v->text, h))
		return pos_fail(d->file, v->pos, e,
				"addrs %s: expected " ADDRS_FORM ", at most %d of them",
				yaml_show(v, show, sizeof(show)), SOURCES_MAX);
	return 0;
}

int addrs_settle(const struct yaml_doc *d, struct matrix_host *h, struct err *e)
{
	char first[IP_STR_MAX], last[IP_STR_MAX], own[IP_STR_MAX];

	if (h->src_count == 0)
		return 0;
	if (ip_none(&h->src_addr))
		h->src_addr = h->addr;
	struct ip_addr end = source_addr(&h->src_addr, h->src_count, h->src_count - 1);
	ip_str(&h->src_addr, first, sizeof(first));
	ip_str(&end, last, sizeof(last));
	if (ip_cmp(&end, &h->src_addr) < 0 || !ip_same_net(&h->src_addr, &h->addr, h->prefix_len) ||
	    !ip_same_net(&end, &h->addr, h->prefix_len) ||
	    addr_subnet_end(&h->src_addr, h->prefix_len) != NULL ||
	    addr_subnet_end(&end, h->prefix_len) != NULL)
		return pos_fail(d->file, h->at.addrs, e,
				"addrs: %u from %s to %s: expected hosts' addresses in %s/%u, the "
				"subnet of '%s'",
				h->src_count, first, last, ip_str(&h->addr, own, sizeof(own)),
				h->prefix_len, h->name);
	if (!ip_none(&h->gateway) && source_has(&h->src_addr, h->src_count, &h->gateway))
		return pos_fail(d->file, h->at.addrs, e,
				"addrs: %s to %s: the gateway '%s' is among them: expected none of "
				"another's",
				first, last, ip_str(&h->gateway, own, sizeof(own)));
	return 0;
}

struct range { // own addresses of a host
	struct ip_addr first, last;
	const struct matrix_host *host;
};

static int by_first(const void *a, const void *b)
{
	const struct range *x = a, *y = b;
	int c = ip_cmp(&x->first, &y->first);

	return c != 0 ? c : (x->host > y->host) - (x->host < y->host);
}

// Ranges of one host may overlap; of those so far the one that reaches furthest tells of two hosts.
static int overlap_find(const struct yaml_doc *d, const struct range *r, size_t n, struct err *e)
{
	const struct range *far = &r[0];
	char text[IP_STR_MAX];

	for (size_t i = 1; i < n; i++) {
		const struct matrix_host *h = r[i].host, *other = far->host;

		if (ip_cmp(&r[i].first, &far->last) <= 0 && h != other) {
			bool mine = h->at.addrs.line != 0;

			return pos_fail(d->file, mine ? h->at.addrs : other->at.addrs, e,
					"addrs: '%s' of host '%s' is one of host '%s', too: "
					"expected each to be one host's",
					ip_str(&r[i].first, text, sizeof(text)), h->name,
					other->name);
		}
		if (ip_cmp(&r[i].last, &far->last) > 0)
			far = &r[i];
	}
	return 0;
}

int draft_addrs(const struct yaml_doc *d, const struct draft *draft, struct err *e)
{
	const struct matrix *m = &draft->m;
	struct range *r = calloc(2 * m->host_count, sizeof(*r));
	size_t n = 0, many = 0;

	if (r == NULL)
		return err_set(e, ENOMEM, "%s: out of memory", d->file);
	for (size_t i = 0; i < m->host_count; i++) {
		const struct matrix_host *h = &m->host[i];

		r[n++] = (struct range){ h->addr, h->addr, h };
		many += h->src_count;
		if (h->src_count > 0)
			r[n++] = (struct range){
				h->src_addr,
				source_addr(&h->src_addr, h->src_count, h->src_count - 1),
				h,
			};
	}
	qsort(r, n, sizeof(*r), by_first);
	int ret = many > 0 ? overlap_find(d, r, n, e) : 0;
	free(r);
	return ret;
}

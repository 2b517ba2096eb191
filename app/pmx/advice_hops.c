#include "advice_rules.h"

#include "units.h"

#include <math.h>

#define MOVES_MANY 3   // a fail-over and back are two
#define CLAIMS_MANY 10 // one that takes over says so a few times

static double silent_of(const struct sum_host *h)
{
	return known(h->hops.silent) ? (double)h->hops.silent : NAN;
}

// "198.18.0.254", with the name of the host whose address it is.
static void say_hop(const struct summary *s, const struct result_hop *hop, struct advice *a)
{
	char ip[IP_STR_MAX];

	because(a, "%s", ip_str(&hop->addr, ip, sizeof(ip)));
	for (size_t i = 0; i < s->matrix->host_count; i++)
		if (ip_eq(&s->matrix->host[i].addr, &hop->addr))
			because(a, " (%s)", name_of(s, i));
}

bool rule_silent_hop(const struct summary *s, struct advice *a)
{
	const struct sum_host *h = worst_host(s, silent_of, 0);
	struct figures t = { 0 };

	if (h == NULL)
		return false;
	const struct matrix_host *m = &s->matrix->host[h->host];
	bool gateway = ip_eq(&m->gateway, &h->hops.worst.addr);

	because(a, "%s has had no answer from its %s ", name_of(s, h->host),
		gateway ? "gateway" : "next hop");
	say_hop(s, &h->hops.worst, a);
	because(a, " for %s", time_of(&t, (double)h->hops.worst.silent_ns));
	if (h->hops.silent > 1)
		because(a, ", nor from %s others", count_of(&t, h->hops.silent - 1));
	because(a, "; its frames went on to the MAC last known, %s", h->hops.worst.mac);
	fix(a,
	    "what was lost there is the network's: see whether %s is up, has that address, and "
	    "answers %s",
	    gateway ? "the gateway" : "that host", ip_is4(&m->addr) ? "ARP" : "ND");
	return true;
}

static double moves_of(const struct sum_host *h)
{
	return known(h->hops.changes) ? (double)h->hops.moving.changes : NAN;
}

bool rule_moving_hop(const struct summary *s, struct advice *a)
{
	const struct sum_host *h = worst_host(s, moves_of, MOVES_MANY - 1);
	struct figures t = { 0 };

	if (h == NULL)
		return false;
	because(a, "the MAC of ");
	say_hop(s, &h->hops.moving, a);
	because(a, " changed %s times, as %s was told", count_of(&t, h->hops.moving.changes),
		name_of(s, h->host));
	fix(a,
	    "two devices have that address, or a pair of gateways cannot agree which is the one: "
	    "see who answers, for example with arping");
	return true;
}

static double expired_of(const struct sum_host *h)
{
	return known(h->icmp.expired) ? (double)h->icmp.expired : NAN;
}

bool rule_ttl_expired(const struct summary *s, struct advice *a)
{
	const struct sum_host *h = worst_host(s, expired_of, 0);
	struct figures t = { 0 };

	if (h == NULL)
		return false;
	because(a, "%s was told %s times that the TTL of a packet came to nothing on the way",
		name_of(s, h->host), count_of(&t, h->icmp.expired));
	fix(a, "raise 'ttl' in %s (it is %u), or there is a loop between routers", s->matrix->file,
	    s->matrix->traffic.ttl);
	return true;
}

static double own_of(const struct sum_host *h)
{
	return known(h->drop[DROP_OWN]) ? (double)h->drop[DROP_OWN] : NAN;
}

static double claims_of(const struct sum_host *h)
{
	return known(h->drop[DROP_NEIGHBOUR]) ? (double)h->drop[DROP_NEIGHBOUR] : NAN;
}

bool rule_address_twice(const struct summary *s, struct advice *a)
{
	const struct sum_host *own = worst_host(s, own_of, 0);
	const struct sum_host *claimed = worst_host(s, claims_of, CLAIMS_MANY - 1);
	struct figures t = { 0 };
	char ip[IP_STR_MAX];

	if (own == NULL && claimed == NULL)
		return false;
	if (own != NULL)
		because(a, "%s received %s frames from its own address, %s", name_of(s, own->host),
			count_of(&t, own->drop[DROP_OWN]),
			ip_str(&s->matrix->host[own->host].addr, ip, sizeof(ip)));
	if (claimed != NULL)
		because(a,
			"%s%s was told %s times of another MAC for a next hop that still answered "
			"at the known one",
			own != NULL ? "; " : "", name_of(s, claimed->host),
			count_of(&t, claimed->drop[DROP_NEIGHBOUR]));
	fix(a,
	    "another device has an address of %s, or the network loops: 'tcpdump -e arp or icmp6' "
	    "there names its MAC",
	    s->matrix->file);
	return true;
}

static bool is_range(uint8_t min, uint8_t max)
{
	return max > 0 && min != max;
}

static void say_ttls(struct advice *a, const char *what, uint8_t min, uint8_t max)
{
	if (min == max)
		because(a, "%s with %u", what, max);
	else
		because(a, "%s with %u to %u", what, min, max);
}

// Requests or replies came by paths of different lengths, or the two ways differ.
static bool paths_differ(const struct sum_flow *f)
{
	return is_range(f->ttl_forward_min, f->ttl_forward_max) ||
	       is_range(f->ttl_back_min, f->ttl_back_max) ||
	       (f->ttl_forward_max > 0 && f->ttl_back_max > 0 &&
		f->ttl_forward_max != f->ttl_back_max);
}

bool rule_paths_differ(const struct summary *s, struct advice *a)
{
	const struct sum_flow *first = NULL;
	size_t n = 0;

	for (size_t i = 0; i < s->flow_count; i++) {
		if (!paths_differ(&s->flow[i]))
			continue;
		first = first != NULL ? first : &s->flow[i];
		n++;
	}
	if (first == NULL)
		return false;
	because(a, "TTL: of %s to %s, sent with %u, ", name_of(s, first->src),
		name_of(s, first->dst), s->matrix->traffic.ttl);
	say_ttls(a, "requests came", first->ttl_forward_min, first->ttl_forward_max);
	say_ttls(a, ", replies", first->ttl_back_min, first->ttl_back_max);
	if (n > 1)
		because(a, " (and %zu other flows)", n - 1);
	fix(a, "paths of different lengths: routes that differ by way, that changed in mid-run, or "
	       "that take turns; what was measured is their mix. See 'traceroute' each way");
	return true;
}

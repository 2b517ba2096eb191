#include "advice_rules.h"

#include "units.h"

#include <math.h>

#define MOVES_MANY 3 // a fail-over and back are two

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

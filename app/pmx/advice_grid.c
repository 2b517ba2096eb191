#include "advice_rules.h"

#include "sum_sick.h"
#include "text.h"
#include "units.h"

#include <inttypes.h>
#include <math.h>

#define SMALL_FRAME 576 // every path carries it (RFC 791)

// Requests for it were sent, and none arrived.
static bool is_dead_column(const struct sum_host *h)
{
	return h->measured && h->served == 0 && h->lost_to != LOSS_UNKNOWN && h->lost_to > 0;
}

static const struct sum_host *first_host(const struct summary *s,
					 bool (*is)(const struct sum_host *), size_t *count)
{
	const struct sum_host *first = NULL;

	*count = 0;
	for (size_t i = 0; i < s->host_count; i++) {
		if (!is(&s->host[i]))
			continue;
		first = first != NULL ? first : &s->host[i];
		++*count;
	}
	return first;
}

bool rule_dead_column(const struct summary *s, struct advice *a)
{
	const struct sum_host *h;
	struct figures t = { 0 };
	size_t dead;

	h = first_host(s, is_dead_column, &dead);
	if (h == NULL || s->running)
		return false;
	because(a, "dead column: of %s requests for %s none arrived, and its agent runs",
		count_of(&t, (uint64_t)h->lost_to), name_of(s, h->host));
	if (dead > 1)
		because(a, " (and so for %zu other hosts)", dead - 1);
	if (known(h->delivered_to) && h->delivered_to > 0)
		because(a, "; its own requests do arrive elsewhere");
	fix(a,
	    "ARP works, UDP port %u to %s does not: see ACLs and firewalls on the way, the switch "
	    "port, and whether its NIC steers them to other queues than pmx's",
	    s->matrix->traffic.port, name_of(s, h->host));
	return true;
}

// Nothing that it sent arrived anywhere, also where others' requests do.
static const struct sum_host *dead_row(const struct summary *s)
{
	for (size_t i = 0; i < s->flow_count; i++) {
		const struct sum_flow *f = &s->flow[i];
		const struct sum_host *h = &s->host[f->src];

		if (h->measured && h->delivered_to == 0 && known(f->sent) && f->sent > 0 &&
		    s->host[f->dst].measured && !is_dead_column(&s->host[f->dst]))
			return h;
	}
	return NULL;
}

bool rule_dead_row(const struct summary *s, struct advice *a)
{
	const struct sum_host *h = dead_row(s);
	struct figures t = { 0 };

	if (h == NULL || s->running)
		return false;
	because(a, "dead row: of the %s requests that %s sent none arrived anywhere",
		count_of(&t, h->sent), name_of(s, h->host));
	fix(a,
	    "its port takes frames that do not come out, or something drops what is from %s: see "
	    "its link, the input counters and filters of its switch port, its VLAN",
	    name_of(s, h->host));
	return true;
}

static double too_big_of(const struct sum_host *h)
{
	return known(h->icmp.too_big) ? (double)h->icmp.too_big : NAN;
}

// Small requests arrive, and not one of the larger replies to them.
static const struct sum_flow *large_replies_lost(const struct summary *s)
{
	for (size_t i = 0; i < s->flow_count; i++) {
		const struct sum_flow *f = &s->flow[i];

		if (f->rep_bytes > f->req_bytes && frame_bytes(f->rep_bytes) > SMALL_FRAME &&
		    known(f->replied) && f->replied > 0 && f->returned == 0 &&
		    f->lost_forward != LOSS_UNKNOWN && (uint64_t)f->lost_forward < f->sent)
			return f;
	}
	return NULL;
}

bool rule_path_mtu(const struct summary *s, struct advice *a)
{
	const struct sum_host *h = worst_host(s, too_big_of, 0);
	const struct sum_flow *f = large_replies_lost(s);
	struct figures t = { 0 };

	if ((h == NULL && f == NULL) || s->running)
		return false;
	because(a, "path MTU:");
	if (h != NULL) {
		because(a, " %s was told %s times that its packets are too big",
			name_of(s, h->host), count_of(&t, h->icmp.too_big));
		if (h->icmp.path_mtu > 0)
			because(a, " for a hop of MTU %" PRIu64, h->icmp.path_mtu);
	}
	if (f != NULL)
		because(a,
			"%s requests of %u bytes (frame %u) of %s arrive at %s, and not one of the "
			"replies of %u bytes (frame %u) comes back",
			h != NULL ? ";" : "", f->req_bytes, frame_bytes(f->req_bytes),
			name_of(s, f->src), name_of(s, f->dst), f->rep_bytes,
			frame_bytes(f->rep_bytes));
	fix(a,
	    "raise the MTU of every hop, or make 'request' and 'reply' in %s smaller%s: they and "
	    "28 bytes of IP and UDP must fit",
	    s->matrix->file, f != NULL ? " (or all replies are filtered: try 'reply: 18')" : "");
	return true;
}

static double unreachable_of(const struct sum_host *h)
{
	return known(h->icmp.unreachable) ? (double)h->icmp.unreachable : NAN;
}

bool rule_unreachable(const struct summary *s, struct advice *a)
{
	const struct sum_host *h = worst_host(s, unreachable_of, 0);
	struct figures t = { 0 };

	if (h == NULL)
		return false;
	because(a, "%s was told %s times that a destination is unreachable (ICMP)",
		name_of(s, h->host), count_of(&t, h->icmp.unreachable));
	fix(a,
	    "a router has no route or a filter refuses UDP port %u, or a kernel answers on a data "
	    "address: see the routes, the ACLs, and that no interface has the addresses of %s",
	    s->matrix->traffic.port, s->matrix->file);
	return true;
}

// "a, b, c and 5 more"
static void name_list(const struct summary *s, const uint32_t *host, size_t n, char *buf,
		      size_t size)
{
	buf[0] = '\0';
	for (size_t i = 0; i < n && i < 3; i++)
		text_append(buf, size, "%s%s", i > 0 ? ", " : "", name_of(s, host[i]));
	if (n > 3)
		text_append(buf, size, " and %zu more", n - 3);
}

static void say_block(const struct summary *s, const struct sick *k, struct advice *a)
{
	char from[200], to[200];

	name_list(s, k->from, k->from_count, from, sizeof(from));
	name_list(s, k->to, k->to_count, to, sizeof(to));
	because(a, "a sick block of the grid: %.1f %% of the lost packets went %s %s %s %s",
		k->share_pct, k->both ? "between" : "from", from, k->both ? "and" : "to", to);
	fix(a,
	    "the hosts stand in two groups, and the path between the groups loses: see the links "
	    "between their switches (errors, drops, one bad member of a bundle)");
}

struct line_words {
	const char *line, *what, *fix;
};

static const struct line_words line_words[] = {
	[SICK_ROW] = { "row", "sent by",
		       "its way out (NIC, cable, the input errors of its switch port)" },
	[SICK_COLUMN] = { "column", "sent to",
			  "its way in (the output drops of its switch port: too many senders at "
			  "once?; the counters of its NIC)" },
	[SICK_HOST] = { "row and column", "sent by or to",
			"its link (cable, optics, both counters of its switch port)" },
};

bool rule_sick_grid(const struct summary *s, struct advice *a)
{
	struct figures t = { 0 };
	struct sick k;

	if (sick_find(s, &k, NULL) < 0 || k.kind == SICK_NONE)
		return false;
	if (k.kind == SICK_BLOCK) {
		say_block(s, &k, a);
	} else {
		const struct line_words *w = &line_words[k.kind];

		because(a, "a sick %s of the grid: %.1f %% of the lost packets (%s) were %s %s",
			w->line, k.share_pct, count_of(&t, k.lost), w->what, name_of(s, k.host));
		fix(a, "look at %s: %s", name_of(s, k.host), w->fix);
	}
	because(a, ": %.4f %% lost there, %.4f %% elsewhere", k.loss_pct, k.other_pct);
	sick_free(&k);
	return true;
}

#include "capacity.h"

#include "on_wire.h"

#include "result.h"
#include "units.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PPS_PER_MPPS 1e6
#define BPS_PER_GBPS 1e9
// Rates are sums of decimals: a load that is full on paper is not over by the last bit.
#define FULL_PCT (100 * (1 + 1e-9))

const char *const fit_name[FIT_COUNT] = {
	[FIT_OK] = "fits",
	[FIT_OVER] = "OVER",
	[FIT_UNPACED] = "unpaced",
	[FIT_UNRATED] = "not rated",
};

// What a host's requests and replies are, on links with so many tags.
struct host_wire {
	struct sender by;
	struct wire_mean request[VLANS_MAX + 1], reply[VLANS_MAX + 1];
};

// NAN for an unpaced flow makes every sum that it is in NAN.
static void flow_add(struct capacity_host *host, const struct host_wire *wire,
		     const struct plan_flow *f)
{
	struct capacity_host *s = &host[f->src], *d = &host[f->dst];
	double pps = f->rate_pps == RATE_UNPACED ? NAN : f->rate_pps;

	const struct host_wire *from = &wire[f->src], *to = &wire[f->dst];
	uint32_t s_tags = from->by.tags, d_tags = to->by.tags;

	s->flows_out++;
	d->flows_in++;
	s->requests_pps += pps;
	d->owed_pps += pps;
	s->tx_pps += pps * from->request[s_tags].frames;
	d->rx_pps += pps * from->request[d_tags].frames;
	d->tx_pps += pps * to->reply[d_tags].frames;
	s->rx_pps += pps * to->reply[s_tags].frames;
	s->tx_l1_bps += pps * 8 * from->request[s_tags].l1_bytes;
	d->rx_l1_bps += pps * 8 * from->request[d_tags].l1_bytes;
	d->tx_l1_bps += pps * 8 * to->reply[d_tags].l1_bytes;
	s->rx_l1_bps += pps * 8 * to->reply[s_tags].l1_bytes;
}

static void rate_host(struct capacity_host *h, const struct matrix_host *m, const struct profile *p,
		      double nic_gbps, double nic_mpps)
{
	double speed = m->speed_gbps > 0 ? m->speed_gbps : p->speed_gbps;
	double gbps = nic_gbps > 0 ? nic_gbps : speed;
	double mpps = nic_mpps > 0 ? nic_mpps : p->rated_mpps;

	h->rated_bps = gbps > 0 ? gbps * BPS_PER_GBPS : NAN;
	h->rated_pps = mpps > 0 ? mpps * PPS_PER_MPPS : NAN;
	const struct {
		const char *name;
		double load, rated;
	} side[] = {
		{ "tx Gb/s", h->tx_l1_bps, h->rated_bps },
		{ "rx Gb/s", h->rx_l1_bps, h->rated_bps },
		{ "tx pps", h->tx_pps, h->rated_pps },
		{ "rx pps", h->rx_pps, h->rated_pps },
	};

	h->load_pct = NAN;
	for (size_t i = 0; i < sizeof(side) / sizeof(side[0]); i++) {
		double pct = 100 * side[i].load / side[i].rated;

		if (isnan(pct) || pct <= h->load_pct)
			continue;
		h->load_pct = pct;
		snprintf(h->limit, sizeof(h->limit), "%s", side[i].name);
	}
	if (isnan(h->tx_pps))
		h->fit = FIT_UNPACED;
	else if (isnan(h->load_pct))
		h->fit = FIT_UNRATED;
	else
		h->fit = h->load_pct > FULL_PCT ? FIT_OVER : FIT_OK;
}

// Whether h asks more of its host than what was found so far.
static bool is_worse(const struct capacity_host *h, const struct capacity_host *than)
{
	static const int rank[FIT_COUNT] = { [FIT_UNPACED] = 1, [FIT_OVER] = 2 };

	if (rank[h->fit] != rank[than->fit])
		return rank[h->fit] > rank[than->fit];
	if (!isnan(h->load_pct))
		return h->load_pct > than->load_pct;
	return fmax(h->tx_l1_bps, h->rx_l1_bps) > fmax(than->tx_l1_bps, than->rx_l1_bps);
}

// Flows by layer: those of layer l are order[first[l]] to order[first[l + 1] - 1].
struct by_layer {
	uint32_t *order; // owned, as is first
	size_t *first;
};

static int layers_sort(const struct plan *p, struct by_layer *b)
{
	size_t *next = calloc(p->layers + 2, sizeof(*next));

	b->order = calloc(p->flow_count, sizeof(*b->order));
	b->first = next;
	if (b->order == NULL || next == NULL)
		return -ENOMEM;
	// counted two on, so that filling leaves each layer's end, the next one's beginning
	for (size_t i = 0; i < p->flow_count; i++)
		next[p->flow[i].layer + 2]++;
	for (size_t layer = 2; layer < p->layers + 2; layer++)
		next[layer] += next[layer - 1];
	for (size_t i = 0; i < p->flow_count; i++)
		b->order[next[p->flow[i].layer + 1]++] = (uint32_t)i;
	return 0;
}

struct rating {
	const struct profile *profile;
	double nic_gbps, nic_mpps;
	struct host_wire *wire; // [host_count]
};

// Adds one layer up in `now`, and keeps what is worse than before of each host.
static void layer_add(struct capacity *c, const struct plan *p, const struct by_layer *b,
		      uint32_t layer, const struct rating *r, struct capacity_host *now)
{
	double pps = 0;

	memset(now, 0, c->host_count * sizeof(*now));
	for (size_t i = b->first[layer]; i < b->first[layer + 1]; i++) {
		const struct plan_flow *f = &p->flow[b->order[i]];

		flow_add(now, r->wire, f);
		pps += f->rate_pps == RATE_UNPACED ? NAN : f->rate_pps;
	}
	if (layer == 0 || isnan(pps) || pps > c->requests_pps) {
		c->requests_pps = pps;
		c->l1_bps = 0;
		for (size_t i = 0; i < c->host_count; i++)
			c->l1_bps += now[i].tx_l1_bps;
	}
	for (size_t i = 0; i < c->host_count; i++) {
		now[i].layer = p->layers > 1 ? layer : COUNTER_UNKNOWN;
		rate_host(&now[i], &p->matrix->host[i], &r->profile[i], r->nic_gbps, r->nic_mpps);
		if (layer == 0 || is_worse(&now[i], &c->host[i]))
			c->host[i] = now[i];
	}
}

static int layers_add(struct capacity *c, const struct plan *p, const struct rating *r)
{
	struct capacity_host *now = calloc(c->host_count, sizeof(*now));
	struct by_layer b = { 0 };
	int ret = now == NULL ? -ENOMEM : layers_sort(p, &b);

	for (uint32_t layer = 0; ret == 0 && layer < p->layers; layer++)
		layer_add(c, p, &b, layer, r, now);
	free(b.order);
	free(b.first);
	free(now);
	return ret;
}

// Hosts are alike but for a few: what the one before has is not worked out again.
static struct host_wire *wire_of(const struct plan *p)
{
	struct host_wire *wire = calloc(p->host_count, sizeof(*wire));

	for (size_t i = 0; wire != NULL && i < p->host_count; i++) {
		struct sender by = hostcfg_sender(&p->host[i]);

		if (i > 0 && by.mtu == wire[i - 1].by.mtu && by.ip6 == wire[i - 1].by.ip6 &&
		    by.tags == wire[i - 1].by.tags) {
			wire[i] = wire[i - 1];
			continue;
		}
		wire[i].by = by;
		for (uint32_t tags = 0; tags <= VLANS_MAX; tags++) {
			wire[i].request[tags] = request_wire(p->matrix, &by, tags);
			wire[i].reply[tags] = reply_wire(p->matrix, &by, tags);
		}
	}
	return wire;
}

int capacity_build(const struct plan *p, const struct profile *profile, double nic_gbps,
		   double nic_mpps, struct capacity *c, struct err *e)
{
	struct rating rating = { .profile = profile, .nic_gbps = nic_gbps, .nic_mpps = nic_mpps };

	*c = (struct capacity){
		.host = calloc(p->host_count, sizeof(*c->host)),
		.host_count = p->host_count,
		.worst = SIZE_MAX,
		.scale = NAN,
	};
	rating.wire = wire_of(p);
	int ret = c->host == NULL || rating.wire == NULL ? -ENOMEM : layers_add(c, p, &rating);
	free(rating.wire);
	if (ret < 0) {
		capacity_free(c);
		return err_set(e, ENOMEM, "out of memory for %zu hosts", p->host_count);
	}
	for (size_t i = 0; i < p->host_count; i++) {
		struct capacity_host *h = &c->host[i];

		memcpy(h->name, p->matrix->host[i].name, sizeof(h->name));
		c->over += h->fit == FIT_OVER;
		c->unpaced += h->fit == FIT_UNPACED;
		c->unrated += h->fit == FIT_UNRATED;
		if (!isnan(h->load_pct) &&
		    (c->worst == SIZE_MAX || h->load_pct > c->host[c->worst].load_pct))
			c->worst = i;
	}
	if (c->worst != SIZE_MAX && c->host[c->worst].load_pct > 0)
		c->scale = 100 / c->host[c->worst].load_pct;
	return 0;
}

void capacity_free(struct capacity *c)
{
	free(c->host);
	*c = (struct capacity){ 0 };
}

#include "lives.h"

#include "lives_sizes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// --- what there is in any of the lives

static size_t tx_find(const struct result_flow_tx *tx, size_t n, const char *peer, uint32_t layer)
{
	size_t i = 0;

	while (i < n && (tx[i].layer != layer || strcmp(tx[i].peer, peer) != 0))
		i++;
	return i;
}

static size_t rx_find(const struct result_flow_rx *rx, size_t n, const char *peer, uint32_t layer)
{
	size_t i = 0;

	while (i < n && (rx[i].layer != layer || strcmp(rx[i].peer, peer) != 0))
		i++;
	return i;
}

struct extent {
	size_t trials, tx, rx, queues;
};

// At most: a flow that several lives have is one.
static struct extent extent_of(const struct result *const *life, size_t n)
{
	struct extent x = { 0 };

	for (size_t i = 0; i < n; i++) {
		x.trials += life[i]->trial_count;
		x.tx += life[i]->tx_count;
		x.rx += life[i]->rx_count;
		if (life[i]->queue_count > x.queues)
			x.queues = life[i]->queue_count;
	}
	return x;
}

// --- sums

// While a layer was on.
static double measured_s(const struct result *r, uint32_t layer, uint64_t now_ns)
{
	double s = 0;

	for (size_t t = 0; t < r->trial_count; t++) {
		const struct trial *trial = &r->trial[t];
		uint64_t end = trial->end_ns;

		if (trial->kind != TRIAL_MEASURE)
			continue;
		if (trial->close_ns == 0 && now_ns != 0 && (end == 0 || end > now_ns))
			end = now_ns;
		s += (double)result_on_ns(r, trial, layer, end) / 1e9;
	}
	return s;
}

static int hist_copy(struct hist **to, const struct hist *from)
{
	if (from == NULL)
		return 0;
	if (*to == NULL) {
		*to = malloc(sizeof(**to));
		if (*to == NULL)
			return -ENOMEM;
		hist_reset(*to);
	}
	hist_merge(*to, from);
	return 0;
}

static int packed_copy(struct hist_packed **to, const struct hist_packed *from)
{
	size_t bytes;

	if (from == NULL)
		return 0;
	bytes = sizeof(*from) + from->bins * sizeof(from->bin[0]);
	*to = malloc(bytes);
	if (*to == NULL)
		return -ENOMEM;
	memcpy(*to, from, bytes);
	return 0;
}

// Its counters by size: as they are, or by all sizes there were. NULL: sizes never changed.
static int sizes_copy(struct uints **to, const struct lives_sizes *z, const struct life_counts *c)
{
	return z != NULL ? lives_sizes_count(z, c, to) : uints_copy(to, c->by_size);
}

// Of a mix of all sizes the largest, as of any other mix.
static void set_sizes(const struct lives_sizes *z, uint32_t *bytes, uint32_t *mix, bool reply)
{
	if (z == NULL)
		return;
	*mix = lives_sizes_mix(z, reply);
	if (*mix > 0)
		*bytes = z->way[reply].size[z->way[reply].count - 1].bytes;
}

static int add_tx(struct result *out, size_t trial_at, const struct result *r,
		  const struct lives_sizes *z)
{
	for (size_t i = 0; i < r->tx_count; i++) {
		const struct result_flow_tx *from = &r->tx[i];
		size_t at = tx_find(out->tx, out->tx_count, from->peer, from->layer);
		struct result_flow_tx *to = &out->tx[at];

		if (at == out->tx_count)
			out->tx_count++;
		memcpy(to->peer, from->peer, sizeof(to->peer));
		to->req_bytes = from->req_bytes;
		to->rep_bytes = from->rep_bytes;
		to->req_mix = from->req_mix;
		to->rep_mix = from->rep_mix;
		set_sizes(z, &to->req_bytes, &to->req_mix, false);
		set_sizes(z, &to->rep_bytes, &to->rep_mix, true);
		to->streams = from->streams;
		ttl_join(&to->ttl_min, &to->ttl_max, from->ttl_min, from->ttl_max);
		to->layer = from->layer;
		for (size_t t = 0; t < r->trial_count; t++) {
			const struct tx_counts *n = &from->trial[t];
			struct tx_counts *c = &to->trial[trial_at + t];
			const struct life_counts sizes = { { from->req_bytes, from->rep_bytes },
							   { from->req_mix, from->rep_mix },
							   n->sent,
							   n->returned,
							   n->by_size };

			*c = *n;
			c->rtt = NULL;
			c->by_size = NULL;
			if (packed_copy(&c->rtt, n->rtt) < 0 ||
			    sizes_copy(&c->by_size, z, &sizes) < 0)
				return -ENOMEM;
		}
	}
	return 0;
}

static int add_rx(struct result *out, size_t trial_at, const struct result *r,
		  const struct lives_sizes *z)
{
	for (size_t i = 0; i < r->rx_count; i++) {
		const struct result_flow_rx *from = &r->rx[i];
		size_t at = rx_find(out->rx, out->rx_count, from->peer, from->layer);
		struct result_flow_rx *to = &out->rx[at];

		if (at == out->rx_count)
			out->rx_count++;
		memcpy(to->peer, from->peer, sizeof(to->peer));
		to->req_bytes = from->req_bytes;
		to->rep_bytes = from->rep_bytes;
		to->req_mix = from->req_mix;
		to->rep_mix = from->rep_mix;
		set_sizes(z, &to->req_bytes, &to->req_mix, false);
		set_sizes(z, &to->rep_bytes, &to->rep_mix, true);
		to->layer = from->layer;
		ttl_join(&to->ttl_min, &to->ttl_max, from->ttl_min, from->ttl_max);
		for (size_t t = 0; t < r->trial_count; t++) {
			const struct rx_counts *n = &from->trial[t];
			struct rx_counts *c = &to->trial[trial_at + t];
			const struct life_counts sizes = { { from->req_bytes, from->rep_bytes },
							   { from->req_mix, from->rep_mix },
							   n->delivered,
							   n->replied,
							   n->by_size };

			*c = *n;
			c->by_size = NULL;
			if (sizes_copy(&c->by_size, z, &sizes) < 0)
				return -ENOMEM;
		}
	}
	return 0;
}

static void add_count(uint64_t *sum, uint64_t v)
{
	*sum = v == COUNTER_UNKNOWN ? *sum : *sum == COUNTER_UNKNOWN ? v : *sum + v;
}

static void add_port(struct port_counts *to, const struct port_counts *from)
{
	const struct {
		uint64_t *to, from;
	} sum[] = {
		{ &to->ipackets, from->ipackets }, { &to->opackets, from->opackets },
		{ &to->ibytes, from->ibytes },	   { &to->obytes, from->obytes },
		{ &to->imissed, from->imissed },   { &to->ierrors, from->ierrors },
		{ &to->oerrors, from->oerrors },   { &to->rx_nombuf, from->rx_nombuf },
		{ &to->pause_rx, from->pause_rx }, { &to->pause_tx, from->pause_tx },
	};

	for (size_t i = 0; i < sizeof(sum) / sizeof(sum[0]); i++)
		add_count(sum[i].to, sum[i].from);
	to->link_mbps = from->link_mbps;
	to->mtu = from->mtu;
}

static void add_icmp(struct icmp_counts *to, const struct icmp_counts *from)
{
	to->unreachable += from->unreachable;
	to->too_big += from->too_big;
	to->expired += from->expired;
	if (from->path_mtu != 0 && (to->path_mtu == 0 || from->path_mtu < to->path_mtu))
		to->path_mtu = from->path_mtu;
}

static void set_last(struct result *out, const struct result *r)
{
	memcpy(out->host, r->host, sizeof(out->host));
	memcpy(out->run_id, r->run_id, sizeof(out->run_id));
	memcpy(out->pmx_version, r->pmx_version, sizeof(out->pmx_version));
	memcpy(out->dpdk_version, r->dpdk_version, sizeof(out->dpdk_version));
	memcpy(out->state, r->state, sizeof(out->state));
	memcpy(out->ended_by, r->ended_by, sizeof(out->ended_by));
	memcpy(out->driver, r->driver, sizeof(out->driver));
	memcpy(out->mac, r->mac, sizeof(out->mac));
	out->steering = r->steering;
	out->steered = r->steered;
	memcpy(out->steering_why, r->steering_why, sizeof(out->steering_why));
	out->tsc_hz = r->tsc_hz;
	out->rotation = r->rotation;
	out->cpus = r->cpus;
	out->cpu_pct = r->cpu_pct;
	out->cpu_max_pct = r->cpu_max_pct;
	out->agent_cpu_pct = r->agent_cpu_pct;
}

// The last life knows what is so at the end; what happened before is not lost.
static int add_hops(struct result *out, const struct result *r)
{
	struct result_hop *hop = calloc(r->hop_count + 1, sizeof(*hop));

	if (hop == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < r->hop_count; i++) {
		hop[i] = r->hop[i];
		for (size_t k = 0; k < out->hop_count; k++)
			if (ip_eq(&out->hop[k].addr, &hop[i].addr)) {
				hop[i].changes += out->hop[k].changes;
				hop[i].silences += out->hop[k].silences;
				break;
			}
	}
	free(out->hop);
	out->hop = hop;
	out->hop_count = r->hop_count;
	return 0;
}

static int add_life(struct result *out, size_t trial_at, const struct result *r,
		    struct lives_sizes *z)
{
	memcpy(&out->trial[trial_at], r->trial, r->trial_count * sizeof(*r->trial));
	for (size_t q = 0; q < r->queue_count; q++)
		memcpy(&out->queue[q].trial[trial_at], r->queue[q].trial,
		       r->trial_count * sizeof(*r->queue[q].trial));
	for (int d = 0; d < DROP_REASONS; d++)
		add_count(&out->drop[d], r->drop[d]);
	add_port(&out->port, &r->port);
	add_icmp(&out->icmp, &r->icmp);
	int rc = z != NULL ? lives_sizes_take(z, r) : 0;
	if (rc == 0)
		rc = add_rx(out, trial_at, r, z);
	if (rc == 0)
		rc = add_tx(out, trial_at, r, z);
	rc = rc < 0 ? rc : add_hops(out, r);
	return rc < 0 ? rc : hist_copy(&out->lateness, r->lateness);
}

// The mean by time; a flow that was unpaced at any time has no rate to be held to.
static void mean_rates(const struct result *const *life, size_t n, uint64_t now_ns,
		       struct result *out)
{
	for (size_t f = 0; f < out->tx_count; f++) {
		uint32_t layer = out->tx[f].layer;
		double whole = 0, due = 0, last = RATE_UNPACED;
		bool unpaced = false, same = true;
		size_t seen = 0;

		for (size_t i = 0; i < n; i++) {
			const struct result *r = life[i];
			double on_s = measured_s(r, layer, now_ns);
			size_t at = tx_find(r->tx, r->tx_count, out->tx[f].peer, layer);

			whole += on_s;
			if (at == r->tx_count)
				continue;
			same &= seen++ == 0 || r->tx[at].rate_pps == last;
			last = r->tx[at].rate_pps;
			unpaced |= last == RATE_UNPACED;
			due += last * on_s;
		}
		same &= seen == n;
		out->tx[f].rate_pps = unpaced		   ? RATE_UNPACED
				      : same || whole <= 0 ? last
							   : due / whole;
	}
}

// Rows that no flow took.
static void cut_rows(struct result *out, const struct extent *x)
{
	for (size_t i = out->tx_count; i < x->tx; i++)
		free(out->tx[i].trial);
	for (size_t i = out->rx_count; i < x->rx; i++)
		free(out->rx[i].trial);
}

static int copy_mixes(struct result *out, const struct result *r)
{
	int rc = 0;

	if (r->mix_count == 0)
		return 0;
	out->mix = calloc(r->mix_count, sizeof(*out->mix));
	if (out->mix == NULL)
		return -ENOMEM;
	out->mix_count = r->mix_count;
	for (size_t i = 0; rc == 0 && i < r->mix_count; i++)
		rc = uints_copy(&out->mix[i].cycle, r->mix[i].cycle);
	return rc;
}

// What must be the same in all of them for their sums to mean anything.
static int lives_check(const struct result *const *life, size_t n, struct err *e)
{
	const struct rotation *first = &life[0]->rotation;

	for (size_t i = 1; i < n; i++)
		if (strcmp(life[i]->host, life[0]->host) != 0 ||
		    strcmp(life[i]->run_id, life[0]->run_id) != 0)
			return err_set(e, EINVAL,
				       "a result of host '%s', run '%s' stands with one of host "
				       "'%s', run '%s'",
				       life[i]->host, life[i]->run_id, life[0]->host,
				       life[0]->run_id);
	for (size_t i = 1; i < n; i++) {
		const struct rotation *r = &life[i]->rotation;

		if (r->layers != first->layers || r->dwell_ns != first->dwell_ns)
			return err_set(
				e, EINVAL,
				"the results of host '%s' are of different rotations and "
				"cannot be added up: stop and start to change peers or dwell",
				life[0]->host);
	}
	return 0;
}

int lives_join(const struct result *const *life, size_t n, uint64_t now_ns, struct result *out,
	       struct err *e)
{
	struct extent x = extent_of(life, n);
	struct lives_sizes all = { 0 }, *z = NULL;
	size_t at = 0;

	*out = (struct result){ 0 };
	int rc = lives_check(life, n, e);
	if (rc < 0)
		return rc;
	rc = result_alloc(out, x.trials, x.tx, x.rx, x.queues);
	if (rc == 0) {
		out->tx_count = out->rx_count = 0; // those in use so far
		z = lives_sizes_differ(life, n) ? &all : NULL;
		rc = z == NULL ? copy_mixes(out, life[0]) : lives_sizes_init(z, life, n);
		if (rc == 0 && z != NULL)
			rc = lives_sizes_mixes(z, out);
	}
	for (size_t i = 0; i < n && rc == 0; i++) {
		rc = add_life(out, at, life[i], z);
		at += life[i]->trial_count;
	}
	lives_sizes_free(&all);
	if (rc == 0) {
		set_last(out, life[n - 1]);
		mean_rates(life, n, now_ns, out);
	} else {
		err_set(e, ENOMEM, "out of memory for %zu results of host '%s'", n, life[0]->host);
	}
	if (out->tx != NULL && out->rx != NULL) // else nothing was allocated
		cut_rows(out, &x);
	if (rc < 0)
		result_free(out);
	return rc;
}

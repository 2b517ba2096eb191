#include "plan.h"

#include "device.h"
#include "pattern.h"
#include "plan_rate.h"
#include "steering.h"

#include "units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MTU_DEFAULT 1500
#define SPORT_DYNAMIC 49152 // first of the dynamic ports (RFC 6335)

static bool is_out(const struct plan_input *in, size_t host)
{
	return in->excluded != NULL && in->excluded[host];
}

static unsigned smaller(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static int port_fill(const struct plan_input *in, size_t host, struct hostcfg *c, struct err *e)
{
	const struct matrix *m = in->matrix;
	const struct matrix_host *h = &m->host[host];
	const struct profile *p = &in->profile[host];
	const char *role;

	if (h->queues > p->queues_max)
		return pos_fail(m->file, h->at.queues, e, "queues %u: driver '%s' has at most %u",
				h->queues, p->name, p->queues_max);
	if (h->mtu > p->mtu_max)
		return pos_fail(m->file, h->at.mtu, e, "mtu %u: driver '%s' takes at most %u",
				h->mtu, p->name, p->mtu_max);
	c->port.queues = (uint16_t)h->queues;
	c->port.rxd = p->rxd;
	c->port.txd = p->txd;
	c->port.burst = p->burst;
	c->port.mtu = (uint16_t)(h->mtu != 0 ? h->mtu : smaller(MTU_DEFAULT, p->mtu_max));
	c->port.csum = p->csum;
	if (p->all_queues && profile_wants_iface(p) && device_kind(h->device) == DEVICE_IFACE)
		snprintf(c->port.all_queues_of, sizeof(c->port.all_queues_of), "%.*s",
			 NAME_MAX_BYTES - 1, h->device);
	c->port.counts_missed = p->counts_missed;
	c->port.rss = p->rss;
	c->port.single_file_segments = p->single_file_segments;
	steer_own(p, ip_is4(&h->addr), c);
	memcpy(c->port.profile, p->name, sizeof(c->port.profile));
	int ret = device_role(m, in->profile, host, &role, e);
	return ret < 0 ? ret : device_resolve(m, p, host, role, c, e);
}

// Numbers of the matrix's mixes in the host configs; 0 = one size.
static uint32_t req_mix(const struct matrix *m)
{
	return m->traffic.req_mix.cycle != NULL;
}

static uint32_t rep_mix(const struct matrix *m)
{
	return m->traffic.rep_mix.cycle != NULL ? req_mix(m) + 1 : 0;
}

static int mixes_fill(const struct matrix *m, struct hostcfg *c, struct err *e)
{
	const struct size_mix *mix[] = { &m->traffic.req_mix, &m->traffic.rep_mix };
	int ret = 0;

	if (req_mix(m) + rep_mix(m) == 0)
		return 0;
	c->mix = calloc(2, sizeof(*c->mix));
	for (size_t i = 0; c->mix != NULL && ret == 0 && i < 2; i++)
		if (mix[i]->cycle != NULL)
			ret = uints_copy(&c->mix[c->mix_count++].cycle, mix[i]->cycle);
	return c->mix == NULL || ret < 0
		       ? err_set(e, ENOMEM, "%s: out of memory for sizes", m->file)
		       : 0;
}

// Where nothing is drawn the seed is none: another one is no other config.
static struct pacing pacing_of(const struct matrix *m)
{
	struct pacing p = m->traffic.pacing;

	p.seed = p.spacing == SPACING_EVEN ? 0 : m->traffic.seed;
	return p;
}

static int host_fill(const struct plan_input *in, size_t host, struct hostcfg *c, struct err *e)
{
	const struct matrix *m = in->matrix;
	const struct matrix_host *h = &m->host[host];

	*c = (struct hostcfg){
		.cookie = in->cookie,
		.stamp_each = m->traffic.stamp == STAMP_PACKET,
		.host_index = (uint32_t)host,
		.host_count = (uint32_t)m->host_count,
		.hugepages = h->hugepages,
		.idle = h->idle,
		.lcore_count = h->lcore_count,
		.addr = h->addr,
		.prefix_len = (uint8_t)h->prefix_len,
		.gateway = h->gateway,
		.src_addr = h->src_addr,
		.src_count = h->src_count,
		.vlan_count = h->vlan_count,
		.pcp = (uint8_t)h->pcp,
		.ttl = (uint8_t)m->traffic.ttl,
		.udp_port = m->traffic.port,
		.warmup_ns = in->warmup_ns,
		.duration_ns = in->duration_ns,
		.drain_ns = m->timing.drain_ns,
		.rotation = matrix_rotation(m),
		.pacing = pacing_of(m),
		.interval_ns = m->timing.interval_ns,
		.lease_ns = in->lease_ns,
		.resolve_ns = m->timing.resolve_ns,
	};
	memcpy(c->host, h->name, sizeof(c->host));
	memcpy(c->run_id, in->run_id, sizeof(c->run_id));
	memcpy(c->lcores, h->lcores, sizeof(c->lcores));
	memcpy(c->vlan, h->vlan, sizeof(c->vlan));
	int ret = mixes_fill(m, c, e);
	return ret < 0 ? ret : port_fill(in, host, c, e);
}

// Agents that share this machine get its CPUs in turn, the least taken first; where queues must
// share one, they hand it on when idle. pmx itself needs next to nothing.
static int local_share(const struct plan_input *in, struct plan *p, struct err *e)
{
	unsigned cpus = in->local_cpus > 0 ? in->local_cpus : 1;
	unsigned *taken = calloc(cpus, sizeof(*taken));

	if (taken == NULL)
		return err_set(e, ENOMEM, "%s: out of memory", in->matrix->file);
	for (size_t i = 0; i < p->host_count; i++) {
		const struct hostcfg *c = &p->host[i];

		for (size_t q = 0; q < c->lcore_count; q++)
			if (c->lcores[q] < cpus)
				taken[c->lcores[q]]++;
	}
	for (size_t i = 0; i < p->host_count; i++) {
		struct hostcfg *c = &p->host[i];

		while (c->lcore_count < c->port.queues) {
			unsigned best = 0;

			for (unsigned cpu = 1; cpu < cpus; cpu++)
				if (taken[cpu] < taken[best])
					best = cpu;
			taken[best]++;
			c->lcores[c->lcore_count++] = (uint16_t)best;
		}
	}
	bool crowded = false;
	for (unsigned cpu = 0; cpu < cpus; cpu++)
		crowded = crowded || taken[cpu] > 1;
	for (size_t i = 0; i < p->host_count; i++)
		if (crowded && !in->matrix->host[i].idle_set)
			p->host[i].idle = IDLE_YIELD;
	free(taken);
	return 0;
}

// Agents of several ports share a machine that only they know: each is told which CPUs the others
// have by name, and how many those before it will choose.
static int ports_share(const struct plan_input *in, struct plan *p, struct err *e)
{
	const struct matrix *m = in->matrix;

	for (size_t i = 0; i < p->host_count; i++) {
		const struct matrix_host *h = &m->host[i];
		struct hostcfg *c = &p->host[i];

		for (size_t k = h->first; k < h->first + h->ports && !is_out(in, i); k++) {
			const struct matrix_host *other = &m->host[k];

			if (k == i)
				continue;
			if (k < i && other->lcore_count == 0)
				c->lcores_before += other->queues;
			if (c->lcore_taken_count + other->lcore_count > LCORES_TAKEN_MAX)
				return pos_fail(m->file, h->machine_at, e,
						"host '%s': more than %d lcores: expected fewer "
						"queues",
						h->machine, LCORES_TAKEN_MAX);
			memcpy(c->lcores_taken + c->lcore_taken_count, other->lcores,
			       other->lcore_count * sizeof(other->lcores[0]));
			c->lcore_taken_count += other->lcore_count;
		}
	}
	return 0;
}

static int hosts_fill(const struct plan_input *in, struct plan *p, struct err *e)
{
	size_t left = 0;

	for (size_t i = 0; i < p->host_count; i++) {
		if (is_out(in, i))
			continue;
		int ret = host_fill(in, i, &p->host[i], e);
		if (ret < 0)
			return ret;
		left++;
	}
	if (left < 2)
		return err_set(e, EINVAL,
			       "%s: %zu of %zu hosts left: expected two or more to measure",
			       in->matrix->file, left, p->host_count);
	return in->matrix->transport == TRANSPORT_LOCAL ? local_share(in, p, e)
							: ports_share(in, p, e);
}

static int size_check(const struct matrix *m, const char *what, uint32_t bytes, struct pos pos,
		      const struct hostcfg *c, struct err *e)
{
	struct sender by = hostcfg_sender(c);
	uint32_t most = sender_payload_max(&by);

	if (bytes <= most)
		return 0;
	return pos_fail(
		m->file, pos, e,
		"%s %u: %u frames by host '%s' with its MTU of %u, and a datagram of more than "
		"%d is not put together again: expected at most %u, or a larger 'mtu:'",
		what, bytes, datagram_frames(&by, bytes), c->host, c->port.mtu, DATAGRAM_FRAMES_MAX,
		most);
}

// Frames are as large as the sender's MTU, and who puts them together again must know of it.
static int mtu_check(const struct matrix *m, const char *what, uint32_t bytes, struct pos pos,
		     const struct hostcfg *from, const struct hostcfg *to, struct err *e)
{
	struct sender by = hostcfg_sender(from), at = hostcfg_sender(to);
	uint32_t frames = datagram_frames(&by, bytes);

	if (frames == 1 ? bytes <= sender_payload(&at) : sender_ip_mtu(&by) == sender_ip_mtu(&at))
		return 0;
	return pos_fail(m->file, pos, e,
			"%s %u: %u frame%s by host '%s' with its MTU of %u, but host '%s' has one "
			"of %u%s: expected the same 'mtu:' for both",
			what, bytes, frames, frames > 1 ? "s" : "", from->host, from->port.mtu,
			to->host, to->port.mtu,
			from->port.mtu == to->port.mtu ? " and another number of tags" : "");
}

// Whether all addresses that d asks from are in the subnet of s (near), or all outside: one next
// hop is kept for them.
static bool sources_are(const struct matrix_host *d, const struct matrix_host *s, bool near)
{
	struct ip_addr last = source_addr(&d->src_addr, d->src_count, d->src_count - 1);

	return d->src_count == 0 || (ip_same_net(&s->addr, &d->src_addr, s->prefix_len) == near &&
				     ip_same_net(&s->addr, &last, s->prefix_len) == near);
}

static int reach_check(const struct matrix *m, uint32_t src, uint32_t dst, struct err *e)
{
	const struct matrix_host *s = &m->host[src], *d = &m->host[dst];
	char from[IP_STR_MAX], to[IP_STR_MAX];

	if (ip_is4(&s->addr) != ip_is4(&d->addr))
		return pos_fail(m->file, d->at.addr, e,
				"addr '%s': host '%s' at %s is of the other family: expected both "
				"IPv4 or both IPv6",
				ip_str(&d->addr, to, sizeof(to)), s->name,
				ip_str(&s->addr, from, sizeof(from)));
	bool near = ip_same_net(&s->addr, &d->addr, s->prefix_len);
	if (!sources_are(d, s, near))
		return pos_fail(m->file, d->at.addrs, e,
				"addrs: host '%s' reaches some of them by a gateway and '%s' "
				"without, or the other way round: expected all to be in one subnet "
				"of '%s/%u'",
				s->name, ip_str(&d->addr, to, sizeof(to)),
				ip_str(&s->addr, from, sizeof(from)), s->prefix_len);
	if (near || !ip_none(&s->gateway))
		return 0;
	return pos_fail(
		m->file, s->at.addr, e,
		"addr '%s/%u': host '%s' at %s is in another subnet: expected the same one, or "
		"a 'gateway:' for host '%s'",
		ip_str(&s->addr, from, sizeof(from)), s->prefix_len, d->name,
		ip_str(&d->addr, to, sizeof(to)), s->name);
}

// The source's ports of a pair: dynamic ones, and never the port that answers. Pairs differ in an
// address, so every 4-tuple is its own with the same ports in each.
static uint16_t sport_decide(uint16_t udp_port)
{
	return (uint16_t)(udp_port < SPORT_DYNAMIC ? SPORT_DYNAMIC : SPORT_DYNAMIC - SPORTS);
}

struct cursor { // what the next flow of a host takes, each way
	uint32_t tx_slot, tx_stream, rx_slot, rx_stream;
};

// Counters by size are held and written for each flow.
static int counts_check(const struct matrix *m, const struct cursor *cursor, struct err *e)
{
	size_t sizes = (req_mix(m) > 0 ? mix_size_count(&m->traffic.req_mix) : 0) +
		       (rep_mix(m) > 0 ? mix_size_count(&m->traffic.rep_mix) : 0);
	struct pos pos = req_mix(m) > 0 ? m->traffic.at.request : m->traffic.at.reply;
	size_t flows = 0;

	for (size_t i = 0; i < m->host_count; i++) {
		const struct cursor *c = &cursor[i];
		size_t n = c->tx_slot > c->rx_slot ? c->tx_slot : c->rx_slot;

		flows = n > flows ? n : flows;
	}
	if (flows * sizes <= MIX_COUNTS_MAX)
		return 0;
	return pos_fail(m->file, pos, e,
			"%zu sizes: a host with %zu flows would count by %zu: expected at most %u, "
			"by fewer sizes or a larger step",
			sizes, flows, flows * sizes, MIX_COUNTS_MAX);
}

static int cursor_check(const struct matrix *m, const struct matrix_host *h, uint32_t flows,
			uint32_t streams, struct err *e)
{
	struct pos pos = m->traffic.at.streams.line != 0 ? m->traffic.at.streams : h->pos;

	if (flows > FLOWS_MAX)
		return pos_fail(m->file, h->pos, e, "host '%s': more than %d flows each way",
				h->name, FLOWS_MAX);
	if (streams > STREAMS_MAX)
		return pos_fail(
			m->file, pos, e,
			"streams %u: host '%s' comes to more than %u of them over its flows: "
			"expected fewer",
			m->traffic.streams, h->name, STREAMS_MAX);
	return 0;
}

static int flow_decide(const struct plan_input *in, const struct plan *p, const struct pair *pair,
		       struct cursor *cursor, struct plan_flow *f, struct err *e)
{
	const struct matrix *m = in->matrix;
	struct cursor *s = &cursor[pair->src], *d = &cursor[pair->dst];
	double pps = 0;
	int ret = reach_check(m, pair->src, pair->dst, e);

	if (ret == 0) // replies go by the responder's own routes
		ret = reach_check(m, pair->dst, pair->src, e);
	for (int i = 0; ret == 0 && i < 2; i++) {
		const struct hostcfg *c = &p->host[i == 0 ? pair->src : pair->dst];

		ret = size_check(m, "request", m->traffic.req_bytes, m->traffic.at.request, c, e);
		if (ret == 0)
			ret = size_check(m, "reply", m->traffic.rep_bytes, m->traffic.at.reply, c,
					 e);
	}
	if (ret == 0)
		ret = mtu_check(m, "request", m->traffic.req_bytes, m->traffic.at.request,
				&p->host[pair->src], &p->host[pair->dst], e);
	if (ret == 0)
		ret = mtu_check(m, "reply", m->traffic.rep_bytes, m->traffic.at.reply,
				&p->host[pair->dst], &p->host[pair->src], e);
	if (ret == 0)
		ret = plan_rate(in, p, pair, &pps, e);
	if (ret < 0)
		return ret;
	*f = (struct plan_flow){
		.src = pair->src,
		.dst = pair->dst,
		.layer = pair->layer,
		.req_bytes = m->traffic.req_bytes,
		.rep_bytes = m->traffic.rep_bytes,
		.rate_pps = pps,
		.dscp = pair->dscp,
		.streams = m->traffic.streams,
		.sport_first = sport_decide(m->traffic.port),
		.tx_slot = s->tx_slot++,
		.rx_slot = d->rx_slot++,
		.tx_first = s->tx_stream,
		.rx_first = d->rx_stream,
	};
	s->tx_stream += f->streams;
	d->rx_stream += f->streams;
	ret = cursor_check(m, &m->host[f->src], s->tx_slot, s->tx_stream, e);
	return ret < 0 ? ret : cursor_check(m, &m->host[f->dst], d->rx_slot, d->rx_stream, e);
}

// A window bounds what no rate does.
static int window_check(const struct matrix *m, const struct plan *p, struct err *e)
{
	if (m->traffic.window == 0)
		return 0;
	for (size_t i = 0; i < p->flow_count; i++)
		if (p->flow[i].rate_pps == RATE_UNPACED)
			return 0;
	return pos_fail(m->file, m->traffic.at.window, e,
			"window %u: every pair has a rate, which a window cannot bound: expected "
			"'rate: max', or no window",
			m->traffic.window);
}

// What spreads requests over time needs a rate to do it with.
static int pacing_check(const struct matrix *m, const struct plan *p, struct err *e)
{
	const struct {
		const char *key;
		struct pos pos;
		bool said;
	} key[] = {
		{ "burst", m->traffic.at.burst, m->traffic.pacing.burst > 1 },
		{ "spacing", m->traffic.at.spacing, m->traffic.pacing.spacing != SPACING_EVEN },
		{ "ramp", m->traffic.at.ramp, m->traffic.pacing.ramp.over_ns > 0 },
	};

	for (size_t i = 0; i < p->flow_count; i++)
		if (p->flow[i].rate_pps != RATE_UNPACED)
			return 0;
	for (size_t i = 0; i < sizeof(key) / sizeof(key[0]); i++)
		if (key[i].said)
			return pos_fail(m->file, key[i].pos, e,
					"%s: every pair is unpaced, and sends what its port takes: "
					"expected a rate, or no %s",
					key[i].key, key[i].key);
	return 0;
}

static int flows_decide(const struct plan_input *in, struct plan *p, struct cursor *cursor,
			struct err *e)
{
	struct pair *pair;
	size_t count;
	int ret = pattern_build(in->matrix, in->excluded, &pair, &count, e);

	if (ret < 0)
		return ret;
	p->flow = calloc(count, sizeof(*p->flow));
	if (p->flow == NULL)
		ret = err_set(e, ENOMEM, "%s: out of memory for %zu flows", in->matrix->file,
			      count);
	for (size_t i = 0; ret == 0 && i < count; i++)
		ret = flow_decide(in, p, &pair[i], cursor, &p->flow[i], e);
	p->flow_count = count;
	free(pair);
	if (ret == 0)
		ret = window_check(in->matrix, p, e);
	return ret < 0 || in->excluded != NULL ? ret : pacing_check(in->matrix, p, e);
}

static int flow_share(const struct matrix *m, struct plan *p, const struct plan_flow *f)
{
	struct flow_tx *tx = &p->host[f->src].tx[f->tx_slot];
	struct flow_rx *rx = &p->host[f->dst].rx[f->rx_slot];
	const struct matrix_host *s = &m->host[f->src];
	bool many = s->src_count > 0;

	*tx = (struct flow_tx){
		.peer_addr = m->host[f->dst].addr,
		.req_bytes = f->req_bytes,
		.rep_bytes = f->rep_bytes,
		.req_mix = req_mix(m),
		.rep_mix = rep_mix(m),
		.dscp = f->dscp,
		.rate_pps = f->rate_pps,
		.window = f->rate_pps == RATE_UNPACED ? m->traffic.window : 0,
		.streams = f->streams,
		.sport_first = f->sport_first,
		.tx_first = f->tx_first,
		.peer_rx_first = f->rx_first,
		.layer = f->layer,
	};
	*rx = (struct flow_rx){
		.peer_addr = many ? s->src_addr : s->addr,
		.peer_sources = many ? s->src_count : 1,
		.req_bytes = f->req_bytes,
		.rep_bytes = f->rep_bytes,
		.req_mix = req_mix(m),
		.rep_mix = rep_mix(m),
		.dscp = f->dscp,
		.streams = f->streams,
		.sport_first = f->sport_first,
		.rx_first = f->rx_first,
		.peer_tx_first = f->tx_first,
		.layer = f->layer,
	};
	memcpy(tx->peer, m->host[f->dst].name, sizeof(tx->peer));
	memcpy(rx->peer, m->host[f->src].name, sizeof(rx->peer));
	int ret = steer_peer(&p->host[f->src], &p->host[f->dst], &tx->peer_steer);
	return ret < 0 ? ret : steer_peer(&p->host[f->dst], &p->host[f->src], &rx->peer_steer);
}

// Every flow into the configs of both its ends.
static int flows_share(struct plan *p, const struct cursor *cursor, struct err *e)
{
	for (size_t i = 0; i < p->host_count; i++) {
		struct hostcfg *c = &p->host[i];

		c->tx_count = cursor[i].tx_slot;
		c->rx_count = cursor[i].rx_slot;
		if (c->tx_count > 0)
			c->tx = calloc(c->tx_count, sizeof(*c->tx));
		if (c->rx_count > 0)
			c->rx = calloc(c->rx_count, sizeof(*c->rx));
		if ((c->tx_count > 0 && c->tx == NULL) || (c->rx_count > 0 && c->rx == NULL))
			return err_set(e, ENOMEM, "%s: out of memory for the flows of host '%s'",
				       p->matrix->file, c->host);
	}
	for (size_t i = 0; i < p->flow_count; i++)
		if (flow_share(p->matrix, p, &p->flow[i]) < 0)
			return err_set(e, ENOMEM, "%s: out of memory", p->matrix->file);
	return 0;
}

int plan_build(const struct plan_input *in, struct plan *p, struct err *e)
{
	size_t n = in->matrix->host_count;
	struct cursor *cursor = calloc(n, sizeof(*cursor));
	int ret = 0;

	*p = (struct plan){
		.matrix = in->matrix,
		.host = calloc(n, sizeof(*p->host)),
		.host_count = n,
		.layers = pattern_layers(in->matrix),
	};
	if (cursor == NULL || p->host == NULL)
		ret = err_set(e, ENOMEM, "%s: out of memory", in->matrix->file);
	if (ret == 0)
		ret = hosts_fill(in, p, e);
	if (ret == 0)
		ret = flows_decide(in, p, cursor, e);
	if (ret == 0)
		ret = counts_check(in->matrix, cursor, e);
	if (ret == 0 && !in->flows_only)
		ret = flows_share(p, cursor, e);
	free(cursor);
	if (ret < 0)
		plan_free(p);
	return ret;
}

void plan_free(struct plan *p)
{
	for (size_t i = 0; p->host != NULL && i < p->host_count; i++)
		hostcfg_free(&p->host[i]);
	free(p->host);
	free(p->flow);
	*p = (struct plan){ 0 };
}

// Templates and expectations of frames that are not plain.
#include "queue.h"

#include "steer.h"

#include <rte_malloc.h>

#include <errno.h>
#include <string.h>

static struct frame_spec spec_of(const struct queue *q, const struct queue_env *env,
				 const struct ip_addr *src, const struct ip_addr *dst,
				 enum pmx_kind kind)
{
	uint16_t port = env->cfg->udp_port;
	return (struct frame_spec){
		.tci = { q->tci[0], q->tci[1] },
		.src = *src,
		.dst = *dst,
		.ttl = env->cfg->ttl,
		.sport = kind == PMX_REPLY ? port : 0,
		.dport = kind == PMX_REQUEST ? port : 0,
		.cookie = env->cfg->cookie,
		.kind = kind,
	};
}

static struct any_expect expect_build(const struct queue *q, const struct queue_env *env,
				      const struct ip_addr *peer, const struct ip_addr *own,
				      enum pmx_kind kind)
{
	struct frame_spec s = spec_of(q, env, peer, own, kind);
	struct any_expect e;
	struct head h;
	s.dst_mac = env->mac;
	any_template(&h, &q->at, &s);
	h.b[q->at.ttl] = 0; // the first that comes tells
	memcpy(&e, h.b, sizeof(e));
	return e;
}

// The folded sum over what does not change, or the pseudo-header's for a NIC; without lengths.
static void put_sum(const struct queue *q, struct head *h)
{
	uint16_t sum =
		q->csum_hw ? head_pseudo_csum(h->b, &q->at) : csum_fold(head_udp_sum(h->b, &q->at));
	memcpy(h->b + q->at.udp + offsetof(struct rte_udp_hdr, dgram_cksum), &sum, sizeof(sum));
}

static void reply_build(const struct queue *q, const struct queue_env *env, const struct flow_rx *f,
			struct any_flow *to)
{
	struct ip_addr peer = f->peer_addr;
	memset(peer.b + 12, 0, sizeof(rte_be32_t)); // the stream's
	struct frame_spec s = spec_of(q, env, &q->addr, &peer, PMX_REPLY);
	s.src_mac = env->mac;
	s.dscp = f->dscp;
	any_template(&to->reply, &q->at, &s);
	to->sum = csum_fold(head_udp_sum(to->reply.b, &q->at));
	put_sum(q, &to->reply);
}

// The sizes of a flow: those of a mix, or one. *place goes on by what is taken.
static struct sizes sizes_of(const struct queue *q, struct size **place, uint32_t mix,
			     uint32_t payload_bytes)
{
	if (mix > 0)
		return q->any.mix[mix - 1];
	**place = any_size(&q->at, &q->by, payload_bytes);
	return (struct sizes){ .cycle = 1, .count = 1, .size = (*place)++ };
}

static uint32_t counted(const struct sizes *z)
{
	return z->turn != NULL ? z->count : 0;
}

static void flow_sizes(const struct queue *q, struct any_flow *to, struct size **place,
		       uint32_t req_mix, uint32_t req_bytes, uint32_t rep_mix, uint32_t rep_bytes,
		       uint32_t *counts)
{
	to->request_sizes = sizes_of(q, place, req_mix, req_bytes);
	to->reply_sizes = sizes_of(q, place, rep_mix, rep_bytes);
	to->counts[0] = *counts;
	to->counts[1] = *counts + counted(&to->request_sizes);
	*counts = to->counts[1] + counted(&to->reply_sizes);
}

static int mixes_build(struct queue *q, const struct queue_env *env)
{
	const struct hostcfg *cfg = env->cfg;
	struct any *a = &q->any;
	size_t sizes = 0, places = 0;
	for (size_t i = 0; i < cfg->mix_count; i++) {
		sizes += mix_size_count(&cfg->mix[i]);
		places += cfg->mix[i].cycle->count;
	}
	a->mix = queue_table(cfg->mix_count, sizeof(*a->mix), env->socket);
	a->mix_size = queue_table(sizes, sizeof(*a->mix_size), env->socket);
	a->turn = queue_table(places, sizeof(*a->turn), env->socket);
	if (a->mix == NULL || a->mix_size == NULL || a->turn == NULL)
		return -ENOMEM;
	sizes = places = 0;
	for (size_t i = 0; i < cfg->mix_count; i++) {
		a->mix[i] = any_sizes(&q->at, &q->by, &cfg->mix[i], a->mix_size + sizes,
				      a->turn + places);
		if (a->mix[i].count == 0)
			return -ENOMEM;
		sizes += a->mix[i].count;
		places += a->mix[i].cycle;
	}
	return 0;
}

static int lows_build(struct queue *q, const struct queue_env *env)
{
	const struct hostcfg *cfg = env->cfg;
	struct any *a = &q->any;
	a->low[PMX_REQUEST] = queue_table(q->rx_stream_count, sizeof(rte_be32_t), env->socket);
	a->low[PMX_REPLY] = queue_table(q->tx_stream_all, sizeof(rte_be32_t), env->socket);
	if (a->low[PMX_REQUEST] == NULL || a->low[PMX_REPLY] == NULL)
		return -ENOMEM;
	for (enum pmx_kind kind = PMX_REQUEST; kind <= PMX_REPLY; kind++)
		a->low_at[kind] = any_low_at(&q->at, kind);
	for (size_t i = 0; i < cfg->rx_count; i++) {
		const struct flow_rx *f = &cfg->rx[i];
		for (uint32_t s = 0; s < f->streams; s++) {
			struct ip_addr from =
				source_addr(&f->peer_addr, f->peer_sources, f->peer_tx_first + s);
			a->low[PMX_REQUEST][f->rx_first + s] = any_low(&from);
		}
	}
	for (uint32_t s = 0; s < q->tx_stream_all; s++) {
		struct ip_addr own = hostcfg_source(cfg, s);
		a->low[PMX_REPLY][s] = any_low(&own);
	}
	return 0;
}

int queue_any_build(struct queue *q, const struct queue_env *env)
{
	const struct hostcfg *cfg = env->cfg;
	struct any *a = &q->any;
	struct size *place;
	a->tx = queue_table(q->tx_stream_count, sizeof(*a->tx), env->socket);
	a->tx_flow = queue_table(cfg->tx_count, sizeof(*a->tx_flow), env->socket);
	a->rx_flow = queue_table(cfg->rx_count, sizeof(*a->rx_flow), env->socket);
	a->size = place =
		queue_table(2 * (cfg->tx_count + cfg->rx_count), sizeof(*place), env->socket);
	if (a->tx == NULL || a->tx_flow == NULL || a->rx_flow == NULL || a->size == NULL ||
	    mixes_build(q, env) != 0 || lows_build(q, env) != 0)
		return -ENOMEM;
	const struct ip_addr own = hostcfg_source(cfg, 0);
	for (enum pmx_kind kind = PMX_REQUEST; kind <= PMX_REPLY; kind++)
		a->mask[kind] = any_mask(&q->at, kind);
	for (size_t i = 0; i < cfg->tx_count; i++) {
		const struct flow_tx *f = &cfg->tx[i];
		a->tx_flow[i].expect = expect_build(q, env, &f->peer_addr, &own, PMX_REPLY);
		a->tx_flow[i].shift = f->tx_first - f->peer_rx_first;
		flow_sizes(q, &a->tx_flow[i], &place, f->req_mix, f->req_bytes, f->rep_mix,
			   f->rep_bytes, &a->tx_counts);
	}
	for (size_t i = 0; i < cfg->rx_count; i++) {
		const struct flow_rx *f = &cfg->rx[i];
		a->rx_flow[i].expect = expect_build(q, env, &f->peer_addr, &cfg->addr, PMX_REQUEST);
		flow_sizes(q, &a->rx_flow[i], &place, f->req_mix, f->req_bytes, f->rep_mix,
			   f->rep_bytes, &a->rx_counts);
		reply_build(q, env, f, &a->rx_flow[i]);
	}
	return 0;
}

void queue_any_request(struct queue *q, const struct queue_env *env, uint32_t at, uint32_t flow,
		       uint32_t stream)
{
	const struct flow_tx *f = &env->cfg->tx[flow];
	struct ip_addr own = hostcfg_source(env->cfg, f->tx_first + stream);
	struct frame_spec s = spec_of(q, env, &own, &f->peer_addr, PMX_REQUEST);
	s.src_mac = env->mac;
	s.dscp = f->dscp;
	s.sport = steer_port(env->tx_port, f->tx_first, f->sport_first, stream);
	s.stream = f->peer_rx_first + stream;
	any_template(&q->any.tx[at], &q->at, &s);
	put_sum(q, &q->any.tx[at]);
}

void queue_any_free(struct queue *q)
{
	rte_free(q->any.tx);
	rte_free(q->any.tx_flow);
	rte_free(q->any.rx_flow);
	rte_free(q->any.size);
	rte_free(q->any.mix);
	rte_free(q->any.mix_size);
	rte_free(q->any.turn);
	rte_free(q->any.low[PMX_REQUEST]);
	rte_free(q->any.low[PMX_REPLY]);
}

// Templates and expectations of frames that are not plain.
#include "queue.h"

#include <rte_malloc.h>

#include <errno.h>
#include <string.h>

static void *table(size_t n, size_t size, int socket)
{
	return rte_zmalloc_socket(NULL, (n ? n : 1) * size, RTE_CACHE_LINE_SIZE, socket);
}

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
				      const struct ip_addr *peer, enum pmx_kind kind)
{
	struct frame_spec s = spec_of(q, env, peer, &q->addr, kind);
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
	struct frame_spec s = spec_of(q, env, &q->addr, &f->peer_addr, PMX_REPLY);
	s.src_mac = env->mac;
	s.dscp = f->dscp;
	any_template(&to->reply, &q->at, &s);
	to->sum = csum_fold(head_udp_sum(to->reply.b, &q->at));
	put_sum(q, &to->reply);
}

static struct sizes one_size(const struct queue *q, struct size *place, uint32_t payload_bytes)
{
	*place = any_size(&q->at, payload_bytes);
	return (struct sizes){ .cycle = 1, .size = place };
}

int queue_any_build(struct queue *q, const struct queue_env *env)
{
	const struct hostcfg *cfg = env->cfg;
	struct any *a = &q->any;
	struct size *place;
	a->tx = table(q->tx_stream_count, sizeof(*a->tx), env->socket);
	a->tx_flow = table(cfg->tx_count, sizeof(*a->tx_flow), env->socket);
	a->rx_flow = table(cfg->rx_count, sizeof(*a->rx_flow), env->socket);
	a->size = place = table(2 * (cfg->tx_count + cfg->rx_count), sizeof(*place), env->socket);
	if (a->tx == NULL || a->tx_flow == NULL || a->rx_flow == NULL || a->size == NULL)
		return -ENOMEM;
	for (enum pmx_kind kind = PMX_REQUEST; kind <= PMX_REPLY; kind++)
		a->mask[kind] = any_mask(&q->at, kind);
	for (size_t i = 0; i < cfg->tx_count; i++) {
		const struct flow_tx *f = &cfg->tx[i];
		a->tx_flow[i].expect = expect_build(q, env, &f->peer_addr, PMX_REPLY);
		a->tx_flow[i].request_sizes = one_size(q, place++, f->req_bytes);
		a->tx_flow[i].reply_sizes = one_size(q, place++, f->rep_bytes);
	}
	for (size_t i = 0; i < cfg->rx_count; i++) {
		const struct flow_rx *f = &cfg->rx[i];
		a->rx_flow[i].expect = expect_build(q, env, &f->peer_addr, PMX_REQUEST);
		a->rx_flow[i].request_sizes = one_size(q, place++, f->req_bytes);
		a->rx_flow[i].reply_sizes = one_size(q, place++, f->rep_bytes);
		reply_build(q, env, f, &a->rx_flow[i]);
	}
	return 0;
}

void queue_any_request(struct queue *q, const struct queue_env *env, uint32_t at, uint32_t flow,
		       uint32_t stream)
{
	const struct flow_tx *f = &env->cfg->tx[flow];
	struct frame_spec s = spec_of(q, env, &q->addr, &f->peer_addr, PMX_REQUEST);
	s.src_mac = env->mac;
	s.dscp = f->dscp;
	s.sport = (uint16_t)(f->sport_first + stream);
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
}

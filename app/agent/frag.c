// What a queue has for fragments: pools, zeros, the table, the peers.
#include "frag.h"

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_malloc.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BUCKET_ENTRIES 4
#define POOL_CACHE 128
#define DATAGRAM_BYTES 65535

static struct rte_mempool *pool(const struct queue *q, const struct queue_env *env, const char *of,
				uint32_t n, uint16_t data_room)
{
	char name[RTE_MEMPOOL_NAMESIZE];
	snprintf(name, sizeof(name), "pmx_%s_%u", of, q->id);
	return rte_pktmbuf_pool_create(name, n, POOL_CACHE, 0, data_room, env->socket);
}

static int open_out(struct queue *q, const struct queue_env *env)
{
	struct frag_out *o = &q->frag->out;
	uint32_t pieces = footprint_pieces(env->txd);
	o->mtu = (uint16_t)sender_ip_mtu(&q->by);
	o->linear = !env->multi_segs;
	o->id = env->fragment_id + q->id;
	o->id_step = env->cfg->port.queues;
	o->heads =
		pool(q, env, "heads", pieces, o->linear ? env->data_room : FOOTPRINT_PIECE_BYTES);
	o->refs = pool(q, env, "refs", 2 * pieces, 0);
	o->zero_bytes = (uint16_t)(rte_pktmbuf_data_room_size(q->tx_pool) - RTE_PKTMBUF_HEADROOM);
	while (o->zeros * o->zero_bytes < DATAGRAM_BYTES && o->zeros < FRAG_ZEROS) {
		o->zero[o->zeros] = rte_pktmbuf_alloc(q->tx_pool);
		if (o->zero[o->zeros] == NULL)
			return -ENOMEM;
		o->zeros++;
	}
	return o->heads != NULL && o->refs != NULL ? 0 : -ENOMEM;
}

int frag_peer_cmp(const void *a, const void *b)
{
	return ip_cmp(a, b);
}

static int open_in(struct queue *q, const struct queue_env *env)
{
	const struct hostcfg *cfg = env->cfg;
	struct frag_in *in = &q->frag->in;
	in->timeout = (uint64_t)(FRAG_TIMEOUT_NS / 1e9 * (double)rte_get_tsc_hz());
	in->table = rte_ip_frag_table_create(FOOTPRINT_DATAGRAMS, BUCKET_ENTRIES,
					     FOOTPRINT_DATAGRAMS, in->timeout, env->socket);
	size_t most = cfg->tx_count;
	for (size_t i = 0; i < cfg->rx_count; i++)
		most += RTE_MAX(cfg->rx[i].peer_sources, 1u);
	in->peer = calloc(most + 1, sizeof(*in->peer));
	if (in->table == NULL || in->peer == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < cfg->tx_count; i++)
		in->peer[in->peers++] = cfg->tx[i].peer_addr;
	for (size_t i = 0; i < cfg->rx_count; i++)
		for (uint32_t k = 0; k < RTE_MAX(cfg->rx[i].peer_sources, 1u); k++)
			in->peer[in->peers++] =
				source_addr(&cfg->rx[i].peer_addr, cfg->rx[i].peer_sources, k);
	qsort(in->peer, in->peers, sizeof(*in->peer), frag_peer_cmp);
	return 0;
}

int frag_open(struct queue *q, const struct queue_env *env, struct err *e)
{
	q->frag = rte_zmalloc_socket(NULL, sizeof(*q->frag), RTE_CACHE_LINE_SIZE, env->socket);
	if (q->frag == NULL || open_out(q, env) != 0 || open_in(q, env) != 0)
		return err_set(e, ENOMEM,
			       "queue %u: no memory for fragments (%s): reserve more "
			       "hugepages or set fewer queues or rings",
			       q->id, rte_strerror(rte_errno));
	return 0;
}

void frag_free(struct queue *q)
{
	struct frag *f = q->frag;
	if (f == NULL)
		return;
	rte_pktmbuf_free_bulk(f->out.piece + f->out.first, f->out.count);
	rte_pktmbuf_free_bulk(f->out.zero, f->out.zeros);
	if (f->in.table != NULL)
		rte_ip_frag_table_destroy(f->in.table);
	free(f->in.peer);
	rte_mempool_free(f->out.refs);
	rte_mempool_free(f->out.heads);
	rte_free(f);
	q->frag = NULL;
}

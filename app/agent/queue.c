#include "queue.h"

#include "arrival.h"
#include "frag.h"
#include "rx.h"
#include "steer.h"
#include "trial.h"

#include <rte_errno.h>
#include <rte_malloc.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PUNT_FRAMES 256
#define NEAR_BYTES (256u << 10) // of streams: well within a second-level cache
#define POOL_CACHE 256

uint32_t queue_trial_count(const struct hostcfg *cfg)
{
	return cfg->warmup_ns > 0 ? 2 : 1;
}

// Histograms are many and mostly untouched: pages come as they are used, from the lcore's node.
static void *sparse_alloc(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	madvise(p, bytes, MADV_HUGEPAGE);
	return p;
}

static struct hist *hists_alloc(size_t n)
{
	struct hist *h = sparse_alloc(n * sizeof(*h));
	for (size_t i = 0; h != NULL && i < n; i++)
		h[i].min_ns = UINT64_MAX;
	return h;
}

static void hists_free(struct hist *h, size_t n)
{
	if (h != NULL)
		munmap(h, n * sizeof(*h));
}

// The payload behind the header stays zero for good: requests only ever write the header.
static void zero_payload(struct rte_mempool *mp, void *arg, void *obj, unsigned int i)
{
	struct rte_mbuf *m = obj;
	(void)mp, (void)arg, (void)i;
	memset(rte_pktmbuf_mtod(m, void *), 0, rte_pktmbuf_tailroom(m));
}

static struct rte_mempool *pool_create(const struct queue_env *env, uint16_t id, bool rx,
				       struct err *e)
{
	char name[RTE_MEMPOOL_NAMESIZE];
	uint32_t n = footprint_mbufs(env->rxd, env->txd, rx, hostcfg_fragments(env->cfg));
	snprintf(name, sizeof(name), "pmx_%s_%u", rx ? "rx" : "tx", id);
	struct rte_mempool *mp =
		rte_pktmbuf_pool_create(name, n, POOL_CACHE, 0, env->data_room, env->socket);
	if (mp == NULL)
		err_set(e, ENOMEM,
			"queue %u: no memory for %u mbufs of %u bytes (%s): reserve more hugepages "
			"or "
			"set fewer queues or rings",
			id, n, env->data_room, rte_strerror(rte_errno));
	else if (!rx)
		rte_mempool_obj_iter(mp, zero_payload, NULL);
	return mp;
}

void *queue_table(size_t n, size_t size, int socket)
{
	return rte_zmalloc_socket(NULL, (n ? n : 1) * size, RTE_CACHE_LINE_SIZE, socket);
}

static int alloc_tables(struct queue *q, const struct hostcfg *cfg, int socket)
{
	q->tx = queue_table(q->tx_stream_count, sizeof(*q->tx), socket);
	q->reply = queue_table(q->tx_stream_all, sizeof(*q->reply), socket);
	q->request = queue_table(q->rx_stream_count, sizeof(*q->request), socket);
	q->tx_addr = queue_table(cfg->tx_count, sizeof(*q->tx_addr), socket);
	q->rx_addr = queue_table(cfg->rx_count, sizeof(*q->rx_addr), socket);
	q->tx_flow = queue_table(cfg->tx_count, sizeof(*q->tx_flow), socket);
	q->rx_flow = queue_table(cfg->rx_count, sizeof(*q->rx_flow), socket);
	q->tx_mark = queue_table(q->tx_stream_count, sizeof(*q->tx_mark), socket);
	q->reply_mark = queue_table(q->tx_stream_all, sizeof(*q->reply_mark), socket);
	q->request_mark = queue_table(q->rx_stream_count, sizeof(*q->request_mark), socket);
	q->trial = queue_table(q->trial_count, sizeof(*q->trial), socket);
	q->layer = queue_table(q->layer_count, sizeof(*q->layer), socket);
	if (q->tx == NULL || q->reply == NULL || q->request == NULL || q->tx_flow == NULL ||
	    q->rx_flow == NULL || q->tx_addr == NULL || q->rx_addr == NULL || q->tx_mark == NULL ||
	    q->reply_mark == NULL || q->request_mark == NULL || q->trial == NULL ||
	    q->layer == NULL)
		return -ENOMEM;
	return 0;
}

// Only the measured trial keeps a histogram per flow; the warm-up's go to one that nobody reads.
static int alloc_trials(struct queue *q)
{
	for (uint32_t i = 0; i < q->trial_count; i++) {
		struct queue_trial *t = &q->trial[i];
		bool measured = i + 1 == q->trial_count;
		t->rtt_stride = measured;
		t->tx = calloc(q->tx_flow_count + 1, sizeof(*t->tx));
		t->rx = calloc(q->rx_flow_count + 1, sizeof(*t->rx));
		t->tx_size = calloc(q->any.tx_counts + 1, sizeof(*t->tx_size));
		t->rx_size = calloc(q->any.rx_counts + 1, sizeof(*t->rx_size));
		if (q->any.tx_counts > 0)
			t->run = calloc(q->tx_stream_count + 1, sizeof(*t->run));
		t->rtt = hists_alloc(measured ? q->tx_flow_count + 1 : 1);
		t->lateness = hists_alloc(1);
		if (t->tx == NULL || t->rx == NULL || t->rtt == NULL || t->lateness == NULL ||
		    t->tx_size == NULL || t->rx_size == NULL ||
		    (t->run == NULL && q->any.tx_counts > 0))
			return -ENOMEM;
	}
	return 0;
}

// What frames from `peer` to us must be.
static struct expect expect_build(const struct queue_env *env, const struct ip_addr *peer,
				  uint32_t payload, enum pmx_kind kind)
{
	struct expect e;
	struct frame f;
	uint16_t port = env->cfg->udp_port;
	frame_build(&f, &(struct frame_spec){
				.dst_mac = env->mac,
				.src = *peer,
				.dst = env->cfg->addr,
				.sport = kind == PMX_REPLY ? port : 0,
				.dport = kind == PMX_REQUEST ? port : 0,
				.payload_bytes = payload,
				.cookie = env->cfg->cookie,
				.kind = kind,
			});
	f.ip.time_to_live = 0; // the first that comes tells
	memcpy(&e, &f, 2 * sizeof(e.part[0]));
	memcpy(&e.part[2], (const uint8_t *)&f + EXPECT_LAST_AT, sizeof(e.part[2]));
	return e;
}

static uint32_t stream_words(uint32_t stream)
{
	uint32_t be = rte_cpu_to_be_32(stream);
	return (be & 0xffff) + (be >> 16);
}

// New words less old ones, in ones' complement (RFC 1624).
static uint16_t turn_sum(uint32_t request_stream, uint32_t reply_stream)
{
	uint64_t gone = stream_words(request_stream) + PMX_VERKIND(PMX_REQUEST);
	uint64_t come = stream_words(reply_stream) + PMX_VERKIND(PMX_REPLY);
	return csum_fold(come + (uint16_t)~csum_fold(gone));
}

static void build_reply(struct rx_flow *r, const struct queue_env *env, const struct flow_rx *f)
{
	struct frame reply;
	frame_build(&reply, &(struct frame_spec){
				    .src_mac = env->mac,
				    .src = env->cfg->addr,
				    .dst = f->peer_addr,
				    .dscp = f->dscp,
				    .ttl = env->cfg->ttl,
				    .sport = env->cfg->udp_port,
				    .payload_bytes = f->rep_bytes,
				    .cookie = env->cfg->cookie,
				    .kind = PMX_REPLY,
			    });
	r->sum = (uint32_t)frame_udp_sum(&reply);
	if (env->csum_hw)
		reply.udp.dgram_cksum = frame_pseudo_csum(&reply);
	memcpy(r->reply, &reply, sizeof(r->reply));
}

static void build_requests(struct queue *q, const struct queue_env *env)
{
	const struct hostcfg *cfg = env->cfg;
	for (uint32_t i = 0; i < cfg->rx_count; i++) {
		const struct flow_rx *f = &cfg->rx[i];
		struct rx_flow *r = &q->rx_flow[i];
		q->rx_addr[i] = f->peer_addr;
		r->request = expect_build(env, &f->peer_addr, f->req_bytes, PMX_REQUEST);
		build_reply(r, env, f);
		r->request_len = frame_len(f->req_bytes);
		r->reply_len = frame_len(f->rep_bytes);
		r->same_size = f->req_bytes == f->rep_bytes;
		for (uint32_t s = 0; s < f->streams; s++)
			q->request[f->rx_first + s] = (struct rx_stream){
				.port = rte_cpu_to_be_16(
					steer_port(env->rx_port, f->rx_first, f->sport_first, s)),
				.flow = i,
				.trial = NO_TRIAL,
				.peer_stream = rte_cpu_to_be_32(f->peer_tx_first + s),
				.turn = turn_sum(f->rx_first + s, f->peer_tx_first + s),
			};
	}
}

static void build_replies(struct queue *q, const struct queue_env *env)
{
	const struct hostcfg *cfg = env->cfg;
	for (uint32_t i = 0; i < cfg->tx_count; i++) {
		const struct flow_tx *f = &cfg->tx[i];
		q->tx_addr[i] = f->peer_addr;
		q->tx_flow[i].reply = expect_build(env, &f->peer_addr, f->rep_bytes, PMX_REPLY);
		q->tx_flow[i].reply_len = frame_len(f->rep_bytes);
		for (uint32_t s = 0; s < f->streams; s++)
			q->reply[f->tx_first + s] = (struct rx_stream){
				.port = rte_cpu_to_be_16(
					steer_port(env->tx_port, f->tx_first, f->sport_first, s)),
				.flow = i,
				.trial = NO_TRIAL,
				.owner = (f->tx_first + s) % cfg->port.queues,
			};
	}
}

static void build_request(struct tx_stream *t, const struct queue_env *env, bool csum_hw,
			  uint32_t flow, uint32_t s)
{
	const struct flow_tx *f = &env->cfg->tx[flow];
	struct frame frame;
	frame_build(&frame,
		    &(struct frame_spec){
			    .src_mac = env->mac,
			    .src = env->cfg->addr,
			    .dst = f->peer_addr,
			    .dscp = f->dscp,
			    .ttl = env->cfg->ttl,
			    .sport = steer_port(env->tx_port, f->tx_first, f->sport_first, s),
			    .dport = env->cfg->udp_port,
			    .payload_bytes = f->req_bytes,
			    .cookie = env->cfg->cookie,
			    .kind = PMX_REQUEST,
			    .stream = f->peer_rx_first + s,
		    });
	t->stream_lo = frame.pmx.stream[1];
	t->flow = flow;
	t->frame_len = frame_len(f->req_bytes);
	frame.pmx.stream[1] = 0; // added with the tail it is stored in
	frame.udp.dgram_cksum =
		csum_hw ? frame_pseudo_csum(&frame) : csum_fold(frame_udp_sum(&frame));
	memcpy(t->head, &frame, sizeof(t->head));
}

// Of sending: by layer, then by rate, then one stream of each peer in turn, from a rotated start.
// Pairs with a window stand behind, by layer, each in one piece.
struct order {
	double rate;
	uint32_t window, layer, s, turn, flow;
};

static int order_cmp(const void *a, const void *b)
{
	const struct order *x = a, *y = b;
	if ((x->window > 0) != (y->window > 0))
		return x->window > 0 ? 1 : -1;
	if (x->layer != y->layer)
		return x->layer < y->layer ? -1 : 1;
	if (x->window > 0 && x->flow != y->flow)
		return x->flow < y->flow ? -1 : 1;
	if (x->rate != y->rate)
		return x->rate < y->rate ? -1 : 1;
	if (x->s != y->s)
		return x->s < y->s ? -1 : 1;
	return x->turn < y->turn ? -1 : x->turn > y->turn;
}

static struct order *order_streams(const struct hostcfg *cfg, uint16_t id, uint32_t *count)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < cfg->tx_count; i++)
		n += cfg->tx[i].streams;
	struct order *o = calloc(n + 1, sizeof(*o));
	if (o == NULL)
		return NULL;
	*count = 0;
	for (uint32_t i = 0; i < cfg->tx_count; i++) {
		const struct flow_tx *f = &cfg->tx[i];
		for (uint32_t s = 0; s < f->streams; s++) {
			if ((f->tx_first + s) % cfg->port.queues != id)
				continue;
			o[(*count)++] = (struct order){
				.rate = flow_stream_rate(f),
				.window = f->window,
				.layer = f->layer,
				.s = s,
				.turn = (uint32_t)((i + cfg->tx_count -
						    cfg->host_index % cfg->tx_count) %
						   cfg->tx_count),
				.flow = i,
			};
		}
	}
	qsort(o, *count, sizeof(*o), order_cmp);
	return o;
}

// Streams whose gaps are uniform cannot share a group (arrival.h).
static bool new_group(const struct hostcfg *cfg, const struct order *o, uint32_t i)
{
	return i == 0 || o[i].rate != o[i - 1].rate || o[i].layer != o[i - 1].layer ||
	       (cfg->pacing.spacing == SPACING_UNIFORM && o[i].rate != RATE_UNPACED);
}

static int build_groups(struct queue *q, const struct hostcfg *cfg, const struct order *o,
			uint32_t n)
{
	uint32_t groups = 0, paced = 0;
	while (paced < n && o[paced].window == 0)
		groups += new_group(cfg, o, paced++);
	if (pace_alloc(&q->pace, groups) != 0)
		return -ENOMEM;
	if (!pacing_is_plain(&cfg->pacing) &&
	    arrival_alloc(&q->pace, &cfg->pacing, q->phase_index) != 0)
		return -ENOMEM;
	groups = 0;
	for (uint32_t i = 0; i < paced; i++) {
		struct queue_layer *l = &q->layer[o[i].layer];
		if (new_group(cfg, o, i)) {
			q->pace.group[groups].first = i;
			if (l->count++ == 0)
				l->first = groups;
			groups++;
		}
		q->pace.group[groups - 1].count++;
	}
	return 0;
}

// This queue's share of a pair's window: places follow the streams.
static uint32_t window_share(const struct flow_tx *f, const struct hostcfg *cfg, uint16_t id)
{
	uint32_t share = 0;
	for (uint32_t i = 0; i < f->window; i++)
		share += (f->tx_first + i % f->streams) % cfg->port.queues == id;
	return share;
}

static int build_windows(struct queue *q, const struct hostcfg *cfg, const struct order *o,
			 uint32_t n)
{
	uint32_t groups = 0, first = 0;
	while (first < n && o[first].window == 0)
		first++;
	for (uint32_t i = first; i < n; i++)
		groups += i == first || o[i].flow != o[i - 1].flow;
	for (uint32_t i = 0; i < cfg->tx_count; i++)
		q->tx_flow[i].window = NO_WINDOW;
	if (window_alloc(&q->window, groups, q->layer_count, q->id) != 0)
		return -ENOMEM;
	groups = 0;
	for (uint32_t i = first; i < n; i++) {
		struct window_group *g = &q->window.group[groups];
		struct window_layer *l = &q->window.layer[o[i].layer];
		if (i == first || o[i].flow != o[i - 1].flow) {
			g->first = i;
			g->limit = window_share(&cfg->tx[o[i].flow], cfg, q->id);
			q->tx_flow[o[i].flow].window = groups;
			if (l->count++ == 0)
				l->first = groups;
			groups++;
		}
		q->window.group[groups - 1].count++;
	}
	return window_fill(&q->window);
}

// Fragments have no ports: their queue is another than that of the stream's whole frames.
static int build_window_streams(struct queue *q, const struct hostcfg *cfg, const struct order *o,
				uint32_t n)
{
	if (q->window.group_count == 0 || cfg->port.queues == 1 || !hostcfg_fragments(cfg))
		return 0;
	if (window_streams(&q->window, q->tx_stream_all) != 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		q->window.stream[cfg->tx[o[i].flow].tx_first + o[i].s].group =
			q->tx_flow[o[i].flow].window;
	return 0;
}

static uint32_t count_streams(const struct hostcfg *cfg, bool tx)
{
	uint32_t n = 0;
	for (uint32_t i = 0; tx && i < cfg->tx_count; i++)
		n += cfg->tx[i].streams;
	for (uint32_t i = 0; !tx && i < cfg->rx_count; i++)
		n += cfg->rx[i].streams;
	return n;
}

static int queue_build(struct queue *q, const struct queue_env *env, struct err *e)
{
	const struct hostcfg *cfg = env->cfg;
	struct order *o = order_streams(cfg, q->id, &q->tx_stream_count);
	int r = o == NULL ? -ENOMEM : 0;
	q->tx_stream_all = count_streams(cfg, true);
	q->rx_stream_count = count_streams(cfg, false);
	if (r == 0)
		r = alloc_tables(q, cfg, env->socket);
	if (r == 0 && !q->plain)
		r = queue_any_build(q, env);
	if (r == 0)
		r = alloc_trials(q);
	if (r == 0)
		r = build_groups(q, cfg, o, q->tx_stream_count);
	if (r == 0)
		r = build_windows(q, cfg, o, q->tx_stream_count);
	if (r == 0)
		r = build_window_streams(q, cfg, o, q->tx_stream_count);
	if (r == 0) {
		for (uint32_t i = 0; i < q->tx_stream_count; i++) {
			build_request(&q->tx[i], env, q->csum_hw, o[i].flow, o[i].s);
			if (!q->plain)
				queue_any_request(q, env, i, o[i].flow, o[i].s);
		}
		q->prefetch =
			(q->tx_stream_all + q->rx_stream_count) * sizeof(*q->reply) > NEAR_BYTES;
		q->table[PMX_REQUEST] = (struct rx_table){ q->request, q->rx_stream_count };
		q->table[PMX_REPLY] = (struct rx_table){ q->reply, q->tx_stream_all };
		q->table[0] = q->table[3] = (struct rx_table){ q->request, 0 };
		build_replies(q, env);
		build_requests(q, env);
	}
	free(o);
	if (r != 0)
		err_set(e, ENOMEM, "queue %u: no memory for %u + %u streams", q->id,
			q->tx_stream_all, q->rx_stream_count);
	return r;
}

struct queue *queue_create(const struct queue_env *env, uint16_t id, struct err *e)
{
	const struct hostcfg *cfg = env->cfg;
	struct queue *q = rte_zmalloc_socket(NULL, sizeof(*q), 64, env->socket);
	if (q == NULL) {
		err_set(e, ENOMEM, "queue %u: no memory: reserve hugepages", id);
		return NULL;
	}
	q->port = env->port;
	q->id = id;
	q->burst = cfg->port.burst;
	q->cookie_be = rte_cpu_to_be_16(cfg->cookie);
	q->udp_port_be = rte_cpu_to_be_16(cfg->udp_port);
	q->addr = cfg->addr;
	q->src_addr = cfg->src_addr;
	q->src_count = cfg->src_count;
	q->at = layout_of(cfg);
	q->by = hostcfg_sender(cfg);
	q->plain = layout_is_plain(cfg);
	q->shift = (uint16_t)(q->at.pmx - FRAME_HDR_BYTES);
	layout_tci(cfg, q->tci);
	memcpy(&q->mac48, &env->mac, RTE_ETHER_ADDR_LEN);
	q->csum_hw = env->csum_hw;
	q->idle = cfg->idle;
	q->stamp_each = cfg->stamp_each;
	q->trial_count = queue_trial_count(cfg);
	q->rotation = cfg->rotation;
	q->layer_count = RTE_MAX(cfg->rotation.layers, 1u);
	q->tx_flow_count = (uint32_t)cfg->tx_count;
	q->rx_flow_count = (uint32_t)cfg->rx_count;
	q->phase_index = cfg->host_index * cfg->port.queues + id;
	q->shared = env->shared;

	char name[RTE_RING_NAMESIZE];
	snprintf(name, sizeof(name), "pmx_punt_%u", id);
	q->punt = rte_ring_create(name, PUNT_FRAMES, env->socket, RING_F_SP_ENQ | RING_F_SC_DEQ);
	snprintf(name, sizeof(name), "pmx_inject_%u", id);
	q->inject = rte_ring_create(name, PUNT_FRAMES, env->socket, RING_F_SP_ENQ | RING_F_SC_DEQ);
	q->rx_pool = pool_create(env, id, true, e);
	if (q->rx_pool != NULL)
		q->tx_pool = pool_create(env, id, false, e);
	if (q->tx_pool != NULL && (q->punt == NULL || q->inject == NULL))
		err_set(e, ENOMEM, "queue %u: no memory for its rings", id);
	if (q->punt == NULL || q->inject == NULL || q->tx_pool == NULL ||
	    queue_build(q, env, e) != 0 || (hostcfg_fragments(cfg) && frag_open(q, env, e) != 0)) {
		queue_destroy(q);
		return NULL;
	}
	return q;
}

int queue_sequences_get(const struct queue *q, const struct hostcfg *cfg, uint32_t *seq)
{
	uint32_t n;
	struct order *o = order_streams(cfg, q->id, &n);
	if (o == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		seq[cfg->tx[o[i].flow].tx_first + o[i].s] = (uint32_t)q->tx[i].seq;
	free(o);
	return 0;
}

int queue_sequences_set(struct queue *q, const struct hostcfg *cfg, const uint32_t *seq)
{
	uint32_t n;
	struct order *o = order_streams(cfg, q->id, &n);
	if (o == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		q->tx[i].seq = q->tx_mark[i] = seq[cfg->tx[o[i].flow].tx_first + o[i].s];
	for (uint32_t i = 0; i < q->tx_stream_all; i++)
		q->reply[i].next = q->reply[i].run = seq[i];
	for (uint32_t i = 0; q->window.stream != NULL && i < q->tx_stream_all; i++)
		q->window.stream[i].next = seq[i];
	free(o);
	return 0;
}

void queue_take_macs(struct queue *q)
{
	const struct agent_shared *s = q->shared;
	for (uint32_t i = 0; i < q->tx_stream_count; i++)
		put_mac(queue_head(q, i),
			atomic_load_explicit(&s->tx_mac[q->tx[i].flow], memory_order_relaxed));
	for (uint32_t i = 0; i < q->rx_flow_count; i++)
		put_mac(queue_reply(q, i),
			atomic_load_explicit(&s->rx_mac[i], memory_order_relaxed));
}

static void free_trials(struct queue *q)
{
	for (uint32_t i = 0; q->trial != NULL && i < q->trial_count; i++) {
		struct queue_trial *t = &q->trial[i];
		free(t->tx);
		free(t->rx);
		free(t->tx_size);
		free(t->rx_size);
		free(t->run);
		hists_free(t->rtt, i + 1 == q->trial_count ? q->tx_flow_count + 1 : 1);
		hists_free(t->lateness, 1);
	}
}

void queue_destroy(struct queue *q)
{
	if (q == NULL)
		return;
	for (uint32_t i = 0; i < q->out_count; i++)
		rte_pktmbuf_free(q->out[q->out_head + i]);
	free_trials(q);
	pace_free(&q->pace);
	window_free(&q->window);
	rte_free(q->tx);
	rte_free(q->reply);
	rte_free(q->request);
	rte_free(q->tx_addr);
	rte_free(q->rx_addr);
	queue_any_free(q);
	frag_free(q);
	rte_free(q->tx_flow);
	rte_free(q->rx_flow);
	rte_free(q->tx_mark);
	rte_free(q->reply_mark);
	rte_free(q->request_mark);
	rte_free(q->trial);
	rte_free(q->layer);
	rte_ring_free(q->punt);
	rte_ring_free(q->inject);
	rte_mempool_free(q->rx_pool);
	rte_mempool_free(q->tx_pool);
	rte_free(q);
}

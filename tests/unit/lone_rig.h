// A queue whose port is two rings, a frame at a time, for the tests of frames that come alone.
#pragma once

#include "lone.h"
#include "queue.h"
#include "trial.h"

#include "plain.h"

#include <rte_eth_ring.h>

#include <stdlib.h>
#include <string.h>

#define ADDR 0xc6120001u // 198.18.0.1
#define PEER 0xc6120002u
#define PORT 5300
#define STREAMS 3u
#define FIRST_PORT 50000
#define PEER_FIRST 70000
#define PEER_PORT 40000
#define PEER_MAC48 0x020000000002 // 02:00:00:00:00:02 in memory order
#define PEER_TX_FIRST 0x12345u
#define TX_ROOM 4

static const struct rte_ether_addr own_mac = { { 2, 0, 0, 0, 0, 1 } };

struct rig {
	_Atomic uint64_t tx_mac[2], rx_mac[1];
	struct hostcfg cfg;
	struct agent_shared shared;
	struct flow_tx tx[2];
	struct flow_rx rx;
	struct rte_ring *in, *out; // what the port receives, what it sent
	struct queue *q;
	uint32_t mbufs; // free in both pools
};

static inline uint32_t free_mbufs(const struct queue *q)
{
	return rte_mempool_avail_count(q->rx_pool) + rte_mempool_avail_count(q->tx_pool);
}

static inline void port_open(struct rig *r)
{
	static int made;
	char name[32];
	struct rte_eth_conf conf = { 0 };
	snprintf(name, sizeof(name), "in%d", made);
	r->in = rte_ring_create(name, 64, SOCKET_ID_ANY, RING_F_EXACT_SZ);
	snprintf(name, sizeof(name), "out%d", made);
	r->out = rte_ring_create(name, TX_ROOM, SOCKET_ID_ANY, RING_F_EXACT_SZ);
	assert_non_null(r->in);
	assert_non_null(r->out);
	snprintf(name, sizeof(name), "port%d", made++);
	int port = rte_eth_from_rings(name, &r->in, 1, &r->out, 1, 0);
	assert_true(port >= 0);
	r->q->port = (uint16_t)port;
	assert_int_equal(rte_eth_dev_configure(r->q->port, 1, 1, &conf), 0);
	assert_int_equal(rte_eth_rx_queue_setup(r->q->port, 0, 64, 0, NULL, r->q->rx_pool), 0);
	assert_int_equal(rte_eth_tx_queue_setup(r->q->port, 0, 64, 0, NULL), 0);
	assert_int_equal(rte_eth_dev_start(r->q->port), 0);
}

// pairs: one, or two to the same peer, of `window` places each; they begin with sequence `first`.
static inline struct rig *rig_make_from(uint32_t bytes, uint32_t window, size_t pairs,
					uint32_t first)
{
	struct rig *r = calloc(1, sizeof(*r));
	uint32_t seq[2 * STREAMS];
	struct err e = { 0 };
	assert_non_null(r);
	for (size_t i = 0; i < pairs; i++)
		r->tx[i] = (struct flow_tx){ .peer = "b",
					     .peer_addr = IP4(PEER),
					     .req_bytes = bytes,
					     .rep_bytes = bytes,
					     .rate_pps = RATE_UNPACED,
					     .window = window,
					     .streams = STREAMS,
					     .sport_first = (uint16_t)(FIRST_PORT + i * STREAMS),
					     .tx_first = (uint32_t)i * STREAMS,
					     .peer_rx_first = PEER_FIRST };
	r->rx = (struct flow_rx){ .peer = "b",
				  .peer_addr = IP4(PEER),
				  .req_bytes = bytes,
				  .rep_bytes = bytes,
				  .streams = STREAMS,
				  .sport_first = PEER_PORT,
				  .peer_tx_first = PEER_TX_FIRST };
	r->cfg = (struct hostcfg){ .cookie = 0xabcd,
				   .host_count = 2,
				   .addr = IP4(ADDR),
				   .prefix_len = 24,
				   .ttl = 64,
				   .udp_port = PORT,
				   .duration_ns = 1000000000,
				   .drain_ns = 1000000000,
				   .tx = r->tx,
				   .tx_count = pairs,
				   .rx = &r->rx,
				   .rx_count = 1 };
	r->cfg.port.queues = 1;
	r->cfg.port.burst = 32;
	r->q = queue_create(&(struct queue_env){ .cfg = &r->cfg,
						 .shared = &r->shared,
						 .rxd = 64,
						 .txd = 64,
						 .data_room = 2176,
						 .mac = own_mac },
			    0, &e);
	assert_non_null(r->q);
	r->shared.queue[0] = r->q;
	r->q->windowed = true;
	port_open(r);
	r->mbufs = free_mbufs(r->q);
	for (uint32_t i = 0; i < 2 * STREAMS; i++)
		seq[i] = first;
	assert_int_equal(queue_sequences_set(r->q, &r->cfg, seq), 0);
	r->tx_mac[0] = r->tx_mac[1] = r->rx_mac[0] = PEER_MAC48;
	r->shared.tx_mac = r->tx_mac;
	r->shared.rx_mac = r->rx_mac;
	queue_take_macs(r->q);
	queue_arm(r->q, &r->cfg, 0, 1e9);
	r->shared.armed = true;
	r->q->boundary = r->q->next_event = trial_step(r->q, 1000);
	assert_true(r->q->sending);
	return r;
}

static inline struct rig *rig_make(uint32_t bytes, uint32_t window, size_t pairs)
{
	return rig_make_from(bytes, window, pairs, 0);
}

static inline void rig_drop(struct rig *r)
{
	assert_int_equal(free_mbufs(r->q), r->mbufs);
	rte_eth_dev_stop(r->q->port);
	rte_eth_dev_close(r->q->port);
	queue_destroy(r->q);
	rte_ring_free(r->in);
	rte_ring_free(r->out);
	free(r);
}

// A turn of the worker's loop. The clock of a poll is the real one: the trial is made to last.
static inline void turn(struct rig *r)
{
	uint64_t now = 0;
	r->q->next_event = r->q->pace.end = UINT64_MAX;
	rx_poll(r->q, &now, true);
	tx_due(r->q, now, true);
	out_flush(r->q);
	rx_release(r->q);
	if (r->q->lone_last != 0)
		lone_prepare(r->q);
}

static inline struct rte_mbuf *sent(struct rig *r)
{
	void *m = NULL;
	return rte_ring_dequeue(r->out, &m) == 0 ? m : NULL;
}

static inline void arrive(struct rig *r, struct rte_mbuf *m)
{
	assert_int_equal(rte_ring_enqueue(r->in, m), 0);
}

// As the peer's agent sends it: the request of one of its streams, and the reply to one of ours.
static inline struct rte_mbuf *request_made(struct rig *r, uint32_t stream, uint32_t seq)
{
	struct frame_spec s = { .src_mac = { { 2, 0, 0, 0, 0, 2 } },
				.dst_mac = own_mac,
				.src = IP4(PEER),
				.dst = IP4(ADDR),
				.sport = (uint16_t)(PEER_PORT + stream),
				.dport = PORT,
				.payload_bytes = r->rx.req_bytes,
				.cookie = r->cfg.cookie,
				.kind = PMX_REQUEST,
				.stream = stream };
	return mbuf_made(r->q, &s, 0, seq, 1000);
}

static inline struct rte_mbuf *reply_made(struct rig *r, uint32_t stream, uint32_t seq,
					  uint64_t tsc)
{
	struct frame_spec s = { .src_mac = { { 2, 0, 0, 0, 0, 2 } },
				.dst_mac = own_mac,
				.src = IP4(PEER),
				.dst = IP4(ADDR),
				.sport = PORT,
				.dport = (uint16_t)(FIRST_PORT + stream),
				.payload_bytes = r->tx[0].rep_bytes,
				.cookie = r->cfg.cookie,
				.kind = PMX_REPLY,
				.stream = stream };
	return mbuf_made(r->q, &s, 0, seq, tsc);
}

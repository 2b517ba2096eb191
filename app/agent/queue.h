// Everything one lcore owns: one RX/TX queue pair of the port, its streams, schedule and counters.
// Written by its lcore alone once the worker runs; the fields marked so are read by the main
// thread.
#pragma once

#include "any.h"
#include "by_size.h"
#include "frame.h"
#include "pace.h"
#include "seqwin.h"
#include "window.h"

#include "footprint.h"
#include "hist.h"
#include "hostcfg.h"
#include "result.h"

#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_ring.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

// Frames that wait for the PMD: more than the ring of any peer holds of requests.
#define QUEUE_OUT FOOTPRINT_OUT
#define OUT_SLOTS (2 * QUEUE_OUT)

#define NO_TRIAL UINT16_MAX

// A stream's frame up to the pmx header's sequence, as it is copied into each request, and its
// state. One cache line; groups send their streams in memory order. The UDP checksum field of
// `head` holds the folded sum over all that does not change (software) or the pseudo-header's
// (hardware).
struct tx_stream {
	uint8_t head[48];   // Ethernet .. first half of the stream index
	uint16_t stream_lo; // second half, big-endian
	uint16_t frame_len;
	uint32_t flow;
	uint64_t seq; // of the next request, from 0 or where it went on; 32 bits of it travel
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct tx_stream) == 64, "one cache line");

// The receiving end of a stream: of requests at the responder, of replies at the requester.
struct rx_stream {
	uint32_t flow;
	rte_be16_t port; // the requester's port
	uint16_t turn; // what a turn-round adds to the checksum: kind and stream index (responder)
	union {
		rte_be32_t peer_stream; // index that goes into the reply (responder)
		uint32_t owner;		// queue that sends the stream's requests (requester)
	};
	uint32_t next;	// sequence expected
	uint32_t run;	// all from here to `next` came in order and are not in `seen` yet
	uint16_t trial; // open, that `recv - mark` counts for; NO_TRIAL = none
	uint16_t begun; // a packet came
	uint64_t recv;	// distinct packets, but for stragglers of an older trial
	uint64_t seen[SEQWIN_WORDS];
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct rx_stream) == 64, "one cache line");

// What a flow's frames must be from the first byte to the cookie: bytes 0, 16 and 28 on, compared
// under masks that leave out what may differ.
#define EXPECT_LAST_AT 28
struct expect {
	vec128 part[3];
};

// Of the frames that came from a peer, over the whole run. The expectations hold the TTL that came
// last, so that only a change costs anything.
struct ttl_range {
	uint8_t min, max; // max 0 = none came
};

struct rx_flow { // responder, one peer
	struct expect request;
	uint8_t reply[48]; // template: Ethernet .. first half of the stream index; ports, checksum
			   // and what is the stream's are 0, with csum_hw the pseudo-header's sum
			   // stands
	uint32_t sum;	   // UDP checksum over what does not change; the payload adds nothing
	uint16_t request_len; // frame bytes without FCS
	uint16_t reply_len;
	bool same_size; // payload is echoed, checksum updated (RFC 1624)
	struct ttl_range ttl;
} __attribute__((aligned(64)));

struct tx_flow { // requester, one peer
	struct expect reply;
	uint16_t reply_len; // frame bytes without FCS
	struct ttl_range ttl;
	uint32_t window; // its entry in window.group; NO_WINDOW = open loop
} __attribute__((aligned(64)));

// One trial of the run, as this queue lives it.
struct queue_trial {
	uint64_t start, end, close; // TSC
	bool closed;
	struct tx_counts *tx;	    // [tx_flow_count], owned
	struct rx_counts *rx;	    // [rx_flow_count], owned
	struct tx_by_size *tx_size; // [any.tx_counts], owned
	struct rx_by_size *rx_size; // [any.rx_counts], owned
	struct tx_run *run;	    // [tx_stream_count], owned; NULL without mixes
	struct hist *rtt;	    // [tx_flow_count] with stride 1, or one for all with stride 0
	uint32_t rtt_stride;
	struct hist *lateness;
	struct queue_counts counts;	// totals at the start; once closed, the trial's own
	struct queue_counts counts_end; // totals when sending ended
};

// The groups of one layer of the rotation, a range of pace.group.
struct queue_layer {
	uint32_t first, count;
};

// What the next lone frame of a kind must be, and what leaves when it is (lone.h).
struct lone {
	vec128 want[4];				 // bytes 0, 16, 28 and 44 on, under masks
	uint8_t out[32];			 // what leaves: its first bytes,
	uint64_t out_28, out_36, out_44, out_52; // and the words from there on; 0 where put in
	uint64_t sum;		  // UDP checksum over all but the clock (of the next request)
	struct rx_stream *stream; // that the frame is of; NULL = nothing is ready
	struct tx_stream *next;	  // whose request leaves; NULL = none may
	struct window_group *group;
	uint32_t at, step, first, end; // stream index of the last; how the next follows
	uint16_t len, turn;
};

struct frag;

struct queue {
	// --- read only while traffic runs
	uint16_t port, id, burst, cookie_be, udp_port_be;
	uint64_t mac48; // of the port, in memory order
	bool csum_hw, stamp_each;
	bool windowed; // some pair of the port has a window
	bool prefetch; // streams are too many for the near caches
	enum idle_policy idle;
	uint32_t tx_stream_count, tx_stream_all, rx_stream_count, tx_flow_count, rx_flow_count;
	uint32_t trial_count;
	uint64_t ns_mult;     // ns = tsc * ns_mult >> 32
	uint64_t grace;	      // TSC that a backlog may be sent after a trial's end
	uint32_t phase_index; // among all queues of all hosts
	struct rte_mempool *rx_pool, *tx_pool;
	struct tx_stream *tx;	   // [tx_stream_count] of this queue, by group
	struct rx_stream *reply;   // [tx_stream_all] by stream index: replies may land on any queue
	struct rx_stream *request; // [rx_stream_count]
	struct rx_table {
		struct rx_stream *stream;
		uint32_t count;
	} table[4]; // the two above, by enum pmx_kind; the others are empty
	struct tx_flow *tx_flow;
	struct rx_flow *rx_flow;
	struct queue_trial *trial;		       // [trial_count]
	uint64_t *tx_mark, *reply_mark, *request_mark; // counts already booked to a trial
	struct rte_ring *punt;			       // ARP and ICMP to the main thread
	struct rte_ring *inject;		       // frames of the main thread, to be sent
	const struct agent_shared *shared;
	struct rotation rotation;
	uint32_t layer_count;	   // 1 without a rotation
	struct queue_layer *layer; // [layer_count], owned
	double tsc_per_ns;
	uint64_t rotation_start; // TSC; before the measured trial's where that was joined
	struct layout at;
	struct sender by;
	bool plain;	// untagged IPv4 of one size each way: the fast half does
	uint16_t shift; // of the pmx header against a plain frame's
	uint16_t tci[FRAME_TAGS_MAX];
	struct ip_addr addr, *tx_addr, *rx_addr; // own; of the peers by flow
	struct ip_addr src_addr;		 // src_count own ones from here on that ask
	uint32_t src_count;
	struct any any;	   // where it does not
	struct frag *frag; // where a datagram is more than one frame; owned

	// --- receive: the last burst, and how much of it goes back to the pool
	__attribute__((aligned(64))) struct rte_mbuf *in[BURST_MAX];
	uint32_t in_done;
	struct lone lone[4]; // by enum pmx_kind
	uint32_t lone_last;  // kind of the lone frame that came last; 0 = it was made ready for the
			     // next
	struct hist *lone_rtt; // takes lone_tsc when the mbuf goes back; NULL = none
	uint64_t lone_tsc;

	// --- send
	__attribute__((aligned(64))) struct pace pace;
	struct window window;
	bool sending;
	bool stopped;		     // the stop was applied
	uint32_t current;	     // trial that sends, or will next
	uint64_t dwell, dwell_first; // of that trial: the rotation's number; ends with pace.end
	uint64_t boundary;	     // of a trial: the next that is known, UINT64_MAX = none
	uint64_t next_event; // TSC of the next look at trials, neighbours and the main thread
	uint32_t neigh_seen; // generation of the neighbours in the templates
	uint32_t out_head, out_count, out_old;
	struct rte_mbuf *out[OUT_SLOTS];

	// --- counters: read by the main thread
	__attribute__((aligned(64))) struct queue_counts total;
	uint64_t drop[DROP_REASONS];
	uint64_t first_tx; // TSC of the first request; 0 = none
	_Atomic uint32_t closed_trials;
} __attribute__((aligned(64)));

// What the main thread tells all lcores.
struct agent_shared {
	_Atomic bool armed;	   // the trials' TSC are set
	_Atomic uint64_t stop_tsc; // no request is due after it; 0 = not stopped, set once
	_Atomic bool quit;
	_Atomic uint32_t neigh_generation;
	_Atomic uint64_t *tx_mac;	 // [tx_flow_count] next hop's MAC in memory order
	_Atomic uint64_t *rx_mac;	 // [rx_flow_count]
	struct queue *queue[LCORES_MAX]; // for credits that come in on another queue
};

struct queue_env { // of the port, the same for every queue
	const struct hostcfg *cfg;
	const struct agent_shared *shared;
	uint16_t port;
	int socket;
	uint16_t rxd, txd, data_room;
	bool csum_hw, multi_segs;
	uint32_t fragment_id; // of the first datagram; queues count apart
	struct rte_ether_addr mac;
	const uint16_t *tx_port, *rx_port; // steer.h
};

// Builds queue `id` with its pools and tables on env->socket's memory; NULL with an error that
// names what did not fit. queue_destroy ends it, after the port was stopped.
struct queue *queue_create(const struct queue_env *env, uint16_t id, struct err *e);
// Trials (TSC of their boundaries), rates and the clock's scale; before `armed` is set.
void queue_arm(struct queue *q, const struct hostcfg *cfg, uint64_t start_tsc, double tsc_hz);
// After queue_arm: `gone` cycles of the run are over at its start; what is left of the trials
// begins there, those that are over are empty.
void queue_skip(struct queue *q, uint64_t gone);
// The next sequence of each stream that the queue sends, by stream index: out of the queue into
// seq[], and back into a queue that has not been armed yet. 0 or -ENOMEM.
int queue_sequences_get(const struct queue *q, const struct hostcfg *cfg, uint32_t *seq);
int queue_sequences_set(struct queue *q, const struct hostcfg *cfg, const uint32_t *seq);
void queue_destroy(struct queue *q);
// New MACs of the next hops, from shared; by the queue's lcore.
void queue_take_macs(struct queue *q);
uint32_t queue_trial_count(const struct hostcfg *cfg);

// Where a plain frame would begin for its UDP and pmx headers to stand where those of m do.
static inline struct frame *queue_frame(const struct queue *q, const struct rte_mbuf *m)
{
	return (struct frame *)(void *)(rte_pktmbuf_mtod(m, uint8_t *) + q->shift);
}

// What stream i's requests begin with.
static inline uint8_t *queue_head(const struct queue *q, uint32_t i)
{
	return q->plain ? q->tx[i].head : q->any.tx[i].b;
}

// What flow i's replies begin with.
static inline uint8_t *queue_reply(const struct queue *q, uint32_t i)
{
	return q->plain ? q->rx_flow[i].reply : q->any.rx_flow[i].reply.b;
}

// Zeros on the socket's memory, for rte_free; some also for n = 0. NULL on no memory.
void *queue_table(size_t n, size_t size, int socket);
// Frames that are not plain, queue_any.c: tables and expectations, and the template of a stream.
int queue_any_build(struct queue *q, const struct queue_env *env);
void queue_any_request(struct queue *q, const struct queue_env *env, uint32_t at, uint32_t flow,
		       uint32_t stream);
void queue_any_free(struct queue *q);

// How many counters by size a flow has.
static inline uint32_t queue_flow_sizes(const struct any_flow *f)
{
	return (f->request_sizes.turn != NULL ? f->request_sizes.count : 0) +
	       (f->reply_sizes.turn != NULL ? f->reply_sizes.count : 0);
}

// The requester's index of a stream that this queue sends, by its place in tx[]; not plain.
static inline uint32_t queue_tx_index(const struct queue *q, uint32_t i)
{
	rte_be32_t in_request;
	memcpy(&in_request, q->any.tx[i].b + q->at.pmx + offsetof(struct pmx_hdr, stream),
	       sizeof(in_request));
	return rte_be_to_cpu_32(in_request) + q->any.tx_flow[q->tx[i].flow].shift;
}

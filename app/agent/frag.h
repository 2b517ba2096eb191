// Datagrams of more than one frame, by DPDK's rte_ip_frag.
//
// Out: in the out ring a datagram is one mbuf that holds its headers and says its whole length; the
// payload is zeros, of which a queue has some to refer to. It is cut when its turn comes and stays
// in the ring until the port took its last fragment: then it was sent.
//
// In: fragments of the plan's peers wait in a table of fixed size for the others of their datagram.
// Who does not know the run's cookie gets no place in it.
#pragma once

#include "queue.h"

#include <rte_ip_frag.h>

#define FRAG_TIMEOUT_NS 250e6 // less than 65,536 datagrams of a pair take: ids of IPv4 come again
#define FRAG_ZEROS 40	      // mbufs of zeros: 64 KB of the smallest

struct frag_out {
	struct rte_mempool *heads, *refs; // of fragments: their headers, and what refers to data
	struct rte_mbuf *zero[FRAG_ZEROS];
	uint32_t zeros;
	uint16_t zero_bytes; // of each
	uint16_t mtu;	     // of IP
	bool linear;	     // the port takes one segment a frame only
	uint32_t id, id_step;
	// of the datagram at the head of the ring, what the port did not take yet
	struct rte_mbuf *piece[DATAGRAM_FRAMES_MAX];
	uint32_t first, count;
	bool begun; // some of it is gone
};

struct frag_in {
	struct rte_ip_frag_tbl *table;
	struct rte_ip_frag_death_row dead;
	uint64_t timeout, expire_next; // TSC
	struct ip_addr *peer;	       // owned, sorted
	size_t peers;
};

struct frag {
	struct frag_out out;
	struct frag_in in;
};

// For a queue whose pools are there; q->frag afterwards. 0, or an error that names what there is no
// memory for. frag_free ends it, after the port was stopped; without, it does nothing.
int frag_open(struct queue *q, const struct queue_env *env, struct err *e);
void frag_free(struct queue *q);
// The order of frag_in.peer, struct ip_addr: for qsort and bsearch.
int frag_peer_cmp(const void *a, const void *b);

// Of the n frames in q->in, puts fragments aside and in the place of a datagram's last one all of
// it, in segments. Returns how many frames there are then. `now`: TSC.
uint32_t frag_take(struct queue *q, uint32_t n, uint64_t now);
// Gives up datagrams that are incomplete for too long.
void frag_expire(struct queue *q, uint64_t now);

// As out_flush: offers all that waits, and returns how many datagrams the port took to the last
// fragment.
uint32_t frag_flush(struct queue *q);
// The datagram at the head of the ring leaves it unsent, whatever of it is gone.
void frag_forget(struct queue *q);

// The datagrams of one queue that are not whole yet.
//
// A datagram is known from its first fragment on, which shows the run's cookie and a stream. Until
// then it is early: its fragments say nothing but an address and an id, which anyone can write. So
// early ones have a budget of their own. When it is spent, the oldest of who holds more than an
// equal share of it goes; known datagrams lose nothing to them.
#pragma once

#include "ip_addr.h"

#include "datagram.h"
#include "footprint.h"

#include <rte_mbuf.h>

#include <sys/queue.h>

#define FRAG_ENTRIES (FOOTPRINT_DATAGRAMS + FOOTPRINT_EARLY)
#define FRAG_BUCKETS 1024
#define FRAG_STALE 8 // of the timeout: 1/8 of it, and a newer datagram may take a known one's place

struct frag_datagram;
TAILQ_HEAD(frag_list, frag_datagram);

// Who sends fragments to this queue.
struct frag_peer {
	struct ip_addr addr; // first: that of bsearch
	uint32_t most;	     // bytes that its largest datagram has behind IP's headers
	uint32_t early;	     // fragments of early datagrams
	struct frag_list list;
};

// A fragment behind its headers.
struct frag_piece {
	struct frag_peer *peer;
	uint32_t id;
	uint32_t at, len;
	uint32_t total; // of the first (at 0): what UDP says of all of it
	bool more;
};

struct frag_part {
	struct rte_mbuf *m;
	uint16_t at, len;
	bool more;
	bool early; // came before the first, so that what comes after it goes before this
};

struct frag_datagram {
	TAILQ_ENTRY(frag_datagram) next;    // of those known, early or free; oldest first
	TAILQ_ENTRY(frag_datagram) of_peer; // early ones
	struct frag_datagram *bucket_next;
	struct frag_peer *peer;
	uint32_t id, bucket;
	uint64_t since; // TSC: opened, or known
	uint32_t total; // 0 = early
	uint32_t have;
	uint32_t count;
	struct frag_part part[DATAGRAM_FRAMES_MAX];
};

struct frag_table {
	struct frag_datagram entry[FRAG_ENTRIES];
	struct frag_datagram *bucket[FRAG_BUCKETS];
	struct frag_list known, early, unused;
	uint32_t known_count;
	uint32_t early_count; // fragments
	uint32_t early_peers; // that have some
	uint32_t seed;
	uint64_t timeout; // TSC
	uint64_t dropped; // fragments
};

// t: all zeros. Entries are found by a hash that nobody can aim at who does not know the seed.
void frag_table_open(struct frag_table *t, uint64_t timeout, uint32_t seed);
// Frees what waits.
void frag_table_close(struct frag_table *t);
void frag_peer_open(struct frag_peer *p);
// By address, which may stand for a peer: for qsort and bsearch.
int frag_peer_cmp(const void *a, const void *b);

// Takes m, one segment: a first fragment with its headers, another one without. Returns all of the
// datagram when it is whole, in segments behind the first one's headers; else NULL.
struct rte_mbuf *frag_table_add(struct frag_table *t, struct rte_mbuf *m,
				const struct frag_piece *p, uint64_t now);
// Gives up what waits for longer than the timeout.
void frag_table_expire(struct frag_table *t, uint64_t now);

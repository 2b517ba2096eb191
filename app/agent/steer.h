// The source ports of a flow's streams, so chosen that
//   a request arrives on queue (index at the responder) modulo (its queues), and
//   a reply arrives on queue (index at the requester) modulo (its queues), the one that asked,
// where that end's queue hangs on ports by a rule that both ends know (struct steer). Both ends
// choose alike: a pure function of what the plan told either. Whatever the ports then do at a NIC,
// frames are known by their stream, so nothing is lost where a rule does not hold.
#pragma once

#include "hostcfg.h"

#include <stdbool.h>
#include <stdint.h>

// A queue is an entry of the redirection table, which is indexed by the low bits of the hash. Entry
// i names queue (i modulo slots) modulo queues, so that the same low bits tell the queue whatever
// the table's size is, if only it is a multiple of the slots.
#define STEER_SLOTS_MAX 128u
static inline uint16_t steer_queue(uint32_t hash, uint16_t queues)
{
	// the smallest tables of NICs with so many queues
	uint32_t slots = queues <= STEER_SLOTS_MAX / 2 ? STEER_SLOTS_MAX / 2 : STEER_SLOTS_MAX;
	return (uint16_t)(hash % slots % queues);
}

struct steer_end {
	const struct steer *by; // NULL = ports have no say
	uint32_t first;		// index of stream 0 at this end
};

struct steer_flow {
	struct ip_addr src, dst; // of requests; of one family
	uint16_t udp_port;
	uint16_t sport_first;
	uint32_t streams;
	struct steer_end asks, answers;
	uint32_t step; // from the index of a stream to that of the next, at both ends; 0 = 1
};

// A key's hex as bytes, up to so many; how many there are.
unsigned int steer_key(const char *hex, uint8_t *key, unsigned int most);
// Toeplitz hash of a frame as NICs take it, over addresses and ports.
uint32_t steer_hash(const uint8_t key[RSS_KEY_BYTES], const struct ip_addr *src,
		    const struct ip_addr *dst, uint16_t sport, uint16_t dport);

// port[streams]: distinct ones of the SPORTS from sport_first on. Where not every stream gets one
// that suits both ends, it gets one that suits the requester, else any. 0, -ENOMEM, or -ERANGE
// where there are fewer ports than streams.
int steer_ports(const struct steer_flow *f, uint16_t *port);

// The ports of all streams of a host, by index at this host.
struct steer_table {
	uint16_t *tx, *rx; // owned; NULL: each flow's are sport_first + s
};

int steer_open(struct steer_table *t, const struct hostcfg *cfg, struct err *e);
void steer_close(struct steer_table *t);

static inline uint16_t steer_port(const uint16_t *table, uint32_t first, uint16_t sport_first,
				  uint32_t s)
{
	return table != NULL ? table[first + s] : (uint16_t)(sport_first + s);
}

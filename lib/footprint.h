// Footprint: the memory that an agent takes, of which the agent asks for as much and doctor looks
// whether the host has it. What DPDK itself makes of it is asserted in app/agent/eal.c.
#pragma once

#include "hostcfg.h"

#include <stdbool.h>
#include <stdint.h>

#define FOOTPRINT_OUT 4096	  // frames that wait for the PMD, of one queue
#define FOOTPRINT_MBUF_BYTES 128  // sizeof(struct rte_mbuf)
#define FOOTPRINT_DATAGRAMS 256	  // of one queue that are not whole yet
#define FOOTPRINT_PIECE_BYTES 320 // of a fragment's headers, headroom included
#define FOOTPRINT_HEAD_BYTES 128u // RTE_PKTMBUF_HEADROOM

// Bytes of an mbuf's buffer, headroom included, that holds a frame of the MTU.
uint16_t footprint_data_room(uint16_t mtu);
// Mbufs in one queue's pool for receiving (and what waits to go out, and with fragments what waits
// for the others of its datagram), or for making requests.
uint32_t footprint_mbufs(uint16_t rxd, uint16_t txd, bool rx, bool fragments);
// Fragments on their way out of one queue: an mbuf each for the headers, and twice as many that
// refer to what they carry.
uint32_t footprint_pieces(uint16_t txd);
// All of it, hugepages or not.
uint64_t footprint_bytes(const struct hostcfg *cfg);

#include "footprint.h"

#include <stddef.h>

#define SPARE_MBUFS 1024	  // caches of two lcores and bursts in hand
#define MBUF_EXTRA_BYTES 128	  // of the pool's element: header, alignment
#define STREAM_BYTES 256	  // both ends of a stream on every queue
#define QUEUE_BYTES (4u << 20)	  // rings, histograms, counters
#define PROCESS_BYTES (32u << 20) // EAL, the port, its rings
#define FRAME_EXTRA_BYTES 82u	  // Ethernet, two tags, FCS and what af_packet rounds up

uint16_t footprint_data_room(uint16_t mtu)
{
	uint32_t room = 2048;

	while (room < mtu + FRAME_EXTRA_BYTES)
		room *= 2;
	room += FOOTPRINT_HEAD_BYTES;
	return (uint16_t)(room > UINT16_MAX ? UINT16_MAX : room);
}

uint32_t footprint_mbufs(uint16_t rxd, uint16_t txd, bool rx, bool fragments)
{
	uint32_t waiting = rx && fragments ? FOOTPRINT_DATAGRAMS * DATAGRAM_FRAMES_MAX : 0;

	return (rx ? rxd + txd + FOOTPRINT_OUT + SPARE_MBUFS : txd + BURST_MAX + SPARE_MBUFS) +
	       waiting;
}

uint32_t footprint_pieces(uint16_t txd)
{
	return txd + SPARE_MBUFS / 2;
}

uint64_t footprint_bytes(const struct hostcfg *cfg)
{
	uint64_t mbuf =
		footprint_data_room(cfg->port.mtu) + FOOTPRINT_MBUF_BYTES + MBUF_EXTRA_BYTES;
	bool fragments = hostcfg_fragments(cfg);
	uint64_t n = footprint_mbufs(cfg->port.rxd, cfg->port.txd, true, fragments) +
		     footprint_mbufs(cfg->port.rxd, cfg->port.txd, false, fragments);
	uint64_t streams = 0, pieces = 0;

	// without multi-segment transmission a fragment's headers need room for all of it
	if (fragments)
		pieces = footprint_pieces(cfg->port.txd) *
			 (mbuf + 2 * (FOOTPRINT_MBUF_BYTES + MBUF_EXTRA_BYTES));

	for (size_t i = 0; i < cfg->tx_count; i++)
		streams += cfg->tx[i].streams;
	for (size_t i = 0; i < cfg->rx_count; i++)
		streams += cfg->rx[i].streams;
	return cfg->port.queues * (n * mbuf + pieces + streams * STREAM_BYTES + QUEUE_BYTES) +
	       PROCESS_BYTES;
}

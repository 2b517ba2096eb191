// What pmx puts behind UDP: 18 bytes, so that request and reply fit the 64-byte Ethernet frame
// (14 + 20 + 8 + 18 + 4 FCS). All fields big-endian, none aligned beyond two bytes.
#pragma once

#include <stdint.h>

#define PMX_HDR_BYTES 18
#define PMX_PAYLOAD_MIN PMX_HDR_BYTES
#define PMX_WIRE_VERSION 1
#define PMX_TRIALS_MAX 256 // values of the trial byte

enum pmx_kind {
	PMX_REQUEST = 1,
	PMX_REPLY = 2,
};

// version in the high nibble, kind in the low one
#define PMX_VERKIND(kind) ((uint8_t)(PMX_WIRE_VERSION << 4 | (kind)))

struct pmx_hdr {
	uint16_t cookie;    // random per run, decided by the plan
	uint8_t verkind;    // PMX_VERKIND
	uint8_t trial;	    // measuring phase in which the request was *sent*; replies echo it
	uint16_t stream[2]; // request: the responder's stream index; reply: the requester's
	uint16_t seq[2];    // of the request, per stream, from 0; replies echo it
	uint16_t tsc[3];    // low 48 bits of the requester's TSC at the send; replies echo it
} __attribute__((packed, aligned(2)));

_Static_assert(sizeof(struct pmx_hdr) == PMX_HDR_BYTES, "the header must fit a 64-byte frame");

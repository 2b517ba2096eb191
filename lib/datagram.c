#include "datagram.h"

#include "units.h"

#define IP4_BYTES 20
#define IP6_BYTES 40
#define IP6_FRAGMENT_BYTES 8
#define UDP_BYTES 8
#define ETHER_BYTES 18 // with FCS
#define UNIT_BYTES 8   // in which fragments are placed

uint32_t sender_ip_mtu(const struct sender *c)
{
	uint32_t taken = c->tags > 1 ? c->tags * VLAN_TAG_BYTES : 0;

	return c->mtu > taken ? c->mtu - taken : 0;
}

uint32_t sender_payload(const struct sender *c)
{
	if (c->mtu == 0)
		return PAYLOAD_MAX_BYTES;
	uint32_t headers = c->ip6 ? IP6_UDP_HEADER_BYTES : IP4_UDP_HEADER_BYTES;
	uint32_t mtu = sender_ip_mtu(c);

	return mtu > headers ? mtu - headers : 0;
}

// What a fragment carries behind its headers; 0 = there can be none.
static uint32_t fragment_bytes(const struct sender *c)
{
	uint32_t headers = c->ip6 ? IP6_BYTES + IP6_FRAGMENT_BYTES : IP4_BYTES;
	uint32_t mtu = sender_ip_mtu(c);

	if (mtu < headers + UNIT_BYTES || (c->ip6 && mtu < IP6_MTU_MIN))
		return 0;
	return (mtu - headers) / UNIT_BYTES * UNIT_BYTES;
}

uint32_t sender_payload_max(const struct sender *c)
{
	uint32_t most = DATAGRAM_FRAMES_MAX * fragment_bytes(c), one = sender_payload(c);

	most = most > UDP_BYTES ? most - UDP_BYTES : 0;
	most = most < PAYLOAD_MAX_BYTES ? most : PAYLOAD_MAX_BYTES;
	return most > one ? most : one < PAYLOAD_MAX_BYTES ? one : PAYLOAD_MAX_BYTES;
}

uint32_t datagram_frames(const struct sender *c, uint32_t payload_bytes)
{
	uint32_t each = fragment_bytes(c);

	if (each == 0 || payload_bytes <= sender_payload(c))
		return 1;
	return (payload_bytes + UDP_BYTES + each - 1) / each;
}

static uint32_t frame_l1(uint32_t head_bytes, uint32_t bytes)
{
	uint32_t frame = head_bytes + bytes;

	return (frame < FRAME_MIN_BYTES ? FRAME_MIN_BYTES : frame) + WIRE_OVERHEAD_BYTES;
}

uint32_t datagram_l1_bytes(const struct sender *c, uint32_t tags, uint32_t payload_bytes)
{
	uint32_t n = datagram_frames(c, payload_bytes), bytes = payload_bytes + UDP_BYTES;
	uint32_t head = ETHER_BYTES + tags * VLAN_TAG_BYTES + (c->ip6 ? IP6_BYTES : IP4_BYTES);

	if (n == 1)
		return frame_l1(head, bytes);
	uint32_t each = fragment_bytes(c);
	head += c->ip6 ? IP6_FRAGMENT_BYTES : 0;
	return (n - 1) * frame_l1(head, each) + frame_l1(head, bytes - (n - 1) * each);
}

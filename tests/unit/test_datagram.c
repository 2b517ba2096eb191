#include "datagram.h"
#include "units.h"

#include "testlib.h"

static const struct sender ip4 = { .mtu = 1500 }, ip6 = { .mtu = 1500, .ip6 = true };
static const struct sender jumbo4 = { .mtu = 9000 }, jumbo6 = { .mtu = 9000, .ip6 = true };

static void one_frame(void **state)
{
	(void)state;
	assert_int_equal(sender_payload(&ip4), 1472);
	assert_int_equal(sender_payload(&ip6), 1452);
	assert_int_equal(sender_payload(&(struct sender){ .mtu = 1500, .tags = 1 }), 1472);
	assert_int_equal(sender_payload(&(struct sender){ .mtu = 1500, .tags = 2 }), 1464);
	assert_int_equal(datagram_frames(&ip4, 1472), 1);
	assert_int_equal(datagram_frames(&(struct sender){ 0 }, 65507), 1);
	for (uint32_t bytes = 18; bytes <= 1452; bytes += 7) {
		assert_int_equal(datagram_l1_bytes(&ip4, 0, bytes), l1_bytes(bytes));
		assert_int_equal(datagram_l1_bytes(&ip6, 2, bytes), l1_bytes(bytes + 28));
	}
}

static void more_frames(void **state)
{
	(void)state;
	assert_int_equal(datagram_frames(&ip4, 1473), 2);
	assert_int_equal(datagram_frames(&ip4, 2 * 1480 - 8), 2);
	assert_int_equal(datagram_frames(&ip4, 2 * 1480 - 7), 3);
	assert_int_equal(datagram_frames(&ip6, 1453), 2);
	assert_int_equal(datagram_frames(&ip6, 2 * 1448 - 7), 3);
	assert_int_equal(datagram_frames(&jumbo4, 65507), 8);
	assert_int_equal(datagram_frames(&jumbo6, 65507), 8);
	// 1481 bytes of UDP: 1480 behind 18 + 20, and 1 in the smallest frame
	assert_int_equal(datagram_l1_bytes(&ip4, 0, 1473), 1518 + 20 + 64 + 20);
	assert_int_equal(datagram_l1_bytes(&ip4, 1, 1473), 1522 + 20 + 64 + 20);
	// 1461 bytes of UDP: 1448 behind 18 + 48, and 13
	assert_int_equal(datagram_l1_bytes(&ip6, 0, 1453), 1514 + 20 + 79 + 20);
	assert_int_equal(datagram_l1_bytes(&jumbo4, 0, 65507), 65515 + 8 * (18 + 20 + 20));
}

// The largest is carried, one byte more is a frame too many.
static void most(void **state)
{
	(void)state;
	for (uint32_t mtu = 68; mtu < 10000; mtu++)
		for (int v6 = 0; v6 < 2; v6++)
			for (uint32_t tags = 0; tags < 3; tags++) {
				struct sender by = { mtu, v6 == 1, tags };
				uint32_t bytes = sender_payload_max(&by);
				if (bytes == PAYLOAD_MAX_BYTES || sender_ip_mtu(&by) < IP6_MTU_MIN)
					continue;
				assert_int_equal(datagram_frames(&by, bytes), DATAGRAM_FRAMES_MAX);
				assert_int_equal(datagram_frames(&by, bytes + 1),
						 DATAGRAM_FRAMES_MAX + 1);
			}
	assert_int_equal(sender_payload_max(&ip4), 11832);
	assert_int_equal(sender_payload_max(&ip6), 11576);
	assert_int_equal(sender_payload_max(&(struct sender){ .mtu = 8212 }), 65507);
	assert_true(sender_payload_max(&(struct sender){ .mtu = 8211 }) < 65507);
	assert_int_equal(sender_payload_max(&(struct sender){ 8240, true, 0 }), 65507);
	assert_true(sender_payload_max(&(struct sender){ 8239, true, 0 }) < 65507);
	// too small for IPv6 to fragment
	assert_int_equal(sender_payload_max(&(struct sender){ 1279, true, 0 }), 1279 - 48);
	assert_int_equal(sender_payload_max(&(struct sender){ 1280, true, 2 }), 1272 - 48);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_frame),
		cmocka_unit_test(more_frames),
		cmocka_unit_test(most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

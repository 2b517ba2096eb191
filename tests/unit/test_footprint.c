#include "footprint.h"

#include "testlib.h"

// A frame with two tags and af_packet's rounding fits; the power of two costs where it does not.
static void data_room(void **state)
{
	(void)state;
	assert_int_equal(footprint_data_room(1500), 2048 + 128);
	assert_int_equal(footprint_data_room(1966), 2048 + 128);
	assert_int_equal(footprint_data_room(1967), 4096 + 128);
	assert_int_equal(footprint_data_room(9000), 16384 + 128);
	assert_int_equal(footprint_data_room(65535), UINT16_MAX);
}

// What the manual says: 27 MB a queue at MTU 1500, 160 MB at 9000, 32 MB on top.
static void told(void **state)
{
	struct hostcfg c = { .port = { .queues = 1, .rxd = 1024, .txd = 1024, .mtu = 1500 } };
	const double mib = 1 << 20;

	(void)state;
	assert_in_range((footprint_bytes(&c) >> 20) - 32, 20, 27);
	c.port.mtu = 9000;
	assert_in_range((footprint_bytes(&c) >> 20) - 32, 140, 165);
	double one = (double)footprint_bytes(&c) / mib - 32;
	c.port.queues = 4;
	assert_true((double)footprint_bytes(&c) / mib - 32 > 3.99 * one);
}

// What the manual says: 10 MB more a queue at MTU 1500, 60 MB at 9000.
static void fragments(void **state)
{
	struct flow_tx tx = { .req_bytes = 9000, .rep_bytes = 18 };
	struct hostcfg c = { .port = { .queues = 1, .rxd = 1024, .txd = 1024, .mtu = 1500 } };
	uint64_t without = footprint_bytes(&c);

	(void)state;
	c.tx = &tx;
	c.tx_count = 1;
	assert_in_range((footprint_bytes(&c) - without) >> 20, 8, 10);
	tx.req_bytes = 65507;
	c.port.mtu = 9000;
	c.tx_count = 0;
	without = footprint_bytes(&c);
	c.tx_count = 1;
	assert_in_range((footprint_bytes(&c) - without) >> 20, 50, 60);
}

static void streams(void **state)
{
	struct flow_tx tx[] = { { .streams = 1000 }, { .streams = 24 } };
	struct flow_rx rx[] = { { .streams = 1024 } };
	struct hostcfg c = { .port = { .queues = 2, .rxd = 64, .txd = 64, .mtu = 1500 } };
	uint64_t without = footprint_bytes(&c);

	(void)state;
	c.tx = tx;
	c.tx_count = 2;
	c.rx = rx;
	c.rx_count = 1;
	assert_int_equal(footprint_bytes(&c) - without, 2 * 2048 * 256);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(data_room),
		cmocka_unit_test(told),
		cmocka_unit_test(fragments),
		cmocka_unit_test(streams),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

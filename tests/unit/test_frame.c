#include "frame.h"
#include "out.h"
#include "rx.h"
#include "tx.h"

#include "testlib.h"
#include "units.h"

#include <stdlib.h>
#include <string.h>

#define ROOM 2048

// An mbuf that no pool knows: enough for what is done in place.
struct packet {
	struct rte_mbuf m;
	uint8_t data[ROOM];
};

static struct frame *packet_make(struct packet *p, const void *head, uint16_t len)
{
	memset(p, 0, sizeof(*p));
	p->m.buf_addr = p->data;
	p->m.buf_len = ROOM;
	p->m.data_len = len;
	p->m.pkt_len = len;
	memcpy(p->data, head, sizeof(struct frame));
	return (struct frame *)(void *)p->data;
}

static struct frame_spec spec_any(struct rng *r, enum pmx_kind kind)
{
	return (struct frame_spec){
		.src_mac = { { 2, 0, 0, 0, 0, (uint8_t)rng_next(r) } },
		.dst_mac = { { 2, 0, 0, 0, 1, (uint8_t)rng_next(r) } },
		.src = IP4((uint32_t)rng_next(r)),
		.dst = IP4((uint32_t)rng_next(r)),
		.sport = (uint16_t)rng_next(r),
		.dport = (uint16_t)rng_next(r),
		.payload_bytes = PMX_HDR_BYTES + (uint32_t)rng_below(r, 1400),
		.cookie = (uint16_t)rng_next(r),
		.kind = kind,
		.stream = (uint32_t)rng_next(r),
	};
}

// By DPDK's own reckoning over the whole datagram.
static bool checksums_good(const struct packet *p)
{
	struct packet copy = *p;
	struct frame *f = (struct frame *)(void *)copy.data;
	uint16_t ip = f->ip.hdr_checksum, udp = f->udp.dgram_cksum;
	f->ip.hdr_checksum = 0;
	f->udp.dgram_cksum = 0;
	return rte_ipv4_cksum(&f->ip) == ip && rte_ipv4_udptcp_cksum(&f->ip, &f->udp) == udp;
}

static void smallest_frame_is_64_bytes(void **state)
{
	struct frame f;
	(void)state;
	frame_build(&f, &(struct frame_spec){ .payload_bytes = 18, .kind = PMX_REQUEST });
	assert_int_equal(sizeof(f) + 4, FRAME_MIN_BYTES);
	assert_int_equal(frame_len(18) + 4, frame_bytes(18));
	assert_int_equal(frame_len(1472) + 4, frame_bytes(1472));
	assert_int_equal(rte_be_to_cpu_16(f.ip.total_length), 46);
	assert_int_equal(rte_be_to_cpu_16(f.udp.dgram_len), 26);
}

// A request as tx_build writes it from its template: every checksum right, whatever changes.
static void requests_have_good_checksums(void **state)
{
	struct rng r = rng_open("requests");
	static struct packet p;
	struct queue q = { 0 };
	(void)state;
	for (int i = 0; i < 20000; i++) {
		struct frame_spec s = spec_any(&r, PMX_REQUEST);
		struct frame f;
		frame_build(&f, &s);
		uint32_t seq = (uint32_t)rng_next(&r);
		uint64_t tsc = rng_next(&r);
		struct tx_stream t = { .stream_lo = f.pmx.stream[1],
				       .frame_len = frame_len(s.payload_bytes),
				       .seq = seq };
		f.pmx.stream[1] = 0;
		f.udp.dgram_cksum = csum_fold(frame_udp_sum(&f));
		memcpy(t.head, &f, sizeof(t.head));
		struct frame blank = { 0 };
		struct frame *out = packet_make(&p, &blank, 0);
		tx_build(&q, &t, &p.m, tsc, i % 2 == 0);
		assert_true(checksums_good(&p));
		assert_int_equal(p.m.data_len, frame_len(s.payload_bytes));
		assert_int_equal(be32_pair(out->pmx.seq), seq);
		assert_int_equal(be32_pair(out->pmx.stream), s.stream);
		assert_int_equal(rx_tsc(out), tsc & 0xffffffffffff);
		assert_int_equal(t.seq, seq + 1);
	}
}

// A payload damaged on the way keeps a bad checksum: the echo does not heal it.
static void an_echo_does_not_heal(void **state)
{
	uint16_t good = 0x1234;
	(void)state;
	assert_int_not_equal(csum_update((uint16_t)(good + 1), 5, 9), csum_update(good, 5, 9));
}

static void restamping_keeps_the_checksum(void **state)
{
	struct rng r = rng_open("restamp");
	static struct packet p;
	struct queue *q = aligned_alloc(64, sizeof(*q));
	(void)state;
	assert_non_null(q);
	memset(q, 0, sizeof(*q));
	q->tx_pool = (struct rte_mempool *)(void *)&p; // compared, never used
	for (int i = 0; i < 1000; i++) {
		struct frame_spec s = spec_any(&r, PMX_REQUEST);
		struct frame f;
		frame_build(&f, &s);
		struct frame *in = packet_make(&p, &f, frame_len(s.payload_bytes));
		p.m.pool = q->tx_pool;
		tsc_put(&in->pmx, rng_next(&r));
		in->udp.dgram_cksum = rte_ipv4_udptcp_cksum(&in->ip, &in->udp);
		q->out[0] = &p.m;
		out_restamp(q, 1);
		assert_true(checksums_good(&p));
	}
	free(q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(smallest_frame_is_64_bytes),
		cmocka_unit_test(requests_have_good_checksums),
		cmocka_unit_test(an_echo_does_not_heal),
		cmocka_unit_test(restamping_keeps_the_checksum),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

// Sizes in words: what the matrix says, the cycle that it makes, what a title says of it, and the
// means by closed forms; and what is refused.
#include "capacity.h"
#include "plan.h"
#include "on_wire.h"
#include "sizes.h"

#include "testlib.h"
#include "units.h"

#include <stdlib.h>
#include <string.h>

static int parse(const char *traffic, const char *host, struct matrix *m, struct err *e)
{
	char text[4096];

	snprintf(text, sizeof(text),
		 "pmx: 1\n"
		 "defaults: {device: net_null0%s}\n"
		 "hosts: {a: {addr: 198.18.0.1/31},\n"
		 "        b: {addr: 198.18.0.0/31}}\n"
		 "traffic:\n"
		 "  rate: 1k\n"
		 "  %s\n",
		 host, traffic);
	return matrix_parse("FILE", text, strlen(text), m, e);
}

static void cycle_str(const struct size_mix *mix, char *buf, size_t size)
{
	buf[0] = '\0';
	for (uint32_t i = 0; mix->cycle != NULL && i < mix->cycle->count && i < 30; i++)
		snprintf(buf + strlen(buf), size - strlen(buf), "%s%u", i > 0 ? " " : "",
			 (unsigned)mix->cycle->v[i]);
}

static void words(void **state)
{
	static const struct {
		const char *traffic, *host, *cycle, *shown;
	} t[] = {
		{ "request: 64", "", "", "64 B (frame 110)" },
		{ "request: [64]", "", "", "64 B (frame 110)" },
		{ "request: 64:7", "", "", "64 B (frame 110)" },
		{ "request: [64, 64]", "", "", "64 B (frame 110)" },
		{ "tx_frame: 64", "", "", "18 B (frame 64)" },
		{ "request: [64, 512, 1472]", "", "64 512 1472",
		  "64, 512, 1472 B in turn (mean frame 728.7)" },
		{ "request: 64, 512,1472", "", "64 512 1472",
		  "64, 512, 1472 B in turn (mean frame 728.7)" },
		{ "request: [512, 64, 64]", "", "512 64 64",
		  "512, 64, 64 B in turn (mean frame 259.3)" },
		{ "request: 18-21", "", "18 19 20 21", "18-21 B in turn (mean frame 65.5)" },
		{ "request: 18-30/4", "", "18 22 26 30", "18-30/4 B in turn (mean frame 70.0)" },
		{ "request: 18-31/4", "", "18 22 26 30", "18-30/4 B in turn (mean frame 70.0)" },
		{ "request: [18-20, 64]", "", "18 19 20 64",
		  "18, 19, 20, 64 B in turn (mean frame 76.2)" },
		{ "request: 64:7, 576:4, 1472:1", "", "64 576 64 64 576 64 1472 576 64 64 576 64",
		  "64:7 576:4 1472:1 B (mean frame 398.0)" },
		{ "request: [64:14, 576:8, 1472:2]", "",
		  "64 576 64 64 576 64 1472 576 64 64 576 64",
		  "64:14 576:8 1472:2 B (mean frame 398.0)" },
		// frames of 64, 594 and 1518 are payloads of 18, 548 and 1472
		{ "request: imix", "", "18 548 18 18 548 18 1472 548 18 18 548 18",
		  "imix 64:7 594:4 1518:1 frames (mean frame 361.8)" },
		{ "tx_frame: imix", "", "18 548 18 18 548 18 1472 548 18 18 548 18",
		  "imix 64:7 594:4 1518:1 frames (mean frame 361.8)" },
		{ "request: imix-570", "", "18 524 18 18 524 18 1472 524 18 18 524 18",
		  "imix-570 64:7 570:4 1518:1 frames (mean frame 353.8)" },
		{ "request: genome:aaag", "", "18 18 18 1472",
		  "genome 64, 64, 64, 1518 frames in turn (mean frame 427.5)" },
		{ "tx_frame: 128:1, 1518:1", "", "82 1472",
		  "128:1 1518:1 frames (mean frame 823.0)" },
		// a tag takes from the payload of the same frame; the smallest one grows
		{ "request: imix", ", vlan: 5", "18 544 18 18 544 18 1468 544 18 18 544 18",
		  "imix 68:7 594:4 1518:1 frames (mean frame 364.2)" },
		{ "request: 64, 65, 70, 100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110", "",
		  "64 65 70 100 101 102 103 104 105 106 107 108 109 110",
		  "64, 65, 70, 100, 101, 102, 103, 104, 105, 106, 107, ... (14) B in turn "
		  "(mean frame 142.7)" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		struct err e = { 0 };
		struct matrix m;
		char cycle[512], shown[SIZES_STR_MAX];

		if (parse(t[i].traffic, t[i].host, &m, &e) < 0)
			fail_msg("%s: %s", t[i].traffic, e.msg);
		cycle_str(&m.traffic.req_mix, cycle, sizeof(cycle));
		assert_string_equal(cycle, t[i].cycle);
		assert_string_equal(request_sizes_str(&m, shown, sizeof(shown)), t[i].shown);
		assert_null(m.traffic.rep_mix.cycle);
		assert_string_equal(reply_sizes_str(&m, shown, sizeof(shown)),
				    t[i].host[0] == '\0' ? "18 B (frame 64)" : "18 B (frame 68)");
		matrix_free(&m);
	}
}

static void refused(void **state)
{
	static const struct {
		const char *traffic, *msg;
	} t[] = {
		{ "request: 17", "request '17': expected a whole number from 18 to 65507" },
		{ "request: [64, 65508]",
		  "request '65508': expected a whole number from 18 to 65507" },
		{ "request: []", "request: an empty list: expected " SIZE_FORM },
		{ "request: {64: 7}", "request: a mapping given: expected " SIZE_FORM },
		{ "request: [64, [65]]",
		  "request: a list given: expected a size in the list, as 64" },
		{ "request: imx", "request 'imx': expected " SIZE_FORM },
		{ "request: 64,", "request '': expected " SIZE_FORM },
		{ "request: 64 65", "request '64 65': expected a whole number from 18 to 65507" },
		{ "request: 0x40", "request '0x40': expected a whole number from 18 to 65507" },
		{ "request: -64", "request '-64': expected " SIZE_FORM },
		{ "request: 64:7, 512",
		  "request '512': expected every size of a mix with its weight, as 64:7" },
		{ "request: 64:7, 512-600",
		  "request '512-600': expected every size of a mix with its weight, as 64:7" },
		{ "request: 64:0", "request '0': expected a whole number from 1 to 1000000" },
		{ "request: 64:1.5", "request '1.5': expected a whole number from 1 to 1000000" },
		{ "request: 64:1, 64:2", "request '64': stands twice in the mix" },
		{ "request: 64:1, 65:16384",
		  "request '64:1': the weights add up to 16385: expected at most 16384, without a "
		  "common divisor" },
		{ "request: 512-64", "request '512-64': ends before it begins: expected 64-512" },
		{ "request: 64-", "request '': expected a whole number from 18 to 65507" },
		{ "request: 64-65/0", "request '0': expected a whole number from 1 to 65507" },
		{ "request: 18-2066",
		  "request '18-2066': 2049 sizes: expected at most 2048, by a step of 2 or more" },
		{ "request: 'genome:'", "request 'genome:': expected " SIZE_FORM },
		{ "request: genome:abz", "request 'abz': letter 'z': expected those of RFC 6985 "
					 "from a (64) to j (16000)" },
		{ "tx_frame: 63", "tx_frame '63': expected a whole number from 64 to 65553" },
		{ "tx_frame: [64, 63]", "tx_frame '63': expected a whole number from 64 to 65553" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		struct err e = { 0 };
		struct matrix m;

		assert_true(parse(t[i].traffic, "", &m, &e) < 0);
		const char *at = strstr(e.msg, "FILE:7:");
		assert_ptr_equal(at, e.msg);
		at = strchr(at + strlen("FILE:7:"), ' ');
		assert_non_null(at);
		assert_string_equal(at + 1, t[i].msg);
	}
	struct err e = { 0 };
	struct matrix m;
	assert_true(parse("tx_frame: [67, 68]", ", vlan: 5", &m, &e) < 0);
	assert_string_equal(e.msg, "FILE:7:13: tx_frame 67: no room for tags, headers and pmx's 18 "
				   "bytes: expected 68 or more");
}

static void profile_of(struct profile *p)
{
	static const char text[] = "pmd: net_null\nvirtual: yes\ndevargs: x\nmtu_max: 1500\n"
				   "speed_gbps: 10\n";
	struct err e = { 0 };

	if (profile_parse("x", "x.yaml", text, sizeof(text) - 1, p, &e) < 0)
		fail_msg("%s", e.msg);
}

static int plan_of(const struct matrix *m, struct plan *p, struct err *e)
{
	struct profile profile[2];

	profile_of(&profile[0]);
	profile[1] = profile[0];
	return plan_build(&(struct plan_input){ .matrix = m,
						.profile = profile,
						.run_id = "r",
						.local_cpus = 2,
						.duration_ns = 1000000000 },
			  p, e);
}

// Both ends have the same cycles; what the MTU does not carry is refused with the numbers.
static void planned(void **state)
{
	struct err e = { 0 };
	struct matrix m;
	struct plan p;

	(void)state;
	assert_int_equal(parse("request: imix\n  reply: [1472, 100]", "", &m, &e), 0);
	if (plan_of(&m, &p, &e) < 0)
		fail_msg("%s", e.msg);
	for (size_t h = 0; h < 2; h++) {
		const struct hostcfg *c = &p.host[h];
		char cycle[256];
		assert_int_equal(c->mix_count, 2);
		cycle_str(&c->mix[0], cycle, sizeof(cycle));
		assert_string_equal(cycle, "18 548 18 18 548 18 1472 548 18 18 548 18");
		cycle_str(&c->mix[1], cycle, sizeof(cycle));
		assert_string_equal(cycle, "1472 100");
		assert_int_equal(c->tx[0].req_mix, 1);
		assert_int_equal(c->tx[0].rep_mix, 2);
		assert_int_equal(c->rx[0].req_mix, 1);
		assert_int_equal(c->rx[0].rep_mix, 2);
		assert_int_equal(c->tx[0].req_bytes, 1472);
	}
	plan_free(&p);
	matrix_free(&m);
	assert_int_equal(parse("reply: 64:3, 100:1", "", &m, &e), 0);
	assert_int_equal(plan_of(&m, &p, &e), 0);
	assert_int_equal(p.host[0].mix_count, 1);
	assert_int_equal(p.host[0].tx[0].req_mix, 0);
	assert_int_equal(p.host[0].tx[0].rep_mix, 1);
	plan_free(&p);
	matrix_free(&m);
}

// Of the wire: 7 frames of 64, 4 of 594 and one of 1518, each with its 20 bytes.
static void means(void **state)
{
	struct err e = { 0 };
	struct matrix m;
	struct plan p;
	struct capacity c;
	struct profile profile[2];
	double l1 = (7 * 84.0 + 4 * 614 + 1538) / 12;

	(void)state;
	assert_int_equal(parse("request: imix", "", &m, &e), 0);
	struct sender by = { .mtu = 1500 };
	assert_true(request_wire(&m, &by, 0).l1_bytes == l1);
	assert_true(reply_wire(&m, &by, 0).l1_bytes == 84);
	assert_true(request_wire(&m, &by, 1).l1_bytes == l1 + 4); // the smallest has no room
	by.mtu = 600; // the largest goes in three fragments of 576, 576 and 328
	assert_true(request_wire(&m, &by, 0).frames == 14.0 / 12);
	assert_true(request_mean(&m) == (7 * 18.0 + 4 * 548 + 1472) / 12);
	assert_int_equal(plan_of(&m, &p, &e), 0);
	profile_of(&profile[0]);
	profile[1] = profile[0];
	assert_int_equal(capacity_build(&p, profile, 0, 0, &c, &e), 0);
	// 1k requests/s of its own, and as many replies owed
	assert_true(c.host[0].tx_l1_bps == 1000 * 8 * l1 + 1000 * 8 * 84);
	assert_true(c.host[0].rx_l1_bps == 1000 * 8 * 84 + 1000 * 8 * l1);
	capacity_free(&c);
	plan_free(&p);
	matrix_free(&m);
}

// % of the line is of the mean frame.
static void share_of_line(void **state)
{
	struct err e = { 0 };
	struct matrix m;
	struct plan p;
	static const char text[] = "pmx: 1\n"
				   "defaults: {device: net_null0}\n"
				   "hosts: {a: {addr: 198.18.0.1/31}, b: {addr: 198.18.0.0/31}}\n"
				   "traffic: {rate: 50%, request: imix}\n";

	(void)state;
	assert_int_equal(matrix_parse("FILE", text, sizeof(text) - 1, &m, &e), 0);
	if (plan_of(&m, &p, &e) < 0)
		fail_msg("%s", e.msg);
	assert_float_equal(p.flow[0].rate_pps, 10e9 / 8 / 2 / ((7 * 84.0 + 4 * 614 + 1538) / 12),
			   0.01);
	plan_free(&p);
	matrix_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words), cmocka_unit_test(refused),	  cmocka_unit_test(planned),
		cmocka_unit_test(means), cmocka_unit_test(share_of_line),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "parse.h"

#include "testlib.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void whole_numbers(void **state)
{
	static const struct {
		const char *s;
		int ret;
		uint64_t v;
	} t[] = {
		{ "0", 0, 0 },
		{ "7", 0, 7 },
		{ "18446744073709551615", 0, UINT64_MAX },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "99999999999999999999999", -ERANGE, 0 },
		{ "", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "+1", -EINVAL, 0 },
		{ " 1", -EINVAL, 0 },
		{ "1 ", -EINVAL, 0 },
		{ "1\n", -EINVAL, 0 },
		{ "010", -EINVAL, 0 },
		{ "00", -EINVAL, 0 },
		{ "0x10", -EINVAL, 0 },
		{ "1e3", -EINVAL, 0 },
		{ "1.0", -EINVAL, 0 },
		{ "1_000", -EINVAL, 0 },
		{ "1,000", -EINVAL, 0 },
		{ "12abc", -EINVAL, 0 },
		{ "52:54:00:12:34:56", -EINVAL, 0 },
	};
	uint64_t v;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		struct err e = { 0 };
		v = 42;
		assert_int_equal(parse_u64(t[i].s, 0, UINT64_MAX, &v, &e), t[i].ret);
		assert_int_equal(v, t[i].ret == 0 ? t[i].v : 42);
		assert_int_equal(e.code, -t[i].ret);
	}
	struct err e = { 0 };
	assert_int_equal(parse_u64("0", 1, 64, &v, &e), -ERANGE);
	assert_string_equal(e.msg, "number '0': expected a whole number from 1 to 64");
	assert_int_equal(parse_u64("65", 1, 64, &v, NULL), -ERANGE);
	assert_int_equal(parse_u64("1", 1, 64, &v, NULL), 0);
	assert_int_equal(parse_u64("64", 1, 64, &v, NULL), 0);
}

static void rates(void **state)
{
	static const struct {
		const char *s;
		double pps;
	} good[] = {
		{ "0", 0 },
		{ "5000", 5000 },
		{ "5k", 5000 },
		{ "5K", 5000 },
		{ "1.5M", 1.5e6 },
		{ "2G", 2e9 },
		{ "10G", 1e10 },
		{ "10000000000", 1e10 },
		{ "10kpps", 1e4 },
		{ "3pps", 3 },
		{ "0.5", 0.5 },
		{ "0.1k", 100 },
		{ "1.10M", 1.1e6 },
		{ "1.2Mpps", 1.2e6 },
		{ "1Gpps", 1e9 },
		{ "0.001", 0.001 },
		{ "14880952.38", 14880952.38 },
		{ "1.000000000000000000000000", 1 },
	};
	static const char *const bad[] = {
		"",
		"-1",
		"+1",
		"1e99",
		"1e3",
		"10 kpps",
		"10Q",
		"0x1G",
		"inf",
		"nan",
		"NaN",
		"MAX",
		"Max",
		"max ",
		" max",
		"maxk",
		"1..5",
		"1.",
		".5",
		"1.5.5",
		"05k",
		"5kk",
		"5kM",
		"5mpps",
		"5m",
		"5T",
		"5k ",
		" 5k",
		"k",
		"pps",
		"5PPS",
		"5 k",
		"1,5k",
		"50%",
		"10Gbit",
		"10GbpsL3",
		"10Gbps L2",
		"10001Gbps",
		"L1",
		"bps",
		"10001M",
		"10.1G",
		"1e10G",
		"52:54:00:12:34:56",
		"99999999999999999999",
		"-0",
		"\xc2\xbd",
		"5\xce\xbc",
	};
	static const struct {
		const char *s;
		double bps;
		bool l2;
	} bits[] = {
		{ "10Gbps", 1e10, false },     { "10Gb/s", 1e10, false },
		{ "9.5MbpsL1", 9.5e6, false }, { "800kb/sL1", 8e5, false },
		{ "800KbpsL2", 8e5, true },    { "64b/sL2", 64, true },
		{ "10000Gbps", 1e13, false },  { "0bps", 0, false },
	};
	struct rate r;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(good); i++) {
		struct err e = { 0 };
		assert_int_equal(parse_rate(good[i].s, &r, &e), 0);
		assert_false(r.max);
		assert_true(r.pps == good[i].pps);
	}
	for (size_t i = 0; i < COUNT_OF(bits); i++) {
		assert_int_equal(parse_rate(bits[i].s, &r, NULL), 0);
		assert_true(!r.max && r.pps == 0 && r.bps == bits[i].bps && r.l2 == bits[i].l2);
	}
	assert_int_equal(parse_rate("max", &r, NULL), 0);
	assert_true(r.max && r.pps == 0 && r.bps == 0);
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct err e = { 0 };
		r = (struct rate){ .pps = 42 };
		int ret = parse_rate(bad[i], &r, &e);
		if (ret != -EINVAL && ret != -ERANGE)
			fail_msg("rate '%s' was taken as %g", bad[i], r.pps);
		assert_true(r.pps == 42 && !r.max);
		assert_non_null(strstr(e.msg, "expected"));
		assert_non_null(strstr(e.msg, bad[i]));
	}
	struct err e = { 0 };
	parse_rate("10Q", &r, &e);
	assert_string_equal(
		e.msg, "rate '10Q': expected packets/s with k, M or G, bits/s as 1Gbps, or 'max'");
}

static void durations(void **state)
{
	static const struct {
		const char *s;
		uint64_t ns;
	} good[] = {
		{ "0", 0 },
		{ "10", 10000000000 },
		{ "10s", 10000000000 },
		{ "500ms", 500000000 },
		{ "50us", 50000 },
		{ "2m", 120000000000 },
		{ "1h", 3600000000000 },
		{ "1.5s", 1500000000 },
		{ "1.5", 1500000000 },
		{ "0.1h", 360000000000 },
		{ "0.000000001s", 1 },
		{ "0.001us", 1 },
		{ "8760h", UINT64_C(365) * 86400 * 1000000000 },
	};
	static const char *const bad[] = {
		"",
		"-1",
		"-1s",
		"+1s",
		"1e3",
		"0x10",
		"10 s",
		"10s ",
		"s",
		"1d",
		"1S",
		"1sec",
		"1min",
		"inf",
		"nan",
		"1h30m",
		"1.",
		".5s",
		"010s",
		"0.0000000001",
		"1ns",
		"0.0001us",
		"8760.001h",
		"999999999999999999h",
		"99999999999999999999s",
		"1.5.5s",
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(good); i++) {
		uint64_t ns = 42;
		assert_int_equal(parse_duration_ns(good[i].s, &ns, NULL), 0);
		assert_int_equal(ns, good[i].ns);
	}
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct err e = { 0 };
		uint64_t ns = 42;
		int ret = parse_duration_ns(bad[i], &ns, &e);
		if (ret != -EINVAL && ret != -ERANGE)
			fail_msg("duration '%s' was taken", bad[i]);
		assert_int_equal(ns, 42);
		assert_non_null(strstr(e.msg, "expected"));
	}
}

static void addresses(void **state)
{
	static const char *const bad[] = {
		"",	    "1",	"1.2.3",    "1.2.3.4.5", "256.1.1.1",  "1.2.3.256",
		"01.2.3.4", "1.2.3.04", "1.2.3.4 ", " 1.2.3.4",	 "1.2.3.4/24", "1..3.4",
		"1.2.3.",   ".1.2.3",	"-1.2.3.4", "a.b.c.d",	 "0x1.2.3.4",  "1.2.3.4444",
		"fe80::1",  "1.2.3.00", "00.0.0.0", "1,2,3,4",
	};
	static const char *const bad_prefix[] = {
		"10.0.0.1",	 "10.0.0.1/",	"10.0.0.1/0", "10.0.0.1/33",
		"10.0.0.1/024",	 "10.0.0.1/-1", "10.0.0.1/a", "10.0.0.1/24 ",
		"10.0.0.1/24/8", "10.0.0/24",	"/24",	      "",
	};
	uint32_t addr;
	unsigned len;
	char buf[16];

	(void)state;
	assert_int_equal(parse_ip4("198.18.0.1", &addr, NULL), 0);
	assert_int_equal(addr, 0xc6120001);
	assert_string_equal(ip4_str(addr, buf, sizeof(buf)), "198.18.0.1");
	assert_int_equal(parse_ip4("255.255.255.255", &addr, NULL), 0);
	assert_string_equal(ip4_str(addr, buf, sizeof(buf)), "255.255.255.255");
	assert_int_equal(parse_ip4("0.0.0.0", &addr, NULL), 0);
	assert_int_equal(addr, 0);
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		addr = 42;
		if (parse_ip4(bad[i], &addr, NULL) != -EINVAL)
			fail_msg("address '%s' was taken", bad[i]);
		assert_int_equal(addr, 42);
	}

	assert_int_equal(parse_ip4_prefix("198.18.0.1/24", &addr, &len, NULL), 0);
	assert_int_equal(addr, 0xc6120001);
	assert_int_equal(len, 24);
	assert_int_equal(parse_ip4_prefix("10.0.0.1/1", &addr, &len, NULL), 0);
	assert_int_equal(parse_ip4_prefix("10.0.0.1/32", &addr, &len, NULL), 0);
	for (size_t i = 0; i < COUNT_OF(bad_prefix); i++)
		if (parse_ip4_prefix(bad_prefix[i], &addr, &len, NULL) != -EINVAL)
			fail_msg("prefix '%s' was taken", bad_prefix[i]);
	struct err e = { 0 };
	parse_ip4_prefix("198.18.0.1", &addr, &len, &e);
	assert_string_equal(e.msg,
			    "address '198.18.0.1': the prefix length is missing: expected as "
			    "198.18.0.1/24");
}

static void macs(void **state)
{
	static const uint8_t want[6] = { 0x52, 0x54, 0x00, 0x12, 0xab, 0xCD };
	static const char *const bad[] = {
		"",
		"52:54:00:12:34",
		"52:54:00:12:34:5",
		"52:54:00:12:34:567",
		"52-54-00-12-34-56",
		"525400123456",
		"5254.0012.3456",
		"52:54:00:12:34:5g",
		" 2:54:00:12:34:56",
		"52:54:00:12:34:56 ",
		"52:54:00:12:34::5",
		"190:20:30:40:50:6",
	};
	uint8_t mac[6];

	(void)state;
	assert_int_equal(parse_mac("52:54:00:12:ab:CD", mac, NULL), 0);
	assert_memory_equal(mac, want, sizeof(mac));
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		if (parse_mac(bad[i], mac, NULL) != -EINVAL)
			fail_msg("MAC '%s' was taken", bad[i]);
		assert_memory_equal(mac, want, sizeof(mac));
	}
}

static void cpu_lists(void **state)
{
	static const char *const bad[] = {
		"",	",",	 "1,",	 ",1",	    "1,,2", "1-",  "-1",
		"3-1",	"1-2-3", "1,1",	 "0-3,2",   "a",    "0x1", "1 ",
		"1, 2", "01",	 "8192", "0-99999", "1;2",  "all", "9999999999",
	};
	static const uint16_t want[] = { 0, 1, 2, 3, 8, 10, 11, 4 };
	uint16_t id[256];
	size_t n;

	(void)state;
	assert_int_equal(parse_cpulist("0-3,8,10-11,4", id, 256, &n, NULL), 0);
	assert_int_equal(n, COUNT_OF(want));
	assert_memory_equal(id, want, sizeof(want));
	assert_int_equal(parse_cpulist("8191", id, 256, &n, NULL), 0);
	assert_int_equal(n, 1);
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		n = 42;
		int ret = parse_cpulist(bad[i], id, 256, &n, NULL);
		if (ret != -EINVAL && ret != -ERANGE)
			fail_msg("CPU list '%s' was taken", bad[i]);
		assert_int_equal(n, 42);
	}
	// a machine of 200 cores
	assert_int_equal(parse_cpulist("0-199", id, 200, &n, NULL), 0);
	assert_int_equal(n, 200);
	assert_int_equal(id[199], 199);
	struct err e = { 0 };
	memset(id, 0xff, sizeof(id));
	assert_int_equal(parse_cpulist("0-199", id, 128, &n, &e), -ERANGE);
	assert_string_equal(e.msg, "CPU list '0-199': expected at most 128 CPUs");
	assert_int_equal(id[128], 0xffff); // nothing is written beyond
}

static void words_for_bool(void **state)
{
	static const char *const yes[] = { "true", "yes", "on" };
	static const char *const no[] = { "false", "no", "off" };
	static const char *const bad[] = { "", "1", "0", "True", "YES", "y", "true ", "ja" };
	bool v;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(yes); i++) {
		v = false;
		assert_int_equal(parse_bool(yes[i], &v, NULL), 0);
		assert_true(v);
		assert_int_equal(parse_bool(no[i], &v, NULL), 0);
		assert_false(v);
	}
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		assert_int_equal(parse_bool(bad[i], &v, NULL), -EINVAL);
}

static void long_values_are_cut(void **state)
{
	char text[5000];
	struct err e = { 0 };
	struct rate r;

	(void)state;
	memset(text, '9', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(parse_rate(text, &r, &e), -ERANGE);
	assert_true(strlen(e.msg) < 200);
	assert_non_null(strstr(e.msg, "9...': expected packets"));
}

static void nearest(void **state)
{
	static const char *const word[] = {
		"duration", "drain", "warmup", "rate", "reply", "port"
	};
	static const struct {
		const char *s, *want;
	} t[] = {
		{ "duraton", "duration" },
		{ "Duration", "duration" },
		{ "durations", "duration" },
		{ "rpely", "reply" },
		{ "rat", "rate" },
		{ "raet", "rate" },
		{ "dr", NULL },
		{ "rate", "rate" },
		{ "ports", "port" },
		{ "pt", NULL },
		{ "xy", NULL },
		{ "", NULL },
		{ "completely", NULL },
		{ "a-word-that-is-far-longer-than-any-key-of-any-table-that-there-ever-was", NULL },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		const char *got = nearest_word(t[i].s, word, COUNT_OF(word));
		if (t[i].want == NULL)
			assert_null(got);
		else
			assert_string_equal(got, t[i].want);
	}
	assert_null(nearest_word("rate", NULL, 0));
}

// What is shown is what is read: no number is lost between text and value.
static void random_numbers(void **state)
{
	struct rng r = rng_open("numbers");
	char text[64];

	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		uint64_t v = rng_next(&r) >> rng_below(&r, 64), got;
		struct rate rate;
		snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
		assert_int_equal(parse_u64(text, 0, UINT64_MAX, &got, NULL), 0);
		assert_true(got == v);
		// microseconds in seconds
		v %= UINT64_C(30000000000000);
		snprintf(text, sizeof(text), "%llu.%06llus", (unsigned long long)(v / 1000000),
			 (unsigned long long)(v % 1000000));
		assert_int_equal(parse_duration_ns(text, &got, NULL), 0);
		assert_true(got == v * 1000);
		v %= UINT64_C(10000000000);
		snprintf(text, sizeof(text), "%llu.%03lluk", (unsigned long long)(v / 1000),
			 (unsigned long long)(v % 1000));
		assert_int_equal(parse_rate(text, &rate, NULL), 0);
		assert_true(rate.pps == (double)v);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_numbers),  cmocka_unit_test(rates),
		cmocka_unit_test(durations),	  cmocka_unit_test(addresses),
		cmocka_unit_test(macs),		  cmocka_unit_test(cpu_lists),
		cmocka_unit_test(words_for_bool), cmocka_unit_test(long_values_are_cut),
		cmocka_unit_test(nearest),	  cmocka_unit_test(random_numbers),
	};

	return cmocka_run_group_tests_name("parse", tests, NULL, NULL);
}

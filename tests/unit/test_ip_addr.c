// Addresses of both families: text both ways, subnets.
#include "ip_addr.h"

#include "testlib.h"

#include <errno.h>
#include <string.h>

static void text_both_ways(void **state)
{
	static const struct {
		const char *given, *shown;
	} t[] = {
		{ "198.18.0.1", "198.18.0.1" },
		{ "255.255.255.255", "255.255.255.255" },
		{ "2001:2::1", "2001:2::1" },
		{ "2001:0002:0000:0000:0000:0000:0000:0001", "2001:2::1" },
		{ "2001:DB8::A", "2001:db8::a" },
		{ "2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1" },    // the first of equal runs
		{ "2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1" }, // never one alone
		{ "2001:db8::1:1:1:1:1", "2001:db8:0:1:1:1:1:1" },
		{ "fe80::1", "fe80::1" },
		{ "::1", "::1" },
		{ "::", "::" },
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		struct ip_addr a;
		char buf[IP_STR_MAX];

		assert_int_equal(parse_ip(t[i].given, &a, NULL), 0);
		assert_string_equal(ip_str(&a, buf, sizeof(buf)), t[i].shown);
	}
}

static void bad_text_is_refused(void **state)
{
	static const char *const bad[] = {
		"",	      "198.18.0",     "198.18.0.01",	   "2001:2",
		":::",	      "fe80::1%eth0", "::ffff:10.0.0.1",   "::ffff:a00:1",
		"::10.0.0.1", "::a00:1",      "1::2::3",	   " ::1",
		"::1 ",	      "12345::",      "52:54:00:12:34:56",
	};
	static const char *const bad_prefix[] = {
		"2001:2::1",	"2001:2::1/",	 "2001:2::1/0", "2001:2::1/129", "2001:2::1/064",
		"198.18.0.1/0", "198.18.0.1/33", "198.18.0.1",	"/24",		 "2001:2::1/64/1",
	};
	struct ip_addr a;
	unsigned len;
	struct err e = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		if (parse_ip(bad[i], &a, NULL) != -EINVAL)
			fail_msg("address '%s' was taken", bad[i]);
	for (size_t i = 0; i < COUNT_OF(bad_prefix); i++)
		if (parse_ip_prefix(bad_prefix[i], &a, &len, NULL) != -EINVAL)
			fail_msg("prefix '%s' was taken", bad_prefix[i]);
	parse_ip_prefix("2001:2::1", &a, &len, &e);
	assert_string_equal(
		e.msg,
		"address '2001:2::1': the prefix length is missing: expected as 2001:2::1/64");
}

static void subnets(void **state)
{
	static const struct {
		const char *a, *b;
		unsigned len;
		bool same;
	} t[] = {
		{ "198.18.0.1", "198.18.0.254", 24, true },
		{ "198.18.0.1", "198.18.1.1", 24, false },
		{ "198.18.0.1", "198.18.0.2", 31, false },
		{ "198.18.0.2", "198.18.0.3", 31, true },
		{ "198.18.0.1", "198.18.0.1", 32, true },
		{ "2001:2::1", "2001:2::ffff", 64, true },
		{ "2001:2:0:1::1", "2001:2::1", 64, false },
		{ "2001:2:0:1::1", "2001:2::1", 63, true },
		{ "2001:2::1", "2001:2::2", 128, false },
		{ "198.18.0.1", "::1", 1, false },
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		struct ip_addr a, b;

		assert_int_equal(parse_ip(t[i].a, &a, NULL) | parse_ip(t[i].b, &b, NULL), 0);
		assert_int_equal(ip_same_net(&a, &b, t[i].len), t[i].same);
	}
	assert_int_equal(ip4_of(&IP4(0xc6120001u)), 0xc6120001);
	assert_int_equal(ip_bits(&IP4(0xc6120001u)), 32);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_both_ways),
		cmocka_unit_test(bad_text_is_refused),
		cmocka_unit_test(subnets),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

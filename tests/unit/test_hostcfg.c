#include "hostcfg.h"

#include "sample.h"
#include "testlib.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static json_t *sample_json(void)
{
	struct hostcfg c;

	sample_hostcfg(&c);
	json_t *v = hostcfg_write(&c);
	assert_non_null(v);
	hostcfg_free(&c);
	return v;
}

static void golden(void **state)
{
	json_t *v = sample_json();
	char *text = json_dumps(v, JSON_INDENT(1));
	char *want = data_read("lib/hostcfg.json", NULL);
	struct hostcfg c;
	struct err e = { 0 };

	(void)state;
	assert_string_equal(text, want);
	if (hostcfg_load(TEST_DATA "/lib/hostcfg.json", &c, &e) < 0)
		fail_msg("%s", e.msg);
	json_t *again = hostcfg_write(&c);
	char *text_again = json_dumps(again, JSON_INDENT(1));
	assert_string_equal(text_again, want);
	hostcfg_free(&c);
	json_decref(v);
	json_decref(again);
	free(text);
	free(text_again);
	free(want);
}

static void fields_come_back(void **state)
{
	struct hostcfg want, got;
	struct err e = { 0 };
	json_t *v = sample_json();

	(void)state;
	sample_hostcfg(&want);
	assert_int_equal(hostcfg_read(v, &got, &e), 0);
	assert_string_equal(got.host, want.host);
	assert_string_equal(got.port.vdev, want.port.vdev);
	assert_int_equal(got.port.rxd, 512);
	assert_int_equal(got.port.txd, 2048);
	assert_memory_equal(got.lcores, want.lcores, sizeof(got.lcores));
	assert_int_equal(got.lcore_count, 2);
	assert_true(ip_eq(&got.addr, &want.addr));
	assert_true(ip_eq(&got.gateway, &want.gateway));
	assert_int_equal(got.drain_ns, want.drain_ns);
	assert_int_equal(got.tx_count, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_string_equal(got.tx[i].peer, want.tx[i].peer);
		assert_true(ip_eq(&got.tx[i].peer_addr, &want.tx[i].peer_addr));
		assert_true(got.tx[i].rate_pps == want.tx[i].rate_pps);
		assert_int_equal(got.tx[i].sport_first, want.tx[i].sport_first);
		assert_int_equal(got.tx[i].peer_rx_first, want.tx[i].peer_rx_first);
	}
	assert_int_equal(got.rx_count, 1);
	assert_int_equal(got.rx[0].rx_first, 5);
	hostcfg_free(&want);
	hostcfg_free(&got);
	hostcfg_free(&got); // of an empty one: nothing
	json_decref(v);
}

// The smallest and the largest that each field takes.
static void accepted(void **state)
{
	static const struct {
		const char *path, *value;
	} t[] = {
		{ "cookie", "0" },
		{ "cookie", "65535" },
		{ "gateway", "null" },
		{ "lcores", "[]" },
		{ "lcores.0", "8191" },
		{ "memory_mb", "0" },
		{ "tx", "[]" },
		{ "rx", "[]" },
		{ "port.queues", "128" },
		{ "port.mtu", "65535" },
		{ "port.unlink_path", "\"\"" },
		{ "tx.0.rate_pps", "0.001" },
		{ "tx.0.rate_pps", "5000" },
		{ "tx.0.rate_pps", "1e10" },
		{ "tx.0.rep_bytes", "1472" },
		{ "lease_ns", "0" },
		{ "warmup_ns", "0" },
		{ "rx.0.rx_first", "4194301" },
	};
	struct hostcfg c;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		struct err e = { 0 };
		json_t *v = sample_json();
		json_edit(&v, t[i].path, t[i].value);
		if (hostcfg_read(v, &c, &e) < 0)
			fail_msg("%s = %s: %s", t[i].path, t[i].value, e.msg);
		json_decref(v);
		hostcfg_free(&c);
	}
}

static void refused(void **state)
{
	static const struct {
		const char *path, *value, *msg;
	} t[] = {
		// structure
		{ "", "[]", "$: an array: expected an object" },
		{ "", "7", "$: 7: expected an object" },
		{ "host", NULL, "$.host: missing" },
		{ "tx.1.streams", NULL, "$.tx[1].streams: missing" },
		{ "colour", "1", "$: unknown key 'colour'" },
		{ "port.queue", "1", "$.port: unknown key 'queue', did you mean 'queues'?" },
		{ "tx.0.rate", "1", "$.tx[0]: unknown key 'rate'" },
		{ "port", "null", "$.port: null: expected an object" },
		{ "tx", "{}", "$.tx: an object: expected an array" },
		{ "tx.1", "[[[[[[]]]]]]", "$.tx[1]: an array: expected an object" },
		{ "version", "1", "$.version: 1: expected 3" },
		{ "version", "\"1\"", "$.version: \"1\": expected 3" },
		{ "version", "1.0", "$.version: 1: expected 3" },
		// integers
		{ "cookie", "65536", "$.cookie: 65536: expected an integer from 0 to 65535" },
		{ "cookie", "-1", "$.cookie: -1: expected an integer from 0 to 65535" },
		{ "cookie", "1.0", "$.cookie: 1: expected an integer from 0 to 65535" },
		{ "cookie", "\"7\"", "$.cookie: \"7\": expected an integer from 0 to 65535" },
		{ "cookie", "true", "$.cookie: true: expected an integer from 0 to 65535" },
		{ "cookie", "null", "$.cookie: null: expected an integer from 0 to 65535" },
		{ "host_count", "4294967296",
		  "$.host_count: 4294967296: expected an integer from 1 to 4294967295" },
		{ "host_index", "3", "$.host_index: 3: expected less than host_count, 3" },
		{ "port.queues", "0", "$.port.queues: 0: expected an integer from 1 to 128" },
		{ "port.queues", "129", "$.port.queues: 129: expected an integer from 1 to 128" },
		{ "port.rxd", "7", "$.port.rxd: 7: expected an integer from 8 to 32768" },
		{ "port.txd", "32769", "$.port.txd: 32769: expected an integer from 8 to 32768" },
		{ "port.burst", "0", "$.port.burst: 0: expected an integer from 1 to 64" },
		{ "port.mtu", "67", "$.port.mtu: 67: expected an integer from 68 to 65535" },
		{ "prefix_len", "0", "$.prefix_len: 0: expected an integer from 1 to 128" },
		{ "gateway", "\"2001:2::1\"",
		  "$.gateway: 2001:2::1: expected the family of $.addr, IPv4" },
		{ "prefix_len", "33", "$.prefix_len: 33: expected at most 32" },
		{ "udp_port", "0", "$.udp_port: 0: expected an integer from 1 to 65535" },
		{ "duration_ns", "0",
		  "$.duration_ns: 0: expected an integer from 1 to 31536000000000000" },
		{ "lease_ns", "9223372036854775807",
		  "$.lease_ns: 9223372036854775807: expected an integer from 0 to "
		  "31536000000000000" },
		{ "lcores.1", "8192", "$.lcores[1]: 8192: expected an integer from 0 to 8191" },
		{ "lcores.1", "-1", "$.lcores[1]: -1: expected an integer from 0 to 8191" },
		{ "lcores", "3", "$.lcores: 3: expected an array of at most 128 integers" },
		// rotation
		{ "layers", "4097", "$.layers: 4097: expected an integer from 0 to 4096" },
		{ "layers", "0",
		  "$.dwell_ns: 1000000005: expected 1000000 to 86400000000000 with layers, else "
		  "0" },
		{ "dwell_ns", "999999",
		  "$.dwell_ns: 999999: expected 1000000 to 86400000000000 with layers, else 0" },
		{ "layers", "8", "$.tx[0].layer: 8: expected less than layers, 8" },
		{ "rx.0.layer", "9", "$.rx[0].layer: 9: expected less than layers, 9" },
		// pacing
		{ "pacing.burst", "0", "$.pacing.burst: 0: expected an integer from 1 to 65536" },
		{ "pacing.spacing", "\"odd\"",
		  "$.pacing.spacing: \"odd\": expected one of \"even\" \"uniform\" \"poisson\"" },
		{ "pacing.ramp_from", "1.5",
		  "$.pacing.ramp_from: 1.5: expected a number from 0 to 1" },
		{ "pacing.ramp_steps", "1", "$.pacing.ramp_steps: 1: expected 0 or 2 to 1000" },
		{ "pacing.ramp_ns", "10000000",
		  "$.pacing.ramp_ns: 10000000: expected 0 with layers, which would have other "
		  "rates each" },
		// rates
		{ "tx.0.rate_pps", "0",
		  "$.tx[0].rate_pps: 0: expected more, \"max\", or no such flow" },
		{ "tx.0.rate_pps", "0.0",
		  "$.tx[0].rate_pps: 0: expected more, \"max\", or no such flow" },
		{ "tx.0.window", "8",
		  "$.tx[0].window: 8: expected 0 with a rate, or rate_pps \"max\"" },
		{ "tx.0.rate_pps", "-1",
		  "$.tx[0].rate_pps: -1: expected a number from 0 to 10000000000 or \"max\"" },
		{ "tx.0.rate_pps", "-0.5",
		  "$.tx[0].rate_pps: -0.5: expected a number from 0 to 10000000000 or \"max\"" },
		{ "tx.0.rate_pps", "1e99",
		  "$.tx[0].rate_pps: 9.9999999999999997e+98: expected a number from 0 to "
		  "10000000000 or \"max\"" },
		{ "tx.0.rate_pps", "\"5k\"",
		  "$.tx[0].rate_pps: \"5k\": expected a number from 0 to 10000000000 or "
		  "\"max\"" },
		{ "tx.0.rate_pps", "null",
		  "$.tx[0].rate_pps: null: expected a number from 0 to 10000000000 or \"max\"" },
		// text
		{ "host", "\"\"",
		  "$.host: \"\": expected a string of 1 to 63 bytes without control characters" },
		{ "host", "7",
		  "$.host: 7: expected a string of 1 to 63 bytes without control characters" },
		{ "host", "\"a\\nb\"",
		  "$.host: \"a?b\": expected a string of 1 to 63 bytes without control "
		  "characters" },
		{ "host", "\"a\\u0000b\"",
		  "$.host: \"a\": expected a string of 1 to 63 bytes without control "
		  "characters" },
		{ "host", "\"0123456789012345678901234567890123456789012345678901234567890123\"",
		  "$.host: \"012345678901234567890123456789012345678901234567890123456789\"...: "
		  "expected a string of 1 to 63 bytes without control characters" },
		{ "port.rss_key", "\"6d5\"",
		  "$.port.rss_key: \"6d5\": expected hex digits in pairs of 0 to 160 bytes "
		  "without control characters" },
		{ "port.rss_key", "\"6d5g\"",
		  "$.port.rss_key: \"6d5g\": expected hex digits in pairs of 0 to 160 bytes "
		  "without control characters" },
		{ "port.csum", "\"HW\"", "$.port.csum: \"HW\": expected one of \"sw\" \"hw\"" },
		{ "idle", "0", "$.idle: 0: expected one of \"spin\" \"yield\" \"sleep\"" },
		{ "port.restart_until_link", "1",
		  "$.port.restart_until_link: 1: expected true or false" },
		// addresses
		{ "addr", "null", "$.addr: null: expected an IP address, as 198.18.0.1" },
		{ "addr", "\"0.0.0.0\"",
		  "$.addr: \"0.0.0.0\": expected an IP address, as 198.18.0.1" },
		{ "addr", "3323068417",
		  "$.addr: 3323068417: expected an IP address, as 198.18.0.1" },
		{ "gateway", "\"198.18.0\"",
		  "$.gateway: \"198.18.0\": expected an IP address or null" },
		// what several fields say together
		{ "src_count", "0", "$.src_count: 0: expected 0 without src_addr, else more" },
		{ "src_addr", "null", "$.src_count: 10: expected 0 without src_addr, else more" },
		{ "src_addr", "\"2001:2::1\"",
		  "$.src_addr: 2001:2::1: expected the family of $.addr, IPv4" },
		{ "src_addr", "\"255.255.255.250\"",
		  "$.src_addr: 10 addresses from 255.255.255.250 on: there are not so many" },
		{ "rx.0.peer_sources", "0",
		  "$.rx[0].peer_sources: 0: expected an integer from 1 to 65536" },
		{ "port.vdev", "\"\"", "$.port: expected either vdev or pci to be given" },
		{ "port.pci", "\"0000:01:00.0\"",
		  "$.port: expected either vdev or pci to be given" },
		{ "tx.1.streams", "2",
		  "$.tx[1]: 2 streams from source port 65535 on: port 65535 is the last" },
		{ "tx.1.rep_bytes", "11833",
		  "$.tx[1]: 11833 payload bytes: expected at most 11832 by the MTU of 1500" },
		{ "rx.0.req_bytes", "65507",
		  "$.rx[0]: 65507 payload bytes: expected at most 11832 by the MTU of 1500" },
		{ "tx.1.req_bytes", "17",
		  "$.tx[1].req_bytes: 17: expected an integer from 18 to 65507" },
		{ "tx.1.tx_first", "3",
		  "$.tx[1].tx_first: 3: expected 4 to 4194303, behind the streams before it" },
		{ "steer.0.by", "\"kernel\"", "$.steer[0].by: \"kernel\": expected rss or rules" },
		{ "steer.1.rss_key", "\"6d5a\"",
		  "$.steer[1].rss_key: 2 bytes: expected 40 or more" },
		{ "steer.0.queues", "1",
		  "$.steer[0].queues: 1: expected an integer from 2 to 128" },
		{ "tx.0.peer_steer", "3",
		  "$.tx[0].peer_steer: 3: expected at most 2, those of steer" },
		{ "rx.0.peer_steer", "3",
		  "$.rx[0].peer_steer: 3: expected at most 2, those of steer" },
		{ "rx.0.rx_first", "4194302",
		  "$.rx[0].rx_first: 4194302: expected 0 to 4194301, behind the streams before "
		  "it" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		struct err e = { 0 };
		struct hostcfg c, empty;
		json_t *v = sample_json();
		json_edit(&v, t[i].path, t[i].value);
		assert_int_equal(hostcfg_read(v, &c, &e), -EINVAL);
		assert_string_equal(e.msg, t[i].msg);
		assert_int_equal(e.code, EINVAL);
		memset(&empty, 0, sizeof(empty));
		assert_memory_equal(&c, &empty, sizeof(c));
		assert_int_equal(hostcfg_read(v, &c, NULL), -EINVAL);
		json_decref(v);
	}
}

// {key: value} pairs on top of the sample, and what is said of them.
static void mixes(void **state)
{
	static const struct {
		const char *mixes, *req_mix, *msg;
	} t[] = {
		{ "[{\"cycle\": [18, 18, 64]}]", "1", NULL },
		{ "[{\"cycle\": [64]}]", "0", NULL },
		{ "[{\"cycle\": [18, 65]}]", "1",
		  "$.tx[1].req_bytes: 64: expected the largest of its mix, 65" },
		{ "[{\"cycle\": [18, 64]}]", "2",
		  "$.tx[1].req_mix: 2: expected at most 1, as mixes" },
		{ "[]", "1", "$.tx[1].req_mix: 1: expected at most 0, as mixes" },
		{ "[{\"cycle\": []}]", "0", "$.mixes[0]: cycle: expected 1 to 16384 sizes" },
		{ "[{\"cycle\": null}]", "0", "$.mixes[0]: cycle: expected 1 to 16384 sizes" },
		{ "[{\"cycle\": [17]}]", "0",
		  "$.mixes[0]: cycle[0]: 17: expected an integer from 18 to 65507" },
		{ "[{\"cycle\": [-1]}]", "0",
		  "$.mixes[0].cycle[0]: expected an integer from 0 to 2^63-1" },
		{ "[{\"cycle\": 64}]", "0",
		  "$.mixes[0].cycle: expected null or an array of at most 4194304 integers" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		struct err e = { 0 };
		struct hostcfg c;
		json_t *v = sample_json(), *again;
		json_edit(&v, "mixes", t[i].mixes);
		json_edit(&v, "tx.1.req_mix", t[i].req_mix);
		assert_int_equal(hostcfg_read(v, &c, &e), t[i].msg == NULL ? 0 : -EINVAL);
		assert_string_equal(e.msg, t[i].msg == NULL ? "" : t[i].msg);
		if (t[i].msg == NULL) {
			again = hostcfg_write(&c);
			assert_true(json_equal(v, again));
			json_decref(again);
			hostcfg_free(&c);
		}
		json_decref(v);
	}
}

static void too_many_elements(void **state)
{
	struct hostcfg c;
	struct err e = { 0 };
	json_t *v = sample_json(), *lcores = json_array(), *tx = json_array();

	(void)state;
	for (int i = 0; i <= LCORES_MAX; i++)
		json_array_append_new(lcores, json_integer(i));
	json_object_set_new(v, "lcores", lcores);
	assert_int_equal(hostcfg_read(v, &c, &e), -EINVAL);
	assert_string_equal(e.msg, "$.lcores: an array: expected an array of at most 128 integers");
	json_array_remove(lcores, LCORES_MAX);
	for (int i = 0; i <= FLOWS_MAX; i++)
		json_array_append_new(tx, json_null());
	json_object_set_new(v, "tx", tx);
	assert_int_equal(hostcfg_read(v, &c, &e), -EINVAL);
	assert_string_equal(e.msg, "$.tx: 4097 elements: expected 0 to 4096");
	json_decref(v);
}

static void load_text(const char *text, size_t len, const char *msg)
{
	char path[64];
	struct hostcfg c;
	struct err e = { 0 };

	temp_write(path, text, len);
	int ret = hostcfg_load(path, &c, &e);
	unlink(path);
	assert_true(ret < 0);
	size_t at = strlen(path);
	assert_memory_equal(e.msg, path, at);
	if (strncmp(e.msg + at, msg, strlen(msg)) != 0)
		fail_msg("%s\ninstead of\n%s", e.msg + at, msg);
}

static void broken_files(void **state)
{
	enum { DEEP = 1 << 20 };
	char *nested = malloc(DEEP);
	static const char junk[] = "\x7f"
				   "ELF\x02\x01\0\0\xff\xfe";
	struct hostcfg c;
	struct err e = { 0 };

	(void)state;
	assert_non_null(nested);
	memset(nested, '[', DEEP);
	load_text("", 0, ":1:0: not JSON as expected: '[' or '{' expected near end of file");
	load_text("{}", 2, ": $.version: missing");
	load_text("{\"host\":\"a\",\n \"host\":\"b\"}", 25,
		  ":2:7: not JSON as expected: duplicate object key near '\"host\"'");
	load_text("{\"cookie\":1e999}", 16, ":1:");
	load_text("{\"cookie\":9223372036854775808}", 30,
		  ":1:29: not JSON as expected: too big integer near '9223372036854775808'");
	load_text("{} x", 4, ":1:4: not JSON as expected: end of file expected near 'x'");
	load_text("{\"host\":\"a\\u0000\"}", 18, ":1:");
	load_text("{\"host\":\"\xff\"}", 12, ":1:");
	load_text(nested, DEEP, ":1:2049: not JSON as expected: maximum parsing depth reached");
	load_text(junk, sizeof(junk) - 1, ":1:");
	free(nested);

	assert_int_equal(hostcfg_load("/nonexistent/host.json", &c, &e), -ENOENT);
	assert_string_equal(e.msg, "/nonexistent/host.json: No such file or directory");
	assert_int_equal(hostcfg_load("/tmp", &c, &e), -EINVAL);
	assert_string_equal(e.msg, "/tmp: expected a regular file");
}

static void a_giant_file_is_not_read(void **state)
{
	char path[64];
	struct hostcfg c;
	struct err e = { 0 };

	(void)state;
	temp_write(path, "{}", 2);
	assert_int_equal(truncate(path, (64 << 20) + 1), 0);
	assert_int_equal(hostcfg_load(path, &c, &e), -EFBIG);
	assert_non_null(strstr(e.msg, ": 67108865 bytes, expected at most 67108864"));
	unlink(path);
}

static void unwritable_is_null(void **state)
{
	struct hostcfg c;

	(void)state;
	sample_hostcfg(&c);
	strcpy(c.host, "\xff");
	assert_null(hostcfg_write(&c));
	hostcfg_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden),
		cmocka_unit_test(fields_come_back),
		cmocka_unit_test(accepted),
		cmocka_unit_test(refused),
		cmocka_unit_test(mixes),
		cmocka_unit_test(too_many_elements),
		cmocka_unit_test(broken_files),
		cmocka_unit_test(a_giant_file_is_not_read),
		cmocka_unit_test(unwritable_is_null),
	};

	return cmocka_run_group_tests_name("hostcfg", tests, NULL, NULL);
}

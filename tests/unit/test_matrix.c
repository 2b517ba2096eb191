#include "matrix.h"

#include "planlib.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#define BAD_DIR TEST_DATA "/matrix/bad"
#define EXAMPLES_DIR TEST_DATA "/../../doc/examples"
#define MIB (1u << 20)

static int is_yaml(const struct dirent *f)
{
	size_t len = strlen(f->d_name);

	return len > 5 && strcmp(f->d_name + len - 5, ".yaml") == 0;
}

// Each NN-name.yaml is refused with the one line of NN-name.err.
static void bad_files(void **state)
{
	struct dirent **file;
	int n = scandir(BAD_DIR, &file, is_yaml, alphasort);

	(void)state;
	assert_true(n >= 25);
	for (int i = 0; i < n; i++) {
		char yaml[512], msg[512];
		struct err e = { 0 };
		struct planned p;
		size_t len, want_len;

		snprintf(yaml, sizeof(yaml), "matrix/bad/%s", file[i]->d_name);
		snprintf(msg, sizeof(msg), "matrix/bad/%.*s.err",
			 (int)(strlen(file[i]->d_name) - 5), file[i]->d_name);
		char *text = data_read(yaml, &len), *want = data_read(msg, &want_len);
		if (planned_build(&p, text, len, NULL, 2, &e) == 0)
			fail_msg("%s: accepted", yaml);
		want[strcspn(want, "\n")] = '\0';
		if (strcmp(e.msg, want) != 0)
			fail_msg("%s: %s\nexpected: %s", yaml, e.msg, want);
		free(text);
		free(want);
		free(file[i]);
	}
	free(file);
}

// A megabyte of each opening, with a stack too small for anything that recurses over it.
static void deep_nesting(void **state)
{
	static const char *const unit[] = { "[", "{", "- ", "? ", "{a: ", "[a, ", "[[{a: [", "(" };
	struct rlimit old, small = { .rlim_cur = 512u << 10 };

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_STACK, &old), 0);
	small.rlim_max = old.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_STACK, &small), 0);
	for (size_t i = 0; i < COUNT_OF(unit); i++) {
		size_t step = strlen(unit[i]), len = MIB / step * step;
		char *text = malloc(len + 1);
		struct err e = { 0 };
		struct matrix m;

		assert_non_null(text);
		for (size_t at = 0; at < len; at += step)
			memcpy(text + at, unit[i], step);
		text[len] = '\0';
		assert_int_equal(matrix_parse("FILE", text, len, &m, &e), -EINVAL);
		assert_memory_equal(e.msg, "FILE:1:", 7);
		free(text);
	}
	setrlimit(RLIMIT_STACK, &old);
}

static void deep_indentation(void **state)
{
	size_t depth = 1400, used = 0;
	char *text = malloc(depth * (depth + 4));
	struct err e = { 0 };
	struct matrix m;

	(void)state;
	assert_non_null(text);
	for (size_t i = 0; i < depth; i++)
		used += (size_t)sprintf(text + used, "%*sa:\n", (int)i, "");
	assert_int_equal(matrix_parse("FILE", text, used, &m, &e), -EINVAL);
	assert_string_equal(e.msg, "FILE:33:33: nested more than 32 deep: expected a few levels");
	free(text);
}

static void file_errors(void **state)
{
	char path[64];
	struct err e = { 0 };
	struct matrix m;

	(void)state;
	assert_int_equal(matrix_load("/nonexistent/rack.yaml", &m, &e), -ENOENT);
	assert_string_equal(e.msg, "/nonexistent/rack.yaml: No such file or directory");
	assert_int_equal(matrix_load("/", &m, &e), -EISDIR);
	temp_write(path, "pmx: 1\n", 7);
	assert_int_equal(truncate(path, 64 * MIB + 1), 0);
	assert_int_equal(matrix_load(path, &m, &e), -EFBIG);
	assert_non_null(strstr(e.msg, "larger than 64 MiB"));
	unlink(path);
}

static void every_key(void **state)
{
	static const char text[] =
		"pmx: 1\n"
		"name: night run\n"
		"transport: ssh\n"
		"remote_dir: /opt/pmx-lab/a_1\n"
		"ssh: {user: ops, port: 2222, identity: ~/.ssh/id, config: /dev/null,\n"
		"      known_hosts: /tmp/k, sudo: yes, connect_timeout: 2.5s}\n"
		"defaults: {device: eth1, driver: af_packet, queues: 2, lcores: '2,4', mtu: 9000,\n"
		"           hugepages: no, idle: sleep, gateway: 198.18.0.254}\n"
		"hosts:\n"
		"  zeta: {ssh: root@192.0.2.1:22, addr: 198.18.0.1/24}\n"
		"  alpha:\n"
		"    addr: 198.18.0.2/24\n"
		"    device: \"0000:3b:00.0,mprq_en=1\"\n"
		"    driver: default\n"
		"    queues: 1\n"
		"    lcores: 7\n"
		"    idle: spin\n"
		"    hugepages: auto\n"
		"traffic: {request: 64, reply: 8972, port: 5301, streams: 16, pattern: mesh,\n"
		"          rate: 1.5M, cells: {alpha: {zeta: max, alpha: 5}}}\n"
		"timing: {warmup: 0, duration: 1m, drain: 250ms, interval: 500ms, lease: 5s,\n"
		"         resolve: 3s, max: 2h}\n"
		"limits: {loss: 0.1%, rtt_p99: 200us, achieved: 99.5}\n";
	struct err e = { 0 };
	struct matrix m;

	(void)state;
	if (matrix_parse("a/b.yaml", text, strlen(text), &m, &e) < 0)
		fail_msg("%s", e.msg);
	assert_string_equal(m.file, "a/b.yaml");
	assert_string_equal(m.name, "night run");
	assert_string_equal(m.remote_dir, "/opt/pmx-lab/a_1");
	assert_string_equal(m.ssh.user, "ops");
	assert_int_equal(m.ssh.port, 2222);
	assert_string_equal(m.ssh.identity, "~/.ssh/id");
	assert_string_equal(m.ssh.config, "/dev/null");
	assert_string_equal(m.ssh.known_hosts, "/tmp/k");
	assert_true(m.ssh.sudo);
	assert_int_equal(m.ssh.connect_ns, 2500000000);

	assert_int_equal(m.host_count, 2);
	const struct matrix_host *zeta = &m.host[0], *alpha = &m.host[1]; // the file's order
	assert_string_equal(zeta->name, "zeta");
	assert_string_equal(zeta->ssh, "root@192.0.2.1:22");
	assert_string_equal(zeta->device, "eth1");
	assert_int_equal(ip4_of(&zeta->addr), 0xc6120001);
	assert_int_equal(zeta->prefix_len, 24);
	assert_int_equal(ip4_of(&zeta->gateway), 0xc61200fe);
	assert_int_equal(zeta->queues, 2);
	assert_int_equal(zeta->lcore_count, 2);
	assert_int_equal(zeta->lcores[1], 4);
	assert_int_equal(zeta->mtu, 9000);
	assert_int_equal(zeta->hugepages, HUGE_NO);
	assert_int_equal(zeta->idle, IDLE_SLEEP);
	assert_true(zeta->idle_set);
	assert_int_equal(zeta->pos.line, 10);
	assert_int_equal(zeta->at.addr.col, 40);
	assert_int_equal(zeta->at.device.line, 7);
	assert_string_equal(alpha->ssh, "alpha"); // its name, when nothing else is said
	assert_string_equal(alpha->driver, "default");
	assert_int_equal(alpha->lcores[0], 7);
	assert_int_equal(alpha->hugepages, HUGE_AUTO);
	assert_int_equal(alpha->idle, IDLE_SPIN);

	assert_int_equal(m.traffic.req_bytes, 64);
	assert_int_equal(m.traffic.rep_bytes, 8972);
	assert_int_equal(m.traffic.port, 5301);
	assert_int_equal(m.traffic.streams, 16);
	assert_true(m.traffic.rate.pps == 1.5e6);
	assert_int_equal(m.traffic.cell_count, 1); // the diagonal is ignored
	assert_int_equal(m.traffic.cell[0].src, 1);
	assert_int_equal(m.traffic.cell[0].dst, 0);
	assert_true(m.traffic.cell[0].rate.max);
	assert_int_equal(m.timing.warmup_ns, 0);
	assert_int_equal(m.timing.duration_ns, 60000000000);
	assert_int_equal(m.timing.drain_ns, 250000000);
	assert_int_equal(m.timing.interval_ns, 500000000);
	assert_int_equal(m.timing.lease_ns, 5000000000);
	assert_int_equal(m.timing.resolve_ns, 3000000000);
	assert_int_equal(m.timing.max_ns, 7200000000000);
	assert_true(m.limits.loss_pct == 0.1);
	assert_true(m.limits.rtt_p99_us == 200);
	assert_true(m.limits.achieved_pct == 99.5);
	matrix_free(&m);
}

static void defaults(void **state)
{
	static const char text[] = "hosts: {a: {device: net_null0, addr: 198.18.0.1/31},\n"
				   "        b: {device: net_null0, addr: 198.18.0.0/31}}\n"
				   "traffic: {rate: 5}\n"
				   "pmx: 1\n";
	struct err e = { 0 };
	struct matrix m;

	(void)state;
	if (matrix_parse("dir/rack.v2.yaml", text, strlen(text), &m, &e) < 0)
		fail_msg("%s", e.msg);
	assert_string_equal(m.name, "rack");
	assert_int_equal(m.transport, TRANSPORT_SSH);
	assert_string_equal(m.remote_dir, "/var/tmp/pmx");
	assert_int_equal(m.traffic.req_bytes, 18);
	assert_int_equal(m.traffic.rep_bytes, 18);
	assert_int_equal(m.traffic.port, 5300);
	assert_int_equal(m.traffic.streams, 1);
	assert_int_equal(m.traffic.pattern, PATTERN_MESH);
	assert_int_equal(m.timing.warmup_ns, 1000000000);
	assert_int_equal(m.timing.duration_ns, 10000000000);
	assert_int_equal(m.timing.drain_ns, 1000000000);
	assert_int_equal(m.timing.interval_ns, 1000000000);
	assert_int_equal(m.timing.lease_ns, 10000000000);
	assert_int_equal(m.timing.resolve_ns, 10000000000);
	assert_int_equal(m.timing.max_ns, 86400000000000);
	assert_true(m.limits.loss_pct == -1 && m.limits.rtt_p99_us == -1);
	assert_int_equal(m.host[0].queues, 1);
	assert_int_equal(m.host[0].hugepages, HUGE_AUTO);
	assert_false(m.host[0].idle_set);
	// of the bytes: sha256sum says the same
	assert_string_equal(m.sha256,
			    "4c7485a62dc8c754a0b9acdb30c4803f9b78a02b45751ea4e3bc01d2f5587f1e");
	matrix_free(&m);
}

// With FCS: 46 bytes of Ethernet, IPv4, UDP and FCS.
static void frame_sizes(void **state)
{
	static const struct {
		const char *traffic;
		uint32_t req, rep;
	} t[] = {
		{ "{rate: 5, tx_frame: 64, rx_frame: 1518}", 18, 1472 },
		{ "{rate: 5, tx_frame: 128}", 82, 18 },
		{ "{rate: 5, request: 100, rx_frame: 65}", 100, 19 },
		{ "{rate: 5, tx_frame: 65553}", 65507, 18 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		struct err e = { 0 };
		struct matrix m;
		char text[512];

		snprintf(text, sizeof(text),
			 "hosts: {a: {device: net_null0, addr: 198.18.0.1/31},\n"
			 "        b: {device: net_null0, addr: 198.18.0.0/31}}\n"
			 "traffic: %s\n"
			 "pmx: 1\n",
			 t[i].traffic);
		if (matrix_parse("FILE", text, strlen(text), &m, &e) < 0)
			fail_msg("%s", e.msg);
		assert_int_equal(m.traffic.req_bytes, t[i].req);
		assert_int_equal(m.traffic.rep_bytes, t[i].rep);
		matrix_free(&m);
	}
}

static void device_kinds(void **state)
{
	static const struct {
		const char *text;
		enum device_kind kind;
	} t[] = {
		{ "", DEVICE_NONE },
		{ "0000:3b:00.0", DEVICE_PCI },
		{ "3b:00.1", DEVICE_PCI },
		{ "3B:0a.1,rx_vec_en=0", DEVICE_PCI },
		{ "00010000:3b:00.0", DEVICE_PCI },
		{ "net_memif0", DEVICE_VDEV },
		{ "net_af_packet0,iface=eth1", DEVICE_VDEV },
		{ "eth1", DEVICE_IFACE },
		{ "enp59s0f0np0", DEVICE_IFACE },
		{ "eth1.100", DEVICE_IFACE },
		{ "net1", DEVICE_IFACE },
		{ "abcdefghijklmnop", DEVICE_BAD }, // 16 characters
		{ "net_", DEVICE_IFACE },
		{ "eth1,x=y", DEVICE_BAD },
		{ "0000:3b:00", DEVICE_BAD },
		{ "3b:00.0x", DEVICE_BAD },
		{ "-eth1", DEVICE_BAD },
		{ "eth 1", DEVICE_BAD },
		{ "a{b}", DEVICE_BAD },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(t); i++)
		if (device_kind(t[i].text) != t[i].kind)
			fail_msg("'%s': kind %d, not %d", t[i].text, device_kind(t[i].text),
				 t[i].kind);
}

static void remote_dirs(void **state)
{
	static const char *const good[] = { "/var/tmp/pmx", "/tmp/x", "/a/b-c_d+e.f/g" };
	static const char *const bad[] = { "",	     "/",	"/tmp",	     "tmp/pmx",	 "/tmp/",
					   "//a",    "/tmp//a", "/tmp/../a", "/tmp/./a", "/tmp/.a",
					   "/a b/c", "/a,b/c",	"/a/$(b)",   "~/pmx" };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(good); i++)
		assert_true(remote_dir_ok(good[i]));
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		if (remote_dir_ok(bad[i]))
			fail_msg("'%s' taken", bad[i]);
}

static void examples(void **state)
{
	struct dirent **file;
	int n = scandir(EXAMPLES_DIR, &file, is_yaml, alphasort);

	(void)state;
	assert_true(n >= 3);
	for (int i = 0; i < n; i++) {
		char path[512];
		struct err e = { 0 };
		struct planned p;
		size_t len;

		snprintf(path, sizeof(path), EXAMPLES_DIR "/%s", file[i]->d_name);
		char *text = data_read(path, &len);
		if (planned_build(&p, text, len, NULL, 2, &e) < 0)
			fail_msg("%s: %s", path, e.msg);
		planned_free(&p);
		free(text);
		free(file[i]);
	}
	free(file);
}

// With a dwell and no duration, one cycle: three hosts have two distances.
static void a_rotation_lasts_one_cycle(void **state)
{
	static const struct {
		const char *rest;
		uint64_t duration_ns;
	} t[] = {
		{ "traffic: {rate: 5, peers: 1, dwell: 3s}\n", 6000000000 },
		{ "traffic: {rate: 5, peers: 2, dwell: 3s}\n", 3000000000 },
		{ "traffic: {rate: 5, peers: 1, dwell: 3s}\ntiming: {duration: 7s}\n", 7000000000 },
		{ "traffic: {rate: 5, peers: 2}\n", 10000000000 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		char text[512];
		struct err e = { 0 };
		struct matrix m;
		int len = snprintf(text, sizeof(text),
				   "pmx: 1\ntransport: local\ndefaults: {device: net_ring0}\n"
				   "hosts:\n  a: {addr: 198.18.0.1/24}\n"
				   "  b: {addr: 198.18.0.2/24}\n  c: {addr: 198.18.0.3/24}\n%s",
				   t[i].rest);

		if (matrix_parse("x.yaml", text, (size_t)len, &m, &e) < 0)
			fail_msg("%s", e.msg);
		assert_int_equal(m.timing.duration_ns, t[i].duration_ns);
		matrix_free(&m);
	}
}

// Addresses that a host asks from, in each way of saying them.
static void many_addresses(void **state)
{
	static const struct {
		const char *addr, *addrs, *first;
		uint32_t count;
	} t[] = {
		{ "198.18.0.9/24", "20", "198.18.0.9", 20 },
		{ "198.18.0.9/16", "198.18.1.1-198.18.1.250", "198.18.1.1", 250 },
		{ "198.18.0.9/16", "198.18.1.200-198.18.2.9", "198.18.1.200", 66 },
		{ "198.18.0.9/16", "198.18.1.0/24", "198.18.1.1", 254 },
		{ "198.18.0.9/24", "198.18.0.77/28", "198.18.0.65", 14 },
		{ "198.18.0.9/24", "198.18.0.9-198.18.0.9", "198.18.0.9", 1 },
		{ "2001:2::9/64", "2001:2::1:0/112", "2001:2::1:1", 65535 },
		{ "2001:2::9/64", "2001:2::f-2001:2::1e", "2001:2::f", 16 },
	};
	static const struct {
		const char *addr, *addrs, *msg;
	} bad[] = {
#define FORM                                                                                   \
	": expected how many from 'addr' on, as 250, or which, as 198.18.1.1-198.18.1.250 or " \
	"198.18.1.128/25, at most 65536 of them"
		{ "198.18.0.9/24", "0", "addrs '0'" FORM },
		{ "198.18.0.9/24", "65537", "addrs '65537'" FORM },
		{ "198.18.0.9/24", "198.18.0.9", "addrs '198.18.0.9'" FORM },
		{ "198.18.0.9/24", "198.18.0.9-198.18.0.8", "addrs '198.18.0.9-198.18.0.8'" FORM },
		{ "198.18.0.9/24", "198.18.0.9-2001:2::1", "addrs '198.18.0.9-2001:2::1'" FORM },
		{ "198.18.0.9/8", "198.18.0.0/15", "addrs '198.18.0.0/15'" FORM },
		{ "198.18.0.9/24", "250",
		  "addrs: 250 from 198.18.0.9 to 198.18.1.2: expected hosts' addresses in "
		  "198.18.0.9/24, the subnet of 'a'" },
		{ "198.18.0.9/24", "247",
		  "addrs: 247 from 198.18.0.9 to 198.18.0.255: expected hosts' addresses in "
		  "198.18.0.9/24, the subnet of 'a'" },
		{ "198.18.0.9/24", "2001:2::1-2001:2::9",
		  "addrs: 9 from 2001:2::1 to 2001:2::9: expected hosts' addresses in "
		  "198.18.0.9/24, the subnet of 'a'" },
		{ "198.18.0.9/24", "198.18.0.250-198.18.0.254",
		  "addrs: 198.18.0.250 to 198.18.0.254: the gateway '198.18.0.254' is among "
		  "them: expected none of another's" },
		{ "198.18.0.9/24", "192",
		  "addrs: '198.18.0.200' of host 'b' is one of host 'a', too: expected each to "
		  "be one host's" },
	};
	char text[512], msg[512], first[IP_STR_MAX];
	struct err e = { 0 };
	struct matrix m;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		bool v6 = strchr(t[i].addr, ':') != NULL;

		snprintf(text, sizeof(text),
			 "pmx: 1\ndefaults: {device: eth1, driver: af_packet}\nhosts:\n"
			 "  a: {addr: '%s', addrs: '%s'}\n  b: {addr: '%s'}\ntraffic: {rate: 1}\n",
			 t[i].addr, t[i].addrs, v6 ? "2001:2::ffff:1/64" : "198.18.0.200/16");
		if (matrix_parse("FILE", text, strlen(text), &m, &e) < 0)
			fail_msg("%s: %s", t[i].addrs, e.msg);
		assert_string_equal(ip_str(&m.host[0].src_addr, first, sizeof(first)), t[i].first);
		assert_int_equal(m.host[0].src_count, t[i].count);
		assert_int_equal(m.host[1].src_count, 0);
		matrix_free(&m);
	}
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		int col =
			snprintf(text, sizeof(text), "  a: {addr: '%s', addrs: ", bad[i].addr) + 1;

		snprintf(msg, sizeof(msg), "FILE:4:%d: %s", col, bad[i].msg);
		snprintf(text, sizeof(text),
			 "pmx: 1\ndefaults: {device: eth1, driver: af_packet}\nhosts:\n"
			 "  a: {addr: '%s', addrs: '%s', gateway: 198.18.0.254}\n"
			 "  b: {addr: 198.18.0.200/16}\ntraffic: {rate: 1}\n",
			 bad[i].addr, bad[i].addrs);
		assert_int_equal(matrix_parse("FILE", text, strlen(text), &m, &e), -EINVAL);
		assert_string_equal(e.msg, msg);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_addresses),   cmocka_unit_test(a_rotation_lasts_one_cycle),
		cmocka_unit_test(bad_files),	    cmocka_unit_test(deep_nesting),
		cmocka_unit_test(deep_indentation), cmocka_unit_test(file_errors),
		cmocka_unit_test(every_key),	    cmocka_unit_test(defaults),
		cmocka_unit_test(frame_sizes),	    cmocka_unit_test(device_kinds),
		cmocka_unit_test(remote_dirs),	    cmocka_unit_test(examples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "device.h"
#include "profile.h"
#include "template.h"

#include "planlib.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const shipped_name[] = {
	"af_packet", "af_xdp", "bnxt", "default", "e1000", "ena",    "gve",	   "i40e",
	"iavf",	     "ice",    "igc",  "ixgbe",	  "memif", "mlx4",   "mlx5",	   "netvsc",
	"null",	     "pcap",   "ring", "tap",	  "vhost", "virtio", "virtio_pci", "vmxnet3",
};

static void load(const char *name, struct profile *p)
{
	struct err e = { 0 };

	if (profile_load(name, plan_drivers, p, &e) < 0)
		fail_msg("%s", e.msg);
}

static void shipped(void **state)
{
	char *name[PROFILES_MAX];
	size_t n = profile_names(plan_drivers, name);

	(void)state;
	assert_int_equal(n, COUNT_OF(shipped_name));
	for (size_t i = 0; i < n; i++) {
		static struct profile p;

		assert_string_equal(name[i], shipped_name[i]);
		load(name[i], &p);
		assert_string_equal(p.name, name[i]);
		assert_true(p.notes[0] != '\0' || p.fault[0].text[0] != '\0' || p.pci_id[0] != 0);
		assert_true(strcmp(name[i], "default") == 0 || p.pmd[0] != '\0');
		// what is on PCI is found by its id, and what is not has no id
		assert_true((p.pci_id[0] != 0) ==
			    ((p.bind == BIND_VFIO_PCI || p.bind == BIND_BIFURCATED) &&
			     p.pmd[0] != '\0'));
		for (size_t m = 0; m < PROFILE_MODELS_MAX; m++)
			assert_true(p.model[m].rated_mpps <= 0 || p.model[m].source[0] != '\0');
	}
	profile_names_free(name, n);
}

static bool lists(const struct profile *p, uint32_t id)
{
	for (size_t i = 0; i < PCI_IDS_MAX; i++)
		if (p->pci_id[i] == id)
			return true;
	return false;
}

// A device has one profile.
static void ids_are_ones_own(void **state)
{
	static struct profile p[COUNT_OF(shipped_name)];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(p); i++) {
		load(shipped_name[i], &p[i]);
		for (size_t k = 0; k < PCI_IDS_MAX && p[i].pci_id[k] != 0; k++)
			for (size_t j = 0; j < i; j++)
				if (lists(&p[j], p[i].pci_id[k]))
					fail_msg("%08x is in %s and %s", p[i].pci_id[k], p[i].name,
						 p[j].name);
	}
}

static void from_pci_id(void **state)
{
	static const struct {
		uint32_t id;
		const char *name;
		double mpps, gbps;
	} row[] = {
		{ 0x80861592, "ice", 58.5, 100 },     { 0x80861593, "ice", -1, -1 },
		{ 0x15b31017, "mlx5", 148.8, 100 },   { 0x15b31003, "mlx4", -1, -1 },
		{ 0x1af41000, "virtio_pci", -1, -1 }, { 0x8086154c, "iavf", -1, -1 },
		{ 0x80861572, "i40e", 14.88, 10 },    { 0x12345678, "default", -1, -1 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(row); i++) {
		struct err e = { 0 };
		struct profile p;

		assert_int_equal(profile_load_pci(row[i].id, plan_drivers, &p, &e), 0);
		assert_string_equal(p.name, row[i].name);
		assert_true(p.rated_mpps == row[i].mpps && p.speed_gbps == row[i].gbps);
	}
}

static void shown(const struct profile *p, char **text, size_t *len)
{
	FILE *f = open_memstream(text, len);

	assert_non_null(f);
	profile_show(f, p);
	fclose(f);
}

// What is shown is the profile: it reads back equal, to the byte, but for where it stood.
static void reads_back(const struct profile *p)
{
	struct profile back, want = *p;
	struct err e = { 0 };
	char *text;
	size_t len;

	shown(p, &text, &len);
	if (profile_parse(p->name, p->file, text, len, &back, &e) < 0)
		fail_msg("%s\n%s", e.msg, text);
	memset(want.at, 0, sizeof(want.at));
	memset(back.at, 0, sizeof(back.at));
	assert_memory_equal(&back, &want, sizeof(want));
	free(text);
}

static void shows(void **state)
{
	struct profile p;
	struct err e = { 0 };
	char *text;
	size_t len;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(shipped_name); i++) {
		load(shipped_name[i], &p);
		reads_back(&p);
	}
	static const char odd[] = "pmd: net_x\nnotes: \"a \\\"b\\\"\\\\\\tc: d # e\\n\\n f\"\n"
				  "rss_key_bytes: 52\nrxd: 512\n";
	assert_int_equal(profile_parse("x", "/d/x.yaml", odd, strlen(odd), &p, &e), 0);
	reads_back(&p);
	shown(&p, &text, &len);
	assert_non_null(strstr(text, "# profile x: /d/x.yaml\n"));
	assert_non_null(strstr(text, "rxd: 512                                    # x.yaml:4\n"));
	assert_non_null(strstr(text, "txd: 1024                                   # default\n"));
	assert_non_null(strstr(text, "# rss_key: none\n"));
	free(text);
}

static void every_key(void **state)
{
	static const char text[] =
		"pmd: net_x\nvirtual: yes\ndevargs: 'net_x0,iface={iface}'\nunlink: '{dir}/s'\n"
		"peer: y\nrole: client\nrxd: 512\ntxd: 2048\nburst: 16\nqueues_max: 4\n"
		"mtu_max: 3000\ncapabilities: net_raw  bpf\nall_queues: yes\nchecksum: hw\nrss: "
		"on\n"
		"rss_key: 6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73b"
		"beac01fa\n"
		"restart_until_link: yes\nsingle_file_segments: yes\nrated_mpps: 14.88\n"
		"speed_gbps: 10\nnotes: |\n  one\n  two\n"
		"bind: kernel\nkernel_driver: x\nmtu_by: ring\n"
		"offloads: [udp_cksum, rss_hash]\nrss_fields: [udp4]\nrss_key_bytes: 40\n"
		"reta_size: 128\nsteering: pairs\nqueue_stats_max: 16\ncounts_missed: yes\n"
		"quiet: yes\nmodels:\n  - {name: m, ids: ['0001:0002'], gbps: 1, mpps: 2, source: "
		"s}\n"
		"faults:\n  - {ref: r#1, text: t}\n";
	struct err e = { 0 };
	struct profile p;

	(void)state;
	if (profile_parse("x", "x.yaml", text, strlen(text), &p, &e) < 0)
		fail_msg("%s", e.msg);
	assert_string_equal(p.name, "x");
	assert_string_equal(p.pmd, "net_x");
	assert_true(p.virtual);
	assert_string_equal(p.devargs, "net_x0,iface={iface}");
	assert_string_equal(p.unlink, "{dir}/s");
	assert_string_equal(p.peer, "y");
	assert_string_equal(p.role, "client");
	assert_int_equal(p.rxd, 512);
	assert_int_equal(p.txd, 2048);
	assert_int_equal(p.burst, 16);
	assert_int_equal(p.queues_max, 4);
	assert_int_equal(p.mtu_max, 3000);
	assert_int_equal(p.capabilities, 1ull << 13 | 1ull << 39);
	assert_true(p.all_queues);
	assert_int_equal(p.csum, CSUM_HW);
	assert_int_equal(p.rss, RSS_ON);
	assert_int_equal(strlen(p.rss_key), 80);
	assert_true(p.restart_until_link && p.single_file_segments);
	assert_true(p.rated_mpps == 14.88 && p.speed_gbps == 10);
	assert_string_equal(p.notes, "one\ntwo\n");
	assert_int_equal(p.bind, BIND_KERNEL);
	assert_string_equal(p.kernel_driver, "x");
	assert_int_equal(p.mtu_by, MTU_BY_RING);
	assert_int_equal(p.offloads, 1 << 1 | 1 << 6);
	assert_int_equal(p.rss_fields, 1 << 2);
	assert_int_equal(p.rss_key_bytes, 40);
	assert_int_equal(p.reta_size, 128);
	assert_int_equal(p.steering, STEER_PAIRS);
	assert_int_equal(p.queue_stats_max, 16);
	assert_true(p.counts_missed && p.quiet);
	assert_string_equal(p.model[0].name, "m");
	assert_int_equal(p.model[0].id[0], 0x00010002);
	assert_true(p.model[0].speed_gbps == 1 && p.model[0].rated_mpps == 2);
	assert_string_equal(p.model[0].source, "s");
	assert_string_equal(p.fault[0].ref, "r#1");
	assert_string_equal(p.fault[0].text, "t");
}

static void bad(const char *text, const char *msg)
{
	struct err e = { 0 };
	struct profile p;

	assert_true(profile_parse("x", "x.yaml", text, strlen(text), &p, &e) < 0);
	assert_string_equal(e.msg, msg);
}

static void refused(void **state)
{
	(void)state;
	bad("rxds: 5\n", "x.yaml:1:1: unknown key 'rxds' in profile: did you mean 'rxd'?");
	bad("rxd: 4\n", "x.yaml:1:6: rxd '4': expected a whole number from 8 to 32768");
	bad("checksum: nic\n", "x.yaml:1:11: checksum 'nic': expected one of sw, hw");
	bad("virtual: yes\n", "x.yaml:1:1: devargs is missing: expected a template of the vdev, as "
			      "net_x0,iface={iface}");
	bad("devargs: 'net_x0,iface={ifaze}'\n",
	    "x.yaml:1:10: devargs '{ifaze}': did you mean '{iface}'?");
	bad("devargs: 'net_x0,iface={iface'\n",
	    "x.yaml:1:10: devargs 'net_x0,iface={iface': a brace without its other");
	bad("rss_key: 6d5a\n",
	    "x.yaml:1:10: rss_key '6d5a': expected 40 to 80 bytes as pairs of hex digits");
	bad("speed_gbps: 1e3\n",
	    "x.yaml:1:13: speed_gbps '1e3': expected a number from 0 to 100000");
	bad("speed_gbps: -1\n", "x.yaml:1:13: speed_gbps '-1': expected a number from 0 to 100000");
	bad("capabilities: net_raw raw\n",
	    "x.yaml:1:15: capabilities 'raw': expected words of bpf, ipc_lock, net_admin, net_raw, "
	    "sys_admin, sys_rawio");
	bad("role: master\n", "x.yaml:1:7: role 'master': expected server or client");
	bad("pci_ids: 8086:1592\n",
	    "x.yaml:1:10: pci_ids: '8086:1592' given: expected a list of PCI ids, as 8086:1592");
	bad("pci_ids: [8086:1592, '8086']\n",
	    "x.yaml:1:22: pci_ids '8086': expected PCI ids, as 8086:1592, in lower case");
	bad("offloads: [udp]\n",
	    "x.yaml:1:12: offloads 'udp': expected one of ipv4_cksum, udp_cksum, rx_cksum, "
	    "multi_segs, scatter, fast_free, rss_hash, vlan_insert");
	bad("bind: vfio\n", "x.yaml:1:7: bind 'vfio': expected one of none, kernel, bifurcated, "
			    "vfio-pci, uio_hv_generic");
	bad("bind: bifurcated\n",
	    "x.yaml:1:1: bind 'bifurcated': expected 'kernel_driver', the one it stays on");
	bad("models: [{name: m, mpps: 5}]\n",
	    "x.yaml:1:10: models 'm': mpps without 'source': expected where it was read");
	bad("models: [{gbps: 5}]\n", "x.yaml:1:10: models: a model without 'name'");
	bad("models: [{name: m, speed: 5}]\n", "x.yaml:1:20: unknown key 'speed' in models: "
					       "expected one of name, ids, gbps, mpps, source");
	bad("faults: [{ref: 'a#1'}]\n", "x.yaml:1:10: faults: a fault without 'text'");
	bad("virtual: yes\ndevargs: net_x0\npci_ids: ['8086:1592']\n",
	    "x.yaml:1:1: pci_ids: a virtual device has none: remove them");
}

static void directories(void **state)
{
	char dir[] = "/tmp/pmx-test-XXXXXX", path[128];
	struct profile p;
	struct err e = { 0 };

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/null.yaml", dir);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs("pmd: net_null\nvirtual: yes\ndevargs: net_null7\nspeed_gbps: 40\n", f);
	fclose(f);

	const char *const dirs[] = { "/nonexistent", dir, plan_drivers[0], NULL };
	assert_int_equal(profile_load("null", dirs, &p, &e), 0); // the first found is taken
	assert_true(p.speed_gbps == 40);
	assert_int_equal(profile_load("memif", dirs, &p, &e), 0);
	assert_int_equal(profile_load("mem_if", dirs, &p, &e), -ENOENT);
	assert_string_equal(e.msg, "driver 'mem_if': no such profile: did you mean 'memif'?");
	assert_int_equal(profile_load("nothing_like_it", dirs, &p, &e), -ENOENT);
	assert_string_equal(e.msg,
			    "driver 'nothing_like_it': no such profile: expected one of "
			    "af_packet, af_xdp, bnxt, default, e1000, ena, gve, i40e, iavf, "
			    "ice, igc, ixgbe, memif, mlx4, mlx5, netvsc, null, pcap, ring, tap, "
			    "vhost, virtio, virtio_pci, vmxnet3");
	assert_int_equal(profile_load("../null", dirs, &p, &e), -EINVAL);
	assert_int_equal(profile_load("null", dirs, &p, &e), 0);
	const char *const nowhere[] = { "/nonexistent", NULL };
	assert_int_equal(profile_load("null", nowhere, &p, &e), -ENOENT);
	assert_string_equal(e.msg, "driver 'null': no profiles in /nonexistent: expected the path "
				   "of drivers-config by --drivers");
	unlink(path);
	rmdir(dir);
}

#define TWO(a, b)                                             \
	"pmx: 1\nhosts:\n  a: {addr: 198.18.0.1/24, " a "}\n" \
	"  b: {addr: 198.18.0.2/24, " b "}\ntraffic: {rate: 5}\n"

static void from_device(void **state)
{
	static const char text[] = TWO("device: 'net_af_packet12,iface=x'", "device: 3b:00.0");
	struct planned p;

	(void)state;
	planned_good(&p, text);
	assert_string_equal(p.profile[0].name, "af_packet");
	assert_string_equal(p.profile[1].name, "default");
	planned_free(&p);
	planned_bad(
		TWO("device: net_hinic0", "device: 3b:00.0"),
		"FILE:3:36: device 'net_hinic0': no profile has the PMD net_hinic: expected one "
		"that 'driver:' names");
}

static void device_is(const char *text, const char *vdev, const char *pci)
{
	struct planned p;

	planned_good(&p, text);
	assert_string_equal(p.plan.host[0].port.vdev, vdev);
	assert_string_equal(p.plan.host[0].port.pci, pci);
	planned_free(&p);
}

static void devices(void **state)
{
	(void)state;
	device_is(TWO("device: eth1, driver: af_packet", "device: 3b:00.0"),
		  "net_af_packet0,iface=eth1,qpairs=1,blocksz=8192,framesz=2048,framecnt=8192,"
		  "qdisc_bypass=0",
		  "");
	device_is(TWO("device: eth1, driver: af_xdp, queues: 2", "device: 3b:00.0"),
		  "net_af_xdp0,iface=eth1,start_queue=0,queue_count=2", "");
	device_is(TWO("device: '3b:00.1,x=1'", "device: 3b:00.0"), "", "3b:00.1,x=1");
	device_is(TWO("device: 'net_null3,copy=1'", "device: 3b:00.0"), "net_null3,copy=1", "");
	device_is(TWO("driver: 'null'", "device: 3b:00.0"), "net_null0,no-rx=1", "");
	planned_bad(TWO("device: net_null0, driver: memif", "device: 3b:00.0"),
		    "FILE:3:36: device 'net_null0': driver 'memif' is for net_memif: expected a "
		    "name that begins so");
	planned_bad(
		TWO("device: eth1, driver: 'null'", "device: 3b:00.0"),
		"FILE:3:36: device 'eth1': driver 'null' makes its own: remove it, or write the "
		"vdev out (net_null0,...)");
	planned_bad(
		TWO("device: net_null0, driver: default", "device: 3b:00.0"),
		"FILE:3:36: device 'net_null0': driver 'default' is for a device on PCI: expected "
		"its address, as 0000:3b:00.0, or its interface");
}

static void jumbo_plan(struct planned *p, unsigned mtu)
{
	char text[512];
	struct err e = { 0 };

	snprintf(text, sizeof(text),
		 "pmx: 1\ndefaults: {device: eth1, driver: af_packet, mtu: %u}\n"
		 "hosts: {a: {addr: 198.18.0.1/24}, b: {addr: 198.18.0.2/24}}\n"
		 "traffic: {rate: 5}\n",
		 mtu);
	assert_int_equal(matrix_parse("FILE", text, strlen(text), &p->matrix, &e), 0);
	assert_int_equal(profile_load_all(&p->matrix, plan_drivers, &p->profile, &e), 0);
	p->profile[0].mtu_max = p->profile[1].mtu_max = 9000;
	struct plan_input in = {
		.matrix = &p->matrix,
		.profile = p->profile,
		.run_id = "r",
		.duration_ns = 1000000000,
	};
	assert_int_equal(plan_build(&in, &p->plan, &e), 0);
}

// The slot must hold the frame and the ring's header; the block is whole slots and whole pages.
static void af_packet_rings(void **state)
{
	(void)state;
	for (unsigned mtu = 68; mtu <= 9000; mtu += 4) {
		unsigned block, slot, count;
		struct planned p;

		jumbo_plan(&p, mtu);
		const char *at = strstr(p.plan.host[1].port.vdev, "blocksz=");
		assert_non_null(at);
		assert_int_equal(
			sscanf(at, "blocksz=%u,framesz=%u,framecnt=%u", &block, &slot, &count), 3);
		assert_true(slot >= mtu + 14 + 66);
		assert_true(block % 4096 == 0 && block % slot == 0 && count % (block / slot) == 0);
		assert_true(count >= 8192);
		planned_free(&p);
	}
}

#define LOCAL(a, b)                                                       \
	"pmx: 1\ntransport: local\nhosts:\n  a: {addr: 198.18.0.1/24, " a \
	"}\n  b: {addr: 198.18.0.2/24, " b "}\ntraffic: {rate: 5}\n"

static void memif_is(const char *text, int server)
{
	struct planned p;

	planned_good(&p, text);
	for (int i = 0; i < 2; i++) {
		const struct hostcfg *c = &p.plan.host[i];
		char want[256];

		snprintf(want, sizeof(want),
			 "net_memif0,role=%s,id=0,bsize=2048,rsize=12,socket=/var/tmp/pmx/"
			 "memif.sock,"
			 "socket-abstract=no",
			 i == server ? "server" : "client");
		assert_string_equal(c->port.vdev, want);
		assert_string_equal(c->port.unlink_path,
				    i == server ? "/var/tmp/pmx/memif.sock" : "");
		assert_true(c->port.restart_until_link == (i != server));
	}
	planned_free(&p);
}

static void cables(void **state)
{
	struct planned p;

	(void)state;
	memif_is(LOCAL("driver: memif", "driver: memif"), 0);
	memif_is(LOCAL("driver: memif, role: client", "driver: memif"), 1);
	memif_is(LOCAL("driver: memif", "driver: memif, role: server"), 1);
	memif_is(LOCAL("driver: memif", "driver: memif, role: client"), 0);

	planned_good(&p, LOCAL("driver: vhost", "driver: virtio"));
	assert_string_equal(p.plan.host[0].port.vdev,
			    "net_vhost0,iface=/var/tmp/pmx/vhost.sock,queues=1,client=1");
	assert_string_equal(p.plan.host[0].port.unlink_path, "");
	assert_string_equal(p.plan.host[1].port.vdev,
			    "net_virtio_user0,path=/var/tmp/pmx/vhost.sock,server=1,queues=1,"
			    "queue_size=1024,packed_vq=1");
	assert_string_equal(p.plan.host[1].port.unlink_path, "/var/tmp/pmx/vhost.sock");
	assert_true(p.plan.host[1].port.single_file_segments);
	planned_free(&p);

	planned_good(&p, LOCAL("device: 'net_memif3,role=client,id=7,socket=/tmp/x'",
			       "device: 'net_memif3,id=7,socket=/tmp/x', role: server"));
	assert_string_equal(p.plan.host[0].port.vdev, "net_memif3,role=client,id=7,socket=/tmp/x");
	assert_true(p.plan.host[0].port.restart_until_link);
	assert_false(p.plan.host[1].port.restart_until_link);
	assert_string_equal(p.plan.host[1].port.unlink_path, "");
	planned_free(&p);

	planned_bad(LOCAL("driver: memif", "driver: virtio"),
		    "FILE:4:36: driver 'memif': its other end is 'memif': expected 'driver: memif' "
		    "for host 'b'");
	planned_bad(LOCAL("driver: vhost, role: server", "driver: virtio"),
		    "FILE:4:49: role 'server': driver 'vhost' is always the client");
}

static void templates(void **state)
{
	static const struct template_var var[] = { { "a", "one" }, { "bc", "" }, { "d", NULL } };
	char out[16];
	struct err e = { 0 };

	(void)state;
	assert_int_equal(template_expand("", var, 3, out, sizeof(out), &e), 0);
	assert_string_equal(out, "");
	assert_int_equal(template_expand("x{a}{bc}y{a}", var, 3, out, sizeof(out), &e), 0);
	assert_string_equal(out, "xoneyone");
	assert_int_equal(template_expand("{a}{a}{a}{a}{a}", var, 3, out, sizeof(out), &e), 0);
	assert_string_equal(out, "oneoneoneoneone");
	assert_int_equal(template_expand("{a}{a}{a}{a}{a}.", var, 3, out, sizeof(out), &e),
			 -ENAMETOOLONG);
	assert_int_equal(template_expand("{d}", var, 3, out, sizeof(out), &e), -EINVAL);
	assert_string_equal(e.msg, "'{d}': has no value here");
	assert_int_equal(template_expand("{}", var, 3, out, sizeof(out), &e), -EINVAL);
	assert_string_equal(e.msg, "'{}': expected one of {a} {bc} {d}");
	assert_int_equal(template_expand("}", var, 3, out, sizeof(out), &e), -EINVAL);
	assert_int_equal(template_expand("{a", var, 3, out, sizeof(out), &e), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_are_ones_own),
		cmocka_unit_test(from_pci_id),
		cmocka_unit_test(shows),
		cmocka_unit_test(shipped),
		cmocka_unit_test(every_key),
		cmocka_unit_test(refused),
		cmocka_unit_test(directories),
		cmocka_unit_test(from_device),
		cmocka_unit_test(devices),
		cmocka_unit_test(af_packet_rings),
		cmocka_unit_test(cables),
		cmocka_unit_test(templates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// Several ports of a host: endpoints of the matrix, of one machine.
#include "cpus.h"
#include "deploy.h"
#include "plan.h"

#include "planlib.h"

#define HEAD                                            \
	"pmx: 1\n"                                      \
	"defaults: {device: eth1, driver: af_packet}\n" \
	"hosts:\n"
#define TAIL "traffic: {rate: 1k, streams: 2}\n"
#define TWO                                                               \
	HEAD "  a:\n"                                                     \
	     "    ssh: ops@192.0.2.1\n"                                   \
	     "    mtu: 9000\n"                                            \
	     "    queues: 2\n"                                            \
	     "    ports:\n"                                               \
	     "      p0: {addr: 198.18.0.1/24, lcores: '4,6'}\n"           \
	     "      p1: {addr: 198.18.0.2/24, device: eth2, mtu: 4000}\n" \
	     "      p2: {addr: 198.18.0.3/24, device: eth3, queues: 1}\n" \
	     "  b: {addr: 198.18.0.4/24}\n" TAIL

static void endpoints(void **state)
{
	static const char *const name[] = { "a.p0", "a.p1", "a.p2", "b" };
	struct planned p;
	struct site site;
	struct err e = { 0 };

	(void)state;
	planned_good(&p, TWO);
	const struct matrix *m = &p.matrix;
	assert_int_equal(m->host_count, 4);
	for (size_t i = 0; i < 4; i++) {
		assert_string_equal(m->host[i].name, name[i]);
		assert_string_equal(m->host[i].machine, i < 3 ? "a" : "b");
		assert_int_equal(m->host[i].first, i < 3 ? 0 : 3);
		assert_int_equal(m->host[i].ports, i < 3 ? 3 : 1);
		assert_string_equal(m->host[i].ssh, i < 3 ? "ops@192.0.2.1" : "b");
		assert_string_equal(p.plan.host[i].host, name[i]);
		assert_int_equal(p.plan.host[i].tx_count, 3);
		assert_int_equal(site_of(m, i, NULL, &site, &e), 0);
		assert_string_equal(site.base, "/var/tmp/pmx");
		assert_string_equal(site.agent, "/var/tmp/pmx/pmx-agent");
		assert_string_equal(site.dir + strlen(site.base), i == 3   ? ""
								  : i == 0 ? "/a.p0"
								  : i == 1 ? "/a.p1"
									   : "/a.p2");
	}
	assert_int_equal(p.plan.host[0].port.mtu, 9000);
	assert_int_equal(p.plan.host[1].port.mtu, 4000);
	assert_string_equal(m->host[0].device, "eth1");
	assert_string_equal(m->host[1].device, "eth2");
	assert_int_equal(p.plan.host[2].port.queues, 1);
	assert_int_equal(p.plan.flow_count, 12); // between the ports of a, too
	assert_string_equal(p.plan.host[0].tx[0].peer, "a.p1");
	assert_true(matrix_same_machine(m, 0, 2));
	assert_false(matrix_same_machine(m, 2, 3));
	assert_true(host_is(&m->host[1], "a.p1", 4) && host_is(&m->host[1], "a", 1));
	assert_false(host_is(&m->host[1], "a.p1", 3) || host_is(&m->host[1], "a.p0", 4));
	planned_free(&p);
}

// Each agent chooses by itself, of the same CPUs; none is chosen twice, nor one that was named.
static void cpus_apart(void **state)
{
	struct planned p;
	cpu_set_t allowed, used;
	uint16_t cpu[LCORES_MAX];

	(void)state;
	planned_good(&p, TWO);
	CPU_ZERO(&allowed);
	CPU_ZERO(&used);
	for (int c = 2; c < 8; c++)
		CPU_SET(c, &allowed);
	for (size_t i = 0; i < 3; i++) {
		const struct hostcfg *c = &p.plan.host[i];

		cpus_choose(c, &allowed, cpu);
		for (size_t q = 0; q < c->port.queues; q++) {
			assert_true(CPU_ISSET(cpu[q], &allowed));
			assert_false(CPU_ISSET(cpu[q], &used));
			CPU_SET(cpu[q], &used);
		}
	}
	assert_true(CPU_ISSET(4, &used) && CPU_ISSET(6, &used));
	assert_int_equal(CPU_COUNT(&used), 5);
	// fewer CPUs than queues: they take turns, and nothing hangs
	CPU_ZERO(&allowed);
	CPU_SET(4, &allowed);
	cpus_choose(&p.plan.host[1], &allowed, cpu);
	assert_int_equal(cpu[1], 4);
	// a host of one port has nothing to share
	assert_int_equal(p.plan.host[3].lcore_taken_count, 0);
	assert_int_equal(p.plan.host[3].lcores_before, 0);
	planned_free(&p);
}

static void refused(void **state)
{
	static const struct {
		const char *hosts, *msg;
	} t[] = {
		{ "  a.p0: {addr: 198.18.0.9/24}\n"
		  "  a: {ports: {p0: {addr: 198.18.0.1/24}, p1: {addr: 198.18.0.2/24}}}\n",
		  "FILE:5:15: host 'a.p0' a second time: it stands at 4:3; rename one" },
		{ "  a: {ports: {p0: {addr: 198.18.0.1/24}, p0: {addr: 198.18.0.2/24}}}\n",
		  "FILE:4:42: host 'a.p0' a second time: it stands at 4:15; rename one" },
		{ "  a: {ports: {p0: {addr: 198.18.0.1/24}}}\n"
		  "  a: {ports: {p1: {addr: 198.18.0.2/24}}}\n",
		  "FILE:5:3: host 'a' a second time: it stands at 4:3; rename one" },
		{ "  a: {ports: {p0: {addr: 198.18.0.1/24}}}\n"
		  "  a.p0: {ports: {x: {addr: 198.18.0.2/24}}}\n",
		  "FILE:5:3: host 'a.p0': a port at 4:15 has this name, too; rename one" },
		{ "  a: {ports: {p.0: {addr: 198.18.0.1/24}}}\n",
		  "FILE:4:15: port 'p.0': expected letters, digits, '_' and '-', at most 63 "
		  "characters" },
		{ "  a: {ports: {p0: {addr: 198.18.0.1/24}, p1: {addr: 198.18.0.2/24}}}\n",
		  "FILE:2:20: device 'eth1': port 'a.p0' has it too: expected another one for "
		  "'a.p1'" },
		{ "  a: {ports: {p0: {addr: 198.18.0.1/24, lcores: 3}, p1: {addr: 198.18.0.2/24, "
		  "device: eth2, lcores: 3}}}\n",
		  "FILE:4:101: lcores: port 'a.p0' has CPU 3 too: expected others for 'a.p1'" },
		{ "  a: {addr: 198.18.0.1/24, ports: {p0: {addr: 198.18.0.2/24}}}\n",
		  "FILE:4:13: addr: host 'a' has ports: expected each to have its own" },
		{ "  a: {ports: {p0: {addr: 198.18.0.1/24, ssh: h}}}\n",
		  "FILE:4:41: unknown key 'ssh' in port: expected one of addr, addrs, role, "
		  "device, "
		  "driver, gateway, vlan, pcp, speed_gbps, queues, lcores, mtu, hugepages, idle" },
		{ "  a: {ports: {p0: }}\n",
		  "FILE:4:15: host 'a.p0': addr is missing: expected its data address, as 'addr: "
		  "198.18.0.1/24'" },
		{ "  a: {ports: 2}\n",
		  "FILE:4:14: ports: '2' given: expected a mapping, as 'p0: {addr: "
		  "198.18.0.1/24, device: eth1}'" },
		{ "  a: {ports: {}}\n",
		  "FILE:4:14: ports: none given: expected a mapping, as 'p0: {addr: "
		  "198.18.0.1/24, device: eth1}'" },
		{ "  a: {ssh: h, ports: {p0: {addr: 198.18.0.1/24}}}\n"
		  "  b: {ssh: h, addr: 198.18.0.2/24}\n",
		  "FILE:5:12: ssh 'h': host 'a.p0' is there too (line 4): expected one agent a "
		  "machine, or 'ports:'" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		char text[1024];

		snprintf(text, sizeof(text), "%s%s%s", HEAD, t[i].hosts, TAIL);
		planned_bad(text, t[i].msg);
	}
	planned_bad(HEAD "  a: {ports: {p0: {addr: 198.18.0.1/24}}}\n"
			 "  b: {addr: 198.18.0.2/24}\n"
			 "traffic: {pattern: cells, cells: {a: {b: 1k}}}\n",
		    "FILE:6:35: cells: host 'a' has 1 ports: expected one of them, as 'a.p0'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(endpoints),
		cmocka_unit_test(cpus_apart),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "plan.h"

#include "planlib.h"

#include <errno.h>
#include <stdio.h>

#define RACK                                            \
	"pmx: 1\n"                                      \
	"defaults: {device: eth1, driver: af_packet}\n" \
	"hosts:\n"                                      \
	"  a: {addr: 198.18.0.1/24}\n"                  \
	"  b: {addr: 198.18.0.2/24}\n"                  \
	"  c: {addr: 198.18.0.3/24}\n"                  \
	"  d: {addr: 198.18.0.4/24}\n"

// What must hold between the flows and the two ends of each, whatever the matrix.
static void plan_holds(const struct plan *p)
{
	for (size_t i = 0; i < p->flow_count; i++) {
		const struct plan_flow *f = &p->flow[i], *before = i > 0 ? &p->flow[i - 1] : NULL;
		const struct hostcfg *s = &p->host[f->src], *d = &p->host[f->dst];
		const struct flow_tx *tx = &s->tx[f->tx_slot];
		const struct flow_rx *rx = &d->rx[f->rx_slot];

		assert_int_not_equal(f->src, f->dst);
		if (before != NULL)
			assert_true(before->src < f->src ||
				    (before->src == f->src && before->dst < f->dst));
		assert_true(f->tx_slot < s->tx_count && f->rx_slot < d->rx_count);
		assert_string_equal(tx->peer, d->host);
		assert_string_equal(rx->peer, s->host);
		assert_true(ip_eq(&tx->peer_addr, &d->addr));
		struct ip_addr from = hostcfg_source(s, 0);
		assert_true(ip_eq(&rx->peer_addr, &from));
		assert_int_equal(rx->peer_sources, s->src_count > 0 ? s->src_count : 1);
		assert_int_equal(tx->tx_first, f->tx_first);
		assert_int_equal(tx->peer_rx_first, f->rx_first);
		assert_int_equal(rx->rx_first, f->rx_first);
		assert_int_equal(rx->peer_tx_first, f->tx_first);
		assert_int_equal(tx->streams, f->streams);
		assert_int_equal(rx->streams, f->streams);
		assert_int_equal(tx->sport_first, rx->sport_first);
		assert_int_equal(tx->req_bytes, rx->req_bytes);
		assert_int_equal(tx->rep_bytes, rx->rep_bytes);
		unsigned first = f->sport_first, last = first + SPORTS - 1;
		assert_true(first >= 1024 && last <= 65535);
		assert_true(s->udp_port < first || s->udp_port > last);
	}
	for (size_t i = 0; i < p->host_count; i++) {
		const struct hostcfg *c = &p->host[i];
		uint32_t next = 0;

		for (size_t k = 0; k < c->tx_count; next += c->tx[k++].streams)
			assert_int_equal(c->tx[k].tx_first, next);
		next = 0;
		for (size_t k = 0; k < c->rx_count; next += c->rx[k++].streams)
			assert_int_equal(c->rx[k].rx_first, next);
	}
}

// The agent's own reader takes every config that the plan makes.
static void configs_read(const struct plan *p)
{
	for (size_t i = 0; i < p->host_count; i++) {
		struct hostcfg back;
		struct err e = { 0 };

		if (p->host[i].host[0] == '\0')
			continue;
		json_t *json = hostcfg_write(&p->host[i]);
		assert_non_null(json);
		if (hostcfg_read(json, &back, &e) < 0)
			fail_msg("host %zu: %s", i, e.msg);
		hostcfg_free(&back);
		json_decref(json);
	}
}

static void mesh(void **state)
{
	struct planned p;

	(void)state;
	planned_good(&p, RACK "traffic: {rate: 5k, request: 64, reply: 512, streams: 3}\n");
	assert_int_equal(p.plan.flow_count, 12);
	plan_holds(&p.plan);
	configs_read(&p.plan);
	const struct hostcfg *c = &p.plan.host[2];
	assert_string_equal(c->host, "c");
	assert_string_equal(c->run_id, "test-run");
	assert_int_equal(c->cookie, 0xbeef);
	assert_int_equal(c->host_index, 2);
	assert_int_equal(c->host_count, 4);
	assert_int_equal(c->udp_port, 5300);
	assert_int_equal(c->prefix_len, 24);
	assert_int_equal(c->warmup_ns, 1000000000);
	assert_int_equal(c->duration_ns, 2000000000);
	assert_int_equal(c->lease_ns, 10000000000);
	assert_int_equal(c->port.mtu, 1500);
	assert_int_equal(c->port.queues, 1);
	assert_string_equal(c->port.profile, "af_packet");
	assert_int_equal(c->lcore_count, 0); // the agent knows its machine
	assert_int_equal(c->idle, IDLE_SPIN);
	assert_int_equal(c->tx_count, 3);
	assert_int_equal(c->tx[1].req_bytes, 64);
	assert_int_equal(c->tx[1].rep_bytes, 512);
	assert_true(c->tx[1].rate_pps == 5000);
	assert_int_equal(c->tx[1].sport_first, 49152);
	assert_int_equal(c->tx[2].tx_first, 6);
	planned_free(&p);
}

static void unpaced(void **state)
{
	struct planned p;

	(void)state;
	planned_good(&p, RACK "traffic: {pattern: cells, cells: {d: {a: max}}}\n");
	assert_int_equal(p.plan.flow_count, 1);
	assert_true(p.plan.flow[0].rate_pps == RATE_UNPACED);
	assert_int_equal(p.plan.host[1].tx_count, 0);
	assert_int_equal(p.plan.host[0].rx_count, 1);
	plan_holds(&p.plan);
	configs_read(&p.plan);
	planned_free(&p);
}

// A cell's mapping: what it does not say is the traffic's.
static void pair_dscp(void **state)
{
	struct planned p;

	(void)state;
	planned_good(&p, RACK "traffic:\n  rate: 5k\n  dscp: 10\n"
			      "  cells: {a: {b: {dscp: ef}, c: {rate: 7k}, "
			      "d: {rate: 0, dscp: 1}}, b: {a: 9k}}\n");
	assert_int_equal(p.plan.flow_count, 11);
	assert_int_equal(p.plan.host[0].tx[0].dscp, 46);
	assert_true(p.plan.host[0].tx[0].rate_pps == 5000);
	assert_int_equal(p.plan.host[1].rx[0].dscp, 46);
	assert_int_equal(p.plan.host[0].tx[1].dscp, 10);
	assert_true(p.plan.host[0].tx[1].rate_pps == 7000);
	assert_int_equal(p.plan.host[1].tx[0].dscp, 10);
	assert_true(p.plan.host[1].tx[0].rate_pps == 9000);
	plan_holds(&p.plan);
	configs_read(&p.plan);
	planned_free(&p);
	planned_bad(RACK "traffic:\n  pattern: cells\n  cells: {a: {b: {dscp: ef}}}\n",
		    "FILE:10:18: cells: 'a' to 'b' has no rate, nor has 'traffic': expected "
		    "'{rate: 100k}'");
	planned_bad(RACK "traffic:\n  rate: 1k\n  cells: {a: {b: {dspc: ef}}}\n",
		    "FILE:10:19: unknown key 'dspc' in cell: did you mean 'dscp'?");
}

// Where a host asks from goes to it and to all who answer it.
static void sources(void **state)
{
	struct planned p;

	(void)state;
	planned_good(&p, "pmx: 1\ndefaults: {device: eth1, driver: af_packet}\nhosts:\n"
			 "  a: {addr: 198.18.0.1/16, addrs: 198.18.1.1-198.18.1.250}\n"
			 "  b: {addr: 198.18.0.2/16}\n"
			 "traffic: {rate: 1k, streams: 600}\n");
	assert_int_equal(p.plan.host[0].src_count, 250);
	assert_int_equal(p.plan.host[1].src_count, 0);
	assert_int_equal(p.plan.host[1].rx[0].peer_sources, 250);
	plan_holds(&p.plan);
	configs_read(&p.plan);
	planned_free(&p);
	planned_bad("pmx: 1\ndefaults: {device: eth1, driver: af_packet}\nhosts:\n"
		    "  a: {addr: 198.18.0.1/16, addrs: 198.18.0.3-198.18.1.9}\n"
		    "  b: {addr: 198.18.0.2/24, gateway: 198.18.0.254}\n"
		    "traffic: {rate: 1k}\n",
		    "FILE:4:35: addrs: host 'b' reaches some of them by a gateway and '198.18.0.1' "
		    "without, or the other way round: expected all to be in one subnet of "
		    "'198.18.0.2/24'");
}

// A window goes to the pairs without a rate, and needs one.
static void windows(void **state)
{
	struct planned p;

	(void)state;
	planned_good(&p, RACK "traffic: {window: 64, stamp: packet, pattern: cells, "
			      "cells: {d: {a: max, b: 5k}}}\n");
	assert_int_equal(p.plan.host[3].tx[0].window, 64);
	assert_int_equal(p.plan.host[3].tx[1].window, 0);
	assert_true(p.plan.host[3].stamp_each);
	configs_read(&p.plan);
	planned_free(&p);
	planned_bad(RACK "traffic: {window: 64, rate: 5k}\n",
		    "FILE:8:19: window 64: every pair has a rate, which a window cannot bound: "
		    "expected 'rate: max', or no window");
}

// The text of every host's config.
static char *configs_text(const struct plan *p)
{
	size_t size = 1, used = 0;
	char *all = calloc(1, 1);

	for (size_t i = 0; i < p->host_count; i++) {
		json_t *json = hostcfg_write(&p->host[i]);
		char *text = json_dumps(json, JSON_INDENT(1));

		assert_non_null(text);
		size += strlen(text);
		all = realloc(all, size);
		assert_non_null(all);
		used += (size_t)sprintf(all + used, "%s", text);
		free(text);
		json_decref(json);
	}
	return all;
}

static void same_input_same_bytes(void **state)
{
	static const char text[] =
		RACK "traffic: {rate: 5k, streams: 7, cells: {b: {a: max, c: }}}\n";
	struct planned one, two;

	(void)state;
	planned_good(&one, text);
	planned_good(&two, text);
	char *a = configs_text(&one.plan), *b = configs_text(&two.plan);
	assert_string_equal(a, b);
	assert_int_equal(one.plan.flow_count, two.plan.flow_count);
	for (size_t i = 0; i < one.plan.flow_count; i++)
		assert_memory_equal(&one.plan.flow[i], &two.plan.flow[i], sizeof(one.plan.flow[i]));
	free(a);
	free(b);
	planned_free(&one);
	planned_free(&two);
}

static void source_ports(void **state)
{
	static const struct {
		unsigned port, streams, first;
	} t[] = {
		{ 5300, 1, 49152 },	 { 5300, 16384, 49152 }, { 49151, 16384, 49152 },
		{ 49152, 16384, 32768 }, { 49152, 1, 32768 },	 { 65535, 16384, 32768 },
		{ 50000, 100, 32768 },	 { 1, 16384, 49152 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		char text[1024];
		struct planned p;

		snprintf(text, sizeof(text), RACK "traffic: {rate: 5k, port: %u, streams: %u}\n",
			 t[i].port, t[i].streams);
		planned_good(&p, text);
		plan_holds(&p.plan);
		configs_read(&p.plan);
		assert_int_equal(p.plan.flow[0].sport_first, t[i].first);
		planned_free(&p);
	}
}

// How each peer's queues are chosen stands once in a config, and only where ports decide.
static void steering(void **state)
{
	static const char text[] =
		"pmx: 1\nname: mixed\ntransport: ssh\n"
		"defaults: {queues: 4}\n"
		"hosts:\n"
		"  a: {ssh: a, addr: 198.18.0.1/24, device: \"0000:01:00.0\", driver: ice}\n"
		"  b: {ssh: b, addr: 198.18.0.2/24, device: \"0000:01:00.0\", driver: ice}\n"
		"  c: {ssh: c, addr: 198.18.0.3/24, device: eth1, driver: af_packet}\n"
		"  d: {ssh: d, addr: 198.18.0.4/24, device: \"0000:01:00.0\", driver: ice, queues: "
		"1}\n"
		"  e: {ssh: e, addr: 198.18.0.5/24, device: \"0000:01:00.0\", driver: vmxnet3}\n"
		"traffic: {rate: 5k, streams: 4}\n";
	static const unsigned of_c[] = { 1, 1, 0, 0 }, of_a[] = { 1, 0, 0, 0 };
	struct planned p;

	(void)state;
	planned_good(&p, text);
	plan_holds(&p.plan);
	configs_read(&p.plan);
	const struct hostcfg *a = &p.plan.host[0], *c = &p.plan.host[2];
	assert_int_equal(a->port.steering, STEER_RSS);
	assert_int_equal(strlen(a->port.rss_key), 2 * RSS_KEY_BYTES);
	assert_int_equal(c->port.steering, STEER_KERNEL);
	assert_string_equal(c->port.rss_key, "");
	assert_int_equal(p.plan.host[4].port.steering, STEER_NONE); // of addresses only
	assert_int_equal(a->steer_count, 1);
	assert_int_equal(c->steer_count, 1);
	assert_int_equal(c->steer[0].by, STEER_RSS);
	assert_int_equal(c->steer[0].queues, 4);
	assert_string_equal(c->steer[0].rss_key, a->port.rss_key);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(c->tx[i].peer_steer, of_c[i]);
		assert_int_equal(c->rx[i].peer_steer, of_c[i]);
		assert_int_equal(a->tx[i].peer_steer, of_a[i]);
	}
	planned_free(&p);
}

static void excluded(void **state)
{
	static const char text[] = RACK "traffic: {rate: 5k, streams: 2}\n";
	static const bool b_out[4] = { false, true, false, false };
	static const bool three_out[4] = { true, true, false, true };
	struct planned p;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(planned_build(&p, text, strlen(text), b_out, 8, &e), 0);
	assert_int_equal(p.plan.flow_count, 6);
	assert_string_equal(p.plan.host[1].host, "");
	assert_int_equal(p.plan.host[1].tx_count + p.plan.host[1].rx_count, 0);
	assert_int_equal(p.plan.host[3].host_index, 3);
	assert_int_equal(p.plan.host[0].tx_count, 2);
	plan_holds(&p.plan);
	configs_read(&p.plan);
	planned_free(&p);
	assert_int_equal(planned_build(&p, text, strlen(text), three_out, 8, &e), -EINVAL);
	assert_string_equal(e.msg, "FILE: 1 of 4 hosts left: expected two or more to measure");
}

#define LOCAL(a, b)                                                             \
	"pmx: 1\ntransport: local\nhosts:\n  a: {addr: 198.18.0.1/24, " a "}\n" \
	"  b: {addr: 198.18.0.2/24, " b "}\ntraffic: {rate: 5}\n"

// CPUs of the queues of both hosts in turn, and how they idle.
static void local_is(const char *text, unsigned cpus, const char *want)
{
	struct planned p;
	struct err e = { 0 };
	char got[256] = "";
	size_t used = 0;

	if (planned_build(&p, text, strlen(text), NULL, cpus, &e) < 0)
		fail_msg("%s", e.msg);
	for (size_t i = 0; i < p.plan.host_count; i++) {
		const struct hostcfg *c = &p.plan.host[i];

		assert_int_equal(c->lcore_count, c->port.queues);
		for (size_t q = 0; q < c->lcore_count; q++)
			used += (size_t)snprintf(got + used, sizeof(got) - used, "%u ",
						 c->lcores[q]);
		used += (size_t)snprintf(got + used, sizeof(got) - used, "%s%s",
					 idle_policy_name[c->idle], i == 0 ? ", " : "");
	}
	assert_string_equal(got, want);
	configs_read(&p.plan);
	planned_free(&p);
}

static void local_cpus(void **state)
{
	(void)state;
	local_is(LOCAL("driver: memif", "driver: memif"), 2, "0 spin, 1 spin");
	local_is(LOCAL("driver: memif", "driver: memif"), 3, "0 spin, 1 spin");
	local_is(LOCAL("driver: memif", "driver: memif"), 1, "0 yield, 0 yield");
	local_is(LOCAL("driver: memif", "driver: memif"), 0, "0 yield, 0 yield");
	local_is(LOCAL("driver: memif, queues: 3", "driver: memif, queues: 3"), 4,
		 "0 1 2 yield, 3 0 1 yield");
	local_is(LOCAL("driver: memif, queues: 2", "driver: memif, queues: 2"), 8,
		 "0 1 spin, 2 3 spin");
	local_is(LOCAL("driver: memif", "driver: memif, lcores: 0"), 8, "1 spin, 0 spin");
	local_is(LOCAL("driver: memif, lcores: 5", "driver: memif, lcores: 5"), 8,
		 "5 yield, 5 yield");
	local_is(LOCAL("driver: memif, lcores: 100", "driver: memif"), 8, "100 spin, 0 spin");
	local_is(LOCAL("driver: memif, idle: sleep", "driver: memif, idle: spin"), 2,
		 "0 sleep, 1 spin");
	// what is sent on a queue that has none at the other end would be lost
	planned_bad(LOCAL("driver: memif, queues: 3", "driver: memif, queues: 2"),
		    "FILE:4:51: queues 3: host 'b' at the other end has 2: expected as many");
}

static void gateways(void **state)
{
	static const char routed[] =
		"pmx: 1\ndefaults: {device: eth1, driver: af_packet}\nhosts:\n"
		"  a: {addr: 198.18.0.1/24, gateway: 198.18.0.254}\n"
		"  b: {addr: 198.18.1.1/24, gateway: 198.18.1.254}\ntraffic: {rate: 5}\n";
	struct planned p;

	(void)state;
	planned_good(&p, routed);
	assert_int_equal(ip4_of(&p.plan.host[1].gateway), 0xc61201fe);
	configs_read(&p.plan);
	planned_free(&p);
	// the replies need a way, too
	planned_bad("pmx: 1\ndefaults: {device: eth1, driver: af_packet}\nhosts:\n"
		    "  a: {addr: 198.18.0.1/24, gateway: 198.18.0.254}\n"
		    "  b: {addr: 198.18.1.1/24}\n"
		    "traffic: {pattern: cells, cells: {a: {b: 5}}}\n",
		    "FILE:5:13: addr '198.18.1.1/24': host 'a' at 198.18.0.1 is in another subnet: "
		    "expected the same one, or a 'gateway:' for host 'b'");
	// only pairs that talk
	planned_good(&p, "pmx: 1\ndefaults: {device: eth1, driver: af_packet}\nhosts:\n"
			 "  a: {addr: 198.18.0.1/24}\n"
			 "  b: {addr: 198.18.0.2/24}\n"
			 "  c: {addr: 198.18.1.1/24}\n"
			 "  d: {addr: 198.18.1.2/24}\n"
			 "traffic: {pattern: cells, cells: {a: {b: 5}, c: {d: 5}}}\n");
	planned_free(&p);
}

// A percentage is of the slower end's line rate at the request's frame.
static void line_rates(void **state)
{
	static const char text[] = RACK "traffic: {rate: 50%, request: 18}\n";
	struct matrix m;
	struct err e = { 0 };
	struct profile profile[4];
	struct plan plan;
	struct plan_input in = {
		.matrix = &m,
		.profile = profile,
		.run_id = "r",
		.duration_ns = 1000000000,
	};

	(void)state;
	assert_int_equal(matrix_parse("FILE", text, strlen(text), &m, &e), 0);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(profile_load("af_packet", plan_drivers, &profile[i], &e), 0);
		profile[i].speed_gbps = i == 3 ? 10 : 100;
	}
	assert_int_equal(plan_build(&in, &plan, &e), 0);
	assert_true((uint64_t)(plan.flow[0].rate_pps * 2) == 148809523); // a -> b
	assert_true((uint64_t)(plan.flow[2].rate_pps * 2) == 14880952);	 // a -> d
	plan_free(&plan);
	profile[1].speed_gbps = -1;
	assert_int_equal(plan_build(&in, &plan, &e), -EINVAL);
	assert_string_equal(e.msg, "FILE:8:17: rate '50%': the link speed of host 'b' is not known "
				   "(driver 'af_packet'): expected 'speed_gbps:' of the host, or "
				   "packets/s, as 100k");
	assert_null(plan.host);
	matrix_free(&m);
}

// A matrix of many hosts, to 303 lines, with room for its traffic behind `used`.
static char *many_hosts(size_t *used)
{
	size_t hosts = 300;
	char *text = malloc(64 * hosts + 1024);

	assert_non_null(text);
	*used = (size_t)sprintf(text,
				"pmx: 1\ndefaults: {device: eth1, driver: af_packet}\nhosts:\n");
	for (size_t i = 0; i < hosts; i++)
		*used += (size_t)sprintf(text + *used, "  h%zu: {addr: 198.18.%zu.%zu/16}\n", i,
					 i / 250, i % 250 + 1);
	return text;
}

// Flows by sizes are bounded for whoever only looks at the plan, too: check says what run would.
static void size_counts(void **state)
{
	static const struct {
		const char *traffic, *refusal;
	} row[] = {
		// 299 * 876 <= 2^18 < 299 * 877
		{ "traffic: {rate: 1, request: 18-893}\n", NULL },
		{ "traffic: {rate: 1, request: 18-894}\n",
		  "FILE:304:29: 877 sizes: a host with 299 flows would count by 262223: expected "
		  "at most 262144, by fewer sizes or a larger step" },
		{ "traffic: {rate: 1, request: 18-455, reply: 18-456}\n",
		  "FILE:304:29: 877 sizes: a host with 299 flows would count by 262223: expected "
		  "at most 262144, by fewer sizes or a larger step" },
		{ "traffic: {rate: 1, request: 18, reply: 18-894}\n",
		  "FILE:304:40: 877 sizes: a host with 299 flows would count by 262223: expected "
		  "at most 262144, by fewer sizes or a larger step" },
	};
	size_t used;
	char *text = many_hosts(&used);

	(void)state;
	for (size_t i = 0; i < COUNT_OF(row); i++)
		for (int look = 0; look < 2; look++) {
			struct planned p;
			struct err e = { 0 };

			strcpy(text + used, row[i].traffic);
			int ret = look ? planned_look(&p, text, &e)
				       : planned_build(&p, text, strlen(text), NULL, 8, &e);
			assert_int_equal(ret, row[i].refusal != NULL ? -EINVAL : 0);
			if (ret == 0)
				planned_free(&p);
			else
				assert_string_equal(e.msg, row[i].refusal);
		}
	free(text);
}

static void limits(void **state)
{
	struct planned p;
	size_t hosts = 300, used;
	char *text = many_hosts(&used);

	(void)state;
	sprintf(text + used, "traffic: {rate: 1, streams: 14027}\n"); // 299 * 14027 <= 2^22
	planned_good(&p, text);
	plan_holds(&p.plan);
	assert_int_equal(p.plan.flow_count, hosts * (hosts - 1));
	planned_free(&p);
	sprintf(text + used, "traffic: {rate: 1, streams: 14028}\n");
	planned_bad(text,
		    "FILE:304:29: streams 14028: host 'h0' comes to more than 4194304 of them "
		    "over its flows: expected fewer");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mesh),		cmocka_unit_test(unpaced),
		cmocka_unit_test(pair_dscp),	cmocka_unit_test(sources),
		cmocka_unit_test(windows),	cmocka_unit_test(same_input_same_bytes),
		cmocka_unit_test(source_ports), cmocka_unit_test(steering),
		cmocka_unit_test(excluded),	cmocka_unit_test(local_cpus),
		cmocka_unit_test(gateways),	cmocka_unit_test(line_rates),
		cmocka_unit_test(size_counts),	cmocka_unit_test(limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

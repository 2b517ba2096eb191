#include "gen.h"
#include "servers.h"

#include "planlib.h"

#include <errno.h>
#include <stdio.h>

static void servers_are(const char *text, const char *want)
{
	struct servers s;
	struct err e = { 0 };
	char got[512] = "";
	size_t used = 0;

	if (servers_parse("S", text, strlen(text), &s, &e) < 0)
		fail_msg("%s", e.msg);
	for (size_t i = 0; i < s.count; i++)
		used += (size_t)snprintf(got + used, sizeof(got) - used, "%s%s|%s",
					 i > 0 ? " " : "", s.server[i].name, s.server[i].ssh);
	assert_string_equal(got, want);
	servers_free(&s);
}

static void servers_bad(const char *text, const char *msg)
{
	struct servers s;
	struct err e = { 0 };

	assert_int_equal(servers_parse("S", text, strlen(text), &s, &e), -EINVAL);
	assert_string_equal(e.msg, msg);
	assert_null(s.server);
}

static void server_lists(void **state)
{
	(void)state;
	servers_are("a\nb\n", "a| b|");
	servers_are("a=192.0.2.1\nb=192.0.2.2:22\nc", "a|192.0.2.1 b|192.0.2.2:22 c|");
	servers_are("# head\n\n  192.0.2.1  # one\r\n\tr2=ops@host.example:2222\t\n#\n",
		    "192.0.2.1| r2|ops@host.example:2222");
	servers_are("a=[2001:db8::1]:22\nb=2001:db8::2\n", "a|[2001:db8::1]:22 b|2001:db8::2");
	servers_are("192.0.2.1:2222\nb\n", "192.0.2.1|192.0.2.1:2222 b|");
}

static void server_lists_refused(void **state)
{
	(void)state;
	servers_bad("", "S: 0 servers: expected 2 to 4096, one a line");
	servers_bad("a\n# b\n", "S: 1 servers: expected 2 to 4096, one a line");
	servers_bad("a\nb\na\n", "S:3:1: server 'a' a second time: it stands in line 1; keep one");
	servers_bad("a=x\nb=x\n", "S:2:1: address 'x' a second time: server 'a' in line 1 has it; "
				  "expected one agent a machine");
	servers_bad("a=x:0\nb\n", "S:1:3: address 'x:0' of server 'a': expected "
				  "[user@]address[:port], the port from 1 to 65535");
	servers_bad("b\n  a=x:65536\n", "S:2:5: address 'x:65536' of server 'a': expected "
					"[user@]address[:port], the port from 1 to 65535");
	servers_bad("a=x:ssh\nb\n", "S:1:3: address 'x:ssh' of server 'a': expected "
				    "[user@]address[:port], the port from 1 to 65535");
	servers_bad("a=\nb\n", "S:1:3: address '' of server 'a': expected [user@]address[:port], "
			       "the port from 1 to 65535");
	servers_bad("a b\nc\n",
		    "S:1:1: server 'a b': expected name[=address[:port]]; names are made of "
		    "letters, digits, '.', '_' and '-'");
	servers_bad("a\n../b\n",
		    "S:2:1: server '../b': expected name[=address[:port]]; names are made of "
		    "letters, digits, '.', '_' and '-'");
	servers_bad("x:99999\nb\n", "S:1:1: server 'x:99999': expected name[=address[:port]]");
	static const char nul[] = "a\0b\nc\n";
	struct servers s;
	struct err e = { 0 };
	assert_int_equal(servers_parse("S", nul, sizeof(nul) - 1, &s, &e), -EINVAL);
}

static const struct gen base = {
	.source = "S",
	.device = "eth1",
	.driver = "af_packet",
	.rate = { .pps = 5000 },
	.request = "18",
	.reply = "512",
	.port = 5300,
	.streams = 4,
	.queues = 2,
};

static char *gen_text(const struct gen *g, size_t *len)
{
	struct err e = { 0 };
	char *text;
	FILE *f = open_memstream(&text, len);

	assert_non_null(f);
	if (gen_write(f, g, &e) < 0)
		fail_msg("%s", e.msg);
	fclose(f);
	return text;
}

// What gen writes is read back as what it was asked for, and gives a plan.
static void round_trip(void **state)
{
	static const char list[] = "r1=192.0.2.1\nnull=ops@192.0.2.2:2222\nr3=[2001:db8::1]:22\n";
	struct servers s;
	struct err e = { 0 };
	struct planned p;
	struct gen g = base;
	size_t len;

	(void)state;
	assert_int_equal(servers_parse("S", list, strlen(list), &s, &e), 0);
	g.servers = &s;
	g.source = "evil\npmx: 2";
	g.ssh_user = "o\"p\\s";
	g.data_net = "10.1.0.0/29";
	char *text = gen_text(&g, &len);
	if (planned_build(&p, text, len, NULL, 8, &e) < 0)
		fail_msg("%s\n%s", e.msg, text);
	const struct matrix *m = &p.matrix;
	assert_int_equal(m->transport, TRANSPORT_SSH);
	assert_string_equal(m->ssh.user, "o\"p\\s");
	assert_int_equal(m->host_count, 3);
	assert_string_equal(m->host[0].ssh, "192.0.2.1");
	assert_string_equal(m->host[1].name, "null");
	assert_string_equal(m->host[1].ssh, "ops@192.0.2.2:2222");
	assert_string_equal(m->host[2].ssh, "[2001:db8::1]:22");
	assert_int_equal(ip4_of(&m->host[2].addr), 0x0a010003);
	assert_int_equal(m->host[2].prefix_len, 29);
	assert_int_equal(m->host[2].queues, 2);
	assert_string_equal(m->host[0].device, "eth1");
	assert_string_equal(m->host[0].driver, "af_packet");
	assert_int_equal(m->traffic.rep_bytes, 512);
	assert_int_equal(m->traffic.streams, 4);
	assert_true(m->traffic.rate.pps == 5000);
	assert_int_equal(p.plan.flow_count, 6);
	planned_free(&p);
	free(text);
	servers_free(&s);
}

static void rates(void **state)
{
	static const struct {
		struct rate rate;
		const char *text;
	} t[] = {
		{ { .max = true }, "rate: max " },	    { { .pps = 5000 }, "rate: 5k " },
		{ { .pps = 12500 }, "rate: 12.5k " },	    { { .pps = 999 }, "rate: 999 " },
		{ { .pps = 1234567 }, "rate: 1234567 " },   { { .pps = 2.5e9 }, "rate: 2.5G " },
		{ { .pps = 0.5 }, "rate: 0.5 " },	    { { .pps = 1e10 }, "rate: 10G " },
		{ { .pps = 12345678 }, "rate: 12345678 " },
	};
	struct servers s;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(servers_parse("S", "a\nb\n", 4, &s, &e), 0);
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		struct gen g = base;
		struct planned p;
		size_t len;

		g.servers = &s;
		g.rate = t[i].rate;
		char *text = gen_text(&g, &len);
		if (strstr(text, t[i].text) == NULL)
			fail_msg("'%s' is not in:\n%s", t[i].text, text);
		assert_int_equal(planned_build(&p, text, len, NULL, 8, &e), 0);
		assert_true(p.matrix.traffic.rate.max == t[i].rate.max &&
			    p.matrix.traffic.rate.pps == t[i].rate.pps);
		planned_free(&p);
		free(text);
	}
	servers_free(&s);
}

static void nets(void **state)
{
	static const struct {
		const char *net, *msg;
	} t[] = {
		{ "198.18.0.0/24", NULL },
		{ "198.18.0.0/29", NULL },
		{ "198.18.0.0/30", "option '--data-net': '198.18.0.0/30' has 2 addresses for 3 "
				   "hosts: expected a shorter prefix" },
		{ "198.18.0.0/31", "option '--data-net': '198.18.0.0/31' has 0 addresses for 3 "
				   "hosts: expected a shorter prefix" },
		{ "198.18.0.1/24", "option '--data-net': '198.18.0.1/24' is an address in its net: "
				   "expected the net, 198.18.0.0/24" },
		{ "198.18.0.0", "option '--data-net': address '198.18.0.0': the prefix length is "
				"missing: expected as 198.18.0.0/24" },
	};
	struct servers s;
	struct err e = { 0 };
	FILE *f = fopen("/dev/null", "w");

	(void)state;
	assert_non_null(f);
	assert_int_equal(servers_parse("S", "a\nb\nc\n", 6, &s, &e), 0);
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		struct gen g = base;

		g.servers = &s;
		g.data_net = t[i].net;
		assert_int_equal(gen_write(f, &g, &e), t[i].msg == NULL ? 0 : -EINVAL);
		if (t[i].msg != NULL)
			assert_string_equal(e.msg, t[i].msg);
	}
	fclose(f);
	servers_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(server_lists), cmocka_unit_test(server_lists_refused),
		cmocka_unit_test(round_trip),	cmocka_unit_test(rates),
		cmocka_unit_test(nets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

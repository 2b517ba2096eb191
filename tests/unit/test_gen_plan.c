// Matrices that gen makes: read back and planned, they are what was asked for.
#include "gen_grid.h"
#include "gen_plan.h"
#include "gen_show.h"
#include "outfile.h"
#include "spew.h"

#include "planlib.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct profile_dirs dirs = { .dir = { TEST_DATA "/../../drivers-config" } };

static void servers_of(struct servers *s, unsigned n)
{
	struct err e = { 0 };
	char *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	for (unsigned i = 0; i < n; i++)
		fprintf(f, "h%u\n", i);
	fclose(f);
	assert_int_equal(servers_parse("S", text, len, s, &e), 0);
	free(text);
}

static struct gen gen_of(const struct servers *s)
{
	return (struct gen){
		.servers = s,
		.source = "S",
		.device = "eth1",
		.driver = "af_packet",
		.rate = { .pps = 1000 },
		.request = "18",
		.reply = "512",
		.port = 5300,
		.streams = 1,
		.queues = 1,
		.seed = 42,
	};
}

static void plan_of(const struct gen *g, struct gen_plan *p)
{
	struct err e = { 0 };

	if (gen_plan_build(g, &dirs, 0, 0, p, &e) < 0)
		fail_msg("%s", e.msg);
}

// Every key of the shape arrives.
static void shapes(void **state)
{
	static const bool hub[4] = { false, true, false, true };
	static const struct {
		struct gen g;
		size_t flows;
		uint32_t layers;
	} t[] = {
		{ { .pattern = PATTERN_MESH }, 12, 1 },
		{ { .pattern = PATTERN_PAIRS }, 4, 1 },
		{ { .pattern = PATTERN_HALVES }, 8, 1 },
		{ { .pattern = PATTERN_ONE_TO_MANY, .hub = hub }, 4, 1 },
		{ { .pattern = PATTERN_MANY_TO_ONE, .hub = hub }, 4, 1 },
		{ { .peers = 2 }, 8, 1 },
		{ { .peers = 2, .dwell_ns = 1500000000 }, 12, 2 },
		{ { .peers = 2, .dwell_ns = 10000000, .equal_layers = true }, 16, 2 },
	};
	struct servers s;

	(void)state;
	servers_of(&s, 4);
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		struct gen g = gen_of(&s);
		struct gen_plan p;

		g.pattern = t[i].g.pattern;
		g.hub = t[i].g.hub;
		g.peers = t[i].g.peers;
		g.dwell_ns = t[i].g.dwell_ns;
		g.equal_layers = t[i].g.equal_layers;
		plan_of(&g, &p);
		assert_int_equal(p.matrix.traffic.pattern, g.pattern);
		assert_int_equal(p.matrix.traffic.peers, g.peers);
		assert_int_equal(p.matrix.traffic.dwell_ns, g.dwell_ns);
		assert_int_equal(p.plan.flow_count, t[i].flows);
		assert_int_equal(p.plan.layers, t[i].layers);
		if (g.peers > 0)
			assert_int_equal(p.matrix.traffic.seed, 42);
		if (g.dwell_ns > 0) // one cycle
			assert_int_equal(p.matrix.timing.duration_ns, 2 * g.dwell_ns);
		gen_plan_free(&p);
	}
	servers_free(&s);
}

static void frames(void **state)
{
	struct servers s;
	struct gen_plan p;

	(void)state;
	servers_of(&s, 2);
	struct gen g = gen_of(&s);
	g.request = "64";
	g.tx_frame = true;
	g.reply = "1518";
	g.rx_frame = true;
	plan_of(&g, &p);
	assert_int_equal(p.matrix.traffic.req_bytes, 18);
	assert_int_equal(p.matrix.traffic.rep_bytes, 1472);
	gen_plan_free(&p);
	servers_free(&s);
}

// Sizes in words come back as they were, and 1 Gb/s of the wire is 1 Gb/s of the mix.
static void mixes(void **state)
{
	const struct gen_goal goal = { .host_gbps = 1 };
	const double l1 = (7 * 84.0 + 4 * 614 + 1538) / 12, reply_l1 = (3 * 110 + 558) / 4.0 + 20;
	struct servers s;
	struct gen_plan p;
	struct err e = { 0 };

	(void)state;
	servers_of(&s, 2);
	struct gen g = gen_of(&s);
	g.request = "imix";
	g.reply = "64:3, 512:1";
	assert_int_equal(gen_size(&g, &goal, &dirs, &e), 0);
	assert_float_equal(g.rate.pps, 1e9 / 8 / (l1 + reply_l1), 1); // whole packets
	plan_of(&g, &p);
	assert_string_equal(p.matrix.traffic.req_words, "imix 64:7 594:4 1518:1 frames");
	assert_string_equal(p.matrix.traffic.rep_words, "64:3 512:1 B");
	gen_plan_free(&p);
	servers_free(&s);
}

// The busiest way of the busiest host takes the budget and no more, and as much of it as a rate in
// whole packets can.
static void budgets(void **state)
{
	static const bool hub[8] = { true };
	static const struct {
		enum pattern pattern;
		uint64_t peers, dwell_ns;
	} t[] = {
		{ PATTERN_MESH, 0, 0 },		 { PATTERN_MESH, 3, 0 },
		{ PATTERN_MESH, 3, 1000000000 }, { PATTERN_PAIRS, 0, 0 },
		{ PATTERN_ONE_TO_MANY, 0, 0 },	 { PATTERN_MANY_TO_ONE, 0, 0 },
		{ PATTERN_HALVES, 0, 0 },
	};
	struct servers s;

	(void)state;
	servers_of(&s, 8);
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		struct gen g = gen_of(&s);
		struct gen_goal goal = { .host_gbps = 10 };
		struct err e = { 0 };
		struct gen_plan p;
		double most = 0;

		g.pattern = t[i].pattern;
		g.peers = t[i].peers;
		g.dwell_ns = t[i].dwell_ns;
		g.hub = hub;
		if (gen_size(&g, &goal, &dirs, &e) < 0)
			fail_msg("%s", e.msg);
		plan_of(&g, &p);
		for (size_t h = 0; h < 8; h++)
			most = fmax(most, fmax(p.load.host[h].tx_l1_bps, p.load.host[h].rx_l1_bps));
		if (!(most <= 10e9 && most > 9.999e9))
			fail_msg("shape %zu: %.9g b/s", i, most);
		gen_plan_free(&p);
	}
	servers_free(&s);
}

// By hand: mesh of 4, 64-byte frames both ways, 84 bytes of L1 each.
static void goals(void **state)
{
	static const struct {
		struct gen_goal goal;
		double pps;
		const char *msg;
	} t[] = {
		{ { .host_gbps = 1 }, 248015, NULL }, // 1e9 / (8 * 168) / 3
		{ { .line_pct = 50, .nic_gbps = 1 }, 124007, NULL },
		{ { .line_pct = 100, .nic_gbps = 1 }, 248015, NULL },
		{ { .host_rate = { .pps = 30000 } }, 10000, NULL },
		{ { .host_rate = { .pps = 1 } }, 0.333, NULL },
		{ { .host_gbps = 0.000001 }, 0.248, NULL },
		{ { .line_pct = 50 },
		  0,
		  "option '--line': the link speed is not known (driver 'af_packet'): expected "
		  "--nic-gbps N" },
		{ { .host_rate = { .pps = 0.001 } },
		  0,
		  "less than 0.001 requests/s for each pair: expected a larger goal, or fewer "
		  "flows" },
	};
	struct servers s;

	(void)state;
	servers_of(&s, 4);
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		struct gen g = gen_of(&s);
		struct err e = { 0 };

		g.reply = "18";
		int ret = gen_size(&g, &t[i].goal, &dirs, &e);
		if (t[i].msg != NULL) {
			assert_true(ret < 0);
			assert_string_equal(e.msg, t[i].msg);
		} else {
			if (ret < 0 || g.rate.pps != t[i].pps)
				fail_msg("goal %zu: %.9g pps, not %.9g: %s", i, g.rate.pps,
					 t[i].pps, e.msg);
		}
	}
	struct gen g = gen_of(&s);
	struct gen_goal unpaced = { .host_rate = { .max = true } };
	struct err e = { 0 };
	assert_int_equal(gen_size(&g, &unpaced, &dirs, &e), 0);
	assert_true(g.rate.max);
	servers_free(&s);
}

static bool flows_equal(const struct plan *a, const struct plan *b)
{
	for (size_t i = 0; a->flow_count == b->flow_count && i < a->flow_count; i++)
		if (a->flow[i].src != b->flow[i].src || a->flow[i].dst != b->flow[i].dst ||
		    a->flow[i].rate_pps != b->flow[i].rate_pps)
			return false;
	return a->flow_count == b->flow_count;
}

// A cell for each pair gives the plan that the shape gives.
static void expanded(void **state)
{
	static const enum pattern pattern[] = { PATTERN_MESH, PATTERN_PAIRS, PATTERN_HALVES };
	struct servers s;

	(void)state;
	servers_of(&s, 6);
	for (size_t i = 0; i < COUNT_OF(pattern); i++) {
		struct gen g = gen_of(&s);
		struct gen_plan shape, cells;
		struct pair *pair;
		struct err e = { 0 };

		g.pattern = pattern[i];
		g.peers = i == 0 ? 2 : 0;
		g.rate.pps = 1234.5;
		plan_of(&g, &shape);
		assert_int_equal(pattern_build(&shape.matrix, NULL, &pair, &g.cell_count, &e), 0);
		g.pattern = PATTERN_CELLS;
		g.peers = 0;
		g.cell = pair;
		plan_of(&g, &cells);
		assert_true(flows_equal(&shape.plan, &cells.plan));
		gen_plan_free(&shape);
		gen_plan_free(&cells);
		free(pair);
	}
	servers_free(&s);
}

// A thousand hosts: a line each and a shape, not a million cells; the same file twice.
static void large(void **state)
{
	struct servers s;
	struct gen_plan p;
	struct err e = { 0 };
	char *text, *again;
	size_t len, len_again;

	(void)state;
	servers_of(&s, 1000);
	struct gen g = gen_of(&s);
	g.peers = 8;
	assert_int_equal(gen_text(&g, &text, &len, &e), 0);
	assert_int_equal(gen_text(&g, &again, &len_again, &e), 0);
	assert_int_equal(len, len_again);
	assert_memory_equal(text, again, len);
	assert_true(len < 40000);
	const char *traffic = strstr(text, "traffic:");
	assert_non_null(traffic);
	assert_true(strlen(traffic) < 500);
	g.dwell_ns = 2000000000;
	plan_of(&g, &p);
	assert_int_equal(p.plan.flow_count, 999000);
	assert_int_equal(p.plan.layers, 125);
	for (size_t h = 0; h < 1000; h++)
		assert_true(p.load.host[h].flows_out == 8 && p.load.host[h].flows_in == 8);
	gen_plan_free(&p);
	free(text);
	free(again);
	servers_free(&s);
}

// A file of its own for each call; the caller removes it.
static void file_write(char *path, size_t size, const char *text)
{
	int fd;

	snprintf(path, size, "/tmp/test_gen_plan.XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

// Imported and written again, a grid is the same file.
static void grids(void **state)
{
	static const struct {
		const char *csv, *list;
		enum pattern pattern;
		size_t cells;
	} t[] = {
		{ "# tx_size=64 rx_size=512 port=5301\nsrc\\dst,a,b,c\na,,1000,1000\n"
		  "b,1000,,1000\nc,1000,1000,\n",
		  NULL, PATTERN_MESH, 0 },
		{ "# tx_size=64 rx_size=512 port=5301\nsrc\\dst,a,b,c\na,,1000,max\n"
		  "b,1000,,1000\nc,1000,,\n",
		  "c=192.0.2.3\na=192.0.2.1\nb=192.0.2.2\nd\n", PATTERN_MESH, 2 },
		{ "# tx_size=64 rx_size=512 port=5301\nsrc\\dst,a,b,c\na,,1,2\nb,3,,4.5\nc,,,\n",
		  NULL, PATTERN_CELLS, 4 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		struct servers list = { 0 };
		struct gen g = gen_of(NULL);
		struct gen_grid grid;
		struct gen_plan p;
		struct err e = { 0 };
		char path[64], *text;
		size_t len;

		file_write(path, sizeof(path), t[i].csv);
		if (t[i].list != NULL)
			assert_int_equal(
				servers_parse("S", t[i].list, strlen(t[i].list), &list, &e), 0);
		if (gen_grid_load(path, t[i].list != NULL ? &list : NULL, &grid, &g, &e) < 0)
			fail_msg("%s", e.msg);
		unlink(path);
		assert_int_equal(g.pattern, t[i].pattern);
		assert_int_equal(g.cell_count, t[i].cells);
		assert_int_equal(grid.left_out, t[i].list != NULL);
		if (t[i].list != NULL)
			assert_string_equal(g.servers->server[0].ssh, "192.0.2.1");
		g.request = gen_own_size(g.own_request, grid.csv.req_bytes);
		g.reply = gen_own_size(g.own_reply, grid.csv.rep_bytes);
		g.port = grid.csv.port;
		plan_of(&g, &p);
		FILE *f = open_memstream(&text, &len);
		assert_non_null(f);
		csv_grid_write(f, &p.plan);
		fclose(f);
		assert_string_equal(text, t[i].csv);
		free(text);
		gen_plan_free(&p);
		gen_grid_free(&grid);
		servers_free(&list);
	}
}

static void grid_without_server(void **state)
{
	struct servers list;
	struct gen g = gen_of(NULL);
	struct gen_grid grid;
	struct err e = { 0 };
	char path[64], msg[256];

	(void)state;
	file_write(path, sizeof(path), "src\\dst,a,b\na,,1\n");
	assert_int_equal(servers_parse("S", "a\nc\n", 4, &list, &e), 0);
	assert_int_equal(gen_grid_load(path, &list, &grid, &g, &e), -EINVAL);
	snprintf(msg, sizeof(msg),
		 "%s:1:11: column 'b': the server list has no such name: add it there, as "
		 "'b=ADDRESS'",
		 path);
	assert_string_equal(e.msg, msg);
	unlink(path);
	servers_free(&list);
}

static void shown(void **state)
{
	static const char want[] =
		"5 hosts, 20 flows, request 18 B (frame 64), reply 512 B (frame 558)\n"
		"  per pair   1.00 kpps, 672 kb/s of requests, 4.62 Mb/s of replies\n"
		"  per host   out 4.00 kpps, 10.6 Mb/s; in 4.00 kpps, 10.6 Mb/s, replies included\n"
		"  fleet      20.0 kpps, 53.0 Mb/s, requests and replies, in the fullest layer\n"
		"  rotation   2 layers of 2.00 s: a cycle of 4.00 s measures all 20 pairs exactly "
		"once\n";
	struct servers s;
	struct gen_plan p;
	char *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	(void)state;
	assert_non_null(f);
	servers_of(&s, 5);
	struct gen g = gen_of(&s);
	g.peers = 2;
	g.dwell_ns = 2000000000;
	plan_of(&g, &p);
	gen_show(f, &p);
	fclose(f);
	assert_string_equal(text, want);
	free(text);
	gen_plan_free(&p);
	servers_free(&s);
}

static void never_over(void **state)
{
	char path[64];
	struct err e = { 0 };

	(void)state;
	file_write(path, sizeof(path), "mine");
	assert_int_equal(spew_new(path, "x", 1, &e), -EEXIST);
	FILE *f = fopen(path, "r");
	char text[8] = "";
	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	fclose(f);
	assert_string_equal(text, "mine");
	unlink(path);
	assert_int_equal(spew_new(path, "x", 1, &e), 0);
	assert_int_equal(spew(path, "y", 1, &e), 0);
	unlink(path);
}

// A pipe is written into, no file takes its place.
static void into_a_pipe(void **state)
{
	char path[64];
	struct err e = { 0 };
	struct outfile o;

	(void)state;
	file_write(path, sizeof(path), "");
	char text[4] = "";
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	int fd = open(path, O_RDWR);
	assert_true(fd >= 0);
	assert_int_equal(spew(path, "a", 1, &e), 0);
	assert_int_equal(outfile_open(&o, path, &e), 0);
	fputs("b", o.f);
	assert_int_equal(outfile_close(&o, 0, &e), 0);
	assert_true(is_device(path));
	assert_int_equal(read(fd, text, sizeof(text) - 1), 2);
	assert_string_equal(text, "ab");
	close(fd);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shapes),
		cmocka_unit_test(frames),
		cmocka_unit_test(mixes),
		cmocka_unit_test(budgets),
		cmocka_unit_test(goals),
		cmocka_unit_test(expanded),
		cmocka_unit_test(large),
		cmocka_unit_test(grids),
		cmocka_unit_test(grid_without_server),
		cmocka_unit_test(shown),
		cmocka_unit_test(never_over),
		cmocka_unit_test(into_a_pipe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

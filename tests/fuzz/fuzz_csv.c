// The reader of CSV grids: any bytes are read, or refused by one line that points into the file;
// and what is read, gen makes a matrix of that says the same.
#include "csv_grid.h"
#include "fuzz.h"
#include "gen.h"

#include <stdlib.h>
#include <string.h>

#define HOSTS_WRITTEN 16

static void refused(const struct err *e, int ret)
{
	fuzz_require(ret < 0 && e->code == -ret, "a refusal returns its code");
	fuzz_require(strncmp(e->msg, "input.csv:", 10) == 0, "a refusal has its place");
	fuzz_require(strchr(e->msg, '\n') == NULL, "a refusal is one line");
}

static void grid_holds(const struct csv_grid *g)
{
	fuzz_require(g->count >= 2 && g->count <= HOSTS_MAX, "hosts are in range");
	fuzz_require(g->pair_count > 0, "there is a flow");
	for (size_t i = 0; i < g->pair_count; i++) {
		const struct pair *p = &g->pair[i];

		fuzz_require(p->src < g->count && p->dst < g->count && p->src != p->dst,
			     "a flow is between two hosts");
		fuzz_require(p->rate.max || p->rate.pps > 0, "a flow has a rate");
		fuzz_require(i == 0 || p[-1].src < p->src ||
				     (p[-1].src == p->src && p[-1].dst < p->dst),
			     "flows are sorted, and none comes twice");
	}
}

static void matrix_says(const struct csv_grid *g)
{
	struct servers s = { .server = calloc(g->count, sizeof(*s.server)), .count = g->count };
	struct gen gen = {
		.servers = &s,
		.source = "input.csv",
		.device = "eth1",
		.driver = "af_packet",
		.pattern = PATTERN_CELLS,
		.cell = g->pair,
		.cell_count = g->pair_count,
		.port = g->port > 0 ? g->port : 5300,
		.streams = 1,
		.queues = 1,
	};
	gen.request = gen_own_size(gen.own_request, g->req_bytes > 0 ? g->req_bytes : 18);
	gen.reply = gen_own_size(gen.own_reply, g->rep_bytes > 0 ? g->rep_bytes : 18);
	struct matrix m;
	struct err e = { 0 };
	char *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	fuzz_require(s.server != NULL && f != NULL, "there is memory");
	for (size_t i = 0; i < g->count; i++)
		memcpy(s.server[i].name, g->host[i].name, sizeof(s.server[i].name));
	fuzz_require(gen_write(f, &gen, &e) == 0, e.msg);
	fclose(f);
	fuzz_require(matrix_parse("made.yaml", text, len, &m, &e) == 0, e.msg);
	// a rate of less than a billionth is none when it is written
	fuzz_require(m.traffic.cell_count <= g->pair_count, "the cells are the grid's");
	matrix_free(&m);
	free(text);
	free(s.server);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct csv_grid g;
	struct err e = { 0 };
	int ret = csv_grid_parse("input.csv", (const char *)data, size, &g, &e);

	if (ret < 0) {
		refused(&e, ret);
		return 0;
	}
	grid_holds(&g);
	if (g.count <= HOSTS_WRITTEN)
		matrix_says(&g);
	csv_grid_free(&g);
	return 0;
}

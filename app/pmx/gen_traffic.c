// The traffic of a generated matrix: a shape in its own words, or cells.
#include "gen.h"

#include "rates.h"

#include <inttypes.h>
#include <string.h>

#define SECOND_NS UINT64_C(1000000000)
#define WINDOW_NS (10 * SECOND_NS)

// "2s", "500ms", "1500us": what parse_duration_ns reads as the same.
static void duration_write(FILE *f, uint64_t ns)
{
	static const struct {
		uint64_t ns;
		const char *suffix;
	} unit[] = { { SECOND_NS, "s" }, { 1000000, "ms" }, { 1000, "us" } };

	for (size_t i = 0; i < sizeof(unit) / sizeof(unit[0]); i++)
		if (ns % unit[i].ns == 0) {
			fprintf(f, "%" PRIu64 "%s", ns / unit[i].ns, unit[i].suffix);
			return;
		}
	fprintf(f, "%" PRIu64 ".%09" PRIu64 "s", ns / SECOND_NS, ns % SECOND_NS);
}

static void rate_write(FILE *f, const struct rate *r)
{
	char text[RATE_STR_MAX];

	fputs(rate_text_str(r, text, sizeof(text)), f);
}

static uint64_t layers(const struct gen *g)
{
	uint64_t others = g->servers->count - 1;

	return g->peers == 0 ? 1 : (others + g->peers - 1) / g->peers;
}

static void hubs_write(FILE *f, const struct gen *g)
{
	const char *before = "  hub: [";

	for (size_t i = 0; i < g->servers->count; i++)
		if (g->hub[i]) {
			fputs(before, f);
			gen_text_write(f, g->servers->server[i].name);
			before = ", ";
		}
	fputs("]\n", f);
}

static void shape_write(FILE *f, const struct gen *g)
{
	static const char *const said[PATTERN_COUNT] = {
		[PATTERN_MESH] = "every ordered pair; single ones by 'cells: {a: {b: 10k}}'",
		[PATTERN_CELLS] = "those below, and no others",
		[PATTERN_PAIRS] = "first host and second, third and fourth, ..., both ways",
		[PATTERN_ONE_TO_MANY] = "each hub to every other host",
		[PATTERN_MANY_TO_ONE] = "every other host to each hub",
		[PATTERN_HALVES] = "first half of the hosts with the second, both ways",
	};

	if (g->peers == 0)
		fprintf(f, "  pattern: %s     # %s\n", pattern_name[g->pattern], said[g->pattern]);
	if (g->pattern == PATTERN_ONE_TO_MANY || g->pattern == PATTERN_MANY_TO_ONE)
		hubs_write(f, g);
	if (g->peers == 0)
		return;
	fprintf(f,
		"  pattern: mesh\n"
		"  peers: %" PRIu64 "     # flows out and in of each host%s\n"
		"  seed: %" PRIu64 "\n",
		g->peers, g->dwell_ns > 0 ? " in a layer" : "", g->seed);
	if (g->dwell_ns == 0)
		return;
	fputs("  dwell: ", f);
	duration_write(f, g->dwell_ns);
	fprintf(f, "     # of each of %" PRIu64 " layers\n", layers(g));
	if (g->equal_layers)
		fputs("  equal_layers: yes\n", f);
}

static void cells_write(FILE *f, const struct gen *g)
{
	const struct pair *c = g->cell, *end = c + g->cell_count;

	if (g->cell_count == 0)
		return;
	fputs("  cells:\n", f);
	while (c < end) {
		uint32_t src = c->src;
		const char *before = ": {";

		fputs("    ", f);
		gen_text_write(f, g->servers->server[src].name);
		for (; c < end && c->src == src; c++) {
			fputs(before, f);
			gen_text_write(f, g->servers->server[c->dst].name);
			fputs(": ", f);
			rate_write(f, &c->rate);
			before = ", ";
		}
		fputs("}\n", f);
	}
}

static void pacing_write(FILE *f, const struct gen *g)
{
	bool drawn = g->spacing != NULL && strcmp(g->spacing, spacing_name[SPACING_EVEN]) != 0;

	if (g->burst > 1)
		fprintf(f, "  burst: %" PRIu64 "     # requests of a stream back to back\n",
			g->burst);
	if (drawn)
		fprintf(f, "  spacing: %s\n", g->spacing);
	if (drawn && g->peers == 0)
		fprintf(f, "  seed: %" PRIu64 "\n", g->seed);
	if (g->ramp_ns == 0)
		return;
	fputs("  ramp: ", f);
	duration_write(f, g->ramp_ns);
	fputs("     # from 0 to the rate\n", f);
}

static void timing_write(FILE *f, const struct gen *g)
{
	fputs("\ntiming:\n  warmup: 1s\n  duration: ", f);
	duration_write(f, g->dwell_ns > 0 ? g->dwell_ns * layers(g) : WINDOW_NS);
	fputs(g->dwell_ns > 0 ? "     # one cycle of the layers\n" : "\n", f);
	fputs("  drain: 1s\n", f);
}

static void size_write(FILE *f, const char *key, const char *words)
{
	fprintf(f, "  %s: ", key);
	gen_text_write(f, words);
	fputc('\n', f);
}

void gen_traffic_write(FILE *f, const struct gen *g)
{
	fputs("\n# Sizes are UDP payload: 18 bytes are the smallest Ethernet frame, 64 with "
	      "FCS.\n"
	      "# tx_frame and rx_frame are such frames.\n"
	      "traffic:\n",
	      f);
	size_write(f, g->tx_frame ? "tx_frame" : "request", g->request);
	size_write(f, g->rx_frame ? "rx_frame" : "reply", g->reply);
	fprintf(f,
		"  port: %" PRIu64 "\n"
		"  streams: %" PRIu64 "\n",
		g->port, g->streams);
	shape_write(f, g);
	if (g->pattern != PATTERN_CELLS) {
		fputs("  rate: ", f);
		rate_write(f, &g->rate);
		fprintf(f, "     # %s/s of each pair, or max\n",
			g->rate.bps > 0 ? "bits" : "requests");
	}
	pacing_write(f, g);
	cells_write(f, g);
	timing_write(f, g);
}

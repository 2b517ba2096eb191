#include "grid.h"

#include "tables.h"

const struct grid grid_table[] = {
	{ "pps", "sent_pps", "requests sent, packets/s" },
	{ "delivered", "delivered_pps", "requests that the destination counted, packets/s" },
	{ "loss", "loss_pct", "requests without a reply, %" },
	{ "rtt_p99", "rtt_p99_us", "99th percentile of the round trip, us" },
	{ "coverage", "covered_s", "seconds for which the pair was measured" },
};
const size_t grid_count = sizeof(grid_table) / sizeof(grid_table[0]);

void render_grid(FILE *f, const struct summary *s, const struct grid *g)
{
	struct table t = table_flows(s, NULL, s->flow_count);
	size_t column = table_find(&t, g->key);
	struct cell cell[COLUMNS_MAX];
	char buf[CELL_TEXT_MAX];
	// sorted by source and destination; a pair's second flow, behind them all, has no cell
	size_t flow = 0;

	fputs("src\\dst", f);
	for (size_t dst = 0; dst < s->host_count; dst++)
		fprintf(f, ",%s", s->matrix->host[dst].name);
	fputc('\n', f);
	for (size_t src = 0; src < s->host_count; src++) {
		fputs(s->matrix->host[src].name, f);
		for (size_t dst = 0; dst < s->host_count; dst++) {
			fputc(',', f);
			if (flow == s->flow_count || s->flow[flow].src != src ||
			    s->flow[flow].dst != dst)
				continue;
			table_row(&t, flow++, cell);
			fputs(cell_plain(&t.column[column], &cell[column], buf, sizeof(buf)), f);
		}
		fputc('\n', f);
	}
}

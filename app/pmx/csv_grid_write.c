#include "csv_grid.h"

#include "rates.h"

// Flows stand by (src, dst, layer): one pass over the cells.
void csv_grid_write(FILE *f, const struct plan *p)
{
	const struct matrix *m = p->matrix;
	char rate[RATE_STR_MAX];
	size_t i = 0;

	fprintf(f, "# tx_size=%u rx_size=%u port=%u\nsrc\\dst", m->traffic.req_bytes,
		m->traffic.rep_bytes, m->traffic.port);
	for (size_t h = 0; h < m->host_count; h++)
		fprintf(f, ",%s", m->host[h].name);
	for (uint32_t src = 0; src < m->host_count; src++) {
		fprintf(f, "\n%s", m->host[src].name);
		for (uint32_t dst = 0; dst < m->host_count; dst++) {
			fputc(',', f);
			if (i == p->flow_count || p->flow[i].src != src || p->flow[i].dst != dst)
				continue;
			double pps = p->flow[i].rate_pps;
			fputs(pps == RATE_UNPACED ? "max"
						  : rate_exact_str(pps, false, rate, sizeof(rate)),
			      f);
			while (i < p->flow_count && p->flow[i].src == src && p->flow[i].dst == dst)
				i++;
		}
	}
	fputc('\n', f);
}

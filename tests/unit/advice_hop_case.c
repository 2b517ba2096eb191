#include "advice_hop_case.h"

#include <stdlib.h>

// In place of those it had: cases may follow each other. The mesh owns the results, so these are
// freed with them.
static void hop_of(struct result *r, struct result_hop hop)
{
	free(r->hop);
	r->hop = calloc(1, sizeof(*r->hop));
	r->hop_count = 1;
	r->hop[0] = hop;
}

void case_hop_silent(struct mesh_run *r)
{
	hop_of(&r->result[1], (struct result_hop){ .addr = r->matrix.host[2].addr,
						   .mac = "02:00:00:00:00:0c",
						   .silences = 1,
						   .silent_ns = 4000000000 });
}

void case_hop_was_silent(struct mesh_run *r)
{
	case_hop_silent(r);
	r->result[1].hop->silent_ns = 0;
	r->result[1].hop->changes = 2;
}

void case_hop_moves(struct mesh_run *r)
{
	case_hop_was_silent(r);
	r->result[1].hop->changes = 3;
}

void case_own_address(struct mesh_run *r)
{
	r->result[2].drop[DROP_OWN] = 1;
}

void case_claimed(struct mesh_run *r)
{
	r->result[0].drop[DROP_NEIGHBOUR] = 10;
}

void case_taken_over(struct mesh_run *r)
{
	r->result[0].drop[DROP_NEIGHBOUR] = 9;
}

static void ttls(struct mesh_run *r, uint8_t min, uint8_t max, uint8_t back)
{
	for (size_t h = 0; h < r->hosts; h++)
		for (size_t i = 0; i < r->hosts - 1; i++) {
			struct result_flow_tx *tx = &r->result[h].tx[i];
			struct result_flow_rx *rx = &r->result[h].rx[i];

			tx->ttl_min = tx->ttl_max = back;
			rx->ttl_min = min;
			rx->ttl_max = max;
		}
}

void case_ttl_same(struct mesh_run *r)
{
	ttls(r, 62, 62, 62);
}

void case_ttl_two(struct mesh_run *r)
{
	ttls(r, 61, 62, 62);
}

void case_ttl_by_way(struct mesh_run *r)
{
	ttls(r, 62, 62, 63);
}

void case_expired(struct mesh_run *r)
{
	r->result[0].icmp.expired = 5;
}

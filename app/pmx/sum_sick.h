// Where in the grid the loss is. What host a sends to host b is one cell: the requests of the flow
// a to b and the replies of the flow b to a. A row of lossy cells is a sick sender, a column a sick
// receiver, both of one host its link, a block the path between two groups of hosts. Pure.
#pragma once

#include "summary.h"

#include "err.h"

#include <stddef.h>
#include <stdint.h>

enum sick_kind {
	SICK_NONE, // no loss, or all over the grid, or in single cells
	SICK_ROW,
	SICK_COLUMN,
	SICK_HOST, // row and column
	SICK_BLOCK,
};

struct sick {
	enum sick_kind kind;
	uint32_t host;	     // SICK_BLOCK: none
	uint32_t *from, *to; // owned; SICK_BLOCK: hosts, ascending; both ways where `both`
	size_t from_count, to_count;
	bool both;
	uint64_t lost;		    // packets, there
	double share_pct;	    // of all that was lost
	double loss_pct, other_pct; // of what was sent there, and elsewhere
};

// 0 or -ENOMEM. With fewer than 3 hosts nothing is found.
int sick_find(const struct summary *s, struct sick *out, struct err *e);
void sick_free(struct sick *k);

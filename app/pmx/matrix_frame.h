// What frames look like beyond their sizes: tags, DSCP; and what it costs in bytes.
#pragma once

#include "matrix.h"
#include "yaml_map.h"

#include "err.h"

#include <stdint.h>

// "100", "[100, 200]" -> h->vlan, h->vlan_count.
int vlan_read(const struct yaml_doc *d, const struct yaml_item *v, struct matrix_host *h,
	      struct err *e);
// "46", "ef"
int dscp_read(const struct yaml_doc *d, const struct yaml_item *v, uint8_t *dscp, struct err *e);

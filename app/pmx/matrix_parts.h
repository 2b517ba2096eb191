// Between the files of matrix: a matrix on its way from YAML.
#pragma once

#include "matrix.h"
#include "yaml_map.h"

#include "err.h"

#include <stddef.h>
#include <stdint.h>

struct host_index { // hosts by name
	const struct matrix *m;
	uint32_t *order; // owned, sorted by name
};

struct draft {
	struct matrix m;
	struct pos root, hosts_at, traffic_at, remote_dir_at;
	bool version_seen;
	const struct yaml_item *request, *reply;     // sizes as payload
	const struct yaml_item *tx_frame, *rx_frame; // as Ethernet frames with FCS
	const struct yaml_item *defaults, *hosts, *cells, *hub;
	struct host_index index;
};

// Letters, digits and what is in `also`; not empty, and not beginning with '-' or '.'.
bool name_ok(const char *s, const char *also);

// Neither unspecified, loopback nor multicast; RFC 4291, 2.4.
bool addr_is_unicast(const struct ip_addr *a);
// The subnet's own addresses: IPv4's network and broadcast, IPv6's of its routers (RFC 4291,
// 2.6.1); point-to-point links have none (RFC 3021, RFC 6164). NULL = a host's.
const char *addr_subnet_end(const struct ip_addr *a, unsigned prefix_len);
// The addresses that a host asks from: as written, and once its own is known.
int addrs_read(const struct yaml_doc *d, const struct yaml_item *v, struct matrix_host *h,
	       struct err *e);
int addrs_settle(const struct yaml_doc *d, struct matrix_host *h, struct err *e);
// That no two hosts have one of them.
int draft_addrs(const struct yaml_doc *d, const struct draft *draft, struct err *e);
// What no two hosts may share. Leaves the index in the order of names.
int draft_twins(const struct yaml_doc *d, struct draft *draft, struct err *e);
// Defaults and hosts, with all that can be said of hosts alone. Fills the index.
int draft_hosts(const struct yaml_doc *d, struct draft *draft, struct err *e);
// The traffic's keys that belong together: which pattern takes which of them. Fills the hubs.
int draft_shape(const struct yaml_doc *d, struct draft *draft, struct err *e);
int draft_cells(const struct yaml_doc *d, struct draft *draft, struct err *e);
// The sizes of the traffic, once the hosts are known.
int draft_sizes(const struct yaml_doc *d, struct draft *draft, struct err *e);
// "100k", "max", "50%".
int rate_read(const struct yaml_doc *d, const struct yaml_item *value, struct rate *rate,
	      double *line_pct, struct err *e);
// "10s", or {over: 10s, from: 10%, steps: 5}.
int ramp_read(const struct yaml_doc *d, const struct yaml_item *value, struct ramp *ramp,
	      struct err *e);
// A gap that is given as a time is a rate.
int gap_settle(const struct yaml_doc *d, struct draft *draft, struct err *e);
// "server", "client".
int role_read(const struct yaml_doc *d, const struct yaml_item *value, char *role, size_t size,
	      struct err *e);
// UINT32_MAX when there is no such host.
uint32_t host_index_find(const struct host_index *x, const char *name);
// The same for a name under `key`, refused when there is no such host.
int host_of(const struct yaml_doc *d, const struct draft *draft, const char *key,
	    const struct yaml_item *name, uint32_t *host, struct err *e);

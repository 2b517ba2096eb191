// The tables of a summary, each defined once: its columns and how a row is taken out of the
// summary. Text shows some columns of some rows, CSV and JSON all.
#pragma once

#include "advice.h"
#include "summary.h"
#include "table.h"

// One row: the sums and the figures of the headline.
struct table table_totals(const struct summary *s);
// A host a row, in matrix order or in that of `order` (NULL, or [host_count]).
struct table table_hosts(const struct summary *s, const uint32_t *order);
// A flow a row, in the summary's order or the `rows` flows that `order` names.
struct table table_flows(const struct summary *s, const uint32_t *order, size_t rows);

// A layer of the rotation a row, by number or in that of `order` (NULL, or [layer_count]); no rows
// without a rotation. order_layers: by delivery, worst first, those not measured before.
struct table table_layers(const struct summary *s, const uint32_t *order);
void order_layers(const struct summary *s, uint32_t *order);

// A size of the mixes a row, requests' first and upwards, or in an order; no rows without a mix.
// order_sizes: those that lost most first.
struct table table_sizes(const struct summary *s, const uint32_t *order);
void order_sizes(const struct summary *s, uint32_t *order);

// The queues of the hosts, in matrix order. With sums, a row "all" follows each host's queues that
// holds what the host's row says, so that the reader can add up. The list is owned.
struct sum_queue_row {
	uint32_t host;
	bool all; // the host's sum
	struct sum_queue queue;
};
struct queue_list {
	const struct summary *s;   // borrowed
	struct sum_queue_row *row; // owned
	size_t rows;
};
int queue_list_all(const struct summary *s, struct queue_list *l, struct err *e);
// Only of hosts whose queues are uneven (queue_skew), or of all with two or more if `all`; with
// sums.
int queue_list_shown(const struct summary *s, bool all, struct queue_list *l, struct err *e);
void queue_list_free(struct queue_list *l);
struct table table_queues(const struct queue_list *l);

// Hosts by delivery, worst first: those not measured, then by round-trip loss; equal ones in matrix
// order. order is [host_count].
void order_hosts(const struct summary *s, uint32_t *order);
// The `max` worst flows of those that returned less than `delivery_pct` of their requests, worst
// first; returns how many there are in all, fills at most max.
size_t order_worst_flows(const struct summary *s, double delivery_pct, uint32_t *order, size_t max);
#define WORST_FLOW_PCT 99.5

// A piece of advice a row.
struct table table_advice(const struct advice *a, size_t n);

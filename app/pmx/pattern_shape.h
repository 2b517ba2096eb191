// Shapes: which hosts a host sends to, by the matrix's pattern, and in which layers of a rotation.
// Pure.
//
// `peers: K` puts the hosts on a circle in a seeded order. A shift s is the flows of every host to
// the one s places on: one out of each host and one into each. The N-1 shifts other than 0 stand in
// a seeded order, too; K of them make a layer, so every host has K flows out and K in, to different
// hosts and never to itself, and all the layers together have every ordered pair once.
#pragma once

#include "matrix.h"

#include "err.h"

#include <stdint.h>

struct shape {
	const struct matrix *matrix;	// borrowed
	uint32_t *place, *host, *shift; // owned, with `peers`: host's place, place's host, shifts
};

struct spot { // a pair's layers + 1; 0 = none
	uint32_t first;
	uint32_t again; // the last layer, when it is padded with this pair
};

int shape_open(const struct matrix *m, struct shape *s, struct err *e);
void shape_close(struct shape *s);
// Fills row[host_count], by destination.
void shape_row(const struct shape *s, uint32_t src, struct spot *row);

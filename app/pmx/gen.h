// Gen: the text of a matrix file for a list of servers. Pure; what it writes, matrix_parse reads.
#pragma once

#include "matrix.h"
#include "pattern.h"
#include "servers.h"

#include "err.h"
#include "parse.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct gen {
	const struct servers *servers;
	const char *source; // the list's name, for the file's first lines
	const char *device; // of every host, or NULL
	// One like it where there must be one and none is given: it is left open, to be filled in
	// by hand. NULL = no device is needed.
	const char *device_example;
	const char *driver;   // or NULL
	const char *data_net; // or NULL: 198.18.0.0/24, /16 for more than 254 hosts
	const char *ssh_user; // or NULL
	bool local;	      // transport local

	// The traffic, as in the matrix.
	enum pattern pattern;
	const bool *hub; // [servers->count], for patterns that have them
	uint64_t peers;	 // 0 = all
	uint64_t seed, dwell_ns;
	uint64_t burst, ramp_ns; // 0 = not said
	const char *spacing;	 // or NULL
	bool equal_layers;
	struct rate rate; // of each pair
	// Cells, by (src, dst); a rate of 0 removes the pair. All there is with PATTERN_CELLS.
	const struct pair *cell;
	size_t cell_count;
	const char *request, *reply;	     // sizes in words (sizes.h)
	char own_request[16], own_reply[16]; // where they are numbers of a CSV grid
	bool tx_frame, rx_frame;	     // request, reply: as Ethernet frame with FCS
	uint64_t port, streams, queues;
};

// The text of a size, in one of the two places of struct gen for it.
const char *gen_own_size(char own[16], uint32_t bytes);
int gen_write(FILE *f, const struct gen *g, struct err *e);
// Between the files of gen: the sections `traffic` and `timing`.
void gen_traffic_write(FILE *f, const struct gen *g);
// A YAML scalar: plain where that is sure to be read as the same text, else in double quotes.
void gen_text_write(FILE *f, const char *s);

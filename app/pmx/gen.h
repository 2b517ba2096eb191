// Gen: the text of a matrix file for a list of servers. Pure; what it writes, matrix_parse reads.
#pragma once

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
	struct rate pps;      // of each pair
	uint64_t request, reply, port, streams, queues;
};

int gen_write(FILE *f, const struct gen *g, struct err *e);

// Verbs and options: two tables that the parser, `pmx help`, man pages and completion read.
#pragma once

#include "err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pmx_exit {
	EXIT_GOOD = 0,
	EXIT_LIMIT = 1,   // a limit missed, a problem found
	EXIT_USAGE = 2,   // usage or bad input
	EXIT_HOST = 3,    // a host or the set-up failed
	EXIT_PARTIAL = 4, // results are partial
	EXIT_SIGINT = 130,
	EXIT_SIGTERM = 143,
};

// A whole file in memory.
#pragma once

#include "err.h"

#include <stddef.h>

#define SLURP_MAX (64u << 20)

// Reads a file, or stdin when path is "-", of at most SLURP_MAX bytes. *text is owned by the caller
// and has a NUL behind its len bytes. 0 or -errno; the error names the path.
int slurp(const char *path, char **text, size_t *len, struct err *e);

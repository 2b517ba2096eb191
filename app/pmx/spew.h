// A whole file out of memory.
#pragma once

#include "err.h"

#include <stddef.h>

// Writes to stdout when path is "-", else under a temporary name that becomes path: whoever reads
// the file reads it whole. 0 or -errno; the error names the path.
int spew(const char *path, const char *text, size_t len, struct err *e);
// The same, but a file that is there stays as it is: -EEXIST.
int spew_new(const char *path, const char *text, size_t len, struct err *e);

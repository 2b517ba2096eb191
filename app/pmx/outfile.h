// A file that is written piece by piece: under a temporary name that becomes the file's once it is
// whole.
#pragma once

#include "err.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

struct outfile {
	FILE *f;
	const char *path;	  // borrowed
	char temporary[PATH_MAX]; // empty: written in place
};

// Whether there is something that no file may take the place of: /dev/null, a pipe.
bool is_device(const char *path);

// "-" is stdout. 0 or -errno; the error names the file.
int outfile_open(struct outfile *o, const char *path, struct err *e);
// Ends it: with `rc` 0 the file takes its place, else nothing of it stays. Returns rc, or what went
// wrong with writing.
int outfile_close(struct outfile *o, int rc, struct err *e);

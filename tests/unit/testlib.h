// What unit tests share. cmocka wants these four headers in front of its own.
#pragma once

#include "rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdbool.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define assert_near(got, want, most) assert_true(fabs((got) - (want)) <= (most)) // <math.h>

// A file of tests/data/, or of any absolute path; owned, NUL-terminated.
char *data_read(const char *name, size_t *len);
// The text must be that of the file of tests/data/. PMX_GOLDEN=write makes the files anew: then
// read them.
void golden_is(const char *name, const char *got);
// The text in a new file under $TMPDIR; `path` has room for 64 bytes. The caller unlinks.
void temp_write(char path[64], const char *text, size_t len);

// Puts the JSON text `value` (NULL: nothing, the key goes) at a path as "tx.0.rate_pps"; "" is the
// root itself. Array elements can only be replaced, or appended at the end.
void json_edit(json_t **root, const char *path, const char *value);

// JSON, written as it is made: a summary of a million flows is never held as a tree. Indented to
// where the rows of a table begin, each row on a line of its own.
#pragma once

#include "table.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json_put {
	FILE *f;
	unsigned depth;
	bool some;   // something stands in the open object or list
	bool keyed;  // a key stands before what comes next
	bool inside; // a row is open: no line breaks
};

void json_put_begin(struct json_put *j, char bracket); // '{' or '['
void json_put_end(struct json_put *j, char bracket);
void json_put_key(struct json_put *j, const char *key);
// Members of an object.
void json_put_text(struct json_put *j, const char *key, const char *s); // "" = null
void json_put_count(struct json_put *j, const char *key, uint64_t v);
void json_put_real(struct json_put *j, const char *key, double v); // NAN = null
void json_put_bool(struct json_put *j, const char *key, bool v);
void json_put_null(struct json_put *j, const char *key);
// A row of a table as an object on one line.
void json_put_row(struct json_put *j, const struct table *t, const struct cell *cell);

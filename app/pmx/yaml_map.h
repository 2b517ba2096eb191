// A mapping read by a table: one row a key holds its name, its form, its range and where it goes.
// Unknown keys (with the nearest right one), keys given twice and values out of form are refused
// with file:line:col.
#pragma once

#include "yaml_doc.h"

#include "err.h"
#include "parse.h"

#include <stddef.h>
#include <stdint.h>

enum yaml_type {
	YAML_TYPE_TEXT,	    // char[size]; empty is refused
	YAML_TYPE_UINT,	    // unsigned integer of `size` bytes within min..max
	YAML_TYPE_WORD,	    // enum: index in `words`
	YAML_TYPE_BOOL,	    // bool
	YAML_TYPE_DURATION, // uint64_t nanoseconds within min..max
	YAML_TYPE_REAL,	    // double within min..max, plain decimal
	YAML_TYPE_PERCENT,  // double 0..100, with or without %
	YAML_TYPE_SECTION,  // a mapping: rows of `section`, same object
	YAML_TYPE_ITEM,	    // const struct yaml_item *, for later
	YAML_TYPE_CALL,	    // whatever `set` makes of it
};

struct yaml_table;

struct yaml_key {
	const char *name;
	enum yaml_type type;
	size_t offset, size; // of the field in the object
	uint64_t min, max;
	const char *const *words; // YAML_TYPE_WORD
	size_t word_count;
	const struct yaml_table *section;
	int (*set)(const struct yaml_doc *d, const struct yaml_item *value, void *obj,
		   struct err *e);
	size_t pos; // offset of the struct pos that keeps where the value stood; 0 = not kept
};

struct yaml_table {
	const char *what; // "host", "timing": for messages
	const struct yaml_key *key;
	size_t count; // at most 64
};

// offset and size of a field in one word.
#define YAML_FIELD(type, field) .offset = offsetof(type, field), .size = sizeof(((type *)0)->field)
#define YAML_TABLE(what_, keys)                                                           \
	{                                                                                 \
		.what = (what_), .key = (keys), .count = sizeof(keys) / sizeof((keys)[0]) \
	}

// Only the fields of keys that are there are written.
int yaml_map_read(const struct yaml_doc *d, const struct yaml_item *map, const struct yaml_table *t,
		  void *obj, struct err *e);

// For setters. The error of a parser of lib/parse.h ("number '5': expected ...") as this value's:
// `file:line:col: name '5': expected ...`. Returns -e->code.
int yaml_wrap(const struct yaml_doc *d, struct pos pos, const char *name, struct err *e);
// Refuses lists, mappings and blanks: `name: a list: expected <form>`.
int yaml_want_text(const struct yaml_doc *d, const struct yaml_item *value, const char *name,
		   const char *form, struct err *e);
// "12", "12.5", "0.1%" -> 12, 12.5, 0.1; a plain decimal within min..max.
int yaml_read_real(const struct yaml_doc *d, const struct yaml_item *value, const char *name,
		   double min, double max, bool percent, double *out, struct err *e);
// Writes "did you mean 'x'?" or "expected one of a, b, c" for a word that is none of n.
const char *yaml_suggest(const char *word, const char *const *words, size_t n, char *buf,
			 size_t size);

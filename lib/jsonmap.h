// JSON object <-> struct by a table: one row a field, with its key, place, kind and range. Reader,
// writer, range check and release all go by the same row.
//
// Reading is strict: every key must be there, no other may be, types and ranges are exact. Errors
// begin with the JSON path of the fault: "$.tx[3].rate_pps: -2: expected ...".
#pragma once

#include "err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum jm_kind {
	JM_FIXED, // the integer `min`; no member
	JM_TRUE,  // the literal true; no member
	JM_BOOL,
	JM_UINT, // unsigned member of 1, 2, 4 or 8 bytes
	JM_DOUBLE,
	JM_STRING, // char array of `size`; no control characters; min..max is its length
	JM_ENUM,   // an enum that counts from 0 as name[0..names - 1]
	JM_IP,	   // struct ip_addr <-> "198.18.0.1", "2001:2::1"
	JM_OBJECT, // struct of `map` inside this one
	JM_ARRAY,  // pointer to owned structs of `map`; their number is the size_t at `count`
	JM_UINTS,  // inline array of `names` uint16_t; the number in use is the size_t at `count`
	JM_NAMED,  // inline array of uint64_t counters <-> object with the keys name[0..names - 1]
	JM_CODEC,  // by functions
};

enum jm_flag {
	JM_ZERO_NULL = 1 << 0,	  // UINT, IP: 0, none <-> null
	JM_UNKNOWN_NULL = 1 << 1, // UINT of 8 bytes: UINT64_MAX <-> null. DOUBLE: NAN and negative
				  // -> null -> -1
	JM_MAX_WORD = 1 << 2,	  // DOUBLE: -1 <-> "max"
	JM_TEXT = 1 << 3,	// STRING: free text; what is not UTF-8 or is a control character is
				// written as '?', where another string fails the write
	JM_HEX = 1 << 4,	// STRING: pairs of hex digits
	JM_ROOT_COUNT = 1 << 5, // ARRAY: `count` is in the outermost struct, filled by an earlier
				// row, and the array must have exactly that many elements
};

struct jm_map;

// Reading fills the member from v (never NULL); its errors may begin with a path below the member,
// "$[3]: ...". Writing gives a new reference or NULL; release (may be NULL) frees what the member
// owns. A member of zeros owns nothing.
struct jm_codec {
	int (*read)(json_t *v, void *member, struct err *e);
	// For jsonmap_scan: the same from canonical text at *at, which it moves on; or NULL. False
	// = leave it to read.
	bool (*scan)(const char **at, void *member);
	json_t *(*write)(const void *member);
	void (*release)(void *member);
};

struct jm_row {
	const char *key;
	enum jm_kind kind;
	unsigned flags;
	size_t offset, size; // of the member
	uint64_t min, max;   // of the value (max 0 of UINT, STRING: what the member holds); ARRAY,
			     // UINTS: of the number of elements
	const char *const *name;
	size_t names;
	const struct jm_map *map;
	size_t count; // offset of a size_t
	const struct jm_codec *codec;
};

struct jm_map {
	const struct jm_row *row;
	size_t rows;
	size_t size; // of the struct
};

// Into an unsigned member of 1, 2, 4 or 8 bytes.
void jm_store_uint(void *member, size_t size, uint64_t v);
// The largest value of a UINT row: what the member holds and JSON can write.
uint64_t jm_max_uint(const struct jm_row *row, size_t size);

// Place and size of a member, for a row.
#define JM_AT(type, member) .offset = offsetof(type, member), .size = sizeof(((type *)0)->member)
#define JM_MAP(table, type)                                                                      \
	{                                                                                        \
		.row = (table), .rows = sizeof(table) / sizeof((table)[0]), .size = sizeof(type) \
	}

// *out is zeroed first, and on failure is left as zeros with everything freed. 0, -EINVAL, -ENOMEM.
int jsonmap_read(const struct jm_map *map, json_t *root, void *out, struct err *e);
// The same from the text of an object as json_dumps(jsonmap_write(), JSON_COMPACT) makes it,
// without the tree in between: ten times as fast. It takes nothing that jsonmap_read would refuse,
// and does not take all that it would (white space, other orders of keys, escapes): -EAGAIN then,
// with *out zeroed and nothing owned. The text has a NUL behind its end.
int jsonmap_scan(const struct jm_map *map, const char *text, size_t len, void *out);
// An unsigned integer of up to `max` in canonical text; moves *at behind it.
bool jsonmap_scan_uint(const char **at, uint64_t max, uint64_t *out);
// Whether `word` stands at *at; then moves behind it.
bool jsonmap_scan_word(const char **at, const char *word);
// A new reference; keys in the table's order. NULL on no memory, and where JSON cannot hold a value
// (a string that is not UTF-8, an integer above INT64_MAX, a double that is not finite).
json_t *jsonmap_write(const struct jm_map *map, const void *in);
// Frees what the rows own and zeroes *obj.
void jsonmap_release(const struct jm_map *map, void *obj);

// One JSON object out of a text or a file; duplicate keys are refused. Errors name `name` with line
// and column, or the path.
int jsonmap_parse(const char *name, const char *text, size_t len, json_t **root, struct err *e);
// The bytes of a file, with a NUL behind them; owned by the caller.
int jsonmap_slurp(const char *path, size_t max_bytes, char **text, size_t *len, struct err *e);
int jsonmap_load(const char *path, size_t max_bytes, json_t **root, struct err *e);

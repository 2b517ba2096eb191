// A small table: columns (key, title, unit, form) and rows of cells. Text, CSV and JSON are
// rendered from the very same cells, so they cannot disagree. A table is a view of an array of
// structs: a column says where in the struct its value stands. Rows are made one at a time, so a
// table of a million rows takes no memory of its own.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CELL_TEXT_MAX 64 // enough for cell_str of every form but FORM_TEXT, which needs no buffer
#define COLUMNS_MAX 96

enum cell_kind {
	CELL_NONE, // not measured: blank in text and CSV, null in JSON, never 0
	CELL_TEXT,
	CELL_COUNT, // exact
	CELL_INT,   // exact, signed
	CELL_REAL,  // rounded to its column's decimals when it is set
	CELL_BOOL,
};

struct cell {
	enum cell_kind kind;
	union {
		const char *text; // borrowed
		uint64_t count;
		int64_t integer;
		double real;
		bool yes;
	};
};

enum form { // how a value is shown in text; CSV and JSON have the plain value
	FORM_TEXT,
	FORM_COUNT, // 1,234,567
	FORM_REAL,  // text_decimals digits
	FORM_SI,    // 1.23 M
	FORM_MBPS,  // a value in Mbit/s as FORM_SI shows bit/s
	FORM_GBPS,
	FORM_US,   // microseconds: 12.3 us, 4.56 ms
	FORM_PCT,  // text_decimals digits; what is neither 0 nor 100 is never shown as such
	FORM_BOOL, // yes, no
};

enum source { // where a cell's value stands: in the item behind the row, at the column's offset
	SOURCE_MAKE, // nowhere: the column's function makes it
	SOURCE_U32,
	SOURCE_U64,    // COUNTER_UNKNOWN = not measured
	SOURCE_I64,    // LOSS_UNKNOWN = not measured
	SOURCE_DOUBLE, // NAN = not measured; divided by the column's scale
	SOURCE_TEXT,   // char[], "" = not measured
	SOURCE_STRING, // const char *, NULL or "" = not measured
};

struct column {
	const char *key; // JSON's, with the unit: sent_pps, rtt_p99_us; no unit = packets or a name
	const char *csv; // CSV's where it differs, else NULL
	const char *title; // text's; NULL = not in the text table
	const char
		*unit; // of what text shows: "pps", "bps", "%"; NULL = none, or the form shows it
	enum form form;
	uint8_t decimals;      // of CELL_REAL, in CSV and JSON; at most 9
	uint8_t text_decimals; // of FORM_REAL and FORM_PCT
	bool left;	       // aligned left; numbers stand right
	enum source source;
	size_t offset;
	double scale; // 0 = 1
	struct cell (*make)(const void *ctx, const void *item);
};

struct table {
	const char *key;   // JSON's name of the list
	const char *title; // text's
	const struct column *column;
	size_t columns;
	size_t rows;
	const char *item;  // of row 0 (of item 0, with an order)
	size_t item_bytes; // from one item to the next
	const char *const
		*shown;	       // keys in the order of the text, NULL-ended; NULL = columns' order
	const uint32_t *order; // NULL, or [rows]: row r shows item order[r]
	const void *ctx;       // for the columns' functions
};

// Fills out[columns], reals rounded to their columns' decimals.
void table_row(const struct table *t, size_t row, struct cell *out);
// Index of a column by key; SIZE_MAX = none.
size_t table_find(const struct table *t, const char *key);

// Values to cells. NAN, COUNTER_UNKNOWN and LOSS_UNKNOWN make CELL_NONE, and so does "".
struct cell cell_text(const char *s);
struct cell cell_count(uint64_t v);
struct cell cell_int(int64_t v);
struct cell cell_real(double v);
struct cell cell_bool(bool v);

// As text shows it; "" when not measured. Returns buf, or the cell's own text.
const char *cell_str(const struct column *c, const struct cell *cell, char *buf, size_t size);
// The same with the column's unit: "1.23 Mpps", "99.1 %"; "-" when not measured.
const char *cell_unit_str(const struct column *c, const struct cell *cell, char *buf, size_t size);
// The plain value, as CSV and JSON have it: no separators, a dot, `decimals` digits with trailing
// zeros cut. "" when not measured. Returns buf, or the cell's own text.
const char *cell_plain(const struct column *c, const struct cell *cell, char *buf, size_t size);

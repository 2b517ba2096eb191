// Text for a terminal or a file: labels, wrapping, tables in columns. Colour only where the caller
// says so.
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#define TEXT_WIDTH 100

enum text_style { TEXT_BOLD, TEXT_GOOD, TEXT_BAD, TEXT_STYLES };

void text_begin(FILE *f, enum text_style style, bool colour);
void text_end(FILE *f, enum text_style style, bool colour);
// The label of a line, padded to where its text begins.
void text_label(FILE *f, const char *label, bool colour);
// Words of `text` in lines of at most TEXT_WIDTH, the first after `lead`, the others below its
// text.
void text_wrapped(FILE *f, const char *lead, const char *text);

// Adds to the string in buf; what does not fit in `size` is cut.
void text_append(char *buf, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void text_vappend(char *buf, size_t size, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));

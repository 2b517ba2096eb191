// A text that is shown again and again on stdout: on a terminal in the place of the last one, line
// by line and in one write, so that nothing flickers; anywhere else one after the other.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct screen {
	bool tty;
	unsigned rows, columns; // of the terminal; 0 = not known
	unsigned lines;		// of the last text, above the cursor
};

void screen_open(struct screen *s);
// What does not fit the terminal is cut: lines at its width, and the last ones of too many, which
// are counted instead. 0 or -errno.
int screen_show(struct screen *s, const char *text);
// The same, pure: what is to be written, owned by the caller; NULL on no memory.
char *screen_frame(struct screen *s, const char *text, size_t *len);

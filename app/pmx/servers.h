// Server list: one `name[=address[:port]]` a line, # comments; a bare address is its own name.
#pragma once

#include "err.h"
#include "hostcfg.h"

#include <stddef.h>

struct server {
	char name[NAME_MAX_BYTES];
	char ssh[256]; // [user@]address[:port]; "" = the name
	int line;
};

struct servers {
	struct server *server; // owned, in the order of the file
	size_t count;
};

// Refused with file:line:col: fewer than two, names or addresses that come twice, bad ports.
int servers_parse(const char *file, const char *text, size_t len, struct servers *s, struct err *e);
void servers_free(struct servers *s);

// "net_x0,iface={iface}": text with named places. A place that no variable fills is an error.
#pragma once

#include "err.h"

#include <stddef.h>

struct template_var {
	const char *name;
	const char *value; // borrowed; NULL = this variable has no value here
};

// Fills out. -EINVAL for an unknown or valueless name or a brace without its other, -ENAMETOOLONG.
int template_expand(const char *text, const struct template_var *var, size_t vars, char *out,
		    size_t size, struct err *e);

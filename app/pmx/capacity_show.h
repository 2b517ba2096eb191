// What `pmx check` says: the same cells as text and as JSON.
#pragma once

#include "capacity.h"
#include "matrix.h"
#include "plan.h"

#include <stdbool.h>
#include <stdio.h>

#define PMX_CHECK_VERSION 1 // of the JSON

void capacity_text(FILE *f, const struct plan *p, const struct capacity *c, bool colour);
void capacity_json(FILE *f, const struct plan *p, const struct capacity *c);

// What a generated matrix comes to: of each pair, of each host both ways, of the fleet. Bit rates
// are those of the wire (L1).
#pragma once

#include "gen_plan.h"

#include <stdio.h>

void gen_show(FILE *f, const struct gen_plan *p);

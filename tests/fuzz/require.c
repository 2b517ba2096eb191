#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>

void fuzz_require(int holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "broken: %s\n", what);
	abort();
}

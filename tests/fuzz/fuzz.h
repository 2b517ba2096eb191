// A fuzz target: libFuzzer calls it, and so does replay.c. It aborts where a parser breaks its
// contract.
#pragma once

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// An assertion that no build switches off.
void fuzz_require(int holds, const char *what);

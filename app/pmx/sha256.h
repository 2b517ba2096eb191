// SHA-256 (FIPS 180-4), for the identity of a matrix and of the agent's binary.
#pragma once

#include <stddef.h>

#define SHA256_HEX_BYTES 65

// 64 lower-case hex digits and a NUL.
void sha256_hex(const void *data, size_t len, char out[SHA256_HEX_BYTES]);

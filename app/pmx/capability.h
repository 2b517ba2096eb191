// Linux capabilities that drivers ask for: the words of profiles, and the kernel's bits.
#pragma once

#include "err.h"

#include <stddef.h>
#include <stdint.h>

struct capability {
	const char *name; // as in profiles: "net_raw" for CAP_NET_RAW
	unsigned bit;	  // linux/capability.h
};
extern const struct capability capability_table[];
extern const size_t capability_count;

// "net_raw net_admin" to a mask of bits.
int capability_read(const char *words, uint64_t *mask, struct err *e);
// "CAP_NET_RAW, CAP_BPF" of a mask. Into buf.
char *capability_str(uint64_t mask, char *buf, size_t size);

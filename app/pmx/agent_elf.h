// What the agent's binary wants of a host, read from the file: it may be for another machine.
#pragma once

#include "err.h"

#include <stddef.h>

struct agent_elf {
	char machine[16];  // as `uname -m` says it; "" = one that is not known here
	char libs[512];	   // names of the shared libraries it needs, a blank between
	unsigned glibc[2]; // the newest version whose symbols it needs, 2.36; 0 = none
	char pmds[1024];   // DPDK's drivers in it, a blank between; "" = those of a shared DPDK
};

// -ENOEXEC when it is no 64-bit little-endian ELF file, or a broken one.
int agent_elf_read(const void *data, size_t len, struct agent_elf *a, struct err *e);

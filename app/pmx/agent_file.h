// The pmx-agent on this machine: run in place by local agents, copied to hosts by ssh.
#pragma once

#include "sha256.h"

#include "err.h"

#include <limits.h>
#include <stddef.h>

struct agent_file {
	char path[PATH_MAX];
	void *data; // mapped; shared by all uploads
	size_t len;
	char sha256[SHA256_HEX_BYTES];
};

// $PMX_AGENT, else next to pmx, else where the build tree and an installation have it.
int agent_file_open(struct agent_file *a, struct err *e);
void agent_file_close(struct agent_file *a);

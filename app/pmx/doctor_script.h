// The script that gathers a host's facts: POSIX shell and coreutils, nothing is written, no agent
// is needed. facts.h has the form of what it prints.
#pragma once

// Owned; NULL on no memory.
char *doctor_script(void);

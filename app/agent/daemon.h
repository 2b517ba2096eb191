// Detached from whoever started it: a supervisor that waits for the agent proper, writes down how
// it ended and removes its runtime files.
#pragma once

// Starts `run(ready_fd)` detached with stdin from /dev/null and both outputs to SESSION_LOG in the
// current directory. `run` writes "ok\n" or one line of error to ready_fd; the caller gets 0 for
// ok, else 1 after that line was printed to stderr.
int daemon_start(int (*run)(int ready_fd));

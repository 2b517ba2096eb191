// SIGINT and SIGTERM: the first one sets the stop flag, the second one quits at once (the agents
// then end by their lease).
#pragma once

#include <stdatomic.h>

// Handlers for verbs that stop in order. SIGPIPE is ignored for every verb by main.
void signals_catch(void);
// 0, or the signal that came: the one piece of state that is global.
const atomic_int *signals_flag(void);
int signals_got(void);
// Blocks them in the calling thread, so that the main thread gets them and sleeps there end early.
// Processes started by this thread inherit it: a terminal's ^C does not end a jump host's ssh.
void signals_block(void);

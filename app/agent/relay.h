// Standard input and output to the session's socket: what pmx runs at the far end of SSH.
#pragma once

// Returns 0 when either side closed, 1 when there is no agent.
int relay_run(void);

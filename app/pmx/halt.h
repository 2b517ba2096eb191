// The end of the agents of a fleet, whatever state they and their sessions are in.
#pragma once

#include "fleet.h"

#include <stdint.h>

// Every launched agent is told to stop at an instant a little ahead, the same for all.
void halt_requests(struct fleet *f);
// The same for agents of a run that this pmx did not start: it attaches to them first. Those that
// do not answer are left to halt_agent.
void halt_together(struct fleet *f);
// Sends one agent away: by its session where that still answers, by a new one, by signal. *how says
// which; the agent drains and writes its result first.
int halt_agent(struct fleet_host *h, enum stop_how *how, struct err *e);
// Sends away every launched agent: by its session where that still answers, by a new one, by
// signal. On return none runs, or a line says on which host it could not be reached. Failures stay
// what they were.
void halt_agents(struct fleet *f);

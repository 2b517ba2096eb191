// One host of the agent in this process: config, EAL, port and queues, made by the agent's own
// functions, so that a benchmark runs what an agent runs.
#pragma once

#include "clock.h"
#include "offer.h"
#include "port.h"
#include "queue.h"

#include "err.h"
#include "hostcfg.h"

#include <stdbool.h>
#include <stdint.h>

enum rig_work {
	RIG_REQUEST, // sends; nothing comes back
	RIG_REPLY,   // is offered replies, sends nothing
	RIG_TURN,    // is offered requests, answers them
	RIG_BOTH,    // sends, and is offered replies
	RIG_WORKS
};
extern const char *const rig_work_name[RIG_WORKS];

struct rig_opts {
	enum rig_work work;
	uint32_t streams, flows, payload_bytes;
	double rate_pps; // of all; RATE_UNPACED = max
	double seconds;	 // of the trial
	bool stamp_each; // a send instant for each packet, not one for each burst
	enum huge_policy hugepages;
	uint16_t cpu[LCORES_MAX]; // one queue on each
	uint16_t queues;
};

struct rig {
	struct hostcfg cfg;
	struct agent_shared shared;
	struct clock clock;
	struct port port;
	struct queue *queue[LCORES_MAX];
	struct offer *offer[LCORES_MAX]; // NULL where nothing is received
};

// EAL, port and queues; nothing is armed. `dir` takes EAL's runtime files.
int rig_open(struct rig *r, const struct rig_opts *o, const char *dir, struct err *e);
// The trial starts at start_tsc; with RIG_REPLY and RIG_TURN no request is ever due.
void rig_arm(struct rig *r, const struct rig_opts *o, uint64_t start_tsc);
// Frames that did not go the way they were meant to, 0 in a sound benchmark.
uint64_t rig_strays(const struct rig *r);
void rig_close(struct rig *r);

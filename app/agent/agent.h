// One agent: its life from init to done. Everything here is the main thread's; telemetry's threads
// look at it while they hold the lock.
#pragma once

#include "clock.h"
#include "cpu.h"
#include "neigh.h"
#include "port.h"
#include "queue.h"
#include "sample.h"

#include "hostcfg.h"
#include "result.h"
#include "session.h"

#include "err.h"

#include <pthread.h>

struct agent {
	// Over all of it but the queues: the main thread's, but while that waits for its clients.
	pthread_mutex_t lock;
	struct hostcfg cfg;
	enum agent_state state;
	char error[ERR_MAX]; // failed: why; link: what it waits for
	char ended_by[16];
	bool quit; // exit once done
	struct clock clock;
	struct port port;
	uint16_t cpu[LCORES_MAX];
	struct queue *queue[LCORES_MAX];
	bool launched;
	struct agent_shared shared;
	struct neigh_table neigh;
	uint64_t link_ns, restart_ns; // when it began to wait, when the port is next restarted
	uint64_t lease_ns;	      // end of the lease; 0 = none
	uint64_t first_due_ns;	      // 0 = not armed, or nothing to send
	uint64_t start_ns, window_ns, end_ns; // first trial, measured trial, its end; 0 = not armed
	uint64_t rotated_ns;		      // of the rotation, over when the measured trial began
	struct cpu_sample cpu_start, cpu_end;
	bool cpu_started, cpu_ended;
	struct sampler sampler;
	json_t *result; // of a finished run, owned
};

// Brings DPDK, the port and its queues up from SESSION_CONFIG in the current directory; the state
// is `link` afterwards. The caller holds a->lock from now on. `dir` is the current directory's
// absolute name.
int agent_open(struct agent *a, const char *dir, struct err *e);
// What is due at `now_ns` (CLOCK_MONOTONIC_RAW). False when the agent may exit.
bool agent_tick(struct agent *a, uint64_t now_ns);
void agent_renew(struct agent *a, uint64_t now_ns);
// elapsed_ns: of the run that are over at start_ns; 0 but for an agent that joins one.
int agent_arm(struct agent *a, uint64_t start_ns, uint64_t elapsed_ns, uint64_t now_ns,
	      struct err *e);
// No request is due after at_ns (0 = now). `why` as in struct result.ended_by.
void agent_stop(struct agent *a, uint64_t at_ns, const char *why, uint64_t now_ns);
// How much of the rotation is over at an instant of the run, none in the warm-up; and the layer
// that sends.
uint64_t agent_rotated_ns(const struct agent *a, uint64_t now_ns);
uint32_t agent_layer(const struct agent *a, uint64_t now_ns);
void agent_status(struct agent *a, struct status *s, uint64_t now_ns);
// The result so far, or the final one; a new reference, NULL on no memory.
json_t *agent_result(struct agent *a);
void agent_close(struct agent *a);

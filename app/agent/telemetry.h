// DPDK's telemetry of this agent: /pmx/... endpoints next to the PMDs' own, read by
// dpdk-telemetry.py. Its threads belong to DPDK; they look at the agent under agent.lock, which the
// main thread gives away while it waits.
#pragma once

struct agent;

// Waits until the threads that EAL has just made are at rest, 2 s at most. To be called before
// anything is allocated from EAL: where a huge page is missing EAL leaves a hole in its address
// space for a moment and then fills it by force. Whatever another thread mapped meanwhile (a
// sanitizer does when a thread begins) would be overwritten.
void telemetry_settle(void);
// Registers the endpoints. The caller holds a->lock; there is one agent to a process.
void telemetry_open(struct agent *a);
// Ends every connection and DPDK's threads that serve them, before what they read is freed. The
// caller holds a->lock.
void telemetry_close(struct agent *a);

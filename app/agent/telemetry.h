// DPDK's telemetry of this agent: /pmx/... endpoints next to the PMDs' own, read by
// dpdk-telemetry.py. Its threads belong to DPDK; they look at the agent under agent.lock, which the
// main thread gives away while it waits.
#pragma once

struct agent;

// Registers the endpoints. The caller holds a->lock; there is one agent to a process.
void telemetry_open(struct agent *a);
// Ends every connection and DPDK's threads that serve them, before what they read is freed. The
// caller holds a->lock.
void telemetry_close(struct agent *a);

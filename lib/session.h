// Words of the session between pmx and one agent: line-oriented JSON over the Unix socket
// `agent.sock` in the agent's directory (`pmx-agent relay` connects stdin/stdout to it). pmx asks,
// the agent answers every line with exactly one line, in order:
//
//   {"cmd":"hello"}             {"ok":true,"pmx":"0.1.0","host":"a","run_id":"..","state":"init",
//                                "pid":1,"end_ns":N}: when the measured trial is to end, of the
//                               agent's clock; null = not armed
//   {"cmd":"time"}              {"ok":true,"mono_ns":N}: CLOCK_MONOTONIC_RAW of the agent
//   {"cmd":"status"}            {"ok":true,"state":"running", ...}: struct status below
//   {"cmd":"arm","start_ns":N}  {"ok":true}: first trial starts at N of the agent's clock; in state
//                               ready only. With "elapsed_ns":M the agent joins a run of which
//                               M are over by then: what is left of its trials begins at N
//   {"cmd":"stop","at_ns":N}    {"ok":true}: no request is due after N (0 = now); drains, writes
//                               the result. With "why":"reload" another agent takes its place in
//                               the run, and SESSION_RESUME is written, too
//   {"cmd":"result"}            {"ok":true,"result":{...}}: live or final, see result.h
//   {"cmd":"quit"}              {"ok":true}: exit when done/failed, else as stop first, then exit
//
// Every line renews the lease. A refusal is {"ok":false,"error":"one line"}. Unknown commands are
// refused, never ignored.
#pragma once

#include "err.h"
#include "ip_addr.h"

#include <jansson.h>
#include <stdint.h>

#define SESSION_SOCKET "agent.sock"
#define SESSION_LOG "agent.log" // the agent's stderr and EAL's talk
#define SESSION_CONFIG "host.json"
#define SESSION_RESULT "result.json" // written (temp + rename) when done
#define SESSION_REPORT "report.csv"  // interval rows
#define SESSION_RESUME "agent.seq"   // where the streams' sequences go on after a reload
#define SESSION_PID "agent.pid"	     // of the agent proper; removed when it ends
#define SESSION_XDP "agent.xdp"	     // "BOOT ID INTERFACE": the XDP program an af_xdp port put on
#define SESSION_EXIT "agent.exit" // how it ended: "exit 0" or "signal 9"; written by its supervisor
#define SESSION_RELOAD "reload"	  // ended_by of an agent that another takes the place of
#define SESSION_LINE_MAX (64u << 20)

// init: EAL and port come up. link: waits for link and neighbours (answers ARP). ready: may be
// armed. armed: waits for its start. running: a trial is sending. drain: replies still counted.
// done: result is written. failed: `error` says why.
enum agent_state {
	AGENT_INIT,
	AGENT_LINK,
	AGENT_READY,
	AGENT_ARMED,
	AGENT_RUNNING,
	AGENT_DRAIN,
	AGENT_DONE,
	AGENT_FAILED,
	AGENT_STATES
};
extern const char *const agent_state_name[AGENT_STATES];

struct status { // live ticker: rates over the last interval of the agent (about 1 s); <0 = no data
	enum agent_state state;
	char error[ERR_MAX];  // state failed
	uint64_t start_ns;    // instant of the first request due, agent clock; 0 = not yet
	uint64_t first_tx_ns; // instant at which the first request left, agent clock; 0 = not yet
	double elapsed_s;     // since the start
	double tx_pps, returned_pps, served_pps, loss_pct;
	double rtt_p50_us, rtt_p99_us;
	double busy_pct; // busiest queue
	uint64_t layer;	 // of a rotation, from 0: the one that sends; UINT64_MAX = none
	uint32_t layers; // how many; 0 = no rotation
	// the next hop that does not answer for the longest time while frames go to it; none = all
	// do
	struct ip_addr silent_hop;
	double silent_s; // for how long; <0 = none
};

// JSON: one key a field, named as the field; no data and instants that did not come are null. Same
// contract as hostcfg_read and _write; what is not UTF-8 in `error` is written as '?'.
int status_read(json_t *root, struct status *s, struct err *e);
json_t *status_write(const struct status *s); // includes "ok": true
int agent_state_parse(const char *name, enum agent_state *out);

// Summary: what the run says. A pure function of the matrix and the results of the hosts (NULL
// where a host gave none). Flows are matched by the hosts' names: what a source says of a flow
// stands in its result.tx[], what the destination says in its result.rx[]. Only measured trials
// count. All renderers show the cells of this struct (tables.h).
#pragma once

#include "matrix.h"
#include "result.h"

#include "err.h"

// Not measured: shown blank, null in JSON, never 0. Doubles use NAN for it, counters
// COUNTER_UNKNOWN, losses LOSS_UNKNOWN. A loss is signed: a negative one (more arrived than was
// sent) makes the trial invalid and is said, never clamped.
#define LOSS_UNKNOWN INT64_MIN

#define GENERATOR_LIMITED_PCT 99.9 // offered below this share of the target: the tool is the limit

struct sum_flow {
	uint32_t src, dst;
	uint32_t layer;		       // of the rotation; 0 without one
	uint32_t req_bytes, rep_bytes; // of a mix the largest
	// Means of the packets counted: payload bytes, and bytes of the wire (L1). Of one size they
	// are that size's.
	double req_mean, rep_mean, replied_mean;
	double sent_l1, delivered_l1, replied_l1, returned_l1;
	uint32_t streams;  // 0 = unknown
	double target_pps; // NAN = unpaced
	uint64_t target;   // packets due in the window; COUNTER_UNKNOWN = unpaced or not measured
	uint64_t sent, unsent, delivered, replied, reply_unsent, returned;
	int64_t lost, lost_forward, lost_back; // round trip; the ways apart need both ends
	uint64_t dup_forward, dup_back, reordered_forward, reordered_back, late_forward, late_back;
	uint64_t off_queue;
	double measured_s; // of the window, in which the flow was to send; NAN = not measured
	double covered_s;  // the same of its pair, in all layers, if any request left
	double sent_share, served_share; // of its ends' windows, in which its layer was on
	// of the requests as they came in, and of the replies: 0 = unknown
	uint8_t ttl_forward_min, ttl_forward_max, ttl_back_min, ttl_back_max;
	// while its layer was on
	double sent_pps, delivered_pps, replied_pps, returned_pps;
	double loss_pct, loss_forward_pct, loss_back_pct;
	double rtt_avg_ns, rtt_p50_ns, rtt_p99_ns, rtt_p999_ns, rtt_max_ns;
};

// One size of a mix, over all flows.
struct size_sums {
	uint64_t sent, delivered, replied, returned;
};
struct sum_size {
	bool reply; // counted by the size of the reply; else by that of the request
	uint32_t bytes;
	struct size_sums all, complete; // of those flows that both ends tell about
	int64_t lost, lost_forward, lost_back;
	double loss_pct, loss_forward_pct, loss_back_pct;
};

// The flows of one layer of a rotation.
struct sum_layer {
	uint32_t layer;
	size_t flows;
	double measured_s;	       // for which it was on; NAN = never, or not known
	struct sum_flow sum, complete; // of all; of those that both ends tell about
	uint64_t paced_sent;	       // of sum.target
	double achieved_pct, delivered_pct, loss_pct, loss_forward_pct, loss_back_pct;
	double rtt_worst_ns; // the worst flow's p99
};

// Of the pairs that the matrix asks for: how many were measured, the least and the most time for
// one.
struct sum_coverage {
	size_t pairs, measured;
	double least_s, most_s;
};

struct sum_queue {
	uint32_t index;
	uint64_t lcore;
	uint64_t requests_sent, requests_received, replies_sent, replies_received, off_queue,
		tx_full;
	double busy_pct;
};

// Packets lost on the way to one host (requests for it and replies to it), by cause. The NIC's
// counters are of the whole run, so they explain at most what was lost in the window. Late: came in
// after the drain or too far behind in its stream. Fabric is the rest. Unattributed: the driver
// counts no such thing.
struct sum_cause {
	uint64_t late, missed, no_mbuf, fabric, unattributed;
};

struct sum_host {
	uint32_t host; // index in the matrix
	bool measured;
	char failure[ERR_MAX]; // why not, "" if unknown
	double window_s;       // of the measured trials
	// of its own requests: delivered_to as the peers counted
	uint64_t target, paced_sent, sent, unsent, delivered_to, returned; // paced_sent: of target
	uint64_t served, replied, reply_unsent;				   // what it answered
	int64_t lost, lost_forward, lost_back;
	int64_t lost_to; // requests that were sent to it and did not arrive
	double sent_pps, returned_pps, served_pps, egress_l1_bps, ingress_l1_bps;
	double achieved_pct, loss_pct, rtt_p99_ns, cpu_pct, cpu_max_pct, agent_cpu_pct;
	double busy_pct; // of the busiest queue's lcore
	uint32_t busiest_queue;
	uint32_t tx_streams; // of all its flows
	double lateness_p99_ns, lateness_max_ns;
	struct sum_queue *queue; // owned
	size_t queue_count;
	uint64_t off_queue, tx_full; // of all queues
	struct sum_cause cause;
	uint64_t drop[DROP_REASONS];
	struct port_counts port;
	struct icmp_counts icmp; // path_mtu 0 = none told
	struct sum_hops {
		uint64_t count, silent; // silent: at the end
		uint64_t silences, changes;
		struct result_hop worst;      // silent for the longest time; zeros = none is
		struct result_hop moving;     // whose MAC changed most; zeros = none did
		char silent_addr[IP_STR_MAX]; // of the worst, "" = none
	} hops;
	uint64_t cpus; // of the box; 0 = unknown
	// CPU that others took, of the whole box: neither this agent nor, with transport local,
	// those of the other hosts. NAN = unknown
	double others_cpu_pct;
	// inventory, "" and 0 when not measured
	char pmx_version[32], dpdk_version[64], driver[64], mac[18], state[16], ended_by[16];
	double tsc_hz;
	enum steering steering; // as planned; whether the port does so, and why not
	bool steered;
	char steering_why[200];
	double on_queue_pct; // of its replies: on the queue that asked
	double uneven_pct;   // how far the worst queue's requests are off an even share
};

struct summary {
	const struct matrix *matrix; // borrowed
	char run_id[NAME_MAX_BYTES];
	double window_s;	       // mean of the hosts' measured windows
	double skew_ns, skew_error_ns; // of the start, NAN = unknown
	bool partial;		       // a host or a flow is missing
	bool running;		       // live figures: what is in flight counts as not yet returned
	bool windowed; // of the last intervals of the reports: running, and more unknown
	size_t host_count, flow_count, measured_hosts;
	size_t measured_flows;	// the source's result is there
	size_t complete_flows;	// both ends' results are there
	size_t invalid_flows;	// more delivered than sent, and the like
	uint32_t first_invalid; // index of a flow; UINT32_MAX = none
	struct sum_host *host;	// owned, matrix order
	// owned, by (src, dst); behind them the flows that pairs have in a second layer, in the
	// same order
	struct sum_flow *flow;
	struct rotation rotation; // no layers = none
	struct sum_coverage coverage;
	struct sum_layer *layer; // owned, [layer_count]
	size_t layer_count;
	struct sum_size *size; // owned: requests' sizes upwards, then replies'; none without mixes
	size_t size_count;
	// Sums; src and dst unused. total: of every count there is, its rates the sums of the
	// hosts' rates, its percentiles of the merged histogram; its losses forward and back and
	// delivered_pct of the complete flows only. complete: counts of the complete flows, which
	// the identity is about.
	struct sum_flow total, complete;
	double achieved_pct;  // of the paced flows: sent / due
	double delivered_pct; // of the complete flows: delivered / sent
	struct sum_cause cause;
	double lateness_p99_ns, lateness_max_ns; // of the merged histogram
	// hosts with several queues, those of them that steer; of these all replies, the worst
	// uneven_pct
	uint32_t several_queues, steered_hosts;
	double on_queue_pct, uneven_pct;
	uint64_t foreign;	 // frames that were none of the run's, whole run, all hosts
	uint32_t rtt_worst_flow; // index, by p99; UINT32_MAX = none
	double request_l1_bps, request_payload_bps, reply_l1_bps, reply_payload_bps;
	bool identity; // the accounting identity closed for every complete flow
};

// What a summary needs of each result (sum_part.h), so that results need not be kept.
struct names;
struct sum_part;
struct summary_parts {
	struct names *names;	// owned
	struct sum_part **part; // owned, [hosts]; NULL = none yet
	size_t hosts;
};
int summary_parts_init(struct summary_parts *p, const struct matrix *m, struct err *e);
// Takes what it needs of the result of one host; now_ns as below. For different hosts by several
// threads at once. 0, -ENOMEM, or -EINVAL when the result is of another host or names a host that
// the matrix has not.
int summary_take(struct summary_parts *p, uint32_t host, const struct result *r, uint64_t now_ns,
		 struct err *e);
// The same from the last window_ns of the host's report (sum_window.h).
int summary_take_window(struct summary_parts *p, uint32_t host, const char *text, size_t len,
			uint64_t window_ns, uint64_t interval_ns, struct err *e);
void summary_parts_free(struct summary_parts *p);

struct summary_input {
	const struct matrix *matrix;
	struct summary_parts *parts;	    // used up by summary_build; or NULL, and then:
	const struct result *const *result; // [host_count]; NULL = none
	const char *const *failure;	    // NULL, or [host_count]; NULL = none
	// NULL, or [host_count]: the agent's clock when a live result was asked for (0 = unknown),
	// which ends the window of a trial still running. Without it a live result has no rates.
	const uint64_t *now_ns;
	double skew_ns, skew_error_ns;
};

// 0, or -ENOMEM, or -EINVAL when a result names a host that the matrix has not or is not of the
// host at whose place it stands. Where the results are of several runs, those of the run that most
// hosts have count; the others are not measured, and say so.
int summary_build(const struct summary_input *in, struct summary *s, struct err *e);
void summary_free(struct summary *s);

// The limits of the matrix, judged.
enum limit_pass { LIMIT_MISSED, LIMIT_HELD, LIMIT_NOT_JUDGED };
extern const char *const limit_pass_name[3];

struct limit_check {
	const char *key;     // loss_pct, rtt_p99_us, achieved_pct
	double limit, value; // value NAN = not measured
	enum limit_pass pass;
};
#define LIMITS_MAX 3

// Those that the matrix sets; returns how many. A limit whose figure should be there and is not
// counts as missed; live figures are not judged.
size_t summary_limits(const struct summary *s, struct limit_check out[LIMITS_MAX]);

// What the run amounts to; the values are pmx's exit codes.
enum verdict {
	VERDICT_GOOD = 0,
	VERDICT_LIMIT = 1,   // a limit missed, the trial is invalid, or limits are set and the tool
			     // could not offer the load
	VERDICT_NOTHING = 3, // no host was measured
	VERDICT_PARTIAL = 4,
};

// The verdict, and one line that says why.
enum verdict summary_verdict(const struct summary *s, char *text, size_t size);

// Received packets of the busiest queue over the mean of the host's queues; NAN with fewer than two
// queues or too few packets to tell.
double queue_skew(const struct sum_host *h);
#define QUEUE_SKEW_MAX 1.5 // above it the queues are uneven

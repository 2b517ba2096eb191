#include "result.h"

#include "hist_json.h"
#include "jsonmap.h"
#include "parse.h"
#include "session.h"
#include "wire.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define RESULT_MAX_BYTES SESSION_LINE_MAX // it travels as one line

static const char *const trial_kind_name[] = {
	[TRIAL_WARMUP] = "warmup",
	[TRIAL_MEASURE] = "measure",
};

const char *const drop_reason_name[DROP_REASONS] = {
	[DROP_L2] = "l2",
	[DROP_VLAN] = "vlan",
	[DROP_ADDRESS] = "address",
	[DROP_OWN] = "own",
	[DROP_PROTOCOL] = "protocol",
	[DROP_PORT] = "port",
	[DROP_COOKIE] = "cookie",
	[DROP_STREAM] = "stream",
	[DROP_MALFORMED] = "malformed",
	[DROP_CHECKSUM] = "checksum",
	[DROP_OPTIONS] = "options",
	[DROP_FRAGMENT] = "fragment",
	[DROP_NEIGHBOUR] = "neighbour",
	[DROP_SLOW] = "slow",
	[DROP_NOMBUF] = "nombuf",
	[DROP_INCOMPLETE] = "incomplete",
};

#define COUNTER JM_UINT, JM_UNKNOWN_NULL

#define AT(member) JM_AT(struct trial, member)
static const struct jm_row trial_row[] = {
	{ "id", JM_UINT, AT(id) },
	{ "kind", JM_ENUM, AT(kind), .name = trial_kind_name, .names = TRIAL_MEASURE + 1 },
	{ "start_ns", JM_UINT, JM_ZERO_NULL, AT(start_ns) },
	{ "end_ns", JM_UINT, JM_ZERO_NULL, AT(end_ns) },
	{ "close_ns", JM_UINT, JM_ZERO_NULL, AT(close_ns) },
	{ "rotated_ns", JM_UINT, AT(rotated_ns) },
};
#undef AT
static const struct jm_map trial_map = JM_MAP(trial_row, struct trial);

#define AT(member) JM_AT(struct tx_counts, member)
static const struct jm_row tx_counts_row[] = {
	{ "sent", COUNTER, AT(sent) },
	{ "unsent", COUNTER, AT(unsent) },
	{ "returned", COUNTER, AT(returned) },
	{ "dup", COUNTER, AT(dup) },
	{ "reordered", COUNTER, AT(reordered) },
	{ "late", COUNTER, AT(late) },
	{ "off_queue", COUNTER, AT(off_queue) },
	{ "rtt", JM_CODEC, AT(rtt), .codec = &hist_packed_codec },
	{ "by_size", JM_CODEC, AT(by_size), .codec = &uints_codec },
};
#undef AT
static const struct jm_map tx_counts_map = JM_MAP(tx_counts_row, struct tx_counts);

#define AT(member) JM_AT(struct rx_counts, member)
static const struct jm_row rx_counts_row[] = {
	{ "delivered", COUNTER, AT(delivered) },
	{ "replied", COUNTER, AT(replied) },
	{ "reply_unsent", COUNTER, AT(reply_unsent) },
	{ "dup", COUNTER, AT(dup) },
	{ "reordered", COUNTER, AT(reordered) },
	{ "late", COUNTER, AT(late) },
	{ "by_size", JM_CODEC, AT(by_size), .codec = &uints_codec },
};
#undef AT
static const struct jm_map rx_counts_map = JM_MAP(rx_counts_row, struct rx_counts);

#define AT(member) JM_AT(struct queue_counts, member)
static const struct jm_row queue_counts_row[] = {
	{ "requests_sent", COUNTER, AT(requests_sent) },
	{ "requests_received", COUNTER, AT(requests_received) },
	{ "replies_sent", COUNTER, AT(replies_sent) },
	{ "replies_received", COUNTER, AT(replies_received) },
	{ "off_queue", COUNTER, AT(off_queue) },
	{ "tx_full", COUNTER, AT(tx_full) },
	{ "busy_tsc", COUNTER, AT(busy_tsc) },
	{ "total_tsc", COUNTER, AT(total_tsc) },
	{ "lcore", COUNTER, AT(lcore) },
};
#undef AT
static const struct jm_map queue_counts_map = JM_MAP(queue_counts_row, struct queue_counts);

#define AT(member) JM_AT(struct port_counts, member)
static const struct jm_row port_row[] = {
	{ "ipackets", COUNTER, AT(ipackets) },	 { "opackets", COUNTER, AT(opackets) },
	{ "ibytes", COUNTER, AT(ibytes) },	 { "obytes", COUNTER, AT(obytes) },
	{ "imissed", COUNTER, AT(imissed) },	 { "ierrors", COUNTER, AT(ierrors) },
	{ "oerrors", COUNTER, AT(oerrors) },	 { "rx_nombuf", COUNTER, AT(rx_nombuf) },
	{ "pause_rx", COUNTER, AT(pause_rx) },	 { "pause_tx", COUNTER, AT(pause_tx) },
	{ "link_mbps", COUNTER, AT(link_mbps) }, { "mtu", COUNTER, AT(mtu) },
};
#undef AT
static const struct jm_map port_map = JM_MAP(port_row, struct port_counts);

#define AT(member) JM_AT(struct icmp_counts, member)
static const struct jm_row icmp_row[] = {
	{ "unreachable", COUNTER, AT(unreachable) },
	{ "too_big", COUNTER, AT(too_big) },
	{ "path_mtu", JM_UINT, JM_ZERO_NULL, AT(path_mtu), .max = UINT16_MAX },
	{ "expired", COUNTER, AT(expired) },
};
#undef AT
static const struct jm_map icmp_map = JM_MAP(icmp_row, struct icmp_counts);

#define AT(member) JM_AT(struct result_hop, member)
static const struct jm_row hop_row[] = {
	{ "addr", JM_IP, AT(addr) },
	{ "mac", JM_STRING, AT(mac) },
	{ "changes", COUNTER, AT(changes) },
	{ "silences", COUNTER, AT(silences) },
	{ "silent_ns", JM_UINT, JM_ZERO_NULL, AT(silent_ns) },
};
#undef AT
static const struct jm_map hop_map = JM_MAP(hop_row, struct result_hop);

// An array inside a flow or queue, with one element a trial of the result.
#define PER_TRIAL(type, of)                                                        \
	{                                                                          \
		"trials", JM_ARRAY, JM_ROOT_COUNT, JM_AT(type, trial),             \
			.map = (of), .count = offsetof(struct result, trial_count) \
	}

#define AT(member) JM_AT(struct result_flow_tx, member)
static const struct jm_row tx_row[] = {
	{ "peer", JM_STRING, AT(peer), .min = 1 },
	{ "req_bytes", JM_UINT, AT(req_bytes), .min = PMX_PAYLOAD_MIN, .max = PAYLOAD_MAX_BYTES },
	{ "rep_bytes", JM_UINT, AT(rep_bytes), .min = PMX_PAYLOAD_MIN, .max = PAYLOAD_MAX_BYTES },
	{ "streams", JM_UINT, AT(streams), .min = 1, .max = UINT16_MAX },
	{ "rate_pps", JM_DOUBLE, JM_MAX_WORD, AT(rate_pps), .max = (uint64_t)RATE_MAX_PPS },
	{ "layer", JM_UINT, AT(layer), .max = ROTATION_LAYERS_MAX - 1 },
	{ "ttl_min", JM_UINT, JM_ZERO_NULL, AT(ttl_min) },
	{ "ttl_max", JM_UINT, JM_ZERO_NULL, AT(ttl_max) },
	{ "req_mix", JM_UINT, AT(req_mix), .max = MIXES_MAX },
	{ "rep_mix", JM_UINT, AT(rep_mix), .max = MIXES_MAX },
	PER_TRIAL(struct result_flow_tx, &tx_counts_map),
};
#undef AT
static const struct jm_map tx_map = JM_MAP(tx_row, struct result_flow_tx);

#define AT(member) JM_AT(struct result_flow_rx, member)
static const struct jm_row rx_row[] = {
	{ "peer", JM_STRING, AT(peer), .min = 1 },
	{ "req_bytes", JM_UINT, AT(req_bytes), .min = PMX_PAYLOAD_MIN, .max = PAYLOAD_MAX_BYTES },
	{ "rep_bytes", JM_UINT, AT(rep_bytes), .min = PMX_PAYLOAD_MIN, .max = PAYLOAD_MAX_BYTES },
	{ "layer", JM_UINT, AT(layer), .max = ROTATION_LAYERS_MAX - 1 },
	{ "ttl_min", JM_UINT, JM_ZERO_NULL, AT(ttl_min) },
	{ "ttl_max", JM_UINT, JM_ZERO_NULL, AT(ttl_max) },
	{ "req_mix", JM_UINT, AT(req_mix), .max = MIXES_MAX },
	{ "rep_mix", JM_UINT, AT(rep_mix), .max = MIXES_MAX },
	PER_TRIAL(struct result_flow_rx, &rx_counts_map),
};
#undef AT
static const struct jm_map rx_map = JM_MAP(rx_row, struct result_flow_rx);

static const struct jm_row queue_row[] = {
	PER_TRIAL(struct result_queue, &queue_counts_map),
};
static const struct jm_map queue_map = JM_MAP(queue_row, struct result_queue);

#define AT(member) JM_AT(struct result, member)
#define COUNT(member) .count = offsetof(struct result, member)
// `trials` stands before what has an element for each.
static const struct jm_row result_row[] = {
	{ "version", JM_FIXED, .min = RESULT_VERSION },
	{ "host", JM_STRING, AT(host), .min = 1 },
	{ "run_id", JM_STRING, AT(run_id), .min = 1 },
	{ "pmx_version", JM_STRING, AT(pmx_version) },
	{ "dpdk_version", JM_STRING, AT(dpdk_version) },
	{ "state", JM_STRING, AT(state), .min = 1 },
	{ "ended_by", JM_STRING, AT(ended_by) },
	{ "driver", JM_STRING, AT(driver) },
	{ "mac", JM_STRING, AT(mac) },
	{ "steering", JM_ENUM, AT(steering), .name = steering_name, .names = STEERINGS },
	{ "steered", JM_BOOL, AT(steered) },
	{ "steering_why", JM_STRING, JM_TEXT, AT(steering_why) },
	{ "tsc_hz", JM_DOUBLE, AT(tsc_hz), .max = 1000000000000 },
	{ "layers", JM_UINT, AT(rotation.layers), .max = ROTATION_LAYERS_MAX },
	{ "dwell_ns", JM_UINT, AT(rotation.dwell_ns) },
	{ "trials", JM_ARRAY, AT(trial), .map = &trial_map, COUNT(trial_count),
	  .max = PMX_TRIALS_MAX },
	{ "mixes", JM_ARRAY, AT(mix), .map = &size_mix_map, COUNT(mix_count), .max = MIXES_MAX },
	{ "tx", JM_ARRAY, AT(tx), .map = &tx_map, COUNT(tx_count), .max = FLOWS_MAX },
	{ "rx", JM_ARRAY, AT(rx), .map = &rx_map, COUNT(rx_count), .max = FLOWS_MAX },
	{ "queues", JM_ARRAY, AT(queue), .map = &queue_map, COUNT(queue_count), .max = LCORES_MAX },
	{ "drop", JM_NAMED, JM_UNKNOWN_NULL, AT(drop), .name = drop_reason_name,
	  .names = DROP_REASONS },
	{ "port", JM_OBJECT, AT(port), .map = &port_map },
	{ "lateness", JM_CODEC, AT(lateness), .codec = &hist_codec },
	{ "cpu_pct", JM_DOUBLE, JM_UNKNOWN_NULL, AT(cpu_pct), .max = 1000000 },
	{ "cpu_max_pct", JM_DOUBLE, JM_UNKNOWN_NULL, AT(cpu_max_pct), .max = 1000000 },
	{ "agent_cpu_pct", JM_DOUBLE, JM_UNKNOWN_NULL, AT(agent_cpu_pct), .max = 1000000 },
	{ "cpus", JM_UINT, JM_ZERO_NULL, AT(cpus), .max = UINT16_MAX },
	{ "icmp", JM_OBJECT, AT(icmp), .map = &icmp_map },
	{ "hops", JM_ARRAY, AT(hop), .map = &hop_map, COUNT(hop_count), .max = 2 * FLOWS_MAX },
};
#undef COUNT
#undef AT
static const struct jm_map result_map = JM_MAP(result_row, struct result);

// calloc() of none may be NULL, which would look like no memory.
static void *array(size_t n, size_t size, bool *failed)
{
	void *p = n > 0 && n <= SIZE_MAX / size ? calloc(n, size) : NULL;

	*failed |= n > 0 && p == NULL;
	return p;
}

int result_alloc(struct result *r, size_t trials, size_t tx, size_t rx, size_t queues)
{
	bool failed = false;

	*r = (struct result){
		.trial_count = trials,
		.trial = array(trials, sizeof(*r->trial), &failed),
		.tx_count = tx,
		.tx = array(tx, sizeof(*r->tx), &failed),
		.rx_count = rx,
		.rx = array(rx, sizeof(*r->rx), &failed),
		.queue_count = queues,
		.queue = array(queues, sizeof(*r->queue), &failed),
		.cpu_pct = -1,
		.cpu_max_pct = -1,
		.agent_cpu_pct = -1,
	};
	memset(&r->port, 0xff, sizeof(r->port)); // COUNTER_UNKNOWN
	for (size_t i = 0; !failed && i < tx; i++)
		r->tx[i].trial = array(trials, sizeof(*r->tx[i].trial), &failed);
	for (size_t i = 0; !failed && i < rx; i++)
		r->rx[i].trial = array(trials, sizeof(*r->rx[i].trial), &failed);
	for (size_t i = 0; !failed && i < queues; i++)
		r->queue[i].trial = array(trials, sizeof(*r->queue[i].trial), &failed);
	if (failed) {
		result_free(r);
		return -ENOMEM;
	}
	return 0;
}

uint32_t result_sizes(const struct result *r, uint32_t req_mix, uint32_t rep_mix)
{
	return (req_mix > 0 ? (uint32_t)mix_size_count(&r->mix[req_mix - 1]) : 0) +
	       (rep_mix > 0 ? (uint32_t)mix_size_count(&r->mix[rep_mix - 1]) : 0);
}

struct mix_pair { // of the flow before: mostly all have the same
	uint32_t req, rep, sizes;
};

static int check_flow(const struct result *r, const char *dir, size_t i, uint32_t req_mix,
		      uint32_t rep_mix, struct mix_pair *at, struct err *e)
{
	uint32_t mix = req_mix > rep_mix ? req_mix : rep_mix;

	if (mix > r->mix_count)
		return err_set(e, EINVAL, "$.%s[%zu]: mix %u: expected at most %zu, as mixes", dir,
			       i, mix, r->mix_count);
	if (req_mix != at->req || rep_mix != at->rep)
		*at = (struct mix_pair){ req_mix, rep_mix, result_sizes(r, req_mix, rep_mix) };
	return 0;
}

static int check_by_size(const char *dir, size_t i, const struct uints *u, uint32_t sizes,
			 struct err *e)
{
	if (u == NULL || (sizes > 0 && u->count == 2 * sizes))
		return 0;
	return err_set(e, EINVAL, "$.%s[%zu]: by_size of %u: expected null or %u", dir, i, u->count,
		       2 * sizes);
}

// What no single field can tell.
static int check(const struct result *r, struct err *e)
{
	struct mix_pair mix = { 0 };
	int ret = 0;

	if (!rotation_ok(&r->rotation))
		return err_set(e, EINVAL, "$.dwell_ns: %" PRIu64 ": does not go with %u layers",
			       r->rotation.dwell_ns, r->rotation.layers);
	for (size_t i = 0; i < r->mix_count; i++)
		if (mix_check(&r->mix[i], e) < 0)
			return e == NULL ? -EINVAL : err_wrap(e, "$.mixes[%zu]", i);
	for (size_t i = 0; ret == 0 && i < r->tx_count; i++) {
		ret = check_flow(r, "tx", i, r->tx[i].req_mix, r->tx[i].rep_mix, &mix, e);
		for (size_t t = 0; ret == 0 && t < r->trial_count; t++)
			ret = check_by_size("tx", i, r->tx[i].trial[t].by_size, mix.sizes, e);
	}
	for (size_t i = 0; ret == 0 && i < r->rx_count; i++) {
		ret = check_flow(r, "rx", i, r->rx[i].req_mix, r->rx[i].rep_mix, &mix, e);
		for (size_t t = 0; ret == 0 && t < r->trial_count; t++)
			ret = check_by_size("rx", i, r->rx[i].trial[t].by_size, mix.sizes, e);
	}
	return ret;
}

int result_read(json_t *root, struct result *r, struct err *e)
{
	int ret = jsonmap_read(&result_map, root, r, e);

	if (ret == 0) {
		ret = check(r, e);
		if (ret < 0)
			result_free(r);
	}
	return ret;
}

int result_parse(const char *name, const char *text, size_t len, struct result *r, struct err *e)
{
	json_t *root;

	// as agents write it; whatever it stumbles over, jansson takes or explains
	if (jsonmap_scan(&result_map, text, len, r) == 0) {
		if (check(r, NULL) == 0)
			return 0;
		result_free(r);
	}
	memset(r, 0, sizeof(*r));
	int ret = jsonmap_parse(name, text, len, &root, e);
	if (ret < 0)
		return ret;
	ret = result_read(root, r, e);
	json_decref(root);
	return ret < 0 && e != NULL ? err_wrap(e, "%s", name) : ret;
}

int result_load(const char *path, struct result *r, struct err *e)
{
	char *text;
	size_t len;

	memset(r, 0, sizeof(*r));
	int ret = jsonmap_slurp(path, RESULT_MAX_BYTES, &text, &len, e);
	if (ret < 0)
		return ret;
	ret = result_parse(path, text, len, r, e);
	free(text);
	return ret;
}

json_t *result_write(const struct result *r)
{
	return jsonmap_write(&result_map, r);
}

void result_free(struct result *r)
{
	jsonmap_release(&result_map, r);
}

uint64_t result_on_ns(const struct result *r, const struct trial *t, uint32_t layer,
		      uint64_t end_ns)
{
	if (t->start_ns == 0 || end_ns <= t->start_ns)
		return 0;
	return rotation_on_ns(&r->rotation, layer, t->rotated_ns + end_ns - t->start_ns) -
	       rotation_on_ns(&r->rotation, layer, t->rotated_ns);
}

#include "session.h"

#include "jsonmap.h"

#include <errno.h>
#include <string.h>

#define PPS_MAX UINT64_C(1000000000000)
#define SECONDS_MAX UINT64_C(1000000000)

const char *const agent_state_name[AGENT_STATES] = {
	[AGENT_INIT] = "init",	 [AGENT_LINK] = "link",	      [AGENT_READY] = "ready",
	[AGENT_ARMED] = "armed", [AGENT_RUNNING] = "running", [AGENT_DRAIN] = "drain",
	[AGENT_DONE] = "done",	 [AGENT_FAILED] = "failed",
};

#define AT(member) JM_AT(struct status, member)
static const struct jm_row status_row[] = {
	{ .key = "ok", .kind = JM_TRUE },
	{ "state", JM_ENUM, AT(state), .name = agent_state_name, .names = AGENT_STATES },
	{ "error", JM_STRING, JM_TEXT, AT(error) },
	{ "start_ns", JM_UINT, JM_ZERO_NULL, AT(start_ns) },
	{ "first_tx_ns", JM_UINT, JM_ZERO_NULL, AT(first_tx_ns) },
	{ "elapsed_s", JM_DOUBLE, JM_UNKNOWN_NULL, AT(elapsed_s), .max = SECONDS_MAX },
	{ "tx_pps", JM_DOUBLE, JM_UNKNOWN_NULL, AT(tx_pps), .max = PPS_MAX },
	{ "returned_pps", JM_DOUBLE, JM_UNKNOWN_NULL, AT(returned_pps), .max = PPS_MAX },
	{ "served_pps", JM_DOUBLE, JM_UNKNOWN_NULL, AT(served_pps), .max = PPS_MAX },
	{ "loss_pct", JM_DOUBLE, JM_UNKNOWN_NULL, AT(loss_pct), .max = 100 },
	{ "rtt_p50_us", JM_DOUBLE, JM_UNKNOWN_NULL, AT(rtt_p50_us), .max = PPS_MAX },
	{ "rtt_p99_us", JM_DOUBLE, JM_UNKNOWN_NULL, AT(rtt_p99_us), .max = PPS_MAX },
	{ "busy_pct", JM_DOUBLE, JM_UNKNOWN_NULL, AT(busy_pct), .max = 100 },
	{ "layer", JM_UINT, JM_UNKNOWN_NULL, AT(layer) },
	{ "layers", JM_UINT, JM_ZERO_NULL, AT(layers) },
	{ "silent_hop", JM_IP, JM_ZERO_NULL, AT(silent_hop) },
	{ "silent_s", JM_DOUBLE, JM_UNKNOWN_NULL, AT(silent_s), .max = SECONDS_MAX },
};
#undef AT
static const struct jm_map status_map = JM_MAP(status_row, struct status);

int status_read(json_t *root, struct status *s, struct err *e)
{
	return jsonmap_read(&status_map, root, s, e);
}

json_t *status_write(const struct status *s)
{
	return jsonmap_write(&status_map, s);
}

int agent_state_parse(const char *name, enum agent_state *out)
{
	for (unsigned i = 0; i < AGENT_STATES; i++)
		if (strcmp(name, agent_state_name[i]) == 0) {
			*out = (enum agent_state)i;
			return 0;
		}
	return -EINVAL;
}

#include "telemetry.h"

#include "agent.h"
#include "collect.h"

#include "parse.h"

#include <rte_eal.h>
#include <rte_log.h>
#include <rte_telemetry.h>
#include <rte_version.h>

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define NAME_BYTES 64
#define PAGE_FLOWS 128 // of a list: 16 KB is the most that DPDK sends
#define END_TRIES 200
#define END_TRY_NS 10000000
#define SETTLE_TRIES 2000
#define SETTLE_TRY_NS 1000000

// DPDK's callbacks have no argument that we could give them. Set by the main thread.
static struct agent *_Atomic served;

// --- JSON to telemetry: names and order are the result's own

// Flat, as every version of DPDK takes it: {"rtt": {"count": 1}} is rtt_count. What is null is
// unknown and left out; lists have no place here. There are no fractions in telemetry: text.
static void put_object(struct rte_tel_data *d, const char *prefix, json_t *object)
{
	const char *key;
	json_t *v;
	json_object_foreach (object, key, v) {
		char name[NAME_BYTES], text[32];
		snprintf(name, sizeof(name), "%s%s", prefix, key);
		if (json_is_integer(v)) {
			rte_tel_data_add_dict_u64(d, name, (uint64_t)json_integer_value(v));
		} else if (json_is_string(v)) {
			rte_tel_data_add_dict_string(d, name, json_string_value(v));
		} else if (json_is_real(v)) {
			snprintf(text, sizeof(text), "%.15g", json_real_value(v));
			rte_tel_data_add_dict_string(d, name, text);
		} else if (json_is_object(v)) {
			strncat(name, "_", sizeof(name) - strlen(name) - 1);
			put_object(d, name, v);
		}
	}
}

// Elements of `trials`: the measured one as it is, what stood before it with its kind in front.
static void put_trials(struct rte_tel_data *d, json_t *root, json_t *trials)
{
	json_t *kinds = json_object_get(root, "trials");
	size_t i, last = json_array_size(trials) - 1;
	json_t *trial;
	json_array_foreach (trials, i, trial) {
		json_t *kind = json_object_get(json_array_get(kinds, i), "kind");
		char prefix[NAME_BYTES] = "";
		if (i < last)
			snprintf(prefix, sizeof(prefix), "%s_", json_string_value(kind));
		put_object(d, prefix, trial);
	}
}

static const struct {
	const char *name;
	double percent;
} percentile[] = { { "p50", 50 }, { "p99", 99 }, { "p999", 99.9 } };
#define PERCENTILES (sizeof(percentile) / sizeof(percentile[0]))

static void put_percentile(struct rte_tel_data *d, const char *of, size_t which, double ns)
{
	char name[NAME_BYTES];
	snprintf(name, sizeof(name), "%s%s_ns", of, percentile[which].name);
	if (ns >= 0)
		rte_tel_data_add_dict_u64(d, name, (uint64_t)(ns + 0.5));
}

static void put_percentiles(struct rte_tel_data *d, const char *of, const struct hist *h)
{
	for (size_t i = 0; h != NULL && i < PERCENTILES; i++)
		put_percentile(d, of, i, hist_percentile_ns(h, percentile[i].percent));
}

static void put_packed(struct rte_tel_data *d, const char *of, const struct hist_packed *h)
{
	for (size_t i = 0; h != NULL && i < PERCENTILES; i++)
		put_percentile(d, of, i, hist_packed_percentile_ns(h, percentile[i].percent));
}

// --- what is asked for

// The final result, once there is one; the caller frees it.
static int take(const struct agent *a, uint32_t rtt_of, struct result *r)
{
	struct err e = { 0 };
	*r = (struct result){ 0 };
	return a->result != NULL ? result_read(a->result, r, &e) : collect(a, rtt_of, r);
}

static int read_id(const char *param, size_t count, size_t *id)
{
	struct err e = { 0 };
	uint64_t v;
	if (param == NULL || count == 0 || parse_u64(param, 0, count - 1, &v, &e) != 0)
		return -EINVAL;
	*id = (size_t)v;
	return 0;
}

static int tell_info(struct agent *a, const char *param, struct rte_tel_data *d)
{
	(void)param;
	char mac[18];
	rte_ether_format_addr(mac, sizeof(mac), &a->port.mac);
	rte_tel_data_start_dict(d);
	rte_tel_data_add_dict_string(d, "host", a->cfg.host);
	rte_tel_data_add_dict_string(d, "run_id", a->cfg.run_id);
	rte_tel_data_add_dict_string(d, "pmx_version", PMX_VERSION);
	rte_tel_data_add_dict_string(d, "dpdk_version", rte_version());
	rte_tel_data_add_dict_string(d, "driver", a->port.driver);
	rte_tel_data_add_dict_string(d, "mac", mac);
	rte_tel_data_add_dict_u64(d, "port", a->port.id);
	rte_tel_data_add_dict_u64(d, "queues", a->cfg.port.queues);
	rte_tel_data_add_dict_u64(d, "tx_flows", a->cfg.tx_count);
	rte_tel_data_add_dict_u64(d, "rx_flows", a->cfg.rx_count);
	return 0;
}

static int tell_status(struct agent *a, const char *param, struct rte_tel_data *d)
{
	(void)param;
	struct status s;
	agent_status(a, &s, clock_now_ns());
	json_t *root = status_write(&s);
	rte_tel_data_start_dict(d);
	put_object(d, "", root);
	if (a->state == AGENT_DONE)
		rte_tel_data_add_dict_string(d, "ended_by", a->ended_by);
	json_decref(root);
	return 0;
}

static int tell_queues(struct agent *a, const char *param, struct rte_tel_data *d)
{
	(void)param;
	rte_tel_data_start_array(d, RTE_TEL_INT_VAL);
	for (int q = 0; q < a->cfg.port.queues; q++)
		rte_tel_data_add_array_int(d, q);
	return 0;
}

static int tell_queue(struct agent *a, const char *param, struct rte_tel_data *d)
{
	struct result r;
	size_t id;
	if (read_id(param, a->cfg.port.queues, &id) != 0 || take(a, COLLECT_NONE, &r) != 0)
		return -1;
	struct result one = r;
	one.tx_count = one.rx_count = 0;
	json_t *root = result_write(&one);
	json_t *row = json_array_get(json_object_get(root, "queues"), id);
	rte_tel_data_start_dict(d);
	put_trials(d, root, json_object_get(row, "trials"));
	json_decref(root);
	result_free(&r);
	return 0;
}

// The flows that are sent first, then those that are answered.
static int tell_flows(struct agent *a, const char *param, struct rte_tel_data *d)
{
	size_t tx = a->cfg.tx_count, count = tx + a->cfg.rx_count, first = 0;
	if (param != NULL && read_id(param, count, &first) != 0)
		return -1;
	rte_tel_data_start_dict(d);
	for (size_t i = first; i < count && i < first + PAGE_FLOWS; i++) {
		char id[24], text[NAME_MAX_BYTES + 4];
		snprintf(id, sizeof(id), "%zu", i);
		snprintf(text, sizeof(text), "%s %s", i < tx ? "tx" : "rx",
			 i < tx ? a->cfg.tx[i].peer : a->cfg.rx[i - tx].peer);
		rte_tel_data_add_dict_string(d, id, text);
	}
	return 0;
}

static int tell_flow(struct agent *a, const char *param, struct rte_tel_data *d)
{
	struct result r;
	size_t id, tx = a->cfg.tx_count;
	if (read_id(param, tx + a->cfg.rx_count, &id) != 0 ||
	    take(a, id < tx ? (uint32_t)id : COLLECT_NONE, &r) != 0)
		return -1;
	struct result one = r; // of one flow
	one.tx_count = id < tx;
	one.rx_count = id >= tx;
	one.tx = id < tx ? &r.tx[id] : NULL;
	one.rx = id < tx ? NULL : &r.rx[id - tx];
	json_t *root = result_write(&one);
	const char *dir = id < tx ? "tx" : "rx";
	json_t *row = json_array_get(json_object_get(root, dir), 0);
	rte_tel_data_start_dict(d);
	rte_tel_data_add_dict_string(d, "dir", dir);
	put_object(d, "", row);
	put_trials(d, root, json_object_get(row, "trials"));
	if (id < tx && r.trial_count > 0)
		put_packed(d, "rtt_", r.tx[id].trial[r.trial_count - 1].rtt);
	json_decref(root);
	result_free(&r);
	return 0;
}

// One object of the result that has nothing to do with flows.
static int tell_part(struct agent *a, const char *part, const char *prefix, bool hist,
		     struct rte_tel_data *d)
{
	struct result r;
	if (take(a, COLLECT_NONE, &r) != 0)
		return -1;
	struct result one = r;
	one.tx_count = one.rx_count = one.queue_count = 0;
	json_t *root = result_write(&one);
	rte_tel_data_start_dict(d);
	put_object(d, prefix, json_object_get(root, part));
	if (hist)
		put_percentiles(d, prefix, r.lateness);
	json_decref(root);
	result_free(&r);
	return 0;
}

static int tell_drops(struct agent *a, const char *param, struct rte_tel_data *d)
{
	(void)param;
	return tell_part(a, "drop", "", false, d);
}

static int tell_port(struct agent *a, const char *param, struct rte_tel_data *d)
{
	(void)param;
	return tell_part(a, "port", "", false, d);
}

static int tell_lateness(struct agent *a, const char *param, struct rte_tel_data *d)
{
	(void)param;
	return tell_part(a, "lateness", "", true, d);
}

static const struct {
	const char *name;
	int (*tell)(struct agent *a, const char *param, struct rte_tel_data *d);
	const char *help; // under 64 bytes
} commands[] = {
	{ "/pmx/info", tell_info, "Returns host, run, versions, port. No parameters" },
	{ "/pmx/status", tell_status, "Returns state and live rates. No parameters" },
	{ "/pmx/queues", tell_queues, "Returns the queue ids. No parameters" },
	{ "/pmx/queue", tell_queue, "Returns a queue's counters. Parameters: int queue_id" },
	{ "/pmx/flows", tell_flows, "Returns flows by id, 128 of them. Parameters: int first_id" },
	{ "/pmx/flow", tell_flow, "Returns counters of a flow, RTT. Parameters: int flow_id" },
	{ "/pmx/drops", tell_drops, "Returns frames of none of the run. No parameters" },
	{ "/pmx/port", tell_port, "Returns counters of the port. No parameters" },
	{ "/pmx/lateness", tell_lateness, "Returns requests against schedule. No parameters" },
};
#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

// In DPDK's thread.
static int on_command(const char *cmd, const char *param, struct rte_tel_data *d)
{
	struct agent *a = atomic_load(&served);
	int r = -1;
	if (a == NULL)
		return -1;
	pthread_mutex_lock(&a->lock);
	bool open = atomic_load(&served) != NULL;
	for (size_t i = 0; open && i < COMMANDS; i++) {
		if (strcmp(cmd, commands[i].name) == 0)
			r = commands[i].tell(a, param, d);
	}
	pthread_mutex_unlock(&a->lock);
	return r;
}

void telemetry_open(struct agent *a)
{
	atomic_store(&served, a);
	for (size_t i = 0; i < COMMANDS; i++)
		rte_telemetry_register_cmd(commands[i].name, on_command, commands[i].help);
}

// --- the end: DPDK has no call for it

// Wakes whoever waits on a socket in EAL's runtime directory, the listener and all connections.
static void shut_sockets(void)
{
	const char *dir = rte_eal_get_runtime_dir();
	DIR *d = opendir("/proc/self/fd");
	if (d == NULL)
		return;
	for (struct dirent *n; (n = readdir(d)) != NULL;) {
		struct sockaddr_un name = { 0 };
		socklen_t len = sizeof(name) - 1;
		int fd = atoi(n->d_name);
		if (getsockname(fd, (struct sockaddr *)&name, &len) == 0 &&
		    name.sun_family == AF_UNIX && strncmp(name.sun_path, dir, strlen(dir)) == 0)
			shutdown(fd, SHUT_RDWR);
	}
	closedir(d);
}

// The first line of a file of one of this process's threads. "" = there is none.
static void thread_line(const char *tid, const char *file, char line[NAME_BYTES])
{
	char path[300];
	snprintf(path, sizeof(path), "/proc/self/task/%s/%s", tid, file);
	FILE *f = fopen(path, "re");
	line[0] = '\0';
	if (f == NULL)
		return;
	if (fgets(line, NAME_BYTES, f) == NULL)
		line[0] = '\0';
	fclose(f);
}

// Waits for a connection or for a command, or the kernel does not tell.
static bool at_rest(const char *tid)
{
	char line[NAME_BYTES], *end;
	thread_line(tid, "syscall", line); // its number, "running", or -1 in none
	long call = strtol(line, &end, 10);
	if (line[0] == '\0')
		return true;
	return end != line && (call == SYS_accept || call == SYS_accept4 || call == SYS_read);
}

// Threads of connections have the name of the listener, which made them.
static size_t threads(bool busy_only)
{
	size_t count = 0;
	DIR *d = opendir("/proc/self/task");
	if (d == NULL)
		return 0;
	for (struct dirent *n; (n = readdir(d)) != NULL;) {
		char name[NAME_BYTES];
		thread_line(n->d_name, "comm", name);
		if (strncmp(name, "telemetry-v", 11) == 0)
			count += !busy_only || !at_rest(n->d_name);
	}
	closedir(d);
	return count;
}

void telemetry_settle(void)
{
	const struct timespec wait = { .tv_nsec = SETTLE_TRY_NS };
	for (int i = 0; i < SETTLE_TRIES && threads(true) > 0; i++)
		nanosleep(&wait, NULL);
}

void telemetry_close(struct agent *a)
{
	const struct timespec wait = { .tv_nsec = END_TRY_NS };
	atomic_store(&served, NULL);
	rte_log_set_level_pattern("lib.telemetry", RTE_LOG_CRIT); // that its listener ends
	pthread_mutex_unlock(&a->lock);
	// again and again: one may just have been accepted
	for (int i = 0; i < END_TRIES && threads(false) > 0; i++) {
		shut_sockets();
		nanosleep(&wait, NULL);
	}
	pthread_mutex_lock(&a->lock);
}

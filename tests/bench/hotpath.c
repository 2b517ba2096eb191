// The agent's loop over net_null on pinned cores, driven line by line:
//
//   hotpath DIR WORK [key=value...]    WORK: request reply turn both
//       cpu=1[,0...] streams=1024 flows=1 payload=18 rate=PPS seconds=3600 stamp=each hugepages=no
//   run S      worker_run for S seconds; packets a second of CPU time, offering taken out
//   count N    the same until N packets, for a profiler
//   phases S   its loop with the TSC read in between; cycles a packet
//   pace R     one paced trial, its rate and lateness: see paced.h; R = recovery from a stall
//   late R     its lateness alone
//
// Every answer is one line of JSON. Between lines it uses no CPU. Ends with its input.
#include "lane.h"
#include "paced.h"
#include "rig.h"

#include <rte_cycles.h>
#include <rte_launch.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void nap(double seconds)
{
	struct timespec t = { .tv_sec = (time_t)seconds,
			      .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9) };
	nanosleep(&t, NULL);
}

static void lanes_start(struct rig *r, struct lane *lane, int (*run)(void *))
{
	atomic_store(&r->shared.quit, false);
	for (uint16_t q = 0; q < r->cfg.port.queues; q++) {
		lane[q] = (struct lane){ .q = r->queue[q], .offer = r->offer[q] };
		rte_eal_remote_launch(run, &lane[q], q + 1u);
	}
}

static void lanes_stop(struct rig *r)
{
	atomic_store(&r->shared.quit, true);
	rte_eal_mp_wait_lcore();
}

static void answer_run(const struct rig *r, const struct lane *lane)
{
	struct lane sum = { 0 };
	double pps = 0;
	for (uint16_t q = 0; q < r->cfg.port.queues; q++) {
		const struct lane *l = &lane[q];
		pps += lane_packets(l) / (l->cpu_s - l->offer_s);
		sum.requests += l->requests;
		sum.replies += l->replies;
		sum.answers += l->answers;
		sum.cpu_s += l->cpu_s;
		sum.wall_s += l->wall_s;
		sum.offer_s += l->offer_s;
		sum.alloc_cycles += l->alloc_cycles / r->cfg.port.queues;
	}
	printf("{\"pps\":%.1f,\"cycles\":%.2f,\"requests\":%.0f,\"replies\":%.0f,\"answers\":%.0f,"
	       "\"cpu_s\":%.6f,\"wall_s\":%.6f,\"offer_s\":%.6f,\"alloc_cycles\":%.2f,"
	       "\"strays\":%llu}\n",
	       pps, r->clock.tsc_hz * r->cfg.port.queues / pps, sum.requests, sum.replies,
	       sum.answers, sum.cpu_s, sum.wall_s, sum.offer_s, sum.alloc_cycles,
	       (unsigned long long)rig_strays(r));
}

static void cmd_run(struct rig *r, double seconds)
{
	struct lane lane[LCORES_MAX];
	lanes_start(r, lane, lane_run);
	nap(seconds);
	lanes_stop(r);
	answer_run(r, lane);
}

static void cmd_count(struct rig *r, double packets)
{
	struct lane lane[LCORES_MAX];
	double end = lane_now(r->queue[0]) + packets;
	lanes_start(r, lane, lane_run);
	while (lane_now(r->queue[0]) < end)
		nap(0.001);
	lanes_stop(r);
	answer_run(r, lane);
}

static void cmd_phases(struct rig *r, double seconds)
{
	struct lane lane[LCORES_MAX];
	lanes_start(r, lane, lane_run); // takes the MACs, opens the trial
	nap(0.005);
	lanes_stop(r);
	lanes_start(r, lane, lane_phases);
	nap(seconds);
	lanes_stop(r);
	double n = lane_packets(&lane[0]);
	printf("{\"packets\":%.0f", n);
	for (int i = 0; i < LANE_PHASES; i++)
		printf(",\"%s\":%.2f", lane_phase_name[i], (double)lane[0].phase[i] / n);
	printf("}\n");
}

static void serve(struct rig *r, const struct rig_opts *o)
{
	char line[128], word[16];
	double value;
	if (o->rate_pps == RATE_UNPACED)
		rig_arm(r, o, rte_rdtsc());
	printf("{\"ready\":true,\"tsc_hz\":%.1f}\n", r->clock.tsc_hz);
	while (fflush(stdout) == 0 && fgets(line, sizeof(line), stdin) != NULL) {
		if (sscanf(line, "%15s %lf", word, &value) != 2)
			word[0] = '\0';
		if (strcmp(word, "run") == 0)
			cmd_run(r, value);
		else if (strcmp(word, "count") == 0)
			cmd_count(r, value);
		else if (strcmp(word, "phases") == 0)
			cmd_phases(r, value);
		else if (strcmp(word, "pace") == 0)
			paced_run(r, o, value, true);
		else if (strcmp(word, "late") == 0)
			paced_run(r, o, value, false);
		else
			printf("{\"error\":\"unknown command\"}\n");
	}
}

static bool take_cpus(struct rig_opts *o, const char *s)
{
	char *end;
	for (o->queues = 0; o->queues < LCORES_MAX; s = end + 1) {
		o->cpu[o->queues++] = (uint16_t)strtoul(s, &end, 10);
		if (end == s || *end != ',')
			return end != s && *end == '\0';
	}
	return false;
}

static bool take_option(struct rig_opts *o, const char *s)
{
	const char *value = strchr(s, '=');
	size_t key = value != NULL ? (size_t)(value++ - s) : 0;
	if (key == 3 && memcmp(s, "cpu", key) == 0)
		return take_cpus(o, value);
	if (key == 7 && memcmp(s, "streams", key) == 0)
		return (o->streams = (uint32_t)strtoul(value, NULL, 10)) > 0;
	if (key == 5 && memcmp(s, "flows", key) == 0)
		return (o->flows = (uint32_t)strtoul(value, NULL, 10)) > 0;
	if (key == 7 && memcmp(s, "payload", key) == 0)
		return (o->payload_bytes = (uint32_t)strtoul(value, NULL, 10)) >= PMX_PAYLOAD_MIN;
	if (key == 4 && memcmp(s, "rate", key) == 0)
		return (o->rate_pps = strtod(value, NULL)) > 0;
	if (key == 7 && memcmp(s, "seconds", key) == 0)
		return (o->seconds = strtod(value, NULL)) > 0;
	if (strcmp(s, "stamp=each") == 0)
		return o->stamp_each = true;
	if (strcmp(s, "hugepages=no") == 0) {
		o->hugepages = HUGE_NO;
		return true;
	}
	return false;
}

static int usage(const char *what)
{
	fprintf(stderr, "hotpath: '%s': expected DIR request|reply|turn|both [key=value...]\n",
		what);
	return 2;
}

int main(int argc, char **argv)
{
	static struct rig r;
	struct err e = { 0 };
	struct rig_opts o = {
		.work = RIG_WORKS,
		.streams = 1024,
		.flows = 1,
		.payload_bytes = PMX_PAYLOAD_MIN,
		.rate_pps = RATE_UNPACED,
		.seconds = 3600,
		.queues = 1,
		.cpu = { 1 },
	};
	for (int w = 0; argc > 2 && w < RIG_WORKS; w++) {
		if (strcmp(argv[2], rig_work_name[w]) == 0)
			o.work = (enum rig_work)w;
	}
	if (o.work == RIG_WORKS)
		return usage(argc > 2 ? argv[2] : "");
	for (int i = 3; i < argc; i++) {
		if (!take_option(&o, argv[i]))
			return usage(argv[i]);
	}
	if (rig_open(&r, &o, argv[1], &e) != 0) {
		printf("{\"error\":\"%s\"}\n", e.msg);
		return 1;
	}
	serve(&r, &o);
	rig_close(&r);
	return 0;
}

#include "agent.h"

#include "collect.h"
#include "dwell.h"
#include "eal.h"
#include "iface.h"
#include "resume.h"
#include "steer.h"
#include "telemetry.h"
#include "worker.h"
#include "xdp.h"

#include "footprint.h"

#include <rte_eal.h>
#include <rte_launch.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define RESTART_EVERY_NS 500000000ull
#define FIRST_LEASE_NS 60000000000ull	 // pmx may still be busy with other hosts
#define UNARMED_SPARE_NS 120000000000ull // a detached agent that nobody arms ends after this

static int open_queues(struct agent *a, struct err *e)
{
	struct steer_table ports;
	int r = steer_open(&ports, &a->cfg, e);
	if (r != 0)
		return r;
	struct queue_env env = {
		.cfg = &a->cfg,
		.shared = &a->shared,
		.port = a->port.id,
		.socket = a->port.socket,
		.rxd = a->port.rxd,
		.txd = a->port.txd,
		.data_room = footprint_data_room(a->cfg.port.mtu),
		.csum_hw = a->port.csum_hw,
		.multi_segs = a->port.multi_segs,
		.fragment_id = (uint32_t)rte_rdtsc(), // a resumed run's are not those of before
		.mac = a->port.mac,
		.tx_port = ports.tx,
		.rx_port = ports.rx,
	};
	bool windowed = false;
	for (uint16_t q = 0; r == 0 && q < a->cfg.port.queues; q++) {
		a->shared.queue[q] = a->queue[q] = queue_create(&env, q, e);
		r = a->queue[q] == NULL ? -ENOMEM : 0;
		windowed |= r == 0 && a->queue[q]->window.group_count > 0;
	}
	steer_close(&ports);
	for (uint16_t q = 0; r == 0 && q < a->cfg.port.queues; q++)
		a->queue[q]->windowed = windowed;
	return r;
}

static int start_port(struct agent *a, struct err *e)
{
	const char *iface = a->cfg.port.all_queues_of;
	bool was_free = iface[0] != '\0' && iface_xdp(iface) == 0;
	int r = port_start(&a->port, &a->cfg, a->queue, e);
	if (was_free)
		xdp_note(iface);
	return r;
}

int agent_open(struct agent *a, const char *dir, struct err *e)
{
	int r = hostcfg_load(SESSION_CONFIG, &a->cfg, e);
	if (r != 0)
		return r;
	if ((r = eal_choose_cpus(&a->cfg, a->cpu, e)) != 0 ||
	    (r = eal_start(&a->cfg, dir, a->cpu, e)) != 0)
		return r;
	telemetry_settle();
	clock_start(&a->clock);
	if ((r = port_open(&a->port, &a->cfg, e)) != 0 || (r = open_queues(a, e)) != 0 ||
	    (r = start_port(a, e)) != 0 ||
	    (r = neigh_open(&a->neigh, &a->cfg, &a->shared, &a->port.mac, a->queue, e)) != 0 ||
	    (r = resume_read(&a->cfg, a->queue, e)) != 0 ||
	    (r = sample_open(&a->sampler, &a->cfg, a->queue, e)) != 0)
		return r;
	a->state = AGENT_LINK;
	a->link_ns = clock_now_ns();
	a->restart_ns = a->link_ns + RESTART_EVERY_NS;
	agent_renew(a, a->link_ns);
	if (a->lease_ns != 0 && a->lease_ns < a->link_ns + FIRST_LEASE_NS)
		a->lease_ns = a->link_ns + FIRST_LEASE_NS;
	telemetry_open(a);
	return 0;
}

void agent_renew(struct agent *a, uint64_t now_ns)
{
	a->lease_ns = a->cfg.lease_ns > 0 ? now_ns + a->cfg.lease_ns : 0;
}

static void launch(struct agent *a)
{
	for (uint16_t q = 0; q < a->cfg.port.queues; q++)
		rte_eal_remote_launch(worker_run, a->queue[q], q + 1u);
	a->launched = true;
}

// Waits for the link, then for the neighbours.
static void tick_link(struct agent *a, uint64_t now_ns)
{
	struct err e = { 0 };
	if (!a->launched && !port_link_up(&a->port)) {
		snprintf(a->error, sizeof(a->error), "the link of %s is down", a->port.driver);
		if (!a->cfg.port.restart_until_link || now_ns < a->restart_ns)
			return;
		a->restart_ns = now_ns + RESTART_EVERY_NS;
		if (port_restart(&a->port, &e) != 0)
			snprintf(a->error, sizeof(a->error), "%s", e.msg);
		return;
	}
	if (!a->launched)
		launch(a);
	if (neigh_complete(&a->neigh)) {
		a->error[0] = '\0';
		a->state = AGENT_READY;
		return;
	}
	char missing[ERR_MAX / 2];
	neigh_missing(&a->neigh, missing, sizeof(missing));
	if (ip_is4(&a->cfg.addr))
		snprintf(a->error, sizeof(a->error), "no answer to ARP from %s", missing);
	else
		snprintf(a->error, sizeof(a->error), "no answer to neighbour solicitations from %s",
			 missing);
}

static bool all_closed(const struct agent *a)
{
	for (uint16_t q = 0; q < a->cfg.port.queues; q++) {
		if (atomic_load_explicit(&a->queue[q]->closed_trials, memory_order_acquire) <
		    a->queue[q]->trial_count)
			return false;
	}
	return true;
}

// Temporary name, then rename: a reader sees all or nothing.
static void write_result(const struct agent *a)
{
	const char *temp = SESSION_RESULT ".tmp";
	if (json_dump_file(a->result, temp, JSON_COMPACT) != 0 || rename(temp, SESSION_RESULT) != 0)
		fprintf(stderr, "pmx-agent: cannot write " SESSION_RESULT ": %s\n",
			strerror(errno));
}

static void finish(struct agent *a)
{
	if (!a->cpu_ended)
		cpu_read(&a->cpu_end);
	a->cpu_ended = true;
	if (a->ended_by[0] == '\0')
		snprintf(a->ended_by, sizeof(a->ended_by), "plan");
	a->state = AGENT_DONE;
	a->result = collect_result(a);
	if (a->result == NULL) {
		snprintf(a->error, sizeof(a->error), "no memory for the result");
		a->state = AGENT_FAILED;
		return;
	}
	if (strcmp(a->ended_by, SESSION_RELOAD) == 0)
		resume_write(&a->cfg, a->queue);
	write_result(a);
}

static void tick_run(struct agent *a, uint64_t now_ns)
{
	if (a->state == AGENT_ARMED && now_ns >= a->start_ns)
		a->state = AGENT_RUNNING;
	if (!a->cpu_started && now_ns >= a->window_ns) {
		cpu_read(&a->cpu_start);
		a->cpu_started = true;
	}
	if (now_ns >= a->end_ns) {
		a->state = AGENT_DRAIN;
		if (!a->cpu_ended)
			cpu_read(&a->cpu_end);
		a->cpu_ended = true;
	}
	sample_tick(&a->sampler, a, now_ns);
	if (all_closed(a))
		finish(a);
}

static void check_lease(struct agent *a, uint64_t now_ns)
{
	bool unarmed = a->state == AGENT_LINK || a->state == AGENT_READY;
	if (a->lease_ns != 0 && now_ns > a->lease_ns) {
		if (!a->quit)
			fprintf(stderr, "pmx-agent: nobody renewed the lease of %.3g s: ending\n",
				(double)a->cfg.lease_ns / 1e9);
		agent_stop(a, 0, "lease", now_ns);
		a->quit = true;
	} else if (a->lease_ns == 0 && unarmed &&
		   now_ns > a->link_ns + a->cfg.resolve_ns + UNARMED_SPARE_NS) {
		agent_stop(a, 0, "unarmed", now_ns);
		a->quit = true;
	} else if (a->lease_ns == 0 && a->state == AGENT_DONE) {
		a->quit = true; // detached: the result is on disk
	}
}

bool agent_tick(struct agent *a, uint64_t now_ns)
{
	check_lease(a, now_ns);
	if (a->launched && a->state < AGENT_DONE)
		neigh_poll(&a->neigh, now_ns);
	else if (a->launched) // the port's counters are in the result
		neigh_answer(&a->neigh, now_ns);
	switch (a->state) {
	case AGENT_LINK:
		tick_link(a, now_ns);
		break;
	case AGENT_ARMED:
	case AGENT_RUNNING:
	case AGENT_DRAIN:
		tick_run(a, now_ns);
		break;
	case AGENT_FAILED:
	case AGENT_DONE:
		return !a->quit;
	default:
		break;
	}
	return true;
}

int agent_arm(struct agent *a, uint64_t start_ns, uint64_t elapsed_ns, uint64_t now_ns,
	      struct err *e)
{
	uint64_t warmup_ns = a->cfg.warmup_ns > elapsed_ns ? a->cfg.warmup_ns - elapsed_ns : 0;
	if (a->state != AGENT_READY)
		return err_set(e, EINVAL, "cannot be armed in state %s",
			       agent_state_name[a->state]);
	if (start_ns < now_ns)
		return err_set(e, EINVAL, "start instant lies %.3f s in the past",
			       (double)(now_ns - start_ns) / 1e9);
	if (elapsed_ns >= a->cfg.warmup_ns + a->cfg.duration_ns)
		return err_set(e, EINVAL, "the run was over %.3f s before the start",
			       (double)(elapsed_ns - a->cfg.warmup_ns - a->cfg.duration_ns) / 1e9);
	clock_settle(&a->clock);
	uint64_t start_tsc = clock_to_tsc(&a->clock, start_ns), due = UINT64_MAX;
	for (uint16_t q = 0; q < a->cfg.port.queues; q++) {
		queue_arm(a->queue[q], &a->cfg, start_tsc, a->clock.tsc_hz);
		queue_skip(a->queue[q], (uint64_t)((double)elapsed_ns * a->clock.tsc_hz / 1e9));
		uint64_t first = dwell_first_due(a->queue[q]);
		due = first < due ? first : due;
	}
	a->first_due_ns = due != UINT64_MAX ? clock_to_ns(&a->clock, due) : 0;
	a->start_ns = start_ns;
	a->window_ns = start_ns + warmup_ns;
	a->rotated_ns = elapsed_ns > a->cfg.warmup_ns ? elapsed_ns - a->cfg.warmup_ns : 0;
	a->end_ns = start_ns + a->cfg.warmup_ns + a->cfg.duration_ns - elapsed_ns;
	a->state = AGENT_ARMED;
	atomic_store_explicit(&a->shared.armed, true, memory_order_release);
	return 0;
}

void agent_stop(struct agent *a, uint64_t at_ns, const char *why, uint64_t now_ns)
{
	if (a->state == AGENT_DONE || a->state == AGENT_FAILED)
		return;
	uint64_t at = at_ns > now_ns ? at_ns : now_ns;
	bool armed = a->state >= AGENT_ARMED;
	if (atomic_load_explicit(&a->shared.stop_tsc, memory_order_relaxed) != 0 ||
	    (armed && at >= a->end_ns)) // stopped before, or all was sent
		return;
	snprintf(a->ended_by, sizeof(a->ended_by), "%s", why);
	if (!armed) {
		finish(a);
		return;
	}
	a->end_ns = at;
	atomic_store_explicit(&a->shared.stop_tsc, clock_to_tsc(&a->clock, at),
			      memory_order_release);
}

uint64_t agent_rotated_ns(const struct agent *a, uint64_t now_ns)
{
	uint64_t at_ns = now_ns < a->end_ns ? now_ns : a->end_ns;
	return at_ns > a->window_ns ? at_ns - a->window_ns + a->rotated_ns : a->rotated_ns;
}

uint32_t agent_layer(const struct agent *a, uint64_t now_ns)
{
	return rotation_layer(&a->cfg.rotation, agent_rotated_ns(a, now_ns));
}

void agent_status(struct agent *a, struct status *s, uint64_t now_ns)
{
	uint64_t first = 0;
	for (uint16_t q = 0; q < a->cfg.port.queues && a->launched; q++) {
		uint64_t t = a->queue[q]->first_tx;
		if (t != 0 && (first == 0 || t < first))
			first = t;
	}
	*s = a->sampler.status;
	s->state = a->state;
	s->layers = a->cfg.rotation.layers;
	s->layer = UINT64_MAX;
	if (s->layers > 0 && a->state == AGENT_RUNNING)
		s->layer = agent_layer(a, now_ns);
	const struct hop *silent = neigh_silent(&a->neigh, now_ns);
	s->silent_hop = silent != NULL ? silent->addr : (struct ip_addr){ 0 };
	s->silent_s = silent != NULL ? (double)hop_silent_ns(silent, now_ns) / 1e9 : -1;
	snprintf(s->error, sizeof(s->error), "%s", a->error);
	s->start_ns = a->first_due_ns;
	s->first_tx_ns = first != 0 ? clock_to_ns(&a->clock, first) : 0;
	s->elapsed_s =
		a->start_ns != 0 && now_ns > a->start_ns ? (double)(now_ns - a->start_ns) / 1e9 : 0;
}

json_t *agent_result(struct agent *a)
{
	return a->result != NULL ? json_incref(a->result) : collect_result(a);
}

void agent_close(struct agent *a)
{
	telemetry_close(a);
	atomic_store_explicit(&a->shared.quit, true, memory_order_release);
	if (a->launched)
		rte_eal_mp_wait_lcore();
	if (a->queue[0] != NULL)
		port_close(&a->port);
	sample_close(&a->sampler);
	neigh_close(&a->neigh);
	for (uint16_t q = 0; q < a->cfg.port.queues; q++)
		queue_destroy(a->queue[q]);
	json_decref(a->result);
	rte_eal_cleanup();
	eal_remove_dir();
	hostcfg_free(&a->cfg);
}

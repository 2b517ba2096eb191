#include "mesh_run.h"

#include "sample.h"
#include "testlib.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void host_name(char *name, size_t i, size_t hosts)
{
	if (hosts <= 26)
		snprintf(name, NAME_MAX_BYTES, "%c", (char)('a' + i));
	else
		snprintf(name, NAME_MAX_BYTES, "host%04zu", i);
}

static void make_matrix(struct mesh_run *r, const struct mesh_spec *spec)
{
	struct matrix *m = &r->matrix;

	*m = (struct matrix){
		.file = "lab.yaml",
		.name = "lab",
		.transport = TRANSPORT_LOCAL,
		.host_count = spec->hosts,
		.traffic = {
			.req_bytes = 18,
			.rep_bytes = 466,
			.port = 5300,
			.streams = 1,
			.pacing = { .burst = 1 },
			.pattern = PATTERN_MESH,
			.rate = { .max = spec->pps < 0, .pps = spec->pps < 0 ? 0 : spec->pps },
		},
		.timing = {
			.warmup_ns = 1000000000,
			.duration_ns = spec->window_ns,
			.drain_ns = 1000000000,
		},
		.limits = { .loss_pct = -1, .rtt_p99_us = -1, .achieved_pct = -1 },
	};
	memset(m->sha256, 'a', sizeof(m->sha256) - 1);
	m->host = calloc(spec->hosts, sizeof(*m->host));
	assert_non_null(m->host);
	for (size_t i = 0; i < spec->hosts; i++) {
		host_name(m->host[i].name, i, spec->hosts);
		memcpy(m->host[i].machine, m->host[i].name, NAME_MAX_BYTES);
		m->host[i].first = (uint32_t)i;
		m->host[i].ports = 1;
		m->host[i].addr = IP4(0xc6120001u + (uint32_t)i);
	}
}

static void make_trials(struct result *r, uint64_t window_ns)
{
	r->trial[0] = (struct trial){
		.id = 0,
		.kind = TRIAL_WARMUP,
		.start_ns = MESH_START_NS - 1000000000u,
		.end_ns = MESH_START_NS,
		.close_ns = MESH_START_NS + 1000000000u,
	};
	r->trial[1] = (struct trial){
		.id = 1,
		.kind = TRIAL_MEASURE,
		.start_ns = MESH_START_NS,
		.end_ns = MESH_START_NS + window_ns,
		.close_ns = MESH_START_NS + window_ns + 1000000000u,
	};
}

static struct hist_packed *make_rtt(size_t src, size_t dst, uint64_t n)
{
	// nine in ten at one value, the others higher the further the hosts are apart
	return sample_packed(10000 + 100 * src, n - n / 10,
			     20000 + 1000 * ((dst + 100 - src) % 100), n / 10);
}

static void make_flow(struct mesh_run *r, size_t src, size_t dst, const struct mesh_spec *spec)
{
	double pps = spec->pps < 0 ? 123456 : spec->pps;
	uint64_t n = (uint64_t)llround(pps * (double)spec->window_ns / 1e9);
	struct result_flow_tx *tx = &r->result[src].tx[dst - (dst > src)];
	struct result_flow_rx *rx = &r->result[dst].rx[src - (src > dst)];

	memcpy(tx->peer, r->matrix.host[dst].name, NAME_MAX_BYTES);
	memcpy(rx->peer, r->matrix.host[src].name, NAME_MAX_BYTES);
	tx->req_bytes = rx->req_bytes = r->matrix.traffic.req_bytes;
	tx->rep_bytes = rx->rep_bytes = r->matrix.traffic.rep_bytes;
	tx->streams = 1;
	tx->rate_pps = spec->pps;
	tx->trial[0] = (struct tx_counts){ .sent = 777, .returned = 700, .dup = 7, .late = 7 };
	rx->trial[0] = (struct rx_counts){ .delivered = 750, .replied = 740 };
	tx->trial[1] = (struct tx_counts){ .sent = n, .returned = n };
	rx->trial[1] = (struct rx_counts){ .delivered = n, .replied = n };
	if (spec->rtt)
		tx->trial[1].rtt = make_rtt(src, dst, n);
}

static void make_result(struct mesh_run *r, size_t host, const struct mesh_spec *spec)
{
	struct result *res = &r->result[host];

	assert_int_equal(result_alloc(res, MESH_TRIALS, spec->hosts - 1, spec->hosts - 1,
				      spec->queues > 0 ? spec->queues : 1),
			 0);
	memcpy(res->host, r->matrix.host[host].name, NAME_MAX_BYTES);
	strcpy(res->run_id, "20240131-a1b2");
	strcpy(res->pmx_version, "0.1.0");
	strcpy(res->dpdk_version, "DPDK 22.11.9");
	strcpy(res->state, "done");
	strcpy(res->ended_by, "plan");
	strcpy(res->driver, "net_memif");
	snprintf(res->mac, sizeof(res->mac), "02:00:00:00:00:%02zx", host & 0xff);
	res->tsc_hz = 2445434000;
	res->cpu_pct = 40;
	res->cpu_max_pct = 97.5;
	res->agent_cpu_pct = 35.5;
	res->port.imissed = res->port.rx_nombuf = 0;
	make_trials(res, spec->window_ns);
	if (!spec->rtt)
		return;
	res->lateness = malloc(sizeof(*res->lateness));
	assert_non_null(res->lateness);
	hist_reset(res->lateness);
	hist_record_n(res->lateness, 300, 990);
	hist_record_n(res->lateness, 4000 + 1000 * host, 10);
}

void mesh_run_make(struct mesh_run *r, const struct mesh_spec *given)
{
	struct mesh_spec spec = *given;

	if (spec.window_ns == 0)
		spec.window_ns = 10000000000;
	*r = (struct mesh_run){ .hosts = spec.hosts, .skew_ns = NAN, .skew_error_ns = NAN };
	make_matrix(r, &spec);
	r->result = calloc(spec.hosts, sizeof(*r->result));
	r->given = calloc(spec.hosts, sizeof(*r->given));
	r->failure = calloc(spec.hosts, sizeof(*r->failure));
	r->now_ns = calloc(spec.hosts, sizeof(*r->now_ns));
	assert_true(r->result != NULL && r->given != NULL && r->failure != NULL &&
		    r->now_ns != NULL);
	for (size_t i = 0; i < spec.hosts; i++) {
		make_result(r, i, &spec);
		r->given[i] = &r->result[i];
	}
	for (size_t src = 0; src < spec.hosts; src++)
		for (size_t dst = 0; dst < spec.hosts; dst++)
			if (src != dst)
				make_flow(r, src, dst, &spec);
	mesh_fill_queues(r);
}

void mesh_run_free(struct mesh_run *r)
{
	for (size_t i = 0; i < r->hosts; i++)
		result_free(&r->result[i]);
	free(r->result);
	free(r->given);
	free(r->failure);
	free(r->now_ns);
	free(r->matrix.host);
	free(r->matrix.traffic.cell);
}

struct tx_counts *mesh_tx(struct mesh_run *r, size_t src, size_t dst)
{
	return &r->result[src].tx[dst - (dst > src)].trial[MESH_MEASURED];
}

struct rx_counts *mesh_rx(struct mesh_run *r, size_t src, size_t dst)
{
	return &r->result[dst].rx[src - (src > dst)].trial[MESH_MEASURED];
}

void mesh_set_rtt(struct mesh_run *r, size_t src, size_t dst, struct hist_packed *rtt)
{
	free(mesh_tx(r, src, dst)->rtt);
	mesh_tx(r, src, dst)->rtt = rtt;
}

void mesh_lose_forward(struct mesh_run *r, size_t src, size_t dst, uint64_t n)
{
	mesh_rx(r, src, dst)->delivered -= n;
	mesh_rx(r, src, dst)->replied -= n;
	mesh_tx(r, src, dst)->returned -= n;
}

void mesh_lose_back(struct mesh_run *r, size_t src, size_t dst, uint64_t n)
{
	mesh_tx(r, src, dst)->returned -= n;
}

void mesh_leave_unsent(struct mesh_run *r, size_t src, size_t dst, uint64_t n)
{
	mesh_tx(r, src, dst)->sent -= n;
	mesh_tx(r, src, dst)->unsent += n;
	mesh_lose_forward(r, src, dst, n);
}

static uint64_t share(uint64_t all, size_t parts, size_t part)
{
	return all / parts + (part < all % parts);
}

void mesh_fill_queues(struct mesh_run *r)
{
	for (size_t h = 0; h < r->hosts; h++) {
		struct result *res = &r->result[h];
		uint64_t sent = 0, back = 0, asked = 0, answered = 0, off = 0;

		for (size_t i = 0; i < res->tx_count; i++) {
			sent += res->tx[i].trial[MESH_MEASURED].sent;
			back += res->tx[i].trial[MESH_MEASURED].returned;
			off += res->tx[i].trial[MESH_MEASURED].off_queue;
			asked += res->rx[i].trial[MESH_MEASURED].delivered;
			answered += res->rx[i].trial[MESH_MEASURED].replied;
		}
		for (size_t q = 0; q < res->queue_count; q++) {
			res->queue[q].trial[0].requests_sent = 99;
			res->queue[q].trial[MESH_MEASURED] = (struct queue_counts){
				.requests_sent = share(sent, res->queue_count, q),
				.replies_received = share(back, res->queue_count, q),
				.requests_received = share(asked, res->queue_count, q),
				.replies_sent = share(answered, res->queue_count, q),
				.off_queue = share(off, res->queue_count, q),
				.busy_tsc = 300 + 100 * q,
				.total_tsc = 1000,
				.lcore = q + 1,
			};
		}
	}
}

struct summary_input mesh_input(const struct mesh_run *r)
{
	return (struct summary_input){
		.matrix = &r->matrix,
		.result = r->given,
		.failure = r->failure,
		.now_ns = r->now_ns,
		.skew_ns = r->skew_ns,
		.skew_error_ns = r->skew_error_ns,
	};
}

void mesh_summarize(struct mesh_run *r, struct summary *s)
{
	struct err e = { 0 };
	const struct summary_input in = mesh_input(r);

	if (summary_build(&in, s, &e) != 0)
		fail_msg("summary_build: %s", e.msg);
}

struct sum_flow *mesh_flow(struct summary *s, uint32_t src, uint32_t dst)
{
	for (size_t i = 0; i < s->flow_count; i++)
		if (s->flow[i].src == src && s->flow[i].dst == dst)
			return &s->flow[i];
	fail_msg("no flow %u to %u", src, dst);
	return NULL;
}

void mesh_verdict_is(const struct summary *s, int want, const char *words)
{
	char text[512];
	int got = summary_verdict(s, text, sizeof(text));

	if (got != want || strstr(text, words) == NULL)
		fail_msg("verdict %d '%s' instead of %d with '%s'", got, text, want, words);
}

void mesh_three_make(struct mesh_run *r)
{
	mesh_run_make(r, &(struct mesh_spec){ .hosts = 3, .queues = 2, .pps = 5000, .rtt = true });
	r->skew_ns = 45000;
	r->skew_error_ns = 12000;
	r->matrix.limits.loss_pct = 0.1;
	mesh_lose_forward(r, 0, 1, 500);
	mesh_lose_back(r, 2, 0, 125);
	mesh_leave_unsent(r, 1, 2, 700);
	mesh_tx(r, 0, 2)->dup = 3;
	mesh_tx(r, 0, 2)->off_queue = 4;
	mesh_rx(r, 0, 2)->reordered = 5;
	mesh_rx(r, 0, 2)->late = 6;
	mesh_fill_queues(r);
	// one queue gets nearly all
	r->result[0].queue[0].trial[1].replies_received += 45000;
	r->result[0].queue[1].trial[1].replies_received -= 45000;
	r->result[0].queue[0].trial[1].requests_received += 45000;
	r->result[0].queue[1].trial[1].requests_received -= 45000;
	r->result[0].steering = r->result[1].steering = STEER_PAIRS;
	r->result[0].steered = r->result[1].steered = true;
	r->result[2].steering = STEER_RSS;
	strcpy(r->result[2].steering_why, "the port does not tell its redirection table");
	r->result[1].port.imissed = 100;
	r->result[2].drop[DROP_L2] = 12;
}

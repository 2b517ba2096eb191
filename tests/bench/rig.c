#include "rig.h"

#include "eal.h"

#include "footprint.h"

#include <rte_cycles.h>
#include <rte_eal.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NET 0xc6120000u // 198.18.0.0, RFC 2544
#define NEVER_TSC (UINT64_MAX / 4)

const char *const rig_work_name[RIG_WORKS] = {
	[RIG_REQUEST] = "request",
	[RIG_REPLY] = "reply",
	[RIG_TURN] = "turn",
	[RIG_BOTH] = "both",
};

static bool has_tx(enum rig_work w)
{
	return w != RIG_TURN;
}

static bool is_offered(enum rig_work w)
{
	return w != RIG_REQUEST;
}

static void add_flow(struct hostcfg *c, const struct rig_opts *o, uint32_t i)
{
	uint32_t streams = o->streams / o->flows;
	uint16_t sport = (uint16_t)(65536 - streams);
	if (has_tx(o->work)) {
		c->tx[c->tx_count++] = (struct flow_tx){
			.peer_addr = IP4(NET + 256 + i),
			.req_bytes = o->payload_bytes,
			.rep_bytes = o->payload_bytes,
			.rate_pps =
				o->rate_pps == RATE_UNPACED ? RATE_UNPACED : o->rate_pps / o->flows,
			.streams = streams,
			.sport_first = sport,
			.tx_first = i * streams,
			.peer_rx_first = i * streams,
		};
		return;
	}
	c->rx[c->rx_count++] = (struct flow_rx){
		.peer_addr = IP4(NET + 256 + i),
		.req_bytes = o->payload_bytes,
		.rep_bytes = o->payload_bytes,
		.streams = streams,
		.sport_first = sport,
		.rx_first = i * streams,
		.peer_tx_first = i * streams,
	};
}

static int fill_config(struct hostcfg *c, const struct rig_opts *o, struct err *e)
{
	if (o->flows == 0 || o->streams % o->flows != 0 || o->streams / o->flows > 65535)
		return err_set(e, EINVAL, "%u streams do not share out to %u flows", o->streams,
			       o->flows);
	*c = (struct hostcfg){
		.host = "bench",
		.cookie = 4711,
		.host_count = 2,
		.port = { .queues = o->queues, .rxd = 1024, .txd = 1024, .burst = 32, .mtu = 1500 },
		.hugepages = o->hugepages,
		.idle = IDLE_SPIN,
		.lcore_count = o->queues,
		.addr = IP4(NET + 1),
		.prefix_len = 15,
		.ttl = 64,
		.udp_port = 5300,
		.stamp_each = o->stamp_each,
		.duration_ns = (uint64_t)(o->seconds * 1e9),
		.drain_ns = 200000000,
		.tx = calloc(o->flows, sizeof(*c->tx)),
		.rx = calloc(o->flows, sizeof(*c->rx)),
	};
	if (c->tx == NULL || c->rx == NULL)
		return err_set(e, ENOMEM, "no memory for %u flows", o->flows);
	snprintf(c->port.vdev, sizeof(c->port.vdev), "net_null0,%s%u",
		 is_offered(o->work) ? "size=" : "no-rx=1,size=",
		 42 + (o->payload_bytes < 18 ? 18 : o->payload_bytes));
	memcpy(c->lcores, o->cpu, sizeof(c->lcores));
	for (uint32_t i = 0; i < o->flows; i++)
		add_flow(c, o, i);
	return 0;
}

static int fill_shared(struct rig *r, uint32_t flows)
{
	struct agent_shared *s = &r->shared;
	s->tx_mac = calloc(flows, sizeof(*s->tx_mac));
	s->rx_mac = calloc(flows, sizeof(*s->rx_mac));
	if (s->tx_mac == NULL || s->rx_mac == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < flows; i++) {
		atomic_store(&s->tx_mac[i], 0x010000000002);
		atomic_store(&s->rx_mac[i], 0x010000000002);
	}
	atomic_store(&s->neigh_generation, 1);
	return 0;
}

static int open_queue(struct rig *r, uint16_t id, struct err *e)
{
	struct queue_env env = {
		.cfg = &r->cfg,
		.shared = &r->shared,
		.port = r->port.id,
		.socket = r->port.socket,
		.rxd = r->port.rxd,
		.txd = r->port.txd,
		.data_room = footprint_data_room(r->cfg.port.mtu),
		.csum_hw = r->port.csum_hw,
		.mac = r->port.mac,
	};
	r->queue[id] = queue_create(&env, id, e);
	r->shared.queue[id] = r->queue[id];
	return r->queue[id] != NULL ? 0 : -ENOMEM;
}

int rig_open(struct rig *r, const struct rig_opts *o, const char *dir, struct err *e)
{
	uint16_t cpu[LCORES_MAX];
	int rc = fill_config(&r->cfg, o, e);
	if (rc != 0 || (rc = eal_choose_cpus(&r->cfg, cpu, e)) != 0 ||
	    (rc = eal_start(&r->cfg, dir, cpu, e)) != 0)
		return rc;
	clock_start(&r->clock);
	if ((rc = port_open(&r->port, &r->cfg, e)) != 0)
		return rc;
	if (fill_shared(r, o->flows) != 0)
		return err_set(e, ENOMEM, "no memory for %u flows", o->flows);
	for (uint16_t q = 0; q < o->queues; q++) {
		if ((rc = open_queue(r, q, e)) != 0)
			return rc;
		queue_take_macs(r->queue[q]); // the first burst has its next hops, too
	}
	if ((rc = port_start(&r->port, &r->cfg, r->queue, e)) != 0)
		return rc;
	for (uint16_t q = 0; is_offered(o->work) && q < o->queues; q++) {
		r->offer[q] = offer_open(r->queue[q], &r->cfg, r->port.mac, has_tx(o->work));
		if (r->offer[q] == NULL)
			return err_set(e, ENOMEM, "no memory for %u streams", o->streams);
	}
	clock_settle(&r->clock);
	return 0;
}

void rig_arm(struct rig *r, const struct rig_opts *o, uint64_t start_tsc)
{
	bool sends = o->work == RIG_REQUEST || o->work == RIG_BOTH;
	for (uint16_t q = 0; q < r->cfg.port.queues; q++)
		queue_arm(r->queue[q], &r->cfg, sends ? start_tsc : NEVER_TSC, r->clock.tsc_hz);
	atomic_store_explicit(&r->shared.armed, true, memory_order_release);
}

uint64_t rig_strays(const struct rig *r)
{
	uint64_t n = 0;
	for (uint16_t i = 0; i < r->cfg.port.queues; i++) {
		const struct queue *q = r->queue[i];
		const struct queue_trial *t = &q->trial[0];
		for (int d = 0; d < DROP_REASONS; d++)
			n += q->drop[d];
		for (uint32_t f = 0; f < q->tx_flow_count; f++)
			n += t->tx[f].dup + t->tx[f].late + t->tx[f].reordered + t->tx[f].off_queue;
		for (uint32_t f = 0; f < q->rx_flow_count; f++)
			n += t->rx[f].dup + t->rx[f].late + t->rx[f].reordered +
			     t->rx[f].reply_unsent;
	}
	return n;
}

void rig_close(struct rig *r)
{
	port_close(&r->port);
	for (uint16_t q = 0; q < r->cfg.port.queues; q++) {
		queue_destroy(r->queue[q]);
		offer_close(r->offer[q]);
	}
	free(r->shared.tx_mac);
	free(r->shared.rx_mac);
	free(r->cfg.tx);
	free(r->cfg.rx);
	rte_eal_cleanup();
}

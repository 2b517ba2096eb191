#include "tables.h"

#include "columns.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define ROW sum_host

static struct cell host_name(const void *ctx, const void *item)
{
	const struct summary *s = ctx;
	const struct sum_host *h = item;

	return cell_text(s->matrix->host[h->host].name);
}

static struct cell direction(const void *ctx, const void *item)
{
	(void)ctx;
	(void)item;
	return cell_text("host");
}

static struct cell target_pps(const void *ctx, const void *item)
{
	const struct sum_host *h = item;

	(void)ctx;
	if (h->target == COUNTER_UNKNOWN || !(h->window_s > 0))
		return (struct cell){ .kind = CELL_NONE };
	return cell_real((double)h->target / h->window_s);
}

static struct cell measured(const void *ctx, const void *item)
{
	const struct sum_host *h = item;

	(void)ctx;
	return cell_bool(h->measured);
}

static struct cell queues(const void *ctx, const void *item)
{
	const struct sum_host *h = item;

	(void)ctx;
	return cell_count(h->measured ? h->queue_count : COUNTER_UNKNOWN);
}

static struct cell busiest(const void *ctx, const void *item)
{
	const struct sum_host *h = item;

	(void)ctx;
	return cell_count(isnan(h->busy_pct) ? COUNTER_UNKNOWN : h->busiest_queue);
}

static struct cell streams(const void *ctx, const void *item)
{
	const struct sum_host *h = item;

	(void)ctx;
	return cell_count(h->tx_streams > 0 ? h->tx_streams : COUNTER_UNKNOWN);
}

static struct cell tsc_hz(const void *ctx, const void *item)
{
	const struct sum_host *h = item;

	(void)ctx;
	return cell_real(h->tsc_hz > 0 ? h->tsc_hz : NAN);
}

static struct cell cpus(const void *ctx, const void *item)
{
	const struct sum_host *h = item;

	(void)ctx;
	return cell_count(h->cpus > 0 ? h->cpus : COUNTER_UNKNOWN);
}

static struct cell path_mtu(const void *ctx, const void *item)
{
	const struct sum_host *h = item;

	(void)ctx;
	return cell_count(h->icmp.path_mtu > 0 ? h->icmp.path_mtu : COUNTER_UNKNOWN);
}

// Why packets were lost is known of a host that was measured.
static struct cell cause(const struct sum_host *h, uint64_t v)
{
	return cell_count(h->measured ? v : COUNTER_UNKNOWN);
}

static struct cell lost_missed(const void *ctx, const void *item)
{
	(void)ctx;
	return cause(item, ((const struct sum_host *)item)->cause.missed);
}

static struct cell lost_no_mbuf(const void *ctx, const void *item)
{
	(void)ctx;
	return cause(item, ((const struct sum_host *)item)->cause.no_mbuf);
}

static struct cell lost_fabric(const void *ctx, const void *item)
{
	(void)ctx;
	return cause(item, ((const struct sum_host *)item)->cause.fabric);
}

static struct cell lost_unattributed(const void *ctx, const void *item)
{
	(void)ctx;
	return cause(item, ((const struct sum_host *)item)->cause.unattributed);
}

// The reports of a running agent do not say.
static bool tells_steering(const struct summary *s, const struct sum_host *h)
{
	return h->measured && !s->windowed;
}

static struct cell steering(const void *ctx, const void *item)
{
	const struct sum_host *h = item;

	return tells_steering(ctx, h) ? cell_text(steering_name[h->steering])
				      : (struct cell){ .kind = CELL_NONE };
}

static struct cell steered(const void *ctx, const void *item)
{
	const struct sum_host *h = item;

	return tells_steering(ctx, h) ? cell_bool(h->steered) : (struct cell){ .kind = CELL_NONE };
}

// The order is that of the report rows that other tools read; a new column goes at the end.
static const struct column host_column[] = {
	{ NAME("host", "host"), MADE(host_name) },
	{ NAME("dir", NULL), MADE(direction) },
	{ PPS("target_pps", NULL), MADE(target_pps) },
	{ PPS("sent_pps", "sent pps"), .csv = "pps", AT(DOUBLE, sent_pps) },
	{ PPS("returned_pps", "back pps"), .csv = "rep_pps", AT(DOUBLE, returned_pps) },
	{ PCT("loss_pct", "loss %", 3), AT(DOUBLE, loss_pct) },
	{ US("rtt_p99_us", "p99"), AT(DOUBLE, rtt_p99_ns) },
	{ PCT("cpu_pct", "box %", 0), AT(DOUBLE, cpu_pct) },
	{ PCT("cpu_max_pct", "core %", 0), AT(DOUBLE, cpu_max_pct) },
	{ PCT("agent_cpu_pct", NULL, 0), AT(DOUBLE, agent_cpu_pct) },
	{ PACKETS("queues", NULL), .csv = "workers", MADE(queues) },
	{ PPS("served_pps", "serving"), AT(DOUBLE, served_pps) },
	{ GBPS("egress_l1_gbps", "out bps"), AT(DOUBLE, egress_l1_bps) },
	{ GBPS("ingress_l1_gbps", NULL), AT(DOUBLE, ingress_l1_bps) },
	{ PCT("busy_pct", "busy %", 0), AT(DOUBLE, busy_pct) },
	{ PACKETS("busiest_queue", "q"), MADE(busiest) },
	{ YES("measured", NULL), MADE(measured) },
	{ NAME("failure", NULL), AT(TEXT, failure) },
	{ .key = "window_s", .unit = "s", .form = FORM_REAL, .decimals = 9, AT(DOUBLE, window_s) },
	{ PCT("achieved_pct", NULL, 2), AT(DOUBLE, achieved_pct) },
	{ PACKETS("target", NULL), AT(U64, target) },
	{ PACKETS("sent", NULL), AT(U64, sent) },
	{ PACKETS("unsent", NULL), AT(U64, unsent) },
	{ PACKETS("delivered", NULL), AT(U64, delivered_to) },
	{ PACKETS("returned", NULL), AT(U64, returned) },
	{ PACKETS("served", NULL), AT(U64, served) },
	{ PACKETS("replied", NULL), AT(U64, replied) },
	{ PACKETS("reply_unsent", NULL), AT(U64, reply_unsent) },
	{ PACKETS("lost", NULL), AT(I64, lost) },
	{ PACKETS("lost_forward", NULL), AT(I64, lost_forward) },
	{ PACKETS("lost_back", NULL), AT(I64, lost_back) },
	{ PACKETS("lost_to", NULL), AT(I64, lost_to) },
	{ PACKETS("lost_here_imissed", NULL), MADE(lost_missed) },
	{ PACKETS("lost_here_rx_nombuf", NULL), MADE(lost_no_mbuf) },
	{ PACKETS("lost_here_fabric", NULL), MADE(lost_fabric) },
	{ PACKETS("lost_here_unattributed", NULL), MADE(lost_unattributed) },
	{ PACKETS("off_queue", NULL), AT(U64, off_queue) },
	{ PACKETS("tx_full", NULL), AT(U64, tx_full) },
	{ US("lateness_p99_us", NULL), AT(DOUBLE, lateness_p99_ns) },
	{ US("lateness_max_us", NULL), AT(DOUBLE, lateness_max_ns) },
	{ PACKETS("streams", NULL), MADE(streams) },
	{ PACKETS("port_ipackets", NULL), AT(U64, port.ipackets) },
	{ PACKETS("port_opackets", NULL), AT(U64, port.opackets) },
	{ PACKETS("port_ibytes", NULL), AT(U64, port.ibytes) },
	{ PACKETS("port_obytes", NULL), AT(U64, port.obytes) },
	{ PACKETS("port_imissed", NULL), AT(U64, port.imissed) },
	{ PACKETS("port_rx_nombuf", NULL), AT(U64, port.rx_nombuf) },
	{ PACKETS("port_ierrors", NULL), AT(U64, port.ierrors) },
	{ PACKETS("port_oerrors", NULL), AT(U64, port.oerrors) },
	{ PACKETS("port_pause_rx", NULL), AT(U64, port.pause_rx) },
	{ PACKETS("port_pause_tx", NULL), AT(U64, port.pause_tx) },
	{ PACKETS("port_link_mbps", NULL), AT(U64, port.link_mbps) },
	{ PACKETS("drop_l2", NULL), AT(U64, drop[DROP_L2]) },
	{ PACKETS("drop_vlan", NULL), AT(U64, drop[DROP_VLAN]) },
	{ PACKETS("drop_address", NULL), AT(U64, drop[DROP_ADDRESS]) },
	{ PACKETS("drop_own", NULL), AT(U64, drop[DROP_OWN]) },
	{ PACKETS("drop_protocol", NULL), AT(U64, drop[DROP_PROTOCOL]) },
	{ PACKETS("drop_port", NULL), AT(U64, drop[DROP_PORT]) },
	{ PACKETS("drop_cookie", NULL), AT(U64, drop[DROP_COOKIE]) },
	{ PACKETS("drop_stream", NULL), AT(U64, drop[DROP_STREAM]) },
	{ PACKETS("drop_malformed", NULL), AT(U64, drop[DROP_MALFORMED]) },
	{ PACKETS("drop_checksum", NULL), AT(U64, drop[DROP_CHECKSUM]) },
	{ PACKETS("drop_options", NULL), AT(U64, drop[DROP_OPTIONS]) },
	{ PACKETS("drop_fragment", NULL), AT(U64, drop[DROP_FRAGMENT]) },
	{ PACKETS("drop_neighbour", NULL), AT(U64, drop[DROP_NEIGHBOUR]) },
	{ PACKETS("drop_slow", NULL), AT(U64, drop[DROP_SLOW]) },
	{ PACKETS("drop_nombuf", NULL), AT(U64, drop[DROP_NOMBUF]) },
	{ NAME("state", NULL), AT(TEXT, state) },
	{ NAME("ended_by", NULL), AT(TEXT, ended_by) },
	{ NAME("driver", NULL), AT(TEXT, driver) },
	{ NAME("mac", NULL), AT(TEXT, mac) },
	{ NAME("pmx_version", NULL), AT(TEXT, pmx_version) },
	{ NAME("dpdk_version", NULL), AT(TEXT, dpdk_version) },
	{ .key = "tsc_hz", .unit = "Hz", .form = FORM_SI, .decimals = 0, MADE(tsc_hz) },
	{ PACKETS("cpus", NULL), MADE(cpus) },
	{ PCT("others_cpu_pct", NULL, 0), AT(DOUBLE, others_cpu_pct) },
	{ PACKETS("icmp_unreachable", NULL), AT(U64, icmp.unreachable) },
	{ PACKETS("icmp_too_big", NULL), AT(U64, icmp.too_big) },
	{ PACKETS("path_mtu", NULL), MADE(path_mtu) },
	{ PACKETS("icmp_expired", NULL), AT(U64, icmp.expired) },
	{ PACKETS("next_hops", NULL), AT(U64, hops.count) },
	{ PACKETS("next_hops_silent", NULL), AT(U64, hops.silent) },
	{ NAME("silent_hop", NULL), AT(TEXT, hops.silent_addr) },
	{ PACKETS("hop_silences", NULL), AT(U64, hops.silences) },
	{ PACKETS("hop_mac_changes", NULL), AT(U64, hops.changes) },
	{ PACKETS("drop_incomplete", NULL), AT(U64, drop[DROP_INCOMPLETE]) },
	{ PACKETS("port_mtu", NULL), AT(U64, port.mtu) },
	{ NAME("steering", NULL), MADE(steering) },
	{ YES("steered", NULL), MADE(steered) },
	{ NAME("steering_why", NULL), AT(TEXT, steering_why) },
	{ PCT("on_queue_pct", NULL, 2), AT(DOUBLE, on_queue_pct) },
	{ PCT("uneven_pct", NULL, 2), AT(DOUBLE, uneven_pct) },
};
_Static_assert(sizeof(host_column) / sizeof(host_column[0]) <= COLUMNS_MAX, "COLUMNS_MAX");

static const char *const host_shown[] = {
	"host",	      "sent_pps", "returned_pps", "served_pps", "egress_l1_gbps", "loss_pct",
	"rtt_p99_us", "cpu_pct",  "cpu_max_pct",  "busy_pct",	"busiest_queue",  NULL,
};

struct table table_hosts(const struct summary *s, const uint32_t *order)
{
	return (struct table){
		.key = "hosts",
		.title = "HOSTS, worst delivery first",
		.column = host_column,
		.columns = sizeof(host_column) / sizeof(host_column[0]),
		.rows = s->host_count,
		.item = (const char *)s->host,
		.item_bytes = sizeof(*s->host),
		.shown = host_shown,
		.order = order,
		.ctx = s,
	};
}

// Not measured is the worst; a host that has sent nothing lost nothing.
static double shortfall(const struct sum_host *h)
{
	if (!h->measured)
		return INFINITY;
	return isnan(h->loss_pct) ? 0 : h->loss_pct;
}

static int compare_hosts(const void *a, const void *b, void *ctx)
{
	const struct summary *s = ctx;
	uint32_t ha = *(const uint32_t *)a, hb = *(const uint32_t *)b;
	double da = shortfall(&s->host[ha]), db = shortfall(&s->host[hb]);

	if (da != db)
		return da > db ? -1 : 1;
	return ha < hb ? -1 : 1;
}

void order_hosts(const struct summary *s, uint32_t *order)
{
	for (uint32_t i = 0; i < s->host_count; i++)
		order[i] = i;
	qsort_r(order, s->host_count, sizeof(*order), compare_hosts, (void *)(uintptr_t)s);
}

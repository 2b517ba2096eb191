#include "export.h"

// clang-format off
#define AT(kind, member) .source = SOURCE_##kind, .offset = offsetof(struct export_row, member)
#define TEXT(k) .column = { .key = #k, AT(STRING, k) }
#define REAL(k, digits) .column = { .key = #k, .decimals = digits, AT(DOUBLE, k) }
#define COUNT(k) .column = { .key = #k, AT(U64, k) }
#define METRIC(name, of, text) .metric = name, .unit = of, .help = text
#define GAUGE .type = METRIC_GAUGE
#define RATIO GAUGE, .factor = 0.01

#define PACKETS(k, of, text) { COUNT(k), METRIC(#k "_packets", "packets", text), .scopes = of }
#define PORT(k, name, of, text) \
	{ .column = { .key = "port_" #k, AT(U64, counts.k) }, METRIC(name, of, text), \
	  .scopes = SCOPE_PORT }
#define DROP(k, id) \
	{ .column = { .key = "drop_" k, AT(U64, drop[id]) }, \
	  METRIC("dropped_frames", "frames", "Frames that were none of the run's, whole run"), \
	  .scopes = SCOPE_HOST, .reason = k }
#define ICMP(k, name, text) \
	{ .column = { .key = "icmp_" #k, AT(U64, icmp.k) }, METRIC(name, "packets", text), \
	  .scopes = SCOPE_HOST }

// The order is report.csv's; then what results have. A new column goes at the end.
const struct export_column export_column[] = {
	{ REAL(ts, 3) },
	{ TEXT(host) },
	{ TEXT(dir) },
	{ TEXT(peer) },
	{ REAL(size, 3) },
	{ REAL(rep_size, 3) },
	{ REAL(target_pps, 6), METRIC("target_packets_per_second", "packets_per_second",
	  "Requests asked for"), GAUGE, .scopes = SCOPE_FLOW },
	{ REAL(pps, 3) },
	{ REAL(mbps, 6) },
	{ REAL(rep_pps, 3) },
	{ REAL(rep_mbps, 6) },
	{ REAL(loss_pct, 9) },
	{ REAL(rtt_avg_us, 3) },
	{ REAL(rtt_p50_us, 3) },
	{ REAL(rtt_p99_us, 3) },
	{ REAL(rtt_max_us, 3) },
	{ REAL(cpu_pct, 6), METRIC("cpu_ratio", "ratio", "All CPUs of the box"), RATIO,
	  .scopes = SCOPE_HOST },
	{ REAL(cpu_max_pct, 6), METRIC("cpu_max_ratio", "ratio", "Its busiest CPU"), RATIO,
	  .scopes = SCOPE_HOST },
	{ REAL(agent_cpu_pct, 6), METRIC("agent_cpu_ratio", "ratio", "The agent, of one CPU"), RATIO,
	  .scopes = SCOPE_HOST },
	{ REAL(workers, 0), METRIC("queues", NULL, "Queues of the agent"), GAUGE,
	  .scopes = SCOPE_HOST },
	{ REAL(layer, 0) },
	{ REAL(queue, 0) },
	{ REAL(busy_pct, 6) },
	{ REAL(interval_s, 6) },
	{ REAL(packets, 0) },
	{ REAL(rep_packets, 0) },
	{ TEXT(row) },
	{ COUNT(trial) },
	{ TEXT(kind) },
	{ REAL(window_s, 9), METRIC("window_seconds", "seconds", "Length of the measured window"),
	  GAUGE, .scopes = SCOPE_HOST },
	{ COUNT(measured), METRIC("measured", NULL, "Whether the host's result counts"), GAUGE,
	  .scopes = SCOPE_HOST },
	{ TEXT(port) },
	{ COUNT(streams), METRIC("streams", NULL, "4-tuples of the flow"), GAUGE,
	  .scopes = SCOPE_FLOW },
	{ COUNT(lcore) },
	PACKETS(sent, SCOPE_FLOW, "Requests that the port took"),
	PACKETS(unsent, SCOPE_FLOW, "Requests due and not offered"),
	PACKETS(delivered, SCOPE_FLOW, "Distinct requests at the destination"),
	PACKETS(replied, SCOPE_FLOW, "Replies that it sent"),
	PACKETS(reply_unsent, SCOPE_FLOW, "Replies owed and not sent"),
	PACKETS(returned, SCOPE_FLOW, "Distinct replies at the source"),
	PACKETS(dup_forward, SCOPE_FLOW, "Duplicate requests"),
	PACKETS(dup_back, SCOPE_FLOW, "Duplicate replies"),
	PACKETS(reordered_forward, SCOPE_FLOW, "Reordered requests, delivered too"),
	PACKETS(reordered_back, SCOPE_FLOW, "Reordered replies, returned too"),
	PACKETS(late_forward, SCOPE_FLOW, "Requests that came too late to count"),
	PACKETS(late_back, SCOPE_FLOW, "Replies that came too late to count"),
	PACKETS(off_queue, SCOPE_FLOW | SCOPE_QUEUE, "Replies to requests of another queue"),
	PACKETS(requests_sent, SCOPE_QUEUE, "Requests that the port took"),
	PACKETS(requests_received, SCOPE_QUEUE, "Distinct requests"),
	PACKETS(replies_sent, SCOPE_QUEUE, "Replies sent"),
	PACKETS(replies_received, SCOPE_QUEUE, "Distinct replies"),
	{ COUNT(tx_full), METRIC("tx_full_bursts", "bursts", "Bursts that the port did not take whole"),
	  .scopes = SCOPE_QUEUE },
	{ REAL(busy_s, 9), METRIC("busy_seconds", "seconds", "Loops of the lcore with work"),
	  .scopes = SCOPE_QUEUE },
	{ REAL(loop_s, 9), METRIC("loop_seconds", "seconds", "All loops of the lcore"),
	  .scopes = SCOPE_QUEUE },
	PORT(ipackets, "receive_packets", "packets", "Packets received, whole run"),
	PORT(opackets, "transmit_packets", "packets", "Packets sent, whole run"),
	PORT(ibytes, "receive_bytes", "bytes", "Bytes received, whole run"),
	PORT(obytes, "transmit_bytes", "bytes", "Bytes sent, whole run"),
	PORT(imissed, "receive_missed_packets", "packets", "Packets the NIC had no room for"),
	PORT(rx_nombuf, "receive_nombuf_packets", "packets", "Packets there was no mbuf for"),
	PORT(ierrors, "receive_error_packets", "packets", "Packets received with errors"),
	PORT(oerrors, "transmit_error_packets", "packets", "Packets that failed to be sent"),
	PORT(pause_rx, "receive_pause_frames", "frames", "802.3x pause frames received"),
	PORT(pause_tx, "transmit_pause_frames", "frames", "802.3x pause frames sent"),
	{ .column = { .key = "port_link_mbps", AT(U64, counts.link_mbps) },
	  METRIC("link_bytes_per_second", "bytes_per_second", "Link speed"), GAUGE,
	  .factor = 125000, .scopes = SCOPE_PORT },
	DROP("l2", DROP_L2),
	DROP("vlan", DROP_VLAN),
	DROP("address", DROP_ADDRESS),
	DROP("own", DROP_OWN),
	DROP("protocol", DROP_PROTOCOL),
	DROP("port", DROP_PORT),
	DROP("cookie", DROP_COOKIE),
	DROP("stream", DROP_STREAM),
	DROP("malformed", DROP_MALFORMED),
	DROP("checksum", DROP_CHECKSUM),
	DROP("options", DROP_OPTIONS),
	DROP("fragment", DROP_FRAGMENT),
	DROP("neighbour", DROP_NEIGHBOUR),
	DROP("slow", DROP_SLOW),
	DROP("nombuf", DROP_NOMBUF),
	{ COUNT(cpus), METRIC("cpus", NULL, "CPUs of the box"), GAUGE, .scopes = SCOPE_HOST },
	ICMP(unreachable, "icmp_unreachable_packets", "ICMP unreachable for packets of ours"),
	ICMP(too_big, "icmp_too_big_packets", "ICMP too big for packets of ours"),
	{ .column = { .key = "path_mtu", AT(U64, icmp.path_mtu) },
	  METRIC("path_mtu_bytes", "bytes", "Smallest MTU that ICMP told of"), GAUGE,
	  .scopes = SCOPE_HOST },
	ICMP(expired, "icmp_expired_packets", "ICMP time exceeded for packets of ours"),
	{ COUNT(next_hops_silent),
	  METRIC("next_hops_silent", NULL, "Next hops that do not answer any more"), GAUGE,
	  .scopes = SCOPE_HOST },
	DROP("incomplete", DROP_INCOMPLETE),
	{ .column = { .key = "port_mtu", AT(U64, counts.mtu) },
	  METRIC("mtu_bytes", "bytes", "MTU in effect"), GAUGE, .scopes = SCOPE_PORT },
};
// clang-format on
const size_t export_columns = sizeof(export_column) / sizeof(export_column[0]);
_Static_assert(sizeof(export_column) / sizeof(export_column[0]) <= COLUMNS_MAX, "COLUMNS_MAX");
_Static_assert(DROP_REASONS == 16, "a DROP() for each reason");

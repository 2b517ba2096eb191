#include "hostcfg.h"

#include "jsonmap.h"
#include "parse.h"
#include "wire.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define CONFIG_MAX_BYTES (64u << 20)
#define TIME_MAX_NS (UINT64_C(365) * 86400 * 1000000000)
#define CPU_ID_MAX 8191

const char *const idle_policy_name[IDLE_POLICIES] = {
	[IDLE_SPIN] = "spin",
	[IDLE_YIELD] = "yield",
	[IDLE_SLEEP] = "sleep",
};
const char *const huge_policy_name[HUGE_POLICIES] = {
	[HUGE_AUTO] = "auto",
	[HUGE_YES] = "yes",
	[HUGE_NO] = "no",
};
const char *const csum_mode_name[CSUM_MODES] = {
	[CSUM_SW] = "sw",
	[CSUM_HW] = "hw",
};
const char *const rss_mode_name[RSS_MODES] = {
	[RSS_NONE] = "none",
	[RSS_ON] = "on",
};

const char *const steering_name[STEERINGS] = {
	[STEER_NONE] = "none",	   [STEER_RSS] = "rss",		[STEER_RULES] = "rules",
	[STEER_KERNEL] = "kernel", [STEER_LEARNED] = "learned", [STEER_PAIRS] = "pairs",
};

#define AT(member) JM_AT(struct steer, member)
static const struct jm_row steer_row[] = {
	{ "by", JM_ENUM, AT(by), .name = steering_name, .names = STEERINGS },
	{ "queues", JM_UINT, AT(queues), .min = 2, .max = LCORES_MAX },
	{ "rss_key", JM_STRING, JM_HEX, AT(rss_key) },
};
#undef AT
static const struct jm_map steer_map = JM_MAP(steer_row, struct steer);

#define AT(member) JM_AT(struct flow_tx, member)
static const struct jm_row tx_row[] = {
	{ "peer", JM_STRING, AT(peer), .min = 1 },
	{ "peer_addr", JM_IP, AT(peer_addr) },
	{ "req_bytes", JM_UINT, AT(req_bytes), .min = PMX_PAYLOAD_MIN, .max = PAYLOAD_MAX_BYTES },
	{ "rep_bytes", JM_UINT, AT(rep_bytes), .min = PMX_PAYLOAD_MIN, .max = PAYLOAD_MAX_BYTES },
	{ "req_mix", JM_UINT, AT(req_mix), .max = MIXES_MAX },
	{ "rep_mix", JM_UINT, AT(rep_mix), .max = MIXES_MAX },
	{ "dscp", JM_UINT, AT(dscp), .max = DSCP_MAX },
	{ "rate_pps", JM_DOUBLE, JM_MAX_WORD, AT(rate_pps), .max = (uint64_t)RATE_MAX_PPS },
	{ "window", JM_UINT, AT(window), .max = WINDOW_MAX },
	{ "streams", JM_UINT, AT(streams), .min = 1, .max = UINT16_MAX },
	{ "sport_first", JM_UINT, AT(sport_first), .min = 1 },
	{ "tx_first", JM_UINT, AT(tx_first), .max = STREAMS_MAX - 1 },
	{ "peer_rx_first", JM_UINT, AT(peer_rx_first), .max = STREAMS_MAX - 1 },
	{ "peer_steer", JM_UINT, AT(peer_steer), .max = FLOWS_MAX },
	{ "layer", JM_UINT, AT(layer), .max = ROTATION_LAYERS_MAX - 1 },
};
#undef AT
static const struct jm_map tx_map = JM_MAP(tx_row, struct flow_tx);

#define AT(member) JM_AT(struct flow_rx, member)
static const struct jm_row rx_row[] = {
	{ "peer", JM_STRING, AT(peer), .min = 1 },
	{ "peer_addr", JM_IP, AT(peer_addr) },
	{ "peer_sources", JM_UINT, AT(peer_sources), .min = 1, .max = SOURCES_MAX },
	{ "req_bytes", JM_UINT, AT(req_bytes), .min = PMX_PAYLOAD_MIN, .max = PAYLOAD_MAX_BYTES },
	{ "rep_bytes", JM_UINT, AT(rep_bytes), .min = PMX_PAYLOAD_MIN, .max = PAYLOAD_MAX_BYTES },
	{ "req_mix", JM_UINT, AT(req_mix), .max = MIXES_MAX },
	{ "rep_mix", JM_UINT, AT(rep_mix), .max = MIXES_MAX },
	{ "dscp", JM_UINT, AT(dscp), .max = DSCP_MAX },
	{ "streams", JM_UINT, AT(streams), .min = 1, .max = UINT16_MAX },
	{ "sport_first", JM_UINT, AT(sport_first), .min = 1 },
	{ "rx_first", JM_UINT, AT(rx_first), .max = STREAMS_MAX - 1 },
	{ "peer_tx_first", JM_UINT, AT(peer_tx_first), .max = STREAMS_MAX - 1 },
	{ "peer_steer", JM_UINT, AT(peer_steer), .max = FLOWS_MAX },
	{ "layer", JM_UINT, AT(layer), .max = ROTATION_LAYERS_MAX - 1 },
};
#undef AT
static const struct jm_map rx_map = JM_MAP(rx_row, struct flow_rx);

// The members of `port`, by their place in the whole struct.
#define AT(member) JM_AT(struct hostcfg, port.member)
static const struct jm_row port_row[] = {
	{ "vdev", JM_STRING, AT(vdev) },
	{ "pci", JM_STRING, AT(pci) },
	{ "profile", JM_STRING, AT(profile), .min = 1 },
	{ "unlink_path", JM_STRING, AT(unlink_path) },
	{ "restart_until_link", JM_BOOL, AT(restart_until_link) },
	{ "all_queues_of", JM_STRING, AT(all_queues_of) },
	{ "counts_missed", JM_BOOL, AT(counts_missed) },
	{ "queues", JM_UINT, AT(queues), .min = 1, .max = LCORES_MAX },
	{ "rxd", JM_UINT, AT(rxd), .min = 8, .max = 32768 },
	{ "txd", JM_UINT, AT(txd), .min = 8, .max = 32768 },
	{ "burst", JM_UINT, AT(burst), .min = 1, .max = BURST_MAX },
	{ "mtu", JM_UINT, AT(mtu), .min = 68 },
	{ "csum", JM_ENUM, AT(csum), .name = csum_mode_name, .names = CSUM_MODES },
	{ "rss", JM_ENUM, AT(rss), .name = rss_mode_name, .names = RSS_MODES },
	{ "rss_key", JM_STRING, JM_HEX, AT(rss_key) },
	{ "steering", JM_ENUM, AT(steering), .name = steering_name, .names = STEERINGS },
	{ "single_file_segments", JM_BOOL, AT(single_file_segments) },
};
#undef AT
static const struct jm_map port_map = JM_MAP(port_row, struct hostcfg);

// The members of `pacing`, likewise.
#define AT(member) JM_AT(struct hostcfg, pacing.member)
static const struct jm_row pacing_row[] = {
	{ "burst", JM_UINT, AT(burst), .min = 1, .max = PACING_BURST_MAX },
	{ "spacing", JM_ENUM, AT(spacing), .name = spacing_name, .names = SPACINGS },
	{ "seed", JM_UINT, AT(seed), .max = PACING_SEED_MAX },
	{ "ramp_from", JM_DOUBLE, AT(ramp.from), .max = 1 },
	{ "ramp_ns", JM_UINT, AT(ramp.over_ns), .max = RAMP_MAX_NS },
	{ "ramp_steps", JM_UINT, AT(ramp.steps), .max = RAMP_STEPS_MAX },
};
#undef AT
static const struct jm_map pacing_map = JM_MAP(pacing_row, struct hostcfg);

#define AT(member) JM_AT(struct hostcfg, member)
#define COUNT(member) .count = offsetof(struct hostcfg, member)
static const struct jm_row hostcfg_row[] = {
	{ "version", JM_FIXED, .min = HOSTCFG_VERSION },
	{ "host", JM_STRING, AT(host), .min = 1 },
	{ "run_id", JM_STRING, AT(run_id), .min = 1 },
	{ "cookie", JM_UINT, AT(cookie) },
	{ "host_index", JM_UINT, AT(host_index) },
	{ "host_count", JM_UINT, AT(host_count), .min = 1 },
	{ "port", JM_OBJECT, .map = &port_map },
	{ "hugepages", JM_ENUM, AT(hugepages), .name = huge_policy_name, .names = HUGE_POLICIES },
	{ "memory_mb", JM_UINT, AT(memory_mb), .max = 1u << 20 },
	{ "idle", JM_ENUM, AT(idle), .name = idle_policy_name, .names = IDLE_POLICIES },
	{ "lcores", JM_UINTS, AT(lcores), .names = LCORES_MAX, .max = CPU_ID_MAX,
	  COUNT(lcore_count) },
	{ "lcores_taken", JM_UINTS, AT(lcores_taken), .names = LCORES_TAKEN_MAX, .max = CPU_ID_MAX,
	  COUNT(lcore_taken_count) },
	{ "lcores_before", JM_UINT, AT(lcores_before), .max = CPU_ID_MAX },
	{ "addr", JM_IP, AT(addr) },
	{ "prefix_len", JM_UINT, AT(prefix_len), .min = 1, .max = 128 },
	{ "src_addr", JM_IP, JM_ZERO_NULL, AT(src_addr) },
	{ "src_count", JM_UINT, AT(src_count), .max = SOURCES_MAX },
	{ "gateway", JM_IP, JM_ZERO_NULL, AT(gateway) },
	{ "vlan", JM_UINTS, AT(vlan), .names = VLANS_MAX, .min = 1, .max = VLAN_ID_MAX,
	  COUNT(vlan_count) },
	{ "pcp", JM_UINT, AT(pcp), .max = PCP_MAX },
	{ "ttl", JM_UINT, AT(ttl), .min = 1 },
	{ "udp_port", JM_UINT, AT(udp_port), .min = 1 },
	{ "stamp_each", JM_BOOL, AT(stamp_each) },
	{ "warmup_ns", JM_UINT, AT(warmup_ns), .max = TIME_MAX_NS },
	{ "duration_ns", JM_UINT, AT(duration_ns), .min = 1, .max = TIME_MAX_NS },
	{ "drain_ns", JM_UINT, AT(drain_ns), .max = TIME_MAX_NS },
	{ "layers", JM_UINT, AT(rotation.layers), .max = ROTATION_LAYERS_MAX },
	{ "dwell_ns", JM_UINT, AT(rotation.dwell_ns) },
	{ "pacing", JM_OBJECT, .map = &pacing_map },
	{ "interval_ns", JM_UINT, AT(interval_ns), .max = TIME_MAX_NS },
	{ "lease_ns", JM_UINT, AT(lease_ns), .max = TIME_MAX_NS },
	{ "resolve_ns", JM_UINT, AT(resolve_ns), .max = TIME_MAX_NS },
	{ "mixes", JM_ARRAY, AT(mix), .map = &size_mix_map, COUNT(mix_count), .max = MIXES_MAX },
	{ "steer", JM_ARRAY, AT(steer), .map = &steer_map, COUNT(steer_count), .max = FLOWS_MAX },
	{ "tx", JM_ARRAY, AT(tx), .map = &tx_map, COUNT(tx_count), .max = FLOWS_MAX },
	{ "rx", JM_ARRAY, AT(rx), .map = &rx_map, COUNT(rx_count), .max = FLOWS_MAX },
};
#undef COUNT
#undef AT
static const struct jm_map hostcfg_map = JM_MAP(hostcfg_row, struct hostcfg);

// One flow's ports and stream indexes, whichever its direction. *next is the first index free.
static int check_flow(const struct hostcfg *c, const char *dir, size_t i, uint32_t bytes,
		      uint32_t streams, uint16_t sport, uint32_t first, uint32_t *next,
		      struct err *e)
{
	struct sender by = hostcfg_sender(c);
	uint32_t most = sender_payload_max(&by);

	if (bytes > most)
		return err_set(e, EINVAL,
			       "$.%s[%zu]: %u payload bytes: expected at most %u by the MTU of %u",
			       dir, i, bytes, most, c->port.mtu);
	if (sport + streams - 1 > UINT16_MAX)
		return err_set(
			e, EINVAL,
			"$.%s[%zu]: %u streams from source port %u on: port 65535 is the last", dir,
			i, streams, sport);
	if (first < *next || first > STREAMS_MAX - streams)
		return err_set(
			e, EINVAL,
			"$.%s[%zu].%s_first: %u: expected %u to %u, behind the streams before it",
			dir, i, dir, first, *next, STREAMS_MAX - streams);
	*next = first + streams;
	return 0;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static int check_rotation(const struct hostcfg *c, struct err *e)
{
	const struct rotation *r = &c->rotation;

	if (!rotation_ok(r))
		return err_set(e, EINVAL,
			       "$.dwell_ns: %" PRIu64 ": expected %" PRIu64 " to %" PRIu64
			       " with layers, else 0",
			       r->dwell_ns, ROTATION_DWELL_MIN_NS, ROTATION_DWELL_MAX_NS);
	for (size_t i = 0; i < c->tx_count; i++)
		if (!rotation_has(r, c->tx[i].layer))
			return err_set(e, EINVAL,
				       "$.tx[%zu].layer: %u: expected less than layers, %u", i,
				       c->tx[i].layer, r->layers);
	for (size_t i = 0; i < c->rx_count; i++)
		if (!rotation_has(r, c->rx[i].layer))
			return err_set(e, EINVAL,
				       "$.rx[%zu].layer: %u: expected less than layers, %u", i,
				       c->rx[i].layer, r->layers);
	return 0;
}

static int check_steer(const struct hostcfg *c, struct err *e)
{
	for (size_t i = 0; i < c->steer_count; i++) {
		const struct steer *s = &c->steer[i];

		if (s->by != STEER_RSS && s->by != STEER_RULES)
			return err_set(e, EINVAL, "$.steer[%zu].by: \"%s\": expected rss or rules",
				       i, steering_name[s->by]);
		if (s->by == STEER_RSS && strlen(s->rss_key) < 2 * RSS_KEY_BYTES)
			return err_set(e, EINVAL,
				       "$.steer[%zu].rss_key: %zu bytes: expected %d or more", i,
				       strlen(s->rss_key) / 2, RSS_KEY_BYTES);
	}
	for (size_t i = 0; i < c->tx_count; i++)
		if (c->tx[i].peer_steer > c->steer_count)
			return err_set(e, EINVAL,
				       "$.tx[%zu].peer_steer: %u: expected at most %zu, those of "
				       "steer",
				       i, c->tx[i].peer_steer, c->steer_count);
	for (size_t i = 0; i < c->rx_count; i++)
		if (c->rx[i].peer_steer > c->steer_count)
			return err_set(e, EINVAL,
				       "$.rx[%zu].peer_steer: %u: expected at most %zu, those of "
				       "steer",
				       i, c->rx[i].peer_steer, c->steer_count);
	return 0;
}

// Sources are the numbers of 32 bits that follow each other.
static int check_sources(const char *what, const struct ip_addr *first, uint32_t count,
			 struct err *e)
{
	char text[IP_STR_MAX];

	if (count == 0 || ip4_of(first) <= UINT32_MAX - (count - 1))
		return 0;
	return err_set(e, EINVAL, "$.%s: %u addresses from %s on: there are not so many", what,
		       count, ip_str(first, text, sizeof(text)));
}

static int check_ramp(const struct hostcfg *c, struct err *e)
{
	const struct ramp *r = &c->pacing.ramp;

	if (r->steps == 1)
		return err_set(e, EINVAL, "$.pacing.ramp_steps: 1: expected 0 or 2 to %u",
			       RAMP_STEPS_MAX);
	if (r->over_ns > 0 && c->rotation.layers > 0)
		return err_set(e, EINVAL,
			       "$.pacing.ramp_ns: %" PRIu64 ": expected 0 with layers, which would "
			       "have other rates each",
			       r->over_ns);
	return 0;
}

// Addresses of one host's frames are of one family.
static int check_family(const struct hostcfg *c, const char *what, const struct ip_addr *a,
			struct err *e)
{
	char text[IP_STR_MAX];

	if (ip_none(a) || ip_is4(a) == ip_is4(&c->addr))
		return 0;
	return err_set(e, EINVAL, "$.%s: %s: expected the family of $.addr, IPv%d", what,
		       ip_str(a, text, sizeof(text)), ip_is4(&c->addr) ? 4 : 6);
}

static int check_families(const struct hostcfg *c, struct err *e)
{
	int ret = check_family(c, "gateway", &c->gateway, e);

	if (ret == 0)
		ret = check_family(c, "src_addr", &c->src_addr, e);
	for (size_t i = 0; ret == 0 && i < c->tx_count; i++)
		ret = check_family(c, "tx[].peer_addr", &c->tx[i].peer_addr, e);
	for (size_t i = 0; ret == 0 && i < c->rx_count; i++)
		ret = check_family(c, "rx[].peer_addr", &c->rx[i].peer_addr, e);
	return ret;
}

// A mix that a flow refers to is there, and the flow's bytes are its largest.
static int check_mix(const struct hostcfg *c, const char *dir, size_t i, const char *key,
		     uint32_t mix, uint32_t bytes, struct err *e)
{
	if (mix == 0)
		return 0;
	if (mix > c->mix_count)
		return err_set(e, EINVAL, "$.%s[%zu].%s_mix: %u: expected at most %zu, as mixes",
			       dir, i, key, mix, c->mix_count);
	uint32_t largest = mix_largest(&c->mix[mix - 1]);
	if (bytes != largest)
		return err_set(e, EINVAL,
			       "$.%s[%zu].%s_bytes: %u: expected the largest of its mix, %u", dir,
			       i, key, bytes, largest);
	return 0;
}

static int check_mixes(const struct hostcfg *c, struct err *e)
{
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < c->mix_count; i++) {
		ret = mix_check(&c->mix[i], e);
		if (ret < 0)
			return e == NULL ? ret : err_wrap(e, "$.mixes[%zu]", i);
	}
	for (size_t i = 0; ret == 0 && i < c->tx_count; i++) {
		const struct flow_tx *f = &c->tx[i];

		ret = check_mix(c, "tx", i, "req", f->req_mix, f->req_bytes, e);
		if (ret == 0)
			ret = check_mix(c, "tx", i, "rep", f->rep_mix, f->rep_bytes, e);
	}
	for (size_t i = 0; ret == 0 && i < c->rx_count; i++) {
		const struct flow_rx *f = &c->rx[i];

		ret = check_mix(c, "rx", i, "req", f->req_mix, f->req_bytes, e);
		if (ret == 0)
			ret = check_mix(c, "rx", i, "rep", f->rep_mix, f->rep_bytes, e);
	}
	return ret;
}

// What no single field can tell.
static int check(const struct hostcfg *c, struct err *e)
{
	uint32_t next = 0;

	if ((c->port.vdev[0] != '\0') == (c->port.pci[0] != '\0'))
		return err_set(e, EINVAL, "$.port: expected either vdev or pci to be given");
	if (c->prefix_len > ip_bits(&c->addr))
		return err_set(e, EINVAL, "$.prefix_len: %u: expected at most %u", c->prefix_len,
			       ip_bits(&c->addr));
	if (c->host_index >= c->host_count)
		return err_set(e, EINVAL, "$.host_index: %u: expected less than host_count, %u",
			       c->host_index, c->host_count);
	for (size_t i = 0; i < c->tx_count; i++) {
		const struct flow_tx *f = &c->tx[i];
		int ret = check_flow(c, "tx", i, larger(f->req_bytes, f->rep_bytes), f->streams,
				     f->sport_first, f->tx_first, &next, e);
		if (ret < 0)
			return ret;
		if (f->rate_pps == 0)
			return err_set(e, EINVAL,
				       "$.tx[%zu].rate_pps: 0: expected more, \"max\", or no such "
				       "flow",
				       i);
		if (f->window > 0 && f->rate_pps != RATE_UNPACED)
			return err_set(e, EINVAL,
				       "$.tx[%zu].window: %u: expected 0 with a rate, or "
				       "rate_pps \"max\"",
				       i, f->window);
	}
	next = 0;
	for (size_t i = 0; i < c->rx_count; i++) {
		const struct flow_rx *f = &c->rx[i];
		int ret = check_flow(c, "rx", i, larger(f->req_bytes, f->rep_bytes), f->streams,
				     f->sport_first, f->rx_first, &next, e);
		if (ret < 0)
			return ret;
	}
	int ret = check_mixes(c, e);
	if (ret == 0)
		ret = check_families(c, e);
	if (ret == 0)
		ret = check_steer(c, e);
	if (ret == 0 && ip_none(&c->src_addr) != (c->src_count == 0))
		ret = err_set(e, EINVAL, "$.src_count: %u: expected 0 without src_addr, else more",
			      c->src_count);
	if (ret == 0)
		ret = check_sources("src_addr", &c->src_addr, c->src_count, e);
	for (size_t i = 0; ret == 0 && i < c->rx_count; i++)
		ret = check_sources("rx[].peer_addr", &c->rx[i].peer_addr, c->rx[i].peer_sources,
				    e);
	if (ret == 0)
		ret = check_rotation(c, e);
	return ret < 0 ? ret : check_ramp(c, e);
}

struct ip_addr source_addr(const struct ip_addr *first, uint32_t count, uint32_t i)
{
	struct ip_addr a = *first;
	uint32_t carry = count > 0 ? i % count : 0;

	for (int k = 15; k >= 12; k--) {
		carry += a.b[k];
		a.b[k] = (uint8_t)carry;
		carry >>= 8;
	}
	return a;
}

bool source_has(const struct ip_addr *first, uint32_t count, const struct ip_addr *a)
{
	return memcmp(first->b, a->b, 12) == 0 && ip4_of(a) - ip4_of(first) < count;
}

struct ip_addr hostcfg_source(const struct hostcfg *c, uint32_t i)
{
	return c->src_count > 0 ? source_addr(&c->src_addr, c->src_count, i) : c->addr;
}

bool hostcfg_owns(const struct hostcfg *c, const struct ip_addr *a)
{
	return ip_eq(a, &c->addr) || source_has(&c->src_addr, c->src_count, a);
}

int hostcfg_read(json_t *root, struct hostcfg *c, struct err *e)
{
	int ret = jsonmap_read(&hostcfg_map, root, c, e);

	if (ret == 0)
		ret = check(c, e);
	if (ret < 0)
		hostcfg_free(c);
	return ret;
}

int hostcfg_load(const char *path, struct hostcfg *c, struct err *e)
{
	json_t *root;

	memset(c, 0, sizeof(*c));
	int ret = jsonmap_load(path, CONFIG_MAX_BYTES, &root, e);
	if (ret < 0)
		return ret;
	ret = hostcfg_read(root, c, e);
	json_decref(root);
	return ret < 0 && e != NULL ? err_wrap(e, "%s", path) : ret;
}

json_t *hostcfg_write(const struct hostcfg *c)
{
	return jsonmap_write(&hostcfg_map, c);
}

struct sender hostcfg_sender(const struct hostcfg *c)
{
	return (struct sender){
		.mtu = c->port.mtu,
		.ip6 = !ip_is4(&c->addr),
		.tags = (uint32_t)c->vlan_count,
	};
}

bool hostcfg_fragments(const struct hostcfg *c)
{
	struct sender by = hostcfg_sender(c);
	uint32_t most = sender_payload(&by);
	bool more = false;

	for (size_t i = 0; i < c->tx_count; i++)
		more |= c->tx[i].req_bytes > most || c->tx[i].rep_bytes > most;
	for (size_t i = 0; i < c->rx_count; i++)
		more |= c->rx[i].req_bytes > most || c->rx[i].rep_bytes > most;
	return more;
}

void hostcfg_free(struct hostcfg *c)
{
	jsonmap_release(&hostcfg_map, c);
}

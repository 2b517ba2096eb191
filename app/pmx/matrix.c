#include "matrix.h"
#include "matrix_frame.h"
#include "matrix_parts.h"
#include "sha256.h"
#include "slurp.h"

#include "units.h"
#include "wire.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TTL_DEFAULT 64 // RFC 1700
#define SECOND_NS 1000000000ull
#define DAY_NS (86400 * SECOND_NS)
#define DURATION_DEFAULT_NS (10 * SECOND_NS)
#define DURATION_MAX_NS (365 * DAY_NS)
#define GAP_MIN_NS 100

const char *const pattern_name[PATTERN_COUNT] = {
	[PATTERN_MESH] = "mesh",
	[PATTERN_CELLS] = "cells",
	[PATTERN_PAIRS] = "pairs",
	[PATTERN_ONE_TO_MANY] = "one-to-many",
	[PATTERN_MANY_TO_ONE] = "many-to-one",
	[PATTERN_HALVES] = "halves",
};
static const char *const stamp_name[STAMP_COUNT] = { "burst", "packet" };
static const char *const transport_name[] = { "ssh", "local" };

static int set_version(const struct yaml_doc *d, const struct yaml_item *v, void *obj,
		       struct err *e)
{
	struct draft *draft = obj;
	char show[96];

	if (v->kind != YAML_TEXT || strcmp(v->text, "1") != 0)
		return pos_fail(d->file, v->pos, e,
				"pmx %s: a format that pmx " PMX_VERSION
				" cannot read: expected 'pmx: 1'",
				yaml_show(v, show, sizeof(show)));
	draft->version_seen = true;
	return 0;
}

bool remote_dir_ok(const char *s)
{
	const char *name = strrchr(s, '/');

	return s[0] == '/' && name_ok(s + 1, "/._-+") && name != s && name[1] != '\0' &&
	       strstr(s, "//") == NULL && strstr(s, "/.") == NULL;
}

static int set_remote_dir(const struct yaml_doc *d, const struct yaml_item *v, void *obj,
			  struct err *e)
{
	static const char form[] = REMOTE_DIR_FORM;
	struct draft *draft = obj;
	char show[96];
	int ret = yaml_want_text(d, v, "remote_dir", form, e);

	if (ret < 0)
		return ret;
	if (!remote_dir_ok(v->text) || strlen(v->text) >= sizeof(draft->m.remote_dir))
		return pos_fail(d->file, v->pos, e, "remote_dir %s: expected %s",
				yaml_show(v, show, sizeof(show)), form);
	memcpy(draft->m.remote_dir, v->text, strlen(v->text) + 1);
	return 0;
}

static int set_rate(const struct yaml_doc *d, const struct yaml_item *v, void *obj, struct err *e)
{
	struct draft *draft = obj;

	return rate_read(d, v, &draft->m.traffic.rate, &draft->m.traffic.line_pct, e);
}

static int set_rtt_p99(const struct yaml_doc *d, const struct yaml_item *v, void *obj,
		       struct err *e)
{
	struct draft *draft = obj;
	uint64_t ns;
	int ret = yaml_want_text(d, v, "rtt_p99", "a time, as 200us", e);

	if (ret < 0)
		return ret;
	if (parse_duration_ns(v->text, &ns, e) < 0)
		return yaml_wrap(d, v->pos, "rtt_p99", e);
	draft->m.limits.rtt_p99_us = (double)ns / 1000;
	return 0;
}

static int set_dscp(const struct yaml_doc *d, const struct yaml_item *v, void *obj, struct err *e)
{
	struct draft *draft = obj;

	return dscp_read(d, v, &draft->m.traffic.dscp, e);
}

static int set_ramp(const struct yaml_doc *d, const struct yaml_item *v, void *obj, struct err *e)
{
	struct draft *draft = obj;

	return ramp_read(d, v, &draft->m.traffic.pacing.ramp, e);
}

#define FIELD(field) YAML_FIELD(struct draft, m.field)
#define AT(field) offsetof(struct draft, m.traffic.at.field)

// clang-format off
static const struct yaml_key ssh_key[] = {
	{ .name = "user", .type = YAML_TYPE_TEXT, FIELD(ssh.user) },
	{ .name = "port", .type = YAML_TYPE_UINT, FIELD(ssh.port), .min = 1, .max = 65535 },
	{ .name = "identity", .type = YAML_TYPE_TEXT, FIELD(ssh.identity) },
	{ .name = "config", .type = YAML_TYPE_TEXT, FIELD(ssh.config) },
	{ .name = "known_hosts", .type = YAML_TYPE_TEXT, FIELD(ssh.known_hosts) },
	{ .name = "sudo", .type = YAML_TYPE_BOOL, FIELD(ssh.sudo) },
	{ .name = "connect_timeout", .type = YAML_TYPE_DURATION, FIELD(ssh.connect_ns),
	  .min = SECOND_NS / 10, .max = 600 * SECOND_NS },
};
// clang-format on
static const struct yaml_table ssh_table = YAML_TABLE("ssh", ssh_key);

// clang-format off
static const struct yaml_key traffic_key[] = {
	{ .name = "request", .type = YAML_TYPE_ITEM, YAML_FIELD(struct draft, request),
	  .pos = AT(request) },
	{ .name = "reply", .type = YAML_TYPE_ITEM, YAML_FIELD(struct draft, reply), .pos = AT(reply) },
	{ .name = "tx_frame", .type = YAML_TYPE_ITEM, YAML_FIELD(struct draft, tx_frame) },
	{ .name = "rx_frame", .type = YAML_TYPE_ITEM, YAML_FIELD(struct draft, rx_frame) },
	{ .name = "dscp", .type = YAML_TYPE_CALL, .set = set_dscp },
	{ .name = "ttl", .type = YAML_TYPE_UINT, FIELD(traffic.ttl), .min = 1, .max = 255 },
	{ .name = "port", .type = YAML_TYPE_UINT, FIELD(traffic.port), .min = 1, .max = 65535 },
	{ .name = "streams", .type = YAML_TYPE_UINT, FIELD(traffic.streams),
	  .min = 1, .max = PAIR_STREAMS_MAX, .pos = AT(streams) },
	{ .name = "window", .type = YAML_TYPE_UINT, FIELD(traffic.window), .max = WINDOW_MAX,
	  .pos = AT(window) },
	{ .name = "stamp", .type = YAML_TYPE_WORD, FIELD(traffic.stamp), .words = stamp_name,
	  .word_count = STAMP_COUNT },
	{ .name = "pattern", .type = YAML_TYPE_WORD, FIELD(traffic.pattern), .words = pattern_name,
	  .word_count = PATTERN_COUNT, .pos = AT(pattern) },
	{ .name = "peers", .type = YAML_TYPE_UINT, FIELD(traffic.peers), .min = 1,
	  .max = HOSTS_MAX - 1, .pos = AT(peers) },
	{ .name = "seed", .type = YAML_TYPE_UINT, FIELD(traffic.seed), .max = SEED_MAX,
	  .pos = AT(seed) },
	{ .name = "dwell", .type = YAML_TYPE_DURATION, FIELD(traffic.dwell_ns),
	  .min = SECOND_NS / 100, .max = DAY_NS, .pos = AT(dwell) },
	{ .name = "equal_layers", .type = YAML_TYPE_BOOL, FIELD(traffic.equal_layers),
	  .pos = AT(equal_layers) },
	{ .name = "hub", .type = YAML_TYPE_ITEM, YAML_FIELD(struct draft, hub), .pos = AT(hub) },
	{ .name = "rate", .type = YAML_TYPE_CALL, .set = set_rate, .pos = AT(rate) },
	{ .name = "burst", .type = YAML_TYPE_UINT, FIELD(traffic.pacing.burst), .min = 1,
	  .max = PACING_BURST_MAX, .pos = AT(burst) },
	{ .name = "gap", .type = YAML_TYPE_DURATION, FIELD(traffic.gap_ns), .min = GAP_MIN_NS,
	  .max = DAY_NS, .pos = AT(gap) },
	{ .name = "spacing", .type = YAML_TYPE_WORD, FIELD(traffic.pacing.spacing),
	  .words = spacing_name, .word_count = SPACINGS, .pos = AT(spacing) },
	{ .name = "ramp", .type = YAML_TYPE_CALL, .set = set_ramp, .pos = AT(ramp) },
	{ .name = "cells", .type = YAML_TYPE_ITEM, YAML_FIELD(struct draft, cells), .pos = AT(cells) },
};
// clang-format on
static const struct yaml_table traffic_table = YAML_TABLE("traffic", traffic_key);

// clang-format off
static const struct yaml_key timing_key[] = {
	{ .name = "warmup", .type = YAML_TYPE_DURATION, FIELD(timing.warmup_ns), .max = DAY_NS },
	{ .name = "duration", .type = YAML_TYPE_DURATION, FIELD(timing.duration_ns),
	  .min = SECOND_NS / 100, .max = DURATION_MAX_NS },
	{ .name = "drain", .type = YAML_TYPE_DURATION, FIELD(timing.drain_ns),
	  .max = 600 * SECOND_NS },
	{ .name = "interval", .type = YAML_TYPE_DURATION, FIELD(timing.interval_ns),
	  .min = SECOND_NS / 10, .max = DAY_NS },
	{ .name = "lease", .type = YAML_TYPE_DURATION, FIELD(timing.lease_ns),
	  .min = 2 * SECOND_NS, .max = DAY_NS }, // pmx renews it twice a second
	{ .name = "resolve", .type = YAML_TYPE_DURATION, FIELD(timing.resolve_ns),
	  .min = SECOND_NS / 10, .max = 600 * SECOND_NS },
	{ .name = "max", .type = YAML_TYPE_DURATION, FIELD(timing.max_ns),
	  .min = SECOND_NS, .max = 365 * DAY_NS },
};
// clang-format on
static const struct yaml_table timing_table = YAML_TABLE("timing", timing_key);

// clang-format off
static const struct yaml_key limits_key[] = {
	{ .name = "loss", .type = YAML_TYPE_PERCENT, FIELD(limits.loss_pct) },
	{ .name = "rtt_p99", .type = YAML_TYPE_CALL, .set = set_rtt_p99 },
	{ .name = "achieved", .type = YAML_TYPE_PERCENT, FIELD(limits.achieved_pct) },
};
// clang-format on
static const struct yaml_table limits_table = YAML_TABLE("limits", limits_key);

// clang-format off
static const struct yaml_key matrix_key[] = {
	{ .name = "pmx", .type = YAML_TYPE_CALL, .set = set_version },
	{ .name = "name", .type = YAML_TYPE_TEXT, FIELD(name) },
	{ .name = "transport", .type = YAML_TYPE_WORD, FIELD(transport), .words = transport_name,
	  .word_count = 2 },
	{ .name = "remote_dir", .type = YAML_TYPE_CALL, .set = set_remote_dir,
	  .pos = offsetof(struct draft, remote_dir_at) },
	{ .name = "ssh", .type = YAML_TYPE_SECTION, .section = &ssh_table },
	{ .name = "defaults", .type = YAML_TYPE_ITEM, YAML_FIELD(struct draft, defaults) },
	{ .name = "hosts", .type = YAML_TYPE_ITEM, YAML_FIELD(struct draft, hosts) },
	{ .name = "traffic", .type = YAML_TYPE_SECTION, .section = &traffic_table,
	  .pos = offsetof(struct draft, traffic_at) },
	{ .name = "timing", .type = YAML_TYPE_SECTION, .section = &timing_table },
	{ .name = "limits", .type = YAML_TYPE_SECTION, .section = &limits_table },
};
// clang-format on
static const struct yaml_table matrix_table = YAML_TABLE("matrix", matrix_key);

static void defaults_fill(struct matrix *m, const char *file)
{
	const char *slash = strrchr(file, '/'), *base = slash == NULL ? file : slash + 1;

	*m = (struct matrix){
		.remote_dir = "/var/tmp/pmx",
		.ssh = { .connect_ns = 10 * SECOND_NS },
		.traffic = { .req_bytes = PMX_PAYLOAD_MIN,
			     .rep_bytes = PMX_PAYLOAD_MIN,
			     .ttl = TTL_DEFAULT,
			     .port = 5300,
			     .streams = 1,
			     .seed = 1,
			     .pacing = { .burst = 1 } },
		.timing = { .warmup_ns = SECOND_NS,
			    .drain_ns = SECOND_NS,
			    .interval_ns = SECOND_NS,
			    .lease_ns = 10 * SECOND_NS,
			    .resolve_ns = 10 * SECOND_NS,
			    .max_ns = DAY_NS },
		.limits = { .loss_pct = -1, .rtt_p99_us = -1, .achieved_pct = -1 },
	};
	snprintf(m->file, sizeof(m->file), "%s", file);
	snprintf(m->name, sizeof(m->name), "%.*s", (int)strcspn(base, "."), base);
}

// The session's socket is the longest name that pmx makes in remote_dir.
static int paths_check(const struct yaml_doc *d, const struct draft *draft, struct err *e)
{
	const struct matrix *m = &draft->m;
	struct pos pos = draft->remote_dir_at.line != 0 ? draft->remote_dir_at : draft->root;

	for (size_t i = 0; i < m->host_count; i++) {
		size_t sub = host_has_subdir(m, i) ? strlen(m->host[i].name) + 1 : 0;
		size_t len = strlen(m->remote_dir) + 1 + sub + strlen("agent.sock");

		if (len > SOCKET_NAME_MAX)
			return pos_fail(
				d->file, pos, e,
				"remote_dir '%s': %zu characters too long for the Unix socket of "
				"host '%s'",
				m->remote_dir, len - SOCKET_NAME_MAX, m->host[i].name);
	}
	return 0;
}

// Without a duration a run is one cycle of its rotation.
static int duration_fill(const struct yaml_doc *d, struct matrix *m, struct err *e)
{
	if (m->timing.duration_ns != 0)
		return 0;
	m->timing.duration_ns = DURATION_DEFAULT_NS;
	if (m->traffic.dwell_ns == 0)
		return 0;
	struct rotation r = matrix_rotation(m);
	m->timing.duration_ns = r.layers * r.dwell_ns;
	if (m->timing.duration_ns <= DURATION_MAX_NS)
		return 0;
	return pos_fail(d->file, m->traffic.at.dwell, e,
			"dwell: a cycle of %u layers takes %.0f days: expected at most %.0f, or a "
			"'duration:'",
			r.layers, (double)m->timing.duration_ns / (double)DAY_NS,
			(double)DURATION_MAX_NS / (double)DAY_NS);
}

static int draft_build(const struct yaml_doc *d, struct draft *draft, struct err *e)
{
	int ret;

	draft->root = d->root->pos;
	ret = yaml_map_read(d, d->root, &matrix_table, draft, e);
	if (ret < 0)
		return ret;
	if (!draft->version_seen)
		return pos_fail(d->file, draft->root, e,
				"pmx is missing: expected the format's version, 'pmx: 1'");
	ret = draft_hosts(d, draft, e);
	if (ret < 0)
		return ret;
	ret = draft_sizes(d, draft, e);
	if (ret < 0)
		return ret;
	ret = gap_settle(d, draft, e);
	if (ret < 0)
		return ret;
	ret = draft_cells(d, draft, e);
	if (ret < 0)
		return ret;
	ret = draft_shape(d, draft, e);
	if (ret == 0)
		ret = duration_fill(d, &draft->m, e);
	return ret < 0 ? ret : paths_check(d, draft, e);
}

int matrix_parse(const char *file, const char *text, size_t len, struct matrix *m, struct err *e)
{
	struct draft draft = { 0 };
	struct yaml_doc d;
	int ret = yaml_doc_parse(file, text, len, &d, e);

	if (ret < 0)
		return ret;
	defaults_fill(&draft.m, file);
	ret = draft_build(&d, &draft, e);
	free(draft.index.order);
	yaml_doc_free(&d);
	if (ret < 0) {
		matrix_free(&draft.m);
		return ret;
	}
	sha256_hex(text, len, draft.m.sha256);
	*m = draft.m;
	return 0;
}

int matrix_load(const char *path, struct matrix *m, struct err *e)
{
	char *text;
	size_t len;
	int ret = slurp(path, &text, &len, e);

	if (ret < 0)
		return ret;
	ret = matrix_parse(strcmp(path, "-") == 0 ? "stdin" : path, text, len, m, e);
	free(text);
	return ret;
}

void matrix_free(struct matrix *m)
{
	free(m->host);
	free(m->traffic.cell);
	free(m->traffic.hub);
	free(m->traffic.req_mix.cycle);
	free(m->traffic.rep_mix.cycle);
	m->host = NULL;
	m->traffic.cell = NULL;
	m->traffic.hub = NULL;
	m->traffic.req_mix.cycle = m->traffic.rep_mix.cycle = NULL;
	m->host_count = m->traffic.cell_count = 0;
}

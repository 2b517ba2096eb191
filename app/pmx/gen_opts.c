#include "gen_opts.h"

#include "sizes.h"
#include "slurp.h"

#include "units.h"
#include "wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PCI_EXAMPLE "0000:3b:00.0"
#define IFACE_EXAMPLE "eth1"

int gen_opts_servers(const char *path, struct servers *s, struct err *e)
{
	char *text;
	size_t len;
	int ret = slurp(path, &text, &len, e);

	if (ret < 0)
		return ret;
	ret = servers_parse(strcmp(path, "-") == 0 ? "stdin" : path, text, len, s, e);
	free(text);
	return ret;
}

static bool has_hubs(enum pattern p)
{
	return p == PATTERN_ONE_TO_MANY || p == PATTERN_MANY_TO_ONE;
}

static enum pattern pattern_of(const char *shape)
{
	enum pattern p = PATTERN_MESH;

	while (p < PATTERN_COUNT && strcmp(pattern_name[p], shape) != 0)
		p++;
	return p;
}

// An option that is there without what it is about, or with what it is instead of.
static int together_check(const struct opts *o, enum pattern pattern, struct err *e)
{
	bool peers = opt_given(o, &o->peers), dwell = opt_given(o, &o->dwell_ns);
	bool drawn = o->spacing != NULL && strcmp(o->spacing, "even") != 0;
	const struct {
		const char *name;
		const void *field;
		bool met;
		const char *want;
	} rule[] = {
		{ "peers", &o->peers, pattern == PATTERN_MESH, "needs --shape mesh" },
		{ "seed", &o->seed, peers || drawn,
		  "needs --peers or --spacing, for which it draws" },
		{ "ramp", &o->ramp_ns, !dwell, "has one rate for each layer: not with --dwell" },
		{ "dwell", &o->dwell_ns, peers, "needs --peers, as many flows as a layer has" },
		{ "equal-layers", &o->equal_layers, dwell, "needs --dwell, the time of a layer" },
		{ "hub", &o->hub, has_hubs(pattern), "needs --shape one-to-many or many-to-one" },
		{ "tx-frame", &o->tx_frame, !opt_given(o, &o->request),
		  "says the same size as --request: give one" },
		{ "rx-frame", &o->rx_frame, !opt_given(o, &o->reply),
		  "says the same size as --reply: give one" },
		{ "expand", &o->expand, !dwell || !o->expand,
		  "has no layers: not with --dwell, whose shape stays one line anyway" },
	};

	for (size_t i = 0; i < sizeof(rule) / sizeof(rule[0]); i++)
		if (opt_given(o, rule[i].field) && !rule[i].met)
			return err_set(e, EINVAL, "option '--%s' %s", rule[i].name, rule[i].want);
	return 0;
}

// What the profile says of the device: whether there must be one, and of which kind.
static int device_look(struct gen *g, const struct profile_dirs *dirs, struct err *e)
{
	struct profile profile;
	int ret;

	g->device_example = PCI_EXAMPLE;
	enum device_kind kind = g->device != NULL ? device_kind(g->device) : DEVICE_NONE;
	if (g->driver == NULL && (kind == DEVICE_IFACE || kind == DEVICE_NET))
		return err_set(e, EINVAL,
			       "option '--device': '%s' is %s: expected --driver af_packet or "
			       "--driver af_xdp with it",
			       g->device,
			       kind == DEVICE_NET ? "a data subnet" : "a kernel interface");
	if (g->driver == NULL)
		return 0;
	ret = profile_load(g->driver, dirs->dir, &profile, e);
	if (ret < 0)
		return ret;
	g->local = profile.peer[0] != '\0'; // a cable between agents on one machine
	if (!profile_needs_device(&profile))
		g->device_example = NULL;
	else if (profile_wants_iface(&profile))
		g->device_example = IFACE_EXAMPLE;
	return 0;
}

static int sizes_check(const struct opts *o, struct err *e)
{
	const struct {
		const char *name, *words;
		uint32_t least, most;
	} size[] = {
		{ "request", o->request, PMX_PAYLOAD_MIN, PAYLOAD_MAX_BYTES },
		{ "reply", o->reply, PMX_PAYLOAD_MIN, PAYLOAD_MAX_BYTES },
		{ "tx-frame", o->tx_frame, FRAME_MIN_BYTES,
		  PAYLOAD_MAX_BYTES + IP4_UDP_OVERHEAD_BYTES },
		{ "rx-frame", o->rx_frame, FRAME_MIN_BYTES,
		  PAYLOAD_MAX_BYTES + IP4_UDP_OVERHEAD_BYTES },
	};

	for (size_t i = 0; i < sizeof(size) / sizeof(size[0]); i++) {
		struct size_words w;

		if (size[i].words == NULL)
			continue;
		if (size_words_parse(size[i].words, size[i].least, size[i].most, &w, e) < 0)
			return err_wrap(e, "option '--%s'", size[i].name);
		size_words_free(&w);
	}
	return 0;
}

int gen_opts_read(const struct opts *o, struct gen *g, struct profile_dirs *dirs, struct err *e)
{
	enum pattern pattern = pattern_of(o->shape);
	bool tx_frame = opt_given(o, &o->tx_frame), rx_frame = opt_given(o, &o->rx_frame);
	int ret = together_check(o, pattern, e);

	if (ret == 0)
		ret = sizes_check(o, e);
	if (ret < 0)
		return ret;
	*g = (struct gen){
		.device = o->device,
		.driver = o->driver,
		.data_net = o->data_net,
		.ssh_user = o->ssh_user,
		.pattern = pattern,
		.peers = o->peers,
		.seed = o->seed,
		.dwell_ns = o->dwell_ns,
		.burst = o->burst,
		.spacing = o->spacing,
		.ramp_ns = o->ramp_ns,
		.equal_layers = o->equal_layers,
		.request = tx_frame ? o->tx_frame : o->request,
		.reply = rx_frame ? o->rx_frame : o->reply,
		.tx_frame = tx_frame,
		.rx_frame = rx_frame,
		.port = o->port,
		.streams = o->streams,
		.queues = o->queues > 0 ? o->queues : 1,
	};
	profile_dirs_find(o->drivers, dirs);
	return device_look(g, dirs, e);
}

static int hub_set(const struct gen *g, const char *name, size_t len, bool *hub, struct err *e)
{
	for (size_t i = 0; i < g->servers->count; i++) {
		const char *server = g->servers->server[i].name;

		if (strlen(server) != len || strncmp(server, name, len) != 0)
			continue;
		if (hub[i])
			return err_set(e, EINVAL, "option '--hub': '%s' a second time", server);
		hub[i] = true;
		return 0;
	}
	return err_set(e, EINVAL, "option '--hub': no server '%.*s' in the list", (int)len, name);
}

int gen_opts_hubs(const struct opts *o, struct gen *g, bool **hub, struct err *e)
{
	const char *name = o->hub != NULL ? o->hub : g->servers->server[0].name;
	size_t count = 1;
	int ret = 0;

	*hub = NULL;
	if (!has_hubs(g->pattern))
		return 0;
	*hub = calloc(g->servers->count, sizeof(**hub));
	if (*hub == NULL)
		return err_set(e, ENOMEM, "out of memory");
	for (; ret == 0; count++) {
		size_t len = strcspn(name, ",");

		ret = hub_set(g, name, len, *hub, e);
		if (name[len] == '\0')
			break;
		name += len + 1;
	}
	if (ret == 0 && count == g->servers->count)
		ret = err_set(e, EINVAL,
			      "option '--hub': all %zu servers: expected one or more "
			      "that are none",
			      count);
	if (ret < 0) {
		free(*hub);
		*hub = NULL;
	}
	g->hub = *hub;
	return ret;
}

int gen_opts_rate(const struct opts *o, struct gen *g, const struct profile_dirs *dirs,
		  struct err *e)
{
	const bool given[] = {
		opt_given(o, &o->pps),
		opt_given(o, &o->host_pps),
		opt_given(o, &o->gbps),
		opt_given(o, &o->line_pct),
	};
	struct gen_goal goal = {
		.host_rate = o->host_pps,
		.host_gbps = o->gbps,
		.line_pct = o->line_pct,
		.nic_gbps = o->nic_gbps,
	};
	int count = 0;

	for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++)
		count += given[i];
	if (count == 0)
		return err_set(e, EINVAL,
			       "how much? Expected one of --pps RATE (of each pair, or max), "
			       "--host-pps RATE, --gbps N (each way of each host) and --line N "
			       "(%% of the link)");
	if (count > 1)
		return err_set(
			e, EINVAL,
			"options '--pps', '--host-pps', '--gbps' and '--line' say how much in "
			"different ways: give one");
	if (given[0]) {
		g->rate = o->pps;
		return 0;
	}
	return gen_size(g, &goal, dirs, e);
}

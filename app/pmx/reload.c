#include "reload.h"

#include "clock.h"
#include "halt.h"
#include "names.h"
#include "session_calls.h"
#include "signals.h"

#include "jsonmap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONFIG_MAX_BYTES (64u << 20)
#define AHEAD_NS (50 * NS_PER_MS)
#define LOOK_NS (300 * NS_PER_MS)
#define SPARE_S 5 // for an agent to be gone, on top of its drain

// --- what there is

static int read_config(struct fleet_host *h, struct reload_host *r, struct err *e)
{
	char path[PATH_MAX], *text;
	json_t *root;
	size_t len;

	snprintf(path, sizeof(path), "%s/" SESSION_CONFIG, h->site.dir);
	int rc = remote_get(h->remote, path, CONFIG_MAX_BYTES, &text, &len, e);
	if (rc == -ENOENT)
		return 0;
	if (rc < 0)
		return rc;
	rc = jsonmap_parse(path, text, len, &root, e);
	free(text);
	if (rc < 0)
		return rc;
	rc = hostcfg_read(root, &r->config, e);
	json_decref(root);
	r->has_config = rc == 0;
	return rc < 0 ? err_wrap(e, "%s", path) : 0;
}

static int look_one(struct fleet_host *h, void *arg, struct err *e)
{
	struct reload_host *r = &((struct reload *)arg)->host[h->index];
	struct site_state site;
	struct hello hello;
	struct err why = { 0 };
	char how[128];

	if (call_who(h, &hello, &why) == 0) {
		r->runs = true;
		r->end_ns = hello.end_ns;
		if (hello.state != AGENT_RUNNING)
			snprintf(r->trouble, sizeof(r->trouble),
				 "its agent is in state %s: only a run that is under way can be "
				 "reloaded",
				 agent_state_name[hello.state]);
		int bad = call_time(h, e);
		return bad < 0 ? bad : read_config(h, r, e);
	}
	int rc = deploy_state(h->remote, &h->site, &site, e);
	if (rc < 0)
		return rc;
	if (site.running)
		return err_set(e, EBUSY, "its agent does not answer: %s", why.msg);
	if (!site.deployed)
		return 0;
	snprintf(r->trouble, sizeof(r->trouble), "its agent is not running (%s)",
		 site.ended[0] != '\0' ? ended_str(site.ended, how, sizeof(how))
				       : "how it ended is not known");
	return read_config(h, r, e);
}

static bool same_run(const struct hostcfg *a, const struct hostcfg *b)
{
	return a->cookie == b->cookie && strcmp(a->run_id, b->run_id) == 0;
}

// Whatever an agent of this run cannot be reloaded for. A host that has nothing of the run is new.
static const char *refusal(struct reload *r, struct reload_host *h)
{
	static char text[ERR_MAX + 64];

	if (!h->has_config || !same_run(&h->config, r->like)) {
		if (h->runs) {
			snprintf(text, sizeof(text), "its agent is of another run ('%s')",
				 h->config.run_id);
			return text;
		}
		h->has_config = false;
		return NULL;
	}
	if (h->trouble[0] != '\0')
		return h->trouble;
	return h->end_ns == 0 ? "its agent does not know when the run ends" : NULL;
}

int reload_look(struct reload *r, struct fleet *f)
{
	int code = EXIT_GOOD;

	*r = (struct reload){ .host = calloc(f->count, sizeof(*r->host)), .count = f->count };
	if (r->host == NULL) {
		complain("out of memory");
		return EXIT_HOST;
	}
	fleet_each(f, FLEET_LIVE, look_one, r);
	if (signals_got() != 0)
		return 128 + signals_got();
	if (fleet_complain(f) > 0) {
		complain("nothing was changed: not every host could be asked");
		return EXIT_HOST;
	}
	for (size_t i = 0; i < r->count && r->like == NULL; i++) {
		if (!r->host[i].runs || !r->host[i].has_config)
			continue;
		r->like = &r->host[i].config;
		r->like_host = i;
	}
	if (r->like == NULL) {
		complain("no agent runs on any host: begin by `pmx start %s`", f->matrix->file);
		return EXIT_HOST;
	}
	if (r->like->lease_ns != 0) {
		complain("the agents belong to a `pmx run` that goes on: only what `pmx start` "
			 "left running can be reloaded");
		return EXIT_HOST;
	}
	for (size_t i = 0; i < r->count; i++) {
		const char *why = refusal(r, &r->host[i]);

		if (why == NULL)
			continue;
		complain("%s: %s", f->host[i].name, why);
		code = EXIT_HOST;
	}
	if (code != EXIT_GOOD)
		complain("nothing was changed: end the run by `pmx stop`, then `pmx start`");
	return code;
}

// --- what is to be done

// Places in the matrix only spread phases: a host is not restarted for them.
static bool differs(const struct hostcfg *have, const struct hostcfg *want)
{
	struct hostcfg same = *have;

	same.host_index = want->host_index;
	same.host_count = want->host_count;
	json_t *a = hostcfg_write(&same), *b = hostcfg_write(want);
	bool other = a == NULL || b == NULL || !json_equal(a, b);
	json_decref(a);
	json_decref(b);
	return other;
}

// The first peer that the matrix has no more, or NULL.
static const char *lost_peer(const struct names *names, const struct hostcfg *c)
{
	for (size_t i = 0; i < c->tx_count; i++)
		if (names_find(names, c->tx[i].peer) == NAME_NONE)
			return c->tx[i].peer;
	for (size_t i = 0; i < c->rx_count; i++)
		if (names_find(names, c->rx[i].peer) == NAME_NONE)
			return c->rx[i].peer;
	return NULL;
}

static int check_peers(const struct reload *r, const struct fleet *f)
{
	struct names names;
	struct err e = { 0 };
	int code = EXIT_GOOD;

	if (names_init(&names, f->matrix, &e) < 0) {
		complain("%s", e.msg);
		return EXIT_HOST;
	}
	for (size_t i = 0; i < r->count && code == EXIT_GOOD; i++) {
		const char *lost = lost_peer(&names, &r->host[i].config);

		if (lost == NULL)
			continue;
		complain("host '%s' belongs to the run and is not in %s: keep it there, without "
			 "cells, or stop and start",
			 lost, f->matrix->file);
		code = EXIT_USAGE;
	}
	names_free(&names);
	return code;
}

// Whether a datagram of theirs has other bytes on the wire: a host's rates go by one such rule.
static bool other_wire(const struct hostcfg *have, const struct hostcfg *want)
{
	struct sender a = hostcfg_sender(have), b = hostcfg_sender(want);
	bool fragments = hostcfg_fragments(have) || hostcfg_fragments(want);

	return a.ip6 != b.ip6 || a.tags != b.tags || (fragments && a.mtu != b.mtu);
}

// What the results of the agents before and after could not be added up for (lives.c). A run has
// it in common, so one host tells.
static int check_sums(const struct reload *r, const struct fleet *f, const struct launch *l)
{
	const struct hostcfg *have = r->like, *want = &l->plan.host[r->like_host];

	if (have->rotation.layers != want->rotation.layers ||
	    have->rotation.dwell_ns != want->rotation.dwell_ns) {
		complain("%s has another rotation than the run, and results of both cannot be "
			 "added up: stop and start",
			 f->matrix->file);
		return EXIT_USAGE;
	}
	for (size_t i = 0; i < r->count; i++) {
		if (!r->host[i].has_config || !other_wire(&r->host[i].config, &l->plan.host[i]))
			continue;
		complain("host '%s': another IP version, number of VLAN tags or MTU (of fragments) "
			 "than in the run, and bit rates of both cannot be told apart: stop and "
			 "start",
			 f->host[i].name);
		return EXIT_USAGE;
	}
	return EXIT_GOOD;
}

int reload_decide(struct reload *r, const struct fleet *f, const struct launch *l)
{
	int code = check_peers(r, f);

	if (code == EXIT_GOOD)
		code = check_sums(r, f, l);

	for (size_t i = 0; i < r->count && code == EXIT_GOOD; i++) {
		struct reload_host *h = &r->host[i];

		h->part = !h->has_config			  ? PART_JOINS
			  : differs(&h->config, &l->plan.host[i]) ? PART_RESTARTS
								  : PART_GOES_ON;
		r->joins += h->part == PART_JOINS;
		r->restarts += h->part == PART_RESTARTS;
		if (h->part == PART_GOES_ON || l->profile[i].peer[0] == '\0')
			continue;
		complain("host '%s': driver '%s' is one end of a cable, and the other end would "
			 "lose its link: stop and start",
			 f->host[i].name, l->profile[i].name);
		code = EXIT_USAGE;
	}
	return code;
}

// --- steps on one host

static int retire_one(struct fleet_host *h, void *arg, struct err *e)
{
	const uint64_t *at = arg;

	return remote_attached(h->remote) ? call_retire(h, clock_theirs(&h->barrier.offset, *at), e)
					  : 0;
}

// Until the old agent is gone; its results get out of the way of the next.
static int replace_one(struct fleet_host *h, void *arg, struct err *e)
{
	const struct reload *r = arg;
	unsigned drain_s = (unsigned)(r->like->drain_ns / NS_PER_S) + SPARE_S;
	enum stop_how how;

	if (r->host[h->index].part == PART_JOINS)
		return launch_prepare(h, NULL, e);
	remote_detach(h->remote);
	int rc = deploy_stop(h->remote, &h->site, drain_s, &how, e);
	if (rc == 0 && how == STOP_KILLED)
		rc = err_set(e, EIO, "its agent did not end when it was told to, and was killed");
	return rc < 0 ? rc : deploy_rotate(h->remote, &h->site, e);
}

struct start {
	const struct reload *reload;
	uint64_t at_ns, end_ns; // ours
};

static int join_one(struct fleet_host *h, void *arg, struct err *e)
{
	const struct start *s = arg;
	const struct reload_host *r = &s->reload->host[h->index];
	const struct hostcfg *like = s->reload->like;
	int rc = call_time(h, e);

	if (rc < 0)
		return rc;
	uint64_t at = clock_theirs(&h->barrier.offset, s->at_ns);
	// a host that ran knows the end by its own clock
	uint64_t left = r->part == PART_RESTARTS ? r->end_ns - at : s->end_ns - s->at_ns;
	uint64_t whole = like->warmup_ns + like->duration_ns;
	if (left > whole)
		return err_set(e, ETIME, "the run was over before its agent could join it");
	return call_join(h, at, whole - left, e);
}

static int tell_one(struct fleet_host *h, void *arg, struct err *e)
{
	const struct reload *r = ((const struct start *)arg)->reload;
	int rc = call_status(h, e);

	if (rc == 0)
		fleet_say(h, "%s, %s",
			  r->host[h->index].part == PART_JOINS ? "joined" : "restarted",
			  agent_state_name[h->status.state]);
	return rc;
}

// --- all of them

static void join_all(struct reload *r, struct fleet *f)
{
	const struct fleet_host *clock = &f->host[r->like_host];
	struct start s = {
		.reload = r,
		.at_ns = raw_ns() + BARRIER_LEAD_NS,
		.end_ns = r->host[r->like_host].end_ns - (uint64_t)clock->barrier.offset.offset_ns,
	};

	fleet_each(f, FLEET_LIVE, join_one, &s);
	while (raw_ns() < s.at_ns + LOOK_NS && signals_got() == 0)
		sleep_ns(20 * NS_PER_MS);
	fleet_each(f, FLEET_LIVE, tell_one, &s);
}

static int attach_one(struct fleet_host *h, void *arg, struct err *e)
{
	const struct reload *r = arg;

	return r->host[h->index].part == PART_RESTARTS ? call_hello(h, NULL, e) : 0;
}

int reload_do(struct reload *r, struct fleet *f, struct launch *l)
{
	uint64_t at = raw_ns() + AHEAD_NS;

	if (f->dry)
		fleet_each(f, FLEET_LIVE, attach_one, r);
	fleet_each(f, FLEET_LIVE, retire_one, &at);
	fleet_each(f, FLEET_LIVE, replace_one, r);
	if (signals_got() == 0)
		launch_agents(l, f);
	if (f->dry) {
		printf("then: time, arm for what is left of the run\n");
		return EXIT_GOOD;
	}
	if (signals_got() == 0)
		launch_wait(f, true);
	if (signals_got() == 0)
		join_all(r, f);
	if (signals_got() != 0) {
		complain("the agents that were to restart are stopped, the others go on");
		halt_agents(f);
		return 128 + signals_got();
	}
	return fleet_complain(f) > 0 ? EXIT_HOST : EXIT_GOOD;
}

void reload_free(struct reload *r)
{
	for (size_t i = 0; r->host != NULL && i < r->count; i++)
		hostcfg_free(&r->host[i].config);
	free(r->host);
	*r = (struct reload){ 0 };
}

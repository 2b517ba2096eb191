#include "clock.h"
#include "cmd.h"
#include "fleet.h"
#include "session_calls.h"
#include "signals.h"
#include "ticker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// What a host is; the names are the words of the text.
enum presence { PRESENT, NOT_RUNNING, NOT_DEPLOYED, UNREACHABLE, FAILED };
static const char *const presence_name[] = {
	[PRESENT] = "PRESENT",
	[NOT_RUNNING] = "NOT-RUNNING",
	[NOT_DEPLOYED] = "NOT-DEPLOYED",
	[UNREACHABLE] = "UNREACHABLE",
	[FAILED] = "FAILED",
};

struct look {
	enum presence presence;
	struct site_state site;
};

static int look_one(struct fleet_host *h, void *arg, struct err *e)
{
	struct look *l = &((struct look *)arg)[h->index];
	char text[400], how[128];
	struct err ignored = { 0 };

	*l = (struct look){ .presence = PRESENT };
	if ((remote_attached(h->remote) || call_hello(h, NULL, &ignored) == 0) &&
	    call_status(h, &ignored) == 0) {
		fleet_say(h, "%s", ticker_status_str(&h->status, text, sizeof(text)));
		return 0;
	}
	if (remote_attached(h->remote) && h->status.state == AGENT_FAILED) {
		l->presence = FAILED;
		fleet_say(h, "FAILED: %s", ignored.msg);
		return 0;
	}
	int rc = deploy_state(h->remote, &h->site, &l->site, e);
	if (rc < 0)
		return rc;
	l->presence = l->site.deployed ? NOT_RUNNING : NOT_DEPLOYED;
	if (l->site.running)
		fleet_say(h, "%s: a process is there, and %s", presence_name[l->presence],
			  ignored.msg);
	else if (l->site.deployed)
		fleet_say(h, "%s%s%s%s", presence_name[l->presence],
			  l->site.ended[0] != '\0' ? ": " : "",
			  ended_str(l->site.ended, how, sizeof(how)),
			  l->site.result ? ", its result is there" : "");
	else
		fleet_say(h, "%s", presence_name[l->presence]);
	return 0;
}

// A host that cannot be asked has its line too, and is asked again the next time.
static void settle(struct fleet *f, struct look *look)
{
	for (size_t i = 0; i < f->count; i++) {
		struct fleet_host *h = &f->host[i];

		if (!h->failed)
			continue;
		look[i].presence = UNREACHABLE;
		fleet_say(h, "UNREACHABLE: %s", h->why);
	}
}

static json_t *host_json(const struct fleet_host *h, const struct look *l)
{
	json_t *o = l->presence == PRESENT ? status_write(&h->status) : json_object();

	json_object_del(o, "ok");
	json_object_set_new(o, "host", json_string(h->name));
	json_object_set_new(o, "presence", json_string(presence_name[l->presence]));
	if (l->presence == UNREACHABLE || l->presence == FAILED)
		json_object_set_new(o, "why", json_string(h->failed ? h->why : h->status.error));
	if (l->site.ended[0] != '\0')
		json_object_set_new(o, "ended", json_string(l->site.ended));
	return o;
}

static int write_json(const struct fleet *f, const struct look *look, const char *path)
{
	json_t *root = json_object(), *hosts = json_array();
	int rc;

	for (size_t i = 0; i < f->count; i++)
		if (f->host[i].chosen)
			json_array_append_new(hosts, host_json(&f->host[i], &look[i]));
	json_object_set_new(root, "hosts", hosts);
	if (strcmp(path, "-") == 0) {
		rc = json_dumpf(root, stdout, JSON_INDENT(1));
		putchar('\n');
	} else {
		rc = json_dump_file(root, path, JSON_INDENT(1));
	}
	json_decref(root);
	if (rc == 0)
		return EXIT_GOOD;
	complain("cannot write %s: %s", path, strerror(errno));
	return EXIT_HOST;
}

static int verdict(const struct fleet *f, const struct look *look)
{
	int code = EXIT_GOOD;

	for (size_t i = 0; i < f->count; i++) {
		if (!f->host[i].chosen)
			continue;
		if (look[i].presence == UNREACHABLE)
			return EXIT_HOST;
		// an agent that ended well and left its result is no problem
		if (look[i].presence != PRESENT &&
		    !(look[i].site.result && strcmp(look[i].site.ended, "exit 0") == 0))
			code = EXIT_LIMIT;
	}
	return code;
}

static int show(struct fleet *f, struct look *look)
{
	const char *json = f->opts->json;
	int code;

	fleet_connect(f);
	fleet_each(f, FLEET_LIVE, look_one, look);
	if (f->dry)
		return EXIT_GOOD;
	if (signals_got() != 0)
		return 128 + signals_got();
	settle(f, look);
	code = json != NULL ? write_json(f, look, json) : EXIT_GOOD;
	if (json == NULL || strcmp(json, "-") != 0)
		fleet_print(f);
	fflush(stdout);
	return code != EXIT_GOOD ? code : verdict(f, look);
}

static int watch(struct fleet *f, struct look *look)
{
	for (;;) {
		uint64_t next = mono_ns() + f->opts->watch_ns;
		int code = show(f, look);

		if (f->opts->watch_ns == 0 || f->dry || signals_got() != 0)
			return code;
		while (mono_ns() < next && signals_got() == 0)
			sleep_ns(20 * NS_PER_MS);
		if (signals_got() != 0)
			return 128 + signals_got();
		for (size_t i = 0; i < f->count; i++)
			f->host[i].failed = false;
	}
}

int cmd_status(struct opts *o)
{
	struct matrix m;
	struct fleet f;
	int code = cmd_load(o, &m);

	if (code != EXIT_GOOD)
		return code;
	code = fleet_init(&f, o, &m, false);
	if (code == EXIT_GOOD) {
		struct look *look = calloc(f.count, sizeof(*look));

		if (o->watch_ns > 0) {
			signals_catch();
			f.cancellable = true;
		}
		code = look != NULL ? watch(&f, look) : EXIT_HOST;
		free(look);
		fleet_free(&f);
	}
	matrix_free(&m);
	return code;
}

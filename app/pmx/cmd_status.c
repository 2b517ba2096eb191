#include "clock.h"
#include "cmd.h"
#include "fleet.h"
#include "poller.h"
#include "screen.h"
#include "session_calls.h"
#include "signals.h"
#include "ticker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_NS (2 * NS_PER_S) // for the first answers of all
#define STALE_PERIODS 3

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
	char why[ERR_MAX]; // UNREACHABLE, FAILED

	// With --watch, under fleet->lock.
	char *line;	// owned; NULL = not asked yet
	uint64_t at_ns; // of the line
};

static int look_at(struct fleet_host *h, struct look *l, struct err *e)
{
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
		snprintf(l->why, sizeof(l->why), "%s", h->status.error);
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

static int look_one(struct fleet_host *h, void *arg, struct err *e)
{
	return look_at(h, &((struct look *)arg)[h->index], e);
}

// A host that cannot be asked has its line too.
static void settle(struct fleet *f, struct look *look)
{
	for (size_t i = 0; i < f->count; i++) {
		struct fleet_host *h = &f->host[i];

		if (!h->failed)
			continue;
		look[i].presence = UNREACHABLE;
		snprintf(look[i].why, sizeof(look[i].why), "%s", h->why);
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
		json_object_set_new(o, "why", json_string(l->why));
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
	settle(f, look);
	code = json != NULL ? write_json(f, look, json) : EXIT_GOOD;
	if (json == NULL || strcmp(json, "-") != 0)
		fleet_print(f);
	return code != EXIT_GOOD ? code : verdict(f, look);
}

// --- again and again: hosts are asked in the background, each at its own pace, so that one that
// does not answer holds up no other and not the screen

static int watch_one(struct fleet_host *h, void *arg, struct err *e)
{
	struct look *look = arg, l = { .presence = UNREACHABLE };
	struct fleet *f = h->fleet;
	char *line = NULL;
	int rc = 0;

	if (h->remote == NULL)
		rc = remote_open(&f->hasty, h->index, REMOTE_LIVE, signals_flag(), &h->remote, e);
	if (rc == 0)
		rc = look_at(h, &l, e);
	if (rc < 0) {
		l.presence = UNREACHABLE;
		snprintf(l.why, sizeof(l.why), "%s", e->msg);
		fleet_say(h, "UNREACHABLE: %s", e->msg);
		remote_close(h->remote); // a new connection the next time
		h->remote = NULL;
	}
	line = h->text;
	h->text = NULL;
	pthread_mutex_lock(f->lock);
	free(look[h->index].line);
	l.line = line;
	l.at_ns = mono_ns();
	look[h->index] = l;
	pthread_mutex_unlock(f->lock);
	return 0;
}

static bool all_asked(const struct fleet *f, const struct look *look)
{
	bool all = true;

	pthread_mutex_lock(f->lock);
	for (size_t i = 0; i < f->count; i++)
		all &= !f->host[i].chosen || look[i].line != NULL;
	pthread_mutex_unlock(f->lock);
	return all;
}

// A line a host; one that is not news says how old it is.
static char *frame(const struct fleet *f, const struct look *look, uint64_t stale_ns)
{
	uint64_t now = mono_ns();
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (out == NULL)
		return NULL;
	pthread_mutex_lock(f->lock);
	for (size_t i = 0; i < f->count; i++) {
		const struct look *l = &look[i];

		if (!f->host[i].chosen)
			continue;
		fprintf(out, "%s: ", f->host[i].name);
		if (l->line == NULL)
			fputs("asking", out);
		else
			fputs(l->line, out);
		if (l->line != NULL && now - l->at_ns > stale_ns)
			fprintf(out, " (%.0f s ago)", (double)(now - l->at_ns) / NS_PER_S);
		fputc('\n', out);
	}
	pthread_mutex_unlock(f->lock);
	return fclose(out) == 0 ? text : NULL;
}

static int show_frame(struct fleet *f, struct look *look, struct screen *s)
{
	const char *json = f->opts->json;
	int code = EXIT_GOOD;

	if (json != NULL) {
		pthread_mutex_lock(f->lock);
		code = write_json(f, look, json);
		pthread_mutex_unlock(f->lock);
		fflush(stdout);
	}
	if (json != NULL && strcmp(json, "-") == 0)
		return code;
	char *text = frame(f, look, STALE_PERIODS * f->opts->watch_ns + NS_PER_S);
	if (text == NULL || screen_show(s, text) < 0)
		code = EXIT_HOST;
	free(text);
	return code;
}

static int watch(struct fleet *f, struct look *look)
{
	uint64_t next = mono_ns();
	struct screen s;
	int code = EXIT_GOOD;

	screen_open(&s);
	for (size_t i = 0; i < f->count; i++)
		fleet_watch(&f->host[i], f->host[i].chosen);
	// twice as often as it is shown, so that a line is never one that was seen before
	poller_begin_step(f, f->opts->watch_ns / 2, watch_one, look);
	while (!all_asked(f, look) && mono_ns() < next + FIRST_NS && signals_got() == 0)
		sleep_ns(20 * NS_PER_MS);
	for (next = mono_ns(); code == EXIT_GOOD && signals_got() == 0;) {
		code = show_frame(f, look, &s);
		for (next += f->opts->watch_ns; mono_ns() < next && signals_got() == 0;)
			sleep_ns(20 * NS_PER_MS);
	}
	poller_end(f);
	for (size_t i = 0; i < f->count; i++)
		free(look[i].line);
	return signals_got() != 0 ? 128 + signals_got() : code;
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
		code = look == NULL		   ? EXIT_HOST
		       : o->watch_ns > 0 && !f.dry ? watch(&f, look)
						   : show(&f, look);
		free(look);
		fleet_free(&f);
	}
	matrix_free(&m);
	return code;
}

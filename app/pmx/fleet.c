#include "fleet.h"

#include "clock.h"
#include "poller.h"
#include "signals.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STACK_BYTES (512u << 10) // struct err is under 1 KB, buffers are 64 KB
#define FAILURE_LOG_LINES 10
#define HASTY_NS (2 * NS_PER_S)

// --- the table

static bool in_list(const char *list, const struct matrix_host *h)
{
	for (const char *p = list; *p != '\0'; p += strcspn(p, ","), p += *p == ',')
		if (host_is(h, p, strcspn(p, ",")))
			return true;
	return false;
}

// Every word of --hosts must name a host.
static int check_hosts(const struct matrix *m, const char *list)
{
	for (const char *p = list; *p != '\0'; p += strcspn(p, ","), p += *p == ',') {
		int len = (int)strcspn(p, ",");
		bool known = false;

		for (size_t i = 0; i < m->host_count && !known; i++)
			known = host_is(&m->host[i], p, (size_t)len);
		if (!known) {
			complain("option '--hosts': '%.*s' is no host of %s", len, p, m->file);
			return EXIT_USAGE;
		}
	}
	return EXIT_GOOD;
}

static int init_host(struct fleet *f, size_t i, const char *agent)
{
	struct fleet_host *h = &f->host[i];
	struct err e = { 0 };

	pthread_mutex_init(&h->busy, NULL);
	pthread_mutex_init(&h->turn, NULL);
	h->fleet = f;
	h->index = i;
	h->name = f->matrix->host[i].name;
	h->chosen = f->opts->hosts == NULL || in_list(f->opts->hosts, &f->matrix->host[i]);
	f->chosen += h->chosen;
	if (site_of(f->matrix, i, agent, &h->site, &e) < 0) {
		complain("%s: %s", h->name, e.msg);
		return EXIT_USAGE;
	}
	return EXIT_GOOD;
}

int fleet_init(struct fleet *f, const struct opts *o, const struct matrix *m, bool launches)
{
	struct err e = { 0 };
	int code = EXIT_GOOD;

	*f = (struct fleet){
		.opts = o, .matrix = m, .hasty = *m, .dry = o->dry_run, .jobs = o->jobs
	};
	if (f->hasty.ssh.connect_ns > HASTY_NS)
		f->hasty.ssh.connect_ns = HASTY_NS;
	if (f->dry)
		f->jobs = 1; // in order
	if (o->hosts != NULL)
		code = check_hosts(m, o->hosts);
	// local agents are told from other processes by their binary: good to know for every verb
	if (code == EXIT_GOOD && (launches || m->transport == TRANSPORT_LOCAL) &&
	    agent_file_open(&f->agent, &e) < 0 && launches) {
		complain("%s", e.msg);
		code = EXIT_HOST;
	}
	if (code == EXIT_GOOD)
		f->host = calloc(m->host_count, sizeof(*f->host));
	f->lock = malloc(sizeof(*f->lock));
	if (f->lock != NULL)
		pthread_mutex_init(f->lock, NULL);
	if (code == EXIT_GOOD && (f->host == NULL || f->lock == NULL)) {
		complain("out of memory");
		code = EXIT_HOST;
	}
	f->count = f->host != NULL ? m->host_count : 0;
	for (size_t i = 0; i < f->count && code == EXIT_GOOD; i++)
		code = init_host(f, i, f->agent.path[0] != '\0' ? f->agent.path : NULL);
	if (code != EXIT_GOOD)
		fleet_free(f);
	return code;
}

static int close_one(struct fleet_host *h, void *arg, struct err *e)
{
	(void)arg;
	(void)e;
	remote_close(h->remote);
	h->remote = NULL;
	return 0;
}

void fleet_disconnect(struct fleet *f)
{
	fleet_each(f, FLEET_OPEN, close_one, NULL);
}

void fleet_free(struct fleet *f)
{
	poller_end(f);
	fleet_disconnect(f);
	for (size_t i = 0; i < f->count; i++) {
		struct fleet_host *h = &f->host[i];

		remote_close(h->remote); // of one that is not chosen any more
		free(h->log);
		free(h->text);
		if (h->result != NULL)
			result_free(h->result);
		free(h->result);
		for (size_t k = 0; k < h->lives; k++)
			result_free(&h->older[k]);
		free(h->older);
	}
	free(f->host);
	free(f->lock);
	agent_file_close(&f->agent);
	*f = (struct fleet){ 0 };
}

// --- the same step on each

struct crew {
	struct fleet *fleet;
	enum fleet_which which;
	fleet_step step;
	void *arg;
	atomic_size_t next, failed;
};

static bool has_failed(const struct fleet_host *h)
{
	pthread_mutex_lock(h->fleet->lock);
	bool failed = h->failed;
	pthread_mutex_unlock(h->fleet->lock);
	return failed;
}

static bool is_meant(const struct fleet_host *h, enum fleet_which which)
{
	switch (which) {
	case FLEET_LIVE:
		return h->chosen && !has_failed(h);
	case FLEET_OPEN:
		return h->chosen && h->remote != NULL;
	case FLEET_CHOSEN:
		return h->chosen;
	case FLEET_LAUNCHED:
		return h->launched && h->remote != NULL;
	}
	return false;
}

static void *work(void *arg)
{
	struct crew *c = arg;
	size_t i;

	signals_block();
	while ((i = atomic_fetch_add(&c->next, 1)) < c->fleet->count) {
		struct fleet_host *h = &c->fleet->host[i];
		struct err e = { 0 };

		if (!is_meant(h, c->which))
			continue;
		pthread_mutex_lock(&h->busy);
		if (h->remote != NULL)
			remote_set_cancel(h->remote, c->fleet->cancellable ? signals_flag() : NULL);
		if (c->step(h, c->arg, &e) < 0) {
			atomic_fetch_add(&c->failed, 1);
			fleet_fail(h, &e);
		}
		pthread_mutex_unlock(&h->busy);
	}
	return NULL;
}

size_t fleet_each(struct fleet *f, enum fleet_which which, fleet_step step, void *arg)
{
	struct crew c = { .fleet = f, .which = which, .step = step, .arg = arg };
	size_t want = 0, n = 0;
	pthread_t *thread;
	pthread_attr_t attr;

	for (size_t i = 0; i < f->count; i++)
		want += is_meant(&f->host[i], which);
	if (want > f->jobs)
		want = f->jobs;
	thread = calloc(want > 0 ? want : 1, sizeof(*thread));
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	while (thread != NULL && n < want && pthread_create(&thread[n], &attr, work, &c) == 0)
		n++;
	if (n == 0 && want > 0)
		work(&c); // no thread to be had: one after the other, here
	for (size_t i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	pthread_attr_destroy(&attr);
	free(thread);
	return c.failed;
}

size_t fleet_live(const struct fleet *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->count; i++)
		n += is_meant(&f->host[i], FLEET_LIVE);
	return n;
}

size_t fleet_failed(const struct fleet *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->count; i++)
		n += has_failed(&f->host[i]);
	return n;
}

bool fleet_status(const struct fleet_host *h, struct status *s)
{
	pthread_mutex_lock(h->fleet->lock);
	bool live = h->chosen && !h->failed;
	*s = h->status;
	pthread_mutex_unlock(h->fleet->lock);
	return live;
}

void fleet_watch(struct fleet_host *h, bool watched)
{
	pthread_mutex_lock(h->fleet->lock);
	h->watched = watched;
	h->poll_ns = 0;
	h->polls = 0;
	pthread_mutex_unlock(h->fleet->lock);
}

pthread_mutex_t *fleet_turn(struct fleet_host *h)
{
	struct fleet *f = h->fleet;

	return &f->host[f->matrix->host[h->index].first].turn;
}

static int connect_one(struct fleet_host *h, void *arg, struct err *e)
{
	struct fleet *f = h->fleet;

	(void)arg;
	int rc = remote_open(f->matrix, h->index, f->dry ? REMOTE_DRY : REMOTE_LIVE,
			     f->cancellable ? signals_flag() : NULL, &h->remote, e);
	if (rc == 0)
		fleet_detail(h, "connected");
	return rc;
}

size_t fleet_connect(struct fleet *f)
{
	return fleet_each(f, FLEET_LIVE, connect_one, NULL);
}

// --- failures and words

void fleet_fail(struct fleet_host *h, const struct err *e)
{
	char ended[64] = "", how[128], why[ERR_MAX], *log = NULL;
	struct err ignored = { 0 };

	if (has_failed(h))
		return;
	snprintf(why, sizeof(why), "%s", e->msg);
	// whoever wants to end the run does not wait for a host that does not answer
	bool hurry = signals_got() != 0 && h->remote != NULL && remote_is_suspect(h->remote);
	if (h->launched && h->remote != NULL && e->code != ECANCELED && !hurry) {
		remote_set_cancel(h->remote, NULL);
		deploy_log(h->remote, &h->site, FAILURE_LOG_LINES, &log, ended, sizeof(ended),
			   &ignored);
	}
	if (ended[0] != '\0')
		snprintf(why, sizeof(why), "%.600s; it %s", e->msg,
			 ended_str(ended, how, sizeof(how)));
	pthread_mutex_lock(h->fleet->lock);
	h->failed = true;
	memcpy(h->why, why, sizeof(why));
	free(h->log);
	h->log = log;
	pthread_mutex_unlock(h->fleet->lock);
}

static void print_lines(FILE *f, const char *name, const char *mark, const char *text)
{
	while (*text != '\0') {
		size_t n = strcspn(text, "\n");

		fprintf(f, "%s%s%.*s\n", name, mark, (int)n, text);
		text += n + (text[n] == '\n');
	}
}

// Under fleet->lock.
static bool tell_failure(struct fleet_host *h)
{
	if (!h->failed || h->told)
		return false;
	complain("%s: %s", h->name, h->why);
	if (h->log != NULL)
		print_lines(stderr, h->name, "| ", h->log);
	h->told = true;
	return true;
}

size_t fleet_complain(struct fleet *f)
{
	size_t failed = 0;
	bool news = false;

	pthread_mutex_lock(f->lock);
	for (size_t i = 0; i < f->count; i++) {
		news |= tell_failure(&f->host[i]);
		failed += f->host[i].failed;
	}
	if (news)
		fprintf(stderr, "FAILED on %zu/%zu:", failed, f->chosen);
	for (size_t i = 0, n = 0; i < f->count && news; i++)
		if (f->host[i].failed)
			fprintf(stderr, "%s%s", n++ > 0 ? ", " : " ", f->host[i].name);
	if (news)
		fputc('\n', stderr);
	pthread_mutex_unlock(f->lock);
	return failed;
}

void fleet_print(struct fleet *f)
{
	for (size_t i = 0; i < f->count; i++) {
		struct fleet_host *h = &f->host[i];

		if (h->text != NULL)
			print_lines(stdout, h->name, ": ", h->text);
		free(h->text);
		h->text = NULL;
	}
}

void fleet_say(struct fleet_host *h, const char *fmt, ...)
{
	va_list ap;

	free(h->text);
	va_start(ap, fmt);
	if (vasprintf(&h->text, fmt, ap) < 0)
		h->text = NULL;
	va_end(ap);
}

void fleet_detail(const struct fleet_host *h, const char *fmt, ...)
{
	char line[512];
	va_list ap;

	if (!h->fleet->opts->verbose || h->fleet->dry)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	fprintf(stderr, "%s: %s\n", h->name, line);
}

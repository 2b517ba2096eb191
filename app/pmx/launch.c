#include "launch.h"

#include "blame.h"
#include "clock.h"
#include "halt.h"
#include "locate.h"
#include "poller.h"

#include "session_calls.h"
#include "signals.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define READY_POLL_NS (20 * NS_PER_MS)
#define READY_SPARE_NS (5 * NS_PER_S) // on top of the time that neighbours may take
#define HOSTS_MIN 2

// --- the plan

static int identify(struct plan_input *in)
{
	time_t now = time(NULL);
	struct tm utc;
	char stamp[32];

	while (in->cookie == 0)
		if (getrandom(&in->cookie, sizeof(in->cookie), 0) < 0)
			return -errno;
	gmtime_r(&now, &utc);
	strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &utc);
	snprintf(in->run_id, sizeof(in->run_id), "%s-%04x", stamp, in->cookie);
	return 0;
}

static int make_plan(struct launch *l)
{
	struct err e = { 0 };

	if (l->planned)
		plan_free(&l->plan);
	l->planned = plan_build(&l->input, &l->plan, &e) == 0;
	if (l->planned)
		return EXIT_GOOD;
	complain("%s", e.msg);
	return e.code == ENOMEM ? EXIT_HOST : EXIT_USAGE;
}

static int load_profiles(struct launch *l, const struct fleet *f)
{
	struct profile_dirs dirs;
	struct err e = { 0 };

	free(l->profile);
	l->profile = NULL;
	profile_dirs_find(f->opts->drivers, &dirs);
	if (profile_load_all(&l->matrix, dirs.dir, &l->profile, &e) == 0) {
		l->input.profile = l->profile;
		return EXIT_GOOD;
	}
	complain("%s", e.msg);
	return EXIT_USAGE;
}

int launch_init(struct launch *l, const struct fleet *f, uint64_t duration_ns, uint64_t lease_ns)
{
	const struct matrix *m = f->matrix;

	*l = (struct launch){ .matrix = *m };
	l->matrix.host = calloc(m->host_count, sizeof(*m->host));
	if (l->matrix.host == NULL) {
		complain("out of memory");
		return EXIT_HOST;
	}
	memcpy(l->matrix.host, m->host, m->host_count * sizeof(*m->host));
	int code = load_profiles(l, f);
	if (code != EXIT_GOOD)
		return code;
	l->excluded = calloc(m->host_count, sizeof(*l->excluded));
	l->input = (struct plan_input){
		.matrix = &l->matrix,
		.profile = l->profile,
		.excluded = l->excluded,
		.local_cpus = (unsigned)sysconf(_SC_NPROCESSORS_ONLN),
		.warmup_ns = m->timing.warmup_ns,
		.duration_ns = duration_ns,
		.lease_ns = lease_ns,
	};
	if (l->excluded == NULL || identify(&l->input) < 0) {
		complain("out of memory, or no random numbers");
		return EXIT_HOST;
	}
	return make_plan(l);
}

int launch_replan(struct launch *l, const struct hostcfg *like)
{
	l->input.cookie = like->cookie;
	memcpy(l->input.run_id, like->run_id, sizeof(l->input.run_id));
	l->input.warmup_ns = like->warmup_ns;
	l->input.duration_ns = like->duration_ns;
	l->input.lease_ns = like->lease_ns;
	return make_plan(l);
}

void launch_free(struct launch *l)
{
	if (l->planned)
		plan_free(&l->plan);
	free(l->profile);
	free(l->excluded);
	free(l->matrix.host);
	*l = (struct launch){ 0 };
}

// --- steps on one host

int launch_prepare(struct fleet_host *h, void *arg, struct err *e)
{
	bool uploaded;

	(void)arg;
	pthread_mutex_lock(fleet_turn(h)); // one copy of the agent is all that its ports need
	int rc = deploy_prepare(h->remote, &h->site, &h->fleet->agent, &uploaded, e);
	pthread_mutex_unlock(fleet_turn(h));
	if (rc == 0)
		fleet_detail(h, uploaded ? "agent copied" : "agent is there");
	return rc;
}

static int launch_one(struct fleet_host *h, void *arg, struct err *e)
{
	struct launch *l = arg;
	json_t *root = hostcfg_write(&l->plan.host[h->index]);
	char *text = root != NULL ? json_dumps(root, JSON_INDENT(1)) : NULL;

	json_decref(root);
	if (text == NULL)
		return err_set(e, ENOMEM, "out of memory");
	h->launched = true;
	pthread_mutex_lock(fleet_turn(h)); // the next one counts the hugepages that are left
	int rc = deploy_launch(h->remote, &h->site, text, strlen(text), e);
	pthread_mutex_unlock(fleet_turn(h));
	free(text);
	if (rc == 0)
		rc = call_hello(h, l->input.run_id, e);
	if (rc < 0)
		return rc;
	fleet_detail(h, "agent launched");
	fleet_watch(h, true);
	return 0;
}

// Only those that are to blame fail: the others would be ready without them.
static int timeout_one(struct fleet_host *h, void *arg, struct err *e)
{
	const bool *blamed = arg;
	struct status s;

	if (!blamed[h->index] || !fleet_status(h, &s))
		return 0;
	if (s.state == AGENT_READY)
		return err_set(e, ETIMEDOUT, "the others get no answer from its data address");
	return err_set(e, ETIMEDOUT, "not ready in time: %s",
		       s.error[0] != '\0' ? s.error : agent_state_name[s.state]);
}

// --- all of them

static bool all_ready(const struct fleet *f)
{
	struct status s;

	for (size_t i = 0; i < f->count; i++)
		if (fleet_status(&f->host[i], &s) && s.state < AGENT_READY)
			return false;
	return true;
}

static void give_up(struct fleet *f)
{
	const char **waits = calloc(f->count, sizeof(*waits));
	struct status *s = calloc(f->count, sizeof(*s));
	bool *blamed = calloc(f->count, sizeof(*blamed));

	if (waits != NULL && s != NULL && blamed != NULL) {
		for (size_t i = 0; i < f->count; i++)
			if (fleet_status(&f->host[i], &s[i]) && s[i].state != AGENT_READY)
				waits[i] = s[i].error;
		blame_find(f->matrix, waits, blamed);
		fleet_each(f, FLEET_LIVE, timeout_one, blamed);
	}
	free(waits);
	free(s);
	free(blamed);
}

void launch_wait(struct fleet *f, bool patient)
{
	uint64_t deadline = mono_ns() + f->matrix->timing.resolve_ns + READY_SPARE_NS;

	for (;;) {
		if (all_ready(f) || signals_got() != 0)
			return;
		// a failure that stops the run need not wait for the others
		if (fleet_failed(f) > 0 && !patient)
			return;
		if (mono_ns() > deadline) {
			give_up(f);
			return;
		}
		sleep_ns(READY_POLL_NS);
	}
}

// Whether to go on with what is left: EXIT_GOOD, EXIT_HOST, or 128 + signal.
static int judge(struct fleet *f)
{
	if (signals_got() != 0)
		return 128 + signals_got();
	if (fleet_complain(f) == 0)
		return EXIT_GOOD;
	if (!f->opts->allow_partial) {
		complain("nothing was measured%s",
			 fleet_live(f) >= HOSTS_MIN
				 ? "; --allow-partial would leave out what failed"
				 : "");
		return EXIT_HOST;
	}
	if (fleet_live(f) >= HOSTS_MIN)
		return EXIT_GOOD;
	complain("nothing was measured: fewer than %d hosts are left", HOSTS_MIN);
	return EXIT_HOST;
}

// Plans without the hosts that have failed.
static int plan_again(struct launch *l, const struct fleet *f)
{
	bool news = false;

	for (size_t i = 0; i < f->count; i++) {
		news |= f->host[i].failed && !l->excluded[i];
		l->excluded[i] = f->host[i].failed;
	}
	int code = news ? make_plan(l) : EXIT_GOOD;
	if (code == EXIT_GOOD && l->plan.flow_count == 0) {
		complain("nothing was measured: no flow is left between the hosts that are");
		code = EXIT_HOST;
	}
	return code;
}

void launch_agents(struct launch *l, struct fleet *f)
{
	note(f->opts, "launching %zu agents", fleet_live(f));
	poller_begin(f, l->input.lease_ns);
	fleet_each(f, FLEET_LIVE, launch_one, l);
}

static int launch_round(struct launch *l, struct fleet *f)
{
	launch_agents(l, f);
	int code = judge(f);
	if (code != EXIT_GOOD || f->dry)
		return code;
	note(f->opts, "waiting for links and neighbours");
	launch_wait(f, f->opts->allow_partial);
	return judge(f);
}

static int locate_one(struct fleet_host *h, void *arg, struct err *e)
{
	struct launch *l = arg;
	struct matrix_host *host = &l->matrix.host[h->index];
	struct located found;

	if (l->profile[h->index].makes_iface)
		return 0;
	int rc = locate_device(h->remote, host->device, "", &found, e);

	if (rc < 0 || remote_is_dry(h->remote) || (found.iface[0] == '\0' && found.pci[0] == '\0'))
		return rc;
	fleet_detail(h, "device %s is %s %s", host->device, found.iface, found.pci);
	return locate_settle(&found, l->profile[h->index].virtual, host, e);
}

int launch_locate(struct launch *l, struct fleet *f)
{
	fleet_each(f, FLEET_LIVE, locate_one, l);
	int code = load_profiles(l, f); // a PCI device may have one of its own
	if (code == EXIT_GOOD)
		code = make_plan(l);
	return code;
}

int launch_all(struct launch *l, struct fleet *f)
{
	size_t failed;
	int code;

	f->cancellable = true;
	note(f->opts, "connecting to %zu hosts", f->chosen);
	fleet_connect(f);
	code = judge(f);
	if (code == EXIT_GOOD)
		code = launch_locate(l, f);
	if (code == EXIT_GOOD)
		code = judge(f);
	if (code == EXIT_GOOD) {
		fleet_each(f, FLEET_LIVE, launch_prepare, NULL);
		code = judge(f);
	}
	do {
		failed = fleet_failed(f);
		if (code == EXIT_GOOD)
			code = plan_again(l, f);
		if (code == EXIT_GOOD)
			code = launch_round(l, f);
		// agents that know of a host that is gone must be told anew
		if (code == EXIT_GOOD && fleet_failed(f) > failed)
			halt_agents(f);
	} while (code == EXIT_GOOD && fleet_failed(f) > failed);
	f->cancellable = false;
	if (code != EXIT_GOOD)
		halt_agents(f);
	return code;
}

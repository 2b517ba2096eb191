// The end of an agent, of its directory, and what is left of either.
#include "deploy.h"

#include "clock.h"
#include "deploy_sh.h"

#include "session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KILL_WAIT_S 4

const char *const stop_how_name[STOP_HOWS] = {
	[STOP_NOT_RUNNING] = "not running",
	[STOP_STOPPED] = "stopped",
	[STOP_KILLED] = "killed",
};

// $1 base, $2 directory, $3 agent
static const char state_script[] =
	SH_PIDS "[ -e \"$1/" SH_MARK "\" ] && cd \"$2\" 2>/dev/null || exit 0; echo deployed; "
		"[ -z \"$(pids \"$2\" \"$3\")\" ] || echo running; "
		"[ ! -e " SESSION_RESULT " ] || echo result; "
		"[ ! -e " SESSION_EXIT " ] || echo \"ended $(head -n 1 " SESSION_EXIT ")\"";

static bool has_line(const char *text, const char *line)
{
	size_t len = strlen(line);

	for (const char *p = text; (p = strstr(p, line)) != NULL; p += len)
		if ((p == text || p[-1] == '\n') && (p[len] == '\n' || p[len] == '\0'))
			return true;
	return false;
}

int deploy_state(struct remote *r, const struct site *s, struct site_state *state, struct err *e)
{
	const struct script script = { .what = "look at the directory",
				       .text = state_script,
				       .args = { s->base, s->dir, s->agent } };
	struct output o;
	int rc = remote_check(r, &script, &o, e);

	*state = (struct site_state){ 0 };
	if (rc == 0) {
		const char *ended = strstr(o.out, "ended ");

		state->deployed = has_line(o.out, "deployed");
		state->running = has_line(o.out, "running");
		state->result = has_line(o.out, "result");
		if (ended != NULL)
			snprintf(state->ended, sizeof(state->ended), "%.*s",
				 (int)strcspn(ended + 6, "\n"), ended + 6);
	}
	output_free(&o);
	return rc;
}

// $1 directory, $2 agent, $3 tenths of a second to wait. "late" with the processes that are left.
static const char wait_script[] =
	SH_PIDS "i=0; while p=$(pids \"$1\" \"$2\"); [ -n \"$p\" ]; do "
		"[ $i -lt \"$3\" ] || { echo late $p; exit 0; }; "
		"[ $i -ge 5 ] && sleep 0.1 || sleep 0.02; i=$((i+1)); done; "
		"[ $i -eq 0 ] && echo none || echo gone";

// One that was stopped (SIGSTOP) goes on to take the signal, and its supervisor to write it down.
// $1 directory, $2 agent, $3 signal, $4 "proper": only the agent itself, so that its supervisor can
// still say how it ended.
static const char kill_script[] =
	SH_PIDS "p=$(pids \"$1\" \"$2\"); a=$p; q=; [ -z \"$4\" ] || q=$(cat \"$1/" SESSION_PID
		"\" 2>/dev/null); "
		"for x in $p; do [ \"$x\" != \"$q\" ] || p=$x; done; "
		"[ -z \"$p\" ] || { kill -\"$3\" $p; s=$?; kill -CONT $a 2>/dev/null; exit $s; }";

// Whether agents are still there after a while; *was: there was one to wait for.
static int wait_gone(struct remote *r, const struct site *s, unsigned wait_s, bool *late, bool *was,
		     struct err *e)
{
	char tenths[16];
	const struct script script = { .what = "wait for the agent to be gone",
				       .text = wait_script,
				       .args = { s->dir, s->agent, tenths },
				       .timeout_ns = (wait_s + 30) * NS_PER_S };
	struct output o;

	snprintf(tenths, sizeof(tenths), "%u", wait_s * 10);
	int rc = remote_check(r, &script, &o, e);
	if (rc == 0) {
		*late = strncmp(o.out, "late", 4) == 0;
		*was = *late || strcmp(o.out, "gone\n") == 0;
	}
	output_free(&o);
	return rc;
}

struct kill_step {
	const char *signal, *whom;
	enum stop_how how;
};

static int send_signal(struct remote *r, const struct site *s, const struct kill_step *step,
		       struct err *e)
{
	const struct script script = { .what = "signal the agent",
				       .text = kill_script,
				       .args = { s->dir, s->agent, step->signal, step->whom } };
	struct output o;
	int rc = remote_check(r, &script, &o, e);

	output_free(&o);
	return rc;
}

int deploy_stop(struct remote *r, const struct site *s, unsigned wait_s, enum stop_how *how,
		struct err *e)
{
	static const struct kill_step steps[] = {
		{ "TERM", "", STOP_STOPPED },
		{ "KILL", "proper", STOP_KILLED },
		{ "KILL", "", STOP_KILLED },
	};
	bool late = false, was = false;
	int rc = wait_gone(r, s, wait_s, &late, &was, e);

	*how = was ? STOP_STOPPED : STOP_NOT_RUNNING;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && rc == 0 && late; i++) {
		rc = send_signal(r, s, &steps[i], e);
		if (rc == 0)
			rc = wait_gone(r, s, KILL_WAIT_S, &late, &was, e);
		*how = steps[i].how;
	}
	if (rc == 0 && late)
		rc = err_set(e, EBUSY, "the agent in %s does not end, not even by SIGKILL", s->dir);
	return rc;
}

// off DIR: takes the XDP program off that an agent in DIR left on its interface, killed together
// with its supervisor; only the one that it wrote down (boot and id), whatever the mode it is on
// in.
#define SH_XDP                                                                              \
	"has() { case \"$(ip -d -o link show dev \"$1\" 2>/dev/null) \" in "                \
	"*prog/xdp*\" id $2 \"*) ;; *) return 1;; esac; }; "                                \
	"off() { [ -f \"$1/" SESSION_XDP "\" ] && read -r b n i < \"$1/" SESSION_XDP        \
	"\" && [ \"$b\" = \"$(cat /proc/sys/kernel/random/boot_id)\" ] && "                 \
	"[ -e \"/sys/class/net/$i\" ] || return 0; command -v ip > /dev/null || "           \
	"bad \"no ip (iproute2) here to see to the XDP program ($n) of the agent on $i\"; " \
	"for k in xdp xdpdrv xdpgeneric; do has \"$i\" \"$n\" || break; "                   \
	"m=$(ip link set dev \"$i\" $k off 2>&1); done; has \"$i\" \"$n\" || return 0; "    \
	"bad \"the XDP program ($n) that the agent left on $i stays: $m: as root: "         \
	"ip link set dev $i xdp off\"; }; "

// $1 base, $2 directory, $3 agent. The mark goes last: what could not be removed is still pmx's own
// the next time. What somebody mounted in there is not emptied. Directories of other local agents
// keep the base; the last of them may be removing it right now.
static const char clean_script[] = SH_BAD SH_PIDS SH_XDP
	"gone() { for f in \"$1\"/* \"$1\"/.[!.]* \"$1\"/..?*; do [ \"$f\" = \"$1/" SH_MARK
	"\" ] || "
	"rm -rf --one-file-system \"$f\" || exit 1; done; rm -rf --one-file-system \"$1\" || exit "
	"1; }; "
	"[ ! -L \"$1\" ] || bad \"$1 is a symbolic link, pmx did not make it: not removed\"; "
	"if [ -e \"$1\" ]; then "
	"[ -e \"$1/" SH_MARK "\" ] || { sleep 0.3; [ ! -e \"$1\" ]; } || "
	"bad \"pmx did not make $1: not removed\"; "
	"[ -O \"$1\" ] || [ ! -e \"$1\" ] || bad \"$1 belongs to another user: not removed\"; "
	"[ -n \"$(pids \"$2\" \"$3\")\" ] || off \"$2\"; gone \"$2\"; left=; "
	"for d in \"$1\"/*/; do [ ! -d \"$d\" ] || left=$d; done; "
	"[ -n \"$left\" ] || gone \"$1\"; echo removed; fi; "
	"[ ! -e \"$2\" ] || bad \"$2 is still there\"; "
	"p=$(pids \"$2\" \"$3\"); [ -z \"$p\" ] || bad \"an agent still runs: process \"$p";

int deploy_clean(struct remote *r, const struct site *s, bool *was_there, struct err *e)
{
	const struct script script = { .what = "remove the directory",
				       .text = clean_script,
				       .args = { s->base, s->dir, s->agent } };
	struct output o;
	int rc = remote_check(r, &script, &o, e);

	*was_there = rc == 0 && strcmp(o.out, "removed\n") == 0;
	output_free(&o);
	return rc;
}

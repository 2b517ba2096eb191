#include "deploy.h"

#include "clock.h"
#include "deploy_sh.h"

#include "session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#define LAUNCH_NS (90 * NS_PER_S) // zeroing hugepages takes its time
#define AGENT_MODE 0755

int site_of(const struct matrix *m, size_t host, const char *agent, struct site *s, struct err *e)
{
	snprintf(s->base, sizeof(s->base), "%s", m->remote_dir);
	snprintf(s->dir, sizeof(s->dir), "%s", s->base);
	if (host_has_subdir(m, host))
		snprintf(s->dir, sizeof(s->dir), "%s/%s", s->base, m->host[host].name);
	if (m->transport == TRANSPORT_LOCAL)
		snprintf(s->agent, sizeof(s->agent), "%s", agent != NULL ? agent : "pmx-agent");
	else
		snprintf(s->agent, sizeof(s->agent), "%s/pmx-agent", s->base);
	if (strlen(s->dir) + strlen("/" SESSION_SOCKET) > SOCKET_NAME_MAX)
		return err_set(e, ENAMETOOLONG,
			       "%s/" SESSION_SOCKET
			       " is too long for a Unix socket (%d bytes): choose "
			       "a shorter --remote-dir",
			       s->dir, SOCKET_NAME_MAX);
	return 0;
}

// $1 base, $2 directory, $3 agent. A local host's directory may be made by several at once.
static const char prepare_script[] = SH_BAD SH_PIDS
	"for d in \"$1\" \"$2\"; do "
	"[ ! -L \"$d\" ] || bad \"$d is a symbolic link: choose another --remote-dir\"; "
	"m=$(mkdir -p \"$d\" 2>&1) || bad \"$m: choose another --remote-dir\"; "
	"[ -O \"$d\" ] || bad \"$d belongs to another user: choose another --remote-dir\"; "
	"[ \"$d\" = \"$1\" ] || continue; "
	"[ -e \"$d/" SH_MARK "\" ] || [ -z \"$(ls -A \"$d\")\" ] || [ -e \"$d/" SH_MARK "\" ] || "
	"bad \"$d holds files, and pmx did not make it: choose another --remote-dir\"; "
	"m=$(touch \"$d/" SH_MARK "\" 2>&1) || bad \"$m\"; done; "
	"p=$(pids \"$2\" \"$3\"); [ -z \"$p\" ] || { echo running; exit 0; }; "
	"cd \"$2\" && rm -f " SESSION_SOCKET " " SESSION_LOG " " SESSION_CONFIG " " SESSION_RESULT
	" " SESSION_REPORT " " SESSION_PID " " SESSION_EXIT " " SESSION_RESUME
	" result.[0-9]*.json report.[0-9]*.csv agent.[0-9]*.log *.part || exit 1; "
	"uname -m; sha256sum < \"$3\" 2>/dev/null || true";

// An agent that has finished waits for its lease only to be asked for its result.
static int send_away(struct remote *r, const struct site *s, struct err *e)
{
	json_t *ask = json_pack("{s:s}", "cmd", "status"), *answer = NULL;
	json_t *quit = json_pack("{s:s}", "cmd", "quit");
	struct status status = { .state = AGENT_RUNNING };
	enum stop_how how;
	int rc = remote_attach(r, s->agent, s->dir, e);

	if (rc == 0)
		rc = remote_call(r, ask, 5 * NS_PER_S, &answer, e);
	if (rc == 0)
		rc = status_read(answer, &status, e);
	json_decref(answer);
	if (rc == 0 && (status.state == AGENT_DONE || status.state == AGENT_FAILED)) {
		remote_call(r, quit, 5 * NS_PER_S, &answer, NULL);
		json_decref(answer);
		rc = deploy_stop(r, s, 5, &how, e);
	} else {
		rc = err_set(e, EBUSY, "an agent runs in %s already (%s): end it by `pmx stop`",
			     s->dir,
			     rc == 0 ? agent_state_name[status.state] : "it does not answer");
	}
	json_decref(ask);
	json_decref(quit);
	remote_detach(r);
	return rc;
}

static int check_machine(const char *machine, const char *host_agent, struct err *e)
{
	struct utsname here;
	size_t len = strcspn(machine, "\n");

	if (uname(&here) < 0 || len == 0)
		return 0;
	if (strlen(here.machine) == len && strncmp(here.machine, machine, len) == 0)
		return 0;
	return err_set(e, ENOEXEC,
		       "the host is %.*s, and %s is for %s: name one for it by PMX_AGENT", (int)len,
		       machine, host_agent, here.machine);
}

int deploy_prepare(struct remote *r, const struct site *s, const struct agent_file *a,
		   bool *uploaded, struct err *e)
{
	const struct script script = { .what = "prepare the directory",
				       .text = prepare_script,
				       .args = { s->base, s->dir, s->agent } };
	const char *sha = NULL;
	struct output o;
	int rc = remote_check(r, &script, &o, e);

	*uploaded = false;
	if (rc == 0 && strcmp(o.out, "running\n") == 0) {
		rc = send_away(r, s, e);
		output_free(&o);
		return rc < 0 ? rc : deploy_prepare(r, s, a, uploaded, e);
	}
	if (rc == 0)
		rc = check_machine(o.out, a->path, e);
	if (rc == 0) {
		sha = strchr(o.out, '\n');
		sha = sha != NULL ? sha + 1 : "";
		if (strcmp(s->agent, a->path) != 0 &&
		    strncmp(sha, a->sha256, SHA256_HEX_BYTES - 1) != 0) {
			rc = remote_put(r, a->data, a->len, s->agent, AGENT_MODE, e);
			*uploaded = rc == 0;
			if (rc < 0 && strstr(e->msg, "No space left") != NULL)
				err_set(e, ENOSPC, "%s: free %zu MB or choose another --remote-dir",
					e->msg, (a->len >> 20) + 1);
		}
	}
	output_free(&o);
	return rc;
}

// $1 agent, $2 directory, $3 size of the config, which is stdin
static const char launch_script[] =
	"umask 077; bad() { echo \"$*\" >&2; exit 1; }; f=$2/" SESSION_CONFIG "; "
	"cat > \"$f.part\" || exit 1; [ $(wc -c < \"$f.part\") -eq \"$3\" ] || "
	"bad \"$f: not all of it arrived\"; mv -fT \"$f.part\" \"$f\" || exit 1; "
	"s=0; v=$(\"$1\" --version 2>&1) || s=$?; [ $s -eq 0 ] || { echo \"$v\" >&2; exit $s; }; "
	"exec \"$1\" start --dir \"$2\" < /dev/null";

int deploy_launch(struct remote *r, const struct site *s, const char *config, size_t len,
		  struct err *e)
{
	char size[24];
	const struct script script = { .what = "launch the agent",
				       .text = launch_script,
				       .args = { s->agent, s->dir, size },
				       .in = config,
				       .in_len = len,
				       .timeout_ns = LAUNCH_NS };
	struct output o;

	snprintf(size, sizeof(size), "%zu", len);
	int rc = remote_check(r, &script, &o, e);
	if (rc < 0 && o.status == 126)
		err_set(e, EACCES, "%s: on a noexec mount? choose another --remote-dir", e->msg);
	output_free(&o);
	return rc;
}

// $1 directory, $2 lines, $3 agent. An agent that has just died is given a second to be buried.
static const char log_script[] =
	SH_PIDS "cd \"$1\" 2>/dev/null || exit 0; i=0; "
		"while [ ! -e " SESSION_EXIT " ] && [ $i -lt 10 ] && [ -e " SESSION_LOG " ] && "
		"[ -z \"$(pids \"$1\" \"$3\")\" ]; do sleep 0.1; i=$((i+1)); done; "
		"head -n 1 " SESSION_EXIT " 2>/dev/null || echo; "
		"tail -n \"$2\" " SESSION_LOG " 2>/dev/null || true";

int deploy_log(struct remote *r, const struct site *s, unsigned lines, char **log, char *ended,
	       size_t ended_size, struct err *e)
{
	char count[16];
	const struct script script = { .what = "read the log",
				       .text = log_script,
				       .args = { s->dir, count, s->agent } };
	struct output o;

	*log = NULL;
	ended[0] = '\0';
	snprintf(count, sizeof(count), "%u", lines);
	int rc = remote_check(r, &script, &o, e);
	if (rc == 0) {
		size_t first = strcspn(o.out, "\n");

		snprintf(ended, ended_size, "%.*s", (int)first, o.out);
		*log = strdup(o.out[first] == '\n' ? o.out + first + 1 : "");
		if (*log == NULL)
			rc = err_set(e, ENOMEM, "out of memory");
	}
	output_free(&o);
	return rc;
}

char *ended_str(const char *ended, char *buf, size_t size)
{
	int n;

	if (sscanf(ended, "signal %d", &n) == 1)
		snprintf(buf, size, "was killed by signal %d (%s)", n, strsignal(n));
	else if (sscanf(ended, "exit %d", &n) == 1)
		snprintf(buf, size, "ended with exit status %d", n);
	else
		snprintf(buf, size, "%s", ended);
	return buf;
}

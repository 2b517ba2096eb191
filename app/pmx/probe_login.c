#include "probes.h"

#include "parse.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHANNELS 2	// of one connection at a time: the session and a script
#define STARTUPS_FEW 10 // sshd's default
#define CLOCK_OFF_S 1.0 // beyond it rows of reports do not fit together

void probe_login(const struct exam *x, struct finding *f)
{
	uint64_t bytes;

	if (exam_local(x))
		return;
	if (!fact_u64(x->facts, &bytes, "pmx/noise")) {
		found(f, HEALTH_UNKNOWN, "whether the log-in shell is silent is not known");
		return;
	}
	if (bytes == 0) {
		found(f, HEALTH_OK, "the log-in shell is silent");
		return;
	}
	found(f, HEALTH_NOTE,
	      "the log-in shell says %llu bytes before a command: pmx skips them, scp may not",
	      (unsigned long long)bytes);
	mend(f, "in the shell's start file: [ -t 1 ] || return");
}

void probe_sudo(const struct exam *x, struct finding *f)
{
	const char *said = fact(x->facts, "pmx/sudo"), *user = exam_user(x);

	if (exam_local(x) || !x->matrix->ssh.sudo)
		return;
	if (said == NULL) {
		found(f, HEALTH_UNKNOWN, "whether sudo works is not known");
		return;
	}
	if (strcmp(said, "ok") == 0) {
		found(f, HEALTH_OK, "sudo -n works");
		return;
	}
	found(f, HEALTH_BLOCKER, "sudo -n is refused: %.300s", said);
	if (strstr(said, "tty") != NULL)
		mend(f, "echo 'Defaults:%s !requiretty' > /etc/sudoers.d/pmx", user);
	else if (strncmp(said, "sudo: ", 6) != 0) // the shell's words: there is none
		mend(f, "install sudo, or log in as root and remove 'sudo: yes' from the matrix");
	else
		mend(f, "echo '%s ALL=(root) NOPASSWD: ALL' > /etc/sudoers.d/pmx", user);
}

static bool sshd_number(const struct exam *x, const char *key, uint64_t *v)
{
	const char *text = fact(x->facts, "cmd/sshd");
	char word[64];

	if (text == NULL || fact_line(text, key, word, sizeof(word)) == NULL)
		return false;
	word[strspn(word, "0123456789")] = '\0'; // maxstartups 10:30:100
	return parse_u64(word, 0, UINT32_MAX, v, NULL) == 0;
}

void probe_sshd(const struct exam *x, struct finding *f)
{
	uint64_t sessions, startups;

	if (exam_local(x))
		return;
	if (!sshd_number(x, "maxsessions", &sessions) ||
	    !sshd_number(x, "maxstartups", &startups)) {
		found(f, HEALTH_UNKNOWN, "sshd does not tell its limits (sshd -T needs root)");
		return;
	}
	if (sessions < CHANNELS) {
		found(f, HEALTH_BLOCKER, "sshd allows %llu sessions a connection, pmx needs %d",
		      (unsigned long long)sessions, CHANNELS);
		mend(f, "in /etc/ssh/sshd_config: MaxSessions 10; systemctl reload ssh");
	} else if (startups < STARTUPS_FEW) {
		found(f, HEALTH_NOTE,
		      "sshd drops log-ins beyond %llu at a time: pmx tries again, also by a jump "
		      "host",
		      (unsigned long long)startups);
		mend(f, "in /etc/ssh/sshd_config: MaxStartups 10:30:100; or a lower --jobs");
	} else {
		found(f, HEALTH_OK, "sshd: MaxSessions %llu, MaxStartups %llu",
		      (unsigned long long)sessions, (unsigned long long)startups);
	}
}

static bool seconds(const struct exam *x, const char *path, double *s)
{
	const char *text = fact(x->facts, "%s", path);
	char *end;

	if (text == NULL)
		return false;
	*s = strtod(text, &end);
	return end != text && *end == '\0' && isfinite(*s);
}

// The host's clock was read between two readings of ours.
void probe_clock(const struct exam *x, struct finding *f)
{
	double before, after, host;

	if (exam_local(x))
		return;
	if (!seconds(x, "pmx/before", &before) || !seconds(x, "pmx/after", &after) ||
	    !seconds(x, "cmd/date", &host)) {
		found(f, HEALTH_UNKNOWN, "the host does not tell the time");
		return;
	}
	double off = host > after ? host - after : host < before ? before - host : 0;
	if (off <= CLOCK_OFF_S) {
		found(f, HEALTH_OK, "its clock is right within %.1f s", off + after - before);
		return;
	}
	found(f, HEALTH_WARNING,
	      "its clock is %.1f s %s: rows of reports do not fit those of other hosts", off,
	      host > after ? "ahead" : "behind");
	mend(f, "chronyc makestep  (or: timedatectl set-ntp true)");
}

#include "ssh.h"

#include "carrier.h"
#include "shell.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONNECT_NS (10 * NS_PER_S)
#define CONNECT_TRIES 8
#define BACKOFF_NS (200 * NS_PER_MS) // doubled with each try, up to BACKOFF_MAX_NS
#define BACKOFF_MAX_NS (3 * NS_PER_S)

int ssh_wait(const struct remote *r, ssh_session s, uint64_t deadline_ns, struct err *e)
{
	int ms = ms_left(deadline_ns, CANCEL_POLL_MS), flags = ssh_get_poll_flags(s);
	struct pollfd p = { .fd = ssh_get_fd(s), .events = POLLIN };

	if (remote_cancelled(r))
		return err_set(e, ECANCELED, "interrupted");
	if (ms == 0)
		return err_set(e, ETIMEDOUT, "no answer in time");
	if (flags & SSH_WRITE_PENDING)
		p.events |= POLLOUT;
	if (p.fd < 0)
		sleep_ns(NS_PER_MS);
	else
		poll(&p, 1, ms);
	return 0;
}

static int set_option(ssh_session s, enum ssh_options_e option, const void *value, struct err *e)
{
	if (ssh_options_set(s, option, value) == 0)
		return 0;
	return err_set(e, EINVAL, "ssh: %s", ssh_get_error(s));
}

// "~/x" as a shell would read it. Into buf.
static const char *expand_home(const char *path, char buf[PATH_MAX])
{
	const char *home = getenv("HOME");

	if (strncmp(path, "~/", 2) != 0 || home == NULL)
		return path;
	snprintf(buf, PATH_MAX, "%s%s", home, path + 1);
	return buf;
}

static int read_config(ssh_session s, const struct matrix *m, struct err *e)
{
	char path[PATH_MAX];
	const char *file = m->ssh.config[0] != '\0' ? expand_home(m->ssh.config, path) : NULL;

	if (file != NULL && access(file, R_OK) < 0)
		return err_set(e, errno, "ssh config %s: %s", file, strerror(errno));
	if (ssh_options_parse_config(s, file) < 0)
		return err_set(e, EINVAL, "ssh config%s%s: %s", file != NULL ? " " : "",
			       file != NULL ? file : "", ssh_get_error(s));
	return 0;
}

// libssh turns ProxyJump into `ssh -W [%h]:%p HOST`, which would read the default config and might
// ask questions on the terminal.
static int tame_proxy(ssh_session s, const struct matrix *m, struct err *e)
{
	char *command = NULL, *tamed = NULL, *file = NULL, path[PATH_MAX];
	int rc = 0;

	if (ssh_options_get(s, SSH_OPTIONS_PROXYCOMMAND, &command) != SSH_OK)
		return 0;
	if (m->ssh.config[0] != '\0')
		file = shell_quote(expand_home(m->ssh.config, path));
	if (strncmp(command, "ssh ", 4) == 0 &&
	    asprintf(&tamed, "ssh -o BatchMode=yes %s%s %s", file != NULL ? "-F " : "",
		     file != NULL ? file : "", command + 4) > 0)
		rc = set_option(s, SSH_OPTIONS_PROXYCOMMAND, tamed, e);
	free(tamed);
	free(file);
	ssh_string_free_char(command);
	return rc;
}

// ssh_config first, so that what the matrix says goes before it.
static int configure(ssh_session s, const struct matrix *m, const struct ssh_target *t,
		     struct err *e)
{
	const char *known_hosts = m->ssh.known_hosts;
	char path[PATH_MAX];
	const int on = 1;
	unsigned port = t->port;
	int rc = set_option(s, SSH_OPTIONS_HOST, t->address, e);

	if (rc == 0)
		rc = read_config(s, m, e);
	if (rc == 0)
		rc = tame_proxy(s, m, e);
	if (rc == 0)
		rc = set_option(s, SSH_OPTIONS_STRICTHOSTKEYCHECK, &on, e);
	if (rc == 0)
		rc = set_option(s, SSH_OPTIONS_NODELAY, &on, e);
	if (rc == 0 && t->user[0] != '\0')
		rc = set_option(s, SSH_OPTIONS_USER, t->user, e);
	if (rc == 0 && port != 0)
		rc = set_option(s, SSH_OPTIONS_PORT, &port, e);
	if (rc == 0 && known_hosts[0] != '\0')
		rc = set_option(s, SSH_OPTIONS_KNOWNHOSTS, expand_home(known_hosts, path), e);
	return rc;
}

// What sshd does to connections beyond MaxStartups, and a jump host to those beyond its own.
static bool was_dropped(const char *error)
{
	static const char *const signs[] = { "disconnected", "reset by peer", "Broken pipe",
					     "Exceeded MaxStartups" };

	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
		if (strstr(error, signs[i]) != NULL)
			return true;
	return false;
}

static int connect_fault(ssh_session s, const struct ssh_target *t, struct err *e)
{
	const char *why = ssh_get_error(s);
	char *proxy = NULL;

	ssh_options_get(s, SSH_OPTIONS_PROXYCOMMAND, &proxy);
	err_set(e, was_dropped(why) ? EAGAIN : ECONNREFUSED, "ssh to %s%s%s: %s", t->address,
		proxy != NULL ? " by " : "", proxy != NULL ? proxy : "", why);
	ssh_string_free_char(proxy);
	return -e->code;
}

// -EAGAIN: dropped, worth another try.
static int connect_once(const struct remote *r, const struct ssh_target *t, ssh_session *out,
			struct err *e)
{
	const struct matrix *m = r->matrix;
	uint64_t timeout = m->ssh.connect_ns != 0 ? m->ssh.connect_ns : CONNECT_NS;
	uint64_t deadline = mono_ns() + timeout;
	ssh_session s = ssh_new();
	int rc;

	if (s == NULL)
		return err_set(e, ENOMEM, "out of memory");
	rc = configure(s, m, t, e);
	ssh_set_blocking(s, 0);
	while (rc == 0) {
		int state = ssh_connect(s);

		if (state == SSH_OK) {
			*out = s;
			return 0;
		}
		if (state != SSH_AGAIN)
			rc = connect_fault(s, t, e);
		else
			rc = ssh_wait(r, s, deadline, e);
	}
	if (rc == -ETIMEDOUT)
		err_set(e, ETIMEDOUT, "ssh to %s: no connection within %.3g s", t->address,
			(double)timeout / NS_PER_S);
	ssh_free(s);
	return rc;
}

static int connect_patiently(const struct remote *r, const struct ssh_target *t, ssh_session *out,
			     struct err *e)
{
	uint64_t pause = BACKOFF_NS;
	unsigned seed = (unsigned)mono_ns() ^ (unsigned)r->host;
	int rc;

	for (int tries = 1;; tries++) {
		rc = connect_once(r, t, out, e);
		if (rc != -EAGAIN || tries == CONNECT_TRIES)
			return rc;
		// spread, or the same crowd comes back together
		uint64_t until =
			mono_ns() + pause / 2 + pause * (unsigned)(rand_r(&seed) % 100) / 100;
		while (mono_ns() < until && !remote_cancelled(r))
			sleep_ns(10 * NS_PER_MS);
		if (remote_cancelled(r))
			return err_set(e, ECANCELED, "interrupted");
		pause = pause * 2 < BACKOFF_MAX_NS ? pause * 2 : BACKOFF_MAX_NS;
	}
}

static void fingerprint(ssh_session s, char *buf, size_t size)
{
	unsigned char *hash = NULL;
	size_t len = 0;
	ssh_key key = NULL;

	snprintf(buf, size, "(unknown fingerprint)");
	if (ssh_get_server_publickey(s, &key) != SSH_OK)
		return;
	if (ssh_get_publickey_hash(key, SSH_PUBLICKEY_HASH_SHA256, &hash, &len) == 0) {
		char *text = ssh_get_fingerprint_hash(SSH_PUBLICKEY_HASH_SHA256, hash, len);

		if (text != NULL)
			snprintf(buf, size, "%s %s", ssh_key_type_to_char(ssh_key_type(key)), text);
		ssh_string_free_char(text);
	}
	ssh_clean_pubkey_hash(&hash);
	ssh_key_free(key);
}

static int verify_host_key(const struct ssh_target *t, ssh_session s, struct err *e)
{
	enum ssh_known_hosts_e state = ssh_session_is_known_server(s);
	char print[160], where[320], *host = NULL, *file = NULL;
	unsigned port = 22;

	if (state == SSH_KNOWN_HOSTS_OK)
		return 0;
	fingerprint(s, print, sizeof(print));
	ssh_options_get_port(s, &port);
	ssh_options_get(s, SSH_OPTIONS_HOST, &host);
	ssh_options_get(s, SSH_OPTIONS_KNOWNHOSTS, &file);
	const char *name = host != NULL ? host : t->address;
	const char *known = file != NULL ? file : "~/.ssh/known_hosts";
	snprintf(where, sizeof(where), port == 22 ? "%s" : "[%s]:%u", name, port);
	switch (state) {
	case SSH_KNOWN_HOSTS_CHANGED:
		err_set(e, EACCES,
			"ssh to %s: the host key changed, it is now %s: refused. If that is right, "
			"remove the old one: ssh-keygen -f %s -R '%s', and add the new: "
			"ssh-keyscan "
			"-p %u %s >> %s",
			where, print, known, where, port, name, known);
		break;
	case SSH_KNOWN_HOSTS_OTHER:
	case SSH_KNOWN_HOSTS_UNKNOWN:
	case SSH_KNOWN_HOSTS_NOT_FOUND:
		err_set(e, EACCES,
			"ssh to %s: its host key %s is not in %s%s: refused. Check it, then add "
			"it: "
			"ssh-keyscan -p %u %s >> %s",
			where, print, known,
			state == SSH_KNOWN_HOSTS_OTHER ? ", which has one of another type" : "",
			port, name, known);
		break;
	default:
		err_set(e, EACCES, "ssh to %s: host key: %s", where, ssh_get_error(s));
		break;
	}
	ssh_string_free_char(host);
	ssh_string_free_char(file);
	return -EACCES;
}

// SSH_AUTH_*; keeps the matrix's key in front of the agent's, which may be many (MaxAuthTries).
static int offer_identity(const struct remote *r, ssh_session s, ssh_key key, uint64_t deadline_ns,
			  struct err *e)
{
	for (;;) {
		int rc = ssh_userauth_publickey(s, NULL, key);

		if (rc != SSH_AUTH_AGAIN)
			return rc;
		if (ssh_wait(r, s, deadline_ns, e) < 0)
			return SSH_AUTH_ERROR;
	}
}

static int offer_all(const struct remote *r, ssh_session s, uint64_t deadline_ns, struct err *e)
{
	for (;;) {
		int rc = ssh_userauth_publickey_auto(s, NULL, NULL);

		if (rc != SSH_AUTH_AGAIN)
			return rc;
		if (ssh_wait(r, s, deadline_ns, e) < 0)
			return SSH_AUTH_ERROR;
	}
}

static int denied(const struct matrix *m, const struct ssh_target *t, ssh_session s, bool locked,
		  struct err *e)
{
	char *user = NULL;
	int rc;

	ssh_options_get(s, SSH_OPTIONS_USER, &user);
	if (locked)
		rc = err_set(
			e, EACCES,
			"ssh to %s: no key was accepted for user '%s', and %s is encrypted or no "
			"key: load it into the agent with ssh-add (pmx never asks)",
			t->address, user != NULL ? user : t->user, m->ssh.identity);
	else
		rc = err_set(
			e, EACCES,
			"ssh to %s: no key of the agent or of the key files was accepted for user "
			"'%s': install one with ssh-copy-id, or load an encrypted one with ssh-add",
			t->address, user != NULL ? user : t->user);
	ssh_string_free_char(user);
	return rc;
}

static int authenticate(const struct remote *r, const struct ssh_target *t, ssh_session s,
			struct err *e)
{
	const struct matrix *m = r->matrix;
	uint64_t deadline = mono_ns() + (m->ssh.connect_ns != 0 ? m->ssh.connect_ns : CONNECT_NS);
	char path[PATH_MAX];
	bool locked = false;
	int rc = SSH_AUTH_DENIED;

	e->code = 0;
	if (m->ssh.identity[0] != '\0') {
		const char *file = expand_home(m->ssh.identity, path);
		ssh_key key = NULL;

		if (access(file, R_OK) < 0)
			return err_set(e, errno, "ssh key %s: %s", file, strerror(errno));
		if (ssh_pki_import_privkey_file(file, NULL, NULL, NULL, &key) == SSH_OK)
			rc = offer_identity(r, s, key, deadline, e);
		else
			locked = true;
		ssh_key_free(key);
	}
	if (rc != SSH_AUTH_SUCCESS && rc != SSH_AUTH_ERROR)
		rc = offer_all(r, s, deadline, e);
	if (rc == SSH_AUTH_SUCCESS)
		return 0;
	if (rc == SSH_AUTH_PARTIAL)
		return err_set(
			e, EACCES,
			"ssh to %s: the server wants more than a key; pmx answers no questions",
			t->address);
	if (e->code != 0)
		return err_wrap(e, "ssh to %s: log-in", t->address);
	if (!ssh_is_connected(s))
		return err_set(e, EACCES, "ssh to %s: log-in: %s", t->address, ssh_get_error(s));
	return denied(m, t, s, locked, e);
}

int ssh_login(const struct remote *r, const struct ssh_target *t, ssh_session *out, struct err *e)
{
	ssh_session s = NULL;
	int rc = connect_patiently(r, t, &s, e);

	if (rc < 0)
		return rc;
	rc = verify_host_key(t, s, e);
	if (rc == 0)
		rc = authenticate(r, t, s, e);
	if (rc < 0) {
		ssh_disconnect(s);
		ssh_free(s);
		return rc;
	}
	*out = s;
	return 0;
}

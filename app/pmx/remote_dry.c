// Carrier of --dry-run: prints what would be run and written on the host; touches nothing.
#include "remote.h"

#include "sha256.h"
#include "shell.h"
#include "ssh.h"
#include "carrier.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *name_of(const struct remote *r)
{
	return r->matrix->host[r->host].name;
}

static int dry_open(struct remote *r, struct err *e)
{
	struct ssh_target t;

	if (r->matrix->transport == TRANSPORT_LOCAL) {
		printf("%s: on this machine\n", name_of(r));
		return 0;
	}
	if (ssh_target_of(r->matrix, r->host, &t, e) < 0)
		return -e->code;
	printf("%s: ssh %s%s%s", name_of(r), t.user, t.user[0] != '\0' ? "@" : "", t.address);
	if (t.port != 0)
		printf(" port %u", t.port);
	putchar('\n');
	return 0;
}

static void dry_close(struct remote *r)
{
	(void)r;
}

static void print_input(const struct remote *r, const char *data, size_t len)
{
	char hash[SHA256_HEX_BYTES];
	bool text = len < REMOTE_OUTPUT_MAX;

	for (size_t i = 0; i < len && text; i++)
		text = isprint((unsigned char)data[i]) || isspace((unsigned char)data[i]);
	if (!text) {
		sha256_hex(data, len, hash);
		printf("%s< %zu bytes, SHA-256 %s\n", name_of(r), len, hash);
		return;
	}
	for (const char *end = data + len; data < end;) {
		const char *nl = memchr(data, '\n', (size_t)(end - data));
		size_t n = nl != NULL ? (size_t)(nl - data) : (size_t)(end - data);

		printf("%s< %.*s\n", name_of(r), (int)n, data);
		data += n + 1;
	}
}

static int dry_exec(struct remote *r, const char *command, const struct script *s, struct output *o,
		    struct err *e)
{
	(void)e;
	printf("%s# %s\n%s$ %s\n", name_of(r), s->what, name_of(r), command);
	if (s->in_len > 0)
		print_input(r, s->in, s->in_len);
	o->out = strdup("");
	o->err = strdup("");
	return 0;
}

static int dry_attach(struct remote *r, const char *agent, const char *dir, struct err *e)
{
	if (r->matrix->transport == TRANSPORT_LOCAL) {
		printf("%s: session by %s/agent.sock\n", name_of(r), dir);
		return 0;
	}
	char *command = relay_command(r, agent, dir);
	if (command == NULL)
		return err_set(e, ENOMEM, "out of memory");
	printf("%s# join the agent's session\n%s$ %s\n", name_of(r), name_of(r), command);
	free(command);
	return 0;
}

static int dry_send(struct remote *r, const void *data, size_t len, uint64_t deadline_ns,
		    struct err *e)
{
	(void)deadline_ns;
	(void)e;
	printf("%s> %.*s", name_of(r), (int)len, (const char *)data);
	return 0;
}

static ssize_t dry_recv(struct remote *r, void *buf, size_t size, uint64_t deadline_ns,
			struct err *e)
{
	(void)r;
	(void)deadline_ns;
	return snprintf(buf, size, "{\"ok\":true}\n") > 0 ? (ssize_t)strlen(buf)
							  : err_set(e, EPIPE, "no answer");
}

static void dry_detach(struct remote *r)
{
	(void)r;
}

const struct carrier carrier_dry = {
	.open = dry_open,
	.close = dry_close,
	.exec = dry_exec,
	.attach = dry_attach,
	.send = dry_send,
	.recv = dry_recv,
	.detach = dry_detach,
};

#include "ssh.h"

#include "parse.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FORM "expected [user@]address[:port]"

static int read_port(const char *text, const char *port, uint16_t *out, struct err *e)
{
	uint64_t v;

	if (parse_u64(port, 1, UINT16_MAX, &v, NULL) < 0)
		return err_set(e, EINVAL, "'%s': port '%s' is not 1 to 65535; " FORM, text, port);
	*out = (uint16_t)v;
	return 0;
}

int ssh_target_read(const char *text, struct ssh_target *t, struct err *e)
{
	const char *at = strrchr(text, '@'), *host = at != NULL ? at + 1 : text, *port = NULL;
	size_t len = strlen(host);

	*t = (struct ssh_target){ 0 };
	if (at != NULL && (at == text || (size_t)(at - text) >= sizeof(t->user)))
		return err_set(e, EINVAL, "'%s': bad user name; " FORM, text);
	if (at != NULL)
		memcpy(t->user, text, (size_t)(at - text));
	if (host[0] == '[') {
		const char *end = strchr(host, ']');

		if (end == NULL || (end[1] != ':' && end[1] != '\0'))
			return err_set(e, EINVAL, "'%s': expected [user@][v6-address]:port", text);
		port = end[1] == ':' ? end + 2 : NULL;
		host++;
		len = (size_t)(end - host);
	} else if (strchr(host, ':') != NULL && strchr(host, ':') == strrchr(host, ':')) {
		port = strchr(host, ':') + 1;
		len = (size_t)(port - 1 - host);
	}
	// a leading dash would be an option to the ssh of a jump host
	if (len == 0 || len >= sizeof(t->address) || host[0] == '-')
		return err_set(e, EINVAL, "'%s': bad address; " FORM, text);
	memcpy(t->address, host, len);
	return port != NULL ? read_port(text, port, &t->port, e) : 0;
}

int ssh_target_of(const struct matrix *m, size_t host, struct ssh_target *t, struct err *e)
{
	const struct matrix_host *h = &m->host[host];

	if (ssh_target_read(h->ssh[0] != '\0' ? h->ssh : h->name, t, e) < 0)
		return -e->code;
	if (t->user[0] == '\0')
		snprintf(t->user, sizeof(t->user), "%s", m->ssh.user);
	if (t->port == 0)
		t->port = m->ssh.port;
	return 0;
}

#include "capability.h"

#include <ctype.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>

const struct capability capability_table[] = {
	{ "bpf", CAP_BPF },	    { "ipc_lock", CAP_IPC_LOCK },   { "net_admin", CAP_NET_ADMIN },
	{ "net_raw", CAP_NET_RAW }, { "sys_admin", CAP_SYS_ADMIN }, { "sys_rawio", CAP_SYS_RAWIO },
};
const size_t capability_count = sizeof(capability_table) / sizeof(capability_table[0]);

static const struct capability *find(const char *word, size_t len)
{
	for (size_t i = 0; i < capability_count; i++)
		if (strlen(capability_table[i].name) == len &&
		    strncmp(capability_table[i].name, word, len) == 0)
			return &capability_table[i];
	return NULL;
}

int capability_read(const char *words, uint64_t *mask, struct err *e)
{
	*mask = 0;
	for (const char *p = words + strspn(words, " "); *p != '\0'; p += strspn(p, " ")) {
		size_t len = strcspn(p, " ");
		const struct capability *c = find(p, len);

		if (c == NULL)
			return err_set(e, EINVAL,
				       "'%.*s': expected words of bpf, ipc_lock, net_admin, "
				       "net_raw, sys_admin, sys_rawio",
				       (int)len, p);
		*mask |= UINT64_C(1) << c->bit;
		p += len;
	}
	return 0;
}

char *capability_str(uint64_t mask, char *buf, size_t size)
{
	size_t n = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < capability_count && n < size; i++) {
		if (!(mask >> capability_table[i].bit & 1))
			continue;
		size_t from = n;

		n += (size_t)snprintf(buf + n, size - n, "%sCAP_%s", n > 0 ? ", " : "",
				      capability_table[i].name);
		for (size_t at = from; at < n && at < size; at++)
			buf[at] = (char)toupper((unsigned char)buf[at]);
	}
	return buf;
}

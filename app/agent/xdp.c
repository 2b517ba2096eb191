#include "xdp.h"

#include "iface.h"

#include "session.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BOOT_BYTES 64

// The kernel gives no program's id twice in a boot, so boot and id are the program itself.
static void boot_id(char *id)
{
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
	id[0] = '\0';
	if (f == NULL)
		return;
	if (fscanf(f, "%63s", id) != 1)
		id[0] = '\0';
	fclose(f);
}

void xdp_note(const char *iface)
{
	char boot[BOOT_BYTES];
	int id = iface_xdp(iface);
	boot_id(boot);
	if (id <= 0 || boot[0] == '\0')
		return;
	FILE *f = fopen(SESSION_XDP ".tmp", "we");
	if (f == NULL)
		return;
	fprintf(f, "%s %d %s\n", boot, id, iface);
	if (fclose(f) == 0)
		rename(SESSION_XDP ".tmp", SESSION_XDP);
}

int xdp_take_off(void)
{
	char boot[BOOT_BYTES], noted[BOOT_BYTES], iface[IF_NAMESIZE];
	int id, r = 0;
	FILE *f = fopen(SESSION_XDP, "re");
	if (f == NULL)
		return -ENOENT;
	int fields = fscanf(f, "%63s %d %15s", noted, &id, iface);
	fclose(f);
	boot_id(boot);
	if (fields == 3 && strcmp(noted, boot) == 0 && id > 0 && iface_xdp(iface) == id) {
		r = iface_xdp_off(iface);
		if (r == 0 && iface_xdp(iface) == id)
			r = -EBUSY;
		if (r < 0) {
			fprintf(stderr, "pmx-agent: the XDP program left on %s stays: %s\n", iface,
				strerror(-r));
			return r;
		}
		fprintf(stderr, "pmx-agent: the XDP program left on %s is taken off\n", iface);
		r = 1;
	}
	unlink(SESSION_XDP);
	return r;
}

// The search for a host's device, in a made-up /sys and with a made-up ip(8), by the local carrier.
#include "locate.h"

#include "testlib.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct matrix_host host = { .name = "a", .machine = "a", .ports = 1 };
static struct matrix matrix = { .transport = TRANSPORT_LOCAL, .host = &host, .host_count = 1 };

struct rig {
	struct remote *r;
	char root[64];
	struct located found;
	struct err e;
};

// eth0 carries the session, as the lower of bond0; eth1 and eth2 are on PCI and in one subnet each,
// data0 is on none.
static const char made[] =
	"cd %s && mkdir -p bin sys/class/net/bond0 sys/class/net/data0 && touch "
	"sys/class/net/bond0/lower_eth0 && for n in 0 1 2; do "
	"mkdir -p sys/bus/pci/devices/0000:0$n:00.0 sys/class/net/eth$n && "
	"ln -s ../../../bus/pci/devices/0000:0$n:00.0 sys/class/net/eth$n/device && "
	"echo 0x15b3 > sys/bus/pci/devices/0000:0$n:00.0/vendor && "
	"echo 0x101$n > sys/bus/pci/devices/0000:0$n:00.0/device || exit 1; done && "
	"cat > bin/ip <<'END' && chmod 755 bin/ip\n"
	"#!/bin/sh\n"
	"case $5 in 192.0.2.7|192.0.2.0/24) echo '2: bond0    inet 192.0.2.7/24 scope global';;\n"
	"198.18.1.0/24) echo '3: eth1    inet 198.18.1.9/24';; 198.18.2.0/24) echo '4: eth2  inet "
	"x';"
	"echo '4: eth2  inet y';;\n"
	"198.18.0.0/16) echo '3: eth1    inet x'; echo '4: eth2@if5  inet y';; "
	"198.18.3.0/24) echo '5: data0  inet z';; esac\n"
	"END\n";

static int rig_open(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));
	char command[2048], *path = NULL;

	*state = r;
	strcpy(r->root, "/tmp/pmx-test-XXXXXX");
	if (mkdtemp(r->root) == NULL)
		return 1;
	snprintf(command, sizeof(command), made, r->root);
	if (asprintf(&path, "%s/bin:%s", r->root, getenv("PATH")) < 0)
		return 1;
	setenv("PATH", path, 1);
	free(path);
	setenv("SSH_CONNECTION", "192.0.2.254 50000 192.0.2.7 22", 1);
	return system(command) != 0 || remote_open(&matrix, 0, REMOTE_LIVE, NULL, &r->r, &r->e) < 0;
}

static int rig_close(void **state)
{
	struct rig *r = *state;
	char command[96];

	remote_close(r->r);
	snprintf(command, sizeof(command), "rm -rf %s", r->root);
	int rc = system(command);
	free(r);
	return rc;
}

static void is(struct rig *r, const char *device, const char *iface, const char *pci, unsigned id)
{
	if (locate_device(r->r, device, r->root, &r->found, &r->e) < 0)
		fail_msg("%s: %s", device, r->e.msg);
	assert_string_equal(r->found.iface, iface);
	assert_string_equal(r->found.pci, pci);
	assert_int_equal(r->found.pci_id, id);
}

static void is_not(struct rig *r, const char *device, const char *why)
{
	if (locate_device(r->r, device, r->root, &r->found, &r->e) == 0)
		fail_msg("%s was found: %s %s", device, r->found.iface, r->found.pci);
	if (strstr(r->e.msg, why) == NULL)
		fail_msg("%s: '%s' says nothing of '%s'", device, r->e.msg, why);
}

static void all_three_forms(void **state)
{
	struct rig *r = *state;

	is(r, "eth1", "eth1", "0000:01:00.0", 0x15b31011);
	is(r, "data0", "data0", "", 0);
	is(r, "0000:01:00.0", "eth1", "0000:01:00.0", 0x15b31011);
	is(r, "02:00.0,dv_flow_en=1", "eth2", "0000:02:00.0", 0x15b31012);
	is(r, "198.18.1.0/24", "eth1", "0000:01:00.0", 0x15b31011);
	is(r, "198.18.2.0/24", "eth2", "0000:02:00.0", 0x15b31012); // two addresses of one
	is(r, "net_af_packet0,iface=eth2,blocksz=4096", "eth2", "0000:02:00.0", 0x15b31012);
	is(r, "net_memif0,role=client", "", "", 0);
	is(r, "", "", "", 0);
}

static void what_is_not_there(void **state)
{
	struct rig *r = *state;

	is_not(r, "eth7", "no interface eth7 here, but bond0 data0 eth0 eth1 eth2");
	is_not(r, "0000:07:00.0", "no device 0000:07:00.0 on PCI here");
	is_not(r, "203.0.113.0/24", "no interface has an address in 203.0.113.0/24");
	is_not(r, "198.18.0.0/16",
	       "several interfaces have an address in 198.18.0.0/16: name one of "
	       "eth1 eth2");
}

// By its own name, by what it lies under, by its address on PCI, and by the subnet.
static void never_the_ssh_nic(void **state)
{
	static const char *const device[] = { "bond0",	      "eth0",
					      "0000:00:00.0", "00:00.0,x=1",
					      "192.0.2.0/24", "net_af_packet0,iface=eth0" };
	struct rig *r = *state;

	for (size_t i = 0; i < COUNT_OF(device); i++)
		is_not(r, device[i], "carries this SSH session");
	// the same session over IPv6 with a mapped address
	setenv("SSH_CONNECTION", "::ffff:192.0.2.254 50000 ::ffff:192.0.2.7 22", 1);
	is_not(r, "eth0", "carries this SSH session (eth0, 192.0.2.7)");
	// no session: a machine's own operator may use what he likes
	unsetenv("SSH_CONNECTION");
	if (access("/proc/self/environ", R_OK) == 0 && getenv("SSH_CLIENT") == NULL)
		is(r, "data0", "data0", "", 0);
}

// prepare took eth9's device from the kernel, in this boot or in the one before.
static void taken_by_prepare(void **state)
{
	static const char boot[] = "mkdir -p %s/proc/sys/kernel/random %s/var/lib/pmx && echo b2 > "
				   "%s/proc/sys/kernel/random/boot_id && cp /dev/stdin "
				   "%s/var/lib/pmx/journal <<'END'\n"
				   "link|b1|0000:01:00.0/eth8|1500,0x1002|.\n"
				   "bind|b2|0000:02:00.0|ice,(null)|.\n"
				   "link|b2|0000:02:00.0/eth9|1500,0x1002|.\n"
				   "link|b2|0000:01:00.0/eth6|1500,0x10\nEND\n";
	struct matrix_host h = { .device = "eth9" };
	struct rig *r = *state;
	char command[1024];

	snprintf(command, sizeof(command), boot, r->root, r->root, r->root, r->root);
	assert_int_equal(system(command), 0);
	is(r, "eth9", "", "0000:02:00.0", 0x15b31012);
	assert_int_equal(locate_settle(&r->found, true, &h, &r->e), -ENODEV);
	assert_non_null(strstr(r->e.msg, "pmx restore"));
	assert_int_equal(locate_settle(&r->found, false, &h, &r->e), 0);
	assert_string_equal(h.device, "0000:02:00.0");
	is_not(r, "eth8", "no interface eth8 here"); // of another boot
	is_not(r, "eth6", "no interface eth6 here"); // a torn line
	is_not(r, "eth", "no interface eth here");
}

static void settles_on_what_the_driver_wants(void **state)
{
	const struct located both = { "eth1", "0000:01:00.0", 0x15b31011 },
			     one = { "data0", "", 0 };
	struct matrix_host h = { .device = "198.18.1.0/24" };
	struct err e = { 0 };

	(void)state;
	assert_int_equal(locate_settle(&both, true, &h, &e), 0);
	assert_string_equal(h.device, "eth1");
	assert_int_equal(locate_settle(&both, false, &h, &e), 0);
	assert_string_equal(h.device, "0000:01:00.0");
	assert_int_equal(h.pci_id, 0x15b31011);
	// an address stays as it was written, devargs and all
	strcpy(h.device, "01:00.0,x=1");
	assert_int_equal(locate_settle(&both, false, &h, &e), 0);
	assert_string_equal(h.device, "01:00.0,x=1");
	strcpy(h.device, "data0");
	assert_int_equal(locate_settle(&one, false, &h, &e), -ENODEV);
	assert_non_null(strstr(e.msg, "not on PCI"));
}

int main(void)
{
#define WITH_RIG(t) cmocka_unit_test_setup_teardown(t, rig_open, rig_close)
	const struct CMUnitTest tests[] = {
		WITH_RIG(all_three_forms),
		WITH_RIG(what_is_not_there),
		WITH_RIG(never_the_ssh_nic),
		WITH_RIG(taken_by_prepare),
		cmocka_unit_test(settles_on_what_the_driver_wants),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

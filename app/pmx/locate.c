#include "locate.h"

#include "deploy_sh.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

// $1 kind, $2 device, $3 root of /sys (else PMX_ROOT, as in scripts/prepare). The third word of
// SSH_CONNECTION is the address that the session came in by; sudo takes the variable away, and
// still has it from the log-in. A bond, bridge or VLAN carries the session by what lies under it.
// An interface that is gone because prepare bound its device is in its journal: a "link" of this
// boot.
static const char locate_script[] = SH_BAD
	"k=$1; d=$2; r=${3:-$PMX_ROOT}; net=$r/sys/class/net; bus=$r/sys/bus/pci/devices; "
	"s=$SSH_CONNECTION; [ -n \"$s\" ] || s=$(tr \"\\000\" \"\\n\" < /proc/$PPID/environ "
	"2>/dev/null | grep \"^SSH_CONNECTION=\"); set -- ${s#SSH_CONNECTION=}; a=${3#::ffff:}; "
	"under() { echo \"$1\"; for l in $net/$1/lower_*; do [ ! -e \"$l\" ] || "
	"under \"${l##*/lower_}\"; done; }; "
	"slot() { p=$(readlink -f \"$net/$1/device\"); case ${p##*/} in virtio*) p=${p%/*};; esac; "
	"[ -n \"$p\" ] && [ -e \"$bus/${p##*/}\" ] && echo \"${p##*/}\"; }; "
	"taken() { b=$(cat \"$r/proc/sys/kernel/random/boot_id\"); "
	"sed -n \"s,^link|$b|\\([^/|]*\\)/$1|.*|[.]$,\\1,p\" "
	"\"$r${PMX_STATE:-/var/lib/pmx}/journal\" | tail -n 1; }; "
	"has() { ip -o addr show to \"$1\" | while read -r n i rest; do echo \"${i%%@*}\"; done | "
	"sort -u; }; "
	"own=; if [ -n \"$a\" ]; then command -v ip > /dev/null || "
	"bad \"no ip (iproute2) here to tell which NIC carries this session\"; "
	"m=$(has \"$a\"); [ -z \"$m\" ] || own=$(under $m); fi; "
	"p=; case $k in "
	"iface) i=$d; [ -e \"$net/$d\" ] || { i=; p=$(taken \"$d\" 2> /dev/null); "
	"[ -n \"$p\" ] && [ -e \"$bus/$p\" ] || "
	"bad \"no interface $d here, but\" $(ls $net); };; "
	"pci) p=$d; [ -e \"$bus/$d\" ] || bad \"no device $d on PCI here\"; i=; "
	"for n in $(ls $net); do [ \"$(slot $n)\" != \"$d\" ] || i=$n; done;; "
	"net) command -v ip > /dev/null || bad \"no ip (iproute2) here to look for $d\"; "
	"i=$(has \"$d\"); set -- $i; "
	"[ $# -gt 0 ] || bad \"no interface has an address in $d\"; "
	"[ $# -eq 1 ] || bad \"several interfaces have an address in $d: name one of\" $i;; esac; "
	"[ -n \"$p\" ] || p=$(slot \"$i\"); "
	"for o in $own; do [ \"$o\" != \"$i\" ] && { [ -z \"$p\" ] || [ \"$(slot $o)\" != \"$p\" "
	"]; } || "
	"bad \"device $d carries this SSH session ($o, $a): name the NIC under test\"; done; "
	"echo \"${i:--} ${p:--} $(cat $bus/$p/vendor 2>/dev/null || echo 0) "
	"$(cat $bus/$p/device 2>/dev/null || echo 0)\"";

// The kind for the script and what to look for, into buf; NULL = nothing.
static const char *what_of(const char *device, char *buf, size_t size)
{
	const char *iface;
	size_t len = strcspn(device, ",");

	switch (device_kind(device)) {
	case DEVICE_IFACE:
		snprintf(buf, size, "%s", device);
		return "iface";
	case DEVICE_NET:
		snprintf(buf, size, "%s", device);
		return "net";
	case DEVICE_PCI:
		snprintf(buf, size, "%s%.*s",
			 len >= strlen("0000:00:00.0") ? "" : "0000:", (int)len, device);
		return "pci";
	case DEVICE_VDEV:
		iface = strstr(device, ",iface=");
		if (iface == NULL)
			return NULL;
		iface += strlen(",iface=");
		snprintf(buf, size, "%.*s", (int)strcspn(iface, ","), iface);
		return "iface";
	default:
		return NULL;
	}
}

int locate_device(struct remote *r, const char *device, const char *root, struct located *out,
		  struct err *e)
{
	char name[DEVICE_MAX_BYTES + 8];
	unsigned vendor = 0, id = 0;
	const char *kind = what_of(device, name, sizeof(name));
	const struct script script = { .what = "find the device",
				       .text = locate_script,
				       .args = { kind, name, root } };
	struct output o;

	*out = (struct located){ 0 };
	if (kind == NULL)
		return 0;
	int rc = remote_check(r, &script, &o, e);
	if (rc == 0 && !remote_is_dry(r) &&
	    sscanf(o.out, "%255s %255s %x %x", out->iface, out->pci, &vendor, &id) != 4)
		rc = err_set(e, EPROTO, "%s: '%s' is no answer", script.what, o.out);
	output_free(&o);
	out->pci_id = vendor << 16 | id;
	if (strcmp(out->iface, "-") == 0)
		out->iface[0] = '\0';
	if (strcmp(out->pci, "-") == 0)
		out->pci[0] = '\0';
	return rc;
}

int locate_settle(const struct located *l, bool wants_iface, struct matrix_host *h, struct err *e)
{
	enum device_kind kind = device_kind(h->device);

	h->pci_id = l->pci_id;
	if (kind != DEVICE_NET && kind != DEVICE_IFACE)
		return 0;
	if (!wants_iface && l->pci[0] == '\0')
		return err_set(e, ENODEV,
			       "device '%s': interface %s is not on PCI, where its driver looks",
			       h->device, l->iface);
	if (wants_iface && l->iface[0] == '\0')
		return err_set(e, ENODEV,
			       "device '%s': pmx prepare took its interface for vfio-pci (%s): "
			       "`pmx restore` brings it back",
			       h->device, l->pci);
	memcpy(h->device, wants_iface ? l->iface : l->pci, sizeof(h->device));
	return 0;
}

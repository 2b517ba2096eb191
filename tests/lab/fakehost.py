"""A host in a directory: as much of /sys, /proc and the tools as scripts/prepare touches, and a kernel
that answers its writes. At the step that a test names, the kernel kills the script by SIGKILL."""

import os
import stat
import subprocess
from pathlib import Path

from harness import ROOT

PREPARE = ROOT / "scripts/prepare"
NIC, OTHER = "0000:3b:00.0", "0000:3b:00.1"

# Run at each step, with its name and what it is about; $PPID is the script.
KERNEL = r"""#!/bin/sh
set -u
r=$PMX_ROOT
n=$(($(cat "$r.steps") + 1))
echo $n >"$r.steps"
echo "$*" >>"$r.trace"
drop() { # the device leaves its driver, and its interface goes
	rm -f "$1/driver"
	[ ! -e "$1/net" ] || mv "$1/net" "$r.net-${1##*/}"
	for i in "$r.net-${1##*/}"/*; do rm -f "$r/sys/class/net/${i##*/}"; done
}
join() {
	ln -s "../../drivers/$2" "$1/driver"
	[ "$2" = ice ] && [ -e "$r.net-${1##*/}" ] || return 0
	mv "$r.net-${1##*/}" "$1/net"
	for i in "$1/net"/*; do # as new: down, the usual MTU
		ln -s "../../bus/pci/devices/${1##*/}/net/${i##*/}" "$r/sys/class/net/${i##*/}"
		echo 1500 >"$i/mtu"
		echo 0x1002 >"$i/flags"
	done
}
if [ "$1" = written ]; then
	case $2 in
	*/unbind)
		: >"$2"
		[ ! -e "$r/sys/bus/pci/devices/$3/driver" ] || drop "$r/sys/bus/pci/devices/$3"
		;;
	*/bind)
		: >"$2"
		d=$r/sys/bus/pci/devices/$3 b=$(basename "$(dirname "$2")")
		case $(cat "$d/driver_override") in
		"$b" | "(null)") join "$d" "$b" ;;
		esac
		;;
	*/driver_override) [ -n "$3" ] || echo "(null)" >"$2" ;;
	*/nr_hugepages)
		p=$(dirname "$2")
		most=$(cat "$r.most" 2>/dev/null || echo 100000)
		[ "$3" -le "$most" ] || echo "$most" >"$2"
		echo $(($(cat "$2") - $(cat "$r.used"))) >"$p/free_hugepages"
		;;
	*/enable_unsafe_noiommu_mode) ;;
	esac
fi
[ "$n" != "${KILL_AT:-0}" ] || kill -KILL $PPID
"""

TOOLS = {
    "ip": r"""case "$*" in
*"addr show to "*) cat "$PMX_ROOT.in-${5%%/*}" 2>/dev/null ;;
*"addr show") cat "$PMX_ROOT.addresses" ;;
*"addr show dev "*) awk -v d="$5" '$2 == d' "$PMX_ROOT.addresses" ;;
*"-6 route show dev "*) ;;
*"route show dev "*) awk -v d="$5" '$1 == d { print $2 }' "$PMX_ROOT.routes" ;;
esac""",
    "nft": r"""case $1 in
--version) ;;
list) [ -e "$PMX_ROOT/tables/$4" ] ;;
delete) rm "$PMX_ROOT/tables/$4" ;;
*) set -- $1; touch "$PMX_ROOT/tables/${4%;}" ;;
esac""",
    "modprobe": r"""m=$PMX_ROOT/sys
if [ "$1" = -r ]; then
	rm -r "$m/bus/pci/drivers/vfio-pci" "$m/module/vfio_pci" "$m/module/vfio"
else
	mkdir -p "$m/bus/pci/drivers/vfio-pci" "$m/module/vfio_pci" "$m/module/vfio/parameters"
	touch "$m/bus/pci/drivers/vfio-pci/bind" "$m/bus/pci/drivers/vfio-pci/unbind"
	echo N >"$m/module/vfio/parameters/enable_unsafe_noiommu_mode"
fi""",
    "mount": 'echo "hugetlbfs $4 hugetlbfs rw 0 0" >>"$PMX_ROOT/proc/mounts"',
    "umount": 'grep -v " $1 " "$PMX_ROOT/proc/mounts" >"$PMX_ROOT.m"; cat "$PMX_ROOT.m" >"$PMX_ROOT/proc/mounts"',
    "mkdir": 'exec /bin/mkdir "$@"',
    "rmdir": 'exec /bin/rmdir "$@"',
}


class FakeHost:
    """Two ports of an ice on node 1 (eth1 up without a link, MTU 9000; eth2), one NIC for SSH (eth0), one
    disk; 7 pages on node 1, of which 3 are used."""

    def __init__(self, path):
        self.root = path / "host"
        self.root.mkdir(parents=True)
        for name in ("dev", "tables", "var/lib", "bin", "sys/module"):
            (self.root / name).mkdir(parents=True)
        self.file("proc/sys/kernel/random/boot_id", "b007-1")
        self.file("proc/mounts", "sysfs /sys sysfs rw 0 0")
        self.file("proc/meminfo", "MemTotal: 33554432 kB\nMemAvailable: 16777216 kB")
        self.side("steps", "0")
        self.side("trace", "")
        self.side("used", "3")
        self.side("addresses", "2: eth0 inet 192.0.2.7/24 scope global eth0")
        self.side("routes", "eth0 192.0.2.0/24")
        for driver in ("ice", "igb", "nvme"):
            for name in ("bind", "unbind"):
                self.file(f"sys/bus/pci/drivers/{driver}/{name}", "")
        self.device(NIC, "ice", "0x020000", "eth1", mtu=9000, flags="0x1003")
        self.device(OTHER, "ice", "0x020000", "eth2")
        self.device("0000:01:00.0", "igb", "0x020000", "eth0", flags="0x1003", carrier=1)
        self.device("0000:02:00.0", "nvme", "0x010802", None)
        pool = "sys/devices/system/node/node1/hugepages/hugepages-2048kB"
        self.file(f"{pool}/nr_hugepages", "7")
        self.file(f"{pool}/free_hugepages", "4")
        self.pages = self.root / pool / "nr_hugepages"
        for name, text in {**TOOLS}.items():
            self.program(self.root / "bin" / name, "#!/bin/sh\n" + text)
        self.program(Path(f"{self.root}.kernel"), KERNEL)

    def file(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n" if text else "")
        return path

    def side(self, name, text):
        Path(f"{self.root}.{name}").write_text(text + "\n" if text else "")

    def program(self, path, text):
        path.write_text(text)
        path.chmod(0o755)

    def device(self, address, driver, kind, iface, mtu=1500, flags="0x1002", carrier=0):
        base = f"sys/bus/pci/devices/{address}"
        for name, value in {"class": kind, "vendor": "0x8086", "device": "0x1592", "numa_node": "1",
                            "driver_override": "(null)"}.items():
            self.file(f"{base}/{name}", value)
        (self.root / base / "iommu_group").mkdir()
        (self.root / base / "driver").symlink_to(f"../../drivers/{driver}")
        if iface:
            net = f"{base}/net/{iface}"
            for name, value in {"mtu": mtu, "flags": flags, "carrier": carrier}.items():
                self.file(f"{net}/{name}", str(value))
            (self.root / net / "device").symlink_to(f"../../../{address}")
            link = self.root / "sys/class/net" / iface
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(f"../../bus/pci/devices/{address}/net/{iface}")

    def env(self, kill_at=0):
        """With which a script or pmx is on this host."""
        self.side("steps", "0")
        self.side("trace", "")
        env = {**os.environ, "PMX_ROOT": str(self.root), "PMX_STEP": f"{self.root}.kernel",
               "KILL_AT": str(kill_at)}
        env.pop("SSH_CONNECTION", None)
        return env

    def prepare(self, *args, kill_at=0, ssh=None):
        env = self.env(kill_at)
        if ssh:
            env["SSH_CONNECTION"] = f"198.51.100.1 50000 {ssh} 22"
        return subprocess.run(["/bin/sh", str(PREPARE), *args], env=env, capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, timeout=60)

    @property
    def trace(self):
        """Names of the steps of the last call."""
        return [line.split()[0] for line in Path(f"{self.root}.trace").read_text().splitlines()]

    @property
    def journal(self):
        return self.root / "var/lib/pmx/journal"

    def reboot(self):
        """What is not on the disk is as it was made."""
        fresh = FakeHost(self.root.parent / "fresh")
        keep = self.root / "var"
        for name in ("sys", "proc", "tables", "dev"):
            subprocess.run(["rm", "-r", self.root / name], check=True)
            subprocess.run(["mv", fresh.root / name, self.root / name], check=True)
        for path in self.root.parent.glob(f"{self.root.name}.net-*"):
            subprocess.run(["rm", "-r", path], check=True)
        subprocess.run(["rm", "-r", self.root.parent / "fresh"], check=True)
        self.file("proc/sys/kernel/random/boot_id", "b007-2")
        assert keep.exists()

    def snapshot(self):
        """{path: mode and bytes or target} of all of it."""
        found = {}
        for path in sorted(self.root.rglob("*")):
            name, mode = str(path.relative_to(self.root)), path.lstat().st_mode
            found[name] = (stat.S_IMODE(mode), os.readlink(path) if path.is_symlink() else
                           path.read_bytes() if path.is_file() else None)
        return found

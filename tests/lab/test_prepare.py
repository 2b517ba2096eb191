"""scripts/prepare, on a host that is a directory and on this machine's own pages: what it changes comes
back to the byte, wherever it is killed."""

import os
import random
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from fakehost import NIC, OTHER, PREPARE, FakeHost
from harness import pmx

ALL = ("noiommu", f"pages=40:2048:{NIC}", "hugetlbfs", f"bind={NIC}:vfio-pci",
       f"bind={OTHER}:vfio-pci")
FEW = [item for item in ALL if OTHER not in item]


@pytest.fixture
def ram():
    """A directory in memory: the script waits for the disk at every line of its journal."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory, prefix="pmx-test-") as path:
        yield Path(path)


@pytest.fixture
def host(ram):
    return FakeHost(ram)


def good(done):
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == "", done.stderr
    return done.stdout


def test_there_and_back(host):
    before = host.snapshot()
    said = good(host.prepare("take", *ALL))
    assert f"{NIC}: ice, now vfio-pci" in said
    assert "pages of 2048 kB: 7, now 43" in said
    assert host.pages.read_text() == "43\n"  # 40 free ones and the 3 in use
    dev = host.root / "sys/bus/pci/devices"
    assert [os.readlink(dev / a / "driver") for a in (NIC, OTHER)] == ["../../drivers/vfio-pci"] * 2
    assert (dev / NIC / "driver_override").read_text() == "vfio-pci\n"
    again = host.snapshot()
    good(host.prepare("take", *ALL))  # changes nothing a second time
    assert host.snapshot() == again
    said = good(host.prepare("restore"))
    assert f"{NIC}: ice again" in said
    assert host.snapshot() == before
    assert good(host.prepare("restore")) == "nothing to restore\n"
    assert host.snapshot() == before


@pytest.mark.parametrize("verb", ["take", "restore"])
def test_killed_at_every_step(ram, verb):
    """SIGKILL before and behind every line of the journal and every write; restore, and restore alone,
    brings all of it back."""
    whole = FakeHost(ram / "whole")
    good(whole.prepare("take", *FEW))
    if verb == "restore":
        good(whole.prepare("restore"))
    # what stands between "written" and the next "note" or "put" is the same state
    stops = [at for at, name in enumerate(whole.trace, 1) if name in ("noted", "written", "acted", "close")]
    assert len(stops) >= 8, whole.trace
    for at in stops:
        host = FakeHost(ram / str(at))
        before = host.snapshot()
        if verb == "restore":
            good(host.prepare("take", *FEW))
        killed = host.prepare(verb, *(FEW if verb == "take" else ()), kill_at=at)
        assert killed.returncode == -signal.SIGKILL, f"{at}: {killed.stderr}"
        done = host.prepare("restore")
        assert done.returncode == 0, f"{at}: {done.stdout}{done.stderr}"
        assert host.snapshot() == before, f"killed at {at}"


def test_killed_twice(ram):
    """A restore that is killed, and the next one, too: the third does it."""
    rng = random.Random(5)
    for number in range(10):
        host = FakeHost(ram / str(number))
        before = host.snapshot()
        host.prepare("take", *ALL, kill_at=rng.randrange(8, 30))
        host.prepare("restore", kill_at=rng.randrange(1, 8))
        host.prepare("restore", kill_at=rng.randrange(1, 8))
        good(host.prepare("restore"))
        assert host.snapshot() == before


def test_taken_again_after_a_crash(ram):
    """The first former value is the one to go back to, not what a crashed attempt left."""
    for at in (12, 18, 24):
        host = FakeHost(ram / str(at))
        before = host.snapshot()
        host.prepare("take", *ALL, kill_at=at)
        good(host.prepare("take", *ALL))
        good(host.prepare("restore"))
        assert host.snapshot() == before


def test_torn_line(host):
    """A line that the power cut short was never acted on: it is passed over, and the next stands apart."""
    before = host.snapshot()
    good(host.prepare("take", ALL[1]))
    whole = host.journal.read_text()
    host.journal.write_text(whole + "bind|b007-1|0000:3b:00.0|ic")
    good(host.prepare("take", f"bind={OTHER}:vfio-pci"))
    assert host.journal.read_text().startswith(whole)
    good(host.prepare("restore"))
    assert host.snapshot() == before


def test_after_a_reboot(host):
    """What a reboot has undone is said and not touched; what is on the disk goes."""
    good(host.prepare("take", *ALL))
    host.reboot()
    (host.root / "dev/hugepages").mkdir()  # /dev is no tmpfs here
    host.pages.write_text("11\n")  # the boot's own number
    said = good(host.prepare("restore"))
    assert said.count("gone by the reboot since") == 6, said
    assert host.pages.read_text() == "11\n"
    assert not (host.root / "dev/hugepages").exists()
    assert not host.journal.parent.exists()


def test_taken_after_a_reboot(host):
    """The former value is that of this boot."""
    good(host.prepare("take", ALL[1]))
    host.reboot()
    before = host.snapshot()
    good(host.prepare("take", ALL[1]))
    good(host.prepare("restore"))
    left = {k: v for k, v in before.items() if not k.startswith("var/lib/pmx")}
    assert host.snapshot() == left


def test_dry_run(host):
    before = host.snapshot()
    said = good(host.prepare("take", "-n", *ALL))
    pool = f"{host.root}/sys/devices/system/node/node1/hugepages/hugepages-2048kB"
    pci = f"{host.root}/sys/bus/pci"
    for line in (f"echo 43 > {pool}/nr_hugepages", "modprobe vfio-pci",
                 f"mount -t hugetlbfs hugetlbfs {host.root}/dev/hugepages",
                 f"echo vfio-pci > {pci}/devices/{NIC}/driver_override",
                 f"echo {NIC} > {pci}/drivers/ice/unbind", f"echo {NIC} > {pci}/drivers/vfio-pci/bind"):
        assert line in said.splitlines(), said
    assert host.snapshot() == before
    good(host.prepare("take", ALL[1]))
    taken = host.snapshot()
    assert good(host.prepare("restore", "-n")) == f"echo 7 > {pool}/nr_hugepages\n"
    assert host.snapshot() == taken


def refused(host, item, why, **kwargs):
    before = host.snapshot()
    done = host.prepare("take", f"pages=40:2048:{NIC}", item, **kwargs)
    assert done.returncode == 3, done.stdout
    assert done.stderr.count("\n") == 1 and why in done.stderr, done.stderr
    assert host.snapshot() == before


def test_refused(host):
    """And then nothing else is done either."""
    ssh = "192.0.2.7"
    refused(host, "bind=0000:01:00.0:vfio-pci", f"it carries this SSH session ({ssh})", ssh=ssh)
    refused(host, "bind=0000:01:00.0:vfio-pci", "eth0 is in use: it has the address 192.0.2.7/24")
    refused(host, f"bind={NIC}:vfio-pci", "cannot tell which device carries", ssh="203.0.113.9")
    refused(host, "quiet=eth0", f"it carries this SSH session ({ssh})", ssh=ssh)
    refused(host, "quiet=eth0", "it has the address 192.0.2.7/24, which would be cut off")
    refused(host, "quiet=eth9", "no such interface")
    refused(host, "bind=0000:02:00.0:vfio-pci", "no network device (class 0x010802)")
    refused(host, "bind=0000:09:00.0:vfio-pci", "no such device on PCI")
    refused(host, f"bind={NIC}:igb_uio", "expected vfio-pci")
    refused(host, "pages=x:2048:-", "expected COUNT:KB:DEVICE")
    refused(host, f"pages=40:1048576:{NIC}", "no pages of 1048576 kB")
    refused(host, f"pages=9000:2048:{NIC}", "only 16384 MB are available")
    refused(host, "pgaes=1:2048:-", "expected pages, hugetlbfs, bind, noiommu or quiet")
    assert host.prepare("take").returncode == 0
    assert host.prepare().returncode == 2
    assert host.prepare("tak").returncode == 2


def test_refused_in_use(host):
    net = host.root / f"sys/bus/pci/devices/{NIC}/net/eth1"
    bind = f"bind={NIC}:vfio-pci"
    (net / "master").symlink_to("../../../../../../class/net/bond0")
    (host.root / "sys/class/net/bond0").mkdir()
    refused(host, bind, "eth1 is in use: it belongs to bond0")
    (net / "master").unlink()
    (net / "upper_eth1.7").symlink_to(".")
    refused(host, bind, "eth1 is in use: eth1.7 stands on it")
    (net / "upper_eth1.7").unlink()
    host.side("routes", "eth1 203.0.113.0/24")
    refused(host, bind, "eth1 is in use: a route leads to it (203.0.113.0/24)")
    host.side("routes", "")
    (net / "carrier").write_text("1\n")
    refused(host, bind, "eth1 is in use: it is up with a link")
    (net / "carrier").write_text("0\n")
    # the session's address is on a VLAN of a bond of it
    host.side("addresses", "9: bond0.7@bond0 inet 192.0.2.7/24 scope global bond0.7")
    for upper, lower in (("bond0.7", "bond0"), ("bond0", "eth1")):
        (host.root / "sys/class/net" / upper).mkdir(exist_ok=True)
        (host.root / "sys/class/net" / upper / f"lower_{lower}").symlink_to(".")
    refused(host, bind, "it carries this SSH session", ssh="192.0.2.7")
    (host.root / f"sys/bus/pci/devices/{OTHER}/iommu_group").rmdir()
    refused(host, f"bind={OTHER}:vfio-pci", "no IOMMU")


def virtio(host, address="0000:04:00.0"):
    """A virtio device, whose interface is a level below it: the session's."""
    host.device(address, "virtio-pci", "0x020000", None)
    base = f"sys/bus/pci/devices/{address}/virtio1"
    for name, value in (("mtu", "1500"), ("flags", "0x1003"), ("carrier", "1")):
        host.file(f"{base}/net/ens4/{name}", value)
    (host.root / base / "net/ens4/device").symlink_to("../../../virtio1")
    (host.root / "sys/class/net/ens4").symlink_to(f"../../../{base}/net/ens4")
    host.side("addresses", "3: ens4 inet 203.0.113.5/24 scope global ens4")
    host.side("in-203.0.113.5", "3: ens4    inet 203.0.113.5/24 scope global ens4")
    return address


def test_refused_virtio(host, write):
    """The interface that is in use, or carries the session, is not right below its device."""
    address = virtio(host)
    bind = f"bind={address}:vfio-pci"
    for ssh in ("203.0.113.5", "::ffff:203.0.113.5"):
        refused(host, bind, "it carries this SSH session (203.0.113.5)", ssh=ssh)
    refused(host, bind, "ens4 is in use: it has the address 203.0.113.5/24")
    device = {"device": address, "driver": "virtio_pci"}
    done = on(host, "run", write(fleet_of(device, {"driver": "null"})), ssh="203.0.113.5")
    assert f"device {address} carries this SSH session (ens4, 203.0.113.5)" in done.expect(3).err, done


def test_refused_hidden(host):
    """A kernel's driver and no interface: a container may have that."""
    subprocess.run(["rm", "-r", host.root / f"sys/bus/pci/devices/{NIC}/net",
                    host.root / "sys/class/net/eth1"], check=True)
    refused(host, f"bind={NIC}:vfio-pci", "it may be in another network namespace")
    driver = host.root / f"sys/bus/pci/devices/{NIC}/driver"
    driver.unlink()
    good(host.prepare("take", f"bind={NIC}:vfio-pci"))


def test_restore_waits_for_nobody(host):
    """A process that has the device by vfio is named; nothing of it is touched until it ends."""
    group = host.root / f"sys/bus/pci/devices/{NIC}/iommu_group"
    group.rmdir()
    group.symlink_to("../../../../kernel/iommu_groups/17")
    (host.root / "sys/kernel/iommu_groups/17").mkdir(parents=True)
    before = host.snapshot()
    good(host.prepare("take", f"bind={NIC}:vfio-pci"))
    fds = host.root / "proc/4711/fd"
    fds.mkdir(parents=True)
    (fds / "9").symlink_to("/dev/vfio/17")
    done = host.prepare("restore")
    assert done.returncode == 1 and f"{NIC}: not put back: process 4711 has it" in done.stderr, done
    assert os.readlink(host.root / f"sys/bus/pci/devices/{NIC}/driver").endswith("vfio-pci")
    subprocess.run(["rm", "-r", fds.parent], check=True)
    good(host.prepare("restore"))
    assert host.snapshot() == before


def test_quiet(host):
    host.side("addresses", "")
    before = host.snapshot()
    good(host.prepare("take", "quiet=eth1"))
    assert (host.root / "tables/pmx_quiet_eth1").exists()
    good(host.prepare("restore"))
    assert host.snapshot() == before


def test_too_few_pages(host):
    """The kernel gives what it has: that is an error, and restore puts it back."""
    before = host.snapshot()
    host.side("most", "20")
    done = host.prepare("take", f"pages=40:2048:{NIC}")
    assert done.returncode == 3 and "17 free pages of the 40 needed" in done.stderr, done.stderr
    good(host.prepare("restore"))
    assert host.snapshot() == before


def test_pages_in_use(host):
    """What cannot be put back is named, and stays in the journal for the next time."""
    good(host.prepare("take", f"pages=40:2048:{NIC}"))
    program = Path(f"{host.root}.kernel")
    text = program.read_text()
    program.write_text(text.replace('[ "$3" -le', 'echo 30 >"$2"; [ "$3" -le'))
    done = host.prepare("restore")
    assert done.returncode == 1 and "30 instead of 7: pages are in use" in done.stderr, done.stderr
    assert host.journal.exists()
    program.write_text(text)
    good(host.prepare("restore"))
    assert host.pages.read_text() == "7\n"


# --- pmx, for a fleet on such a host

SUBNET = "198.18.77.0/24"


def on(host, verb, matrix, *options, ssh=None):
    env = {**host.env(), "PATH": f"{host.root}/bin:{os.environ['PATH']}",
           "SSH_CONNECTION": f"198.51.100.1 50000 {ssh} 22" if ssh else ""}
    return pmx(verb, *options, matrix, env=env)


def fleet_of(*devices):
    return {"pmx": 1, "transport": "local", "traffic": {"rate": 5},
            "hosts": {chr(ord("a") + i): {"addr": f"198.18.0.{i + 1}/24", **device}
                      for i, device in enumerate(devices)}}


def test_pmx_devices_by_any_name(host, write):
    """A PCI address, an interface that is one, and a subnet that names an interface, on one host: all are
    found, once more when they are taken, and come back."""
    host.device("0000:5e:00.0", "igb", "0x020000", "eth3", flags="0x1003", carrier=1)
    host.side("in-198.18.77.0", "4: eth3    inet 198.18.77.1/24 scope global eth3")
    before = host.snapshot()
    matrix = write(fleet_of({"device": "eth1", "driver": "ice"}, {"device": OTHER, "driver": "ice"},
                            {"device": SUBNET, "driver": "af_packet", "hugepages": "yes"}))
    for verb, options in (("prepare", ["-n"]), ("prepare", []), ("prepare", [])):
        said = on(host, verb, matrix, *options).expect(0).out
    assert f"a: {NIC}: vfio-pci is its driver" in said and f"b: {OTHER}: vfio-pci is" in said, said
    assert "free pages of 2048 kB are there" in said
    journal = host.journal.read_text()
    assert journal.count("bind|") == 2 and "/node1/" in journal and "quiet" not in journal, journal
    on(host, "restore", matrix).expect(0)
    assert host.snapshot() == before


def test_pmx_devices_refused(host, write):
    """Not found, on the way of the session, or lost by the binding: named, and nothing is changed."""
    host.side("in-198.18.77.0", "4: eth1    inet 198.18.77.1/24 scope global eth1")
    before = host.snapshot()
    for device, why in ((SUBNET, f"takes it from the kernel with its addresses: expected device: {NIC}"),
                        ("198.18.78.0/24", "no interface has an address in 198.18.78.0/24"),
                        ("eth7", "no interface eth7 here, but eth0 eth1 eth2")):
        done = on(host, "prepare", write(fleet_of({"device": device, "driver": "ice"},
                                                  {"driver": "null", "hugepages": "no"})))
        assert "a: " in done.expect(3).err and why in done.err, done
        assert host.snapshot() == before


# --- this machine's own pages

def real(tmp_path, *args):
    return ["/bin/sh", str(PREPARE), *args], {**os.environ, "PMX_STATE": str(tmp_path / "state/pmx")}


def run(tmp_path, *args):
    command, env = real(tmp_path, *args)
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)


def test_real_pages(tmp_path, pages):
    before = pages()
    want = pages("free_hugepages") + 5
    good(run(tmp_path, "take", f"pages={want}:2048:-"))
    assert pages("free_hugepages") >= want
    good(run(tmp_path, "restore"))
    assert pages() == before
    assert not (tmp_path / "state/pmx").exists()


def test_real_pages_killed(ram, pages):
    """SIGKILL at any time between the beginning and the end."""
    rng = random.Random(8)
    before = pages()
    for _ in range(20):
        command, env = real(ram, "take", f"pages={pages('free_hugepages') + 5}:2048:-")
        process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, start_new_session=True)
        time.sleep(rng.uniform(0, 0.1))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        good(run(ram, "restore"))
        assert pages() == before


def local(tmp_path):
    return {"pmx": 1, "transport": "local", "remote_dir": str(tmp_path / "remote"),
            "defaults": {"driver": "memif", "hugepages": "yes", "idle": "sleep"},
            "hosts": {"a": {"addr": "198.18.0.1/24"}, "b": {"addr": "198.18.0.2/24"}},
            "traffic": {"rate": "1k"}, "timing": {"warmup": "100ms", "duration": "500ms"}}


def test_pmx_pages(ram, pages, write):
    """Two agents that insist on hugepages, on one machine: both have theirs at the same time."""
    before = pages()
    matrix = write(local(ram))
    env = {"PMX_STATE": str(ram / "state/pmx")}
    shown = pmx("prepare", "-n", matrix, env=env).expect(0)
    assert pages() == before and not (ram / "state").exists(), shown
    pmx("prepare", matrix, env=env).expect(0)
    assert pages() >= max(before, 2)  # of the free ones others may take some meanwhile
    pmx("run", matrix).expect(0)
    pmx("restore", matrix, env=env).expect(0)
    assert pages() == before
    assert not (ram / "state/pmx").exists()


# --- hosts of the lab, over SSH

def tables(lab, host):
    return lab.sh(host, "nft list tables netdev")


def drops(lab, host):
    """What the kernel's routing of a host threw away or passed up."""
    text = lab.sh(host, "nstat -asz IpInReceives | awk '/IpInReceives/ { print $2 }'")
    return int(text)


def test_pmx_quiet(lab, write):
    """Over SSH: the kernels of the hosts do not see the traffic any more, and the agents still do."""
    matrix = write(lab.matrix(rate="2k", warmup="200ms", duration="1s"))
    assert all(tables(lab, h) == "" for h in lab.hosts)
    shown = pmx("prepare", "-n", matrix).expect(0).out
    assert "h1: nft 'add table netdev pmx_quiet_data0;" in shown
    assert all(tables(lab, h) == "" for h in lab.hosts)
    pmx("prepare", matrix).expect(0)
    try:
        assert all("pmx_quiet_data0" in tables(lab, h) for h in lab.hosts)
        before = drops(lab, "h1")
        summary = pmx("run", matrix, "--json", "-").expect(0, 1).json
        assert summary["totals"]["delivered"] > 0
        assert drops(lab, "h1") - before < summary["totals"]["sent"] / 10
    finally:
        said = pmx("restore", matrix).expect(0).out
    assert "h1: table pmx_quiet_data0: absent again" in said
    assert all(tables(lab, h) == "" for h in lab.hosts)
    assert pmx("restore", matrix).expect(0).out.splitlines() == [
        f"{h}: nothing to restore" for h in lab.hosts]


def test_pmx_refuses_the_session_by_subnet(lab, write):
    """Not even where an address names it."""
    tree = lab.matrix(rate="2k")
    tree.get("defaults", {}).pop("device", None)
    for name, host in tree["hosts"].items():
        address = lab.sh(name, "ip -o -4 addr show dev mgmt0 | awk '{ print $4 }'").split("/")[0]
        host["device"] = f"{address}/32"
    done = pmx("prepare", write(tree)).expect(3)
    assert done.err.count("carries this SSH session") == len(lab.hosts), done


def test_pmx_refuses_the_session(lab, write):
    """The management interface of a host is never taken."""
    tree = lab.matrix(rate="2k")
    for host in tree["hosts"].values():
        host["device"] = "mgmt0"
    tree.get("defaults", {}).pop("device", None)
    done = pmx("prepare", write(tree)).expect(3)
    assert done.err.count("it carries this SSH session") == len(lab.hosts), done
    assert all(tables(lab, h) == "" for h in lab.hosts)

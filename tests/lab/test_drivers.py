"""Every profile whose PMD runs without a NIC carries a run: real agents, exact counts. af_packet is
what the lab is made of, and memif stands in test_quickstart.py."""

import contextlib
import re
import struct
import subprocess
from collections import Counter
from pathlib import Path

import pytest
import yaml

from agents import Fleet, own_peer, tx_row
from harness import LAB, ROOT, assert_identity, measure, pmx, until

PROFILES = sorted((ROOT / "drivers-config").glob("*.yaml"))
LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")


def test_ids_are_dpdks():
    """A profile on PCI lists the ids that its driver lists, no more and no fewer."""
    pmds = {"e1000": ("e1000", None), "virtio_pci": ("virtio", "net_virtio"),
            "ice": ("ice", "net_ice")}
    checked = 0
    for path in PROFILES:
        profile = yaml.safe_load(path.read_text())
        library, pmd = pmds.get(path.stem, (path.stem, None))
        found = list(LIBRARIES.glob(f"librte_net_{library}.so.23"))
        if not profile.get("pci_ids") or not found:
            continue
        ids = set()
        for text in re.findall(rb"PMD_INFO_STRING= (\{.*?\})\0", found[0].read_bytes()):
            info = yaml.safe_load(text)
            if pmd in (None, info["name"]):
                ids |= {f"{v:04x}:{d:04x}" for v, d, *_ in info.get("pci_ids", [])}
        assert set(profile["pci_ids"]) == ids, path.stem
        checked += 1
    if checked == 0:
        pytest.skip("no libraries of DPDK's drivers here")


def test_own_directory(tmp_path, write):
    """A profile of one's own goes before the one that comes along, file by file, and what is shown
    reads back equal."""
    own = tmp_path / "own"
    own.mkdir()
    shown = pmx("profile", "show", "memif").expect(0).out
    (own / "memif.yaml").write_text(shown.replace("rxd: 1024", "rxd: 512"))
    env = {"PMX_DRIVERS": str(own)}
    again = pmx("profile", "show", "memif", env=env).expect(0).out
    assert re.search(r"^rxd: 512 +# memif.yaml:\d+$", again, re.M), again
    assert f"# profile memif: {own}/memif.yaml" in again
    plain = [re.sub(r" *#.*", "", text) for text in (shown, again)]
    assert plain[1] == plain[0].replace("rxd: 1024", "rxd: 512")
    listed = pmx("profile", "list", "--drivers", own).expect(0).out
    assert len(listed.splitlines()) == len(PROFILES) + 1
    assert f"{own}/memif.yaml" in listed and str(ROOT / "drivers-config/null.yaml") in listed
    matrix = write({**local("memif", "memif"), "remote_dir": str(tmp_path / "remote")})
    host = pmx("profile", "show", f"{matrix}:left", env=env).expect(0).out
    assert host.startswith("# device of host left: net_memif0,role=server,"), host
    assert "rxd: 512" in host
    (own / "memif.yaml").write_text("rxds: 5\n")
    assert "unknown key 'rxds'" in pmx("profile", "show", "memif", env=env).expect(2).err


def local(left, right, rate="2k", **defaults):
    return {"pmx": 1, "name": "drivers", "transport": "local",
            "defaults": {"idle": "sleep", **defaults},
            "hosts": {"left": {"addr": "198.18.0.1/24", "driver": left},
                      "right": {"addr": "198.18.0.2/24", "driver": right}},
            "traffic": {"rate": rate, "streams": 4},
            "timing": {"warmup": "100ms", "duration": "1s", "drain": "500ms"}}


def exact(summary, each):
    for row in summary["flows"]:
        assert_identity(row)
        assert row["sent"] == row["target"] == each


@pytest.mark.parametrize("left,right", [
    ("virtio", "vhost"), pytest.param("vhost", "virtio", marks=pytest.mark.release)])
def test_virtio_vhost(tmp_path, write, left, right):
    """The two sides of a vhost-user socket, whichever comes first; more than the 512 packets that go
    out without --single-file-segments."""
    matrix = write({**local(left, right), "remote_dir": str(tmp_path / "remote")})
    exact(measure(matrix), 2000)


def test_virtio_vhost_queues(tmp_path, write):
    matrix = write({**local("virtio", "vhost", queues=2), "remote_dir": str(tmp_path / "remote")})
    exact(measure(matrix), 2000)


def driven(lab, driver, device="data0", **words):
    tree = lab.matrix(**{"rate": "500", "warmup": "100ms", "duration": "1s", **words})
    tree["defaults"].update(driver=driver, device=device)
    for host in tree["hosts"].values():
        host.pop("driver", None)
        host.pop("device", None)
    return tree


def test_pcap(lab, write):
    """An interface by libpcap, with the interface's MAC. Its ring holds some 31 frames, so that a busy
    machine may cost a few: each of them is accounted for."""
    for row in measure(write(driven(lab, "pcap", rate="100")))["flows"]:
        assert_identity(row, lossless=False)
        assert row["sent"] == row["target"] == 100
        assert row["returned"] >= 80


# The bridge takes the MAC of its port for its own, unless told otherwise.
JOIN = """(i=0
until ip link set dtap0 master br0 2>/dev/null || [ $i -gt 1200 ]; do sleep 0.1; i=$((i+1)); done
bridge fdb del "$(cat /sys/class/net/dtap0/address)" dev dtap0 master) >/dev/null 2>&1 </dev/null &"""


@contextlib.contextmanager
def joined(lab):
    """A bridge on each host, with its data port and the interface that the agent will make: what to do
    before each run."""
    for host in lab.hosts:
        lab.sh(host, "sysctl -qw net.bridge.bridge-nf-call-iptables=0"
                     " net.bridge.bridge-nf-call-arptables=0 2>/dev/null;"
                     "ip link add br0 type bridge stp_state 0 mcast_snooping 0 forward_delay 0 &&"
                     " ip link set br0 arp off up && ip link set data0 master br0")
    try:
        def before():
            for host in lab.hosts:  # as soon as the agent has made it
                lab.sh(host, JOIN)
        yield before
    finally:
        for host in lab.hosts:
            lab.sh(host, "ip link set data0 nomaster; ip link del br0")


def test_tap(lab, write):
    """An interface that the agent makes, on a bridge of the host with its data port."""
    with joined(lab) as before:
        exact(measure(write(driven(lab, "tap", device="dtap0")), before=before), 500)
        assert all(lab.call("exec", h, "ip", "link", "show", "dtap0", check=False).returncode
                   for h in lab.hosts)  # gone with the agent


@pytest.fixture
def lab1(session_lab):
    """Interfaces of one queue, as af_xdp with one queue needs them."""
    session_lab.ensure(2, queues=1)
    yield session_lab
    session_lab.tidy()


def test_af_xdp(lab1, write):
    exact(measure(write(driven(lab1, "af_xdp"))), 500)
    for host in lab1.hosts:
        assert "xdp" not in lab1.sh(host, "ip link show data0")


def test_af_xdp_killed(lab1, write, spawn):
    """SIGKILL leaves the XDP program on the interface: the supervisor takes it off."""
    matrix = write(driven(lab1, "af_xdp", duration="60s"))
    run = spawn("run", matrix)
    host = lab1.hosts[0]
    until(lambda: "xdp" in lab1.sh(host, "ip link show data0"), 60, "XDP is attached")
    until(lambda: lab1.exists(host, "/var/tmp/pmx/agent.pid"), 20, "the agent says its pid")
    lab1.sh(host, "kill -9 $(cat /var/tmp/pmx/agent.pid)")
    until(lambda: "xdp" not in lab1.sh(host, "ip link show data0"), 20, "XDP is gone")
    assert "XDP program left on data0" in lab1.file(host, "/var/tmp/pmx/agent.log")
    run.kill(2)
    run.wait(60)


# Takes the fan-out ids that af_packet's PMD would take on data0 in any of the next 300 processes of the
# host, as groups of lo or as claims of other agents; says the first and last of those, and stays.
SQUAT = """
import os, socket, struct, sys, time
index, first, held = socket.if_nametoindex("data0"), os.getpid(), []
for pid in range(first, first + 300):
    number = (pid ^ index) & 0xffff
    if sys.argv[1] == "groups":
        held.append(socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)))
        held[-1].bind(("lo", 0))
        held[-1].setsockopt(263, 18, struct.pack("=HH", number, 0))  # SOL_PACKET, PACKET_FANOUT
    else:
        held.append(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        held[-1].bind(f"\\0pmx-fanout-{number}")
print(first, pid, flush=True)
time.sleep(100)
"""


@pytest.mark.parametrize("kind", ["groups", "claims"])
def test_af_packet_fanout(lab, write, kind):
    """The PMD makes the id of its fan-out group of its process and interface: an agent for which it is
    taken by another interface of the namespace begins as another process."""
    matrix = write(driven(lab, "af_packet", duration="1s"))
    command = ["exec", "h1", "python3", "-c", SQUAT, kind]
    squatter = subprocess.Popen([str(LAB), *command], stdout=subprocess.PIPE, text=True)
    try:
        first, last = map(int, squatter.stdout.readline().split())
        pmx("start", matrix, "--for", "60s").expect(0)
        assert int(lab.file("h1", "/var/tmp/pmx/agent.pid")) > last
    finally:
        lab.sh("h1", f"kill {first}")
        squatter.wait(20)
    pmx("clean", matrix).expect(0)


def xdp_program(lab, host):
    """The id of the XDP program on the host's interface, or None."""
    found = re.search(r"prog/xdp\S* id (\d+)", lab.sh(host, "ip -d -o link show data0"))
    return found and int(found[1])


def killed_whole(lab, matrix):
    """Agents of an af_xdp fleet run; those of the first host are killed, supervisor and all. The id of
    the program that stays."""
    host = lab.hosts[0]
    pmx("start", matrix, "--for", "60s").expect(0)
    words = lab.file(host, "/var/tmp/pmx/agent.xdp").split()
    assert words[1:] == [str(xdp_program(lab, host)), "data0"]
    lab.sh(host, f"kill -STOP {' '.join(map(str, lab.agents(host)))}")  # or one buries the other
    lab.sh(host, f"kill -KILL {' '.join(map(str, lab.agents(host)))}")
    until(lambda: lab.agents(host) == [], 20, "the agents are gone")
    assert xdp_program(lab, host) == int(words[1])
    return int(words[1])


def test_af_xdp_left(lab1, write):
    """Killed together with its supervisor, an agent leaves its program: doctor says so, and clean or the
    next run takes it off."""
    matrix, host = write(driven(lab1, "af_xdp", duration="1s")), lab1.hosts[0]
    left = killed_whole(lab1, matrix)
    pmx("stop", matrix, "--hosts", lab1.hosts[1]).expect(0)
    told = pmx("doctor", matrix, "--json", "-", "--all").expect(0).json
    (finding,) = [f for f in told["hosts"][0]["findings"] if f["probe"] == "xdp"]
    assert finding["health"] == "note" and f"id {left})" in finding["text"], finding
    assert finding["fix"] == "pmx clean"
    exact(measure(matrix), 500)
    assert all(xdp_program(lab1, h) is None for h in lab1.hosts)
    assert not lab1.exists(host, "/var/tmp/pmx/agent.xdp")
    killed_whole(lab1, matrix)
    pmx("clean", matrix).expect(0)
    assert all(xdp_program(lab1, h) is None for h in lab1.hosts)
    assert not lab1.exists(host, "/var/tmp/pmx")


def test_af_xdp_foreign(lab1, write, bpf_pass):
    """Somebody's program that is on the interface by now is not the one that the agent left."""
    matrix, host = write(driven(lab1, "af_xdp", duration="1s")), lab1.hosts[0]
    left = killed_whole(lab1, matrix)
    lab1.sh(host, "ip link set dev data0 xdp off")
    lab1.sh(host, f"ip link set dev data0 xdp obj {bpf_pass} sec xdp")
    try:
        foreign = xdp_program(lab1, host)
        assert foreign not in (None, left)
        boot = lab1.file(host, "/proc/sys/kernel/random/boot_id").strip()
        for words in (f"{boot} {left} data0", f"{boot[::-1]} {foreign} data0"):
            pmx("run", matrix).expect(3)  # there is no room for the agent's
            assert xdp_program(lab1, host) == foreign
            lab1.sh(host, f"echo {words} >/var/tmp/pmx/agent.xdp")
            pmx("run", matrix).expect(3)
            assert xdp_program(lab1, host) == foreign
            lab1.sh(host, f"echo {words} >/var/tmp/pmx/agent.xdp")
            pmx("clean", matrix).expect(0)
            assert xdp_program(lab1, host) == foreign
            assert not lab1.exists(host, "/var/tmp/pmx")
    finally:
        lab1.sh(host, "ip link set dev data0 xdp off")


def test_af_xdp_queues(lab, write):
    """An interface with more queues than it takes would lose the others' frames: refused."""
    done = pmx("run", write(driven(lab, "af_xdp"))).expect(3)
    assert "queues: 1 asked, but data0 has 4 receive queues" in done.err, done


# --- those that reach nobody

@pytest.mark.parametrize("driver", ["null", pytest.param("ring", marks=pytest.mark.release)])
def test_reaches_nobody(tmp_path, write, driver):
    """null swallows what it is given and ring gives it back, ARP too: the run says who did not answer,
    sends no request, and ends."""
    tree = {**local(driver, driver), "remote_dir": str(tmp_path / "remote")}
    tree["timing"]["resolve"] = "500ms"
    done = pmx("run", write(tree)).expect(3)
    assert "no answer" in done.err and "FAILED on" in done.err, done
    assert list((tmp_path / "remote").glob("*/agent.pid")) == []


def pcap_file(path, *frames):
    text = struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1)
    for frame in frames:
        text += struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame
    path.write_bytes(text)


def frames_of(path):
    text, at = path.read_bytes(), 24
    while at < len(text):
        size = struct.unpack_from("<I", text, at + 8)[0]
        yield text[at + 16:at + 16 + size]
        at += 16 + size


def test_pcap_files(tmp_path):
    """From a file come the ARP answers of a peer that never was; into one go the requests, every one of
    them sent and none answered."""
    made = own_peer("h1", {"ghost": 1000.0}, duration_s=1.0, drain_s=0.5)
    config = made["h1"]
    config["rx"] = []
    ghost, mac = bytes([198, 18, 0, 77]), bytes.fromhex("02aabbccddee")
    config["tx"][0]["peer_addr"] = "198.18.0.77"
    answer = (b"\xff" * 6 + mac + b"\x08\x06\0\1\x08\0\6\4\0\2" + mac + ghost +
              b"\xff" * 6 + bytes([198, 18, 0, 1]) + bytes(18))
    pcap_file(tmp_path / "in.pcap", *[answer] * 50)
    config["port"].update(pci="", profile="pcap",
                          vdev=f"net_pcap0,rx_pcap={tmp_path}/in.pcap,tx_pcap={tmp_path}/out.pcap")
    fleet = Fleet(tmp_path, made)
    try:
        (trial,) = tx_row(fleet.run(), "h1", "ghost")
    finally:
        fleet.end()
    assert trial["sent"] == 1000 and trial["returned"] == 0
    sent = Counter(frame[:6] for frame in frames_of(tmp_path / "out.pcap")
                   if frame[12:14] == b"\x08\0" and frame[23] == 17)
    assert sent == {mac: 1000}

"""The lab itself, with nothing but the kernel's tools: what the other tests' instruments are worth."""

import os
import subprocess

from harness import LAB, until

SEND = """
import socket, struct, sys
src, dst, count, sport, dport = map(int, sys.argv[1:])
def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
raw.bind(("data0", 0))
ip = struct.pack("!BBHHHBBH4B4B", 0x45, 0, 46, 0, 0, 64, 17, 0, 198, 18, 0, src, 198, 18, 0, dst)
ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
frame = b"\\xff" * 6 + raw.getsockname()[4] + b"\\x08\\0" + ip
frame += struct.pack("!HHHH", sport, dport, 26, 0) + bytes(18)
for _ in range(count):
    raw.send(frame)
"""


def send(lab, src, dst, count, sport=1000, dport=5300):
    lab.exec(f"h{src}", "/usr/bin/python3", "-c", SEND, src, dst, count, sport, dport)


def test_drops_exactly_one_in_n(lab):
    lab.fault("drop", "--from", "h1", "--to", "h2", "--every", 100, "--dport", 5300)
    lab.fault("count", "--from", "h1", "--to", "h2", "--dport", 5300)
    lab.fault("count", "--from", "h1", "--to", "h2", "--sport", 5300)
    lab.capture()
    send(lab, 1, 2, 5000)
    send(lab, 1, 2, 70, sport=5300, dport=1000)
    assert list(lab.counters().values()) == [50, 4950, 70]
    captured = lab.captured()
    # the capture stands before the fault
    assert (captured["h1"].packets, captured["h2"].packets) == (5070, 0)
    assert {size for (size,) in captured["h1"].fields("udp", "frame.len")} == {"60"}
    lab.fault("clear")
    assert lab.counters() == {}


def test_link_down_and_up(lab):
    def carrier():
        return lab.exec("h2", "cat", "/sys/class/net/data0/carrier").strip()
    lab.fault("link", "h2", "down")
    until(lambda: carrier() == "0", 5, "no carrier")
    lab.fault("clear")
    until(lambda: carrier() == "1", 5, "carrier")


def test_hosts_are_hosts(lab):
    for host in lab.hosts:
        ssh = subprocess.run(["ssh", "-F", lab.dir / "ssh_config", host, "hostname; ps -e | wc -l"],
                             stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20)
        name, processes = ssh.stdout.split()
        assert name == host
        assert int(processes) < 20  # its own, not the machine's
        lab.sh(host, f"echo {host} >/var/tmp/here")
    assert [lab.file(host, "/var/tmp/here").strip() for host in lab.hosts] == lab.hosts
    keys = {(lab.dir / host / "host_key.pub").read_text() for host in lab.hosts}
    assert len(keys) == 3


def test_silent(lab):
    """Without traffic nothing is on the data links: no ARP, no IPv6, no spanning tree."""
    lab.capture()
    lab.sh("h1", "ping -c 1 -W 1 198.18.0.2 || true")
    assert {host: c.packets for host, c in lab.captured().items()} == {"h1": 0, "h2": 0, "h3": 0}


def traces(lab):
    def lines(*command):
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
        return [line for line in done.stdout.splitlines() if lab.name + "-" in line]
    left = lines("ip", "netns", "list") + lines("ip", "-o", "link")
    left += [f"mount {line}" for line in lines("cat", "/proc/mounts") if "lab" in line]
    return left + ([str(lab.dir)] if lab.dir.exists() else [])


def test_down_leaves_nothing(lab):
    lab.capture("h1")
    lab.exec("h1", "sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 &")
    lab.down()
    assert traces(lab) == []
    assert lab.down().returncode == 0


def test_up_over_a_half_made_one(lab):
    lab.down()
    half = subprocess.Popen([LAB, "up", "20"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)
    until(lambda: (lab.dir / "h3").exists(), 20, "three hosts")
    half.kill()
    half.wait()
    assert traces(lab)
    lab.ensure()
    assert len(lab.hosts) == 3
    assert lab.call("list").stdout.count("running") == 3


def test_refusals(lab):
    for words in (["up", "0"], ["up", "x"], ["fault", "drop", "--from", "h9"], ["fault", "drpo"],
                  ["exec", "nobody", "true"], ["fault", "link", "h1", "sideways"], ["nonsense"],
                  ["matrix", "color=red"]):
        done = lab.call(*words, check=False)
        assert done.returncode == 2, (words, done)
        assert done.stderr
    assert lab.call("list").stdout.count("running") == 3
    assert os.path.exists(lab.dir / "hosts")

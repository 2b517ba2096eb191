"""Hosts of two data ports each: every port is an endpoint with an agent of its own."""

import json
import re
import subprocess
from itertools import permutations

import pytest

from harness import ROOT, assert_identity, flow, measure, pmx

ENDPOINTS = ["h1.p0", "h1.p1", "h2.p0", "h2.p1"]
RATE = 500


def ip(*args):
    subprocess.run(["ip", *args], check=True, timeout=20)


@pytest.fixture
def second_ports(lab):
    """data1 on h1 and h2, with a link to the same bridge as data0."""
    fabric = f"{lab.name}-fabric"
    try:
        for host in ("h1", "h2"):
            space = f"{lab.name}-{host}"
            ip("-n", space, "link", "add", "data1", "mtu", "1500", "txqueuelen", "10000", "type",
               "veth", "peer", "name", f"{host}b", "mtu", "1500", "txqueuelen", "10000", "netns",
               fabric)
            for where, link in ((space, "data1"), (fabric, f"{host}b")):
                subprocess.run(["ip", "netns", "exec", where, "ethtool", "-K", link, "rx", "off", "tx",
                                "off", "sg", "off", "tso", "off", "gso", "off", "gro", "off"],
                               check=True, capture_output=True, timeout=20)
            ip("-n", fabric, "link", "set", f"{host}b", "master", "data", "up")
            ip("-n", space, "link", "set", "data1", "arp", "off", "up")
        yield lab
    finally:
        for host in ("h1", "h2"):
            subprocess.run(["ip", "-n", fabric, "link", "del", f"{host}b"], timeout=20)


def tree(lab, **words):
    matrix = lab.matrix(**words)
    hosts = matrix["hosts"]
    for i, name in enumerate(("h1", "h2")):
        host = hosts[name]
        del host["addr"]
        host.pop("lcores", None)
        host["ports"] = {f"p{k}": {"addr": f"198.18.0.{10 * (i + 1) + k}/24", "device": f"data{k}",
                                   "lcores": k} for k in range(2)}
    del hosts["h3"]
    return matrix


def test_mesh_of_ports(second_ports, write, tmp_path):
    lab = second_ports
    path = write(tree(lab, rate=RATE, duration="1s"))
    summary = measure(path)
    assert [host["host"] for host in summary["hosts"]] == ENDPOINTS
    assert_identity(summary["totals"])
    assert len(summary["flows"]) == 12
    for src, dst in permutations(ENDPOINTS, 2):
        row = flow(summary, src, dst)
        assert_identity(row)
        assert row["sent"] == RATE
    assert lab.all_agents() == {}
    # one binary, a directory a port
    found = lab.sh("h1", "cd /var/tmp/pmx && find . -name 'pmx-agent' -o -name result.json").split()
    assert sorted(found) == ["./h1.p0/result.json", "./h1.p1/result.json", "./pmx-agent"]
    pmx("collect", path, "--output", tmp_path / "got").expect(0)
    assert sorted(p.parent.name for p in (tmp_path / "got").rglob("result.json")) == ENDPOINTS
    # a part of a host keeps the other's files; the last takes all
    pmx("clean", path, "--hosts", "h1.p0").expect(0)
    assert not lab.exists("h1", "/var/tmp/pmx/h1.p0") and lab.exists("h1", "/var/tmp/pmx/h1.p1")
    pmx("clean", path, "--hosts", "h1").expect(0)
    assert not lab.exists("h1", "/var/tmp/pmx") and lab.exists("h2", "/var/tmp/pmx/h2.p1")
    pmx("clean", path).expect(0)
    assert not lab.exists("h2", "/var/tmp/pmx")


def test_a_fleet_of_ports(second_ports, write):
    """start, status, reload, logs, stop; one port of a host at a time where that is asked for."""
    lab = second_ports
    matrix = tree(lab, rate=200, warmup="0s")
    path = write(matrix)
    pmx("start", path, "--for", "60s").expect(0)
    assert {host: len(pids) for host, pids in lab.all_agents().items()} == {"h1": 4, "h2": 4}
    lines = pmx("status", path).expect(0).out.splitlines()
    assert [line.split(":")[0].split()[0] for line in lines if line.startswith("h")] == ENDPOINTS
    matrix["traffic"]["cells"] = {"h1.p0": {"h2.p0": 100}}
    shown = pmx("reload", write(matrix)).expect(0).out
    assert [line.split(":")[0] for line in shown.splitlines() if "restarted" in line] == ["h1.p0"]
    logs = pmx("logs", path, "--hosts", "h2").expect(0).out
    assert "h2.p0" in logs and "h2.p1" in logs and "h1." not in logs
    pmx("stop", path, "--hosts", "h1.p1").expect(0)
    assert len(lab.agents("h1")) == 2 and len(lab.agents("h2")) == 4
    pmx("stop", path).expect(0)
    assert lab.all_agents() == {}
    seen = pmx("doctor", path, "--json", "-", "--all")
    hosts = {h["host"]: [f["probe"] for f in h["findings"]] for h in json.loads(seen.out)["hosts"]}
    for host in ("h1", "h2"):
        first, second = hosts[f"{host}.p0"], hosts[f"{host}.p1"]
        assert "clock" in first and "lcores" in first and "link" in first
        assert "clock" not in second and "lcores" in second and "link" in second
    pmx("clean", path).expect(0)


# --- prepare and restore of a host with several ports

def state(lab, pages):
    """What prepare changes on h1."""
    return (pages(), lab.sh("h1", "nft list ruleset"), lab.sh("h1", "ls -A /var/lib"),
            lab.sh("h1", "ip -d -o link show data0; ip -d -o link show data1"))


def need_of(path, hosts, env, pages):
    """Pages that these endpoints ask for together, by what a dry run would write; None when so many are
    free. Agents elsewhere on this machine may take and give pages while it looks."""
    for _ in range(20):
        free = pages("free_hugepages")
        shown = pmx("prepare", "-n", path, "--hosts", hosts, env=env).expect(0).out
        if pages("free_hugepages") == free:
            found = re.findall(r"echo (\d+) > \S*nr_hugepages", shown)
            return int(found[-1]) - pages() + free if found else None
    pytest.fail("the number of free pages does not stand still")


@pytest.fixture
def hungry(second_ports, write, tmp_path, pages):
    """Writes the matrix whose ports have so many queues, with rings that take some 120 pages each."""
    own = tmp_path / "own"
    own.mkdir()
    text = (ROOT / "drivers-config/af_packet.yaml").read_text()
    (own / "af_packet.yaml").write_text(re.sub(r"(?m)^([rt]xd): \d+", r"\1: 32768", text))
    matrix = tree(second_ports, rate=100)
    matrix["defaults"]["hugepages"] = "yes"
    for host in matrix["hosts"].values():
        for port in host["ports"].values():
            del port["lcores"]

    def made(queues):
        matrix["defaults"]["queues"] = queues
        return write(matrix)
    return made, {"PMX_DRIVERS": str(own)}


def wanting(made, env, pages, hosts):
    """The first matrix of which these endpoints ask for more pages than are free, and how many."""
    for queues in range(1, 17):
        need = need_of(made(queues), hosts, env, pages)
        if need is not None:
            return queues, need
    pytest.skip("more pages are free than these ports can ask for")


def test_prepare_adds_up(hungry, pages):
    """A dry run asks for the pages of all ports of the host at once."""
    made, env = hungry
    queues, one = wanting(made, env, pages, "h1.p1")
    assert need_of(made(queues), "h1", env, pages) == 2 * one


def test_prepare_of_ports(second_ports, hungry, pages):
    """Both ports' pages and silences are taken in one call, and come back; a port that was prepared alone
    leaves nothing behind either."""
    lab, (made, env) = second_ports, hungry
    queues, _ = wanting(made, env, pages, "h1")
    path = made(min(queues + 1, 16))
    before = state(lab, pages)
    said = pmx("prepare", path, "--hosts", "h1", env=env).expect(0).out
    assert said.count("the kernel receives nothing from it any more") == 2, said
    assert pages() > before[0]
    tables = lab.sh("h1", "nft list tables netdev")
    assert "pmx_quiet_data0" in tables and "pmx_quiet_data1" in tables
    pmx("prepare", path, "--hosts", "h1.p1", env=env).expect(0)  # part of it, once more
    pmx("restore", path, "--hosts", "h1", env=env).expect(0)
    assert state(lab, pages) == before


def test_prepare_of_ports_killed(second_ports, hungry, pages):
    """SIGKILL behind the first port's changes, before the last of the second one's."""
    lab, (made, env) = second_ports, hungry
    queues, _ = wanting(made, env, pages, "h1")
    path = made(min(queues + 1, 16))
    before = state(lab, pages)
    lab.sh("h1", r"""n=$(command -v nft) && cp "$n" /var/tmp/nft.real && cat >/var/tmp/nft <<'END' &&
#!/bin/sh
case "$*" in add*pmx_quiet_data1*) kill -KILL 0 ;; esac
exec /var/tmp/nft.real "$@"
END
chmod 755 /var/tmp/nft && mount --bind /var/tmp/nft "$n" """)
    try:
        pmx("prepare", path, "--hosts", "h1", env=env).expect(3)
    finally:
        lab.sh("h1", 'umount "$(command -v nft)"; rm /var/tmp/nft /var/tmp/nft.real')
    assert pages() > before[0] and "pmx_quiet_data0" in lab.sh("h1", "nft list tables netdev")
    assert "pmx_quiet_data1" in lab.sh("h1", "cat /var/lib/pmx/journal")
    assert "h1: " in pmx("restore", path, "--hosts", "h1", env=env).expect(0).out
    assert state(lab, pages) == before

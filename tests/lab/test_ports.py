"""Hosts of two data ports each: every port is an endpoint with an agent of its own."""

import json
import subprocess
from itertools import permutations

import pytest

from harness import assert_identity, flow, measure, pmx

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

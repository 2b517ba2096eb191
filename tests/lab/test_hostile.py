"""Hostile frames at full speed into an agent that works: none is answered, each is counted, and the
agent's own traffic stays exact.

The flood (tests/lab/flood.c) comes out of the fabric's end of the host's link, so that no forged
source MAC leads the bridge astray. With a window it keeps to the pace of the agent: rings of the kernel
that run over are none of what is tested, and what they drop nobody counts by reason. Without one
they do run over; then the kernel's own counters say by how much.
"""

import contextlib
import ctypes
import json
import os
import socket
import struct
import subprocess
import time
from collections import Counter

import pytest

import harness
from agents import accounts, planned

FLOOD_S = int(os.environ.get("FLOOD_SECONDS", 60 if harness.sanitized() else 5))
LAYOUTS = {"ipv4": (4, None), "ipv6-vlan": (6, 100)}
WINDOW = 4096  # half of the agent's ring
ASKS_MAX = 100  # what an agent says to its neighbour that the flood does not see: before, after
PING = {4: "198.18.0.250", 6: "2001:2::fa"}
SOL_PACKET, PACKET_STATISTICS, PIDFD_GETFD = 263, 6, 438


def matrix(lab, layout, seconds):
    version, vlan = LAYOUTS[layout]
    tree = lab.matrix(rate=1000, request=64, reply=200, warmup="0s", duration=f"{seconds + 60}s")
    del tree["hosts"]["h3"]
    for i, host in enumerate(tree["hosts"].values(), 1):
        host["addr"] = f"198.18.0.{i}/24" if version == 4 else f"2001:2::{i}/64"
    if vlan:
        tree["defaults"]["vlan"] = vlan
    tree["timing"]["drain"] = "1s"
    return tree


@contextlib.contextmanager
def large_frames(lab):
    """The fabric's end lets frames through that are larger than the link's MTU."""
    lab.exec("fabric", "ip", "link", "set", "h1", "mtu", "9000")
    try:
        yield
    finally:
        lab.exec("fabric", "ip", "link", "set", "h1", "mtu", "1500")


@contextlib.contextmanager
def short_reassembly(lab):
    """The kernel gives endless fragments up soon, and has when others need its memory for theirs."""
    def keep(seconds):
        lab.exec("h1", "sysctl", "-qw", f"net.ipv4.ipfrag_time={seconds}")
    keep(1)
    try:
        yield
    finally:
        keep(30)
        harness.until(lambda: "FRAG: inuse 0 " in lab.file("h1", "/proc/self/net/sockstat"), 60,
                      "the kernel waits for no more fragments")


def flood(lab, fleet, made, layout, seconds, window, seed=1):
    """What the flood says of itself, while the agents' leases are kept."""
    version, vlan = LAYOUTS[layout]
    (rx,) = made["h1"]["rx"]
    mac = lab.exec("h1", "cat", "/sys/class/net/data0/address").strip()
    options = {"mac": mac, "ip": made["h1"]["addr"].split("/")[0], "peer": rx["peer_addr"],
               "port": made["h1"]["udp_port"], "cookie": made["h1"]["cookie"],
               "sport": rx["sport_first"], "payload": rx["req_bytes"], "vlan": vlan or 0,
               "ping-mac": "02:00:00:00:00:fa", "ping-ip": PING[version], "window": window,
               "seconds": seconds, "seed": seed}
    words = [f"--{name}={value}" for name, value in options.items()]
    with large_frames(lab), short_reassembly(lab):
        process = subprocess.Popen(
            [str(harness.LAB), "exec", "fabric", str(harness.BUILD / "tests/lab/pmx-lab-flood"),
             *words, "h1"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        try:
            while process.poll() is None:
                assert {a.state for a in fleet.agents.values()} <= {"armed", "running"}
                time.sleep(0.3)
        finally:
            process.kill()
            out, err = process.communicate()
    assert process.returncode == 0, err
    return json.loads(out)


def link_stats(lab, host, name):
    (link,) = json.loads(lab.exec(host, "ip", "-j", "-s", "link", "show", name))
    return link["stats64"]


def ring_drops(agent):
    """What its packet sockets had no room for since they were asked last."""
    libc, drops = ctypes.CDLL(None, use_errno=True), 0
    for pid in agent.pids():
        pidfd = os.pidfd_open(pid)
        for name in os.listdir(f"/proc/{pid}/fd"):
            fd = libc.syscall(PIDFD_GETFD, pidfd, int(name), 0)
            if fd < 0:
                continue
            try:
                with socket.socket(fileno=fd) as theirs:
                    if theirs.family == socket.AF_PACKET:
                        stats = theirs.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8)
                        drops += struct.unpack("II", stats)[1]
            except OSError:  # no socket: closed by Python where it is one, by us where not
                os.close(fd)
        os.close(pidfd)
    return drops


def reassembly(lab):
    """What h1's kernel did about IPv4 fragments: (taken, put together). The packet sockets of the
    driver have it reassemble what they get (PACKET_FANOUT_FLAG_DEFRAG)."""
    names, values = [line.split() for line in lab.file("h1", "/proc/self/net/snmp").splitlines()
                     if line.startswith("Ip:")]
    row = dict(zip(names, values))
    return int(row["ReasmReqds"]), int(row["ReasmOKs"])


def run(lab, fleet, layout, seconds, window):
    """(the flood's report, results of the agents, kernel's counts of h1's link in the fabric)"""
    made = planned(matrix(lab, layout, seconds))
    assert set(made) == {"h1", "h2"}
    before, reassembled = link_stats(lab, "fabric", "h1"), reassembly(lab)
    started = fleet(made).arm()
    harness.until(lambda: started["h1"].state == "running", 20, "running")
    report = flood(lab, started, made, layout, seconds, window)
    kernel = {"ring": ring_drops(started["h1"])}
    for agent in started.agents.values():
        agent.call("stop")
    results = started.finish(30)
    after = link_stats(lab, "fabric", "h1")
    kernel["fragments"], kernel["whole"] = (
        now - then for now, then in zip(reassembly(lab), reassembled))
    kernel["dropped"] = after["tx"]["dropped"] - before["tx"]["dropped"]
    kernel["from_h1"] = after["rx"]["packets"] - before["rx"]["packets"]
    return report, results, kernel


def by_reason(report):
    sent = Counter()
    for kind in report["kinds"]:
        assert kind["sent"] > 0, f"{kind} was never sent"
        sent[kind["reason"]] += kind["sent"]
    assert sum(sent.values()) == report["sent"]
    return sent


def assert_no_answers(report, results, kernel):
    """By the flood's own eyes, and by what the kernel saw leave: requests, replies, answers to the
    pings that were meant well, and questions for the neighbour: now and then, and four times a
    second while somebody claims to be it."""
    h1 = results["h1"]
    assert report["strangers"] == 0 and report["missed"] == 0, report
    ours = sum(accounts(results, "h1", "h2")[key] for key in ("sent",))
    ours += accounts(results, "h2", "h1")["replied"]
    asks = kernel["from_h1"] - ours - report["pongs"]
    assert report["asks"] <= asks <= report["asks"] + ASKS_MAX, (ours, report, kernel)
    assert 0 <= kernel["from_h1"] - h1["port"]["opackets"] <= asks


@pytest.mark.parametrize("layout", LAYOUTS)
def test_flood_at_the_agents_pace(lab, fleet, layout):
    seconds = FLOOD_S if layout == "ipv4" else 5
    report, results, kernel = run(lab, fleet, layout, seconds, WINDOW)
    sent, drop = by_reason(report), results["h1"]["drop"]
    assert kernel["ring"] == 0, (report, kernel)
    assert kernel["dropped"] == sent.pop("kernel") + report["refused"]
    # fragments are the kernel's or the agent's to count, and what it makes whole may be anything
    maybe = sent.pop("any") + kernel["whole"]
    total = sum(sent.values()) + maybe - kernel["fragments"]
    sent["fragment"] = max(0, sent["fragment"] - kernel["fragments"])
    for reason, count in drop.items():
        assert sent[reason] <= count <= sent[reason] + maybe, (reason, sent, drop, kernel)
    assert sum(drop.values()) == total, (sent, drop, kernel)
    assert report["pongs"] == report["pings"]
    assert_no_answers(report, results, kernel)
    for src, dst in (("h1", "h2"), ("h2", "h1")):
        row = accounts(results, src, dst)
        assert row["sent"] > 100 * seconds
        assert row["sent"] == row["delivered"] == row["replied"] == row["returned"], row
        assert not any(row[f"{what}_{way}"] for what in ("dup", "reordered", "late")
                       for way in ("forward", "back")), row


def test_flood_beyond_any_pace(lab, fleet):
    """As fast as the link takes it: what the agent did not count its ring had no room for."""
    report, results, kernel = run(lab, fleet, "ipv4", 3, 0)
    sent, drop = by_reason(report), results["h1"]["drop"]
    assert kernel["dropped"] == sent.pop("kernel") + report["refused"]
    lost = sum(sent.values()) + report["pings"] - report["pongs"] - sum(drop.values())
    lost += kernel["whole"] - kernel["fragments"]
    for src, dst in (("h1", "h2"), ("h2", "h1")):
        row = accounts(results, src, dst)
        assert row["sent"] > 1000
        assert row["delivered"] == row["replied"]
        if dst == "h1":
            lost += row["sent"] - row["delivered"]
        else:
            assert row["delivered"] == row["sent"]
            lost += row["replied"] - row["returned"]
    # what it sends for itself, its neighbour's answers, may be among the lost, too
    assert -ASKS_MAX <= lost - kernel["ring"] <= ASKS_MAX, (lost, kernel, report)
    assert_no_answers(report, results, kernel)

"""The schedule against tcpdump's time stamps: the mean rate, and no burst, neither at the start nor
after a stall.

The machine stalls, too. The rate is therefore a median of intervals of half a run, and a bin is
judged by how many are too full: a sender that hoards credit fills one with all that it owes."""

import statistics
import time
from itertools import permutations

import pytest

from agents import accounts, bucket_bounds, configs, tx_row
from harness import PORT, assert_identity, flow, measure, until

PAIR = ("h1", "h2")
RATE = 1000  # one a millisecond
BIN_S = 0.001
BIN_MAX = 3  # twice the plan, and one for the edges
FULL_SHARE = 0.01
STOP_S = 0.3


def departures(capture, src="198.18.0.1", dst="198.18.0.2"):
    rows = capture.fields(f"ip.src == {src} && ip.dst == {dst} && udp.dstport == {PORT}",
                          "frame.time_epoch")
    return [float(t) for (t,) in rows]


def fullest(times):
    """For each packet, how many leave within one bin from it on."""
    found, end = [], 0
    for begin, t in enumerate(times):
        while end < len(times) and times[end] < t + BIN_S:
            end += 1
        found.append(end - begin)
    return found


def assert_no_burst(times):
    bins = fullest(times)
    over = [n for n in bins if n > BIN_MAX]
    assert max(bins) <= 2 * BIN_MAX and len(over) <= FULL_SHARE * len(bins), sorted(over)[-20:]


@pytest.mark.fullspeed
def test_rate(lab, write):
    tree = lab.matrix(warmup="0s", duration="6s")
    tree["traffic"] = {"pattern": "cells", "request": 18, "reply": 18, "streams": 4,
                       "cells": {"h1": {"h2": RATE}}}
    summary = measure(write(tree), before=lambda: lab.capture("h1"))
    times = departures(lab.captured()["h1"])
    row = flow(summary, *PAIR)
    assert row["sent"] == row["target"] == len(times) == 6 * RATE
    half = len(times) // 2
    spans = [times[i + half] - times[i] for i in range(len(times) - half)]
    assert half / statistics.median(spans) == pytest.approx(RATE, rel=1e-3)
    assert_no_burst(times)
    assert_no_burst(times[:200])


def stop_for(lab, agent, seconds):
    pid = (agent.dir / "agent.pid").read_text().strip()
    lab.exec(agent.name, "kill", "-STOP", pid)
    time.sleep(seconds)
    lab.exec(agent.name, "kill", "-CONT", pid)


@pytest.mark.release
def test_stall(lab, fleet):
    """An agent that is stopped for 300 ms: late, and said so; it catches up at no more than twice
    its rate; nobody loses anything. Its peers see what it was: late answers."""
    hosts = ("h1", "h2", "h3")
    pairs = list(permutations(hosts, 2))
    agents = fleet(configs(hosts, dict.fromkeys(pairs, RATE), duration_s=2))
    lab.capture()
    agents.arm()
    until(lambda: agents["h1"].state == "running", 10, "traffic")
    time.sleep(0.3)  # into the run; nothing is judged by it
    stop_for(lab, agents["h1"], STOP_S)
    results = agents.finish(30)
    captured = lab.captured()
    times = departures(captured["h1"])

    for src, dst in pairs:
        row = accounts(results, src, dst)
        assert_identity(row)
        assert row["sent"] + row["unsent"] == 2 * RATE
        for counter in ("dup_forward", "dup_back", "late_forward", "late_back"):
            assert row[counter] == 0
    late_ms = {host: results[host]["lateness"]["max_ns"] / 1e6 for host in hosts}
    assert late_ms["h1"] >= 250, late_ms
    gap, stop, resume = max((b - a, a, b) for a, b in zip(times, times[1:]))
    assert gap >= 0.25
    assert_no_burst(times)
    for peer in ("h2", "h3"):
        # what left for h1 while it was stopped, but for the last 60 ms, took over 50 ms
        asked = departures(captured[peer], f"198.18.0.{peer[1]}", "198.18.0.1")
        waited = sum(stop < t < resume - 0.06 for t in asked)
        rtt = tx_row(results, peer, "h1")[-1]["rtt"]
        slow = sum(n for index, n in rtt["buckets"] if bucket_bounds(index)[0] >= 50e6)
        assert slow >= waited > 0
        assert rtt["max_ns"] >= 0.25e9

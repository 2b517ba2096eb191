"""Bursts, random gaps and a ramp against tcpdump's time stamps: counts exact, times by medians, since
the machine stalls, too. One host has each of them, in one run."""

import statistics

from agents import accounts, configs
from harness import PORT, assert_identity, measure

SECONDS = 4
BURST, BURST_RATE = 32, 640  # 20 bursts a second, of two streams in turn
POISSON_RATE = 500
RAMP_RATE, RAMP_S = 1000, 2


def requests(capture, src, dst):
    rows = capture.fields(f"ip.src == 198.18.0.{src} && ip.dst == 198.18.0.{dst} && "
                          f"udp.dstport == {PORT}", "frame.time_epoch", "udp.srcport")
    return [float(t) for t, _ in rows], [int(port) for _, port in rows]


def gaps(times):
    return [b - a for a, b in zip(times, times[1:])]


def assert_bursts(times, ports):
    bursts = [slice(i, i + BURST) for i in range(0, len(times), BURST)]
    assert all(len(set(ports[b])) == 1 for b in bursts), "a burst is of one stream"
    assert all(ports[a.start] != ports[b.start] for a, b in zip(bursts, bursts[1:])), "in turn"
    period = BURST / BURST_RATE
    assert statistics.median(times[b][-1] - times[b][0] for b in bursts) < period / 5
    between = gaps([times[b.start] for b in bursts])
    assert abs(statistics.median(between) - period) < period / 20


def assert_exponential(times):
    found = gaps(times)
    mean = statistics.mean(found)
    assert 0.75 < statistics.pstdev(found) / mean < 1.35
    assert 0.28 < sum(g < mean / 2 for g in found) / len(found) < 0.52  # 0.39; of even ones 0


def assert_rises(times):
    """Half seconds back from the last request, which left at the window's end."""
    count = [0] * (2 * SECONDS)
    for t in times:
        count[max(0, 2 * SECONDS - 1 - int(2 * (times[-1] - t)))] += 1
    due = [min(1, (i + 0.5) / (2 * RAMP_S)) * RAMP_RATE / 2 for i in range(2 * SECONDS)]
    assert all(abs(got - want) < 30 + want / 6 for got, want in zip(count, due)), (count, due)
    assert count[:2 * RAMP_S] == sorted(count[:2 * RAMP_S])


def test_schedules(lab, fleet):
    rates = {("h1", "h2"): BURST_RATE, ("h2", "h3"): POISSON_RATE, ("h3", "h1"): RAMP_RATE}
    made = configs(("h1", "h2", "h3"), rates, streams=2, duration_s=SECONDS)
    made["h1"]["pacing"]["burst"] = BURST
    made["h2"]["pacing"].update(spacing="poisson", seed=7)
    made["h3"]["pacing"]["ramp_ns"] = RAMP_S * 10 ** 9
    agents = fleet(made)
    lab.capture()
    results = agents.run()
    captured = lab.captured()

    target, sent = {}, {}
    for src, dst in rates:
        row = accounts(results, src, dst)
        assert_identity(row)
        target[src], sent[src] = row["sent"] + row["unsent"], row["sent"]
    assert target["h1"] == BURST_RATE * SECONDS
    assert abs(target["h2"] - POISSON_RATE * SECONDS) < 5 * (POISSON_RATE * SECONDS) ** 0.5
    assert target["h3"] == RAMP_RATE * (SECONDS - RAMP_S / 2)

    departed = {f"h{i}": requests(captured[f"h{i}"], i, i % 3 + 1) for i in (1, 2, 3)}
    assert {host: len(times) for host, (times, _) in departed.items()} == sent
    assert_bursts(*departed["h1"])
    assert_exponential(departed["h2"][0])
    assert_rises(departed["h3"][0])


def test_words_of_the_matrix(lab, write):
    """From the matrix to the summary: the rate in bits, the target of a ramp, the words shown."""
    tree = lab.matrix(warmup="500ms", duration="2s")
    tree["traffic"] = {"pattern": "cells", "burst": 4, "ramp": {"over": "1s", "steps": 2},
                       "cells": {"h1": {"h2": "672kbps"}, "h2": {"h1": "512kbpsL2"}}}
    summary = measure(write(tree))
    assert summary["run"]["burst"] == 4
    assert summary["run"]["spacing"] == "even"
    assert summary["run"]["ramp"] == {"over_s": 1, "from_pct": 50, "steps": 2}
    assert {f["target_pps"] for f in summary["flows"]} == {875}  # 1,000 but for half a second
    assert {f["target"] for f in summary["flows"]} <= {1748, 1752, 1750}
    for f in summary["flows"]:
        assert_identity(f)

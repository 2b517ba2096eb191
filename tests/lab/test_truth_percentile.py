"""Percentiles as pmx prints them, of merged histograms, against sorted samples."""

import json
import random

import pytest

from agents import bucket_bounds, merge, percentile_ns
from harness import PORT, ROOT, assert_identity, flow, measure, pmx

PRINTED = {50: "rtt_p50_us", 99: "rtt_p99_us", 99.9: "rtt_p999_us"}
BUCKET = 1 / 128  # width of a bucket, of its value
HOSTS, EACH = 100, 1000


def nearest_rank(ordered, percent):
    return ordered[-(-len(ordered) * round(10 * percent) // 1000) - 1]


def bucket_of(ns):
    """By search, not by the formula."""
    low, high = 0, 31 * 128
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if bucket_bounds(middle)[0] <= ns else (low, middle)
    return low


def histogram(sample):
    counts = {}
    for ns in sample:
        counts[bucket_of(ns)] = counts.get(bucket_of(ns), 0) + 1
    return {"count": len(sample), "min_ns": min(sample), "max_ns": max(sample),
            "sum_ns": sum(sample), "buckets": [list(item) for item in sorted(counts.items())]}


def result(host, peer, asker, sample):
    """Of an agent that lost nothing; the golden file has every key there is."""
    made = json.loads((ROOT / "tests/data/lib/result.json").read_text())
    second = 10 ** 9
    zero = dict.fromkeys(("unsent", "dup", "reordered", "late", "off_queue"), 0)
    made.update(host=host, run_id="percentile", lateness=None, layers=0, dwell_ns=0)
    made["trials"] = [{**made["trials"][1], "id": 0, "kind": "measure", "rotated_ns": 0,
                       "start_ns": second, "end_ns": 2 * second, "close_ns": 3 * second}]
    tx, rx, queue = made["tx"][0], made["rx"][0], made["queues"][0]
    tx.update(peer=peer, layer=0, rep_bytes=18, streams=1, rate_pps=EACH, trials=[
        {**tx["trials"][0], **zero, "sent": EACH, "returned": EACH, "rtt": histogram(sample)}])
    rx.update(peer=asker, layer=0, rep_bytes=18, trials=[
        {**rx["trials"][0], **dict.fromkeys(("reply_unsent", "dup", "reordered", "late"), 0),
         "delivered": EACH, "replied": EACH}])
    queue.update(trials=[{**queue["trials"][0], "requests_sent": EACH, "replies_sent": EACH,
                          "requests_received": EACH, "replies_received": EACH}])
    made.update(tx=[tx], rx=[rx], queues=[queue])
    return made


def test_99_fast_and_1_slow(write, tmp_path):
    """A hundred agents in a ring. The slow one's requests are the last hundredth: p99 is just not
    theirs, p99.9 is; a mean of percentiles would be neither."""
    seed = random.randrange(2 ** 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    names = [f"n{i}" for i in range(HOSTS)]
    slow = chance.choice(names)
    samples = {name: [int(chance.lognormvariate(0, 0.3) * (5e6 if name == slow else 80e3))
                      for _ in range(EACH)] for name in names}
    matrix = write({
        "pmx": 1, "name": "ring", "transport": "ssh",
        "defaults": {"device": "eth1", "driver": "af_packet"},
        "hosts": {name: {"ssh": f"192.0.2.{i + 1}", "addr": f"198.18.0.{i + 1}/24"}
                  for i, name in enumerate(names)},
        "traffic": {"pattern": "cells", "request": 18, "reply": 18,
                    "cells": {name: {names[(i + 1) % HOSTS]: EACH}
                              for i, name in enumerate(names)}},
        "timing": {"warmup": "0s", "duration": "1s"}})
    for i, name in enumerate(names):
        (tmp_path / "kept" / name).mkdir(parents=True)
        (tmp_path / "kept" / name / "result.json").write_text(json.dumps(
            result(name, names[(i + 1) % HOSTS], names[i - 1], samples[name])))
    summary = pmx("summarize", matrix, "--no-collect", "--output", tmp_path / "kept", "--json",
                  "-").expect(0).json
    totals = summary["totals"]
    assert_identity(totals)
    assert totals["sent"] == HOSTS * EACH
    every = sorted(ns for sample in samples.values() for ns in sample)
    for percent, key in PRINTED.items():
        assert totals[key] == pytest.approx(nearest_rank(every, percent) / 1e3, rel=BUCKET), key
    assert totals["rtt_avg_us"] == pytest.approx(sum(every) / len(every) / 1e3, abs=1e-3)
    assert totals["rtt_max_us"] == pytest.approx(every[-1] / 1e3, abs=1e-3)
    assert totals["rtt_p99_us"] < 1000 < totals["rtt_p999_us"]
    assert totals["rtt_worst_src"] == slow
    for row in summary["flows"]:
        ordered = sorted(samples[row["src"]])
        for percent, key in PRINTED.items():
            assert row[key] == pytest.approx(nearest_rank(ordered, percent) / 1e3, rel=BUCKET)


def on_the_wire(requests, replies):
    """RTTs in ns as tcpdump saw them: from the asker's link to the answerer's, in order of size."""
    def events(capture, wanted):
        for when, dport, payload in capture.fields("udp", "frame.time_epoch", "udp.dstport",
                                                   "udp.payload"):
            if (dport == str(PORT)) == wanted:
                # sequence and TSC, which the reply echoes
                yield bytes.fromhex(payload.replace(":", ""))[8:18], float(when)
    asked = dict(events(requests, True))
    return sorted((when - asked[key]) * 1e9 for key, when in events(replies, False))


@pytest.mark.release
def test_slow_hundredth(lab, write):
    """One request in a hundred goes through 50 ms of forwarder. What is printed of all flows is the
    percentile of the agents' raw buckets, merged here once more, and what the wire saw."""
    tree = lab.matrix(warmup="0s", duration="4s")
    tree["traffic"] = {"pattern": "cells", "request": 18, "reply": 18,
                       "cells": {"h1": {"h2": 990, "h3": 10}}}
    matrix = write(tree)
    lab.forwarder("h3", "--fifo", "--delay", "50ms,0")  # of its replies
    summary = measure(matrix, before=lab.capture)
    captured = lab.captured()
    lab.forwarded()
    raw = json.loads(lab.file("h1", "/var/tmp/pmx/result.json"))["tx"]
    hists = {f["peer"]: f["trials"][-1]["rtt"] for f in raw}
    totals = summary["totals"]
    assert_identity(totals)
    merged = merge(hists.values())
    assert sum(merged.values()) == totals["returned"]
    for percent, key in PRINTED.items():
        assert totals[key] == pytest.approx(percentile_ns(merged, percent) / 1e3, rel=BUCKET)
    assert totals["rtt_p50_us"] < 50e3 < totals["rtt_p999_us"]

    wire = on_the_wire(captured["h1"], captured["h3"])
    row = flow(summary, "h1", "h3")
    assert len(wire) == row["returned"]
    # the captures stand in the fabric: the agent's own time comes on top
    assert wire[0] >= 49.9e6
    assert row["rtt_p50_us"] * 1e3 * (1 + BUCKET) >= nearest_rank(wire, 50)
    assert row["rtt_p50_us"] == pytest.approx(nearest_rank(wire, 50) / 1e3, rel=0.1)

"""Sizes that take turns: exactly their ratio on the wire in every cycle, and losses by size."""

import csv
from collections import Counter

import pytest

from harness import PORT, assert_identity, flow, measure, pmx

IMIX = {18: 7, 548: 4, 1472: 1}  # payloads of frames of 64, 594 and 1518
IMIX_CYCLE = [18, 548, 18, 18, 548, 18, 1472, 548, 18, 18, 548, 18]
REPLIES = {1400: 2, 100: 1}
L1 = {size: max(64, size + 46) + 20 for size in (*IMIX, *REPLIES)}


def tree(lab, seconds=1, **traffic):
    matrix = lab.matrix(warmup="0s", duration=f"{seconds}s")
    matrix["traffic"] = traffic
    return matrix


def streams_of(capture):
    """Payload sizes by sequence, of every stream's requests and replies."""
    streams = {}
    names = ("ip.src", "ip.dst", "udp.srcport", "udp.dstport", "udp.length", "udp.payload")
    for src, dst, sport, dport, length, payload in capture.fields("udp", *names):
        sequence = int(payload.replace(":", "")[16:24], 16)
        stream = streams.setdefault((dport == str(PORT), src, dst, sport, dport), {})
        assert sequence not in stream
        stream[sequence] = int(length) - 8
    return streams


def test_ratio_on_the_wire(lab, write):
    """In each cycle of each stream, in the documented order; a reply has the size of its sequence."""
    matrix = tree(lab, rate=240, streams=2, request="imix", reply="1400:2, 100:1")
    summary = measure(write(matrix), before=lab.capture)
    assert_identity(summary["totals"])
    asked = owed = 0
    for capture in lab.captured().values():
        for (request, *_), sizes in streams_of(capture).items():
            assert sorted(sizes) == list(range(120))
            got, want = [sizes[n] for n in range(120)], IMIX if request else REPLIES
            cycle = sum(want.values())
            for at in range(0, 120, cycle):
                assert Counter(got[at:at + cycle]) == want, (request, at)
            assert got[:cycle] * (120 // cycle) == got
            if request:
                assert got in [(IMIX_CYCLE[i:] + IMIX_CYCLE * 10)[:120] for i in range(12)]
            asked, owed = asked + request, owed + (not request)
    assert asked == owed == 3 * 2 * 2  # hosts, peers, streams


def rows_of(summary, of):
    return {row["bytes"]: row for row in summary["sizes"] if row["of"] == of}


def drop(lab, name, every, *match):
    """Drops one in `every` of the frames that match."""
    lab.exec("fabric", "nft", "add", "rule", "bridge", "pmx", "faults", *map(str, match),
             "numgen", "inc", "mod", str(every), "0", "counter", "drop", "comment", f'"{name}"')


def test_loss_by_size(lab, write):
    """Rules that drop by length, each equal to the loss of that size and of no other; a pair with a
    window beside the paced ones. The wire's rate is that of the sizes sent."""
    rate, seconds = 240, 2
    matrix = tree(lab, seconds, pattern="cells", request="imix", reply="1400:2, 100:1", window=1,
                  cells={"h1": {"h2": rate, "h3": rate}, "h2": {"h1": rate}, "h3": {"h2": "max"}})
    h1 = matrix["hosts"]["h1"]["addr"].split("/")[0]

    def start():
        lab.fault("clear")
        drop(lab, "middle", 1, "ip", "saddr", h1, "udp", "dport", PORT, "udp", "length", 548 + 8)
        drop(lab, "large", 3, "ip", "saddr", h1, "udp", "dport", PORT, "udp", "length", 1472 + 8)
        drop(lab, "reply", 2, "ip", "daddr", h1, "udp", "sport", PORT, "udp", "length", 1400 + 8)
    summary = measure(write(matrix), before=start)
    dropped = lab.counters()
    assert dropped["middle"] == 2 * rate * seconds // 3 and dropped["large"] > 0 < dropped["reply"]
    requests, replies = rows_of(summary, "request"), rows_of(summary, "reply")
    assert (set(requests), set(replies)) == (set(IMIX), set(REPLIES))
    lost = {size: row["lost_forward"] for size, row in requests.items()}
    assert lost == {18: 0, 548: dropped["middle"], 1472: dropped["large"]}
    back = {size: row["lost_back"] for size, row in replies.items()}
    assert back == {1400: dropped["reply"], 100: 0}
    totals = summary["totals"]
    for rows in (requests, replies):
        for key in ("sent", "delivered", "replied", "returned", "lost", "lost_forward", "lost_back"):
            assert sum(row[key] for row in rows.values()) == totals[key], key
        for row in rows.values():
            assert_identity({**row, "reply_unsent": 0}, lossless=False)
    assert totals["lost"] == sum(dropped.values())
    assert_identity(flow(summary, "h3", "h2"))
    for row in summary["flows"]:
        if row["src"] != "h3":  # whole cycles
            assert row["sent"] == rate * seconds
            mean = sum(L1[size] * weight for size, weight in IMIX.items()) / 12
            assert row["sent_l1_mbps"] == pytest.approx(8e-6 * mean * row["sent_pps"], rel=1e-6)
    window = summary["run"]["window_s"]
    for key, rows, count in (("request", requests, "sent"), ("reply", replies, "replied")):
        bits = sum(8 * L1[size] * row[count] for size, row in rows.items())
        assert totals[f"{key}_l1_gbps"] == pytest.approx(bits / window / 1e9, rel=1e-4)
        payload = sum(8 * size * row[count] for size, row in rows.items())
        assert totals[f"{key}_payload_gbps"] == pytest.approx(payload / window / 1e9, rel=1e-4)


def test_report_rows(lab, write, tmp_path):
    """Rates of report.csv are of the sizes that came in the interval, not of their mean."""
    matrix = tree(lab, 2, rate=50, request=[18] * 20 + [1472] * 20, reply=64)
    matrix["timing"]["interval"] = "200ms"
    path = write(matrix)
    measure(path)
    pmx("collect", path, "--output", tmp_path).expect(0)
    large = {}
    with open(tmp_path / "h1/report.csv", encoding="ascii") as file:
        for row in csv.DictReader(file):
            if row["dir"] not in ("tx", "rx"):
                continue
            packets, size = float(row["packets"]), float(row["mbps"]) * float(row["interval_s"]) / 8e-6
            n = (size - packets * L1[18]) / (L1[1472] - L1[18])
            assert n == pytest.approx(round(n), abs=0.05) and 0 <= round(n) <= packets, row
            large.setdefault((row["dir"], row["peer"]), []).append((round(n), int(packets)))
    for rows in large.values():
        assert (0, 10) in [(n, packets // 10 * 10) for n, packets in rows], rows
        assert sum(packets for _, packets in rows) in range(91, 101), rows
        assert sum(n for n, _ in rows) in range(38, 42), rows

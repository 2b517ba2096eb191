"""The rows of the benchmark: what is measured against what, and how good it must be."""

import re
import statistics
import subprocess
from dataclasses import dataclass, field
from typing import Callable

import control
import links
from links import AgentPair, TestpmdPair, distance
from sides import ALL_CPUS, Broken, Hotpath, Skipped, Testpmd, alternate

PAIRS, WINDOW_S = 9, 0.35
LINK_PAIRS, LINK_WINDOW_S = 10, 0.5
PACED_S = 10
SMALL_S = 0.2  # windows of the cost tables

NULL_TX, NULL = "net_null0,no-rx=1,size=60", "net_null0,size=60"


@dataclass
class Row:
    name: str
    what: str
    peer: str
    measure: Callable  # (bench, row) -> dict with values, unit and whatever explains them
    must: float = None
    aim: float = None
    more_is_better: bool = True
    args: dict = field(default_factory=dict)


def ratios(pairs, **extra):
    return {"unit": "x", "values": [p["ratio"] for p in pairs], "windows": pairs, **extra}


# --- one core, net_null

def against_testpmd(bench, row):
    a, b = row.args["agent"], row.args["testpmd"]
    with Hotpath(bench.work, **a) as side, Testpmd(bench.work, **b) as peer:
        peer.up().start()
        pairs = alternate(side, peer, PAIRS, WINDOW_S)
    return ratios(pairs)


def against_itself(bench, row):
    with Hotpath(bench.work, **row.args["agent"]) as side, \
            Hotpath(bench.work, **row.args["other"]) as peer:
        return ratios(alternate(side, peer, PAIRS, WINDOW_S))


# --- two cores, one process on each

def exchange(bench, row):
    link = row.args["link"]
    try:
        link.open()
        if link.concurrent:
            pairs, counts = exchange_together(bench, link, row.args)
        else:
            pairs, counts = exchange_in_turn(bench, link, row.args)
    finally:
        link.close()
    if not pairs:
        raise Skipped("the distance of the cores changed in every window")
    near = [p["ratio"] for p in pairs if p["label"] == "near"]
    far = [p["ratio"] for p in pairs if p["label"] == "far"]
    note = [f"{name} {statistics.median(r):.2f} ({len(r)})"
            for name, r in (("near", near), ("far", far)) if r]
    lost = sum(c["sent"] - c["returned"] for c in counts)
    sent = sum(c["sent"] for c in counts)
    rate = statistics.median(p["rate"] for p in pairs)
    note += [f"{rate / 1e6:.3f} M/s", f"{lost} of {sent} lost"]
    must_lose_nothing = row.args.get("lossless", True)
    return ratios(pairs, note=", ".join(note), lost=lost, sent=sent,
                  spoiled="packets were lost" if lost and must_lose_nothing else None)


def labelled(bench, pair):
    before = distance(bench.probe)
    window = pair.window(LINK_WINDOW_S)
    window["label"] = links.label(before, distance(bench.probe))
    return window


def exchange_together(bench, link, args):
    agent, testpmd = args.get("agent", {}), args.get("testpmd", {})
    windows = []
    with TestpmdPair(bench.work, link, **testpmd) as peer, \
            AgentPair(bench.work, link, **agent) as side:
        for _ in range(LINK_PAIRS):
            windows.append((labelled(bench, side), labelled(bench, peer)))
        counts = [side.finish()]
    return same_label(windows), counts


def exchange_in_turn(bench, link, args):
    windows, counts = [], []
    for _ in range(args.get("pairs", 6)):
        with AgentPair(bench.work, link, **args.get("agent", {})) as side:
            own = labelled(bench, side)
            counts.append(side.finish())
        with TestpmdPair(bench.work, link, **args.get("testpmd", {})) as peer:
            windows.append((own, labelled(bench, peer)))
    return same_label(windows), counts


def same_label(windows):
    """Each window of ours with those of the peer right before and after it under the same label."""
    pairs = []
    for i, (own, _) in enumerate(windows):
        around = [windows[k][1] for k in (i - 1, i) if k >= 0]
        rates = [w["rate"] for w in around if w["label"] == own["label"] is not None]
        if 0 in rates:
            raise Broken("nothing came back to testpmd in a window")
        if rates:
            peer = statistics.mean(rates)
            pairs.append({**own, "peer": peer, "ratio": own["rate"] / peer})
    return pairs


# --- the schedule

def pace(bench, row):
    with Hotpath(bench.work, "request", streams=row.args.get("streams", 64), rate=row.args["rate"],
                 seconds=PACED_S) as side:
        r = side.ask("pace", 8)
    gap = " ".join(f"{g:.4g}" for g in r["gap_us"])
    note = (f"sent {r['sent']} of {r['target']:.0f}, gaps p1/p50/p99 {gap} us, "
            f"most in 1 ms {r['most_in_1ms']} (first 10 ms {r['most_first_10ms']}), "
            f"first to last {r['ppm_ends']:+.2f} ppm")
    spoiled = None if r["sent"] == round(r["target"]) else "not all of the plan was sent"
    return {"unit": "ppm", "values": [abs(r["ppm"])], "note": note, "spoiled": spoiled, "raw": r}


def late(bench, rate, seconds, recovery):
    with Hotpath(bench.work, "request", streams=1024, rate=rate, seconds=seconds) as side:
        return side.ask("late", recovery)


def lateness(bench, row):
    # the most that can be sent by schedule: far more is due
    capacity = statistics.median(late(bench, 1e9, 0.3, 0)["awake_pps"] for _ in range(3))
    raw, note, values = [], [], []
    for load in row.args["loads"]:
        # a stall of 1 is caught up in load / (min(2 x load, 1) - load), and a quarter to spare
        recovery = 1.25 * load / (min(2 * load, 1) - load)
        r = late(bench, load * capacity, 2, recovery)
        raw.append({"load": load, **r})
        values.append(r["clean_p99_us"])
        note.append(f"{load:.0%}: {r['clean_p99_us']:.2f} ({r['late_p99_us']:.0f} with stalls, "
                    f"{r['clean_share']:.0%} clean)")
    least = min(r["clean_share"] for r in raw)
    return {"unit": "us", "values": [max(values)], "raw": raw,
            "note": f"of {capacity / 1e6:.1f} M/s: " + ", ".join(note),
            "spoiled": "stalls left too little of a trial" if least < 0.1 else None}


# --- where the cycles go; no bar

def cost(bench, row):
    """Cycles a packet, as medians, of windows interleaved over all variants."""
    sides, names = [], []
    try:
        for name, options in row.args["variants"].items():
            sides.append(Hotpath(bench.work, **options))
            names.append(name)
        rounds = [[s.ask("run", SMALL_S)["cycles"] for s in sides] for _ in range(5)]
    finally:
        for side in sides:
            side.close()
    medians = [statistics.median(r[i] for r in rounds) for i in range(len(sides))]
    return {"unit": "cycles", "values": [medians[0]], "raw": dict(zip(names, medians)),
            "note": ", ".join(f"{n} {m:.1f}" for n, m in zip(names, medians))}


def phases(bench, row):
    with Hotpath(bench.work, row.args["work"]) as side:
        rounds = [side.ask("phases", SMALL_S) for _ in range(7)]
    names = [k for k in rounds[0] if k not in ("packets", "offer")]
    medians = {n: statistics.median(r[n] for r in rounds) for n in names}
    offer = statistics.median(r["offer"] for r in rounds)
    note = ", ".join(f"{n} {m:.1f}" for n, m in medians.items() if m >= 1)
    return {"unit": "cycles", "values": [sum(medians.values())], "raw": medians,
            "note": note + (f"; offering, taken out, {offer:.1f}" if offer else "")}


def instructions(bench, row):
    out = bench.work / f"callgrind.{row.args['work']}"
    wrapper = ["valgrind", "-q", "--tool=callgrind", "--collect-atstart=no",
               "--toggle-collect=worker_run", f"--callgrind-out-file={out}"]
    try:
        with Hotpath(bench.work, row.args["work"], wrapper=wrapper, hugepages="no") as side:
            counted = side.ask("count", 100_000)
    except FileNotFoundError:
        raise Skipped("no valgrind: run  scripts/install bench") from None
    text = subprocess.run(["callgrind_annotate", "--inclusive=yes", "--threshold=100", out],
                          capture_output=True, text=True).stdout

    def total(function):
        found = re.search(rf"^\s*([\d,]+) .*:{function}\b", text, re.M)
        return int(found[1].replace(",", "")) if found else 0

    packets = counted["requests"] or counted["answers"] or counted["replies"]
    each = (total("worker_run") - total("write_burst")) / packets
    return {"unit": "instr.", "values": [each]}


def queue_cpus(queues):
    allowed = sorted(ALL_CPUS, reverse=True)
    return [allowed[i % len(allowed)] for i in range(queues)]


# --- the table

def on_one_core(name, what, peer, agent, testpmd, must=None, aim=None):
    return Row(name, what, peer, against_testpmd, must, aim,
               args={"agent": agent, "testpmd": testpmd})


def between(name, what, link, must=None, aim=None, peer="flowgen <-> 5tswap", **args):
    return Row(name, what, peer, exchange, must, aim, args={"link": link, **args})


def sized(name, link, frame_bytes, **args):
    size = {"frame_bytes": frame_bytes}
    return between(f"{name}-{frame_bytes}", f"exchange over {link.name}, {frame_bytes} bytes", link,
                   agent=size, testpmd=size, **args)


def costs(name, what, variants):
    return Row(name, what, "", cost, args={"variants": variants})


def works(make):
    return [make(work) for work in ("request", "reply", "turn")]


REQUEST = {"kind": "request", "streams": 1024}
TXONLY = {"vdev": NULL_TX, "forward": "txonly"}
SWAP = {"vdev": NULL, "forward": "5tswap", "first": "txonly"}  # first: UDP frames in the mbufs
ONE = {"agent": {"streams": 1, "window": 1}, "testpmd": {"one_in_flight": True}}

ROWS = [
    on_one_core("request", "requests, 1,024 streams", "txonly", REQUEST, TXONLY, 1.20, 1.5),
    on_one_core("request-flows", "requests, 1,024 streams", "txonly multi-flow", REQUEST,
                {**TXONLY, "words": ["--txonly-multi-flow"]}, 1.40, 1.7),
    on_one_core("request-stamps", "requests, each stamped", "txonly", {**REQUEST, "stamp": "each"},
                TXONLY, 0.90, 1.0),
    Row("request-16k", "requests, 16,384 streams", "itself with 1,024", against_itself, 0.80, 0.95,
        args={"agent": {**REQUEST, "streams": 16384}, "other": REQUEST}),
    on_one_core("turn", "requests turned round", "5tswap", {"kind": "turn"}, SWAP, 1.05, 1.25),
    on_one_core("reply", "replies recorded, freed", "5tswap", {"kind": "reply"}, SWAP, 1.15, 1.35),
    on_one_core("requester", "sends and receives", "flowgen, RX on", {"kind": "both"},
                {"vdev": NULL, "forward": "flowgen", "words": ["--flowgen-flows=1024"]}, 1.0, 1.3),
    between("exchange", "exchange over memif", links.Memif(), 0.95, 1.2),
    between("exchange-one", "exchange, one in flight", links.Memif(), 0.85, 1.0,
            "io, one in flight", **ONE),
    between("exchange-af_packet", "exchange over veth", links.Veth("af_packet"), 0.90, 1.1,
            lossless=False),
    between("exchange-af_xdp", "exchange over veth", links.Veth("af_xdp"), 0.90, 1.1,
            lossless=False),
    *[Row(f"pace-{name}", f"mean rate over {PACED_S} s", "MONOTONIC_RAW", pace, 50, 10, False,
          {"rate": rate})
      for name, rate in (("1k", 1e3), ("100k", 1e5), ("1M", 1e6), ("5M", 5e6))],
    Row("lateness", "p99 up to 80 % of capacity", "the schedule", lateness, 20, None, False,
        {"loads": [0.2, 0.5, 0.8]}),
    Row("lateness-90", "p99 at 90 % of capacity", "the schedule", lateness, None, 20, False,
        {"loads": [0.9]}),
    # no bar from here on
    on_one_core("request-flowgen", "requests, 1,024 streams", "flowgen", REQUEST,
                {"vdev": NULL_TX, "forward": "flowgen", "words": ["--flowgen-flows=1024"]}),
    on_one_core("reply-rxonly", "replies recorded, freed", "rxonly", {"kind": "reply"},
                {"vdev": NULL, "forward": "rxonly", "counter": "ipackets"}),
    *[sized("exchange-memif", links.Memif(), n) for n in (512, 1500)],
    *[sized("exchange-vhost", links.Vhost(), n) for n in (64, 512, 1500)],
    *works(lambda w: Row(f"phases-{w}", f"cycles by phase, {w}", "", phases, args={"work": w})),
    *works(lambda w: Row(f"instructions-{w}", f"instructions a packet, {w}", "", instructions,
                         args={"work": w})),
    *works(lambda w: costs(f"streams-{w}", f"cycles by streams, {w}",
                           {str(n): {"kind": w, "streams": n} for n in (1, 64, 1024, 16384)})),
    *works(lambda w: costs(f"sizes-{w}", f"cycles by frame size, {w}",
                           {str(n): {"kind": w, "payload": n - links.HEADER_BYTES}
                            for n in (64, 512, 1500)})),
    *works(lambda w: costs(f"pairs-{w}", f"cycles by pairs, {w}",
                           {str(n): {"kind": w, "flows": n} for n in (1, 32, 256)})),
    *works(lambda w: costs(f"queues-{w}", f"cycles by queues, a core each, {w}",
                           {str(n): {"kind": w, "cpu": ",".join(map(str, queue_cpus(n)))}
                            for n in (1, 2)})),
    Row("control-plan", f"gen, check, {control.HOSTS:,} hosts in full mesh", "", control.plan),
    Row("control-summary", f"summarize, {control.HOSTS:,} results of a full mesh, one core", "",
        control.summary),
    Row(f"control-{control.AGENTS}", f"{control.AGENTS} agents, run", "",
        control.agents),
]

"""What pmx prints, against the kernel's instruments: the counters of the fabric's interfaces, the
counters of its rules, and tcpdump on every link, to the packet and for each direction apart."""

from collections import Counter
from itertools import permutations

from harness import PORT, assert_identity, flow, host_row, measure

TRIAL_BYTE = 3  # of the payload, lib/wire.h
WARMUP, MEASURED = 0, 1
CELLS = {("h1", "h2"): 2000, ("h1", "h3"): 700, ("h2", "h1"): 900, ("h3", "h1"): 1100,
         ("h3", "h2"): 300}


def wire(capture):
    """Counter of (from, to, kind, trial) and the number of ARP frames, by to: MAC or broadcast."""
    udp, arp = Counter(), Counter()
    names = ["ip.src", "ip.dst", "udp.dstport", "udp.payload", "eth.dst"]
    for src, dst, dport, payload, mac in capture.fields("frame", *names):
        if not dport:
            arp[mac] += 1
            continue
        kind = "request" if dport == str(PORT) else "reply"
        udp[src, dst, kind, bytes.fromhex(payload.replace(":", ""))[TRIAL_BYTE]] += 1
    assert sum(udp.values()) + sum(arp.values()) == capture.packets
    return udp, arp


def test_every_count(lab, write):
    tree = lab.matrix(warmup="500ms", duration="2s", request=40, reply=200)
    cells = {}
    for (src, dst), rate in CELLS.items():
        cells.setdefault(src, {})[dst] = rate
    tree["traffic"] = {"pattern": "cells", "request": 40, "reply": 200, "streams": 3,
                       "cells": cells}
    tree["timing"]["drain"] = "2s"
    address = {host: row["addr"].split("/")[0] for host, row in tree["hosts"].items()}
    mac = {host: lab.exec(host, "cat", "/sys/class/net/data0/address").strip()
           for host in lab.hosts}
    before = {}

    def start():
        lab.fault("clear")
        for src, dst in permutations(lab.hosts, 2):
            lab.fault("count", "--from", src, "--to", dst, "--dport", PORT)
            lab.fault("count", "--from", src, "--to", dst, "--sport", PORT)
        lab.capture()
        before.update(lab.link_packets())
    summary = measure(write(tree), before=start)
    after, rules = lab.link_packets(), lab.counters()
    udp, arp = Counter(), Counter()
    for host, capture in lab.captured().items():
        assert after[host][0] - before[host][0] == capture.packets  # interface and tcpdump
        sent, asked = wire(capture)
        assert {src for src, *_ in sent} <= {address[host]}
        udp += sent
        arp += Counter({(host, to): count for to, count in asked.items()})

    def seen(src, dst, kind, *trials):
        return sum(udp[address[src], address[dst], kind, trial] for trial in trials)

    assert {(f["src"], f["dst"]) for f in summary["flows"]} == set(CELLS)
    for src, dst in CELLS:
        row = flow(summary, src, dst)
        assert_identity(row)
        assert row["sent"] == seen(src, dst, "request", MEASURED)
        assert row["replied"] == seen(dst, src, "reply", MEASURED)
    for src, dst in permutations(lab.hosts, 2):
        both = (WARMUP, MEASURED)
        assert rules[f"count from {src} to {dst} dport {PORT}"] == seen(src, dst, "request", *both)
        assert rules[f"count from {src} to {dst} sport {PORT}"] == seen(src, dst, "reply", *both)
    for host in lab.hosts:
        # nothing was lost on the way, so the link to a host carried what the others sent to it
        to_it = sum(count for (_, dst, _, _), count in udp.items() if dst == address[host])
        to_it += sum(count for (src, to), count in arp.items()
                     if src != host and to in (mac[host], "ff:ff:ff:ff:ff:ff"))
        assert after[host][1] - before[host][1] == to_it
        row = host_row(summary, host)
        assert row["port_opackets"] == after[host][0] - before[host][0]
        others = [dst for dst in lab.hosts if dst != host]
        assert row["sent"] == sum(seen(host, dst, "request", MEASURED) for dst in others)
        assert row["replied"] == sum(seen(host, dst, "reply", MEASURED) for dst in others)
    totals = summary["totals"]
    assert totals["sent"] == sum(count for (*_, kind, trial), count in udp.items()
                                 if (kind, trial) == ("request", MEASURED))
    assert totals["foreign"] == 0

"""Requests from many source addresses: on the wire are exactly the 4-tuples of the plan."""

from collections import Counter
from ipaddress import ip_address

import pytest

from agents import planned
from harness import PORT, assert_identity, flow, measure

STREAMS, RATE = 60, 600
FIRST = {4: "198.18.1.250", 6: "2001:2::1:fffa"}  # and 16 more, past a byte
COUNT = 17


def tree(lab, version):
    matrix = lab.matrix(rate=RATE, request=64, reply=200, warmup="0s", duration="1s")
    matrix["traffic"]["streams"] = STREAMS
    for i, host in enumerate(matrix["hosts"].values(), 1):
        host["addr"] = f"198.18.0.{i}/16" if version == 4 else f"2001:2::{i:x}/64"
    matrix["hosts"]["h1"]["addrs"] = f"{FIRST[version]}-{ip_address(FIRST[version]) + COUNT - 1}"
    return matrix


def expected(configs):
    """{(src, source port, dst): of requests} as the host configs say."""
    found = set()
    for config in configs.values():
        for tx in config["tx"]:
            for s in range(tx["streams"]):
                src = config["addr"]
                if config["src_count"]:
                    src = ip_address(config["src_addr"]) + (tx["tx_first"] + s) % config["src_count"]
                found.add((str(src), tx["sport_first"] + s, tx["peer_addr"]))
    return found


@pytest.mark.parametrize("version", [4, 6])
def test_exactly_the_planned_tuples(lab, write, version):
    matrix = tree(lab, version)
    summary = measure(write(matrix), before=lab.capture)
    assert_identity(summary["totals"])
    for host in summary["hosts"]:
        assert not any(host[f"drop_{why}"] for why in ("address", "own", "stream", "malformed"))
    for src, dst in (("h1", "h2"), ("h2", "h1"), ("h1", "h3")):
        assert_identity(flow(summary, src, dst))
    want = expected(planned(matrix))
    assert len(want) == 6 * STREAMS
    assert len({src for src, _, _ in want}) == 2 + COUNT
    ip = "ip" if version == 4 else "ipv6"
    asked, answered = Counter(), Counter()
    names = [f"{ip}.src", f"{ip}.dst", "udp.srcport", "udp.dstport", "udp.checksum.status"]
    if version == 4:
        names.append("ip.checksum.status")
    for capture in lab.captured().values():
        for src, dst, sport, dport, *good in capture.fields("udp", *names):
            assert set(good) == {"1"}
            if int(dport) == PORT:
                asked[src, int(sport), dst] += 1
            else:
                assert int(sport) == PORT
                answered[dst, int(dport), src] += 1
    assert set(asked) == want and set(answered) == want
    assert asked == answered
    assert set(asked.values()) == {RATE // STREAMS}

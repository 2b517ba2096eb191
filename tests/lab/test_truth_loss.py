"""Losses as pmx prints them, against the counter of the rule that made them."""

import pytest

from agents import accounts, configs
from harness import PORT, assert_identity, flow, measure
from test_lab import send

pytestmark = pytest.mark.release

RATE, SECONDS = 1500, 2
MILLION = 10 ** 6
SEQUENCE_BITS = 128  # of UDP, where the sequence begins: 8 bytes of UDP, 8 of the payload


@pytest.fixture
def matrix(lab, write):
    tree = lab.matrix(rate=RATE, warmup="0s", duration=f"{SECONDS}s")
    tree["traffic"] = {"pattern": "cells", "request": 18, "reply": 18,
                       "cells": {"h1": {"h2": RATE, "h3": RATE}}}
    tree["timing"]["drain"] = "2s"
    return write(tree)


@pytest.mark.parametrize("every", [2, 10, 1000, MILLION])
def test_one_in(lab, matrix, every):
    """Requests to h2 lose one in N, replies of h3 too. The rule takes the first of each N."""
    def start():
        lab.fault("clear")
        lab.fault("drop", "--from", "h1", "--to", "h2", "--every", every, "--dport", PORT)
        lab.fault("drop", "--from", "h3", "--to", "h1", "--every", every, "--sport", PORT)
    summary = measure(matrix, before=start)
    forward, back = lab.counters().values()
    row = flow(summary, "h1", "h2")
    assert (row["lost_forward"], row["lost_back"]) == (forward, 0)
    assert forward == -(-row["sent"] // every)
    assert_identity(row, lossless=False)
    row = flow(summary, "h1", "h3")
    assert (row["lost_forward"], row["lost_back"]) == (0, back)
    assert back == -(-row["replied"] // every)
    assert_identity(row, lossless=False)
    totals = summary["totals"]
    assert (totals["lost_forward"], totals["lost_back"]) == (forward, back)
    assert totals["lost"] == forward + back


@pytest.mark.fullspeed
def test_one_in_a_million(lab, matrix):
    """The second that the rule takes: all but the last few of its million are other frames."""
    lab.fault("drop", "--from", "h1", "--to", "h2", "--every", MILLION, "--dport", PORT)
    send(lab, 1, 2, MILLION - 1000, sport=9)
    assert lab.counter() == 1
    summary = measure(matrix, tries=1)
    row = flow(summary, "h1", "h2")
    assert row["lost_forward"] == lab.counter() - 1 == 1
    assert row["lost_back"] == 0
    assert_identity(row, lossless=False)


def drop_from(lab, port, first):
    """Drops every frame of a sequence number >= first."""
    lab.exec("fabric", "nft", "add", "rule", "bridge", "pmx", "faults", "udp", port, str(PORT),
             f"@th,{SEQUENCE_BITS},32", ">=", str(first), "counter", "drop", "comment", '"last"')


@pytest.mark.parametrize("way,port", [("forward", "dport"), ("back", "sport")])
def test_burst_at_the_end(lab, fleet, way, port):
    """All of the last 500: no later packet shows the hole."""
    pair, keep = ("h1", "h2"), RATE * SECONDS - 500
    agents = fleet(configs(pair, {pair: RATE}, duration_s=SECONDS))
    drop_from(lab, port, keep)
    row = accounts(agents.run(), *pair)
    assert row[f"lost_{way}"] == lab.counter() == row["sent"] - keep > 0
    assert row["lost_forward"] + row["lost_back"] == lab.counter()
    assert row["returned"] == keep
    assert_identity(row, lossless=False)


def test_last_packet(lab, fleet):
    """One request, the very last, and one reply, the very last."""
    pair = ("h1", "h2")
    for port, way in (("dport", "lost_forward"), ("sport", "lost_back")):
        lab.fault("clear")
        agents = fleet(configs(pair, {pair: 200}, duration_s=1))
        drop_from(lab, port, 199)
        row = accounts(agents.run(), *pair)
        agents.end()
        assert row["sent"] == 200
        assert row[way] == row["lost_forward"] + row["lost_back"] == lab.counter() == 1
        assert_identity(row, lossless=False)

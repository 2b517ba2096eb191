"""Duplicates and reordering as the agents count them, against a forwarder that made them."""

import pytest

from agents import accounts, configs
from harness import assert_identity

PAIR = ("h1", "h2")
RATE, SECONDS = 2000, 1
COUNT = RATE * SECONDS


def run(lab, fleet, *options, **changes):
    """h1 asks, h2 answers, and the forwarder stands in h1's link: its first direction has requests
    only, its second replies only."""
    made = configs(PAIR, {PAIR: RATE}, duration_s=SECONDS, **changes)
    agents = fleet(made)
    lab.forwarder("h1", "--fifo", *options)
    results = agents.run()
    forward, back = lab.forwarded()["h1"]
    row = accounts(results, *PAIR)
    assert row["sent"] == forward["udp"]
    assert row["sent"] + row["unsent"] == COUNT
    assert row["replied"] == back["udp"]
    assert_identity(row)
    assert (row["late_forward"], row["late_back"]) == (0, 0)
    return row, forward, back


@pytest.mark.release
@pytest.mark.parametrize("every", [2, 99])
def test_duplicated_requests(lab, fleet, every):
    """A duplicate is counted, not answered, and never makes up for a loss."""
    row, forward, back = run(lab, fleet, "--dup-every", f"{every},0")
    assert forward["duplicated"] == row["sent"] // every
    assert (row["dup_forward"], row["dup_back"]) == (forward["duplicated"], 0)
    assert (row["reordered_forward"], row["reordered_back"]) == (0, 0)
    assert back["received"] - back["udp"] <= 10  # ARP; no reply to a duplicate


@pytest.mark.release
@pytest.mark.parametrize("every", [1, 7])
def test_duplicated_replies(lab, fleet, every):
    row, _, back = run(lab, fleet, "--dup-every", f"0,{every}")
    assert back["duplicated"] == row["sent"] // every
    assert (row["dup_forward"], row["dup_back"]) == (0, back["duplicated"])
    assert (row["reordered_forward"], row["reordered_back"]) == (0, 0)


@pytest.mark.release
@pytest.mark.parametrize("every", [2, 9])
def test_swapped_requests(lab, fleet, every):
    row, forward, back = run(lab, fleet, "--swap-every", f"{every},0")
    assert forward["swapped"] + forward["unswapped"] == row["sent"] // every
    assert forward["unswapped"] <= 1  # the last frame has no successor
    # h2 answers in the order of arrival, so the replies are in that order too
    assert (row["reordered_forward"], row["reordered_back"]) == (forward["swapped"],) * 2
    assert (row["dup_forward"], row["dup_back"], back["swapped"]) == (0, 0, 0)


@pytest.mark.release
def test_swapped_replies(lab, fleet):
    row, _, back = run(lab, fleet, "--swap-every", "0,9")
    assert back["swapped"] + back["unswapped"] == row["sent"] // 9
    assert (row["reordered_forward"], row["reordered_back"]) == (0, back["swapped"])
    assert (row["dup_forward"], row["dup_back"]) == (0, 0)


def test_all_at_once(lab, fleet):
    """Duplicates of swapped frames, both ways, with a delay that keeps tens of them inside."""
    row, forward, back = run(lab, fleet, "--dup-every", "3,5", "--swap-every", "4,7",
                             "--delay", "20ms,10ms")
    assert (row["dup_forward"], row["dup_back"]) == (forward["duplicated"], back["duplicated"])
    assert forward["duplicated"] == row["sent"] // 3
    assert back["duplicated"] == row["sent"] // 5
    assert row["reordered_forward"] == forward["swapped"] == row["sent"] // 4 - forward["unswapped"]
    # at h1 what h2 answered in swapped order is swapped again; how often shows on the wire only
    assert row["reordered_back"] > 0


def test_with_loss(lab, fleet):
    """Duplicates do not hide losses: the fabric drops behind the forwarder, copies too."""
    made = configs(PAIR, {PAIR: RATE}, duration_s=SECONDS)
    agents = fleet(made)
    lab.forwarder("h1", "--fifo", "--dup-every", "4,0")
    lab.fault("drop", "--from", "h1", "--to", "h2", "--every", 7, "--dport", 5300)
    results = agents.run()
    forward, _ = lab.forwarded()["h1"]
    row = accounts(results, *PAIR)
    dropped = lab.counter()
    assert dropped == -(-(forward["udp"] + forward["duplicated"]) // 7)  # the rule takes the first of 7
    # every dropped frame is a lost request or a copy that was not counted
    copies_gone = forward["duplicated"] - row["dup_forward"]
    assert row["lost_forward"] + copies_gone == dropped
    assert row["lost_forward"] > 0 and copies_gone > 0
    assert_identity(row, lossless=False)
    assert row["lost_back"] == 0

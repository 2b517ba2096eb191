"""Trials back to back with 50 ms of path between the hosts: every packet is booked where it was
sent, at both ends, and the wire's own trial bytes say the same."""

from collections import Counter
from itertools import permutations

from agents import accounts, configs
from harness import PORT

PAIR = ("h1", "h2")
RATE, SECONDS = 2000, 1
TRIAL_BYTE = 3  # of the payload, lib/wire.h


def per_trial(capture, src):
    """{(kind, trial): packets} of what `src` sent."""
    seen = Counter()
    for dport, payload in capture.fields(f"udp && ip.src == {src}", "udp.dstport", "udp.payload"):
        kind = "request" if dport == str(PORT) else "reply"
        seen[kind, bytes.fromhex(payload.replace(":", ""))[TRIAL_BYTE]] += 1
    return seen


def test_boundaries(lab, fleet):
    """A hundred packets of the warm-up arrive when the measured trial is under way."""
    made = configs(PAIR, dict.fromkeys(permutations(PAIR), RATE), streams=4,
                   warmup_s=SECONDS, duration_s=SECONDS)
    agents = fleet(made)
    lab.forwarder("h1", "--delay", "50ms")
    lab.capture("h1", "h2")
    results = agents.run()
    captured = lab.captured()
    lab.forwarded()
    for src, dst in permutations(PAIR):
        wire = {host: per_trial(captured[host], made[host]["addr"]) for host in PAIR}
        for trial in (0, 1):
            row = accounts(results, src, dst, trial)
            assert row["sent"] + row["unsent"] == RATE * SECONDS
            assert row["sent"] == row["delivered"] == row["replied"] == row["returned"]
            assert row["sent"] == wire[src]["request", trial]
            assert row["replied"] == wire[dst]["reply", trial]
            for counter, value in row.items():
                if counter.startswith(("dup", "late", "reordered")):
                    assert value == 0, (counter, trial)
        assert set(trial for _, trial in wire[src]) == {0, 1}


def test_late(lab, fleet):
    """What arrives after its trial's drain is late at that end, and lost; the next trial takes none
    of it."""
    made = configs(PAIR, {PAIR: RATE}, warmup_s=1, duration_s=2, drain_s=0.2)
    agents = fleet(made)
    # requests of the warm-up arrive from 1 s to 2 s; it closes at 1.2 s
    lab.forwarder("h1", "--fifo", "--delay", "1s,0")
    results = agents.run()
    lab.forwarded()
    warm = accounts(results, *PAIR, 0)
    assert warm["sent"] == warm["delivered"] + warm["late_forward"] > warm["delivered"]
    assert warm["lost_forward"] == warm["late_forward"]
    assert warm["replied"] == warm["returned"] + warm["late_back"] + warm["lost_back"]
    measured = accounts(results, *PAIR, 1)
    assert measured["sent"] + measured["unsent"] == RATE * 2
    assert (measured["dup_forward"], measured["dup_back"]) == (0, 0)


def test_warm_up_lost_measured_kept(lab, fleet):
    """The fabric drops all of the warm-up and nothing after it: no trial takes the other's loss."""
    made = configs(PAIR, {PAIR: RATE}, warmup_s=SECONDS, duration_s=SECONDS)
    agents = fleet(made)
    # the trial byte is the payload's fourth, behind UDP's 8 bytes
    lab.exec("fabric", "nft", "add", "rule", "bridge", "pmx", "faults", "udp", "dport", str(PORT),
             "@th,88,8", "0", "counter", "drop", "comment", '"warm-up"')
    results = agents.run()
    warm, measured = (accounts(results, *PAIR, trial) for trial in (0, 1))
    assert warm["sent"] == warm["lost_forward"] == lab.counter() > 0
    assert warm["delivered"] == warm["returned"] == 0
    assert measured["sent"] == measured["delivered"] == measured["returned"] > 0

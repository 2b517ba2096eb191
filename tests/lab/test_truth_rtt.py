"""Round-trip times against a forwarder that adds a known delay and measures what it really added.

For microseconds it takes two parties on two CPUs: an agent that is its own peer, and the forwarder,
which turns its frames back. Of two flows at the same time it delays one, so that whatever else the
machine does happens to both. Each frame passes twice. The p50 of the one must be above that of the
other by what the forwarder's own p50s say, within 1 % or 2 us."""

import json
import os
import signal
import time

import pytest

from agents import Fleet, merge, own_peer, percentile_ns, tx_row
from harness import BUILD, Process, assert_identity, flow, measure, until

FLOWS = {"straight": 2000, "late": 2000}
TOLERANCE, TOLERANCE_NS = 0.01, 2000
TRIES = 10
BUSY_NS = 20_000  # of the forwarder's p50 above its least, where nothing is to be delayed


@pytest.fixture
def loop(lab):
    """h1's link leads to nobody but the forwarder."""
    lab.exec("fabric", "ip", "link", "set", "h1", "nomaster")
    yield
    lab.exec("fabric", "ip", "link", "set", "h1", "master", "data")


def turned_back(lab, directory, cpus, delay):
    """{flow: (p50 of the agent's RTT in ns, what the forwarder says of its delay)}"""
    made = own_peer("h1", FLOWS, duration_s=1, drain_s=1, idle="spin", lcores=[cpus[0]])
    forwarder = Process("netns", "exec", f"{lab.name}-fabric", "taskset", "-c", cpus[1],
                        BUILD / "tests/lab/pmx-lab-forwarder", "--spin", "60s", "--delay",
                        f"0,{delay}", "h1", "h1", program="ip")
    agents = None
    try:
        until(lambda: "forwarding" in forwarder.err, 10, "the forwarder forwards")
        agents = Fleet(directory, made, lab)
        results = agents.run()
        forwarder.kill(signal.SIGINT)
        forwarder.wait(10).expect(0)
    finally:
        forwarder.end()
        if agents is not None:
            agents.end()
    found = {}
    for label, way in zip(FLOWS, json.loads(forwarder.out)):
        trial, answered = tx_row(results, "h1", label)[-1], results["h1"]["rx"]
        (served,) = [f["trials"][-1] for f in answered if f["peer"] == label]
        assert way["drops"] == 0 and way["udp"] == trial["sent"] + served["replied"]
        assert trial["sent"] == served["delivered"] == served["replied"] == trial["returned"]
        found[label] = percentile_ns(merge([trial["rtt"]]), 50), way["delay"]
    return found


@pytest.mark.fullspeed
@pytest.mark.parametrize("delay,delay_ns", [("10us", 10e3), ("1ms", 1e6), ("50ms", 50e6)])
def test_rise(lab, loop, tmp_path, delay, delay_ns):
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("an agent and a forwarder that spin need two CPUs")
    seen, calm = [], 0
    for i in range(TRIES):
        found = turned_back(lab, tmp_path / f"run{i}", cpus, delay)
        (bare_ns, bare), (late_ns, late) = found.values()
        rise, added = late_ns - bare_ns, 2 * (late["p50_ns"] - bare["p50_ns"])
        seen.append(f"rise {rise:.0f} ns of {bare_ns:.0f}, added {added} ns:"
                    f" p50 {bare['p50_ns']} and {late['p50_ns']}")
        print(seen[-1])
        exact = abs(late["p50_ns"] - delay_ns) <= max(TOLERANCE * delay_ns, TOLERANCE_NS)
        if exact and abs(rise - added) <= max(TOLERANCE * added, TOLERANCE_NS):
            return
        calm += bare["p50_ns"] < bare["min_ns"] + BUSY_NS
        time.sleep(i / 2)  # for another load of the machine
    if calm == 0:
        pytest.skip("this machine has no time for microseconds: " + seen[-1])
    pytest.fail("\n".join(seen))


def test_through_the_lab(lab, write):
    """The same by pmx, with 50 ms in one host's link: the flows that pass it take that longer, by
    the time the forwarder measured, each way once; the others do not."""
    matrix = write(lab.matrix(rate=500, warmup="0s", duration="2s"))
    lab.forwarder("h1", "--fifo", "--delay", "50ms,0")
    summary = measure(matrix)
    out, _ = lab.forwarded()["h1"]
    assert out["delay"]["p50_ns"] == pytest.approx(50e6, rel=TOLERANCE)
    for row in summary["flows"]:
        assert_identity(row)
        if "h1" in (row["src"], row["dst"]):
            assert out["delay"]["min_ns"] / 1e3 < row["rtt_p50_us"] < 60e3
        else:
            assert row["rtt_p50_us"] < 25e3
    # among the flows of the other two hosts is what the machine adds to each
    bare = flow(summary, "h2", "h3")["rtt_p50_us"]
    assert flow(summary, "h2", "h1")["rtt_p50_us"] - bare == pytest.approx(
        (out["delay"]["p50_ns"]) / 1e3, rel=0.05)

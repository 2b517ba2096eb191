"""Rotation: layers of flows take turns in the agents, and every pair is measured for its dwells."""

from itertools import permutations

import pytest

from harness import assert_identity, flow, host_row, measure, pmx, until

RATE, DWELL = 500, 2


@pytest.fixture
def five(session_lab):
    """Five hosts: four distances, so two layers of two or four of one."""
    session_lab.ensure(5, 2)
    yield session_lab
    left = session_lab.all_agents()
    session_lab.tidy()
    assert not left, f"agents left running: {left}"


def rotating(lab, peers=2, dwell=DWELL, rate=RATE, duration=None, **traffic):
    matrix = lab.matrix(rate=rate, warmup="500ms")
    matrix["traffic"].update({"peers": peers, "dwell": f"{dwell}s", **traffic})
    matrix["timing"]["drain"] = "1s"
    if duration is None:
        del matrix["timing"]["duration"]
    else:
        matrix["timing"]["duration"] = f"{duration}s"
    return matrix


def assert_rates(summary, rate=RATE, dwells=1, dwell=DWELL):
    """Every flow at its rate while it was on, to the packet; nothing lost, nowhere."""
    for row in summary["flows"]:
        assert_identity(row)
        assert row["unsent"] == 0
        assert abs(row["sent"] - rate * dwell * dwells) <= 1, row
        assert row["measured_s"] == pytest.approx(dwell * dwells, abs=1e-3)
        assert row["sent_pps"] == pytest.approx(rate, rel=1e-3)
        assert row["delivered_pps"] == pytest.approx(rate, rel=1e-3)


def test_cycle(five, write):
    """Without a duration: one cycle. All 20 pairs, no loss at the switch."""
    summary = measure(write(rotating(five)))
    assert summary["coverage"] == {"pairs": 20, "pairs_measured": 20,
                                   "pair_least_s": pytest.approx(DWELL, abs=1e-3),
                                   "pair_most_s": pytest.approx(DWELL, abs=1e-3)}
    assert summary["rotation"] == {"layers": 2, "dwell_s": DWELL, "cycle_s": 2 * DWELL}
    assert summary["run"]["window_s"] == pytest.approx(2 * DWELL, abs=0.01)
    assert len(summary["flows"]) == 20
    assert_rates(summary)
    totals = summary["totals"]
    assert_identity(totals)
    assert totals["identity_closes"] is True
    assert totals["achieved_pct"] == 100
    # two flows of each host at any time
    assert totals["sent_pps"] == pytest.approx(10 * RATE, rel=1e-3)
    for host in five.hosts:
        assert host_row(summary, host)["sent_pps"] == pytest.approx(2 * RATE, rel=1e-3)
    assert [(row["layer"], row["flows"], row["lost"]) for row in summary["layers"]] == \
        [(0, 10, 0), (1, 10, 0)]
    for row in summary["layers"]:
        assert row["sent"] == sum(f["sent"] for f in summary["flows"] if f["layer"] == row["layer"])
    # each layer has two out of and two into every host
    for layer in (0, 1):
        for end in ("src", "dst"):
            ends = sorted(f[end] for f in summary["flows"] if f["layer"] == layer)
            assert ends == sorted(2 * five.hosts)


@pytest.mark.release
def test_text_and_files(five, write, tmp_path):
    run = pmx("run", write(rotating(five, dwell=0.5)), "--report", tmp_path / "report",
              "--grid", tmp_path / "grid").expect(0)
    assert "COVERAGE    20/20 pairs measured, each for 0.50 s" in run.out
    assert "LAYERS" in run.out
    layers = (tmp_path / "report/layers.csv").read_text().splitlines()
    assert len(layers) == 1 + 2
    grid = [line.split(",") for line in (tmp_path / "grid/coverage.csv").read_text().splitlines()]
    assert [float(cell) for row in grid[1:] for cell in row[1:] if cell] == \
        pytest.approx(20 * [0.5], abs=1e-3)


@pytest.mark.release
def test_two_cycles_of_odd_dwells(five, write):
    """A dwell that holds no whole number of packets, two cycles: nothing is gained or lost."""
    summary = measure(write(rotating(five, dwell=0.7501, rate=333, duration=3.0004)))
    for row in summary["flows"]:
        assert_identity(row)
        assert abs(row["sent"] + row["unsent"] - 333 * 2 * 0.7501) <= 1.01, row
    assert summary["coverage"]["pairs_measured"] == 20


@pytest.mark.release
def test_equal_layers(five, write):
    """Three a layer of four: the second is filled up with two pairs of the first a host."""
    summary = measure(write(rotating(five, peers=3, dwell=1, equal_layers=True)))
    assert len(summary["flows"]) == 30
    assert_rates(summary, dwell=1)
    assert summary["coverage"]["pairs"] == summary["coverage"]["pairs_measured"] == 20
    assert summary["coverage"]["pair_least_s"] == pytest.approx(1, abs=1e-3)
    assert summary["coverage"]["pair_most_s"] == pytest.approx(2, abs=1e-3)
    assert [row["flows"] for row in summary["layers"]] == [15, 15]
    assert summary["totals"]["sent_pps"] == pytest.approx(15 * RATE, rel=1e-3)


@pytest.mark.release
def test_cut_short(five, write):
    """A window of two layers of four and a half of the third."""
    summary = measure(write(rotating(five, peers=1, dwell=1, duration=2.5)))
    assert summary["coverage"]["pairs_measured"] == 15
    assert summary["coverage"]["pair_least_s"] == pytest.approx(0.5, abs=1e-3)
    for row in summary["flows"]:
        on = (1, 1, 0.5, 0)[row["layer"]]
        assert row["sent"] == row["returned"]
        assert abs(row["sent"] - RATE * on) <= 1
        if on:
            assert row["sent_pps"] == pytest.approx(RATE, rel=2e-3)
        else:
            assert (row["sent_pps"], row["measured_s"], row["covered_s"]) == (None, None, None)


def test_stopped_in_mid_cycle(five, write):
    """Detached, cycle after cycle; stopped in some layer, all that was sent is accounted for."""
    matrix = write(rotating(five, peers=1, dwell=0.5))
    pmx("start", matrix).expect(0)

    def status():
        hosts = pmx("status", matrix, "--json", "-").json["hosts"]
        return hosts if all(h["state"] == "running" and h["elapsed_s"] > 3 for h in hosts) else None
    hosts = until(status, 30, "past a cycle of 2 s")
    assert {h["layers"] for h in hosts} == {4}
    assert all(h["layer"] in range(4) for h in hosts)
    pmx("stop", matrix).expect(0)
    summary = pmx("summarize", matrix, "--json", "-").json
    window = summary["run"]["window_s"]
    assert window > 2
    assert summary["coverage"]["pairs_measured"] == 20
    assert_identity(summary["totals"], lossless=False)
    assert summary["totals"]["identity_closes"] is True
    for row in summary["flows"]:
        assert_identity(row, lossless=False)
        assert abs(row["sent"] + row["unsent"] - RATE * row["measured_s"]) <= 2, row
    for host in five.hosts:  # one flow in each layer
        assert sum(row["measured_s"] for row in summary["flows"] if row["src"] == host) == \
            pytest.approx(host_row(summary, host)["window_s"])


@pytest.mark.release
def test_late_replies(five, write):
    """50 ms of path: at every switch replies of the finished layer are still to come, and are its
    own."""
    matrix = write(rotating(five, dwell=1, duration=4, rate=200))

    def delay():
        five.call("forwarder", "stop")
        for host in ("h1", "h2"):
            five.forwarder(host, "--delay", "50ms")
    summary = measure(matrix, before=delay)
    five.call("forwarder", "stop")
    assert_rates(summary, rate=200, dwell=1, dwells=2)
    for src, dst in permutations(five.hosts, 2):
        row = flow(summary, src, dst)
        assert (row["late_forward"], row["late_back"]) == (0, 0)
        if src in ("h1", "h2") or dst in ("h1", "h2"):
            assert row["rtt_p50_us"] > 50000


def test_report_rows(five, write, tmp_path):
    """report.csv has the layer, and rows of a layer only while it is on."""
    matrix = rotating(five, peers=1, dwell=1)
    matrix["timing"]["interval"] = "250ms"
    path = write(matrix)
    pmx("run", path).expect(0)
    pmx("collect", path, "--output", tmp_path / "got").expect(0)
    lines = (tmp_path / "got/h1/report.csv").read_text().splitlines()
    names = lines[0].split(",")
    rows = [dict(zip(names, line.split(","))) for line in lines[1:]]
    tx = [row for row in rows if row["dir"] == "tx"]
    assert {row["layer"] for row in tx} == {"0", "1", "2", "3"}
    for ts in {row["ts"] for row in tx}:  # at a switch two, and late replies
        assert len({row["layer"] for row in tx if row["ts"] == ts}) <= 3
    assert len([row for row in tx if float(row["pps"]) > 0]) >= 12
    assert all(row["layer"] in ("0", "1", "2", "3") for row in rows if row["dir"] == "host")


def test_windows_rotate(five, write):
    """A closed loop: only the pairs of the layer that is on have requests in flight."""
    matrix = rotating(five, rate="max", dwell=0.5, window=4)
    summary = measure(write(matrix))
    assert summary["coverage"]["pairs_measured"] == 20
    for row in summary["flows"]:
        assert_identity(row)
        assert row["sent"] > 8
        assert row["measured_s"] == pytest.approx(0.5, abs=1e-3)
    assert summary["totals"]["target"] is None

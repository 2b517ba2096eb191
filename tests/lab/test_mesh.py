"""Three hosts over real sshd, full mesh: every pair at its rate, nothing lost, and two instruments
of the kernel agree with every count."""

import json
from itertools import permutations

import pytest

from harness import assert_identity, flow, host_row, measure, pmx

RATE, SECONDS = 5000, 1
ADDRESS = {"h1": "198.18.0.1", "h2": "198.18.0.2", "h3": "198.18.0.3"}


def mesh(lab, **timing):
    matrix = lab.matrix(rate=RATE, request=64, reply=512, duration=f"{SECONDS}s")
    matrix["timing"].update(timing)
    return matrix


def test_mesh(lab, write):
    # without a warm-up, so that the counted trial is all that is on the wire
    matrix = write(mesh(lab, warmup="0s"))
    summary = measure(matrix, before=lab.capture)
    captured = lab.captured()

    totals = summary["totals"]
    assert_identity(totals)
    assert totals["identity_closes"] is True
    assert totals["achieved_pct"] == 100.0
    assert (totals["loss_pct"], totals["unsent"], totals["foreign"]) == (0, 0, 0)
    assert totals["reply_payload_gbps"] == pytest.approx(8 * totals["request_payload_gbps"])
    assert summary["verdict"]["exit"] == 0
    assert len(summary["flows"]) == 6

    on_wire = {host: capture.udp() for host, capture in captured.items()}
    for src, dst in permutations(lab.hosts, 2):
        row = flow(summary, src, dst)
        assert_identity(row)
        assert row["sent"] == row["target"] == RATE * SECONDS
        assert row["achieved_pct"] == 100.0
        assert 0 < row["rtt_p50_us"] <= row["rtt_p99_us"] <= row["rtt_max_us"]
        # frames without FCS: payload + 42
        assert on_wire[src][ADDRESS[src], ADDRESS[dst], "request", 64 + 42] == row["sent"]
        assert on_wire[dst][ADDRESS[dst], ADDRESS[src], "reply", 512 + 42] == row["replied"]
    # and nothing else
    assert sum(sum(frames.values()) for frames in on_wire.values()) == 2 * totals["sent"]


@pytest.mark.release
def test_summary_shows_it(lab, write):
    run = pmx("run", write(lab.matrix(rate=200))).expect(0)
    for word in ("REQUESTS", "DELIVERED", "REPLIES", "TARGET", "LOSS", "RTT", "IDENTITY", "closes",
                 "HOSTS", "h1", "h2", "h3"):
        assert word in run.out, run.out


def test_files(lab, write, tmp_path):
    """The same cells go to JSON, CSV and grids; with a file for the JSON the text stays on stdout."""
    matrix = write(mesh(lab, warmup="200ms"))
    run = pmx("run", matrix, "--json", tmp_path / "out.json", "--report", tmp_path / "report",
              "--grid", tmp_path / "grid").expect(0)
    assert "IDENTITY" in run.out
    summary = json.loads((tmp_path / "out.json").read_text())
    lines = (tmp_path / "report/flows.csv").read_text().splitlines()
    assert len([line for line in lines if line.strip()]) == 1 + 6
    assert "," in lines[0]
    assert list((tmp_path / "grid").glob("*.csv"))
    for host in lab.hosts:
        row = host_row(summary, host)
        assert row["served"] == row["replied"] > 0
        assert row["window_s"] == pytest.approx(SECONDS, abs=0.01)


@pytest.mark.release
def test_cells(lab, write):
    """Only the cells that are written, each at its own rate; a warm-up is not counted."""
    matrix = mesh(lab, warmup="500ms")
    matrix["traffic"] = {"pattern": "cells", "request": 18, "reply": 18,
                         "cells": {"h1": {"h2": "1k", "h3": 500}, "h3": {"h1": "2k", "h2": 0}}}
    summary = measure(write(matrix))
    sent = {(f["src"], f["dst"]): f["sent"] for f in summary["flows"]}
    assert sent == {("h1", "h2"): 1000, ("h1", "h3"): 500, ("h3", "h1"): 2000}
    assert_identity(summary["totals"])


@pytest.mark.release
def test_runs_are_independent(lab, write):
    """Run N counts nothing of run N-1, and the agent's file is not sent again."""
    matrix = write(mesh(lab, warmup="0s"))
    first = measure(matrix)
    stamp = lab.sh("h1", "stat -c '%i %Y' /var/tmp/pmx/pmx-agent")
    second = measure(matrix)
    assert first["run"]["run_id"] != second["run"]["run_id"]
    assert first["totals"]["sent"] == second["totals"]["sent"] == 6 * RATE
    assert_identity(second["totals"])
    assert lab.sh("h1", "stat -c '%i %Y' /var/tmp/pmx/pmx-agent") == stamp


@pytest.mark.release
def test_low_rate(lab, write):
    """3 pps over 4 streams is 3 pps: no rounding to bursts."""
    matrix = lab.matrix(rate=3, warmup="0s", duration="3s")
    matrix["traffic"]["streams"] = 4
    summary = measure(write(matrix))
    assert_identity(summary["totals"])
    for row in summary["flows"]:
        assert abs(row["sent"] - 9) <= 1

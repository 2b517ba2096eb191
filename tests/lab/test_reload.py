"""Agents that are replaced in mid-run: the counts of both lives add up to what the peers counted."""

import json
import signal
import time

import pytest

from agents import READY_S, Agent, configs, rx_row, tx_row
from harness import assert_identity, flow, host_row, pmx, until

LEAD_NS = 300 * 10 ** 6


def replace(fleet, directory, lab, name, config):
    """Stops one agent of a fleet and puts another into its place; returns the old one's result."""
    old = fleet[name]
    end_ns = old.call("hello")["end_ns"]
    old.call("stop", why="reload")
    until(lambda: old.state == "done", 20, "the old agent is done")
    result = old.result
    assert result["ended_by"] == "reload"
    old.end()
    new = fleet.agents[name] = Agent(directory, config, lab)
    until(lambda: new.state == "ready", READY_S, "the new agent is ready")
    start_ns = new.call("time")["mono_ns"] + LEAD_NS
    total_ns = config["warmup_ns"] + config["duration_ns"]
    new.call("arm", start_ns=start_ns, elapsed_ns=total_ns - (end_ns - start_ns))
    assert new.call("hello")["end_ns"] == end_ns
    return result


def test_rejoin(fleet, lab, tmp_path):
    """An agent that answers and asks is replaced."""
    made = configs(("h1", "h2"), {("h1", "h2"): 2000, ("h2", "h1"): 1000}, streams=4,
                   warmup_s=0.5, duration_s=9, drain_s=2, lease_ns=60 * 10 ** 9)
    run = fleet(made).arm()
    time.sleep(1)
    lives = [replace(run, tmp_path / "run0", lab, "h1", made["h1"])]
    results = run.finish(60)
    lives.append(results["h1"])

    there, back = rx_row(results, "h1", "h2"), tx_row(results, "h2", "h1")
    assert [row["delivered"] > 0 for row in there] == [True, True]
    mine = [life["tx"][0]["trials"] for life in lives]
    theirs = [life["rx"][0]["trials"] for life in lives]
    for trial in (0, 1):
        # a machine that does other things too may keep the warm-up's last beyond its drain
        late, late_back = there[trial]["late"], back[trial]["late"]
        assert trial == 0 or late == late_back == 0
        assert sum(life[trial]["sent"] for life in mine) == there[trial]["delivered"] + late
        assert sum(life[trial]["replied"] for life in theirs) == back[trial]["returned"] + late_back
        assert there[trial]["replied"] >= sum(life[trial]["returned"] for life in mine)
        # what came while nobody was there is lost, and nothing else
        assert sum(life[trial]["delivered"] for life in theirs) <= back[trial]["sent"]
    assert there[1]["replied"] == sum(life[1]["returned"] for life in mine)
    for row in (*there, *back, *(t for life in mine + theirs for t in life)):
        assert row["dup"] == row["reordered"] == 0
    # the second life has a share of the measured trial only, and ends when the others do
    assert [life["trials"][0]["start_ns"] is None for life in lives] == [False, True]
    spans = [(life["trials"][1]["start_ns"], life["trials"][1]["end_ns"]) for life in lives]
    assert spans[0][1] < spans[1][0]
    assert abs(spans[1][1] - spans[0][0] - 9e9) < 2e6


def test_join_too_late(fleet):
    """A run that is over cannot be joined."""
    run = fleet(configs(("h1", "h2"), {("h1", "h2"): 100}))
    until(lambda: run["h1"].state == "ready", READY_S, "ready")
    start_ns = run["h1"].call("time")["mono_ns"] + LEAD_NS
    try:
        run["h1"].call("arm", start_ns=start_ns, elapsed_ns=3 * 10 ** 9)
    except AssertionError as refusal:
        assert "the run was over 2.000 s before the start" in str(refusal)
    else:
        raise AssertionError("joined")


# `pmx reload` on a fleet that `pmx start` left running

DIR = "/var/tmp/pmx"


@pytest.fixture
def started(lab, write):
    """A mesh of 300 pps under way; the matrix's tree, its file, and what the agents are."""
    def started(**words):
        tree = lab.matrix(rate=300, warmup="200ms", **words)
        tree["timing"]["drain"] = "2s"
        path = write(tree)
        pmx("start", path, "--for", "600s").expect(0)
        return tree, path
    return started


def pids(lab):
    return {host: int(lab.file(host, f"{DIR}/agent.pid")) for host in lab.hosts}


def sent(path):
    """{(src, dst): sent} of a live fleet."""
    summary = pmx("summarize", path, "--json", "-").expect(0).json
    return {(f["src"], f["dst"]): f["sent"] for f in summary["flows"]}


def lines(run):
    return dict(line.split(": ", 1) for line in run.out.splitlines())


def test_one_cell(lab, write, started, tmp_path):
    """A changed rate restarts the agent that asks; the others go on, and every count adds up."""
    tree, path = started()
    before = pids(lab)
    until(lambda: sent(path)[("h1", "h2")] > 300, 20, "traffic")
    counted = sent(path)

    tree["traffic"]["cells"] = {"h1": {"h2": 600}}
    path = write(tree)
    done = pmx("reload", path).expect(0)
    told = lines(done)
    assert list(told) == lab.hosts
    assert told["h1"] == "restarted, running"
    assert told["h2"] == told["h3"] == "goes on"
    after = pids(lab)
    assert after["h1"] != before["h1"]
    assert (after["h2"], after["h3"]) == (before["h2"], before["h3"])
    assert lab.exists("h1", f"{DIR}/result.1.json") and lab.exists("h1", f"{DIR}/report.1.csv")
    assert not lab.exists("h2", f"{DIR}/result.1.json")

    # the same matrix again changes nothing
    again = pmx("reload", path).expect(0)
    assert set(lines(again).values()) == {"goes on"}
    assert pids(lab) == after

    begun = sent(path)
    assert all(begun[pair] > counted[pair] for pair in counted)
    until(lambda: sent(path)[("h1", "h2")] > begun[("h1", "h2")] + 900, 30, "traffic")
    pmx("stop", path).expect(0)
    text = pmx("summarize", path).out
    assert "closes" in text and "THE TRIAL IS INVALID" not in text, text
    summary = pmx("summarize", path, "--json", "-").json
    for row in summary["flows"]:
        assert_identity(row, lossless=row["dst"] != "h1")
        assert row["dup_forward"] == row["dup_back"] == 0
        assert row["late_forward"] == 0 or row["dst"] == "h1"
    changed = flow(summary, "h1", "h2")
    lives = [json.loads(lab.file("h1", f"{DIR}/{name}")) for name in ("result.1.json", "result.json")]
    assert [life["ended_by"] for life in lives] == ["reload", "stop"]
    parts = [next(f for f in life["tx"] if f["peer"] == "h2") for life in lives]
    assert [part["rate_pps"] for part in parts] == [300, 600]
    assert sum(part["trials"][-1]["sent"] for part in parts) == changed["sent"]
    assert changed["sent"] + changed["unsent"] == changed["target"]
    assert 300 < changed["target_pps"] < 600
    assert host_row(summary, "h1")["sent"] == sum(
        row["sent"] for row in summary["flows"] if row["src"] == "h1")

    kept = tmp_path / "kept"
    pmx("collect", path, "--output", kept).expect(0)
    for name in ("result.1.json", "report.1.csv", "agent.1.log", "result.json", "report.csv"):
        assert (kept / "h1" / name).exists(), name
    read = pmx("summarize", path, "--json", "-", "--no-collect", "--output", kept).json
    assert read["totals"] == summary["totals"]

    # the next run begins with nothing of this one
    pmx("start", path, "--for", "1s").expect(0)
    assert not lab.exists("h1", f"{DIR}/result.1.json")
    assert not lab.exists("h1", f"{DIR}/agent.seq")
    pmx("clean", path).expect(0)


def test_both_ends(lab, write, started):
    """A cell that is taken away ends a flow at both of its ends."""
    tree, path = started()
    before = pids(lab)
    tree["traffic"]["cells"] = {"h3": {"h2": 0}}
    path = write(tree)
    dry = pmx("reload", path, "--dry-run").expect(0)
    assert pids(lab) == before
    assert dry.out.count("$ ") > 0 and "h1$" not in dry.out and "h2$" in dry.out
    told = lines(pmx("reload", path).expect(0))
    assert (told["h1"], told["h2"], told["h3"]) == (
        "goes on", "restarted, running", "restarted, running")
    after = pids(lab)
    assert [host for host in lab.hosts if after[host] != before[host]] == ["h2", "h3"]
    time.sleep(2)
    pmx("stop", path).expect(0)
    summary = pmx("summarize", path, "--json", "-").json
    for row in summary["flows"]:
        assert_identity(row, lossless=(row["src"], row["dst"]) in (("h3", "h1"), ("h2", "h1")))
        assert row["dup_forward"] == row["dup_back"] == 0


def test_sizes(lab, write, started):
    """One size, then a mix, then another size: bit rates are of the packets of each."""
    tree, path = started()
    sizes = {"18": 84, "548": 614, "1472": 1538, "200": 266}  # payload, bytes on the wire
    for request in ("imix", 200):
        until(lambda: sent(path)[("h1", "h2")] > 300, 20, "traffic")
        tree["traffic"]["request"] = request
        path = write(tree)
        told = lines(pmx("reload", path).expect(0))
        assert set(told.values()) == {"restarted, running"}
        before = sent(path)[("h1", "h2")]
        until(lambda: sent(path)[("h1", "h2")] > before + 300, 30, "traffic")
    pmx("stop", path).expect(0)
    summary = pmx("summarize", path, "--json", "-").json
    for row in summary["flows"]:
        assert_identity(row)
    rows = {row["bytes"]: row for row in summary["sizes"] if row["of"] == "request"}
    assert sorted(rows) == sorted(map(int, sizes))
    assert sum(row["sent"] for row in rows.values()) == summary["totals"]["sent"]
    assert all(row["sent"] == row["delivered"] == row["returned"] for row in rows.values())
    lives = [json.loads(lab.file("h1", f"{DIR}/{name}"))
             for name in ("result.1.json", "result.2.json", "result.json")]
    plain = [sum(f["trials"][-1]["sent"] for f in lives[n]["tx"]) for n in (0, 2)]
    host = host_row(summary, "h1")
    mix = [sum(f["trials"][-1]["by_size"][k] for f in lives[1]["tx"]) for k in range(3)]
    out = (plain[0] * 84 + plain[1] * 266 + mix[0] * 84 + mix[1] * 614 + mix[2] * 1538
           + host["replied"] * (lab_reply(lives[0]) + 66 if lab_reply(lives[0]) > 18 else 84))
    assert host["egress_l1_gbps"] == pytest.approx(8e-9 * out / host["window_s"], rel=1e-6)
    pmx("clean", path).expect(0)


def lab_reply(life):
    return life["tx"][0]["rep_bytes"]


def test_new_host(lab, write):
    """A host that the run did not have joins it."""
    tree = lab.matrix(rate=300, warmup="0s")
    tree["timing"]["drain"] = "2s"
    tree["traffic"] = {"pattern": "cells", "cells": {"h1": {"h2": 300}, "h2": {"h1": 300}}}
    new = tree["hosts"].pop("h3")
    pmx("start", write(tree), "--for", "600s").expect(0)
    tree["hosts"]["h3"] = new
    tree["traffic"]["cells"]["h3"] = {"h1": 500}
    path = write(tree)
    told = lines(pmx("reload", path).expect(0))
    assert told == {"h1": "restarted, running", "h2": "goes on", "h3": "joined, running"}
    until(lambda: sent(path)[("h3", "h1")] > 500, 20, "traffic")
    pmx("stop", path).expect(0)
    summary = pmx("summarize", path, "--json", "-").json
    for row in summary["flows"]:
        assert_identity(row, lossless=row["src"] != "h2")


def test_refused(lab, write, started):
    """What cannot be reloaded is refused with the reason, and nothing is changed."""
    tree = lab.matrix(rate=300)
    none = pmx("reload", write(tree)).expect(3)
    assert "no agent runs" in none.err

    tree, path = started()
    before = pids(lab)
    fewer = {**tree, "hosts": {k: v for k, v in tree["hosts"].items() if k != "h3"}}
    gone = pmx("reload", write(fewer, "fewer.yaml")).expect(2)
    assert "host 'h3' belongs to the run" in gone.err
    assert pids(lab) == before

    lab.exec("h2", "kill", "-9", str(before["h2"]))
    until(lambda: lab.agents("h2") == [], 5, "h2's agent is gone")
    dead = pmx("reload", path).expect(3)
    assert "h2: its agent is not running (was killed by signal 9" in dead.err
    assert "nothing was changed" in dead.err
    assert lab.file("h1", f"{DIR}/agent.pid").strip() == str(before["h1"])
    pmx("clean", path).expect(0)


def test_not_of_a_run(lab, write, spawn):
    """A `pmx run` that is under way keeps its agents to itself."""
    path = write(lab.matrix(rate=300, duration="60s"))
    run = spawn("run", path)
    until(lambda: "running" in pmx("status", path).out, 30, "the run")
    assert "belong to a `pmx run`" in pmx("reload", path).expect(3).err
    run.kill(signal.SIGINT)
    run.wait(20).expect(130)

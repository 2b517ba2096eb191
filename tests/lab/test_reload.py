"""Agents that are replaced in mid-run: the counts of both lives add up to what the peers counted."""

import time

from agents import READY_S, Agent, configs, rx_row, tx_row
from harness import until

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

"""Runs end well: whatever ends one, no agent stays, and what was measured is told."""

import json
import signal
import time

import pytest

from harness import SIGNAL_LIMIT_S, assert_identity, flow, host_row, pmx, until

DRAIN_S = 0.5  # of the lab's matrix
SLACK_S = 4    # a machine that does other things too
LEASE_S = 5    # the agents' start included, on a busy machine


@pytest.fixture
def running(lab, write, spawn):
    """A run of a minute, when requests are being counted in the fabric."""
    def running(*options, verb="run", lease_s=20):
        tree = lab.matrix(rate=500, warmup="0s", duration="60s")
        tree["timing"]["lease"] = f"{lease_s}s"
        lab.fault("count", "--from", "h1", "--to", "h3", "--dport", 5300)
        matrix = write(tree)
        run = spawn(verb, matrix, *options)
        run.matrix = matrix
        if verb == "start":
            run.wait(30).expect(0)
        until(lambda: lab.counter() > 500 or (verb == "run" and not run.running()), 60, "traffic")
        assert verb == "start" or run.running(), str(run)
        return run
    return running


@pytest.mark.parametrize("sig,code", [
    (signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.release)])
def test_signal(lab, running, sig, code):
    run = running("--json", "-")
    begin = time.monotonic()
    run.kill(sig)
    # requests stop within the limit, to be seen in the fabric
    time.sleep(SIGNAL_LIMIT_S)
    stopped_at = lab.counter()
    run.wait(20).expect(code)
    assert time.monotonic() - begin < SIGNAL_LIMIT_S + DRAIN_S + SLACK_S
    assert lab.counter() == stopped_at
    assert lab.all_agents() == {}
    summary = run.json
    assert_identity(summary["totals"])
    assert {host["ended_by"] for host in summary["hosts"]} == {"stop"}
    assert 500 < flow(summary, "h1", "h3")["sent"] == stopped_at


@pytest.mark.release
def test_signal_shows_the_summary(lab, running):
    run = running()
    run.kill(signal.SIGINT)
    run.wait(20).expect(130)
    for word in ("REQUESTS", "LOSS", "IDENTITY", "closes"):
        assert word in run.out, str(run)


def test_second_signal(lab, running):
    """A second ^C does not wait for the first to be done; the lease ends the agents."""
    run = running(lease_s=LEASE_S)
    run.kill(signal.SIGINT)
    run.kill(signal.SIGINT)
    run.wait(5).expect(130)
    until(lambda: lab.all_agents() == {}, LEASE_S + DRAIN_S + SLACK_S + 2, "no agents")


def test_kill_9(lab, running):
    """pmx is gone without a word: the agents end by themselves, and leave their results."""
    run = running(lease_s=LEASE_S)
    run.kill(signal.SIGKILL)
    run.wait(5)
    assert len(lab.all_agents()) == 3
    until(lambda: lab.all_agents() == {}, LEASE_S + DRAIN_S + SLACK_S, "no agents")
    for host in lab.hosts:
        assert not lab.exists(host, "/var/tmp/pmx/agent.sock")
        assert not lab.exists(host, "/var/tmp/pmx/agent.pid")
        result = json.loads(lab.file(host, "/var/tmp/pmx/result.json"))
        assert result["ended_by"] == "lease"
    summary = pmx("summarize", run.matrix, "--json", "-").expect(4).json  # cut short
    assert_identity(summary["totals"], lossless=False)
    pmx("clean", run.matrix).expect(0)
    for host in lab.hosts:
        assert not lab.exists(host, "/var/tmp/pmx")


def test_agent_killed(lab, running):
    """One agent is killed in mid-run: named with how it ended, the others are told of."""
    run = running("--json", "-")
    pid = lab.file("h2", "/var/tmp/pmx/agent.pid").strip()
    lab.exec("h2", "kill", "-9", pid)
    until(lambda: lab.agents("h2") == [], 5, "h2's agent and its supervisor are gone")
    time.sleep(1)
    run.kill(signal.SIGINT)
    run.wait(20)
    assert run.code in (130, 4), str(run)
    (line,) = [line for line in run.err.splitlines() if line.startswith("pmx: h2: ")]
    assert "killed by signal 9" in line
    assert "FAILED on 1/3: h2" in run.err, str(run)
    summary = run.json
    assert host_row(summary, "h2")["measured"] is False
    assert "killed by signal 9" in host_row(summary, "h2")["failure"]
    assert_identity(flow(summary, "h1", "h3"))
    assert lab.all_agents() == {}


def test_agent_killed_to_the_end(lab, write, spawn):
    """The run goes on to its end, and its exit code says partial."""
    tree = lab.matrix(rate=500, warmup="0s", duration="4s")
    lab.fault("count", "--from", "h1", "--to", "h3", "--dport", 5300)
    run = spawn("run", write(tree), "--json", "-")
    until(lambda: lab.counter() > 100, 60, "traffic")
    lab.exec("h2", "kill", "-9", lab.file("h2", "/var/tmp/pmx/agent.pid").strip())
    run.wait(30).expect(4)
    assert "killed by signal 9" in run.err
    row = flow(run.json, "h1", "h3")
    assert_identity(row)
    assert row["sent"] + row["unsent"] == row["target"] == 2000


def test_host_vanishes(lab, running, tmp_path):
    """A host's management link goes in mid-run and stays away to the end: its agent ends by its lease, and
    left its result."""
    run = running("--json", "-", lease_s=LEASE_S)
    lab.fault("mgmt", "h2", "down")
    until(lambda: lab.agents("h2") == [], LEASE_S + DRAIN_S + SLACK_S, "h2's agent ends")
    assert len(lab.agents("h1")) > 0
    run.kill(signal.SIGTERM)
    run.wait(30)
    assert run.code in (143, 4), str(run)
    assert "FAILED on 1/3: h2" in run.err, str(run)
    assert flow(run.json, "h1", "h3")["sent"] > 500
    lab.fault("clear")
    assert lab.all_agents() == {}
    pmx("collect", run.matrix, "--output", tmp_path).expect(0)
    result = json.loads((tmp_path / "h2/result.json").read_text())
    assert result["ended_by"] == "lease" and result["tx"][0]["trials"][-1]["sent"] > 500


def test_ssh_breaks(lab, running):
    """A host's management link goes for a while in mid-run: its agent lives on by its lease and is
    attached to again, and nothing is missing in the end."""
    run = running("--json", "-", lease_s=30)
    pid = lab.file("h2", "/var/tmp/pmx/agent.pid")
    lab.fault("mgmt", "h2", "down")
    until(lambda: "h2: " in run.err or not run.running(), 30, "h2 is missed")
    assert "trying again" in run.err, str(run)
    lab.fault("mgmt", "h2", "up")
    until(lambda: "h2: attached again" in run.err or not run.running(), 30, "h2 is back")
    assert lab.file("h2", "/var/tmp/pmx/agent.pid") == pid
    sent = lab.counter()
    until(lambda: lab.counter() > sent + 100, 10, "traffic")
    run.kill(signal.SIGINT)
    run.wait(20).expect(130)
    assert "FAILED" not in run.err
    assert_identity(run.json["totals"])
    assert {host["ended_by"] for host in run.json["hosts"]} == {"stop"}


def test_data_link_down(lab, write):
    """No neighbour answers: the run fails before it starts, and says which host and which peer."""
    tree = lab.matrix(rate=500, duration="1s")
    tree["timing"]["resolve"] = "1s"
    lab.fault("link", "h2", "down")
    run = pmx("run", write(tree), "--json", "-")
    assert run.code == 3, str(run)
    assert "h2" in run.err and "FAILED on" in run.err
    assert lab.all_agents() == {}


def test_absent_device(lab, write):
    """Never another port instead."""
    tree = lab.matrix(rate=500, duration="1s")
    tree["hosts"]["h2"]["device"] = "data7"
    run = pmx("run", write(tree)).expect(3)
    (line,) = [line for line in run.err.splitlines() if line.startswith("pmx: h2: ")]
    assert "data7" in line
    assert lab.all_agents() == {}


def test_clean(lab, write):
    matrix = write(lab.matrix(duration="500ms"))
    pmx("run", matrix).expect(0)
    assert lab.exists("h1", "/var/tmp/pmx/result.json")
    first = pmx("clean", matrix).expect(0)
    assert [line.split(":")[0] for line in first.out.splitlines()] == lab.hosts
    for host in lab.hosts:
        assert lab.sh(host, "ls -A /var/tmp /run/lock").split() == ["/run/lock:", "/var/tmp:"]
    assert lab.all_agents() == {}
    pmx("clean", matrix).expect(0)


def test_clean_ends_a_running_agent(lab, running):
    run = running(verb="start")  # ends only by its maximum, a day
    pmx("clean", run.matrix).expect(0)
    assert lab.all_agents() == {}
    for host in lab.hosts:
        assert not lab.exists(host, "/var/tmp/pmx")


# `clean` never says that it is done when it is not

@pytest.fixture
def left(lab, write):
    """A detached fleet that does not end by itself, with little patience for the log-in."""
    tree = lab.matrix(rate=200, warmup="0s", duration="60s")
    tree["ssh"]["connect_timeout"] = "2s"
    path = write(tree)
    pmx("start", path, "--for", "600s").expect(0)
    yield path
    lab.fault("clear")


def told(run):
    return dict(line.split(": ", 1) for line in run.out.splitlines())


@pytest.mark.release
def test_clean_of_a_stopped_agent(lab, left):
    """An agent that was stopped is made to go on, to take its end."""
    lab.exec("h2", "kill", "-STOP", *map(str, lab.agents("h2")))
    run = pmx("clean", left).expect(0)
    assert set(told(run).values()) == {"stopped, /var/tmp/pmx removed"}, str(run)
    assert lab.all_agents() == {}
    assert not lab.exists("h2", "/var/tmp/pmx")


def test_stop_says_how_it_ended(lab, left):
    """Stopped (also one that was held by SIGSTOP: its result is not lost), or not running; and what
    is left."""
    lab.exec("h2", "kill", "-STOP", *map(str, lab.agents("h2")))
    pid = lab.file("h3", "/var/tmp/pmx/agent.pid").strip()
    lab.exec("h3", "kill", "-KILL", pid)
    until(lambda: lab.agents("h3") == [], 5, "h3's agent is gone")
    run = pmx("stop", left).expect(0)
    assert told(run) == {"h1": "stopped, its result is in /var/tmp/pmx",
                         "h2": "stopped, its result is in /var/tmp/pmx",
                         "h3": "not running, no result is in /var/tmp/pmx"}
    assert lab.all_agents() == {}
    state = told(pmx("status", left).expect(1))
    assert "was killed by signal 9" in state["h3"] and state["h3"].startswith("NOT-RUNNING: ")
    assert "its result is there" in state["h2"]


def test_clean_of_what_cannot_be_removed(lab, left):
    """A mount in the directory: the host fails, by name, and is told what stays."""
    lab.sh("h2", "mkdir /var/tmp/pmx/kept && mount -t tmpfs none /var/tmp/pmx/kept")
    try:
        run = pmx("clean", left).expect(3)
        assert list(told(run)) == ["h1", "h3"], str(run)
        assert "FAILED on 1/3: h2" in run.err
        (line,) = [line for line in run.err.splitlines() if line.startswith("pmx: h2: ")]
        assert "/var/tmp/pmx" in line
        assert lab.exists("h2", "/var/tmp/pmx") and not lab.exists("h1", "/var/tmp/pmx")
        assert lab.all_agents() == {}
    finally:
        lab.sh("h2", "umount /var/tmp/pmx/kept")
    assert told(pmx("clean", left).expect(0))["h2"] == "not running, /var/tmp/pmx removed"


def test_clean_with_a_host_gone(lab, left):
    """The others are cleaned; the one that cannot be asked fails."""
    lab.fault("mgmt", "h2", "down")
    run = pmx("clean", left).expect(3)
    assert list(told(run)) == ["h1", "h3"], str(run)
    assert "FAILED on 1/3: h2" in run.err
    assert list(lab.all_agents()) == ["h2"] and lab.exists("h2", "/var/tmp/pmx")
    assert pmx("status", left, "--hosts", "h2").expect(3).out.startswith("h2: UNREACHABLE: ")
    lab.fault("mgmt", "h2", "up")
    assert "stopped" in told(pmx("clean", left).expect(0))["h2"]
    assert lab.all_agents() == {}

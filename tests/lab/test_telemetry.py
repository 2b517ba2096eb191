"""DPDK's telemetry of running agents, read by Debian's dpdk-telemetry.py: live, and equal to the
result at the end."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from agents import READY_S, bucket_bounds, configs
from harness import pmx, until

TOOL = shutil.which("dpdk-telemetry.py")
SOCKET = "dpdk/pmx/dpdk_telemetry.v2"
ENDPOINTS = {"/pmx/info", "/pmx/status", "/pmx/queues", "/pmx/queue", "/pmx/flows", "/pmx/flow",
             "/pmx/drops", "/pmx/port", "/pmx/lateness"}
FLOWS = {(a, b): 300 for a in ("h1", "h2") for b in ("h1", "h2") if a != b}

pytestmark = pytest.mark.skipif(TOOL is None, reason="no dpdk-telemetry.py: install dpdk")


def read(agent, *commands):
    """What the tool prints for each command."""
    done = subprocess.run([TOOL, "--file-prefix", "pmx"], input="\n".join([*commands, "quit\n"]),
                          env={**os.environ, "RUNTIME_DIRECTORY": str(agent.dir)},
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) == len(commands), done.stdout
    return [line[command.partition(",")[0]] for line, command in zip(lines, commands)]


def flat(prefix, values):
    """The endpoints' form of an object: no lists, no nulls, fractions as text."""
    found = {}
    for key, value in values.items():
        if isinstance(value, dict):
            found.update(flat(f"{prefix}{key}_", value))
        elif isinstance(value, float):
            found[prefix + key] = f"{value:.15g}"
        elif value is not None and not isinstance(value, list):
            found[prefix + key] = value
    return found


def row_of(row, *more):
    warmup, measured = row["trials"]
    return {**flat("", {k: v for k, v in row.items() if k != "trials"}), **flat("warmup_", warmup),
            **flat("", measured), **dict(more)}


def without_percentiles(values, hist, prefix=""):
    """Percentiles are no part of the result: in order and within what it recorded."""
    at = [values.pop(f"{prefix}{name}_ns") for name in ("p50", "p99", "p999")]
    assert at == sorted(at) and hist["min_ns"] <= at[0] and at[2] <= hist["max_ns"]
    (lower, upper), half = bucket_bounds(hist["buckets"][0][0]), 0
    for index, count in hist["buckets"]:
        half += count
        if 2 * half >= hist["count"]:
            lower, upper = bucket_bounds(index)
            break
    assert lower <= at[0] + 1 and at[0] - 1 <= upper
    return values


def pid_of(agent):
    """The agent proper, by this machine's number: agent.pid has that of the host's namespace."""
    inner = (agent.dir / "agent.pid").read_text().strip()
    (pid,) = [pid for pid in agent.pids()
              if re.search(rf"^NSpid:.*\t{inner}$", Path(f"/proc/{pid}/status").read_text(), re.M)]
    return pid


def threads(pid):
    """{tid: CPUs} of DPDK's telemetry threads."""
    found = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        if (task / "comm").read_text().startswith("telemetry-v"):
            found[task.name] = os.sched_getaffinity(int(task.name))
    return found


def test_live_and_final(fleet):
    both = fleet(configs(("h1", "h2"), FLOWS, warmup_s=1, duration_s=600, lease_ns=600 * 10 ** 9))
    both.arm()
    h1 = both["h1"]
    until(lambda: read(h1, "/pmx/flow,0")[0]["sent"] > 100, READY_S, "the window sends")

    listed, info, flows, queues, ethdev = read(h1, "/", "/pmx/info", "/pmx/flows", "/pmx/queues",
                                               "/ethdev/stats,0")
    assert ENDPOINTS <= set(listed)
    for name, text in zip(sorted(ENDPOINTS), read(h1, *[f"/help,{n}" for n in sorted(ENDPOINTS)])):
        assert "arameters" in text[name], name
    assert info["host"] == "h1" and (info["tx_flows"], info["rx_flows"]) == (1, 1)
    assert flows == {"0": "tx h2", "1": "rx h2"} and queues == [0]
    assert ethdev["ipackets"] > 0

    # they grow, and each with the other
    names = ("/pmx/flow,0", "/pmx/flow,1", "/pmx/queue,0", "/pmx/port", "/pmx/lateness")
    first = read(h1, *names)
    until(lambda: read(h1, names[0])[0]["returned"] > first[0]["returned"] + 100, READY_S, "more")
    for before, after, keys in zip(first, read(h1, *names), (
            ("sent", "returned", "rtt_count"), ("delivered", "replied"),
            ("requests_sent", "replies_received", "requests_received", "replies_sent", "total_tsc"),
            ("ipackets", "opackets"), ("count",))):
        for key in keys:
            assert after[key] > before[key], key
        assert all(after[key] >= value for key, value in before.items()
                   if isinstance(value, int) and not key.endswith(("min_ns", "p50_ns", "p99_ns",
                                                                   "p999_ns"))), after
    state = read(h1, "/pmx/status")[0]
    assert state["state"] in ("running", "drain") and float(state["elapsed_s"]) > 1
    # only what there is
    assert read(h1, "/pmx/flow,2", "/pmx/flow", "/pmx/flow,-1", "/pmx/queue,1", "/pmx/flows,2",
                "/pmx/queue,x") == [None] * 6

    for agent in both.agents.values():
        agent.call("stop")
    for name, result in both.finish(30).items():
        agent = both[name]
        tx, rx, queue, drops, port, lateness, state = read(
            agent, "/pmx/flow,0", "/pmx/flow,1", "/pmx/queue,0", "/pmx/drops", "/pmx/port",
            "/pmx/lateness", "/pmx/status")
        measured = result["tx"][0]["trials"][-1]
        assert measured["sent"] > 200
        assert without_percentiles(tx, measured["rtt"], "rtt_") == row_of(result["tx"][0],
                                                                          ("dir", "tx"))
        assert rx == row_of(result["rx"][0], ("dir", "rx"))
        assert queue == row_of(result["queues"][0])
        assert drops == result["drop"] and port == flat("", result["port"])
        assert without_percentiles(lateness, result["lateness"]) == flat("", result["lateness"])
        assert state["state"] == "done" and state["ended_by"] == "stop"


def test_threads_keep_off(fleet):
    """Not on the CPUs of the lcores, also not while somebody is connected."""
    made = configs(("h1", "h2"), FLOWS)
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one CPU is the lcore's")
    both = fleet(made)
    for name, config in made.items():
        agent = both[name]
        pid = pid_of(agent)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
            client.connect(str(agent.dir / SOCKET))
            assert client.recv(4096)
            cpus = threads(pid)
            assert len(cpus) == 2
            for each in cpus.values():
                assert each and not each & set(config["lcores"]), (each, config["lcores"])


def test_nothing_stays(fleet):
    """Whatever ends the agent, also with a client that is connected and does not read."""
    both = fleet(configs(("h1", "h2"), FLOWS))
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
        client.connect(str(both["h1"].dir / SOCKET))
        client.setblocking(False)
        try:
            while True:
                client.send(b"/")
        except BlockingIOError:
            pass
        both["h1"].call("quit")
        os.kill(pid_of(both["h2"]), signal.SIGKILL)
        for agent in both.agents.values():
            until(lambda: (agent.dir / "agent.exit").exists(), 10, f"{agent.name} ends")
            until(lambda: not agent.pids(), 5, f"{agent.name}'s supervisor ends")
            assert sorted(p.name for p in agent.dir.iterdir() if p.name != "result.json") == [
                "agent.exit", "agent.log", "host.json", "report.csv"]
    assert (both["h1"].dir / "agent.exit").read_text() == "exit 0\n"
    assert (both["h2"].dir / "agent.exit").read_text() == "signal 9\n"
    assert "TELEMETRY" not in both["h1"].log()


def test_long_name(fleet, tmp_path):
    """Where the socket's name does not fit, the agent says so and works without."""
    deep = tmp_path / ("d" * 90)
    deep.mkdir()
    made = configs(("h1", "h2"), FLOWS)
    (tmp_path / "run0").symlink_to(deep)  # the session's socket is found by a short name
    both = fleet(made)
    for agent in both.agents.values():
        assert "no telemetry: the name of its socket" in agent.log()
        assert not (agent.dir / SOCKET).exists()
    results = both.run()
    assert all(r["tx"][0]["trials"][-1]["sent"] == 300 for r in results.values())


def test_operators_command(lab, write):
    """As the manual has it."""
    matrix = write(lab.matrix(rate=200, warmup="0s", duration="60s"))
    pmx("start", matrix).expect(0)
    shown = lab.sh("h1", f"echo /pmx/info | RUNTIME_DIRECTORY=/var/tmp/pmx {TOOL} -f pmx")
    assert json.loads(shown)["/pmx/info"]["host"] == "h1"
    pmx("clean", matrix).expect(0)
    for host in lab.hosts:
        assert not lab.exists(host, "/var/tmp/pmx")
        assert not lab.exists(host, "/var/run/dpdk")

"""Agents without pmx's hand on them: host configs of its plan, sessions over the agents' sockets.
For what pmx does not show (every trial, raw buckets) or cannot ask for (an agent that is its own
peer)."""

import json
import math
import os
import re
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import yaml

from harness import AGENT, pmx, until

READY_S = 20


def planned(tree):
    """{host: host config} as pmx plans it for a matrix."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        yaml.safe_dump(tree, file)
        file.flush()
        shown = pmx("run", "--dry-run", file.name).expect(0).out
    text = {}
    for host, line in re.findall(r"^(\w+)< (.*)$", shown, re.M):
        text.setdefault(host, []).append(line)
    found = {}
    for host, lines in text.items():
        begin = lines.index("{")
        found[host] = json.loads("\n".join(lines[begin:lines.index("}", begin) + 1]))
    return found


def configs(names, flows, request=18, reply=18, streams=1, warmup_s=0.0, duration_s=1.0,
            drain_s=2.0, defaults=None, **changes):
    """{name: host config}; flows is {(src, dst): rate}, a name's place gives its address. defaults:
    more words of the matrix for every host."""
    cpus = sorted(os.sched_getaffinity(0))
    cells = {}
    for (src, dst), rate in flows.items():
        cells.setdefault(src, {})[dst] = rate
    made = planned({
        "pmx": 1, "name": "truth", "transport": "ssh",
        "defaults": {"device": "data0", "driver": "af_packet", "idle": "sleep",
                     **(defaults or {})},
        "hosts": {name: {"ssh": f"192.0.2.{i}", "addr": f"198.18.0.{i}/24",
                         "lcores": cpus[(i - 1) % len(cpus)]} for i, name in enumerate(names, 1)},
        "traffic": {"pattern": "cells", "request": request, "reply": reply, "streams": streams,
                    "cells": cells},
        "timing": {"warmup": f"{warmup_s}s", "duration": f"{duration_s}s",
                   "drain": f"{drain_s}s"}})
    for config in made.values():
        config.update(changes)
    return made


def own_peer(name, rates, **kwargs):
    """A host that asks itself, what a plan never has: one flow of one stream for each label of
    `rates`, with source ports from 49152 on."""
    made = configs((name, "nobody"), {(name, "nobody"): 1}, **kwargs)
    config, other = made[name], made["nobody"]
    (tx,), (rx,) = config["tx"], other["rx"]
    config["tx"], config["rx"] = [], []
    for i, (label, rate) in enumerate(rates.items()):
        both = {"peer": label, "peer_addr": config["addr"], "sport_first": 49152 + i}
        config["tx"].append({**tx, **both, "rate_pps": rate, "tx_first": i, "peer_rx_first": i})
        config["rx"].append({**rx, **both, "rx_first": i, "peer_tx_first": i})
    return {name: config}


class Agent:
    """One agent of this build, on a lab host or (lab None) on this machine."""

    def __init__(self, directory, config, lab=None, prefix=()):
        self.name = config["host"]
        self.dir = Path(directory) / self.name
        self.dir.mkdir(parents=True, exist_ok=True)
        (self.dir / "host.json").write_text(json.dumps(config))
        command = [*map(str, prefix), str(AGENT), "start", "--dir", str(self.dir)]
        if lab is not None:
            done = lab.call("exec", self.name, *command, check=False)
        else:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  timeout=60)
        assert done.returncode == 0, f"{self.name}: {done.stderr}{self.log()}"
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(30)
        self.socket.connect(str(self.dir / "agent.sock"))
        self.lines = self.socket.makefile("rw")

    def log(self):
        path = self.dir / "agent.log"
        return path.read_text(errors="replace")[-3000:] if path.exists() else ""

    def call(self, cmd, **fields):
        self.lines.write(json.dumps({"cmd": cmd, **fields}) + "\n")
        self.lines.flush()
        answer = json.loads(self.lines.readline())
        assert answer["ok"], f"{self.name}: {cmd}: {answer}"
        return answer

    @property
    def state(self):
        status = self.call("status")
        assert status["state"] != "failed", f"{self.name}: {status['error']}"
        return status["state"]

    def offset_ns(self):
        """Its clock minus ours, of ten tries the one with the shortest round trip."""
        best = None
        for _ in range(10):
            before = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
            theirs = self.call("time")["mono_ns"]
            after = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
            if best is None or after - before < best[0]:
                best = (after - before, theirs - (before + after) // 2)
        return best[1]

    @property
    def result(self):
        return self.call("result")["result"]

    def pids(self):
        """Of this machine: whatever runs with this agent's directory."""
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = path.read_bytes().split(b"\0")
                if str(self.dir).encode() in words and words[0].endswith(b"pmx-agent"):
                    found.append(int(path.parent.name))
            except OSError:
                pass
        return found

    def end(self):
        try:
            self.call("quit")
            until(lambda: (self.dir / "agent.exit").exists(), 10, f"{self.name} ends")
        except (AssertionError, OSError, ValueError):
            pass
        self.socket.close()
        for pid in self.pids():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


class Fleet:
    """Agents of one run, in the order of their configs."""

    def __init__(self, directory, made, lab=None, prefix=None):
        self.agents = {}
        try:
            for name, config in made.items():
                self.agents[name] = Agent(directory, config, lab, (prefix or {}).get(name, ()))
        except BaseException:
            self.end()
            raise

    def __getitem__(self, name):
        return self.agents[name]

    def arm(self):
        """All start at one instant, each by its own clock."""
        agents = self.agents.values()
        until(lambda: all(a.state == "ready" for a in agents), READY_S, "all agents ready")
        offset = {a.name: a.offset_ns() for a in agents}
        start = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) + 300 * 10 ** 6
        for a in agents:
            a.call("arm", start_ns=start + offset[a.name])
        return self

    def finish(self, deadline_s):
        """{name: result} once all are done."""
        agents = self.agents.values()
        until(lambda: all(a.state == "done" for a in agents), deadline_s, "all agents done")
        return {a.name: a.result for a in agents}

    def run(self):
        config = json.loads((next(iter(self.agents.values())).dir / "host.json").read_text())
        seconds = (config["warmup_ns"] + config["duration_ns"] + config["drain_ns"]) / 1e9
        return self.arm().finish(seconds + 60)

    def end(self):
        for agent in self.agents.values():
            agent.end()


def tx_row(results, src, dst):
    (found,) = [f for f in results[src]["tx"] if f["peer"] == dst]
    return found["trials"]


def rx_row(results, src, dst):
    (found,) = [f for f in results[dst]["rx"] if f["peer"] == src]
    return found["trials"]


def accounts(results, src, dst, trial=-1):
    """What both ends say of one flow and trial, under the names of pmx's summary."""
    tx, rx = tx_row(results, src, dst)[trial], rx_row(results, src, dst)[trial]
    return {"sent": tx["sent"], "unsent": tx["unsent"], "delivered": rx["delivered"],
            "replied": rx["replied"], "reply_unsent": rx["reply_unsent"],
            "returned": tx["returned"], "lost_forward": tx["sent"] - rx["delivered"],
            "lost_back": rx["replied"] - tx["returned"], "dup_forward": rx["dup"],
            "dup_back": tx["dup"], "reordered_forward": rx["reordered"],
            "reordered_back": tx["reordered"], "late_forward": rx["late"], "late_back": tx["late"]}


# Histograms: lib/hist.h's layout, written down a second time on purpose.

SUB_BITS = 7


def bucket_bounds(index):
    """Lower and upper (exclusive) bound in ns."""
    if index < 1 << SUB_BITS:
        return index, index + 1
    shift = (index >> SUB_BITS) - 1
    lower = ((index & ((1 << SUB_BITS) - 1)) + (1 << SUB_BITS)) << shift
    return lower, lower + (1 << shift)


def merge(hists):
    total = {}
    for h in hists:
        for index, count in (h["buckets"] if h else []):
            total[index] = total.get(index, 0) + count
    return total


def percentile_ns(buckets, percent):
    """Middle of the bucket in which the nearest rank lies; of no records infinity."""
    count = sum(buckets.values())
    rank = max(1, -(-count * round(10 * percent) // 1000))
    for index in sorted(buckets):
        rank -= buckets[index]
        if rank <= 0:
            lower, upper = bucket_bounds(index)
            return (lower + upper) / 2
    return math.inf

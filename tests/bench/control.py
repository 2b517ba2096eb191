"""What pmx itself costs: a plan of many hosts, and the life of many agents on this machine."""

import json
import os
import shutil
import statistics
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from links import SPACE
from sides import Broken, Skipped, last_lines, spawn

HOSTS, PLANS = 1000, 5
AGENTS, RUNS = 64, 3
RATE = 100
TIMING_S = {"warmup": 0.2, "duration": 1, "drain": 0.2}
RUN_S = 90  # at most
# what `pmx run --verbose` says at the begin of a phase (stopping: when the first has stopped)
PHASES = {"deploy": None, "launch": "launching ", "links and arming": "waiting for links",
          "lead and collecting": "running for ", "stopping": "agent stopped"}

program = None  # pmx; set by scripts/bench
generator = None  # make_results; set by it, too


# --- the plan

def finish(folder, *words):
    """(wall seconds, MB at the peak) of a whole process"""
    begin = time.monotonic()
    process = spawn([program, *words], folder, stdin=subprocess.DEVNULL)
    # ru_maxrss begins with what this process had at the fork, a tenth of a plan
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise Broken(f"pmx {words[0]}: {last_lines(folder)}")
    return seconds, usage.ru_maxrss * 1024 / 1e6


def plan(bench, row):
    folder = Path(tempfile.mkdtemp(prefix="plan.", dir=bench.work))
    servers, matrix = folder / "servers", folder / "mesh.yaml"
    servers.write_text("".join(f"h{i}\n" for i in range(HOSTS)))
    verbs = {"gen": ["--pps", "1k", "--device", "0000:01:00.0", "--data-net", "198.18.0.0/16",
                     "--output", matrix, servers],
             "check": ["--nic-gbps", "100", "--nic-mpps", "100", matrix]}
    rounds = []
    for _ in range(PLANS):
        matrix.unlink(missing_ok=True)
        rounds.append({verb: finish(folder, verb, *words) for verb, words in verbs.items()})
    note = []
    for verb in verbs:
        seconds = [r[verb][0] for r in rounds]
        note.append(f"{verb} {statistics.median(seconds):.3f} s ({min(seconds):.3f}-"
                    f"{max(seconds):.3f}), {max(r[verb][1] for r in rounds):.0f} MB")
    return {"unit": "s", "values": [sum(s for s, _ in r.values()) for r in rounds],
            "note": ", ".join(note), "raw": rounds}


def summary(bench, row):
    folder = Path(tempfile.mkdtemp(prefix="summary.", dir=bench.work))
    made, report = folder / "results", folder / "out"
    subprocess.run([generator, made, str(HOSTS), str(HOSTS - 1), "40", "1"], check=True,
                   stdout=subprocess.DEVNULL)
    size = sum(path.stat().st_size for path in made.glob("*/result.json")) / 1e6
    rounds = []
    for _ in range(PLANS):
        begin = time.monotonic()
        with report.open("w") as out:
            process = spawn(["taskset", "-c", str(max(os.sched_getaffinity(0))), program,
                             "summarize", "--no-collect", "--output", made, made / "matrix.yaml"],
                            folder, stdin=subprocess.DEVNULL, stdout=out)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in (0, 1, 4):
            raise Broken(f"pmx summarize: {last_lines(folder)}")
        rounds.append((time.monotonic() - begin, usage.ru_maxrss * 1024 / 1e6))
    shutil.rmtree(made)
    return {"unit": "s", "values": [seconds for seconds, _ in rounds],
            "note": f"{size:.0f} MB read, {max(mb for _, mb in rounds):.0f} MB at the peak",
            "raw": rounds}


# --- the agents

def links_batch():
    """A veth each, their other ends in one bridge. The kernel wants the PMD's fanout group, its PID
    xor the interface's index in 16 bits, for one interface only: indices this far apart keep the
    agents' groups apart while their PIDs lie within a step."""
    step = (1 << 16) // AGENTS
    yield "link add br0 type bridge mcast_snooping 0"
    yield "link set br0 up"
    for i in range(AGENTS):
        index = i * step + step // 2
        yield (f"link add data{i} index {index} type veth "
               f"peer name port{i} index {index + 1}")
        yield f"link set port{i} master br0 up"
        yield f"link set data{i} arp off up"


def command(*words, text=None):
    done = subprocess.run(words, input=text, capture_output=True, text=True)
    if done.returncode:
        raise Skipped(f"{' '.join(words)}: {done.stderr.strip()}")


def matrix_text(remote_dir):
    """JSON is YAML too."""
    names = [f"h{i}" for i in range(AGENTS)]
    return json.dumps({
        "pmx": 1, "transport": "local", "remote_dir": str(remote_dir),
        "defaults": {"driver": "af_packet", "hugepages": "no", "idle": "sleep"},
        "hosts": {name: {"device": f"data{i}", "addr": f"198.18.0.{i + 1}/24"}
                  for i, name in enumerate(names)},
        "traffic": {"pattern": "cells",
                    "cells": {a: {b: RATE} for a, b in zip(names[::2], names[1::2])}},
        "timing": {**{key: f"{s}s" for key, s in TIMING_S.items()}, "lease": "30s",
                   "resolve": "30s"}})


def stop(process):
    """Where it still runs: it stops its agents then."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def one_life(folder, netns):
    """Seconds by phase of one `pmx run`, less those of the traffic."""
    matrix, result = folder / "matrix.yaml", folder / "summary.json"
    matrix.write_text(matrix_text(folder / "agents"))
    ends, lines, begin = [], [], time.monotonic()
    marks = [mark for mark in PHASES.values() if mark]
    # not before other work: the agents' many threads would keep the kernel's from theirs
    process = spawn([program, "run", "--verbose", "--json", result, matrix], folder, netns=netns,
                    first=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                    text=True)
    limit = threading.Timer(RUN_S, process.terminate)
    limit.start()
    try:
        for line in process.stderr:
            lines.append(line.strip())
            if len(ends) < len(marks) and marks[len(ends)] in line:
                ends.append(time.monotonic())
        process.wait()
    finally:
        limit.cancel()
        stop(process)
    ends.append(time.monotonic())
    if process.returncode != 0 or len(ends) != len(PHASES):
        said = [line for line in lines if line.startswith("pmx: ")]
        raise Broken(" | ".join(said[-3:] or lines[-3:]))
    begins = [begin, *ends[:-1]]
    seconds = {name: end - start for name, start, end in zip(PHASES, begins, ends)}
    seconds["lead and collecting"] -= sum(TIMING_S.values())
    return seconds


def agents(bench, row):
    if os.geteuid() != 0:
        raise Skipped("network namespaces need root")
    netns = f"{SPACE}c"
    try:
        command("ip", "netns", "add", netns)
        command("ip", "netns", "exec", netns, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1",
                "net.ipv6.conf.default.disable_ipv6=1")
        command("ip", "-n", netns, "-batch", "-", text="\n".join(links_batch()))
        rounds = [one_life(Path(tempfile.mkdtemp(prefix="agents.", dir=bench.work)), netns)
                  for _ in range(RUNS)]
    finally:
        subprocess.run(["ip", "netns", "del", netns], capture_output=True)
    note = [f"{name} {statistics.median(r[name] for r in rounds):.2f}" for name in PHASES]
    return {"unit": "s", "values": [sum(r.values()) for r in rounds], "note": ", ".join(note),
            "raw": rounds}

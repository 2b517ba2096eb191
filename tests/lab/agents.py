"""Agents without pmx: host configs as the plan would write them, sessions over the agents' sockets.
For what pmx does not show (every trial, raw buckets) or cannot ask for (an agent that is its own
peer, other clocks)."""

import json
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

from harness import AGENT, PORT, until

READY_S = 20


def vdev_af_packet(queues=1):
    """As in drivers-config: slots of 2 KiB hold an MTU of 1500."""
    return (f"net_af_packet0,iface=data0,qpairs={queues},blocksz=8192,framesz=2048,framecnt=8192,"
            "qdisc_bypass=0")


def port(vdev, **changes):
    return {"vdev": vdev, "pci": "", "profile": "test", "unlink_path": "",
            "restart_until_link": False, "queues": 1, "rxd": 1024, "txd": 1024, "burst": 32,
            "mtu": 1500, "csum": "sw", "rss": "none", "rss_key": "", "single_file_segments": False,
            **changes}


def memif_ports(directory, ring_log2=12):
    """A cable between two agents of this machine: the server's end, the client's."""
    path = f"{directory}/memif.sock"
    return [port(f"net_memif0,role={role},id=0,bsize=2048,rsize={ring_log2},socket={path},"
                 "socket-abstract=no", burst=64, restart_until_link=role == "client",
                 unlink_path=path if role == "server" else "")
            for role in ("server", "client")]


def configs(names, flows, ports=None, request=18, reply=18, streams=1, warmup_s=0.0, duration_s=1.0,
            drain_s=2.0, **changes):
    """{name: host config}; flows is {(src, dst): rate}, a name's place gives its address."""
    place = {name: i for i, name in enumerate(names)}
    cpus = sorted(os.sched_getaffinity(0))
    tx_next, rx_next = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    made = {}
    for name, i in place.items():
        made[name] = {
            "version": 1, "host": name, "run_id": "truth", "cookie": 0x7a31, "host_index": i,
            "host_count": len(names), "port": ports[i] if ports else port(vdev_af_packet()),
            "hugepages": "auto", "memory_mb": 0, "idle": "sleep",
            "lcores": [cpus[i % len(cpus)]], "addr": address(i), "prefix_len": 24, "gateway": None,
            "udp_port": PORT, "stamp_each": False, "warmup_ns": int(warmup_s * 1e9),
            "duration_ns": int(duration_s * 1e9), "drain_ns": int(drain_s * 1e9),
            "interval_ns": 10 ** 9, "lease_ns": 20 * 10 ** 9, "resolve_ns": 10 ** 10,
            "tx": [], "rx": [], **changes}
    for (src, dst), rate in sorted(flows.items()):
        both = {"req_bytes": request, "rep_bytes": reply, "streams": streams,
                "sport_first": 49152}
        made[src]["tx"].append({"peer": dst, "peer_addr": address(place[dst]), **both,
                                "rate_pps": rate, "window": 0, "tx_first": tx_next[src],
                                "peer_rx_first": rx_next[dst]})
        made[dst]["rx"].append({"peer": src, "peer_addr": address(place[src]), **both,
                                "rx_first": rx_next[dst], "peer_tx_first": tx_next[src]})
        tx_next[src] += streams
        rx_next[dst] += streams
    return made


def address(place):
    return f"198.18.0.{place + 1}"


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
        return self.arm().finish(seconds + 20)

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
    """Middle of the bucket in which the nearest rank lies."""
    count = sum(buckets.values())
    rank = max(1, -(-count * percent // 100))
    for index in sorted(buckets):
        rank -= buckets[index]
        if rank <= 0:
            lower, upper = bucket_bounds(index)
            return (lower + upper) / 2
    raise ValueError("empty histogram")

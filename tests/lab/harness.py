"""What the lab tests stand on: the lab (scripts/lab), pmx as a process, captures, and polling.

PMX_BUILD names the build directory whose binaries are tested (default: build/ of the tree).
"""

import contextlib
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("PMX_BUILD", ROOT / "build")).resolve()
PMX = BUILD / "app/pmx/pmx"
AGENT = BUILD / "app/agent/pmx-agent"
LAB = ROOT / "scripts/lab"
PORT = 5300  # the matrix's default
SIGNAL_LIMIT_S = 2  # within which agents stop
LATE_MAX_S = 0.1    # the rings of the lab's drivers hold more


def sanitized():
    options = json.loads((BUILD / "meson-info/intro-buildoptions.json").read_text())
    return any(o["name"] == "b_sanitize" and o["value"] != "none" for o in options)


def until(condition, deadline_s, what):
    """Polls until the condition is true and returns its value; fails the test at the deadline."""
    end = time.monotonic() + deadline_s
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"not within {deadline_s} s: {what}"
        time.sleep(0.05)


@contextlib.contextmanager
def lab_lock(name, deadline_s=1200):
    """One test run at a time has the lab. An abstract socket leaves no file, and nothing held when
    its process is killed."""
    with socket.socket(socket.AF_UNIX) as lock:
        def taken():
            try:
                lock.bind(f"\0{name}-lab-tests")
                return True
            except OSError:
                return False
        until(taken, deadline_s, f"another test run has the lab {name}: set PMX_LAB_ID")
        yield


class Process:
    """A pmx process in a session of its own, without terminal or input. Output goes to files: no
    pipe of the test's can hold it up."""

    def __init__(self, *args, env=None, program=PMX, cwd=None):
        self.args = [str(program), *map(str, args)]
        self.files = [tempfile.TemporaryFile(), tempfile.TemporaryFile()]
        self.process = subprocess.Popen(
            self.args, stdin=subprocess.DEVNULL, stdout=self.files[0], stderr=self.files[1],
            start_new_session=True, cwd=cwd, env={**os.environ, **(env or {})})
        self.rss_kib = 0

    def _text(self, file):
        return os.pread(file.fileno(), 64 << 20, 0).decode("utf-8", "replace")

    @property
    def out(self):
        return self._text(self.files[0])

    @property
    def err(self):
        return self._text(self.files[1])

    @property
    def code(self):
        return self.process.returncode

    def kill(self, sig):
        self.process.send_signal(sig)

    def running(self):
        return self.process.returncode is None and self._reap(os.WNOHANG) is None

    def _reap(self, flags):
        # not ru_maxrss: that begins with what the test's own process had at the fork
        peak = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{self.process.pid}/status").read_text())
        self.rss_kib = max(self.rss_kib, int(peak[1]) if peak else 0)
        pid, status = os.waitpid(self.process.pid, flags)
        if pid == 0:
            return None
        self.process.returncode = os.waitstatus_to_exitcode(status)
        return self.process.returncode

    def wait(self, deadline_s=60):
        end = time.monotonic() + deadline_s
        while self.running():
            if time.monotonic() > end:
                self.end()
                raise AssertionError(f"not done within {deadline_s} s: {self}")
            time.sleep(0.02)
        return self

    def end(self):
        """Whatever is left of the session, pmx's local agents too."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        if self.process.returncode is None:
            self._reap(0)

    def expect(self, *codes):
        assert self.code in codes, f"exit {self.code}, expected {codes}: {self}"
        return self

    @property
    def json(self):
        try:
            return json.loads(self.out)
        except ValueError as error:
            raise AssertionError(f"no JSON ({error}): {self}") from None

    def __str__(self):
        return (f"{shlex.join(self.args)}\nexit {self.code}\n--- stdout\n{self.out[-6000:]}"
                f"\n--- stderr\n{self.err[-6000:]}")


def pmx(*args, deadline_s=120, **kwargs):
    process = Process(*args, **kwargs)
    try:
        return process.wait(deadline_s)
    finally:
        process.end()


def calm(deadline_s=30):
    """Waits a while for others to leave this machine's CPUs alone."""
    end, quiet = time.monotonic() + deadline_s, 0
    while quiet < 20 and time.monotonic() < end:
        runnable = int(Path("/proc/loadavg").read_text().split()[3].split("/")[0])
        quiet = quiet + 1 if runnable <= os.cpu_count() else 0
        time.sleep(0.1)


def measure(matrix, *options, before=lambda: None, codes=(0,), tries=6, **kwargs):
    """The summary of a run that went well. A trial in which an agent was kept from its CPU is invalid,
    whatever it counted, and made again: the schedule's lateness says so, not the loss."""
    for _ in range(tries):
        before()
        summary = pmx("run", matrix, "--json", "-", *options, **kwargs).expect(*codes).json
        late = [host["lateness_max_us"] or 0 for host in summary["hosts"]]
        if summary["totals"]["unsent"] == 0 and max(late) < 1e6 * LATE_MAX_S:
            break
        calm()
    return summary


class Lab:
    """The lab of PMX_LAB_ID, and what pmx leaves on its hosts."""

    def __init__(self):
        ident = os.environ.setdefault("PMX_LAB_ID", "2")
        self.name = {"0": "pmx", "1": "pmx1", "2": "pmx2"}[ident]
        self.dir = Path(os.environ.get("PMX_LAB_DIR", f"/run/{self.name}-lab"))
        self.shape = None

    def call(self, *args, check=True, deadline_s=60):
        done = subprocess.run([str(LAB), *map(str, args)], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=deadline_s)
        assert not check or done.returncode == 0, f"lab {args}: {done.stdout}{done.stderr}"
        return done

    def ensure(self, hosts=3, queues=4):
        """Up with this shape and without faults; as it is, if it is so already."""
        if self.shape == (hosts, queues) and (self.dir / "hosts").exists():
            self.call("fault", "clear")
            self.call("capture", "stop")
            self.call("forwarder", "stop")
            return self
        self.call("up", hosts, "--queues", queues)
        self.shape = (hosts, queues)
        return self

    def down(self):
        self.shape = None
        return self.call("down")

    @property
    def hosts(self):
        return (self.dir / "hosts").read_text().split()

    def exec(self, host, *command, check=True):
        return self.call("exec", host, *command, check=check).stdout

    def sh(self, host, script):
        return self.exec(host, "sh", "-c", script)

    # what runs and stands on a host

    def agents(self, host):
        """PIDs (of the host) of every process that runs a file called pmx-agent."""
        found = self.sh(host, "for p in /proc/[0-9]*; do"
                              " case $(readlink $p/exe) in */pmx-agent*) echo ${p#/proc/};; esac;"
                              " done; true")
        return [int(pid) for pid in found.split()]

    def all_agents(self):
        return {host: pids for host in self.hosts if (pids := self.agents(host))}

    def tidy(self):
        """Ends agents that a failed test left, and removes what they wrote."""
        for host in self.hosts:
            self.sh(host, "for p in /proc/[0-9]*; do"
                          " case $(readlink $p/exe) in */pmx-agent*) kill -9 ${p#/proc/};; esac;"
                          " done; rm -rf /var/tmp/pmx; true")

    def file(self, host, path):
        return self.exec(host, "cat", path)

    def exists(self, host, path):
        return self.call("exec", host, "test", "-e", path, check=False).returncode == 0

    # matrices

    def matrix(self, **words):
        """The lab's own matrix as a tree; the words of `lab matrix`: rate, request, ..."""
        return yaml.safe_load(self.call("matrix", *[f"{k}={v}" for k, v in words.items()]).stdout)

    # faults

    def fault(self, *args):
        self.call("fault", *args)

    def counters(self):
        """{words of the rule: packets}"""
        lines = self.call("fault", "counters").stdout.splitlines()
        return {words: int(packets) for words, packets in (line.rsplit(": ", 1) for line in lines)}

    def counter(self):
        (packets,) = self.counters().values()
        return packets

    # captures

    def capture(self, *hosts):
        self.call("capture", "start", *hosts)

    def captured(self):
        """{host: Capture of what its data link sent into the fabric}, complete or the test fails."""
        found = {}
        for line in self.call("capture", "stop").stdout.splitlines():
            host, file, packets, missed = line.split()
            assert int(missed) == 0, f"tcpdump on {host} missed {missed} packets"
            found[host] = Capture(Path(file), int(packets))
        return found

    # a forwarder in a host's link, and the kernel's counters of the links

    def forwarder(self, host, *options):
        self.call("forwarder", "start", host, *options)

    def forwarded(self):
        """{host: (what its forwarder did from the host to the fabric, from the fabric to it)}"""
        done = self.call("forwarder", "stop")
        found = {}
        for line in done.stdout.splitlines():
            host, text = line.split(" ", 1)
            found[host] = tuple(json.loads(text))
            for way in found[host]:
                assert way["drops"] == 0, way
                assert way["forwarded"] == way["received"] + way["duplicated"], way
        return found

    def link_packets(self):
        """{host: (frames from it, frames to it)}, as the fabric's interfaces counted."""
        links = json.loads(self.exec("fabric", "ip", "-j", "-s", "link"))
        stats = {link["ifname"]: link["stats64"] for link in links}
        return {host: (stats[host]["rx"]["packets"], stats[host]["tx"]["packets"])
                for host in self.hosts}


class Capture:
    def __init__(self, path, packets):
        self.path, self.packets = path, packets

    def fields(self, display_filter, *names):
        """One tuple a frame, checksums verified."""
        command = ["tshark", "-n", "-r", self.path, "-o", "ip.check_checksum:TRUE",
                   "-o", "udp.check_checksum:TRUE", "-d", f"udp.port=={PORT},data",
                   "-Y", display_filter, "-T", "fields"]  # no protocol is guessed from a payload
        for name in names:
            command += ["-e", name]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=300)
        assert done.returncode == 0, done.stderr
        return [tuple(line.split("\t")) for line in done.stdout.splitlines()]

    def udp(self):
        """Counter of (from, to, "request" or "reply", frame bytes without FCS), all checksums seen
        to be good."""
        frames = Counter()
        names = ["ip.src", "ip.dst", "udp.dstport", "udp.srcport", "frame.len",
                 "ip.checksum.status", "udp.checksum.status"]
        for src, dst, dport, sport, size, ip_good, udp_good in self.fields("udp", *names):
            assert (ip_good, udp_good) == ("1", "1"), f"{self.path}: bad checksum {src} -> {dst}"
            kind = "request" if dport == str(PORT) else "reply"
            assert kind == "request" or sport == str(PORT)
            frames[src, dst, kind, int(size)] += 1
        return frames


def flow(summary, src, dst):
    (found,) = [f for f in summary["flows"] if (f["src"], f["dst"]) == (src, dst)]
    return found


def host_row(summary, host):
    (found,) = [h for h in summary["hosts"] if h["host"] == host]
    return found


def assert_identity(f, lossless=True):
    """The accounting of one flow or of the totals, to the packet."""
    assert f["sent"] > 0
    assert f["sent"] == f["delivered"] + f["lost_forward"]
    assert f["delivered"] == f["replied"] + f["reply_unsent"]
    assert f["replied"] == f["returned"] + f["lost_back"]
    if lossless:
        assert f["sent"] == f["delivered"] == f["replied"] == f["returned"], f


def same_number(text, *labels):
    """The number that stands behind every label of a line; fails when they differ."""
    numbers = {re.search(rf"{label} ([\d,]+)", text)[1] for label in labels}
    assert len(numbers) == 1, text
    return int(numbers.pop().replace(",", ""))

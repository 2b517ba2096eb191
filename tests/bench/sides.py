"""The two sides of a comparison, as processes that share their cores: while one is measured, the
other does not run. A window is what one of them did in about half a second."""

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

SETTLE_S = 0.05  # after a side got the core back, before its window begins
NICE = -20  # of what is measured, where allowed: others' work disturbs both sides less
ALL_CPUS = os.sched_getaffinity(0)  # at the start: scripts/bench then keeps to one of them
STOPPERS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
RINGS = ["--burst=32", "--rxd=1024", "--txd=1024"]

spawned = []


class Broken(Exception):
    """A side did not do what it was told: its last lines say why."""


class Skipped(Exception):
    """This row cannot be measured here, and why."""


def cpus():
    """(CPU of what is measured, CPU for all else); the same one where there is only one."""
    return max(ALL_CPUS), min(ALL_CPUS)


def be_first():
    """In a new process: all CPUs, and before the machine's other work."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPERS)
    os.sched_setaffinity(0, ALL_CPUS)
    os.setsid()  # nice counts within a session's group of the scheduler, and for the group
    try:
        os.setpriority(os.PRIO_PROCESS, 0, NICE)
        Path("/proc/self/autogroup").write_text(str(NICE))
    except OSError:
        pass


def be_apart():
    """In a new process: all CPUs."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPERS)
    os.sched_setaffinity(0, ALL_CPUS)
    os.setsid()


def spawn(command, folder, netns=None, first=True, **kwargs):
    """Starts a process with its own runtime folder; what it says is in folder/log unless asked for.
    With `first` it goes before the machine's other work."""
    if netns:
        command = ["ip", "netns", "exec", netns, *command]

    log = open(Path(folder) / "log", "ab")
    env = {**os.environ, "RUNTIME_DIRECTORY": str(folder)}
    kwargs.setdefault("stdin", subprocess.PIPE)
    kwargs.setdefault("stdout", log)
    kwargs.setdefault("stderr", log)
    with log:
        # a signal that comes meanwhile waits until the process is on the list
        signals = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPERS)
        try:
            spawned.append(subprocess.Popen(list(map(str, command)), env=env,
                                            preexec_fn=be_first if first else be_apart, **kwargs))
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, signals)
    return spawned[-1]


def end_all():
    """Ends what is left when a run was cut short."""
    for process in spawned:
        if process.poll() is None:
            process.kill()
            process.wait()


def last_lines(folder, count=3):
    text = (Path(folder) / "log").read_text(errors="replace").strip()
    return " | ".join(text.splitlines()[-count:])


def until(condition, deadline_s, what):
    end = time.monotonic() + deadline_s
    while not (value := condition()):
        if time.monotonic() > end:
            raise Broken(f"not within {deadline_s} s: {what}")
        time.sleep(0.02)
    return value


class Side:
    """A process and its folder under `work`."""

    def __init__(self, work, name):
        self.folder = Path(tempfile.mkdtemp(prefix=f"{name}.", dir=work))
        self.process = None

    def signal(self, number):
        if self.process and self.process.poll() is None:
            self.process.send_signal(number)

    def close(self):
        if not self.process:
            return
        self.signal(signal.SIGCONT)
        try:
            self.process.stdin.close()
        except (AttributeError, BrokenPipeError):
            pass
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Hotpath(Side):
    """The agent's loop over net_null: tests/bench/hotpath.c. Rests between windows by itself."""

    program = None  # set by scripts/bench

    def __init__(self, work, kind, wrapper=(), **options):
        super().__init__(work, f"hotpath-{kind}")
        options.setdefault("cpu", cpus()[0])
        words = [f"{key}={value}" for key, value in options.items()]
        self.process = spawn([*wrapper, self.program, self.folder, kind, *words], self.folder,
                             stdout=subprocess.PIPE, text=True)
        self.tsc_hz = self._answer()["tsc_hz"]

    def _answer(self):
        line = self.process.stdout.readline()
        answer = json.loads(line) if line else {"error": last_lines(self.folder)}
        if "error" in answer:
            raise Broken(answer["error"])
        if answer.get("strays"):
            raise Broken(f"{answer['strays']} frames went astray")
        return answer

    def ask(self, command, value):
        self.process.stdin.write(f"{command} {value}\n")
        self.process.stdin.flush()
        return self._answer()

    def window(self, seconds):
        self.ask("run", SETTLE_S)
        a = self.ask("run", seconds)
        return {"rate": a["pps"], "share": a["cpu_s"] / a["wall_s"], "alloc": a["alloc_cycles"]}


class Testpmd(Side):
    """Debian's dpdk-testpmd, stopped by signal between windows and counted by its telemetry."""

    def __init__(self, work, vdev, forward, words=(), first=None, frame_bytes=60, cpu=None,
                 netns=None, eal=(), counter="opackets"):
        super().__init__(work, f"testpmd-{forward}")
        if not shutil.which("dpdk-testpmd"):
            raise Skipped("no dpdk-testpmd: run  scripts/install bench")
        core, rest = cpus()
        self.counter = counter
        self.first, self.forward = first, forward
        self.process = spawn(
            ["dpdk-testpmd", "--lcores", f"0@{rest},1@{core if cpu is None else cpu}",
             "--in-memory", "--no-pci", "--iova-mode=va", "--file-prefix", "p", "--vdev", vdev,
             *eal, "--", "-i", "--nb-cores=1", *RINGS, f"--txpkts={frame_bytes}",
             "--total-num-mbufs=16384", *words],
            self.folder, netns=netns, text=True)
        self.clock = (~self.process.pid << 3) | 2  # its CPU time: clock_getcpuclockid(3)

    def up(self):
        """Waits until its port is there; ready to start."""
        self._connect(self.folder / "dpdk/p/dpdk_telemetry.v2")
        if self.first:  # leaves its frames in the mbufs
            self.say(f"set fwd {self.first}", "start")
            until(lambda: self.count() > 100_000, 10, f"testpmd {self.first} sends")
            self.say("stop")
        self.say(f"set fwd {self.forward}")
        return self

    def _connect(self, path):
        def attempt():
            if self.process.poll() is not None:
                raise Broken(f"testpmd ended: {last_lines(self.folder)}")
            link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            link.settimeout(10)
            try:
                link.connect(str(path))
                return link
            except OSError:  # not there yet, or bound and not yet listening
                link.close()
                return None

        self.telemetry = until(attempt, 30, "testpmd starts")
        self.telemetry.recv(4096)
        log = self.folder / "log"
        until(lambda: "testpmd>" in log.read_text(errors="replace"), 30, "testpmd's prompt")

    def _ask(self, what):
        self.telemetry.send(what.encode())
        return json.loads(self.telemetry.recv(1 << 16))[what.split(",")[0]]

    def count(self):
        return self._ask("/ethdev/stats,0")[self.counter]

    def linked(self):
        return self._ask("/ethdev/link_status,0")["status"] == "UP"

    def say(self, *lines):
        self.process.stdin.write("".join(f"{line}\n" for line in lines))
        self.process.stdin.flush()

    def start(self):
        self.say("start")
        return self

    def read(self):
        """(packets, seconds, CPU seconds)"""
        before = time.perf_counter()
        packets = self.count()
        return packets, (before + time.perf_counter()) / 2, time.clock_gettime(self.clock)

    def pause(self):
        self.signal(signal.SIGSTOP)

    def resume(self):
        self.signal(signal.SIGCONT)

    def window(self, seconds):
        self.resume()
        time.sleep(SETTLE_S)
        a = self.read()
        time.sleep(seconds)
        b = self.read()
        self.pause()
        return {"rate": (b[0] - a[0]) / (b[2] - a[2]), "share": (b[2] - a[2]) / (b[1] - a[1])}

    def close(self):
        self.resume()
        if self.process.poll() is None:
            try:
                self.say("stop", "quit")
            except BrokenPipeError:
                pass
        super().close()


def alternate(side, peer, pairs, seconds):
    """Windows peer, side, peer, side, ..., peer: each of the side's with its ratio to the mean of
    the peer's two around it, which cancels a drift."""
    rows, before = [], peer.window(seconds)
    for _ in range(pairs):
        own = side.window(seconds)
        after = peer.window(seconds)
        rows.append({**own, "peer": (before["rate"] + after["rate"]) / 2,
                     "peer_share": min(before["share"], after["share"])})
        rows[-1]["ratio"] = own["rate"] / rows[-1]["peer"]
        before = after
    return rows

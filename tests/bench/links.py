"""Two processes, requester and responder, one core each: two agents, or testpmd flowgen and 5tswap,
over the same kind of link."""

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import sides
from sides import Broken, Skipped, Testpmd, spawn, until

ROOT = Path(__file__).resolve().parents[2]
HEADER_BYTES = 46  # Ethernet, IPv4, UDP and FCS: a frame less its payload
FAR_CYCLES = 600  # a cache line's round trip beyond it is "far"
SPACE = f"pmxbench{os.getpid()}"  # prefix of network namespaces


def distance(probe):
    """Cycles of a cache line's round trip between the two cores."""
    core, rest = sides.cpus()
    done = subprocess.run([probe, str(rest), str(core)], capture_output=True, text=True, timeout=20,
                          preexec_fn=sides.be_first)
    return float(done.stdout)


def label(before, after):
    """near or far; None when it changed in between."""
    far = [x > FAR_CYCLES for x in (before, after)]
    return None if far[0] != far[1] else "far" if far[0] else "near"


class Memif:
    """Two processes on a socket; both links of a comparison exist at once, in their own folders."""

    name = "memif"
    client_restarts = True  # it connects when its port starts, and never again
    server_blocks = False  # until the client is there
    single_file = False  # memory that the other process can map
    concurrent = True

    def devices(self, folder):
        words = f"id=0,bsize=2048,rsize=10,socket={folder}/memif.sock,socket-abstract=no"
        return [f"net_memif0,role=server,{words}", f"net_memif0,role=client,{words}"]

    def open(self):
        pass

    def close(self):
        pass

    def netns(self, end):
        return None


class Vhost(Memif):
    name, client_restarts, server_blocks, single_file = "vhost", False, True, True

    def devices(self, folder):
        path = f"{folder}/vhost.sock"
        return [f"net_virtio_user0,path={path},server=1,queues=1,queue_size=1024,packed_vq=1",
                f"net_vhost0,iface={path},queues=1,client=1"]


class Veth(Memif):
    """A veth pair between two namespaces of our own; both sides of a comparison use the same
    devices, so only one of them exists at a time."""

    client_restarts, concurrent = False, False

    def __init__(self, pmd):
        self.name = f"veth {pmd}"
        self.pmd = pmd

    def devices(self, folder):
        if self.pmd == "af_xdp":
            return ["net_af_xdp0,iface=data0,start_queue=0,queue_count=1"] * 2
        return ["net_af_packet0,iface=data0,qpairs=1,blocksz=8192,framesz=2048,framecnt=8192,"
                "qdisc_bypass=0"] * 2

    def netns(self, end):
        return f"{SPACE}{'ab'[end]}"

    def open(self):
        if os.geteuid() != 0:
            raise Skipped("network namespaces need root")
        for end in range(2):
            self._run("ip", "netns", "add", self.netns(end))
        self._run("ip", "link", "add", "data0", "netns", self.netns(0), "type", "veth", "peer",
                  "name", "data0", "netns", self.netns(1))
        for end in range(2):
            inside = ["ip", "netns", "exec", self.netns(end)]
            self._run(*inside, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1")
            self._run(*inside, "ip", "link", "set", "data0", "arp", "off", "up")
            # The kernel routes, in vain, what comes for the device's own address, as the agents'
            # frames do and flowgen's do not: it drops both behind AF_PACKET's tap.
            self._run(*inside, "nft", "table netdev bench { chain unwanted { type filter hook ingress "
                      "device data0 priority 0; policy drop; }; }")
            for key, value in ("napi_defer_hard_irqs", 2), ("gro_flush_timeout", 200000):
                self._run(*inside, "sh", "-c", f"echo {value} >/sys/class/net/data0/{key}")

    def close(self):
        for end in range(2):
            subprocess.run(["ip", "netns", "del", self.netns(end)], capture_output=True)

    @staticmethod
    def _run(*command):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise Skipped(f"{' '.join(command)}: {done.stderr.strip()}")


class Agent:
    """One pmx-agent in its own folder, spoken to through its socket."""

    program = None  # set by scripts/bench

    def __init__(self, folder, config, netns):
        self.folder = Path(folder)
        self.folder.mkdir()
        (self.folder / "host.json").write_text(json.dumps(config))
        self.stream = None
        self.process = spawn([self.program, "run", "--dir", self.folder], self.folder, netns=netns,
                             stdin=subprocess.DEVNULL)

    def up(self):
        def attempt():
            if self.process.poll() is not None:
                raise Broken(f"agent ended: {sides.last_lines(self.folder, 1)}")
            link = socket.socket(socket.AF_UNIX)
            try:
                link.connect(str(self.folder / "agent.sock"))
                return link.makefile("rw")
            except OSError:
                return None

        self.stream = until(attempt, 20, "the agent listens")
        return self

    def call(self, cmd, **words):
        self.stream.write(json.dumps({"cmd": cmd, **words}) + "\n")
        self.stream.flush()
        answer = json.loads(self.stream.readline())
        if not answer["ok"]:
            raise Broken(answer["error"])
        return answer

    def state(self):
        return self.call("status")["state"]

    def result(self):
        return self.call("result")["result"]

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


class Pair:
    """What two processes of an exchange have in common: both run in a window and rest otherwise."""

    def __init__(self, work, link):
        self.folder = Path(tempfile.mkdtemp(prefix="exchange.", dir=work))
        self.link, self.ends = link, []

    def open(self, make):
        """make(0) and make(1), the server first."""
        for end in range(2):
            self.ends.append(make(end))
            if not self.link.server_blocks:
                self.ends[end].up()
        for end in self.ends if self.link.server_blocks else []:
            end.up()

    def signal(self, number):
        for end in self.ends:
            end.process.send_signal(number)

    def window(self, seconds):
        self.signal(signal.SIGCONT)
        time.sleep(sides.SETTLE_S)
        a = self.read()
        time.sleep(seconds)
        b = self.read()
        self.signal(signal.SIGSTOP)
        return {"rate": (b[0] - a[0]) / (b[1] - a[1])}

    def close(self):
        for end in reversed(self.ends):
            end.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class AgentPair(Pair):
    """Agent a asks agent b, unpaced; a window's rate is the replies that a got back."""

    def __init__(self, work, link, frame_bytes=64, streams=1024, window=0, seconds=120):
        super().__init__(work, link)
        size = frame_bytes - HEADER_BYTES
        self.flow = {"req_bytes": size, "rep_bytes": size, "streams": streams,
                     "sport_first": 65536 - streams}
        try:
            self.open(lambda end: Agent(self.folder / "ab"[end],
                                        self._config(end, window, seconds), link.netns(end)))
            self.start()
        except BaseException:
            self.close()
            raise

    def _config(self, end, window, seconds):
        """A host config: the unit tests' golden one has every key."""
        config = json.loads((ROOT / "tests/data/lib/hostcfg.json").read_text())
        peer = {**self.flow, "peer": "ba"[end], "peer_addr": f"198.18.0.{2 - end}"}
        peer.update(dscp=0, layer=0, peer_steer=0)
        tx = {**config["tx"][0], **peer, "rate_pps": "max", "window": window, "tx_first": 0,
              "peer_rx_first": 0}
        rx = {**config["rx"][0], **peer, "rx_first": 0, "peer_tx_first": 0, "peer_sources": 1}
        config.update(src_addr=None, src_count=0, lcores_taken=[], lcores_before=0)
        config.update(layers=0, dwell_ns=0, vlan=[], pcp=0, ttl=64, steer=[])
        config["port"].update(
            vdev=self.link.devices(self.folder)[end], profile=self.link.name, unlink_path="",
            all_queues_of="",
            restart_until_link=end == 1 and self.link.client_restarts, queues=1, rxd=1024, txd=1024,
            mtu=1500, csum="sw", rss="none", rss_key="", steering="none", single_file_segments=self.link.single_file)
        config.update(
            host="ab"[end], host_index=end, host_count=2, hugepages="auto", memory_mb=0,
            idle="spin", lcores=[sides.cpus()[1 - end]], addr=f"198.18.0.{end + 1}", gateway=None,
            warmup_ns=0, duration_ns=int(seconds * 1e9), drain_ns=500_000_000, interval_ns=0,
            lease_ns=int(1e12), resolve_ns=int(1e10),
            tx=[tx] if end == 0 else [], rx=[rx] if end == 1 else [])
        return config

    def start(self):
        until(lambda: all(e.state() == "ready" for e in self.ends), 20, "both agents are ready")
        at = self.ends[0].call("time")["mono_ns"] + 500_000_000
        for end in self.ends:
            end.call("arm", start_ns=at)
        until(lambda: self.ends[0].state() == "running", 5, "the agents run")
        time.sleep(0.3)
        self.signal(signal.SIGSTOP)

    def read(self):
        before = time.perf_counter()
        trials = self.ends[0].result()["tx"][0]["trials"]
        return trials[-1]["returned"], (before + time.perf_counter()) / 2

    def finish(self):
        """Stops, drains, and returns the exact counts of the whole exchange."""
        self.signal(signal.SIGCONT)
        self.ends[0].call("stop", at_ns=0)
        self.ends[1].call("stop", at_ns=0)
        until(lambda: all(e.state() == "done" for e in self.ends), 10, "the agents are done")
        tx = self.ends[0].result()["tx"][0]["trials"][-1]
        rx = self.ends[1].result()["rx"][0]["trials"][-1]
        return {"sent": tx["sent"], "delivered": rx["delivered"], "replied": rx["replied"],
                "returned": tx["returned"]}


class TestpmdPair(Pair):
    """Testpmd a generates flows and counts what comes back, b swaps. With one_in_flight both
    forward the only frame."""

    def __init__(self, work, link, frame_bytes=64, one_in_flight=False):
        super().__init__(work, link)
        eal = ["--single-file-segments"] if link.single_file else []
        forward = ("io", "io") if one_in_flight else ("flowgen", "5tswap")
        words = ["--no-flush-rx"] if one_in_flight else ["--flowgen-flows=1024"]
        try:
            self.open(lambda end: Testpmd(
                self.folder, link.devices(self.folder)[end], forward[end], words,
                frame_bytes=frame_bytes - 4, cpu=sides.cpus()[1 - end], netns=link.netns(end),
                eal=eal, counter="ipackets"))
            until(lambda: all(e.linked() for e in self.ends), 20, "testpmd has its link")
            if one_in_flight:
                # memif's client owns the buffers of both rings: it can send at once, but its peer
                # must wait for the client's first poll
                self.ends[0].say("set fwd io retry", "set burst tx delay 10 retry 100000", "start")
                self.ends[1].say("set burst 1", "start tx_first 1")
            else:
                self.ends[1].start()
                self.ends[0].start()
            until(lambda: self.ends[0].count() > 0, 20, "a frame comes back to testpmd")
            time.sleep(0.2)
            self.signal(signal.SIGSTOP)
        except BaseException:
            self.close()
            raise

    def read(self):
        return self.ends[0].read()[:2]

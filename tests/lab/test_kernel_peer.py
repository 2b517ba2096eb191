"""A peer that is no agent: plain UDP sockets of a kernel, and the wire format as the manual has it.
What its kernel takes is right in every length and checksum."""

import contextlib
import copy
import json
from pathlib import Path

import pytest

import agents
from harness import LAB, Process, until

# By MTU; in fragments beyond it, of which there are eight at most.
SIZES = {1500: [18, 19, 64, 512, 1452, 1472, 1473, 8972, 9000], 9000: [18, 8952, 8972, 9000, 65507]}
RATE = 10
DURATION_S = 2
BAD_COUNTS = {"cookie": 1, "malformed": 3, "stream": 2}  # of kernel_peer.py's ask_wrongly


def grown(made, pairs):
    """The one flow each way becomes one for each pair of sizes, to peers of the same address."""
    for a, b in (("h1", "h2"), ("h2", "h1")):
        (tx,), (rx,) = made[a]["tx"], made[b]["rx"]
        made[a]["tx"], made[b]["rx"] = [], []
        for i, (request, reply) in enumerate(pairs):
            both = {"req_bytes": request, "rep_bytes": reply, "peer_steer": 0,
                    "sport_first": tx["sport_first"] + i}
            made[a]["tx"].append({**copy.deepcopy(tx), **both, "peer": f"{b}-{i}", "tx_first": i,
                                  "peer_rx_first": i})
            made[b]["rx"].append({**copy.deepcopy(rx), **both, "peer": f"{a}-{i}", "rx_first": i,
                                  "peer_tx_first": i})
    return made


def of_version(made, version):
    if version == 6:
        for config in made.values():
            config.update(addr=six(config["addr"]), prefix_len=64)
            for flow in config["tx"] + config["rx"]:
                flow["peer_addr"] = six(flow["peer_addr"])
    return made


def six(addr):
    return f"2001:2::{addr.split('.')[-1]}"


@contextlib.contextmanager
def kernel(lab, host, config):
    """The host's kernel has the data port, and its address."""
    version = 6 if ":" in config["addr"] else 4
    off = f"sysctl -qw net.ipv6.conf.data0.disable_ipv6={int(version == 4)}"
    nodad = "nodad" if version == 6 else ""
    try:
        lab.sh(host, f"{off} net.ipv6.conf.data0.accept_dad=0 && ip link set data0 arp on &&"
                     f" ip addr add {config['addr']}/{config['prefix_len']} dev data0 {nodad}")
        yield
    finally:
        lab.sh(host, "ip addr flush dev data0; ip link set data0 arp off;"
                     " sysctl -qw net.ipv6.conf.data0.disable_ipv6=1")


def bad_checksums(lab, host):
    """Of UDP, as the host's kernel counted."""
    four = lab.sh(host, "grep '^Udp:' /proc/net/snmp").split("\n")
    table = dict(zip(four[0].split(), four[1].split()))
    six_ = dict(line.split() for line in lab.file(host, "/proc/net/snmp6").splitlines())
    return int(table["InCsumErrors"]) + int(six_["Udp6InCsumErrors"])


@pytest.fixture(params=SIZES)
def mtu(request, lab):
    def set_mtu(mtu):
        for host in ("h1", "h2"):
            lab.sh(host, f"ip link set data0 mtu {mtu}")
            lab.sh("fabric", f"ip link set {host} mtu {mtu}")
    set_mtu(request.param)
    yield request.param
    set_mtu(1500)


@pytest.mark.parametrize("version", [4, 6])
def test_kernel_peer(lab, fleet, tmp_path, version, mtu):
    small, *larger = SIZES[mtu]
    pairs = [(s, s) for s in SIZES[mtu]] + [(small, s) for s in larger] + [(s, small) for s in larger]
    made = agents.configs(("h1", "h2"), {("h1", "h2"): RATE, ("h2", "h1"): RATE},
                          request=larger[-1], reply=larger[-1], duration_s=DURATION_S,
                          defaults={"mtu": mtu})
    made = of_version(grown(made, pairs), version)
    here, there = made["h1"], made["h2"]
    (tmp_path / "peer.json").write_text(json.dumps(there))
    script = Path(__file__).with_name("kernel_peer.py")
    with kernel(lab, "h2", there):
        before = bad_checksums(lab, "h2")
        peer = Process("exec", "h2", "python3", script, tmp_path / "peer.json", DURATION_S + 1,
                       program=LAB)
        try:
            until(lambda: peer.out == "ready\n" or not peer.running(), 20, "the peer is ready")
            assert peer.out == "ready\n", str(peer)
            agent = fleet({"h1": here}).run()["h1"]
            told = json.loads(peer.wait(60).expect(0).out.splitlines()[1])
        finally:
            peer.end()
        assert bad_checksums(lab, "h2") == before
    assert told["wrong"] == []
    # of IPv6 the kernel looks for routers and joins groups
    others = {"l2": agent["drop"]["l2"]} if version == 6 else {}
    assert agent["drop"] == {**dict.fromkeys(agent["drop"], 0), **BAD_COUNTS, **others}
    both = {"h1": agent, "h2": told}
    for tx, rx, count in (("h1", "h2", RATE * DURATION_S), ("h2", "h1", None)):
        for i, pair in enumerate(pairs):
            (asked,) = both[tx]["tx"][i]["trials"]
            (answered,) = both[rx]["rx"][i]["trials"]
            assert asked["sent"] > 10 and count in (None, asked["sent"]), pair
            assert asked["sent"] == answered["delivered"] == answered["replied"] == \
                asked["returned"], (tx, pair, asked, answered)
            assert answered["dup"] == asked["dup"] == 0

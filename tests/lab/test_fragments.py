"""Payloads from 18 to 65,507 bytes: one frame within the MTU, fragments above it. tshark, which puts
them together by itself, decodes every frame; every datagram is accounted for.

IPv4 comes to the agent whole, because the kernel puts fragments together for AF_PACKET's sockets;
IPv6 does not."""

from collections import defaultdict

import pytest

from agents import accounts, planned
from harness import PORT, assert_identity, flow, host_row, measure, pmx

SIZES = [18, 19, 64, 512, 1472, 1473, 8972, 9000, 65507]
MTU = 9000
RATE = 20
VLAN = 100


@pytest.fixture
def jumbo(lab):
    """Links of MTU 9000 for the time of a test."""
    def mtu(n):
        for host in lab.hosts:
            lab.exec(host, "ip", "link", "set", "dev", "data0", "mtu", str(n))
            lab.exec("fabric", "ip", "link", "set", "dev", host, "mtu", str(n))
    mtu(MTU)
    yield lab
    mtu(1500)


def tree(lab, version, tagged, **words):
    matrix = lab.matrix(warmup="0s", duration="1s", **words)
    for i, host in enumerate(matrix["hosts"].values(), 1):
        if version == 6:
            host["addr"] = f"2001:2::{i:x}/64"
    if tagged:
        matrix["defaults"].update(vlan=VLAN, pcp=5)
    matrix["traffic"].update(dscp="ef")
    return matrix


def frames_of(payload, version, mtu):
    """Bytes from Ethernet on, untagged and without FCS, of every frame of a datagram."""
    head = 20 if version == 4 else 40
    if head + 8 + payload <= mtu:
        return [max(60, 14 + head + 8 + payload)]
    if version == 6:
        head += 8
    each = (mtu - head) // 8 * 8
    rest = 8 + payload
    found = []
    while rest > 0:
        found.append(max(60, 14 + head + min(each, rest)))
        rest -= each
    return found


def table(lab, version, tagged):
    """Configs of h1 and h2: a flow for every size as request, as reply, and as both."""
    matrix = tree(lab, version, tagged, rate=RATE)
    matrix["defaults"]["mtu"] = MTU
    matrix["hosts"] = {h: matrix["hosts"][h] for h in ("h1", "h2")}
    matrix["traffic"].update(pattern="cells", cells={"h1": {"h2": RATE}}, request=9000)
    matrix["traffic"].pop("rate", None)
    made = planned(matrix)
    (tx,), (rx,) = made["h1"]["tx"], made["h2"]["rx"]
    made["h1"]["tx"], made["h2"]["rx"] = [], []
    pairs = [(s, 18) for s in SIZES] + [(18, s) for s in SIZES[1:]] + [(s, s) for s in SIZES[1:]]
    for i, (request, reply) in enumerate(pairs):
        both = {"peer": f"{request}-{reply}", "req_bytes": request, "rep_bytes": reply}
        port = 49152 + i
        for end, to in ((tx, made["h1"]["tx"]), (rx, made["h2"]["rx"])):
            to.append({**end, **both, **({"sport_first": port} if "sport_first" in end else
                                         {"sports": [port]})})
        made["h1"]["tx"][-1].update(tx_first=i, peer_rx_first=i)
        made["h2"]["rx"][-1].update(rx_first=i, peer_tx_first=i)
    return made, pairs


def decode(capture, version, tagged):
    """(sizes of frames by datagram, UDP lengths) of one link, all seen to be good."""
    ip = "ip" if version == 4 else "ipv6"
    names = {"src": f"{ip}.src", "len": "frame.len", "vlan": "vlan.id", "pcp": "vlan.priority",
             "dscp": "ip.dsfield.dscp" if version == 4 else "ipv6.tclass.dscp",
             "id": "ip.id" if version == 4 else "ipv6.fraghdr.ident",
             "more": "ip.flags.mf" if version == 4 else "ipv6.fraghdr.more",
             "at": "ip.frag_offset" if version == 4 else "ipv6.fraghdr.offset",
             "df": "ip.flags.df" if version == 4 else "ipv6.plen",
             "ip_ok": "ip.checksum.status" if version == 4 else "ipv6.plen",
             "udp_len": "udp.length", "udp_ok": "udp.checksum.status", "sport": "udp.srcport",
             "dport": "udp.dstport", "expert": "_ws.expert.message"}
    datagrams, lengths = defaultdict(list), defaultdict(int)
    rows = capture.fields(f"{ip} and not icmpv6", *names.values())
    for number, row in enumerate(rows):
        row = dict(zip(names, row))
        assert row["dscp"] == "46" and row["expert"] == "", row
        assert (row["vlan"], row["pcp"]) == ((str(VLAN), "5") if tagged else ("", "")), row
        assert version == 6 or row["ip_ok"] == "1", row
        piece = row["more"] in ("1", "True") or row["at"] not in ("", "0")
        assert version == 6 or (row["df"] in ("0", "False")) == piece, row
        key = (row["src"], row["id"]) if piece else number
        datagrams[key].append(int(row["len"]) - (4 if tagged else 0))
        if row["udp_len"]:
            assert row["udp_ok"] == "1", row
            lengths[int(row["udp_len"]) - 8, row["dport"] == str(PORT)] += 1
    return datagrams.values(), lengths


@pytest.mark.parametrize("tagged", [False, True], ids=["untagged", "vlan"])
@pytest.mark.parametrize("version", [4, 6])
def test_table(jumbo, fleet, version, tagged):
    """Every size as request and as reply, within the MTU of 9000 and above."""
    made, pairs = table(jumbo, version, tagged)
    jumbo.capture("h1", "h2")
    results = fleet(made).run()
    want, wanted_frames = defaultdict(int), defaultdict(int)
    for request, reply in pairs:
        label = f"{request}-{reply}"
        (tx,) = [f for f in results["h1"]["tx"] if f["peer"] == label]
        (rx,) = [f for f in results["h2"]["rx"] if f["peer"] == label]
        sent, came = tx["trials"][-1], rx["trials"][-1]
        assert RATE == sent["sent"] == came["delivered"] == came["replied"] == sent["returned"], \
            (label, sent, came, results["h1"]["drop"], results["h2"]["drop"])
        for payload, asked in ((request, True), (reply, False)):
            want[payload, asked] += RATE
            wanted_frames[tuple(sorted(frames_of(payload, version, MTU)))] += RATE
    for host in ("h1", "h2"):
        assert results[host]["port"]["mtu"] == MTU
        assert results[host]["drop"]["malformed"] == results[host]["drop"]["incomplete"] == 0
    found, lengths = defaultdict(int), defaultdict(int)
    for capture in jumbo.captured().values():
        datagrams, seen = decode(capture, version, tagged)
        for sizes in datagrams:
            found[tuple(sorted(sizes))] += 1
        for key, number in seen.items():
            lengths[key] += number
    assert lengths == want
    assert found == wanted_frames


def drop_last(lab, version, port_rule, every):
    """Of datagrams in fragments, every N-th loses its last one."""
    last = {4: ["ether", "type", "ip", "ip", "frag-off", "&", "0x2000", "==", "0", "ip", "frag-off",
                "&", "0x1fff", "!=", "0"],
            6: ["ether", "type", "ip6", "frag", "more-fragments", "0", "frag", "frag-off", "!=",
                "0"]}[version]
    lab.exec("fabric", "nft", "add", "rule", "bridge", "pmx", "faults", *port_rule, *last,
             "numgen", "inc", "mod", str(every), "==", "0", "counter", "drop", "comment", '"last"')


@pytest.mark.parametrize("version", [4, 6])
def test_lost_fragment(lab, write, version):
    """A datagram that lost one of its fragments is lost, no more and no less, in the direction in
    which it was; frames of the wire are counted as they are. All fragments of a datagram come to one
    of several queues."""
    matrix = tree(lab, version, False, request=9000, reply=4000)
    matrix["defaults"]["queues"] = 2
    for host in matrix["hosts"].values():
        host.pop("lcores", None)
    matrix["traffic"]["streams"] = 4
    matrix["traffic"].update(pattern="cells", cells={"h1": {"h2": 60}, "h3": {"h1": 60}})
    matrix["traffic"].pop("rate", None)

    def start():
        lab.fault("clear")
        drop_last(lab, version, ["iifname", '"h1"', "oifname", '"h2"'], 6)
    summary = measure(write(matrix), before=start)
    row = flow(summary, "h1", "h2")
    assert row["sent"] == 60 and row["lost_forward"] == lab.counter() == 10, row
    assert row["lost_back"] == 0
    assert_identity(row, lossless=False)
    assert_identity({k: v for k, v in flow(summary, "h3", "h1").items()}, lossless=True)
    pieces = frames_of(9000, version, 1500)
    if version == 6:
        assert host_row(summary, "h2")["drop_incomplete"] == 10 * (len(pieces) - 1)
    wire = sum(bytes + 24 for bytes in pieces)  # FCS, preamble and gap
    assert row["sent_l1_mbps"] == pytest.approx(row["sent_pps"] * 8e-6 * wire, rel=1e-3)
    busy = host_row(summary, "h3")
    assert busy["egress_l1_gbps"] == pytest.approx(busy["sent_pps"] * 8e-9 * wire, rel=1e-3)


def test_mtu_is_verified(lab, write):
    """Links of 1500 do not carry what is planned for 9000: the agent says so before any traffic."""
    matrix = lab.matrix(rate=RATE, request=8972)
    matrix["defaults"]["mtu"] = MTU
    done = pmx("run", write(matrix)).expect(3)
    assert "interface data0 has an MTU of 1500, and mtu 9000 is asked for" in done.err, done


@pytest.mark.parametrize("request_reply", [(65507, 9000), (9001, 65507)])
def test_without_a_kernel(write, tmp_path, request_reply):
    """Between two agents by shared memory nobody else puts IPv4 together."""
    matrix = {"pmx": 1, "transport": "local", "remote_dir": str(tmp_path / "run"),
              "defaults": {"driver": "memif", "mtu": MTU},
              "hosts": {"a": {"addr": "198.18.0.1/24"}, "b": {"addr": "198.18.0.2/24"}},
              "traffic": {"rate": 100, "request": request_reply[0], "reply": request_reply[1]},
              "timing": {"warmup": "0s", "duration": "1s"}}
    summary = measure(write(matrix))
    assert_identity(summary["totals"])
    assert all(host["drop_incomplete"] == 0 for host in summary["hosts"])

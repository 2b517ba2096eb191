"""Frames of every layout: tags, priorities, DSCP, TTL; decoded by tshark, accounted to the packet."""

import itertools

import pytest

from harness import assert_identity, measure, pmx, sanitized

TAGS = {"untagged": None, "vlan": 100, "qinq": [200, 100]}
SIZES = [(18, 512), (1000, 1000)]


def tree(lab, tags, request, reply, rate=200, version=4):
    matrix = lab.matrix(rate=rate, request=request, reply=reply, warmup="0s", duration="1s")
    for i, host in enumerate(matrix["hosts"].values(), 1):
        if version == 6:
            host["addr"] = f"2001:2::{i:x}/64"
    if TAGS[tags]:
        matrix["defaults"].update(vlan=TAGS[tags], pcp=5)
    matrix["traffic"].update(dscp="ef", ttl=63, cells={"h1": {"h2": {"dscp": "af41"}}})
    return matrix


def dscp_of(row):
    """Of the pair that a frame belongs to: h1 to h2 has one of its own, both ways."""
    asks = row["dport"] == "5300"
    pair = (row["src"][-1], row["dst"][-1]) if asks else (row["dst"][-1], row["src"][-1])
    return "34" if pair == ("1", "2") else "46"


def decoded(capture, version):
    """One dict a UDP frame, lengths and checksums seen to be good."""
    ip = "ip" if version == 4 else "ipv6"
    names = {"src": f"{ip}.src", "dst": f"{ip}.dst", "dport": "udp.dstport", "len": "frame.len",
             "udp_len": "udp.length", "udp_ok": "udp.checksum.status", "vlan": "vlan.id",
             "pcp": "vlan.priority", "outer": "ieee8021ad.id", "outer_pcp": "ieee8021ad.priority",
             "dscp": "ip.dsfield.dscp" if version == 4 else "ipv6.tclass.dscp",
             "ttl": "ip.ttl" if version == 4 else "ipv6.hlim",
             "expert": "_ws.expert.message"}
    if version == 4:
        names["ip_ok"] = "ip.checksum.status"
    rows = [dict(zip(names, row)) for row in capture.fields("udp", *names.values())]
    for row in rows:
        assert row["udp_ok"] == "1" and row.get("ip_ok", "1") == "1", row
        assert row["expert"] == "", row
    return rows


@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("tags", TAGS)
def test_every_frame_decodes(lab, write, tags, version):
    for request, reply in SIZES[:1] if sanitized() else SIZES:
        # so long that next hops are asked again, and one that did not answer with a tag would be silent
        seconds = 4 if tags == "vlan" and request == SIZES[0][0] else 1
        matrix = tree(lab, tags, request, reply, rate=200 // seconds, version=version)
        matrix["timing"]["duration"] = f"{seconds}s"
        summary = measure(write(matrix), before=lab.capture)
        assert_identity(summary["totals"])
        assert all(h["next_hops"] == 2 and h["hop_silences"] == 0 for h in summary["hosts"])
        tag_bytes = 4 * {"untagged": 0, "vlan": 1, "qinq": 2}[tags]
        headers = tag_bytes + (42 if version == 4 else 62)
        for flow in summary["flows"]:
            ttls = [flow[f"ttl_{way}_{end}"]
                    for way, end in itertools.product(("forward", "back"), ("min", "max"))]
            assert ttls == [63] * 4, flow
            assert flow["sent_l1_mbps"] == pytest.approx(
                flow["sent_pps"] * 8e-6 * (max(64, request + headers + 4) + 20), rel=1e-3)
        for capture in lab.captured().values():
            rows = decoded(capture, version)
            assert len(rows) == 200 * 2 * 2
            for row in rows:
                payload = request if row["dport"] == "5300" else reply
                assert int(row["len"]) == max(60, payload + headers), row
                assert int(row["udp_len"]) == payload + 8, row
                assert (row["dscp"], row["ttl"]) == (dscp_of(row), "63"), row
                if tags == "untagged":
                    assert row["vlan"] == row["outer"] == "", row
                if tags == "vlan":
                    assert (row["vlan"], row["pcp"], row["outer"]) == ("100", "5", ""), row
                if tags == "qinq":
                    assert (row["outer"], row["outer_pcp"]) == ("200", "5"), row
                    assert (row["vlan"], row["pcp"]) == ("100", "5"), row


def test_two_tags_within_the_mtu(lab, write):
    """The kernel takes no frame that two tags make longer than its MTU has room for: one of 1,464
    bytes fits, one of 1,465 is two fragments, and all arrive."""
    matrix = tree(lab, "qinq", 1464, 1465)
    summary = measure(write(matrix), before=lab.capture)
    assert_identity(summary["totals"])
    assert summary["totals"]["returned"] == 200 * 6, summary["totals"]
    for capture in lab.captured().values():
        rows = capture.fields("ip.proto == 17", "ip.frag_offset", "ip.flags.mf", "frame.len")
        lengths = [int(row[2]) for row in rows]
        assert max(lengths) == 1514, sorted(set(lengths))
        assert sum(row[1] in ("1", "True") for row in rows) == 400, len(rows)
        assert len(rows) == 400 + 2 * 400, len(rows)


def test_another_vlan_is_refused(lab, write):
    """Frames with another tag than the host's are counted and not answered, also where the driver
    takes the tag out of them."""
    matrix = tree(lab, "vlan", 18, 18)
    matrix["timing"]["resolve"] = "1s"
    matrix["hosts"]["h3"]["vlan"] = 101
    done = pmx("run", write(matrix), "--json", "-").expect(3)
    assert "FAILED on 1/3: h3" in done.err, done

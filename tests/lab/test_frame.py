"""What is on the wire: a payload of 18 bytes is the 64-byte frame."""

import pytest

from harness import assert_identity, measure, pmx


def on_wire(lab, write, request, reply):
    matrix = lab.matrix(rate=500, request=request, reply=reply, warmup="0s", duration="1s")
    assert_identity(measure(write(matrix), before=lab.capture)["totals"])
    sizes = {}
    for capture in lab.captured().values():
        for (_, _, kind, size), count in capture.udp().items():
            sizes.setdefault(kind, set()).add(size)
            assert count == 500
    return sizes


@pytest.mark.release
def test_smallest(lab, write):
    """60 bytes and the FCS, which no capture shows."""
    assert on_wire(lab, write, 18, 18) == {"request": {60}, "reply": {60}}


def test_largest_and_odd(lab, write):
    assert on_wire(lab, write, 1472, 19) == {"request": {1514}, "reply": {61}}


@pytest.mark.release
def test_fields(lab, write):
    """Addresses, ports and the header as the plan has them."""
    matrix = lab.matrix(rate=200, warmup="0s", duration="1s")
    matrix["traffic"]["streams"] = 3
    lab.capture("h1")
    pmx("run", write(matrix), "--json", "-").expect(0)
    rows = lab.captured()["h1"].fields(
        "ip.dst == 198.18.0.2 && udp.dstport == 5300", "eth.src", "eth.dst", "ip.src", "ip.ttl",
        "udp.srcport", "udp.payload")
    assert {row[0] for row in rows} == {lab.exec("h1", "cat", "/sys/class/net/data0/address").strip()}
    assert {row[1] for row in rows} == {lab.exec("h2", "cat", "/sys/class/net/data0/address").strip()}
    assert {row[2] for row in rows} == {"198.18.0.1"}
    assert len({row[4] for row in rows}) == 3  # n streams, n tuples
    payloads = [bytes.fromhex(row[5].replace(":", "")) for row in rows]
    assert len({p[:2] for p in payloads}) == 1   # one cookie
    assert {p[2] for p in payloads} == {0x11}    # version 1, request
    for stream in {p[4:8] for p in payloads}:
        sequence = [int.from_bytes(p[8:12], "big") for p in payloads if p[4:8] == stream]
        assert sequence == list(range(len(sequence)))

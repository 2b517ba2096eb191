"""A real router between the hosts: the TTL that comes in, a gateway that is flushed, moves, dies."""

import pytest

from harness import assert_identity, flow, host_row, pmx, until
from router import router

HOSTS = ("h1", "h2")
RATE = 200


def advice(summary):
    return {row["rule"]: row for row in summary["advice"]}


@pytest.fixture(params=[4, 6])
def routed(request, lab):
    with router(lab, HOSTS, request.param) as made:
        yield made


def began(lab, spawned):
    """Traffic runs; the run did not end before."""
    def running():
        assert spawned.running(), spawned
        status = pmx("status", spawned.args[2], "--json", "-").json["hosts"]
        return all(h.get("state") == "running" for h in status)
    until(running, 60, "traffic runs")
    return spawned


def macs_in_turn(capture):
    """Destination MACs of the run's frames, in order, a row of the same one once."""
    turns = []
    for (mac,) in capture.fields("udp", "eth.dst"):
        if not turns or turns[-1] != mac:
            turns.append(mac)
    return turns


def test_gateway_moves(lab, routed, write, spawn):
    """The router forgets the hosts, and its address moves to another MAC, silently and back with a
    word: the network loses nothing, and so the run does."""
    matrix = write(routed.matrix(rate=RATE, warmup="0s", duration="8s"))
    lab.capture(*HOSTS)
    run = began(lab, spawn("run", matrix, "--json", "-"))
    for _ in range(3):
        routed.flush()
    for host in HOSTS:
        routed.place(host, "b")
    until(lambda: all(routed.taken(host, "b") > RATE / 10 for host in HOSTS), 8, "found at b")
    for host in HOSTS:
        routed.place(host, "a")
        if routed.version == 4:
            routed.announce(host)
    summary = run.wait(60).expect(0).json
    assert_identity(summary["totals"])
    for row in summary["flows"]:
        assert [row[f"ttl_{way}_{end}"] for way in ("forward", "back")
                for end in ("min", "max")] == [63] * 4
    for host, capture in lab.captured().items():
        row = host_row(summary, host)
        assert (row["next_hops"], row["next_hops_silent"], row["hop_mac_changes"]) == (1, 0, 2)
        assert macs_in_turn(capture) == [routed.mac(host, which) for which in "aba"]
    assert "silent next hop" not in advice(summary) and "moving next hop" not in advice(summary)


def test_gateway_dies(lab, routed, write, spawn):
    """Frames go on to where it was, the loss is shown as it is, and who is silent is said. The one of
    IPv6 comes back."""
    matrix = write(routed.matrix(rate=RATE, warmup="0s", duration="8s"))
    lab.capture("h1")
    run = began(lab, spawn("run", matrix, "--json", "-"))
    routed.die("h1")
    gateway = routed.gateway("h1")
    said = until(lambda: next((line for line in pmx("status", matrix).out.splitlines()
                               if "SILENT" in line), None), 8, "status says it")
    assert "h1" in said and f"NEXT HOP {gateway} SILENT FOR" in said
    back = routed.version == 6
    if back:
        routed.revive("h1")
    summary = run.wait(60).expect(0, 1).json
    there, other = flow(summary, "h1", "h2"), flow(summary, "h2", "h1")
    for row in (there, other):
        assert_identity(row, lossless=False)
    assert there["lost_forward"] > 2 * RATE
    assert other["lost_forward"] > 2 * RATE  # the router had nowhere to send them
    row = host_row(summary, "h1")
    assert row["hop_silences"] == 1 and row["hop_mac_changes"] == 0
    assert (row["next_hops_silent"], row["silent_hop"]) == ((0, None) if back else (1, gateway))
    assert host_row(summary, "h2")["hop_silences"] == 0
    assert ("silent next hop" in advice(summary)) != back
    if not back:
        evidence = advice(summary)["silent next hop"]["evidence"]
        assert f"h1 has had no answer from its gateway {gateway}" in evidence
    # all were sent, to the MAC that was known
    (capture,) = lab.captured().values()
    assert macs_in_turn(capture) == [routed.mac("h1", "a")]
    assert len(capture.fields("udp", "eth.dst")) == there["sent"] + other["replied"]


def test_gateway_is_not_there(lab, routed, write):
    """Named with its host; asked so often and no more; nothing of the run leaves."""
    tree = routed.matrix(rate=RATE, warmup="0s", duration="1s")
    tree["timing"]["resolve"] = "2s"
    routed.die("h1")
    lab.capture(*HOSTS)
    done = pmx("run", write(tree), "--json", "-").expect(3)
    what = "ARP" if routed.version == 4 else "neighbour solicitations"
    assert f"no answer to {what} from {routed.gateway('h1')}" in done.err, done
    assert "FAILED on 1/2: h1" in done.err, done
    captured = lab.captured()
    everyone = "ff:ff:ff:ff:ff:ff" if routed.version == 4 else "33:33:ff:00:02:54"
    sent = [mac for (mac,) in captured["h1"].fields("", "eth.dst")]
    assert set(sent) == {everyone}
    assert 10 <= len(sent) < 60  # ten in the first second, then one a second, until it is ended
    assert not captured["h2"].fields("udp", "eth.dst")

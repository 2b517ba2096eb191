"""What to do next, in situations made for it: the rule fires, and its evidence names the host."""

import time

import pytest

from harness import LATE_MAX_S, ROOT, calm, host_row, pmx, until

TRIES = 4


def tell_agent(lab, host, signal):
    """To the agent proper, by its PID on its host."""
    lab.exec(host, "kill", f"-{signal}", lab.file(host, "/var/tmp/pmx/agent.pid").strip())


def advice(summary):
    return {row["rule"]: row for row in summary["advice"]}


def counted(folder):
    """A directory of profiles in which af_packet counts what it misses. It does not: so this is for
    runs in which the fabric alone loses."""
    source = (ROOT / "drivers-config/af_packet.yaml").read_text()
    folder.mkdir(exist_ok=True)
    (folder / "af_packet.yaml").write_text(source + "\ncounts_missed: yes\n")
    return folder


@pytest.fixture
def told(lab, write, tmp_path):
    """Summary of a run with these faults; made again when an agent was kept from its CPU."""
    def told(*faults, options=(), codes=(0,), **words):
        words = {"rate": 500, "warmup": "0s", "duration": "1s", **words}
        matrix = write(lab.matrix(**words))
        for _ in range(TRIES):
            lab.fault("clear")
            for fault in faults:
                lab.fault("drop", *fault)
            summary = pmx("run", matrix, "--json", "-", *options).expect(*codes).json
            if max(host["lateness_max_us"] or 0 for host in summary["hosts"]) < 1e6 * LATE_MAX_S:
                break
            calm()
        return summary
    return told


@pytest.mark.release
def test_fabric_drop(lab, told, tmp_path):
    lost = told(["--from", "h1", "--to", "h2", "--dport", 5300, "--every", 10],
                options=["--drivers", counted(tmp_path / "drivers")])
    rule = advice(lost)["forward loss"]
    assert "worst h1 to h2" in rule["evidence"] and "dropped 0 packets" in rule["evidence"]
    assert "switches from h1 to h2" in rule["fix"]
    assert "return loss" not in advice(lost) and "receiver drops" not in advice(lost)


@pytest.mark.release
def test_fabric_or_receiver(lab, told):
    """A driver that does not count what it misses: the two are not told apart, and that is said."""
    rule = advice(told(["--from", "h1", "--to", "h2", "--dport", 5300, "--every", 10]))
    assert "on the way to h2" in rule["loss unattributed"]["evidence"]
    assert "forward loss" not in rule and "receiver drops" not in rule


@pytest.mark.release
def test_reply_only_drop(lab, told):
    rule = advice(told(["--from", "h2", "--to", "h1", "--sport", 5300, "--every", 10]))
    assert "those of h2 to h1" in rule["return loss"]["evidence"]
    assert "forward loss" not in rule


@pytest.mark.release
def test_dead_column(lab, told):
    rule = advice(told(["--to", "h3", "--dport", 5300]))
    assert "requests for h3 none arrived" in rule["dead column"]["evidence"]
    assert "its own requests do arrive" in rule["dead column"]["evidence"]
    assert "h3" in rule["sick grid"]["evidence"] and "column" in rule["sick grid"]["evidence"]
    assert "dead row" not in rule


@pytest.mark.release
def test_dead_row(lab, told):
    rule = advice(told(["--from", "h3", "--dport", 5300]))
    assert "that h3 sent none arrived" in rule["dead row"]["evidence"]
    assert "dead column" not in rule


@pytest.mark.release
def test_sick_column(lab, told):
    rule = advice(told(["--to", "h2", "--every", 5]))
    assert "sick column" in rule["sick grid"]["evidence"] and "h2" in rule["sick grid"]["evidence"]


@pytest.mark.release
def test_nothing_fired(lab, told):
    summary = told()
    late = max(host["lateness_p99_us"] for host in summary["hosts"])
    if summary["totals"]["lost"] or summary["totals"]["unsent"] or late > 1000:
        pytest.skip("the machine is too busy for a run in which nothing happens")
    rules = [rule for rule in advice(summary) if rule not in ("box busy", "queues filling")]
    assert rules in ([], ["raise the rate"])
    if rules:
        assert "pmx run" in advice(summary)["raise the rate"]["fix"]


@pytest.mark.release
def test_few_streams(lab, write):
    """Two queues, one stream, as fast as it goes: one queue works, and streams would help."""
    tree = lab.matrix(rate=1000, warmup="0s", duration="2s", queues=2)
    tree["defaults"]["idle"] = "spin"
    tree["traffic"] = {"pattern": "cells", "cells": {"h1": {"h2": "max"}}, "streams": 1}
    summary = pmx("run", write(tree), "--json", "-").expect(0).json
    if host_row(summary, "h1")["agent_cpu_pct"] < 60:
        pytest.skip("the machine is too busy for one agent to be the limit")
    rule = advice(summary)["tool at its ceiling"]
    assert "of h1 is busy" in rule["evidence"]
    assert "1 streams for 2 queues" in rule["fix"] and "'streams'" in rule["fix"]


@pytest.mark.release
def test_target_not_reached(lab, write):
    """Far beyond what any core sends."""
    tree = lab.matrix(rate=1000, warmup="0s", duration="1s")
    tree["traffic"] = {"pattern": "cells", "cells": {"h1": {"h2": "40M"}}}
    summary = pmx("run", write(tree), "--json", "-").expect(0).json
    assert summary["totals"]["achieved_pct"] < 90
    rules = advice(summary)
    rule = rules.get("tool at its ceiling") or rules["short of target"]
    assert "h1" in rule["evidence"] and "of its target" in rule["evidence"]


@pytest.fixture
def running(lab, write, spawn):
    """A run of some seconds, when its requests are being counted in the fabric."""
    def running(*options, duration="4s"):
        matrix = write(lab.matrix(rate=500, warmup="0s", duration=duration))
        lab.fault("count", "--from", "h1", "--to", "h3", "--dport", 5300)
        run = spawn("run", matrix, "--json", "-", *options)
        until(lambda: lab.counter() > 200 or not run.running(), 60, "traffic")
        return run
    return running


def test_dead_host(lab, running):
    run = running()
    tell_agent(lab, "h2", "KILL")
    rule = advice(run.wait(60).expect(4).json)["dead host"]
    assert "1 of 3 hosts not measured: h2" in rule["evidence"] and "pmx logs" in rule["fix"]


@pytest.mark.release
def test_sender_kept_from_its_cpu(lab, running):
    """Stopped beyond the end of its window: short of target, and not because it was busy."""
    run = running(duration="4s")
    time.sleep(2.4)
    tell_agent(lab, "h1", "STOP")
    time.sleep(2.5)  # not so long that pmx gives it up
    tell_agent(lab, "h1", "CONT")
    summary = run.wait(60).json
    assert "short of target" in advice(summary), (summary["advice"], host_row(summary, "h1"))
    rule = advice(summary)["short of target"]
    assert "h1 offered" in rule["evidence"] and "unsent" in rule["evidence"]
    assert "'lcores'" in rule["fix"] or "port" in rule["fix"]


@pytest.mark.release
def test_receiver_too_slow(lab, write, spawn):
    """It stands still until its rings are full: what is lost on the way to it is put down to it."""
    tree = lab.matrix(rate=1000, warmup="0s", duration="5s")
    tree["traffic"] = {"pattern": "cells", "cells": {"h1": {"h2": "40k"}}}
    lab.fault("count", "--from", "h1", "--to", "h2", "--dport", 5300)
    run = spawn("run", write(tree), "--json", "-")
    until(lambda: lab.counter() > 2000 or not run.running(), 60, "traffic")
    tell_agent(lab, "h2", "STOP")
    time.sleep(2)
    tell_agent(lab, "h2", "CONT")
    summary = run.wait(60).json
    rule = advice(summary)["loss unattributed"]
    assert "on the way to h2" in rule["evidence"] and "NIC of h2" in rule["fix"]


def test_scale(lab, write):
    """The command that the advice ends with."""
    matrix = write(lab.matrix(rate=500, warmup="0s", duration="1s"))
    once = pmx("check", matrix, "--json", "-").json["requests_pps"]
    assert pmx("check", matrix, "--scale", "2.5", "--json", "-").json["requests_pps"] == 2.5 * once
    summary = pmx("run", matrix, "--scale", "2.5", "--json", "-").expect(0).json
    assert {flow["target_pps"] for flow in summary["flows"]} == {1250}
    assert pmx("check", write(lab.matrix(rate="9G")), "--scale", "2").expect(2).err.startswith(
        "pmx: option '--scale': '2': a rate gets over")


SEND_ICMP = """
import socket, struct, sys
link, mac, to, peer, code, mtu, count = sys.argv[1:]
ip = lambda a: socket.inet_aton(a)
def whole(text, at):
    total = sum(struct.unpack(f"!{len(text) // 2}H", text))
    total = (total & 0xffff) + (total >> 16)
    return text[:at] + struct.pack("!H", ~(total + (total >> 16)) & 0xffff) + text[at + 2:]
quoted = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 46, 0, 0x4000, 64, 17, 0, ip(to), ip(peer))
icmp = whole(struct.pack("!BBHHH", 3, int(code), 0, 0, int(mtu)) + quoted + bytes(8), 2)
packet = whole(struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(icmp), 0, 0, 64, 1, 0,
                           ip("198.18.0.254"), ip(to)), 10) + icmp
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind((link, 0))
for _ in range(int(count)):
    s.send(bytes.fromhex(mac.replace(":", "")) + b"\\x02\\0\\0\\0\\0\\x99\\x08\\0" + packet)
"""


def test_icmp_errors(lab, running):
    """A router on the way says that packets are too big, and that a port is unreachable."""
    run = running()
    mac = lab.sh("h1", "cat /sys/class/net/data0/address").strip()
    for code, mtu, count in ((4, 1400, 3), (3, 0, 2)):
        lab.exec("fabric", "python3", "-c", SEND_ICMP, "h1", mac, "198.18.0.1", "198.18.0.2",
                 code, mtu, count)
    summary = run.wait(60).json
    row = {host["host"]: host for host in summary["hosts"]}
    assert (row["h1"]["icmp_too_big"], row["h1"]["path_mtu"]) == (3, 1400)
    assert row["h1"]["icmp_unreachable"] == 2
    assert (row["h2"]["icmp_too_big"], row["h2"]["path_mtu"]) == (0, None)
    rules = advice(summary)
    assert "h1 was told 3 times" in rules["path MTU"]["evidence"]
    assert "MTU 1400" in rules["path MTU"]["evidence"]
    assert "h1 was told 2 times" in rules["unreachable"]["evidence"]

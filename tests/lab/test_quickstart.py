"""scripts/quickstart, as a newcomer calls it, and the local transport at rates that any machine
and any build can do."""

import re
import signal
import time
from pathlib import Path

import pytest

from harness import (BUILD, ROOT, SIGNAL_LIMIT_S, assert_identity, measure, pmx, same_number,
                     until)


def pages():
    return Path("/proc/sys/vm/nr_hugepages").read_text()


@pytest.mark.fullspeed
def test_quickstart():
    before = pages()
    run = pmx(program=ROOT / "scripts/quickstart", env={"PMX_BUILD": str(BUILD)}, deadline_s=600)
    run.expect(0)
    identity = re.search(r"^ *IDENTITY .*", run.out, re.M)[0]
    # two flows of 250 kpps for 5 s
    assert same_number(identity, "sent", "delivered", "replied", "returned") == 2_500_000
    assert "closes" in identity
    assert re.search(r"LOSS +round trip 0 \(0(\.0+)? ?%\)", run.out), run.out
    assert pages() == before


def local(rate="2k", duration="2s", **traffic):
    return {"pmx": 1, "name": "local", "transport": "local",
            "defaults": {"driver": "memif", "idle": "sleep"},
            "hosts": {"left": {"addr": "198.18.0.1/24"}, "right": {"addr": "198.18.0.2/24"}},
            "traffic": {"request": 18, "reply": 18, "rate": rate, "streams": 4, **traffic},
            "timing": {"warmup": "300ms", "duration": duration, "drain": "500ms"}}


def agents():
    """Processes of this machine that run this build's agent."""
    found = []
    for exe in Path("/proc").glob("[0-9]*/exe"):
        try:
            if exe.readlink().name == "pmx-agent" and str(BUILD) in str(exe.readlink()):
                found.append(exe.parent.name)
        except OSError:
            pass
    return found


def test_local(write, tmp_path):
    matrix = write({**local(), "remote_dir": str(tmp_path / "remote")})
    summary = measure(matrix)
    assert summary["totals"]["sent"] == 8000
    assert_identity(summary["totals"])
    for row in summary["flows"]:
        assert_identity(row)
        assert row["sent"] == row["target"] == 4000
    assert agents() == []


def test_local_payloads(write, tmp_path):
    """Sizes of request and reply are independent, from the header alone to the MTU."""
    for request, reply in ((18, 1472), (1472, 18), (19, 101)):
        matrix = write({**local(duration="500ms", request=request, reply=reply),
                        "remote_dir": str(tmp_path / "remote")})
        summary = measure(matrix)
        assert_identity(summary["totals"])
        assert summary["flows"][0]["request_bytes"] == request
        assert summary["flows"][0]["reply_bytes"] == reply


@pytest.mark.parametrize("sig,code", [
    (signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.release)])
def test_local_signal(write, tmp_path, spawn, sig, code):
    remote = tmp_path / "remote"
    matrix = write({**local(duration="60s"), "remote_dir": str(remote)})
    run = spawn("run", matrix)
    until(lambda: (remote / "left/agent.sock").exists() and len(agents()) >= 2, 20, "agents")
    time.sleep(2)  # into the measured window; nothing is judged by this time
    run.kill(sig)
    begin = time.monotonic()
    run.wait(20).expect(code)
    assert time.monotonic() - begin < SIGNAL_LIMIT_S + 0.5 + 2
    assert "IDENTITY" in run.out
    assert agents() == []


def test_versions_and_help():
    version = pmx("--version").expect(0)
    assert re.match(r"pmx \d+\.\d+\.\d+", version.out) and "DPDK" in version.out
    nothing = pmx().expect(2)
    assert "run" in nothing.out + nothing.err
    everything = pmx("help").expect(0)
    for word in ("gen", "check", "run", "start", "status", "summarize", "collect", "logs", "stop",
                 "clean", "--allow-partial", "PMX_REMOTE_DIR"):
        assert word in everything.out
    typo = pmx("runn", "x.yaml").expect(2)
    assert "run" in typo.err and len(typo.err.splitlines()) == 1

"""A host whose clock is a day ahead of the others': the start is together, no time changes."""

import subprocess

import pytest

from harness import assert_identity, flow, measure, until

DAY_S = 86400


def uptime(lab, *ssh):
    done = subprocess.run(["ssh", "-F", lab.dir / "ssh_config", "h2", "cat", "/proc/uptime"],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20)
    assert done.returncode == 0, done.stderr
    return float(done.stdout.split()[0])


@pytest.fixture
def day_ahead(lab):
    """h2's sshd, and so all that it starts, in a time namespace: its CLOCK_MONOTONIC_RAW, the clock
    of the session, is a day ahead. CLOCK_REALTIME, which no agent reads, cannot be moved so."""
    home = lab.dir / "h2"

    def sshd(*prefix):
        lab.sh("h2", f"kill $(cat {home}/sshd.pid); while [ -e {home}/sshd.pid ]; do sleep .05;"
                     " done")
        lab.exec("h2", *prefix, "/usr/sbin/sshd", "-f", home / "sshd_config", "-E",
                 home / "sshd.log")
        until(lambda: lab.exists("h2", home / "sshd.pid"), 10, "sshd of h2")
    before = uptime(lab)
    try:
        sshd("unshare", "--time", "--monotonic", DAY_S, "--boottime", DAY_S, "--fork")
        if uptime(lab) < before + DAY_S:
            pytest.skip("no time namespaces here")
        yield
    finally:
        sshd()


def test_day_ahead(lab, write, day_ahead):
    summary = measure(write(lab.matrix(rate=500, duration="2s")))
    assert_identity(summary["totals"])
    assert summary["totals"]["start_skew_us"] < 100e3
    for src, dst in (("h1", "h2"), ("h2", "h1"), ("h1", "h3"), ("h3", "h2")):
        row = flow(summary, src, dst)
        assert_identity(row)
        # a microsecond of the offset would be seen here, were it a millionth of a per cent of it
        assert 1 < row["rtt_p50_us"] < 20e3
        assert row["rtt_max_us"] < 1e6

"""Sizes and times to hold."""

import time

import pytest

import agents
from harness import AGENT, pmx, until

pytestmark = pytest.mark.fullspeed
READY_S = 3


def test_agent_is_one_moderate_file():
    assert AGENT.stat().st_size < 20 << 20


def test_pmx_is_light(lab, write):
    run = pmx("run", write(lab.matrix(rate=100, duration="500ms"))).expect(0)
    assert 1 << 10 < run.rss_kib < 50 << 10


def test_ready_in_time(lab, fleet):
    """From the start of an agent to READY: EAL, port, link and neighbours. The best of three, since
    others use this machine too."""
    made = agents.configs(("h1", "h2"), {("h1", "h2"): 100})

    def ready_s():
        begin = time.monotonic()
        both = fleet(made)  # one after the other
        until(lambda: all(a.state == "ready" for a in both.agents.values()), 30, "ready")
        taken = time.monotonic() - begin
        both.end()
        return taken / len(made)
    assert min(ready_s() for _ in range(3)) < READY_S

"""Quiet, JSON and verbose show the same run: the same exact counts, and those of the agents' own
results."""

import json

import pytest

from harness import pmx, same_number

RATE, SECONDS = 500, 1
DUE = 6 * RATE * SECONDS
KINDS = ("sent", "delivered", "replied", "returned")


def agents_say(lab):
    """What the hosts' result files add up to; and all that was due was sent, or said to be unsent."""
    total, due = dict.fromkeys(KINDS, 0), 0
    for host in lab.hosts:
        result = json.loads(lab.file(host, "/var/tmp/pmx/result.json"))
        for f in result["tx"]:
            total["sent"] += f["trials"][-1]["sent"]
            due += f["trials"][-1]["sent"] + f["trials"][-1]["unsent"]
            total["returned"] += f["trials"][-1]["returned"]
        for f in result["rx"]:
            total["delivered"] += f["trials"][-1]["delivered"]
            total["replied"] += f["trials"][-1]["replied"]
    assert due == DUE
    return total


@pytest.fixture
def matrix(lab, write):
    return write(lab.matrix(rate=RATE, duration=f"{SECONDS}s"))


@pytest.mark.parametrize("options", [
    pytest.param(("--quiet",), marks=pytest.mark.release), pytest.param((), marks=pytest.mark.release),
    ("--verbose",)])
def test_text(lab, matrix, options):
    run = pmx("run", matrix, *options).expect(0)
    (identity,) = [line for line in run.out.splitlines() if line.startswith("IDENTITY")]
    assert agents_say(lab) == dict.fromkeys(KINDS, same_number(identity, *KINDS))
    assert bool(run.err) == ("--quiet" not in options)


@pytest.mark.release
@pytest.mark.parametrize("options", [("--quiet",), ("--verbose",)])
def test_json(lab, matrix, options):
    totals = pmx("run", matrix, "--json", "-", *options).expect(0).json["totals"]
    assert {kind: totals[kind] for kind in KINDS} == agents_say(lab)
    assert totals["sent"] + totals["unsent"] == DUE

"""The fabric drops exactly one in a hundred: the loss that is reported is those packets, in their
direction."""

import pytest

from harness import assert_identity, flow, host_row, measure, pmx


def one_in(n, packets):
    """How many the rule takes, which begins with the first."""
    return -(-packets // n)


@pytest.fixture
def lossy(lab, write):
    """The summary of a run with these faults in the fabric, each a list of words."""
    matrix = write(lab.matrix(rate=2000, warmup="0s", duration="1s"))

    def lossy(*faults):
        def inject():
            lab.fault("clear")
            for words in faults:
                lab.fault("drop", *words)
        return measure(matrix, before=inject)
    return lossy


REQUESTS = ["--from", "h1", "--to", "h2", "--dport", 5300]
REPLIES = ["--from", "h2", "--to", "h1", "--sport", 5300]


def others_lost_nothing(summary):
    for row in summary["flows"]:
        if (row["src"], row["dst"]) != ("h1", "h2"):
            assert_identity(row)


@pytest.mark.release
def test_requests(lab, lossy):
    summary, dropped = lossy([*REQUESTS, "--every", 100]), lab.counter()
    row = flow(summary, "h1", "h2")
    assert dropped == one_in(100, row["sent"]) > 10
    assert (row["lost_forward"], row["lost_back"]) == (dropped, 0)
    assert row["loss_forward_pct"] == pytest.approx(100 * dropped / row["sent"])
    assert row["loss_back_pct"] == 0
    assert_identity(row, lossless=False)
    others_lost_nothing(summary)
    totals = summary["totals"]
    assert (totals["lost"], totals["lost_forward"], totals["lost_back"]) == (dropped, dropped, 0)
    assert host_row(summary, "h1")["lost_forward"] == dropped


@pytest.mark.release
def test_replies(lab, lossy):
    summary, dropped = lossy([*REPLIES, "--every", 100]), lab.counter()
    row = flow(summary, "h1", "h2")
    assert dropped == one_in(100, row["replied"]) > 10
    assert (row["lost_forward"], row["lost_back"]) == (0, dropped)
    assert row["loss_forward_pct"] == 0
    assert row["loss_back_pct"] == pytest.approx(100 * dropped / row["replied"])
    assert_identity(row, lossless=False)
    others_lost_nothing(summary)


def test_both_ways_and_uneven(lab, lossy):
    """A quarter of the requests and a tenth of the replies: neither hides the other."""
    row = flow(lossy([*REQUESTS, "--every", 4], [*REPLIES, "--every", 10]), "h1", "h2")
    forward, back = lab.counters().values()
    assert forward == one_in(4, row["sent"])
    assert back == one_in(10, row["sent"] - forward)
    assert (row["lost_forward"], row["lost_back"]) == (forward, back)
    assert_identity(row, lossless=False)


def test_all_lost(lossy):
    """Nothing came: the loss is total, and times are unknown, not 0."""
    row = flow(lossy(REQUESTS), "h1", "h2")
    assert (row["delivered"], row["lost_forward"]) == (0, row["sent"])
    assert row["sent"] > 100
    assert row["loss_pct"] == 100
    assert row["rtt_p50_us"] is None and row["rtt_max_us"] is None


def test_limit(lab, write):
    """A limit of the matrix that is missed is exit 1, and said."""
    tree = lab.matrix(rate=500, warmup="0s", duration="1s")
    tree["limits"] = {"loss": 0}
    matrix = write(tree)
    assert measure(matrix, codes=(0, 1))["verdict"]["exit"] == 0
    lab.fault("drop", *REQUESTS, "--every", 100)
    verdict = pmx("run", matrix, "--json", "-").expect(1).json["verdict"]
    assert verdict["exit"] == 1
    assert [limit["result"] for limit in verdict["limits"]] == ["missed"]

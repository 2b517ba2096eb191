"""One queue or four: the pair's rate is the same, and the queues add up to the host."""

import pytest

from harness import assert_identity, host_row, measure, pmx


@pytest.mark.parametrize("queues", [pytest.param(1, marks=pytest.mark.release), 4])
def test_rate_and_sums(lab, write, queues):
    matrix = lab.matrix(rate=2000, warmup="200ms", duration="1s", queues=queues)
    matrix["traffic"]["streams"] = 16
    summary = measure(write(matrix))
    for row in summary["flows"]:
        assert_identity(row)
        assert row["sent"] == row["target"] == 2000
    for row in summary["hosts"]:  # the kernel's hash decides, and nobody knows it
        assert (row["steering"], row["steered"]) == ("kernel", queues == 1)
    for host in lab.hosts:
        rows = [q for q in summary["queues"] if q["host"] == host]
        assert [int(q["queue"]) for q in rows] == list(range(queues))
        total = host_row(summary, host)
        for queue_key, host_key in (("requests_sent", "sent"), ("replies_received", "returned"),
                                    ("requests_received", "served"), ("replies_sent", "replied")):
            assert sum(q[queue_key] for q in rows) == total[host_key]
        if queues > 1:
            assert sum(q["requests_sent"] > 0 for q in rows) == queues


def test_text_shows_queues(lab, write):
    run = pmx("run", write(lab.matrix(queues=2, duration="1s")), "--verbose").expect(0)
    assert "QUEUES" in run.out
    for host in lab.hosts:
        assert host in run.out

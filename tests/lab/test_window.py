"""`pmx summarize --window`: the last seconds of the agents' reports, while they run and afterwards."""

import csv
import math

from harness import pmx, until

RATE = 500


def last_intervals(folder, host, seconds):
    """Rows of the report by direction, of the last whole seconds, and the time they take."""
    rows = list(csv.DictReader((folder / host / "report.csv").open()))
    last = float(rows[-1]["ts"])
    rows = [row for row in rows if float(row["ts"]) > last - seconds + 0.0005]
    by = {}
    for row in rows:
        by.setdefault((row["dir"], row["peer"]), []).append(row)
    return by, sum(float(row["interval_s"]) for row in by["host", ""])


def test_window(lab, write, tmp_path):
    tree = lab.matrix(rate=RATE, warmup="200ms", duration="30s")
    tree["timing"]["interval"] = "500ms"
    matrix = write(tree)
    pmx("start", matrix).expect(0)
    until(lambda: all(lab.file(host, "/var/tmp/pmx/report.csv").count(",host,") > 5
                      for host in lab.hosts), 30, "rows")
    live = pmx("summarize", matrix, "--window", "2s", "--json", "-").expect(0).json
    assert live["verdict"]["window_of_reports"] and live["verdict"]["running"]
    assert len(live["flows"]) == 6 and live["totals"]["sent"] > 0
    assert live["totals"]["lost_forward"] is None and live["totals"]["rtt_p99_us"] is None
    assert live["totals"]["delivered_pps"] > 0 and live["totals"]["rtt_avg_us"] > 0
    text = pmx("summarize", matrix, "--window", "2s").expect(0).out
    assert "\nWINDOW " in text and "\nIDENTITY" not in text

    pmx("stop", matrix).expect(0)
    pmx("collect", matrix, "--output", tmp_path).expect(0)
    words = ["summarize", matrix, "--window", "1500ms", "--json", "-"]
    ended = pmx(*words).expect(0).json
    kept = pmx(*words, "--no-collect", "--output", tmp_path).expect(0).json
    assert kept["flows"] == ended["flows"] and kept["hosts"] == ended["hosts"]
    for host in ended["hosts"]:
        rows, seconds = last_intervals(tmp_path, host["host"], 1.5)
        assert math.isclose(host["window_s"], seconds, abs_tol=1e-6)
        for flow in (f for f in ended["flows"] if f["src"] == host["host"]):
            mine = rows["tx", flow["dst"]]
            assert flow["sent"] == sum(int(row["packets"]) for row in mine)
            assert flow["returned"] == sum(int(row["rep_packets"]) for row in mine)
            there = last_intervals(tmp_path, flow["dst"], 1.5)[0]["rx", flow["src"]]
            assert flow["delivered"] == sum(int(row["packets"]) for row in there)
    assert pmx("summarize", matrix, "--window", "0").expect(2).err.startswith("pmx: option '--window'")
    dry = pmx("summarize", matrix, "--window", "2s", "--dry-run").expect(0).out
    assert "report.csv" in dry
    pmx("clean", matrix).expect(0)
    gone = pmx("summarize", matrix, "--window", "2s").expect(3)
    assert "report.csv" in gone.err

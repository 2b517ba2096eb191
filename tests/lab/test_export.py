"""`pmx export`: what it writes is what the agents counted, cell by cell, by parsers that are not pmx's;
of running agents, of finished ones, and of collected files alone."""

import csv
import json
import math
from pathlib import Path

import pytest

from agents import bucket_bounds
from harness import ROOT, pmx, until

parser = pytest.importorskip("prometheus_client.openmetrics.parser")

GOLDEN = ROOT / "tests/data/export"
TX = {"sent": "sent", "unsent": "unsent", "returned": "returned", "dup": "dup_back",
      "reordered": "reordered_back", "late": "late_back", "off_queue": "off_queue"}
RX = {"delivered": "delivered", "replied": "replied", "reply_unsent": "reply_unsent",
      "dup": "dup_forward", "reordered": "reordered_forward", "late": "late_forward"}
QUEUE = ("requests_sent", "requests_received", "replies_sent", "replies_received", "off_queue")
PORT = {"ipackets": "receive_packets", "opackets": "transmit_packets", "ibytes": "receive_bytes",
        "obytes": "transmit_bytes", "imissed": "receive_missed_packets",
        "rx_nombuf": "receive_nombuf_packets", "ierrors": "receive_error_packets",
        "oerrors": "transmit_error_packets", "pause_rx": "receive_pause_frames",
        "pause_tx": "transmit_pause_frames"}


def read_metrics(text):
    """({(sample, labels): value} of counters, of the rest); a series stands once."""
    counters, rest = {}, {}
    assert text.endswith("# EOF\n")
    for family in parser.text_string_to_metric_families(text):
        assert family.documentation and family.name.startswith("pmx_"), family.name
        assert family.type in ("counter", "gauge", "info", "histogram"), family
        assert not family.unit or family.name.endswith("_" + family.unit), family
        for sample in family.samples:
            key = sample.name, tuple(sorted(sample.labels.items()))
            into = counters if family.type == "counter" else rest
            assert key not in into, key
            into[key] = sample.value
    return counters, rest


def key(name, **labels):
    return name, tuple(sorted((k, str(v)) for k, v in labels.items()))


def expected_counters(results, port):
    """What the counters must be, by result.json; unknown ones are not there."""
    want = {}
    for host, result in results.items():
        trials = [{"trial": t["id"], "kind": t["kind"]} for t in result["trials"]]
        for i, trial in enumerate(trials):
            for flows, names, ends in (("tx", TX, ("src", "dst")), ("rx", RX, ("dst", "src"))):
                for flow in result[flows]:
                    labels = {ends[0]: host, ends[1]: flow["peer"], **trial}
                    for of, name in names.items():
                        want[key(f"pmx_flow_{name}_packets_total", **labels)] = (
                            flow["trials"][i][of])
            for number, queue in enumerate(result["queues"]):
                labels, counts = {"host": host, "queue": number, **trial}, queue["trials"][i]
                for of in QUEUE:
                    want[key(f"pmx_queue_{of}_packets_total", **labels)] = counts[of]
                want[key("pmx_queue_tx_full_bursts_total", **labels)] = counts["tx_full"]
                for of, name in (("busy_tsc", "busy"), ("total_tsc", "loop")):
                    want[key(f"pmx_queue_{name}_seconds_total", **labels)] = pytest.approx(
                        counts[of] / result["tsc_hz"], rel=1e-9)
        for of, name in PORT.items():
            want[key(f"pmx_port_{name}_total", host=host, port=port[host])] = result["port"][of]
        for reason, count in result["drop"].items():
            want[key("pmx_host_dropped_frames_total", host=host, reason=reason)] = count
        for of in ("unreachable", "too_big", "expired"):
            want[key(f"pmx_host_icmp_{of}_packets_total", host=host)] = result["icmp"][of]
    return {k: v for k, v in want.items() if v is not None}


def check_hist(rest, name, labels, hist):
    """The buckets of a histogram against the agent's own, which are finer."""
    def found(suffix, **more):
        return rest.pop(key(name + suffix, **labels, **more), None)
    assert found("_count") == hist["count"]
    assert found("_sum") == pytest.approx(hist["sum_ns"] / 1e9, rel=1e-12)
    ends = [dict(k[1])["le"] for k in rest if k[0] == name + "_bucket" and
            all(dict(k[1])[label] == str(v) for label, v in labels.items())]
    assert ends[-1] == "+Inf" and len(ends) > 50
    for le in ends:
        last_ns = math.inf if le == "+Inf" else round(float(le) * 1e9)
        below = sum(n for index, n in hist["buckets"] if bucket_bounds(index)[1] - 1 <= last_ns)
        assert found("_bucket", le=le) == below, le


def check_metrics(text, results, port):
    counters, rest = read_metrics(text)
    assert counters == expected_counters(results, port)
    for host, result in results.items():
        for flow in result["tx"]:
            for trial, counts in zip(result["trials"], flow["trials"]):
                labels = {"src": host, "dst": flow["peer"], "trial": trial["id"],
                          "kind": trial["kind"]}
                if counts["rtt"] is not None:
                    check_hist(rest, "pmx_flow_rtt_seconds", labels, counts["rtt"])
                assert rest[key("pmx_flow_streams", **labels)] == flow["streams"]
        if result["lateness"] is not None:
            check_hist(rest, "pmx_host_lateness_seconds", {"host": host}, result["lateness"])
        assert rest[key("pmx_host_measured", host=host)] == 1
        measured = result["trials"][-1]
        assert rest[key("pmx_host_window_seconds", host=host)] == pytest.approx(
            (measured["end_ns"] - measured["start_ns"]) / 1e9)
        if result["cpu_pct"] is not None:
            assert rest[key("pmx_host_cpu_ratio", host=host)] == pytest.approx(
                result["cpu_pct"] / 100, rel=1e-6)
        (info,) = [dict(k[1]) for k in rest
                   if k[0] == "pmx_host_info" and dict(k[1])["host"] == host]
        assert (info["mac"], info["port"]) == (result["mac"], port[host])
    assert not [k for k in rest if k[0].endswith(("_bucket", "_sum", "_count"))]


def read_lines(ndjson, tsv):
    """The rows of both, seen to be the same cell by cell."""
    rows = [json.loads(line) for line in ndjson.splitlines()]
    head, *lines = (line.split("\t") for line in tsv.splitlines())
    assert len(rows) == len(lines)
    for row, line in zip(rows, lines):
        assert list(row) == head and len(line) == len(head)
        for name, cell in zip(head, line):
            value = row[name]
            assert cell == ("" if value is None else value) if isinstance(value, str | None) else (
                float(cell) == value), (name, cell, value)
    return rows


def number(text):
    try:
        return float(text)
    except ValueError:
        return text or None


def check_samples(rows, reports):
    """The rows of every report.csv, in order, every column of it, nothing else."""
    for host, text in reports.items():
        lines = list(csv.DictReader(text.splitlines()))
        samples = [r for r in rows if r["row"] == "sample" and r["host"] == host]
        assert len(samples) == len(lines) > 0
        for row, line in zip(samples, lines):
            assert {k: row[k] for k in line} == {k: number(v) for k, v in line.items()}
            assert not [k for k, v in row.items() if v is not None and k not in line and k != "row"]
    assert {r["host"] for r in rows} == set(reports)


def check_results(rows, results):
    """Every counter of every trial; of each host what it says of its port."""
    rows = [r for r in rows if r["row"] == "result"]
    made = 0
    for host, result in results.items():
        def find(**cells):
            (row,) = [r for r in rows if r["host"] == host and
                      all(r[k] == v for k, v in cells.items())]
            return row
        for i, trial in enumerate(result["trials"]):
            window = (trial["end_ns"] - trial["start_ns"]) / 1e9
            for flows, names, sent in (("tx", TX, "sent"), ("rx", RX, "delivered")):
                for flow in result[flows]:
                    row = find(dir=flows, peer=flow["peer"], trial=trial["id"])
                    assert {n: row[n] for n in names.values()} == {
                        n: flow["trials"][i][of] for of, n in names.items()}
                    assert row["kind"] == trial["kind"]
                    assert row["pps"] == pytest.approx(flow["trials"][i][sent] / window, abs=1e-3)
                    assert (row["size"], row["rep_size"]) == (flow["req_bytes"], flow["rep_bytes"])
                    made += 1
            for q, queue in enumerate(result["queues"]):
                row = find(dir="queue", queue=q, trial=trial["id"])
                assert {n: row[n] for n in (*QUEUE, "tx_full", "lcore")} == {
                    n: queue["trials"][i][n] for n in (*QUEUE, "tx_full", "lcore")}
                made += 1
        row = find(dir="host")
        assert {k: row[f"port_{k}"] for k in result["port"]} == result["port"]
        assert {k: row[f"drop_{k}"] for k in result["drop"]} == result["drop"]
        assert row["cpus"] == result["cpus"] and row["path_mtu"] == result["icmp"]["path_mtu"]
        made += 1
    assert made == len(rows)


def export(matrix, form, *options, code=0):
    return pmx("export", matrix, "--format", form, *options).expect(code).out


def collected(directory, hosts):
    return ({h: json.loads((directory / h / "result.json").read_text()) for h in hosts},
            {h: (directory / h / "report.csv").read_text() for h in hosts})


def test_golden_parses():
    """The goldens of the unit tests by the same parser, and against each other."""
    counters, _ = read_metrics((GOLDEN / "three.openmetrics").read_text())
    rows = read_lines((GOLDEN / "three.ndjson").read_text(), (GOLDEN / "three.tsv").read_text())
    for row in rows:
        if row["dir"] not in ("tx", "rx"):
            continue
        src, dst = (row["host"], row["peer"])[::1 if row["dir"] == "tx" else -1]
        for name in (TX if row["dir"] == "tx" else RX).values():
            assert counters[key(f"pmx_flow_{name}_packets_total", src=src, dst=dst,
                                trial=row["trial"], kind=row["kind"])] == row[name]
    assert len(rows) == 2 * 3 * 2 * 2 + 3 * 2 * len({r["queue"] for r in rows} - {None}) + 3
    read_metrics((GOLDEN / "partial.openmetrics").read_text())


def test_finished_and_collected(lab, write, tmp_path):
    tree = lab.matrix(rate=300, warmup="500ms", duration="1500ms", queues=2)
    tree["timing"]["interval"] = "500ms"
    matrix, results_dir = write(tree), tmp_path / "results"
    port = {h: tree["hosts"][h].get("device") or tree["defaults"]["device"] for h in lab.hosts}
    summarized = pmx("run", matrix, "--quiet")
    summarized.expect(0, 1)
    pmx("collect", matrix, "--output", results_dir).expect(0)
    results, reports = collected(results_dir, lab.hosts)

    live = {f: export(matrix, f, code=summarized.code) for f in ("openmetrics", "ndjson", "tsv")}
    check_metrics(live["openmetrics"], results, port)
    rows = read_lines(live["ndjson"], live["tsv"])
    check_samples(rows, reports)
    check_results(rows, results)

    # the files alone, also when the hosts have nothing any more
    pmx("clean", matrix).expect(0)
    for form, text in live.items():
        out = tmp_path / form
        options = ("--no-collect", "--results", results_dir)
        assert export(matrix, form, *options, "--output", out, code=summarized.code) == ""
        assert out.read_text() == text
        assert export(matrix, form, *options, code=summarized.code) == text
    assert sorted(p.name for p in tmp_path.iterdir() if p.suffix == ".tmp") == []

    # exit codes as summarize's: partial, nothing, usage
    def codes(*options):
        both = [pmx(verb, matrix, "--no-collect", at, results_dir, *options).code
                for verb, at in (("summarize", "--output"), ("export", "--results"))]
        assert both[0] == both[1]
        return both[0]
    (results_dir / "h3/result.json").unlink()
    assert codes() == 4
    partial, gauges = read_metrics(export(matrix, "openmetrics", *options, code=4))
    assert gauges[key("pmx_host_measured", host="h3")] == 0
    assert partial == expected_counters({h: r for h, r in results.items() if h != "h3"}, port)
    (results_dir / "h2/report.csv").write_text("host,pps\nh2\n")
    broken = pmx("export", matrix, "--format", "tsv", *options).expect(4)
    assert f"{results_dir}/h2/report.csv:2: 1 fields, expected 2" in broken.err
    for host in ("h1", "h2"):
        (results_dir / host / "result.json").unlink()
    assert codes() == 3
    pmx("export", matrix, "--format", "xml").expect(2)


def test_running(lab, write, tmp_path):
    """Asked of agents that measure: every count is at most what it becomes."""
    matrix = write(lab.matrix(rate=300, warmup="0s", duration="60s"))
    tree_port = {h: "data0" for h in lab.hosts}
    pmx("start", matrix).expect(0)

    def sending():
        found = read_metrics(export(matrix, "openmetrics", code=0))[0]
        sent = [v for k, v in found.items() if k[0] == "pmx_flow_sent_packets_total"]
        return found if sent and min(sent) > 100 else None
    first = until(sending, 60, "every flow sends")

    def sampled():
        rows = [json.loads(line) for line in export(matrix, "ndjson").splitlines()]
        return rows if {r["row"] for r in rows} == {"sample", "result"} else None
    rows = until(sampled, 20, "samples beside results")
    assert all(r["pps"] > 0 for r in rows if r["row"] == "result" and r["dir"] in ("tx", "queue"))
    pmx("stop", matrix).expect(0)
    pmx("collect", matrix, "--output", tmp_path).expect(0, 4)
    results, _ = collected(Path(tmp_path), lab.hosts)
    text = export(matrix, "openmetrics", code=0)
    last, _ = read_metrics(text)
    check_metrics(text, results, tree_port)
    for name, value in first.items():
        # the port's counters of a kernel driver may be read a moment apart
        assert value <= last[name] + 1e-9, name
    pmx("clean", matrix).expect(0)

#!/usr/bin/python3
"""agree.py PMX MAKE_RESULTS [sanitized]: text, CSV, JSON and grids of one summary are the same numbers, cell by
cell, for collected results of 3, 100 and 1,000 hosts. And its memory: a share of 1 GB for 1,000 hosts
and 999,000 flows, but with sanitizers. PMX_SEED makes others."""

import csv
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PMX, MAKE = sys.argv[1:3]
FLEETS = [(3, 2, 60), (100, 99, 12), (1000, 8, 12)]  # hosts, peers, bins
LARGE, FULL, FULL_BYTES = 300, 1000, 1e9
BASE_BYTES = 20e6  # does not grow with the flows

GIGA = {"request_l1_gbps", "request_payload_gbps", "reply_l1_gbps", "reply_payload_gbps",
        "both_l1_gbps", "both_payload_gbps", "egress_l1_gbps"}
TITLES = {  # what the text calls the columns; the first ones stand left
    "hosts": (["host"], {"host": "host", "sent pps": "sent_pps", "back pps": "returned_pps",
                         "serving": "served_pps", "out bps": "egress_l1_gbps",
                         "loss %": "loss_pct", "p99": "rtt_p99_us", "box %": "cpu_pct",
                         "core %": "cpu_max_pct", "busy %": "busy_pct", "q": "busiest_queue"}),
    "queues": (["host"], {"host": "host", "queue": "queue", "cpu": "lcore",
                          "sent": "requests_sent", "back": "replies_received",
                          "asked": "requests_received", "answered": "replies_sent",
                          "off queue": "off_queue", "tx full": "tx_full", "busy %": "busy_pct"}),
    "flows": (["from", "to"], {"from": "src", "to": "dst", "sent pps": "sent_pps",
                               "back pps": "returned_pps", "loss %": "loss_pct",
                               "p99": "rtt_p99_us", "lost": "lost", "forward": "lost_forward",
                               "back": "lost_back"}),
}
HEADLINE = {  # as the text says it; {key} is a cell of the totals
    "REQUESTS": "{sent_pps} sent, {request_l1_gbps} wire, {request_payload_gbps} payload",
    "DELIVERED": "{delivered_pps} as the receivers counted, {delivered_pct} of sent",
    "REPLIES": "{replied_pps}, {reply_l1_gbps} wire, {reply_payload_gbps} payload",
    "RETURNED": "{returned_pps}, {returned_pct} of sent",
    "TARGET": "{target_pps}, {achieved_pct} achieved",
    "TOTAL": "{both_pps} both directions, {both_l1_gbps} wire, {both_payload_gbps} payload",
    "LOSS": "round trip {lost} ({loss_pct}), forward {lost_forward} ({loss_forward_pct}), "
            "back {lost_back} ({loss_back_pct})",
    "BY CAUSE": "receiver NIC missed {lost_imissed}, no mbuf {lost_rx_nombuf}, "
                "fabric {lost_fabric}",
    "UNSENT": "{unsent} requests were due and not offered: the tool's limit, no loss",
    "RTT": "avg {rtt_avg_us}, p50 {rtt_p50_us}, p99 {rtt_p99_us}, p99.9 {rtt_p999_us}, "
           "max {rtt_max_us}",
    "SCHEDULE": "requests left late by p99 {lateness_p99_us}, at most {lateness_max_us}",
    "STEERING": "{hosts_steered} of {hosts_of_queues} hosts with several queues bring replies to "
                "the queue that asked",
    "OFF QUEUE": "{off_queue} replies came back on another queue than asked",
}
ONLY_WITH = {"TARGET": "target", "BY CAUSE": "lost", "UNSENT": "unsent", "RTT": "rtt_max_us",
             "SCHEDULE": "lateness_max_us", "OFF QUEUE": "off_queue",  # not shown of 0
             "STEERING": "hosts_of_queues"}
GRIDS = {"pps": "sent_pps", "delivered": "delivered_pps", "loss": "loss_pct",
         "rtt_p99": "rtt_p99_us", "coverage": "measured_s"}
SI = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
TIME_US = {"ns": 1e-3, "us": 1, "ms": 1e3, "s": 1e6}
compared = 0


def must(good, *words):
    if not good:
        sys.exit("agree.py: " + " ".join(map(str, words)))


def same_plain(text, value, where):
    """A cell of CSV and its value in JSON."""
    global compared
    compared += 1
    if value is None:
        must(text == "", where, repr(text), "is not blank")
    elif isinstance(value, bool):
        must(text == str(value).lower(), where, text, value)
    elif isinstance(value, str):
        must(text == value, where, text, value)
    else:
        must(text != "" and float(text) == value, where, text, value)


def same_text(text, value, key, where):
    """As people read it: rounded to what it shows, and never to a 0 or 100 that it is not."""
    global compared
    compared += 1
    if value is None:
        must(text in ("", "-"), where, repr(text), "is not blank")
        return
    if isinstance(value, str):
        must(text == value, where, text, value)
        return
    match = re.fullmatch(r"([<>]?)(-?[\d,]+(?:\.(\d+))?) ?([a-zA-Z%]*)", text)
    must(match, where, repr(text), "is no number")
    sign, digits, decimals, unit = match.groups()
    number, step = float(digits.replace(",", "")), 10.0 ** -len(decimals or "")
    if key.endswith("_us"):
        scale = TIME_US[unit]
    else:
        unit = unit.removesuffix("pps").removesuffix("bps").removesuffix("%")
        scale = SI[unit] / (1e9 if key in GIGA else 1)
    if sign:  # below a step of 0, or of 100
        must(sign == "<" and 0 < value < step or sign == ">" and 100 - step < value < 100, where,
             text, value)
        return
    must(math.isclose(number * scale, value, rel_tol=1e-9, abs_tol=step * scale * 0.5000001),
         where, text, value)
    if key.endswith("_pct"):
        must((number in (0, 100)) == (value in (0, 100)) or decimals, where, text, value)


def columns_of(header):
    """(title, begin, end) of each column of a table's header."""
    return [(m.group(), m.start(), m.end()) for m in re.finditer(r"\S+(?: \S+)*", header)]


def cells_of(line, columns, left):
    """Names stand left and have no blanks; numbers end where their title ends."""
    edge = 0
    for title, begin, end in columns:
        if title in left:
            text = line[begin:].split(" ", 1)[0]
            edge = begin + len(text)
        else:
            text, edge = line[edge:end].strip(), end
        yield title, text


def text_table(lines, title, name):
    """Rows of the table of this title as {key: text}."""
    at = next(i for i, line in enumerate(lines) if line.startswith(title))
    left, keys = TITLES[name]
    columns = columns_of(lines[at + 1])
    must([c[0] for c in columns] == list(keys), name, [c[0] for c in columns])
    for line in lines[at + 2:]:
        if not line.strip() or re.match(r"  \S+: ", line):
            return
        yield {keys[t]: text for t, text in cells_of(line, columns, left)}


def check_tables(summary, lines, report):
    for name, title in (("hosts", "HOSTS"), ("queues", "QUEUES"), ("flows", "FLOWS")):
        rows = summary[name]
        with (report / f"{name}.csv").open() as file:
            table = csv.reader(file)
            header = next(table)
            written = list(table)
        must(len(written) == len(rows), name, len(written), "rows in CSV,", len(rows), "in JSON")
        for number, (mine, row) in enumerate(zip(written, rows)):
            must(len(mine) == len(row) == len(header), name, "row", number)
            for text, (key, value) in zip(mine, row.items()):
                same_plain(text, value, f"{name}.csv row {number} {key}:")
        shown = list(text_table(lines, title, name))
        if name == "hosts":
            order = {row["host"]: row for row in rows}
            must(len(shown) == len(rows), "hosts in the text:", len(shown))
            rows = [order[row["host"]] for row in shown]
        elif name == "queues":  # of hosts with several, with their sums
            several = {row["host"] for row in rows if row["queue"] > 0}
            rows = [row for row in rows if row["host"] in several]
            shown = [row for row in shown if row["queue"] != "all"]
        must(len(shown) == len(rows), name, len(shown), "rows in the text,", len(rows))
        for number, (mine, row) in enumerate(zip(shown, rows)):
            for key, text in mine.items():
                same_text(text, row[key], key, f"{name} of the text, row {number} {key}:")


def check_headline(totals, lines):
    for label, template in HEADLINE.items():
        line = next((line for line in lines if line.startswith(f"{label:<12}")), None)
        if label in ONLY_WITH and not totals[ONLY_WITH[label]]:
            must(line is None, label, "of nothing")
            continue
        must(line is not None, "no line", label)
        keys = re.findall(r"{(\w+)}", template)
        pattern = re.sub(r"\\{\w+\\}", "(.*?)", re.escape(template))
        match = re.fullmatch(pattern, line[12:])
        must(match, label, repr(line), "is not", template)
        for key, text in zip(keys, match.groups()):
            same_text(text, totals[key], key, f"{label} {key}:")


def check_grids(summary, grids):
    names = [host["host"] for host in summary["hosts"]]
    for name, key in GRIDS.items():
        with (grids / f"{name}.csv").open() as file:
            table = list(csv.reader(file))
        must(table[0] == ["src\\dst", *names], name, "header")
        cell = {(row["src"], row["dst"]): row[key] for row in summary["flows"]}
        for row in table[1:]:
            for dst, text in zip(names, row[1:], strict=True):
                same_plain(text, cell.get((row[0], dst)), f"{name}.csv {row[0]} {dst}:")


def make(folder, hosts, peers, bins):
    words = [MAKE, folder, hosts, peers, bins]
    # with some seeds three hosts have no data for a column or a table, which the text then leaves out
    subprocess.run([*map(str, words), os.environ.get("PMX_SEED", "1")], check=True)


def summarize(folder, *words):
    """The text, and bytes of memory at the peak."""
    with (folder / "text").open("w") as out:
        process = subprocess.Popen([PMX, "summarize", "--no-collect", "--color", "never",
                                    "--output", folder, *words, folder / "matrix.yaml"],
                                   stdout=out, stderr=subprocess.DEVNULL,
                                   env={**os.environ, "COLUMNS": "80"})
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    must(process.returncode in (0, 1, 4), "pmx summarize: exit", process.returncode)
    return (folder / "text").read_text().splitlines(), usage.ru_maxrss * 1024


def main():
    with tempfile.TemporaryDirectory() as temporary:
        for hosts, peers, bins in FLEETS:
            folder = Path(temporary) / str(hosts)
            make(folder, hosts, peers, bins)
            lines, _ = summarize(folder, "--verbose", "--json", folder / "json", "--report",
                                 folder, "--grid", folder / "grid")
            summary = json.loads((folder / "json").read_text())
            must(len(summary["hosts"]) == hosts and len(summary["flows"]) == hosts * peers,
                 hosts, "hosts:", len(summary["flows"]), "flows")
            check_headline(summary["totals"], lines)
            check_tables(summary, lines, folder)
            check_grids(summary, folder / "grid")
        folder = Path(temporary) / "large"
        make(folder, LARGE, LARGE - 1, 5)
        _, peak = summarize(folder)
        share = LARGE * (LARGE - 1) / (FULL * (FULL - 1))
        most = BASE_BYTES + (FULL_BYTES - BASE_BYTES) * share
        if sys.argv[3:] != ["sanitized"]:
            must(peak < most, f"{LARGE} hosts took {peak / 1e6:.0f} MB of {most / 1e6:.0f}")
    print(f"{compared:,} cells agree, {peak / 1e6:.0f} MB for {LARGE} hosts")


main()

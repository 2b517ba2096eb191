"""A broken matrix gets one line, `file:line:col: what, the value, the right form`, and exit 2; no
agent is started and no host is asked."""

import random
import re

import pytest

from harness import ROOT, pmx

BAD = ROOT / "tests/data/matrix/bad"
HOSTS = "hosts: {a: {addr: 198.18.0.1/24}, b: {addr: 198.18.0.2/24}}\n"
GOOD = ("pmx: 1\ntransport: local\ndefaults: {driver: memif}\n" + HOSTS +
        "traffic: {rate: 1k}\ntiming: {warmup: 100ms, duration: 100ms, drain: 100ms}\n")

# what is broken, the text, and a word that the message must have
BROKEN = {
    "unknown key": (GOOD.replace("rate:", "rte:"), "rate"),
    "unknown section": (GOOD.replace("timing:", "timings:"), "timing"),
    "duplicate key": (GOOD + "pmx: 1\n", "pmx"),
    "duplicate host": (GOOD.replace("b: {", "a: {"), "'a'"),
    "duplicate address": (GOOD.replace("18.0.2/", "18.0.1/"), "198.18.0.1"),
    "negative rate": (GOOD.replace("1k", "-1"), "'-1'"),
    "exponent": (GOOD.replace("1k", "1e99"), "'1e99'"),
    "bad suffix": (GOOD.replace("1k", "10Q"), "k, M or G"),
    "spaced rate": (GOOD.replace("1k", "10 kpps"), "10 kpps"),
    "hex rate": (GOOD.replace("1k", "0x1G"), "0x1G"),
    "not a number": (GOOD.replace("1k", ".nan"), ".nan"),
    "infinite": (GOOD.replace("1k", ".inf"), ".inf"),
    "unquoted MAC": (GOOD.replace("driver: memif", "device: 52:54:00:12:34:56"),
                     "52:54:00:12:34:56"),
    "missing address": (GOOD.replace("b: {addr: 198.18.0.2/24}", "b: {}"), "addr"),
    "address without prefix": (GOOD.replace("198.18.0.2/24", "198.18.0.2"), "198.18.0.2"),
    "address 256": (GOOD.replace("198.18.0.2/24", "198.18.0.256/24"), "198.18.0.256"),
    "empty cells": (GOOD.replace("rate: 1k", "pattern: cells, cells: {}"), "cells"),
    "zero cells": (GOOD.replace("rate: 1k", "pattern: cells, cells: {a: {b: 0}}"), "above 0"),
    "unknown cell host": (GOOD.replace("rate: 1k", "pattern: cells, cells: {a: {c: 1}}"), "'c'"),
    "one host": (GOOD.replace(", b: {addr: 198.18.0.2/24}", ""), "host"),
    "no hosts": (GOOD.replace(HOSTS, ""), "hosts"),
    "payload under 18": (GOOD.replace("rate:", "request: 17, rate:"), "17"),
    "payload over the MTU": (GOOD.replace("rate:", "request: 65508, rate:"), "65508"),
    "port 65536": (GOOD.replace("rate:", "port: 65536, rate:"), "65536"),
    "200 lcores": (GOOD.replace("driver: memif", "driver: memif, lcores: 0-199"), "0-199"),
    "CPU list": (GOOD.replace("driver: memif", "driver: memif, lcores: 3-1"), "3-1"),
    "unknown driver": (GOOD.replace("memif", "memfi"), "memif"),
    "other version": (GOOD.replace("pmx: 1", "pmx: 9"), "9"),
    "negative duration": (GOOD.replace("duration: 100ms", "duration: -1s"), "-1s"),
    "open brace": (GOOD.replace("1k}", "1k"), ""),
    "tab": (GOOD.replace("timing: {", "timing:\n\t{"), ""),
    "open quote": (GOOD.replace("1k", '"1k'), ""),
    "list": (GOOD.replace("{rate: 1k}", "[rate, 1k]"), "traffic"),
    "empty": ("", ""),
    "binary junk": (random.Random(1).randbytes(4096), ""),
    "NUL": (GOOD.encode().replace(b"1k", b"1\0k"), ""),
    "alias bomb": ("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n" + GOOD, ""),
    "1 MiB of nesting": ("[" * (1 << 20), ""),
    "1 MiB of mappings": ("{a: " * (1 << 18), ""),
}


@pytest.fixture
def refused(tmp_path):
    """Runs every verb that would start agents; a trap stands in the agent's place."""
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    trap.chmod(0o755)

    def refused(path, verbs=("run",)):
        for verb in verbs:
            run = pmx(verb, path, env={"PMX_AGENT": str(trap)}, deadline_s=20).expect(2)
            assert run.out == ""
            (line,) = run.err.splitlines()
            assert not (tmp_path / "started").exists()
        return line
    return refused


@pytest.mark.parametrize("what", BROKEN)
def test_broken(write, refused, what):
    text, word = BROKEN[what]
    path = write(text, "bad.yaml")
    line = refused(path)
    assert re.match(rf"pmx: {re.escape(str(path))}:\d+:\d+: \S", line), line
    assert word in line and len(line) < 1000


@pytest.mark.parametrize("path", sorted(BAD.glob("*.yaml")), ids=lambda path: path.stem)
def test_collection(refused, path):
    line = refused(path)
    assert re.match(rf"pmx: {re.escape(str(path))}:\d+:\d+: \S", line), line


def test_every_verb_says_the_same(write, refused):
    path = write(BROKEN["bad suffix"][0], "bad.yaml")
    assert "10Q" in refused(path, ("run", "start", "status", "stop", "clean", "check", "collect"))


def test_unreadable(tmp_path, refused):
    for path in (tmp_path / "nowhere.yaml", tmp_path):
        line = refused(path)
        assert str(path) in line


def test_good(write):
    """What the broken ones are broken from is good."""
    pmx("run", write(GOOD), "--dry-run").expect(0)

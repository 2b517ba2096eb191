"""Matrices made by gen and by hints' commands: the files, and what runs of them count."""

import json
import shlex

import pytest
import yaml

from harness import assert_identity, measure, pmx

GRID = ("# tx_size=64 rx_size=512 port=5300\n"
        "src\\dst,h1,h2,h3\n"
        "h1,,1000,500\n"
        "h2,1000,,1000\n"
        "h3,1000,,\n")
PORT = ("--device", "data0", "--driver", "af_packet")


@pytest.fixture
def servers(tmp_path):
    """Writes the list of n hosts."""
    def servers(count):
        path = tmp_path / f"servers{count}"
        path.write_text("".join(f"h{i}\n" for i in range(1, count + 1)))
        return path
    return servers


def of_lab(lab, tmp_path):
    path = tmp_path / "lab-servers"
    path.write_text("".join("{}={}\n".format(*line.split()[:2])
                            for line in lab.call("list").stdout.splitlines()))
    return path


def runnable(lab, write, text):
    """The matrix with what the lab's hosts need: log-in, and lcores that share CPUs."""
    tree, own = yaml.safe_load(text), lab.matrix()
    tree["ssh"] = {**tree.get("ssh", {}), **own["ssh"]}
    tree["defaults"] = {**own["defaults"], **tree["defaults"]}
    tree["timing"].update(warmup="100ms", duration="1s")
    return write(tree)


def sent(summary):
    return {(f["src"], f["dst"]): f["sent"] for f in summary["flows"]}


def test_grid_there_and_back(lab, write, tmp_path):
    """Imported, run in the lab, and exported as the file that it was."""
    grid, made, back = (tmp_path / name for name in ("grid.csv", "made.yaml", "back.csv"))
    grid.write_text(GRID)
    pmx("gen", "--from-csv", grid, of_lab(lab, tmp_path), *PORT, "--ssh-user", "root",
        "--output", made).expect(0)
    matrix = runnable(lab, write, made.read_text())
    summary = measure(matrix)
    assert sent(summary) == {("h1", "h2"): 1000, ("h1", "h3"): 500, ("h2", "h1"): 1000,
                             ("h2", "h3"): 1000, ("h3", "h1"): 1000}
    assert_identity(summary["totals"])
    assert (summary["run"]["request_bytes"], summary["run"]["reply_bytes"]) == (64, 512)
    pmx("check", made, "--nic-gbps", "1", "--csv", back).expect(0)
    assert back.read_text() == GRID
    run = pmx("check", matrix, "--nic-gbps", "1", "--csv", "-").expect(0)
    assert run.out == GRID


@pytest.mark.release
@pytest.mark.parametrize("options, flows", [
    (["--shape", "one-to-many", "--hub", "h2"], {"h2h1", "h2h3"}),
    (["--shape", "many-to-one"], {"h2h1", "h3h1"}),
    (["--shape", "halves"], {"h1h3", "h2h3", "h3h1", "h3h2"}),
    (["--peers", "1"], None),
])
def test_shapes_run(lab, write, tmp_path, options, flows):
    run = pmx("gen", of_lab(lab, tmp_path), "--pps", "500", *PORT, "--ssh-user", "root",
              *options).expect(0)
    summary = measure(runnable(lab, write, run.out))
    counts = sent(summary)
    assert set(counts.values()) == {500}
    if flows is None:  # one out and one in of each
        assert {src for src, _ in counts} == {dst for _, dst in counts} == set(lab.hosts)
        assert len(counts) == 3
    else:
        assert {src + dst for src, dst in counts} == flows
    assert_identity(summary["totals"])


def test_thousand_hosts(servers, tmp_path):
    """8 out and 8 in of each host; the same file twice; a cycle of layers has every ordered pair."""
    options = ("--pps", "100", "--peers", "8", "--seed", "42", *PORT)
    first, second = (pmx("gen", servers(1000), *options).expect(0).out for _ in range(2))
    assert first == second
    matrix = tmp_path / "m.yaml"
    matrix.write_text(first)
    report = pmx("check", matrix, "--json", "-").expect(0).json
    assert report["flows"] == 8000
    assert {(h["flows_out"], h["flows_in"]) for h in report["hosts"]} == {(8, 8)}
    for more, flows in ((("--dwell", "2s"), 999000),
                        (("--dwell", "2s", "--equal-layers"), 1000000)):
        matrix.write_text(pmx("gen", servers(1000), *options, *more).expect(0).out)
        report = pmx("check", matrix, "--json", "-").expect(0).json
        assert (report["flows"], report["layers"], report["cycle_s"]) == (flows, 125, 250)
        assert {(h["flows_out"], h["flows_in"]) for h in report["hosts"]} == {(8, 8)}


def test_budget_is_what_check_calls_full(servers, tmp_path):
    for options in ((), ("--peers", "2"), ("--shape", "many-to-one", "--hub", "h2,h3"),
                    ("--tx-frame", "64", "--rx-frame", "1518"), ("--peers", "2", "--dwell", "1s")):
        matrix = tmp_path / "m.yaml"
        made = pmx("gen", servers(6), "--gbps", "10", *PORT, *options).expect(0)
        matrix.write_text(made.out)
        assert "per host" in made.err and "fleet" in made.err
        report = pmx("check", matrix, "--nic-gbps", "10", "--json", "-").expect(0).json
        assert max(h["load_pct"] for h in report["hosts"]) == pytest.approx(100, abs=0.01)
        pmx("check", matrix, "--nic-gbps", "9.99").expect(1)


def test_expand_says_the_same(servers, tmp_path):
    grids = []
    for more in ((), ("--expand",)):
        matrix = tmp_path / f"m{len(grids)}.yaml"
        pmx("gen", servers(7), "--pps", "2.5k", "--peers", "3", *PORT, *more,
            "--output", matrix).expect(0)
        grids.append(pmx("check", matrix, "--csv", "-").expect(0).out)
    assert "cells:" in (tmp_path / "m1.yaml").read_text()
    assert grids[0] == grids[1] and grids[0].count("2500") == 21


def test_never_over_a_file(servers, tmp_path):
    matrix = tmp_path / "m.yaml"
    matrix.write_text("mine")
    run = pmx("gen", servers(3), "--pps", "1k", *PORT, "-o", matrix).expect(2)
    assert "--force" in run.err and matrix.read_text() == "mine"
    pmx("gen", servers(3), "--pps", "1k", *PORT, "-o", matrix, "--force").expect(0)
    assert yaml.safe_load(matrix.read_text())["pmx"] == 1
    assert list(tmp_path.glob("*.tmp")) == []


@pytest.mark.parametrize("options, word", [
    ((), "--gbps"),
    (("--pps", "1k", "--gbps", "1"), "give one"),
    (("--pps", "1k", "--streams", "16385"), "16384"),
    (("--pps", "1k", "--peers", "5"), "peers 5"),
    (("--pps", "1k", "--seed", "5"), "--peers"),
    (("--pps", "1k", "--dwell", "1s"), "--peers"),
    (("--pps", "1k", "--peers", "2", "--equal-layers"), "--dwell"),
    (("--pps", "1k", "--peers", "2", "--shape", "pairs"), "--shape mesh"),
    (("--pps", "1k", "--shape", "pairs"), "no partner"),
    (("--pps", "1k", "--hub", "h1"), "--shape"),
    (("--pps", "1k", "--shape", "one-to-many", "--hub", "h9"), "h9"),
    (("--pps", "1k", "--tx-frame", "64", "--request", "18"), "--request"),
    (("--pps", "1k", "--peers", "2", "--dwell", "1s", "--expand"), "--dwell"),
    (("--line", "50"), "--nic-gbps"),
    (("--pps", "1k", "--request", "65507"), "65507"),
    (("--pps", "1k", "--from-csv", "x.csv"), "--from-csv"),
])
def test_refused(servers, options, word):
    run = pmx("gen", servers(5), *PORT, *options).expect(2)
    assert run.out == ""
    (line,) = run.err.splitlines()
    assert word in line, line


def test_hints_commands_hold(servers, tmp_path):
    """What hints prints is run as it stands, and check finds what hints said."""
    goal = ("--gbps", "4", "--peers", "2", "--reply", "512", "--queue-mpps", "0.5", *PORT)
    run = pmx("hints", servers(6), *goal, "--nic-gbps", "10").expect(0)
    commands = [shlex.split(line) for line in run.out.splitlines() if line.startswith("  pmx ")]
    assert [words[1] for words in commands if words[1] != "doctor"] == ["gen", "check", "run", "clean"]
    for words in commands[:2]:
        out = pmx(*words[1:], cwd=tmp_path).expect(0).out
    assert "VERDICT" in out
    report = pmx("check", "matrix.yaml", "--nic-gbps", "4", "--json", "-", cwd=tmp_path).expect(0).json
    host = report["hosts"][0]
    assert host["load_pct"] == pytest.approx(100, abs=0.01)
    queues = yaml.safe_load((tmp_path / "matrix.yaml").read_text())["defaults"]["queues"]
    assert queues == -(-host["tx_pps"] // 500e3)
    assert f"QUEUES      {queues:.0f} a host" in run.out
    pmx("hints", servers(6), *goal, "--nic-gbps", "1").expect(1)
    pmx("hints", "--pps", "5k").expect(2)


def test_check_of_many_to_one(servers, tmp_path):
    """The hub is over, by the replies that it owes; the others are not."""
    matrix, result = tmp_path / "m.yaml", tmp_path / "check.json"
    pmx("gen", servers(5), "--pps", "100k", "--shape", "many-to-one", *PORT, "-o", matrix).expect(0)
    run = pmx("check", matrix, "--nic-mpps", "0.3", "--json", result).expect(1)
    assert "over capacity on 1 of 5 hosts; the worst is h1" in " ".join(run.out.split())
    report = json.loads(result.read_text())
    assert [h["fit"] for h in report["hosts"]] == ["OVER"] + 4 * ["fits"]

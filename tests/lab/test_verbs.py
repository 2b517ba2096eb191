"""The life of a detached run, verb by verb, and the verbs that touch no host."""

import json

import pytest
import yaml

from harness import assert_identity, pmx, until


@pytest.fixture
def matrix(lab, write):
    return write(lab.matrix(rate=500, warmup="200ms", duration="1s"))


def by_host(lab, run):
    """{host: its lines}, and the hosts stand in the order of the matrix."""
    found = {}
    for line in run.out.splitlines():
        host, _, text = line.partition(": ")
        found.setdefault(host, []).append(text)
    assert list(found) == lab.hosts, str(run)
    return found


def test_life(lab, matrix, tmp_path):
    nothing = pmx("status", matrix).expect(1)
    assert all("NOT-DEPLOYED" in lines[0] for lines in by_host(lab, nothing).values())

    begun = pmx("start", matrix).expect(0)
    by_host(lab, begun)
    assert len(lab.all_agents()) == 3

    # a second start does not disturb the first
    again = pmx("start", matrix).expect(3)
    assert "FAILED on 3/3" in again.err
    assert len(lab.all_agents()) == 3

    live = pmx("status", matrix).expect(0)
    assert all("running" in lines[0] for lines in by_host(lab, live).values())
    state = pmx("status", matrix, "--json", "-").expect(0).json
    assert [host["host"] for host in state["hosts"]] == lab.hosts
    until(lambda: all(host["tx_pps"] and host["tx_pps"] > 0 for host in
                      pmx("status", matrix, "--json", "-").json["hosts"]), 10, "live rates")

    live = pmx("summarize", matrix, "--json", "-").expect(0).json
    assert live["verdict"]["running"] is True and live["totals"]["sent"] > 0

    logs = pmx("logs", matrix).expect(0)
    by_host(lab, logs)

    stopped = pmx("stop", matrix).expect(0)
    assert all("stopped" in lines[0] for lines in by_host(lab, stopped).values())
    assert lab.all_agents() == {}
    ended = pmx("status", matrix).expect(0)
    assert all("NOT-RUNNING" in lines[0] for lines in by_host(lab, ended).values())
    twice = pmx("stop", matrix).expect(0)
    assert all("not running" in lines[0] for lines in by_host(lab, twice).values())

    kept = tmp_path / "kept"
    pmx("collect", matrix, "--output", kept).expect(0)
    for host in lab.hosts:
        result = json.loads((kept / host / "result.json").read_text())
        assert result["host"] == host and result["ended_by"] == "stop"
        assert (kept / host / "agent.log").exists()
    asked = pmx("summarize", matrix, "--json", "-").expect(0).json
    read = pmx("summarize", matrix, "--json", "-", "--no-collect", "--output", kept).expect(0).json
    assert asked["totals"] == read["totals"]
    assert_identity(asked["totals"])
    assert asked["totals"]["sent"] >= live["totals"]["sent"]

    pmx("clean", matrix).expect(0)
    gone = pmx("status", matrix).expect(1)
    assert all("NOT-DEPLOYED" in lines[0] for lines in by_host(lab, gone).values())
    # what was collected is still readable
    pmx("summarize", matrix, "--no-collect", "--output", kept).expect(0)


def test_report(lab, matrix, tmp_path):
    """The agents' interval rows: one per flow and interval, whatever the number of queues."""
    pmx("run", matrix).expect(0)
    pmx("collect", matrix, "--output", tmp_path).expect(0)
    lines = (tmp_path / "h1/report.csv").read_text().splitlines()
    head = "ts,host,dir,peer,size,rep_size,target_pps,pps,mbps,rep_pps,rep_mbps,loss_pct"
    assert lines[0].startswith(head)
    assert any(line.split(",")[1:4] == ["h1", "tx", "h2"] for line in lines[1:])


def test_detached_ends_by_itself(lab, matrix):
    pmx("start", matrix, "--for", "1s").expect(0)
    until(lambda: lab.all_agents() == {}, 15, "agents end by their plan")
    summary = pmx("summarize", matrix, "--json", "-").expect(0).json
    assert {host["ended_by"] for host in summary["hosts"]} == {"plan"}
    assert_identity(summary["totals"])
    assert summary["totals"]["sent"] + summary["totals"]["unsent"] == 6 * 500


def test_some_hosts(lab, matrix):
    pmx("start", matrix).expect(0)
    one = pmx("status", matrix, "--hosts", "h2").expect(0)
    assert [line.split(":")[0] for line in one.out.splitlines()] == ["h2"]
    pmx("stop", matrix, "--hosts", "h1,h3").expect(0)
    assert list(lab.all_agents()) == ["h2"]
    assert "h9" in pmx("status", matrix, "--hosts", "h9").expect(2).err
    pmx("clean", matrix).expect(0)


def test_dry_run(lab, matrix):
    """Prints what would be done; nothing is."""
    for verb in ("run", "start", "status", "summarize", "collect", "logs", "stop", "clean"):
        run = pmx(verb, matrix, "--dry-run").expect(0)
        for host in lab.hosts:
            assert host in run.out, str(run)
    for host in lab.hosts:
        assert not lab.exists(host, "/var/tmp/pmx")


@pytest.mark.release
def test_options_and_environment(lab, matrix):
    """Command line before environment before matrix."""
    pmx("run", matrix, env={"PMX_REMOTE_DIR": "/var/tmp/elsewhere", "PMX_FOR": "700ms"}).expect(0)
    assert lab.exists("h1", "/var/tmp/elsewhere/result.json")
    assert not lab.exists("h1", "/var/tmp/pmx")
    summary = pmx("run", matrix, "--for", "600ms", "--json", "-",
                  env={"PMX_REMOTE_DIR": "/var/tmp/elsewhere", "PMX_FOR": "9s"}).expect(0).json
    assert summary["run"]["duration_s"] == pytest.approx(0.6)
    pmx("clean", matrix, "--remote-dir", "/var/tmp/elsewhere").expect(0)
    assert not lab.exists("h1", "/var/tmp/elsewhere")


def test_gen_and_check(lab, write, tmp_path):
    """A matrix made of a server list runs as it is once it is told where things are."""
    servers = tmp_path / "servers"
    listed = [line.split()[:2] for line in lab.call("list").stdout.splitlines()]
    servers.write_text("# the lab\n" + "".join(f"{name}={addr}\n" for name, addr in listed))
    matrix = tmp_path / "gen.yaml"
    pmx("gen", servers, "--pps", "500", "--request", "64", "--reply", "128", "--device", "data0",
        "--driver", "af_packet", "--data-net", "198.18.0.0/24", "--ssh-user", "root",
        "--output", matrix).expect(0)
    text = matrix.read_text()
    for word in ("h1", "198.18.0.", "data0", "500"):
        assert word in text
    pmx("check", matrix, "--nic-gbps", "1").expect(0)
    small = pmx("check", matrix, "--nic-gbps", "0.0001").expect(1)
    assert "h1" in small.out + small.err

    tree = yaml.safe_load(text)
    tree["ssh"].update(lab.matrix()["ssh"])
    run = pmx("run", write(tree), "--for", "1s", "--warmup", "100ms", "--json", "-").expect(0)
    assert_identity(run.json["totals"])
    assert run.json["totals"]["target"] == 6 * 500


def test_gen_refuses(tmp_path):
    for text, word in (("a\n", "2"), ("a\na\n", "a"), ("a=1.2.3.4:99999\nb\n", "99999")):
        servers = tmp_path / "servers"
        servers.write_text(text)
        run = pmx("gen", servers, "--pps", "1k").expect(2)
        assert len(run.err.splitlines()) == 1 and word in run.err

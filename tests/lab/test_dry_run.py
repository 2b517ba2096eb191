"""--dry-run prints the commands that are really run: compared with those that the hosts' log-in shells
got."""

import re

import pytest

from harness import pmx, until

VERBS = ("start", "status", "summarize", "collect", "logs", "stop", "clean")
LOG = "/run/lock/commands"


@pytest.fixture
def logged(lab):
    """Every command that SSH brings to h1 is written down before it is run."""
    keys = lab.dir / "h1/authorized_keys"
    plain = keys.read_text()
    shell = f'printf \'%s\\0\' \\"$SSH_ORIGINAL_COMMAND\\" >> {LOG}; eval \\"$SSH_ORIGINAL_COMMAND\\"'
    keys.write_text(f'command="{shell}" {plain}')

    def commands():
        found = lab.sh("h1", f"cat {LOG} 2>/dev/null; rm -f {LOG}").split("\0")
        return [command for command in found if command]
    yield commands
    keys.write_text(plain)
    lab.sh("h1", f"rm -f {LOG}")


def same(command):
    """Sizes and hashes of a config differ with the run's identity."""
    return re.sub(r"'\d+'", "N", command)


def printed(run, host="h1"):
    return [same(line[len(host) + 2:]) for line in run.out.splitlines()
            if line.startswith(f"{host}$ ")]


def test_all_verbs(lab, write, tmp_path, logged):
    """In the order in which a fleet lives, each dry first: nothing is touched, and then nothing is run
    that was not printed."""
    tree = lab.matrix(rate=200, warmup="0s", duration="60s")
    path = write(tree)
    for verb in VERBS:
        more = ["--output", tmp_path] if verb == "collect" else []
        more += ["--for", "600s"] if verb == "start" else []
        dry = pmx(verb, path, "--dry-run", *more).expect(0)
        assert logged() == [], verb
        pmx(verb, path, *more).expect(0)
        ran = [same(command) for command in logged()]
        assert ran, verb
        assert [command for command in ran if command not in printed(dry)] == [], verb
    assert not lab.exists("h1", "/var/tmp/pmx")


@pytest.mark.release
def test_run(lab, write, logged):
    path = write(lab.matrix(rate=200, warmup="0s", duration="500ms"))
    dry = pmx("run", path, "--dry-run").expect(0)
    assert logged() == []
    pmx("run", path).expect(0)
    ran = [same(command) for command in logged()]
    # what ends an agent is printed by `stop --dry-run`
    known = printed(dry) + printed(pmx("stop", path, "--dry-run").expect(0))
    assert len(ran) >= 4 and [command for command in ran if command not in known] == []


def test_reload(lab, write, logged):
    """It asks the hosts, so that it can tell which would restart; beyond that it changes nothing."""
    tree = lab.matrix(rate=200, warmup="0s")
    pmx("start", write(tree), "--for", "600s").expect(0)
    until(lambda: "running" in pmx("status", write(tree)).out, 20, "running")
    before = lab.file("h1", "/var/tmp/pmx/agent.pid")
    tree["traffic"]["cells"] = {"h1": {"h2": 400}}
    path = write(tree)
    logged()
    dry = pmx("reload", path, "--dry-run").expect(0)
    asked = [same(command) for command in logged()]
    assert lab.file("h1", "/var/tmp/pmx/agent.pid") == before
    assert not printed(dry, "h2") and not printed(dry, "h3")
    pmx("reload", path).expect(0)
    ran = [same(command) for command in logged()]
    assert [command for command in ran if command not in printed(dry) + asked] == []
    assert [command for command in printed(dry) if command not in ran] == []
    pmx("clean", path).expect(0)

"""Over real sshd: whom pmx trusts, and what becomes of a host that cannot be reached."""

import signal

import pytest

from harness import assert_identity, flow, host_row, pmx, until


@pytest.fixture
def tree(lab):
    tree = lab.matrix(rate=500, warmup="100ms", duration="1s")
    tree["ssh"]["connect_timeout"] = "2s"
    return tree


def known_hosts(lab, tmp_path, change):
    """A copy of the lab's known_hosts, with change(key of h2) in h2's place; None leaves it out."""
    lines = []
    for line in (lab.dir / "known_hosts").read_text().splitlines():
        names, kind, key = line.split()
        if names.startswith("h2,"):
            key = change(key)
        if key:
            lines.append(f"{names} {kind} {key}\n")
    path = tmp_path / "known_hosts"
    path.write_text("".join(lines))
    return path


def nothing_left(lab):
    assert lab.all_agents() == {}


@pytest.mark.parametrize("state", ["changed", "unknown"])
def test_host_key(lab, tree, write, tmp_path, state):
    """Neither a changed nor an unknown key is ever taken, nor is it written down."""
    other = (lab.dir / "h1/host_key.pub").read_text().split()[1]
    path = known_hosts(lab, tmp_path, lambda key: other if state == "changed" else None)
    before = path.read_text()
    tree["ssh"]["known_hosts"] = str(path)
    run = pmx("run", write(tree), "--json", "-").expect(3)
    (line,) = [line for line in run.err.splitlines() if line.startswith("pmx: h2: ")]
    assert "key" in line and str(path) in line
    assert "FAILED on 1/3: h2" in run.err
    assert run.out == ""
    assert path.read_text() == before
    assert not lab.exists("h2", "/var/tmp/pmx")
    nothing_left(lab)


def test_changed_key_is_said(lab, tree, write, tmp_path):
    other = (lab.dir / "h1/host_key.pub").read_text().split()[1]
    tree["ssh"]["known_hosts"] = str(known_hosts(lab, tmp_path, lambda key: other))
    run = pmx("run", write(tree), "--json", "-", "--allow-partial").expect(4)
    assert "changed" in run.err
    assert flow(run.json, "h1", "h3")["sent"] > 0


def kill_sshd(lab):
    lab.sh("h2", f"kill $(cat {lab.dir}/h2/sshd.pid)")
    until(lambda: "h2 " + lab.dir.name and "sshd-down" in lab.call("list").stdout, 5, "sshd down")


def revive_sshd(lab):
    lab.sh("h2", f"/usr/sbin/sshd -f {lab.dir}/h2/sshd_config -E {lab.dir}/h2/sshd.log")
    until(lambda: lab.call("list").stdout.count("running") == 3, 5, "sshd up")


@pytest.fixture(params=["no answer", "refused"])
def dead(lab, request):
    if request.param == "refused":
        kill_sshd(lab)
        yield request.param
        revive_sshd(lab)
    else:
        lab.fault("mgmt", "h2", "down")
        yield request.param
        lab.fault("clear")


def test_dead_host(lab, tree, write, dead):
    """Named, and nothing is measured."""
    run = pmx("run", write(tree), "--json", "-").expect(3)
    assert any(line.startswith("pmx: h2: ") for line in run.err.splitlines())
    assert "FAILED on 1/3: h2" in run.err
    assert run.out == ""
    nothing_left(lab)


def test_dead_host_allowed(lab, tree, write, dead):
    """Named, and the others are measured."""
    run = pmx("run", write(tree), "--json", "-", "--allow-partial").expect(4)
    assert "FAILED on 1/3: h2" in run.err, str(run)
    summary = run.json
    assert summary["verdict"]["partial"] is True and summary["verdict"]["exit"] == 4
    gone = host_row(summary, "h2")
    assert gone["measured"] is False and gone["failure"]
    assert gone["sent"] is None  # not measured is not 0
    for pair in (("h1", "h3"), ("h3", "h1")):
        row = flow(summary, *pair)
        assert_identity(row, lossless=False)
        assert row["sent"] + row["unsent"] == row["target"] == 500
    for row in summary["flows"]:
        if "h2" in (row["src"], row["dst"]):
            assert row["returned"] is None
    nothing_left(lab)


def test_wrong_identity(lab, tree, write, tmp_path):
    key = tmp_path / "key"
    lab.exec("fabric", "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key))
    tree["ssh"]["identity"] = str(key)
    run = pmx("run", write(tree), env={"SSH_AUTH_SOCK": "", "HOME": str(tmp_path)}).expect(3)
    assert "FAILED on 3/3: h1, h2, h3" in run.err
    nothing_left(lab)


def test_ssh_config(lab, tree, write, tmp_path):
    """Names, keys and users can all come from an ssh_config."""
    tree["ssh"] = {"config": str(lab.dir / "ssh_config")}
    for host in lab.hosts:
        tree["hosts"][host]["ssh"] = host
    run = pmx("run", write(tree), "--json", "-", env={"HOME": str(tmp_path)}).expect(0)
    assert_identity(run.json["totals"])


def test_jobs(lab, tree, write):
    """One host at a time is slower, and the same."""
    run = pmx("run", write(tree), "--json", "-", "--jobs", "1").expect(0)
    assert_identity(run.json["totals"])


def test_noisy_login(lab, tree, write):
    """A login that talks on stdout disturbs neither the upload nor the session."""
    lab.sh("h2", "echo 'echo welcome to $HOSTNAME' >~root/.bashrc")
    try:
        run = pmx("run", write(tree), "--json", "-").expect(0)
        assert_identity(run.json["totals"])
    finally:
        lab.sh("h2", "rm ~root/.bashrc")


def test_remote_dir_of_somebody_else(lab, tree, write):
    """A directory that pmx did not make is neither used nor removed."""
    lab.sh("h2", "mkdir -p /var/tmp/pmx && echo mine >/var/tmp/pmx/file")
    matrix = write(tree)
    run = pmx("run", matrix).expect(3)
    assert any(line.startswith("pmx: h2: ") and "/var/tmp/pmx" in line
               for line in run.err.splitlines())
    clean = pmx("clean", matrix)
    assert clean.code != 0 and "h2" in clean.err
    assert lab.file("h2", "/var/tmp/pmx/file") == "mine\n"
    nothing_left(lab)


def test_full_disk(lab, tree, write):
    """The upload fails with the reason, and leaves no half a file under the agent's name."""
    lab.tidy()
    lab.sh("h2", "mount -o remount,size=2M /var/tmp")
    try:
        run = pmx("run", write(tree)).expect(3)
        (line,) = [line for line in run.err.splitlines() if line.startswith("pmx: h2: ")]
        assert "pmx-agent" in line or "space" in line.lower()
        assert not lab.exists("h2", "/var/tmp/pmx/pmx-agent")
    finally:
        lab.sh("h2", "mount -o remount,size=50% /var/tmp")
    nothing_left(lab)


def test_interrupted_while_connecting(lab, tree, write, spawn):
    """^C is heard while a host does not answer."""
    tree["ssh"]["connect_timeout"] = "30s"
    lab.fault("mgmt", "h2", "down")
    run = spawn("run", write(tree), "--verbose")
    until(lambda: run.err.count("connected") == 2, 15, "two hosts are connected")
    run.kill(signal.SIGINT)
    run.wait(5).expect(130)
    lab.fault("clear")
    nothing_left(lab)

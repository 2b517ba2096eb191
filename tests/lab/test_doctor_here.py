"""What pmx doctor says of this machine, with a tree of files in place of the hosts: no lab."""

import os
import subprocess

import pytest

from harness import AGENT, pmx, sanitized

HOSTS = {"a": {"addr": "198.18.0.1/24", "driver": "memif"},
         "b": {"addr": "198.18.0.2/24", "driver": "memif"}}
LOCAL = {"pmx": 1, "transport": "local", "hosts": HOSTS, "traffic": {"rate": "1k"}}
SSH = {"pmx": 1, "hosts": {name: {"ssh": f"{name}.example", "addr": host["addr"], "device": "eth1",
                                  "driver": "af_packet"} for name, host in HOSTS.items()},
       "traffic": {"rate": "1k"}}


@pytest.fixture
def root(tmp_path):
    """A host that tells its interface and nothing else."""
    link = tmp_path / "root/sys/class/net/eth1"
    link.mkdir(parents=True)
    for name, text in (("flags", "0x1003"), ("mtu", "1500"), ("carrier", "1")):
        (link / name).write_text(text + "\n")
    return tmp_path / "root"


@pytest.fixture
def doctor(write, root):
    def doctor(matrix, *args, **env):
        return pmx("doctor", write(matrix), "--root", root, "--json", "-", *args, env=env)
    return doctor


def here(run):
    return {f["probe"]: (f["health"], f["text"], f.get("fix") or "") for f in run.json["here"]}


def test_well(doctor):
    run = doctor(LOCAL).expect(0)
    # the sanitizers' run-time is a library that hosts seldom have
    assert {probe: found[0] for probe, found in here(run).items()} == {
        **dict.fromkeys(["agent", "plan", "room", "files"], "ok"),
        "linkage": "warning" if sanitized() else "ok"}
    assert str(AGENT) in here(run)["agent"][1] and "DPDK" in here(run)["agent"][1]
    assert "2 hosts, 2 flows" in here(run)["plan"][1]


def test_a_tree_that_tells_little(doctor):
    """What is not there is unknown, and no fault; what is there is read."""
    run = doctor(SSH, SSH_AUTH_SOCK="").expect(0)
    for host in run.json["hosts"]:
        found = {f["probe"]: f["health"] for f in host["findings"]}
        assert {probe for probe, health in found.items() if health == "ok"} == {
            "device", "link", "mtu", "pmd"}
        assert set(found.values()) == {"ok", "unknown"}
        assert len(found) > 25


def test_no_agent(doctor, tmp_path):
    run = doctor(LOCAL, PMX_AGENT=str(tmp_path / "none")).expect(1)
    assert here(run)["agent"][0] == "blocker" and "none" in here(run)["agent"][1]
    assert run.json["counts"]["blocker"] == 1  # the hosts' are unknown
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    run = doctor(LOCAL, PMX_AGENT=str(script)).expect(1)
    assert "ELF" in here(run)["agent"][1]


def test_another_program(doctor):
    """It needs shared libraries, and is no agent that has memif."""
    run = doctor(LOCAL, PMX_AGENT="/usr/bin/ssh")
    assert here(run)["linkage"][0] == "warning" and "libcrypto" in here(run)["linkage"][1]
    (pmd,) = [f for f in run.json["hosts"][0]["findings"] if f["probe"] == "pmd"]
    assert pmd["health"] == "unknown"


def test_keys(doctor, tmp_path):
    nothing = {"SSH_AUTH_SOCK": "", "HOME": str(tmp_path)}
    assert here(doctor(SSH, **nothing))["keys"][0] == "warning"
    lost = {**SSH, "ssh": {"identity": str(tmp_path / "lost")}}
    assert here(doctor(lost, **nothing).expect(1))["keys"][0] == "blocker"
    (tmp_path / "lost").write_text("a key\n")
    assert here(doctor(lost, **nothing))["keys"][0] == "ok"
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh/id_ed25519").write_text("a key\n")
    assert here(doctor(SSH, **nothing))["keys"][0] == "ok"
    socket = tmp_path / "agent"
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", str(socket)], stdout=subprocess.DEVNULL)
    try:
        while not socket.exists() and agent.poll() is None:
            os.sched_yield()
        run = doctor(SSH, SSH_AUTH_SOCK=str(socket), HOME="/nowhere")
        assert "SSH agent answers" in here(run)["keys"][1]
    finally:
        agent.terminate()
        agent.wait()


def test_sudo_of_a_tree(doctor, root):
    (root / "pmx").mkdir()
    (root / "pmx/sudo").write_text("sudo: a password is required\n")
    run = doctor({**SSH, "ssh": {"sudo": True}}, SSH_AUTH_SOCK="").expect(1)
    assert run.json["counts"]["blocker"] == 2

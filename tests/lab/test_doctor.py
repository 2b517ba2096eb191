"""pmx doctor on real hosts: what it finds of faults that were made, and that it leaves nothing."""

import contextlib

import pytest

from harness import pmx


@pytest.fixture
def tree(lab):
    tree = lab.matrix(rate=500)
    tree["ssh"]["connect_timeout"] = "2s"
    return tree


def findings(run, host):
    """{probe: (health, text, fix)} of one host."""
    (found,) = [h for h in run.json["hosts"] if h["host"] == host]
    return {f["probe"]: (f["health"], f["text"], f.get("fix") or "") for f in found["findings"]}


def blockers(run, host):
    return {p: f for p, f in findings(run, host).items() if f[0] == "blocker"}


@contextlib.contextmanager
def made(lab, host, make, undo):
    lab.sh(host, make)
    try:
        yield
    finally:
        lab.sh(host, undo)


def test_ready(lab, tree, write):
    """A lab that is well: exit 0, every host in its lines, nothing written anywhere."""
    matrix = write(tree)
    run = pmx("doctor", matrix, "--json", "-").expect(0)
    assert run.json["ready"] is True and run.json["exit"] == 0
    assert [h["host"] for h in run.json["hosts"]] == lab.hosts
    counts = run.json["counts"]
    assert counts["asked"] == counts["hosts"] == 3 and counts["blocker"] == 0
    every = [f for h in run.json["hosts"] for f in h["findings"]] + run.json["here"]
    for health in ("blocker", "warning", "note", "unknown", "ok"):
        assert counts[health] == sum(f["health"] == health for f in every)
    for host in lab.hosts:
        found = findings(run, host)
        for probe in ("login", "machine", "glibc", "libraries", "pmd", "directory", "mount", "space",
                      "running", "memory", "hugepages", "cgroup", "lcores", "siblings", "device",
                      "rights", "management", "link", "mtu", "address", "xdp", "offloads"):
            assert found[probe][0] == "ok", (host, probe, found[probe])
        assert "mgmt0" in found["management"][1]
        assert not lab.exists(host, "/var/tmp/pmx")
    assert lab.all_agents() == {}


def test_text(lab, tree, write):
    """Hosts in the order of the matrix, only problems unless --all, a verdict at the end."""
    matrix = write(tree)
    every = pmx("doctor", matrix, "--all").expect(0)
    lines = every.out.splitlines()
    hosts = [line.split(": ")[0] for line in lines[:-1]]
    assert list(dict.fromkeys(hosts)) == ["(here)", *lab.hosts]
    assert sorted(hosts, key=(["(here)", *lab.hosts]).index) == hosts
    assert lines[-1].startswith("READY: 3 hosts; 0 blockers, ")
    some = pmx("doctor", matrix).expect(0)
    assert not any(f": {word} " in some.out for word in ("ok     ", "unknown"))
    assert some.out.splitlines()[-1].startswith("READY: 3 hosts; 0 blockers, ")
    one = pmx("doctor", matrix, "--all", "--hosts", "h2").expect(0)
    assert {line.split(": ")[0] for line in one.out.splitlines()[:-1]} == {"(here)", "h2"}
    one_at_a_time = pmx("doctor", matrix, "--jobs", "1").expect(0)
    assert one_at_a_time.out.splitlines()[-1].startswith("READY: 3 hosts; 0 blockers, ")


@pytest.mark.release
def test_ready_after_a_run(lab, tree, write):
    """The directory that a run left is no fault, and a running agent is one."""
    matrix = write(tree)
    pmx("start", matrix, "--for", "60s").expect(0)
    busy = pmx("doctor", matrix, "--json", "-").expect(1)
    for host in lab.hosts:
        assert set(blockers(busy, host)) == {"running"}
        assert "pmx stop" in blockers(busy, host)["running"][2]
    pmx("stop", matrix).expect(0)
    pmx("doctor", matrix).expect(0)
    pmx("clean", matrix).expect(0)


def test_dry_run(lab, tree, write):
    run = pmx("doctor", write(tree), "--dry-run").expect(0)
    for host in lab.hosts:
        (command,) = [line for line in run.out.splitlines() if line.startswith(f"{host}$ ")]
        # the very command: it answers by itself
        answer = lab.exec(host, "sh", "-c", command.partition("$ ")[2])
        assert "sys/class/net/data0/mtu\0" + "1500\n" in answer
        assert answer.endswith("pmx/end\0ok\n")


def test_noexec(lab, tree, write):
    with made(lab, "h2", "mount -o remount,noexec /var/tmp", "mount -o remount,exec /var/tmp"):
        run = pmx("doctor", write(tree), "--json", "-").expect(1)
    assert set(blockers(run, "h2")) == {"mount"}
    health, text, fix = findings(run, "h2")["mount"]
    assert "/var/tmp is mounted noexec" in text and "remount,exec /var/tmp" in fix
    assert blockers(run, "h1") == blockers(run, "h3") == {}


def test_small_disk(lab, tree, write):
    with made(lab, "h2", "mount -o remount,size=2M /var/tmp",
              "mount -o remount,size=50% /var/tmp"):
        run = pmx("doctor", write(tree), "--json", "-").expect(1)
    assert set(blockers(run, "h2")) == {"space"}


def test_mtu(lab, tree, write):
    with made(lab, "h3", "ip link set dev data0 mtu 1400", "ip link set dev data0 mtu 1500"):
        run = pmx("doctor", write(tree), "--json", "-").expect(1)
        text = pmx("doctor", write(tree)).expect(1)
    assert set(blockers(run, "h3")) == {"mtu"}
    # what is worst stands first, with the command that mends it and where the manual says more
    lines = [line for line in text.out.splitlines() if line.startswith("h3: ")]
    assert lines[0] == "h3: BLOCKER mtu: data0 has an MTU of 1400, the matrix takes 1500"
    assert "ip link set dev data0 mtu 1500" in lines[1] and lines[1].endswith("[doctor-mtu]")
    assert text.out.splitlines()[-1].startswith("NOT READY: 3 hosts; 1 blocker, ")


def test_link_down(lab, tree, write):
    with made(lab, "h1", "ip link set dev data0 down", "ip link set dev data0 up"):
        run = pmx("doctor", write(tree), "--json", "-").expect(1)
        assert "is down" in blockers(run, "h1")["link"][1]
    lab.fault("link", "h2", "down")
    run = pmx("doctor", write(tree), "--json", "-").expect(1)
    lab.fault("clear")
    assert "no link" in blockers(run, "h2")["link"][1]


def test_unreachable(lab, tree, write):
    """Exit 3, the host has its line, and the others are examined."""
    lab.fault("mgmt", "h2", "down")
    matrix = write(tree)
    run = pmx("doctor", matrix).expect(3)
    asked = pmx("doctor", matrix, "--json", "-").expect(3)
    lab.fault("clear")
    (line,) = [line for line in run.out.splitlines() if line.startswith("h2: ")]
    assert line.startswith("h2: UNREACHABLE: ")
    assert "FAILED on 1/3: h2" in run.err
    assert run.out.splitlines()[-1].startswith("NOT READY: 3 hosts, 1 of them not asked; ")
    assert asked.json["counts"]["asked"] == 2 and asked.json["ready"] is False
    assert [h["asked"] for h in asked.json["hosts"]] == [True, False, True]
    assert asked.json["hosts"][1]["why"] and not asked.json["hosts"][1]["findings"]


def test_noisy_login(lab, tree, write):
    with made(lab, "h2", "echo 'echo welcome' >~root/.bashrc", "rm ~root/.bashrc"):
        run = pmx("doctor", write(tree), "--json", "-").expect(0)
    assert findings(run, "h2")["login"][0] == "note"
    assert "8 bytes" in findings(run, "h2")["login"][1]
    assert findings(run, "h1")["login"][0] == "ok"


@pytest.mark.parametrize("said, fix", [
    ("sudo: a password is required", "NOPASSWD"),
    ("sudo: sorry, you must have a tty to run sudo", "!requiretty"),
    (None, "sudo: yes"),
])
def test_sudo(lab, tree, write, said, fix):
    """Where sudo refuses, the log-in itself tells the rest."""
    tree["ssh"]["sudo"] = True
    fake = ("printf '#!/bin/sh\\necho \"%s\" >&2\\nexit 1\\n' '" + said + "' >/run/sudo" if said
            else "touch /run/sudo")  # not executable: no such command
    path = lab.sh("h2", "command -v sudo").strip()
    mode = "chmod 755 /run/sudo" if said else "chmod 644 /run/sudo"
    with made(lab, "h2", f"{fake} && {mode} && mount --bind /run/sudo {path}",
              f"umount {path}; rm /run/sudo"):
        run = pmx("doctor", write(tree), "--json", "-").expect(1)
    assert set(blockers(run, "h2")) == {"sudo"}
    health, text, mends = findings(run, "h2")["sudo"]
    assert fix in mends and (said or "sudo") in text
    assert findings(run, "h2")["mtu"][0] == "ok"
    assert findings(run, "h1")["sudo"][0] == "ok"
    assert "mgmt0" in findings(run, "h1")["management"][1]  # sudo keeps no SSH_CONNECTION


def test_hugepages(lab, tree, write):
    """hugepages: yes, and fewer are free than are needed."""
    tree["hosts"]["h1"].update({"hugepages": "yes", "queues": 4, "mtu": 1500})
    tree["hosts"]["h1"].pop("lcores", None)
    with made(lab, "h1", "echo 100 >/run/pages && "
              "mount --bind /run/pages /sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages && "
              "echo 0 >/run/pages",
              "umount /sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages; rm /run/pages"):
        run = pmx("doctor", write(tree), "--json", "-").expect(1)
    health, text, fix = blockers(run, "h1")["hugepages"]
    assert "hugepages: yes needs" in text and "nr_hugepages" in fix
    assert blockers(run, "h2") == {}


def test_management(lab, tree, write):
    """The interface that the log-in comes by is never the device under test."""
    tree["hosts"]["h2"]["device"] = "mgmt0"
    run = pmx("doctor", write(tree), "--json", "-").expect(1)
    assert "comes by mgmt0" in blockers(run, "h2")["management"][1]
    tree["hosts"]["h2"]["device"] = "data9"
    run = pmx("doctor", write(tree), "--json", "-").expect(1)
    assert "no interface data9" in blockers(run, "h2")["device"][1]


def test_address(lab, tree, write):
    with made(lab, "h1", "ip addr add 198.18.0.1/24 dev data0", "ip addr del 198.18.0.1/24 dev data0"):
        run = pmx("doctor", write(tree), "--json", "-").expect(0)
    assert findings(run, "h1")["address"][0] == "warning"
    assert "ip addr del 198.18.0.1/24 dev data0" in findings(run, "h1")["address"][2]


def test_offloads(lab, tree, write):
    with made(lab, "h1", "ethtool -K data0 gro on", "ethtool -K data0 gro off"):
        run = pmx("doctor", write(tree), "--json", "-").expect(0)
    assert findings(run, "h1")["offloads"][0] == "warning"
    assert findings(run, "h1")["offloads"][2] == "ethtool -K data0 gro off"


def test_queues_of_af_xdp(lab, tree, write):
    """More receive queues than `queues`: everything may be lost, and nothing else says so."""
    tree["defaults"].update({"driver": "af_xdp", "queues": 1})
    run = pmx("doctor", write(tree), "--json", "-").expect(1)
    health, text, fix = blockers(run, "h1")["queues"]
    assert "4 receive queues, and 1 is taken" in text
    assert fix == "ethtool -L data0 rx 1 tx 1"  # a veth has no combined ones


def test_xdp_attached(lab, tree, write, bpf_pass):
    """Somebody's program on the interface: af_xdp cannot start, af_packet gets what it leaves."""
    with made(lab, "h2", f"ip link set dev data0 xdp obj {bpf_pass} sec xdp",
              "ip link set dev data0 xdp off"):
        packet = pmx("doctor", write(tree), "--json", "-").expect(0)
        tree["defaults"].update({"driver": "af_xdp"})
        xdp = pmx("doctor", write(tree), "--json", "-").expect(1)
    assert findings(packet, "h2")["xdp"][0] == "warning"
    assert findings(packet, "h1")["xdp"][0] == "ok"
    health, text, fix = blockers(xdp, "h2")["xdp"]
    assert "(pass, id " in text and fix == "ip link set dev data0 xdp off"
    assert "xdp" not in blockers(xdp, "h1")


def test_bad_options(lab, tree, write):
    matrix = write(tree)
    assert "/nowhere" in pmx("doctor", matrix, "--root", "/nowhere").expect(2).err
    assert "h9" in pmx("doctor", matrix, "--hosts", "h9").expect(2).err
    assert "nothing.yaml" in pmx("doctor", "nothing.yaml").expect(2).err

"""The device is found on every host before anything is launched, and is never the NIC of SSH."""

import re

import pytest

from harness import assert_identity, pmx, until

SUBNET = "198.18.77.0/24"


@pytest.fixture
def addresses(lab):
    """The kernel has an address of its own on the data interface, in a subnet that names it."""
    for i, host in enumerate(lab.hosts, 1):
        lab.exec(host, "ip", "address", "add", f"198.18.77.{i}/24", "dev", "data0")
    yield
    for i, host in enumerate(lab.hosts, 1):
        lab.exec(host, "ip", "address", "del", f"198.18.77.{i}/24", "dev", "data0")


def nothing_was_made(lab):
    return lab.all_agents() == {} and not any(lab.exists(h, "/var/tmp/pmx") for h in lab.hosts)


def failures(run):
    return dict(line.removeprefix("pmx: ").split(": ", 1) for line in run.err.splitlines()
                if line.startswith("pmx: h"))


def test_by_subnet(lab, write, addresses):
    tree = lab.matrix(rate=500, warmup="0s", duration="1s")
    for host in tree["hosts"].values():
        host.pop("device", None)
    tree["defaults"]["device"] = SUBNET
    path = write(tree)
    assert_identity(pmx("run", path, "--json", "-").expect(0).json["totals"])
    for host in lab.hosts:
        assert '"vdev": "net_af_packet0,iface=data0' in lab.file(host, "/var/tmp/pmx/host.json")
    # an agent that runs was found by the same subnet
    pmx("start", path, "--for", "60s").expect(0)
    until(lambda: "running" in pmx("status", path).out, 20, "running")
    assert pmx("reload", path).expect(0).out.count("goes on") == 3
    pmx("clean", path).expect(0)


@pytest.mark.parametrize("device", ["mgmt0", "NET", "net_af_packet0,iface=mgmt0"])
def test_never_the_ssh_nic(lab, write, device):
    """One host's device is where SSH comes in: it is named, and no host is touched."""
    tree = lab.matrix(rate=500, duration="1s")
    (address,) = re.findall(r"inet ([\d.]+)/", lab.exec("h2", "ip", "address", "show", "mgmt0"))
    tree["hosts"]["h2"]["device"] = device.replace("NET", f"{address}/24")
    for verb in ("run", "start"):
        run = pmx(verb, write(tree)).expect(3)
        assert list(failures(run)) == ["h2"], str(run)
        assert f"carries this SSH session (mgmt0, {address})" in failures(run)["h2"]
        assert "FAILED on 1/3: h2" in run.err
        assert nothing_was_made(lab)


def test_all_that_are_wrong_are_named(lab, write):
    tree = lab.matrix(rate=500, duration="1s")
    tree["hosts"]["h1"]["device"] = "data7"
    tree["hosts"]["h3"].update(device="0000:3b:00.0", driver="default")
    run = pmx("run", write(tree)).expect(3)
    told = failures(run)
    assert "no interface data7 here, but data0 lo mgmt0" in told["h1"]
    assert "no device 0000:3b:00.0 on PCI here" in told["h3"]
    assert "FAILED on 2/3: h1, h3" in run.err
    assert nothing_was_made(lab)


def test_allow_partial(lab, write):
    """The others are measured without a host whose device is not there."""
    tree = lab.matrix(rate=500, warmup="0s", duration="1s")
    tree["hosts"]["h2"]["device"] = "198.18.99.0/24"
    run = pmx("run", write(tree), "--allow-partial", "--json", "-").expect(4)
    assert "no interface has an address in 198.18.99.0/24" in failures(run)["h2"]
    assert {host["host"] for host in run.json["hosts"] if host["measured"]} == {"h1", "h3"}
    assert not lab.exists("h2", "/var/tmp/pmx")

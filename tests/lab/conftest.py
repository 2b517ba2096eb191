"""Fixtures of the lab tests; what they stand on is in harness.py."""

import fcntl
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
import yaml

import agents
import harness


def pytest_configure(config):
    # a stopped run takes its lab down; SIGINT is ignored in what a script starts behind itself
    def stop(signum, frame):
        raise KeyboardInterrupt
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, stop)


def pytest_collection_modifyitems(config, items):
    if not (harness.BUILD / "meson-info").exists() or not harness.sanitized():
        return
    marks = ["fullspeed"]
    if not config.getoption("keyword"):  # who picks tests by name gets them
        marks.append("release")
    out = {i for i in items if any(i.get_closest_marker(mark) for mark in marks)}
    config.hook.pytest_deselected(items=[i for i in items if i in out])
    items[:] = [i for i in items if i not in out]


@pytest.fixture(scope="session", autouse=True)
def binaries():
    missing = [str(p) for p in (harness.PMX, harness.AGENT) if not p.exists()]
    if missing:
        pytest.exit(f"not built: {' '.join(missing)} (PMX_BUILD names the build directory)", 3)
    for name in list(os.environ):  # the options of whoever runs the tests are not theirs
        if name.startswith("PMX_") and name not in ("PMX_BUILD", "PMX_LAB_ID", "PMX_LAB_DIR"):
            del os.environ[name]


@pytest.fixture(scope="session")
def session_lab():
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    lab = harness.Lab()
    with harness.lab_lock(lab.name):
        yield lab
        lab.down()


@pytest.fixture
def lab(session_lab):
    """Three hosts with four queues, no faults, no agents; up once for all tests."""
    session_lab.ensure()
    yield session_lab
    if session_lab.shape is not None:
        left = session_lab.all_agents()
        session_lab.tidy()
        assert not left, f"agents left running: {left}"


@pytest.fixture
def write(tmp_path):
    """Writes a matrix (tree or text) to a file and returns its path."""
    def write(matrix, name="matrix.yaml"):
        path = tmp_path / name
        if isinstance(matrix, bytes):
            path.write_bytes(matrix)
        else:
            path.write_text(matrix if isinstance(matrix, str)
                            else yaml.safe_dump(matrix, sort_keys=False))
        return path
    return write


@pytest.fixture
def spawn():
    """Starts pmx and sees to its end."""
    started = []

    def spawn(*args, **kwargs):
        started.append(harness.Process(*args, **kwargs))
        return started[-1]
    yield spawn
    for process in started:
        process.end()


@pytest.fixture
def pages():
    """Reads numbers of this machine's pages of 2 MB; nobody else of these tests changes them meanwhile
    (scripts/hugepages takes the same lock)."""
    pool = Path("/sys/kernel/mm/hugepages/hugepages-2048kB")
    if os.geteuid() != 0 or not os.access(pool / "nr_hugepages", os.W_OK):
        pytest.skip("hugepages cannot be reserved here")
    lock = os.open("/run", os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield lambda name="nr_hugepages": int((pool / name).read_text())
    finally:
        os.close(lock)


@pytest.fixture
def bpf_pass(tmp_path):
    """An XDP program that passes all frames on, in a file that ip-link(8) takes."""
    if shutil.which("clang") is None:
        pytest.skip("no clang: an XDP program cannot be made")
    source, program = tmp_path / "pass.c", tmp_path / "pass.o"
    source.write_text('__attribute__((section("xdp"), used)) int pass(void *c) { return 2; }\n'
                      'char _license[] __attribute__((section("license"), used)) = "GPL";\n')
    subprocess.run(["clang", "-O2", "-target", "bpf", "-c", source, "-o", program], check=True)
    return program


@pytest.fixture
def fleet(lab, tmp_path):
    """Starts agents without pmx, on the lab's hosts, and sees to their end."""
    started = []

    def fleet(made, **kwargs):
        directory = tmp_path / f"run{len(started)}"
        started.append(agents.Fleet(directory, made, lab, **kwargs))
        return started[-1]
    yield fleet
    for each in started:
        each.end()


@pytest.fixture(autouse=True)
def sanitizer_reports():
    """A report of any process, on any host, is this test's failure."""
    options = os.environ.get("ASAN_OPTIONS", "").split(":")
    logs = [Path(o.partition("=")[2]) for o in options if o.startswith("log_path=")]
    yield
    for log in logs:
        found = sorted(log.parent.glob(log.name + ".*"))
        if found:
            text = "\n".join(p.read_text(errors="replace")[:4000] for p in found[:3])
            kept = log.parent / "seen"
            kept.mkdir(exist_ok=True)
            for path in found:
                shutil.move(path, kept / path.name)
            pytest.fail(f"sanitizer report:\n{text}")

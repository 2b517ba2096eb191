"""`status --watch`: a line a host and second, in its place on a terminal, one after the other
elsewhere."""

import fcntl
import os
import re
import signal
import struct
import subprocess
import termios
import time

import pytest

from harness import PMX, pmx, until

HOSTS = 8
FRAMES = 4


@pytest.fixture
def eight(session_lab, write):
    """Eight hosts that send."""
    session_lab.ensure(hosts=HOSTS, queues=1)
    path = write(session_lab.matrix(rate=50, warmup="0s"))
    pmx("start", path, "--for", "300s").expect(0)
    session_lab.path = path
    yield session_lab
    session_lab.fault("clear")
    pmx("clean", path)
    session_lab.tidy()


class Terminal:
    """What a terminal shows, after every character."""

    def __init__(self):
        self.rows, self.row, self.column, self.blanks = [""], 0, 0, 0

    def feed(self, text):
        for part in re.findall(r"\x1b\[[0-9;]*[A-Za-z]|.", text, re.S):
            self.one(part)

    def one(self, part):
        if part == "\n":
            self.row, self.column = self.row + 1, 0
            if self.row == len(self.rows):
                self.rows.append("")
        elif part == "\r":
            self.column = 0
        elif part.startswith("\x1b"):
            number, word = int(part[2:-1] or 1), part[-1]
            assert word in "AKJ", f"{part!r}: only the lines themselves are written again"
            if word == "A":
                self.row -= number
            elif word == "K":
                self.rows[self.row] = self.rows[self.row][:self.column]
            else:
                self.rows = self.rows[:self.row] + [self.rows[self.row][:self.column]]
        else:
            line = self.rows[self.row].ljust(self.column)
            self.rows[self.row] = line[:self.column] + part + line[self.column + 1:]
            self.column += 1
        full = [row for row in self.rows if row]
        self.blanks += len(full) < HOSTS and self.settled()

    def settled(self):
        self.seen = getattr(self, "seen", False) or len([r for r in self.rows if r]) == HOSTS
        return self.seen


def watch_on_terminal(path, seconds):
    """[(when, text)] as it came, and what pmx ended with."""
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    attributes = termios.tcgetattr(slave)
    attributes[1] &= ~termios.OPOST
    termios.tcsetattr(slave, termios.TCSANOW, attributes)
    process = subprocess.Popen([PMX, "status", path, "--watch", "1"], stdin=subprocess.DEVNULL,
                               stdout=slave, stderr=subprocess.PIPE, start_new_session=True)
    os.close(slave)
    os.set_blocking(master, False)
    came, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            came.append((time.monotonic(), os.read(master, 65536).decode()))
        except BlockingIOError:
            time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    error = process.communicate(timeout=20)[1].decode()
    os.close(master)
    return came, process.returncode, error


def test_terminal(eight):
    came, code, error = watch_on_terminal(eight.path, FRAMES + 3)
    assert code == 130 and error == "", error
    terminal, frames = Terminal(), []
    for when, text in came:
        # a frame comes whole: it was one write
        assert text.endswith("\x1b[J"), text
        terminal.feed(text)
        frames.append(when)
        lines = [row for row in terminal.rows if row]
        assert [line.split(":")[0] for line in lines] == eight.hosts
        assert all(len(line) < 100 for line in lines)
    assert len(frames) >= FRAMES
    assert terminal.blanks == 0, "a line was empty for a while"
    assert all("running" in line for line in lines), lines


def test_no_terminal(eight, spawn):
    watch = spawn("status", eight.path, "--watch", "1")
    until(lambda: watch.out.count("\n") >= FRAMES * HOSTS, 30, "lines")
    watch.kill(signal.SIGINT)
    watch.wait(20).expect(130)
    lines = watch.out.splitlines()
    assert "\x1b" not in watch.out
    assert len(lines) % HOSTS == 0
    for i, line in enumerate(lines):
        assert line.startswith(eight.hosts[i % HOSTS] + ": "), line
    assert all("running" in line for line in lines[-HOSTS:])


def test_a_host_that_does_not_answer(eight, spawn):
    """The others' lines go on by the second, and it comes back."""
    watch = spawn("status", eight.path, "--watch", "1")
    until(lambda: watch.out.count("running") >= 2 * HOSTS, 30, "lines")
    eight.fault("mgmt", "h3", "down")

    def last(host):
        found = [line for line in watch.out.splitlines() if line.startswith(f"{host}: ")]
        return found[-1]

    until(lambda: "UNREACHABLE" in last("h3") or "ago)" in last("h3"), 30, "h3 is missed")
    before, begin = watch.out.count("h1: "), time.monotonic()
    until(lambda: watch.out.count("h1: ") >= before + 4, 12, "lines of h1")
    assert time.monotonic() - begin < 10
    assert "running" in last("h1") and "ago" not in last("h1")
    eight.fault("mgmt", "h3", "up")
    until(lambda: last("h3").startswith("h3: running") and "ago" not in last("h3"), 60, "h3 is back")
    watch.kill(signal.SIGINT)
    watch.wait(30).expect(130)

"""Requests spread over the receiver's queues and replies come back to the queue that asked, where a driver
claims it; where none does, counts are exact all the same (test_queues.py). Here is no NIC, so the kernel hashes
as one: a TAP device takes a program that chooses the queue, and the program is Toeplitz's."""

import contextlib
import ctypes
import fcntl
import os
import struct
import threading
import time

import pytest

from harness import assert_identity, host_row, measure, pmx
from test_drivers import driven, joined, local

QUEUES = 4
# not the default one, as of a kernel's driver; 40 bytes
KEY = bytes.fromhex("be8a2f11c5d07e3649fa0b6c93e1d85274a0c6391fbd5e8802734cd9a1e6bf0d6538124f90acd7e3")


def assert_steered(summary, word, spread=25):
    for row in summary["flows"]:
        assert_identity(row)
        assert row["sent"] == row["target"] > 0
    for row in summary["hosts"]:
        assert (row["steering"], row["steered"], row["steering_why"]) == (word, True, None), row
        assert row["on_queue_pct"] >= 99, row
        requests = [q["requests_received"] for q in summary["queues"] if q["host"] == row["host"]]
        even = sum(requests) / QUEUES
        assert len(requests) == QUEUES
        if spread is not None:
            assert all(abs(n - even) <= even * spread / 100 for n in requests), requests
            assert row["uneven_pct"] <= spread


@pytest.mark.parametrize("left,right,v6", [("memif", "memif", False), ("virtio", "vhost", True)])
def test_pairs(tmp_path, write, left, right, v6):
    tree = {**local(left, right, queues=QUEUES), "remote_dir": str(tmp_path / "remote")}
    tree["traffic"]["streams"] = 16
    tree["timing"]["duration"] = "1s"
    tree["defaults"]["hugepages"] = "no"  # the lab's may be in use
    if v6:
        for i, host in enumerate(tree["hosts"].values(), 1):
            host["addr"] = f"2001:2::{i}/64"
    assert_steered(measure(write(tree)), "pairs")


# --- a NIC that hashes, of a TAP device

def toeplitz_program(v6):
    """BPF: the hash of addresses and ports, modulo 64 (the table of the NIC) and the queues."""
    def insn(op, dst=0, src=0, off=0, imm=0):
        return struct.pack("<BBhi", op, src << 4 | dst, off, imm - (imm >> 31 << 32))
    program = [insn(0xbf, 6, 1), insn(0xb7, 7)]          # r6 = skb, r7 = 0
    bit = 0
    for at in range(22 if v6 else 26, 58 if v6 else 38, 4):
        program.append(insn(0x20, imm=at))               # r0 = the word there
        for shift in range(31, -1, -1):
            window = int.from_bytes(KEY, "big") >> 320 - 32 - bit & 0xffffffff
            program += [insn(0x45, 0, off=1, imm=1 << shift),  # if r0 has the bit
                        insn(0x05, off=1),
                        insn(0xa4, 7, imm=window)]       # r7 ^= the key from that bit on
            bit += 1
    return b"".join(program + [insn(0xbf, 0, 7), insn(0x57, 0, imm=63), insn(0x97, 0, imm=QUEUES),
                               insn(0x95)])


def syscall(number, *args):
    libc = ctypes.CDLL(None, use_errno=True)
    value = libc.syscall(number, *args)
    if value < 0:
        raise OSError(ctypes.get_errno(), f"syscall {number}: {os.strerror(ctypes.get_errno())}")
    return value


def load(program):
    code, license_text = ctypes.create_string_buffer(program), ctypes.create_string_buffer(b"GPL")
    attr = struct.pack("<IIQQ", 1, len(program) // 8, ctypes.addressof(code),
                       ctypes.addressof(license_text)).ljust(120, b"\0")
    return syscall(321, 5, ctypes.c_char_p(attr), len(attr))  # BPF_PROG_LOAD of a socket filter


def tap_of(pid):
    """One of the process's own TAP descriptors, or None."""
    with contextlib.suppress(OSError):
        for fd in os.listdir(f"/proc/{pid}/fd"):
            if os.readlink(f"/proc/{pid}/fd/{fd}") == "/dev/net/tun" and \
               "iff:\tdtap0" in open(f"/proc/{pid}/fdinfo/{fd}", encoding="ascii").read():
                return int(fd)
    return None


class Hashing(threading.Thread):
    """Gives every TAP device of an agent the program, as soon as it is there."""

    def __init__(self, program):
        super().__init__(daemon=True)
        self.program, self.done, self.pids = load(program), False, set()

    def run(self):
        while not self.done:
            for pid in filter(str.isdigit, os.listdir("/proc")):
                fd = None if pid in self.pids else tap_of(pid)
                if fd is not None:
                    pidfd = os.pidfd_open(int(pid))
                    tap = syscall(438, pidfd, fd, 0)  # pidfd_getfd
                    fcntl.ioctl(tap, 0x800454e0, struct.pack("i", self.program))
                    os.close(tap)
                    os.close(pidfd)
                    self.pids.add(pid)
            time.sleep(0.05)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.done = True
        self.join()
        os.close(self.program)


def taps(lab, write, v6, **kwargs):
    tree = driven(lab, "tap", device="dtap0", queues=QUEUES)
    tree["traffic"]["streams"] = 16
    if v6:
        for i, host in enumerate(tree["hosts"].values(), 1):
            host["addr"] = f"2001:2::{i}/64"
    with joined(lab) as before:
        return measure(write(tree), before=before, **kwargs)


def test_learned(lab, write):
    """TUN's automatic queues: replies come back; requests go where the kernel likes."""
    assert_steered(taps(lab, write, False), "learned", spread=None)


@pytest.mark.parametrize("v6", [False, True])
def test_hash(lab, write, tmp_path, v6):
    """The ports are those that the kernel's Toeplitz brings to their queues, at either end."""
    shown = pmx("profile", "show", "tap").expect(0).out
    (tmp_path / "tap.yaml").write_text(
        shown.replace("steering: learned", f"rss_key: {KEY.hex()}\nsteering: rss")
             .replace("# rss_key:", "# no"))
    with Hashing(toeplitz_program(v6)) as hashing:
        summary = taps(lab, write, v6, env={"PMX_DRIVERS": str(tmp_path)})
        assert len(hashing.pids) >= len(lab.hosts)
    assert_steered(summary, "rss", spread=0)
    assert all(row["on_queue_pct"] == 100 for row in summary["hosts"])

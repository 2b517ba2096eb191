#!/usr/bin/python3
"""kernel_peer.py HOST.JSON SECONDS: does what an agent would with that host config, by plain UDP
sockets of the kernel and the words of doc/wire.rst alone. The kernel judges lengths and checksums.

"ready" stands on its stdout when it may be asked. Its own requests begin with the first packet that
comes, and some that must get no reply. After SECONDS from that on it prints its counts, as an agent's result has them, and ends.
"""

import json
import os
import selectors
import socket
import struct
import sys
import time

HEADER = struct.Struct("!HBBII6s")  # cookie, version and kind, trial, stream, sequence, TSC
REQUEST, REPLY = 0x11, 0x12
TRIAL = 0
SO_SNDBUFFORCE, SO_RCVBUFFORCE = 32, 33  # Linux; the module has no names for them
START_S = 60  # for the first packet to come
SPREAD = 0.6  # of the time, in which its requests are sent


class Sockets:
    def __init__(self, addr):
        self.family = socket.AF_INET6 if ":" in addr else socket.AF_INET
        self.addr, self.opened = addr, []

    def open(self, port):
        s = socket.socket(self.family, socket.SOCK_DGRAM)
        for option in (SO_SNDBUFFORCE, SO_RCVBUFFORCE):
            s.setsockopt(socket.SOL_SOCKET, option, 16 << 20)
        s.bind((self.addr, port))
        s.setblocking(False)
        self.opened.append(s)
        return s


def same_host(a, b):
    family = socket.AF_INET6 if ":" in a else socket.AF_INET
    return socket.inet_pton(family, a) == socket.inet_pton(family, b)


class Responder:
    """Answers the requests of the plan, as wire.rst says; what is none is listed."""

    def __init__(self, config, wrong):
        self.config, self.wrong = config, wrong
        self.flow = {}  # by the stream's index here
        for f in config["rx"]:
            f["seen"] = set()
            for s in range(f["streams"]):
                self.flow[f["rx_first"] + s] = f, s

    def fault(self, data, source):
        if len(data) < HEADER.size:
            return "short"
        cookie, kind, trial, stream, _, _ = HEADER.unpack_from(data)
        if (cookie, kind, trial) != (self.config["cookie"], REQUEST, TRIAL):
            return "not a request of this run"
        if stream not in self.flow:
            return "no such stream"
        f, s = self.flow[stream]
        if not same_host(source[0], f["peer_addr"]) or source[1] != f["sport_first"] + s:
            return "from elsewhere"
        if len(data) != f["req_bytes"]:
            return f"size {len(data)}, planned {f['req_bytes']}"
        return "not zeros behind the header" if any(data[HEADER.size:]) else None

    def take(self, s, data, source):
        fault = self.fault(data, source)
        if fault:
            self.wrong.append(f"request: {fault}")
            return
        _, _, _, stream, seq, tsc = HEADER.unpack_from(data)
        f, i = self.flow[stream]
        if (i, seq) in f["seen"]:
            self.wrong.append(f"request {stream}/{seq}: twice")
            return
        f["seen"].add((i, seq))
        head = HEADER.pack(self.config["cookie"], REPLY, TRIAL, f["peer_tx_first"] + i, seq, tsc)
        s.sendto(head.ljust(f["rep_bytes"], b"\0"), source)

    def counts(self):
        return [{"peer": f["peer"], "trials": [{
            "delivered": len(f["seen"]), "replied": len(f["seen"]), "reply_unsent": 0, "dup": 0,
            "reordered": 0, "late": 0}]} for f in self.config["rx"]]


class Requester:
    """One stream: its requests at even gaps, and the replies to them."""

    def __init__(self, sockets, config, flow, stream, wrong):
        self.config, self.flow, self.stream, self.wrong = config, flow, stream, wrong
        self.socket = sockets.open(flow["sport_first"] + stream)
        self.to = (flow["peer_addr"], config["udp_port"])
        self.asked, self.returned = {}, set()
        seconds = SPREAD * config["duration_ns"] / 1e9
        self.total = max(1, round(flow["rate_pps"] * seconds / flow["streams"]))
        self.gap = seconds / self.total

    def ask_due(self, elapsed_s):
        while len(self.asked) < self.total and elapsed_s >= self.gap * len(self.asked):
            seq, tsc = len(self.asked), os.urandom(6)
            head = HEADER.pack(self.config["cookie"], REQUEST, TRIAL,
                               self.flow["peer_rx_first"] + self.stream, seq, tsc)
            self.asked[seq] = tsc
            self.socket.sendto(head.ljust(self.flow["req_bytes"], b"\0"), self.to)

    def ask_wrongly(self, other):
        """What must get no reply; `other` is a socket of another port."""
        cookie, stream = self.config["cookie"], self.flow["peer_rx_first"] + self.stream
        size, mine = self.flow["req_bytes"], self.socket
        for s, head, length in (
                (mine, (cookie ^ 1, REQUEST, TRIAL, stream), size),
                (mine, (cookie, REQUEST, TRIAL, stream), size + 1),
                (mine, (cookie, REQUEST, TRIAL + 9, stream), size),
                (mine, (cookie, REQUEST | 0x20, TRIAL, stream), size),
                (mine, (cookie, REQUEST, TRIAL, stream + 100000), size),
                (other, (cookie, REQUEST, TRIAL, stream), size)):
            s.sendto(HEADER.pack(*head, 10 ** 6, bytes(6)).ljust(length, b"\0"), self.to)

    def fault(self, data, source):
        if len(data) != self.flow["rep_bytes"]:
            return f"size {len(data)}, planned {self.flow['rep_bytes']}"
        cookie, kind, trial, stream, seq, tsc = HEADER.unpack_from(data)
        if (cookie, kind, trial) != (self.config["cookie"], REPLY, TRIAL):
            return "not a reply of this run"
        if not same_host(source[0], self.to[0]) or source[1] != self.to[1]:
            return "from elsewhere"
        if stream != self.flow["tx_first"] + self.stream:
            return "another stream's"
        if self.asked.get(seq) != tsc or seq in self.returned:
            return "not asked for, or twice"
        return "not zeros behind the header" if any(data[HEADER.size:]) else None

    def take(self, data, source):
        fault = self.fault(data, source)
        if fault:
            self.wrong.append(f"reply: {fault}")
        else:
            self.returned.add(HEADER.unpack_from(data)[4])


def flow_counts(flow, streams):
    mine = [s for s in streams if s.flow is flow]
    return {"peer": flow["peer"], "trials": [{
        "sent": sum(len(s.asked) for s in mine), "unsent": 0, "dup": 0, "reordered": 0, "late": 0,
        "returned": sum(len(s.returned) for s in mine)}]}


def drain(s, take):
    """All that waits; how many."""
    n = 0
    while True:
        try:
            data, source = s.recvfrom(65536)
        except BlockingIOError:
            return n
        take(data, source)
        n += 1


def main(path, seconds):
    with open(path) as file:
        config = json.load(file)
    wrong = []
    sockets = Sockets(config["addr"])
    responder, server = Responder(config, wrong), sockets.open(config["udp_port"])
    requesters = [Requester(sockets, config, f, s, wrong)
                  for f in config["tx"] for s in range(f["streams"])]
    selector = selectors.DefaultSelector()
    selector.register(server, selectors.EVENT_READ,
                      lambda data, source: responder.take(server, data, source))
    for r in requesters:
        selector.register(r.socket, selectors.EVENT_READ, r.take)
    print("ready", flush=True)
    begun, limit = None, time.monotonic() + START_S
    while time.monotonic() < limit:
        for key, _ in selector.select(0.01):
            if drain(key.fileobj, key.data) and begun is None:
                begun = time.monotonic()
                if requesters:
                    requesters[0].ask_wrongly(server)
                limit = begun + seconds
        if begun is not None:
            for r in requesters:
                r.ask_due(time.monotonic() - begun)
    print(json.dumps({"tx": [flow_counts(f, requesters) for f in config["tx"]],
                      "rx": responder.counts(), "wrong": wrong}))


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))

"""A Linux router in place of the lab's bridge: the fabric's namespace forwards between the hosts' links.

Host hI stands in a subnet of its own. Its gateway is a pair of devices, a and b, with a MAC each, which
both take frames and forward them; the gateway's address is at one of them. So it can move to another MAC
without a frame lost, as a pair of routers does that shares a virtual address.
"""

import contextlib

ALL = {"net.ipv4.ip_forward": 1, "net.ipv6.conf.all.forwarding": 1,
       "net.ipv4.conf.all.arp_ignore": 1, "net.ipv4.conf.all.send_redirects": 0}
ANNOUNCE = """
import socket, sys
link, mac, ip = sys.argv[1], bytes.fromhex(sys.argv[2].replace(":", "")), socket.inet_aton(sys.argv[3])
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind((link, 0))
s.send(b"\\xff" * 6 + mac + b"\\x08\\x06\\0\\x01\\x08\\0\\x06\\x04\\0\\x01" + mac + ip + bytes(6) + ip)
"""


class Router:
    def __init__(self, lab, hosts, version):
        self.lab, self.hosts, self.version = lab, hosts, version
        self.at = {}

    def sh(self, *lines):
        return self.lab.sh("fabric", "set -e\n" + "\n".join(lines))

    def net(self, host, last):
        i = int(host[1:])
        return f"198.18.{i}.{last}/24" if self.version == 4 else f"2001:2:0:{i}::{last}/64"

    def addr(self, host):
        """With the prefix, as a matrix has it."""
        return self.net(host, 1)

    def gateway(self, host):
        return self.net(host, 254).split("/")[0]

    def mac(self, host, which):
        return f"02:70:6d:78:f{'ab'.index(which)}:{int(host[1:]):02x}"

    def device(self, host, which):
        return f"gw-{host}{which}"

    def matrix(self, **words):
        """Of the lab, for hosts that stand behind the router."""
        tree = self.lab.matrix(**words)
        tree["hosts"] = {host: {**tree["hosts"][host], "addr": self.addr(host),
                                "gateway": self.gateway(host)} for host in self.hosts}
        return tree

    def start(self):
        self.sh(*(f"sysctl -qw {key}={value}" for key, value in ALL.items()))
        for host in self.hosts:
            self.sh(f"ip link set {host} nomaster", f"ip link set {host} arp off")
            for which in "ab":
                device = self.device(host, which)
                self.sh(f"ip link add {device} link {host} address {self.mac(host, which)}"
                        " type macvlan mode private",
                        f"sysctl -qw net.ipv6.conf.{device}.accept_dad=0"
                        f" net.ipv4.conf.{device}.rp_filter=0",
                        f"sysctl -qw net.ipv6.conf.{device}.disable_ipv6={int(self.version == 4)}",
                        # what waits for a host's MAC is not dropped
                        f"sysctl -qw net.ipv4.neigh.{device}.unres_qlen_bytes=16777216"
                        f" net.ipv6.neigh.{device}.unres_qlen_bytes=16777216",
                        f"ip link set {device} up")
            self.place(host, "a")

    def stop(self):
        for host in self.hosts:
            for which in "ab":
                self.sh(f"ip link del {self.device(host, which)} 2>/dev/null || true")
            self.sh(f"ip link set {host} arp on master data up")
        self.sh(*(f"sysctl -qw {key}={1 if key.endswith('redirects') else 0}" for key in ALL))

    def _address(self, verb, host, which):
        # the new address stands before the old one goes: there is a route at any time
        nodad = " nodad" if self.version == 6 and verb == "add" else ""
        return f"ip addr {verb} {self.net(host, 254)} dev {self.device(host, which)}{nodad}"

    def place(self, host, which):
        """The gateway's address is at this device from now on; nobody is told."""
        old = self.at.get(host)
        self.sh(self._address("add", host, which),
                *([self._address("del", host, old)] if old else []))
        self.at[host] = which

    def announce(self, host):
        self.lab.exec("fabric", "python3", "-c", ANNOUNCE, self.device(host, self.at[host]),
                      self.mac(host, self.at[host]), self.gateway(host))

    def flush(self):
        """Forgets the hosts' MACs: the next packet for one waits until it is asked for."""
        for host in self.hosts:
            self.sh(f"ip neigh flush dev {self.device(host, self.at[host])}")

    def die(self, host):
        """It takes nothing and answers nothing any more."""
        for which in "ab":
            self.sh(f"ip link set {self.device(host, which)} down")

    def revive(self, host):
        for which in "ab":
            self.sh(f"ip link set {self.device(host, which)} up")
        if self.version == 6:  # the kernel takes IPv6 addresses from a link that goes down
            self.sh(self._address("add", host, self.at[host]))

    def taken(self, host, which):
        """Packets that this device took."""
        path = f"/sys/class/net/{self.device(host, which)}/statistics/rx_packets"
        return int(self.sh(f"cat {path}"))


@contextlib.contextmanager
def router(lab, hosts, version):
    made = Router(lab, hosts, version)
    try:
        made.start()
        yield made
    finally:
        made.stop()

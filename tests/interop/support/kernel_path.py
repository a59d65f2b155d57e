"""What the tests of the kernel fast path share."""

import ctypes
import os
import re
import struct
import time

from support import mgcp, namespace
from support.call import wait_received
from support.gateway import Gateway
from support.media_case import MediaCase
from support.rtp import stream

PCMA = ((8, "PCMA/8000"),)
SPEECH = b"\xd5" * 160
PACKETS = 40
# Slower than the other tests' streams: a stream is given to the kernel in a pause of 1 ms.
INTERVAL_S = 0.005
BPF_SYSTEM_CALLS = {"x86_64": 321, "aarch64": 280}
BPF_MAP_CREATE = 0
BPF_MAP_TYPE_ARRAY = 2


def refusal():
    """Why the kernel can't do it at all on this machine, whatever the gateway does; empty if it
    can. The process is in a network namespace of its own afterwards."""
    try:
        namespace.enter()
    except (OSError, RuntimeError) as error:
        return f"no network namespaces: {error}"
    attributes = struct.pack("=IIII", BPF_MAP_TYPE_ARRAY, 4, 8, 1).ljust(64, b"\0")
    number = BPF_SYSTEM_CALLS.get(os.uname().machine)
    if number is None:
        return f"the number of the system call bpf is not known for {os.uname().machine}"
    library = ctypes.CDLL(None, use_errno=True)
    made = library.syscall(number, BPF_MAP_CREATE, attributes, len(attributes))
    if made < 0:
        return f"no BPF: {os.strerror(ctypes.get_errno())}"
    os.close(made)
    try:
        namespace.command("tc", "qdisc", "add", "dev", "lo", "clsact")
        namespace.command("tc", "qdisc", "delete", "dev", "lo", "clsact")
    except RuntimeError as error:
        return str(error)
    return ""


class KernelGateway(Gateway):
    """A gateway with the fast path, and what its metrics say of it."""

    def __init__(self, path, settings=None, endpoints=40, **options):
        settings = {"io.kernel-path": path, "endpoints.count": endpoints, **(settings or {})}
        super().__init__(settings, **options)

    def kernel(self, name):
        return self.metrics().total(f"mgw_kernel_path_{name}")

    def misses(self, reason):
        return self.metrics().total("mgw_kernel_path_misses_total", reason=reason)


class KernelCase(MediaCase):
    """One gateway for the tests of a class; `path` is tc or xdp."""

    path = "tc"
    address = "127.0.0.1"
    backend = None

    @classmethod
    def setUpClass(cls):
        cls.gateway = KernelGateway(cls.path, cls.settings)
        cls.agent = mgcp.Agent(cls.gateway.address, cls.gateway.port)

    def leg(self, codecs=PCMA, sends=None, **options):
        sends = sends or ((codecs[0][0], SPEECH),)
        return self.call.leg(codecs, address=self.address, sends=sends, **options)

    def warm(self, *legs, flows=None):
        """The peers send until the kernel has the streams of all of them."""
        wanted = len(legs) if flows is None else flows
        self.gateway.settled()
        sent = 0
        for _ in range(2000):
            for leg in legs:
                leg.peer.send()
            sent += len(legs)
            time.sleep(INTERVAL_S)
            for leg in legs:
                leg.peer.receive_waiting()
            if self.gateway.kernel("flows") == wanted:
                break
        self.assertEqual(self.gateway.kernel("flows"), wanted)
        self.gateway.settled(sent)  # what the kernel forwards is counted a moment later
        for peer in self.call.peers:
            peer.clear()

    def kernel_flow(self, *legs, packets=PACKETS):
        """As flow(), and every packet takes the kernel's way."""
        before = self.gateway.settled()
        for peer in self.call.peers:
            peer.clear()
        stream([leg.peer for leg in legs], packets, self.call.peers, INTERVAL_S)
        after = self.gateway.settled(packets * len(legs))
        self.assertEqual(self.forwarded(after) - self.forwarded(before), packets * len(legs))

    def socket_flow(self, *legs, packets=PACKETS):
        """As flow(), and no packet takes the kernel's way."""
        before = self.gateway.settled()
        for peer in self.call.peers:
            peer.clear()
        stream([leg.peer for leg in legs], packets, self.call.peers, INTERVAL_S)
        after = self.gateway.settled(packets * len(legs))
        self.assertEqual(self.forwarded(after), self.forwarded(before))

    @staticmethod
    def forwarded(metrics):
        return metrics.total("mgw_kernel_path_packets_total")

    def pair(self, *codecs, **options):
        legs = [self.leg(one, **options) for one in (codecs or (PCMA, PCMA))]
        self.warm(*legs)
        return legs

    def statistics(self, leg):
        answer = self.agent.dlcx(self.call.endpoint, "1226", leg.connection)
        self.assertEqual(answer.code, 250, answer.text)
        return {
            name: int(value) for name, value in re.findall(r"(\w\w)=(\d+)", answer.parameters["P"])
        }

    def send(self, leg, data):
        leg.peer.rtp.send(data)

    def arrives(self, leg, packets):
        wait_received(leg.peer, len(packets))
        self.assertEqual(leg.peer.received, packets)
        leg.peer.clear()

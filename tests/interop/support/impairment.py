"""A network that is as bad as wanted, between two devices of one namespace, in user space.

Not every kernel has the netem queueing discipline, and its random numbers can't be repeated. This
program takes whole frames from each device and gives them to the other one: later, not at all, in
another order, or no faster than a link of some bandwidth would.

As a program: impairment.py DEVICE DEVICE PROFILE [SEED], until SIGTERM.
"""

import dataclasses
import heapq
import random
import selectors
import signal
import socket
import sys
import time

ETH_P_ALL = 3
SOL_PACKET, PACKET_VNET_HDR, PACKET_IGNORE_OUTGOING = 263, 15, 23
# A frame with the header that says how far its checksum is done.
FRAME_BYTES_MAX = 65536 + 64
FRAMES_PER_TURN = 64
# Bytes of a frame that are no datagram of IP: Ethernet's header and the virtual device's.
LINK_HEADER_BYTES = 10


@dataclasses.dataclass(frozen=True)
class Profile:
    """What happens to packets in each direction."""

    delay_ms: float = 0
    jitter_ms: float = 0  # more delay, from nothing to so much, for each packet by itself
    in_order: bool = False  # jitter without overtaking
    loss: float = 0  # probability
    reorder: float = 0  # probability of arriving without the delay, ahead of others
    rate_kbit: float = 0  # 0 = no limit
    queue: int = 1000  # packets that wait for the link; what does not fit in is lost


PROFILES = {
    "clean": Profile(),
    "delay 50 ms": Profile(delay_ms=50),
    "delay 200 ms": Profile(delay_ms=200),
    "jitter 30 ms": Profile(delay_ms=40, jitter_ms=30, in_order=True),
    "loss 1 %": Profile(delay_ms=20, loss=0.01),
    "reordering": Profile(delay_ms=30, jitter_ms=25, reorder=0.01),
    "rate limit": Profile(delay_ms=10, rate_kbit=900, queue=60),
    "everything": Profile(delay_ms=100, jitter_ms=40, loss=0.01, reorder=0.01),
}


class Link:
    """One direction. No clock of its own: when which packet arrives follows from the seed."""

    def __init__(self, profile, seed):
        self.profile = profile
        self.random = random.Random(seed)
        self.link_free_at = 0.0  # when the last packet will have left the sender
        self.last_arrival = 0.0
        self.waiting = []  # when the packets that wait will have left

    def arrival(self, now, octets):
        """When a packet that is sent now arrives, in seconds; None if it is lost."""
        profile = self.profile
        if profile.loss and self.random.random() < profile.loss:
            return None
        sent = now
        if profile.rate_kbit:
            self.waiting = [instant for instant in self.waiting if instant > now]
            if len(self.waiting) >= profile.queue:
                return None
            sent = max(now, self.link_free_at) + octets * 8 / (profile.rate_kbit * 1000)
            self.link_free_at = sent
            self.waiting.append(sent)
        if profile.reorder and self.random.random() < profile.reorder:
            return sent
        arrives = sent + (profile.delay_ms + self.random.random() * profile.jitter_ms) / 1000
        if profile.in_order:
            arrives = max(arrives, self.last_arrival)
            self.last_arrival = arrives
        return arrives


class Bridge:
    """Two devices and what is on its way between them."""

    def __init__(self, devices, profile, seed):
        self.sockets = [self._open(device) for device in devices]
        self.links = [Link(profile, f"{seed}-{index}") for index in range(2)]
        self.under_way = []  # (arrival, number, socket, frame)
        self.number = 0

    @staticmethod
    def _open(device):
        sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        # Frames of virtual devices have checksums that are not done yet; this keeps them so.
        sock.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
        sock.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        sock.bind((device, ETH_P_ALL))
        sock.setblocking(False)
        return sock

    def run(self):
        selector = selectors.DefaultSelector()
        for index, sock in enumerate(self.sockets):
            selector.register(sock, selectors.EVENT_READ, index)
        while True:
            timeout = None
            if self.under_way:
                timeout = max(0.0, self.under_way[0][0] - time.monotonic())
            for key, _ in selector.select(timeout):
                self.take(key.data)
            self.deliver()

    def take(self, index):
        """Takes what has come to one device, and decides when it gets to the other."""
        for _ in range(FRAMES_PER_TURN):
            try:
                frame = self.sockets[index].recv(FRAME_BYTES_MAX)
            except BlockingIOError:
                return
            octets = len(frame) - LINK_HEADER_BYTES
            arrival = self.links[index].arrival(time.monotonic(), octets)
            if arrival is not None:
                self.number += 1
                other = self.sockets[1 - index]
                heapq.heappush(self.under_way, (arrival, self.number, other, frame))

    def deliver(self):
        now = time.monotonic()
        while self.under_way and self.under_way[0][0] <= now:
            _, _, sock, frame = heapq.heappop(self.under_way)
            try:
                sock.send(frame)
            except BlockingIOError:
                pass  # the device's queue is full: as on a real one


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    Bridge(sys.argv[1:3], PROFILES[sys.argv[3]], (sys.argv[4:] or ["1"])[0]).run()

"""RTP peers: a pair of real sockets on loopback each, and streams between them."""

import select
import socket
import struct
import time

from support.ports import udp_pair

SSRC = 0xDEADBEEF
SAMPLES_PER_PACKET = 160
# Faster than speech, as nothing in the gateway depends on the pace of a stream.
PACKET_INTERVAL_S = 0.002
HEADER_BYTES = 12
# No payload of any codec: what the suite sends for every codec that is not converted.
PLAIN_PAYLOAD = bytes.fromhex("01020304")


def rtp_packet(payload_type, sequence, timestamp, payload, ssrc=SSRC, marker=False):
    return struct.pack("!BBHII", 0x80, payload_type | (0x80 if marker else 0),
                       sequence & 0xFFFF, timestamp & 0xFFFFFFFF, ssrc) + payload


def sender_report(ssrc=SSRC, packets=1, octets=160):
    """A sender report and a source description with a CNAME, 28 + 16 octets."""
    report = struct.pack("!BBHIIIIII", 0x80, 200, 6, ssrc, 0xE0000000, 0, 160, packets, octets)
    chunk = struct.pack("!I", ssrc) + b"\x01\x04peer\x00\x00"
    return report + struct.pack("!BBH", 0x81, 202, len(chunk) // 4) + chunk


class Packet:
    """A received RTP packet."""

    def __init__(self, data):
        self.data = data
        first, second, self.sequence, self.timestamp, self.ssrc = struct.unpack_from("!BBHII", data)
        self.version = first >> 6
        self.payload_type = second & 0x7F
        self.marker = bool(second & 0x80)
        self.payload = data[HEADER_BYTES:]


class Peer:
    """One side of a call. sends: (payload type, payload) pairs, sent in turn.

    The sockets are connected to the gateway's once these are known, so that an ICMP error is
    seen (`refused`) and a packet from another address is not taken for the gateway's.
    """

    def __init__(self, address="127.0.0.1", sends=((0, PLAIN_PAYLOAD),)):
        self.address = address
        self.rtp, self.rtcp = udp_pair(address)
        self.port = self.rtp.getsockname()[1]
        self.sends = list(sends)
        self.sequence = 0
        self.timestamp = 0
        self.sent = []
        self.received = []
        self.reports = []
        self.refused = 0

    def connect(self, port, address=None):
        target = address or self.address
        self.rtp.connect((target, port))
        self.rtcp.connect((target, port + 1))
        return self

    def close(self):
        self.rtp.close()
        self.rtcp.close()

    def next_packet(self):
        payload_type, payload = self.sends[self.sequence % len(self.sends)]
        packet = rtp_packet(payload_type, self.sequence, self.timestamp, payload)
        self.sequence += 1
        self.timestamp += SAMPLES_PER_PACKET
        return packet

    def send(self):
        packet = self.next_packet()
        try:
            self.rtp.send(packet)
        except ConnectionRefusedError:
            self.refused += 1
            # The error was that of an earlier packet; it is taken off the socket now.
            self.rtp.send(packet)
        self.sent.append(packet)

    def receive_waiting(self):
        """Takes what is in the sockets without waiting for more."""
        for sock, packets in ((self.rtp, self.received), (self.rtcp, self.reports)):
            while True:
                try:
                    packets.append(sock.recv(65536))
                except ConnectionRefusedError:
                    self.refused += 1
                except BlockingIOError:
                    break

    def clear(self):
        self.receive_waiting()
        self.sent, self.received, self.reports = [], [], []

    def packets(self):
        """What was received, each one a whole RTP packet."""
        return [Packet(data) for data in self.received]


def stream(senders, packets=50, listeners=(), interval=PACKET_INTERVAL_S):
    """Each sender sends so many packets, one per interval; all peers receive meanwhile."""
    peers = list(dict.fromkeys([*senders, *listeners]))
    sockets = {peer.rtp: peer for peer in peers} | {peer.rtcp: peer for peer in peers}
    next_time = time.monotonic()
    for _ in range(packets):
        for sender in senders:
            sender.send()
        next_time += interval
        while (left := next_time - time.monotonic()) > 0:
            for sock in select.select(list(sockets), [], [], left)[0]:
                sockets[sock].receive_waiting()


def wait_readable(peers, seconds):
    """Waits until a peer has something; returns whether one has."""
    sockets = [sock for peer in peers for sock in (peer.rtp, peer.rtcp)]
    return bool(select.select(sockets, [], [], seconds)[0])


def port_is_closed(address, port, seconds=5):
    """Whether a datagram to that port is answered with ICMP "port unreachable"."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((address, port))
        probe.send(rtp_packet(0, 0, 0, PLAIN_PAYLOAD))
        probe.settimeout(seconds)
        try:
            probe.recv(1)
        except ConnectionRefusedError:
            return True
        except TimeoutError:
            return False
    return False

"""What enters a gateway and what leaves it, seen at the device in front of it."""

import socket
import struct
import threading

ETH_P_ALL = 3
PACKET_OUTGOING = 4
ETHERNET_HEADER_BYTES = 14
UDP = 17
RTP_HEADER_BYTES = 12
SO_TIMESTAMPNS = 35
FRAME_BYTES_MAX = 2048


def rtp_of(frame):
    """(SSRC, payload, UDP source port, target port) of an Ethernet frame with RTP over IPv4, or
    None."""
    if frame[12:14] != b"\x08\x00" or frame[ETHERNET_HEADER_BYTES + 9] != UDP:
        return None
    header = (frame[ETHERNET_HEADER_BYTES] & 15) * 4
    udp = frame[ETHERNET_HEADER_BYTES + header :]
    source, target, length = struct.unpack_from("!HHH", udp)
    datagram = udp[8:length]
    if len(datagram) <= RTP_HEADER_BYTES or datagram[0] >> 6 != 2 or 200 <= datagram[1] <= 204:
        return None
    return datagram[8:12], datagram[RTP_HEADER_BYTES:], source, target


class PathCapture:
    """Records RTP at a device from whose other end a gateway hangs, until finish()."""

    def __init__(self, device):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 << 20)
        self.socket.bind((device, ETH_P_ALL))
        self.socket.settimeout(0.2)
        self.frames = []  # (time in ns, whether it went to the gateway, frame)
        self.ended = False
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        while not self.ended:
            try:
                frame, ancillary, _, address = self.socket.recvmsg(FRAME_BYTES_MAX, 64)
            except TimeoutError:
                continue
            seconds, nanoseconds = struct.unpack("qq", ancillary[0][2])
            towards = address[2] == PACKET_OUTGOING
            self.frames.append((seconds * 1_000_000_000 + nanoseconds, towards, frame))

    def finish(self):
        self.ended = True
        self.thread.join()
        self.socket.close()
        return compare(self.frames)


def compare(frames):
    """What a relay did between the frames that entered it and those that left.

    Payloads are unique. `lost`: entered and never left. `reordered`: left after one of its stream
    that had entered later. `invented`: left without having entered, or twice.
    """
    entered, left = {}, {}
    order = {}  # by stream, the places at which its packets had entered
    invented, latencies = 0, []
    for instant, towards, frame in frames:
        packet = rtp_of(frame)
        if packet is None:
            continue
        ssrc, payload, _, _ = packet
        if towards:
            entered.setdefault(payload, (instant, len(entered)))
        elif payload not in entered or payload in left:
            invented += 1
        else:
            left[payload] = instant
            latencies.append(instant - entered[payload][0])
            order.setdefault(ssrc, []).append(entered[payload][1])
    reordered = sum(
        place < highest
        for places in order.values()
        for place, highest in zip(places, _running_maximum(places))
    )
    latencies.sort()
    return {
        "entered": len(entered),
        "left": len(left),
        "lost": len(entered) - len(left),
        "reordered": reordered,
        "invented": invented,
        "latency_us": {
            name: latencies[min(len(latencies) - 1, int(len(latencies) * part))] / 1000
            for name, part in (("p50", 0.5), ("p99", 0.99), ("p999", 0.999), ("max", 1))
        }
        if latencies
        else None,
    }


def _running_maximum(values):
    highest = -1
    for value in values:
        highest = max(highest, value)
        yield highest

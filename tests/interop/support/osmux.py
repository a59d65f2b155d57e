"""An Osmux peer: chunks of AMR 5.90 as the TTCN-3 suite sends them, and what came, taken apart."""

import socket
import time

from support import mgcp
from support.call import Leg
from support.ports import family_of, udp_socket
from support.waiting import wait_for

HEADER_BYTES = 4
FRAME_BYTES = (12, 13, 15, 17, 19, 20, 26, 31, 5, 6, 6, 6, None, None, None, 0)
FRAMES_PER_CHUNK = 4
CHUNK_INTERVAL_S = 0.08
# 118 bits of speech and two of padding.
SPEECH = bytes.fromhex("010203040102030401020304010200")
ALIGNED = bytes.fromhex("0014") + SPEECH
SPEECH_TYPE = 2


def chunk(circuit, sequence, frames, frame_type=SPEECH_TYPE, marker=False):
    """One voice chunk with the quality bit set."""
    first = 0x21 | (len(frames) - 1) << 2 | (0x80 if marker else 0)
    return bytes((first, sequence & 0xFF, circuit, frame_type << 4)) + b"".join(frames)


def read_chunks(datagram):
    """(kind, circuit, frames) of each chunk; ValueError where it is malformed."""
    chunks = []
    while datagram:
        if len(datagram) < HEADER_BYTES:
            raise ValueError("no room for a header")
        kind, count = datagram[0] >> 5 & 3, (datagram[0] >> 2 & 7) + 1
        size = FRAME_BYTES[datagram[3] >> 4]
        if kind not in (1, 2) or size is None or len(datagram) < HEADER_BYTES + count * size:
            raise ValueError(f"malformed: {datagram.hex()}")
        body = datagram[HEADER_BYTES : HEADER_BYTES + count * size]
        frames = [body[at * size : (at + 1) * size] for at in range(count)]
        chunks.append((kind, datagram[2], frames))
        datagram = datagram[HEADER_BYTES + count * size :]
    return chunks


class OsmuxPeer:
    """A socket with one circuit; `circuit` is the number by which it wants to hear."""

    def __init__(self, address="127.0.0.1", circuit=2):
        self.address, self.circuit = address, circuit
        self.socket = udp_socket(address)
        self.socket.setblocking(False)
        self.port = self.socket.getsockname()[1]
        self.target = None
        self.remote = None
        self.sequence = 12
        self.clear()

    def clear(self):
        if getattr(self, "target", None):
            self.receive_waiting()
        self.frames, self.chunks, self.sent_frames, self.refused = [], 0, 0, 0

    def connect(self, port, address=None):
        self.target = (address or self.address, port)
        self.socket.connect(self.target)
        return self

    def send(self, remote=None, frames=FRAMES_PER_CHUNK):
        """One chunk for the gateway's circuit `remote`."""
        data = chunk(self.remote if remote is None else remote, self.sequence, [SPEECH] * frames)
        self.sequence += 1
        try:
            self.socket.send(data)
        except ConnectionRefusedError:
            self.refused += 1
            self.socket.send(data)
        self.sent_frames += frames

    def receive_waiting(self):
        while True:
            try:
                datagram = self.socket.recv(65536)
            except BlockingIOError:
                return
            except ConnectionRefusedError:
                self.refused += 1
                continue
            for kind, circuit, frames in read_chunks(datagram):
                if circuit != self.circuit:
                    raise AssertionError(f"circuit {circuit} in place of {self.circuit}")
                if kind == 1:
                    self.chunks += 1
                    self.frames += frames

    def close(self):
        self.socket.close()


class OsmuxLeg(Leg):
    """A connection of a call that is an Osmux circuit, and its peer."""

    def __init__(self, call, address="127.0.0.1", circuit=2, codecs=((110, "AMR/8000"),)):
        super().__init__(call, OsmuxPeer(address, circuit), codecs)
        call.peers.append(self.peer)

    def crcx(self, number, mode="sendrecv", body=True):
        answer = self.call.agent.crcx(
            self.call.endpoint,
            mode=mode,
            extra=(f"X-Osmux: {number}",),
            body=self.body() if body else None,
        )
        return self.take(answer)

    def take(self, answer):
        super().take(answer)
        self.peer.connect(answer.rtp_port, answer.rtp_address)
        self.peer.remote = int(answer.parameters["X-OSMUX"])
        return self

    def change(self, number, mode="sendrecv"):
        """An MDCX."""
        lines = ("C: 1226", f"I: {self.connection}", f"M: {mode}", f"X-Osmux: {number}")
        return self.take(self.call.agent.command("MDCX", self.call.endpoint, lines, self.body()))


def talk(osmux=(), rtp=(), chunks=6):
    """The Osmux peers send a chunk each 80 ms, the RTP peers a packet each 20 ms, in step."""
    next_time = time.monotonic()
    for number in range(chunks * FRAMES_PER_CHUNK):
        if number % FRAMES_PER_CHUNK == 0:
            for peer in osmux:
                peer.send()
        for peer in rtp:
            peer.send()
        next_time += CHUNK_INTERVAL_S / FRAMES_PER_CHUNK
        time.sleep(max(0.0, next_time - time.monotonic()))


def wait_frames(peer, count):
    """Waits for so many frames, which must all be the one that is sent."""

    def enough():
        peer.receive_waiting()
        return len(peer.frames) >= count

    wait_for(enough, f"{count} frames at port {peer.port}")
    if set(peer.frames) - {SPEECH}:
        raise AssertionError("other frames than those that were sent")

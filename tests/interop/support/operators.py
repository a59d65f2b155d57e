"""Clients of the interfaces for operators: the VTY over telnet, CTRL, a statsd server."""

import re
import select
import socket
import struct
import time

from support.waiting import PATIENCE

ANSWER_SECONDS = 5
NEGOTIATION = bytes.fromhex("fffb01 fffb03 fffe22 fffd1f")
PROMPT = re.compile(rb"OsmoMGW(\([\w-]+\))?[>#] $")


# An osmo-mgw configuration file; {statsd}, {vty} and {ctrl} are ports.
CONFIGURATION = """\
log stderr
 logging filter all 1
 logging color 0
 logging print category 1
 logging timestamp 0
stats interval 0
stats reporter statsd
 prefix TTCN3
 remote-ip 127.0.0.1
 remote-port {statsd}
 enable
line vty
 no login
 bind 127.0.0.1 {vty}
ctrl
 bind 127.0.0.1 {ctrl}
mgcp
 domain mgw
 bind ip 127.0.0.1
 rtp bind-ip 127.0.0.1
 rtp bind-ip-v6 ::1
 no rtp keep-alive
 no rtcp-omit
 no rtp-patch
 sdp audio-payload send-ptime
 sdp audio-payload send-name
 number endpoints 300
 conn-timeout 0
 osmux bind-ip 127.0.0.1
 osmux bind-ip-v6 ::1
 trunk 1
  line 0
"""


class Client:
    """Holds one socket, and is a context manager that closes it."""

    socket = None

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Vty(Client):
    """A session that reads up to each prompt, and knows in how many pieces it came."""

    def __init__(self, address):
        self.socket = socket.create_connection(address, ANSWER_SECONDS * PATIENCE)
        self.greeting = self.read()

    def read(self):
        """All up to the next prompt, which has to come whole in one piece with nothing behind."""
        data = b""
        while not PROMPT.search(data):
            piece = self.socket.recv(1 << 20)
            if not piece:
                raise AssertionError(f"the session ended after {data!r}")
            data += piece
            begun = piece.rfind(b"OsmoMGW")
            if begun >= 0 and piece[begun:].count(b"\r\n") == 0 and not PROMPT.search(piece):
                raise AssertionError(f"a prompt in two pieces: {piece[begun:]!r}")
        return data

    def command(self, text):
        """What a command prints and the prompt after it, both as text."""
        self.socket.sendall(text.encode() + b"\n")
        data = self.read().decode()
        echo, _, rest = data.partition("\r\n")
        if echo != text:
            raise AssertionError(f"{text!r} is echoed as {echo!r}")
        output, _, prompt = rest.rpartition("\r\n")
        return output.replace("\r\n", "\n"), prompt

    def prompt_after(self, text):
        """The prompt after a command that prints nothing."""
        output, prompt = self.command(text)
        if output:
            raise AssertionError(f"{text!r} prints {output!r}")
        return prompt


class Ctrl(Client):
    """A CTRL connection (IPA framing)."""

    def __init__(self, address):
        self.socket = socket.create_connection(address, ANSWER_SECONDS * PATIENCE)

    def ask(self, text):
        payload = b"\x00" + text.encode()
        self.socket.sendall(struct.pack("!HB", len(payload), 0xEE) + payload)
        head = self._exactly(4)
        size, stream, extension = struct.unpack("!HBB", head)
        if (stream, extension) != (0xEE, 0):
            raise AssertionError(f"not CTRL: {head!r}")
        return self._exactly(size - 1).decode()

    def _exactly(self, size):
        data = b""
        while len(data) < size:
            piece = self.socket.recv(size - len(data))
            if not piece:
                raise AssertionError("CTRL connection closed")
            data += piece
        return data


class StatsdServer(Client):
    """Receives reports and reads them as strictly as a conformance suite does."""

    LINE = re.compile(r"^([^:|\n]+):(-?\d+)\|(g|c|ms|h|m)$")

    def __init__(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.setblocking(False)
        self.port = self.socket.getsockname()[1]

    def clear(self):
        while select.select([self.socket], [], [], 0)[0]:
            self.socket.recv(65536)

    def first(self, key):
        """The first value of a key that comes, with its type."""
        deadline = time.monotonic() + ANSWER_SECONDS * PATIENCE
        while time.monotonic() < deadline:
            if not select.select([self.socket], [], [], 0.1)[0]:
                continue
            datagram = self.socket.recv(65536).decode()
            for line in datagram.split("\n"):
                match = self.LINE.match(line)
                if not match:
                    raise AssertionError(f"not statsd: {line!r} in {datagram!r}")
                if match[1] == key:
                    return int(match[2]), match[3]
        raise AssertionError(f"{key} did not come")

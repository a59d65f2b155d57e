"""A call agent: sends commands, reads answers as strictly as the TTCN-3 suite does."""

import itertools
import re
import select
import socket

from support.ports import family_of
from support.waiting import PATIENCE

ANSWER_SECONDS = 5
# The parameter lines that the suite's decoder knows, and ours for those who ask for them.
PARAMETER = re.compile(
    r"^(B|C|I|N|X|L|M|R|S|D|O|P|E|Z|Q|T|A|RC|LC|ES|RM|RD|PL|MD|X-Osmo-CP|X-Osmo-IGN|X-Osmux|"
    r"X-Mgw-Tap|X-Mgw-Streams): "
    r"(.*)$", re.IGNORECASE)
_transactions = itertools.count(1)


class Answer:
    """A decoded answer; raises ValueError where the suite's decoder would fail."""

    def __init__(self, text):
        self.text = text
        head, _, self.sdp = text.partition("\r\n\r\n")
        lines = head.rstrip("\r\n").split("\r\n")
        match = re.match(r"^(\d{3}) (\d{1,9}) (.*)$", lines[0])
        if not match:
            raise ValueError(f"no answer line: {lines[0]!r}")
        self.code, self.transaction, self.comment = int(match[1]), int(match[2]), match[3]
        self.parameters = {}
        for line in lines[1:]:
            parameter = PARAMETER.match(line)
            if not parameter:
                raise ValueError(f"unknown parameter line: {line!r}")
            self.parameters[parameter[1].upper()] = parameter[2]

    @property
    def connection(self):
        return self.parameters.get("I")

    @property
    def endpoint(self):
        return self.parameters.get("Z")

    def sdp_line(self, prefix):
        for line in self.sdp.splitlines():
            if line.startswith(prefix):
                return line[len(prefix):]
        return None

    @property
    def rtp_port(self):
        return int(self.sdp_line("m=audio ").split()[0])

    @property
    def formats(self):
        return [int(number) for number in self.sdp_line("m=audio ").split()[2:]]

    @property
    def rtp_address(self):
        return self.sdp_line("c=IN ").split()[1]


def sdp(address, port, codecs, fmtp=()):
    """A session description in the suite's form; codecs: (payload type, name) pairs."""
    kind = "IP6" if ":" in address else "IP4"
    numbers = " ".join(str(number) for number, _ in codecs)
    lines = ["v=0", f"o=- 23 42 IN {kind} {address}", "s=-", f"c=IN {kind} {address}", "t=0 0",
             f"m=audio {port} RTP/AVP {numbers}"]
    lines += [f"a=rtpmap:{number} {name}" for number, name in codecs]
    lines += ["a=ptime:20"]
    lines += [f"a=fmtp:{number} {text}" for number, text in fmtp]
    return "".join(f"{line}\r\n" for line in lines)


class Agent:
    """A UDP socket that is connected to the gateway's MGCP port, on the host `source` if given."""

    def __init__(self, address, port, source=None):
        self.socket = socket.socket(family_of(address), socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * 1024 * 1024)
        if source:
            self.socket.bind((source, 0))
        self.socket.connect((address, port))

    def close(self):
        self.socket.close()

    def send(self, text):
        self.socket.send(text if isinstance(text, bytes) else text.encode())

    def receive(self, seconds=ANSWER_SECONDS):
        """The next datagram as text, or None after the deadline."""
        if not select.select([self.socket], [], [], seconds * PATIENCE)[0]:
            return None
        return self.socket.recv(65536).decode()

    def exchange(self, text):
        self.send(text)
        answer = self.receive()
        if answer is None:
            raise AssertionError(f"no answer to {text!r}")
        return answer

    @staticmethod
    def next_transaction():
        return next(_transactions)

    def command(self, verb, endpoint, lines=(), body=None, transaction=None):
        """Sends one command and returns its answer, with the transaction checked."""
        number = transaction or self.next_transaction()
        answer = Answer(self.exchange(self.text(verb, endpoint, lines, body, number)))
        if answer.transaction != number:
            raise AssertionError(f"answer to {answer.transaction} in place of {number}")
        return answer

    @staticmethod
    def text(verb, endpoint, lines=(), body=None, transaction=None):
        head = [f"{verb} {transaction or Agent.next_transaction()} {endpoint} MGCP 1.0", *lines]
        text = "".join(f"{line}\r\n" for line in head)
        return text if body is None else f"{text}\r\n{body}"

    def crcx(self, endpoint, call="1226", mode="recvonly", options="p:20, a:AMR", body=None,
             extra=(), transaction=None):
        lines = [f"{letter}: {value}" for letter, value in
                 (("C", call), ("L", options), ("M", mode)) if value is not None]
        return self.command("CRCX", endpoint, [*lines, *extra], body, transaction)

    def mdcx(self, endpoint, connection, call="1226", mode="sendrecv", options="p:20, a:AMR",
             body=None):
        lines = [f"{letter}: {value}" for letter, value in
                 (("C", call), ("I", connection), ("L", options), ("M", mode))
                 if value is not None]
        return self.command("MDCX", endpoint, lines, body)

    def dlcx(self, endpoint, call=None, connection=None, transaction=None):
        lines = [f"{letter}: {value}" for letter, value in (("C", call), ("I", connection))
                 if value is not None]
        return self.command("DLCX", endpoint, lines, None, transaction)

    def auep(self, endpoint="null@mgw"):
        return self.command("AUEP", endpoint)

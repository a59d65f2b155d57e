#!/usr/bin/env python3
"""Lets a call agent that speaks MGCP set calls up at rtpengine, which speaks its own NG protocol.

Only what the load generator needs: CRCX of a first and a second leg, DLCX, AUEP. Media does not
come this way: the call agent is told rtpengine's own ports.

rtpengine makes both ports of a call from an offer and an answer, MGCP asks for one leg after the
other. So the first CRCX is an offer together with an answer from nowhere, and the second one an
offer from the other side, answered with what the first side had said; with `port-latching` the
ports stay what they were.
"""

import argparse
import os
import re
import signal
import socket
import sys
import time

import bencode

# Nothing is sent there: the second leg's CRCX comes before any media.
NOWHERE_PORT = 9
NG_TIMEOUT_S = 5
# In which rtpengine must have started.
START_TIMEOUT_S = 20
START_INTERVAL_S = 0.05
DATAGRAM_BYTES_MAX = 65535
# Answers that are remembered for requests that come again.
REMEMBERED_ANSWERS = 4096
REQUEST = re.compile(r"^(\w{4}) (\d+) (\S+) MGCP 1\.0")


class NgError(Exception):
    """rtpengine refused, or did not answer."""


class NgClient:
    """One question at a time to rtpengine's NG socket."""

    def __init__(self, address, port):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.settimeout(NG_TIMEOUT_S)
        self.socket.connect((address, port))
        self.cookie = 0

    def ask(self, **message):
        """Sends a message (a key's `_` stands for `-`); returns the answer as a dictionary."""
        self.cookie += 1
        cookie = b"%d " % self.cookie
        keys = {key.replace("_", "-"): value for key, value in message.items()}
        try:
            self.socket.send(cookie + bencode.encode(keys))
            datagram = b""
            while not datagram.startswith(cookie):
                datagram = self.socket.recv(DATAGRAM_BYTES_MAX)
        except OSError as error:
            raise NgError(f"no answer from rtpengine: {error}") from None
        answer = bencode.decode(datagram[len(cookie) :])
        if answer.get("result") not in ("ok", "pong"):
            raise NgError(answer.get("error-reason", "refused"))
        return answer


def with_port(sdp, port):
    """The same session description with another port of its audio."""
    return re.sub(r"(?m)^(m=audio )\d+", rf"\g<1>{port}", sdp)


class Adapter:
    """The endpoints of an MGCP gateway, each of them a call at rtpengine."""

    # The cheapest that rtpengine does: it trusts the description and touches nothing else.
    COMMON = {"flags": ["trust-address", "port-latching"], "ICE": "remove"}

    def __init__(self, ask):
        self.ask = ask
        self.calls = {}  # endpoint: the descriptions of its legs
        self.next_number = 1
        self.answers = {}  # (peer, transaction): text

    def handle(self, text, peer):
        """The answer to one MGCP request; None if it is none."""
        match = REQUEST.match(text)
        if not match:
            return None
        verb, transaction, endpoint = match.groups()
        key = (peer, transaction)
        if key not in self.answers:
            try:
                status, body = self.carry_out(verb.upper(), endpoint, text)
            except (NgError, bencode.BencodeError) as error:
                status, body = f"400 {transaction} {error}", ""
            if len(self.answers) >= REMEMBERED_ANSWERS:
                del self.answers[next(iter(self.answers))]
            self.answers[key] = f"{status.format(transaction)}\r\n{body}"
        return self.answers[key]

    def carry_out(self, verb, endpoint, text):
        if verb == "CRCX":
            return "200 {} OK", self.create(endpoint, text)
        if verb == "DLCX":
            self.delete(endpoint)
            return "250 {} OK", ""
        if verb == "AUEP":
            return "200 {} OK", ""
        return "504 {} unknown", ""

    def create(self, endpoint, text):
        offered = text.replace("\r\n", "\n").partition("\n\n")[2].replace("\n", "\r\n")
        if "*" in endpoint:
            endpoint = endpoint.replace("*", f"{self.next_number:x}", 1)
            self.next_number += 1
        legs = self.calls.setdefault(endpoint, [])
        if not legs:
            described = self.first_leg(endpoint, offered)
        elif len(legs) == 1:
            described = self.second_leg(endpoint, legs[0], offered)
        else:
            raise NgError("a call has two legs")
        legs.append(offered)
        connection = f"{len(legs)}"
        return f"I: {connection}\r\nZ: {endpoint}\r\n\r\n{described}"

    def first_leg(self, call, offered):
        common = {"call_id": call, "from_tag": "first", **self.COMMON}
        self.ask(command="offer", sdp=offered, **common)
        nowhere = with_port(offered, NOWHERE_PORT)
        return self.ask(command="answer", to_tag="second", sdp=nowhere, **common)["sdp"]

    def second_leg(self, call, first, offered):
        common = {"call_id": call, "from_tag": "second", "to_tag": "first", **self.COMMON}
        self.ask(command="offer", sdp=offered, **common)
        return self.ask(command="answer", sdp=first, **common)["sdp"]

    def delete(self, endpoint):
        """The first DLCX ends the call, the second finds it ended."""
        if self.calls.pop(endpoint, None) is not None:
            self.ask(command="delete", call_id=endpoint, from_tag="first", delete_delay=0)


def wait_for_rtpengine(ask):
    """Until it answers, the adapter is not there either."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while True:
        try:
            return ask(command="ping")
        except NgError:
            if time.monotonic() > deadline:
                raise
            time.sleep(START_INTERVAL_S)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mgcp-port", type=int, required=True)
    parser.add_argument("--ng-port", type=int, required=True)
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    adapter = Adapter(NgClient("127.0.0.1", arguments.ng_port).ask)
    wait_for_rtpengine(adapter.ask)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as agent:
        agent.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        agent.bind(("127.0.0.1", arguments.mgcp_port))
        while True:
            datagram, peer = agent.recvfrom(DATAGRAM_BYTES_MAX)
            answer = adapter.handle(datagram.decode(errors="replace"), peer)
            if answer is not None:
                agent.sendto(answer.encode(), peer)


if __name__ == "__main__":
    sys.exit(main())

"""A call agent beside the load: what it sees of the gateway, as a log.

It asks for the null endpoint and sets a call up again and again, answers RSIP, and writes down what
changes: answers, their absence, and what the gateway says of itself.
"""

import select
import socket
import threading
import time

from support import mgcp
from support.restart_listener import RestartListener

INTERVAL_S = 0.02
# A command is repeated after this time, one that makes or ends a call so many times.
REPEAT_S = 0.1
TRIES = 20
# What is worth a line of its own if an answer took longer.
LATE_S = 0.05


class AgentWatch(threading.Thread):
    """Runs as a context manager. `entity` is for mgcp.notify-entity; at() begins the watch."""

    def __init__(self):
        super().__init__(daemon=True)
        self.restarts = RestartListener()
        self.entity = self.restarts.entity
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.setblocking(False)
        self.gateway = None
        self.lines, self.states = [], {}
        self.begin = time.monotonic()
        self.going = True

    def at(self, gateway):
        """The gateway listens; the watch begins."""
        self.gateway = (gateway.address, gateway.port)
        self.begin = time.monotonic()
        self.start()
        return self

    def note(self, text):
        """A line of the log, with its time."""
        self.lines.append(f"{time.monotonic() - self.begin:7.3f} s  {text}")

    def note_state(self, what, state):
        """A line if it is not as it was."""
        if self.states.get(what) != state:
            self.states[what] = state
            self.note(f"{what}: {state}")

    def take_notices(self):
        noted = len(self.restarts.notices)
        for notice in self.restarts.take()[noted:]:
            self.note(f"RSIP: {notice}")

    def ask(self, verb, endpoint, lines=(), tries=1):
        """The answer, or None after so many repetitions."""
        number = mgcp.Agent.next_transaction()
        text = mgcp.Agent.text(verb, endpoint, lines, None, number).encode()
        begin = time.monotonic()
        for attempt in range(tries):
            if attempt == 1:
                self.note(f"{verb}: no answer, repeated")
            try:
                self.socket.sendto(text, self.gateway)
            except OSError:
                pass
            answer = self.answer_to(number, time.monotonic() + REPEAT_S)
            if answer:
                took = time.monotonic() - begin
                if took > LATE_S:
                    self.note(f"{verb} was answered after {1000 * took:.0f} ms")
                return answer
        return None

    def answer_to(self, number, deadline):
        while (left := deadline - time.monotonic()) > 0:
            self.take_notices()
            if not select.select([self.socket], [], [], min(left, INTERVAL_S))[0]:
                continue
            try:
                answer = mgcp.Answer(self.socket.recv(65536).decode())
            except OSError:  # ICMP: nobody has the port
                continue
            if answer.transaction == number:
                return answer
        return None

    def step(self):
        answer = self.ask("AUEP", "null@mgw")
        self.note_state("AUEP", f"{answer.code} {answer.comment}" if answer else "no answer")
        if answer is None:
            return
        answer = self.ask("CRCX", "rtpbridge/*@mgw", ["C: 77", "M: recvonly"], TRIES)
        self.note_state(
            "CRCX of a new call", f"{answer.code} {answer.comment}" if answer else "no answer"
        )
        if answer and answer.code == 200:
            self.ask("DLCX", answer.endpoint, ["C: 77"], TRIES)

    def run(self):
        while self.going:
            self.step()
            self.take_notices()
            time.sleep(INTERVAL_S)
        self.take_notices()

    def finish(self):
        """The log's lines; the watch ends."""
        self.going = False
        if self.is_alive():
            self.join()
        return self.lines

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.finish()
        self.socket.close()
        self.restarts.close()

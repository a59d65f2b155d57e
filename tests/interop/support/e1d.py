"""A stand-in for osmo-e1d: serves its UNIX socket and one line, in a thread of its own.

Messages are eight octets (magic, length, type, interface, line, time slot) and content, numbers in
the machine's order. Interface 0 has line 0. What is sent on a time slot is received on the other
one of its pair: 1 and 2, 3 and 4, ...
"""

import os
import select
import socket
import struct
import threading
import time

HEADER = struct.Struct("=HHBBBB")
MAGIC = 0x01E1
LINE_QUERY, OPEN, ANSWER = 0x01, 0x04, 0x80
RAW, CHANNELISED = 0x10, 0x20
IDLE = b"\xff"
# The line's pace: so many octets of each time slot at once, 5 ms of it.
OCTETS = 40
BLOCK_OCTETS = 160
INTERVAL_S = 0.005


class Timeslot:
    """An open time slot: our end of the stream, what is gathered for it, and what came from it."""

    def __init__(self, stream, piece):
        self.stream, self.piece = stream, piece
        self.gathered = b""
        self.waiting = b""
        self.started = False

    def receive(self):
        """False if the client has closed the stream."""
        while True:
            try:
                octets = self.stream.recv(4096)
            except BlockingIOError:
                return True
            except ConnectionError:
                return False
            if not octets:
                return False
            self.waiting += octets
            self.started = True

    def may_send(self):
        """The line waits for a client that is late by more than a block, so that no test depends
        on how busy the machine is. A real line sends idle octets instead."""
        return not self.started or len(self.waiting) >= OCTETS + BLOCK_OCTETS

    def next_octets(self):
        octets, self.waiting = self.waiting[:OCTETS], self.waiting[OCTETS:]
        return octets + IDLE * (OCTETS - len(octets))

    def gather(self, octets):
        self.gathered += octets
        while len(self.gathered) >= self.piece:
            try:
                self.stream.send(self.gathered[: self.piece])
            except (BlockingIOError, ConnectionError):
                pass  # as osmo-e1d does: what the client does not take is lost
            self.gathered = self.gathered[self.piece :]


class E1d:
    """Start and stop it as often as wanted; a context manager stops it."""

    def __init__(self, path):
        self.path = path
        self.taken = set()
        self.on_block = lambda: None  # called in the thread each 20 ms of the line
        self.thread = None

    def start(self):
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(self.path)
        self.listener.listen(8)
        self.listener.setblocking(False)
        self.clients, self.timeslots = [], {}
        self.moved = 0
        self.running = True
        self.thread = threading.Thread(target=self._serve)
        self.thread.start()

    def stop(self):
        if not self.thread:
            return
        self.running = False
        self.thread.join()
        self.thread = None
        for timeslot in self.timeslots.values():
            timeslot.stream.close()
        for sock in (*self.clients, self.listener):
            sock.close()
        os.unlink(self.path)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def _serve(self):
        due = time.monotonic()
        while self.running:
            left = max(0, due - time.monotonic())
            for sock in select.select([self.listener, *self.clients], [], [], left)[0]:
                if sock is self.listener:
                    self.clients.append(sock.accept()[0])
                else:
                    self._answer(sock)
            if time.monotonic() >= due:
                due += INTERVAL_S
                self._move()

    def _answer(self, client):
        request = client.recv(4096)
        if not request:
            self.clients.remove(client)
            client.close()
            return
        magic, length, kind, interface, line, number = HEADER.unpack_from(request)
        assert (magic, length) == (MAGIC, len(request)), request
        ours = (interface, line) == (0, 0)
        if kind == LINE_QUERY:
            self._send(client, kind, bytes((0, CHANNELISED, 0)) if ours else b"")
            return
        mode, _, piece = struct.unpack_from("=BBH", request, HEADER.size)
        assert (kind, mode) == (OPEN, RAW), request
        if not ours or number in self.taken or number in self.timeslots:
            self._send(client, kind, b"")
            return
        mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        mine.setblocking(False)
        self.timeslots[number] = Timeslot(mine, piece)
        self._send(client, kind, bytes((number, mode, 0, 0, 0, 0xA5)), theirs)
        theirs.close()

    def _send(self, client, kind, content, passed=None):
        header = HEADER.pack(MAGIC, HEADER.size + len(content), kind | ANSWER, 0, 0, 0)
        if passed:
            socket.send_fds(client, [header + content], [passed.fileno()])
        else:
            client.send(header + content)

    def _move(self):
        """5 ms of the line, in both directions."""
        for number, timeslot in list(self.timeslots.items()):
            if not timeslot.receive():
                timeslot.stream.close()
                del self.timeslots[number]
        if not all(timeslot.may_send() for timeslot in self.timeslots.values()):
            return
        self.moved += OCTETS
        if self.moved % BLOCK_OCTETS == 0:
            self.on_block()
        sent = {number: timeslot.next_octets() for number, timeslot in self.timeslots.items()}
        for number, timeslot in self.timeslots.items():
            partner = number if number == 31 else ((number - 1) ^ 1) + 1
            timeslot.gather(sent.get(partner, IDLE * OCTETS))

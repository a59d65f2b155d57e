"""Osmocom's MGCP client library as a call agent, in the program MGCP_CLIENT_DRIVER."""

import itertools
import json
import os
import select
import subprocess
import time

from support.waiting import PATIENCE

PROGRAM = os.environ.get("MGCP_CLIENT_DRIVER", "")
ANSWER_SECONDS = 5
_names = itertools.count(1)


class MgcpClients:
    """The driver: clients of the library in one process. Use it as a context manager."""

    def __init__(self):
        self.process = subprocess.Popen([PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.events = []
        self.unread = b""

    def say(self, what, **words):
        self.process.stdin.write(json.dumps({"do": what, **words}).encode() + b"\n")
        self.process.stdin.flush()

    def _read(self, seconds):
        """Takes what the program has said; False if that was nothing within the time."""
        if not select.select([self.process.stdout], [], [], max(0, seconds))[0]:
            return False
        data = os.read(self.process.stdout.fileno(), 1 << 20)
        if not data:
            raise AssertionError(f"the driver has ended: {self.process.wait()}")
        *lines, self.unread = (self.unread + data).split(b"\n")
        self.events += [json.loads(line) for line in lines]
        return True

    def take(self, seconds=ANSWER_SECONDS, **wanted):
        """The next event with these members, taken out; None after the deadline."""
        deadline = time.monotonic() + seconds * PATIENCE
        while True:
            for number, event in enumerate(self.events):
                if event["event"] == "error":
                    raise AssertionError(event)
                if wanted.items() <= event.items():
                    return self.events.pop(number)
            if not self._read(deadline - time.monotonic()):
                return None

    def expect(self, **wanted):
        event = self.take(**wanted)
        if event is None:
            raise AssertionError(f"no event with {wanted}; there are {self.events}")
        return event

    def client(self, address, port):
        return MgcpClient(self, address, port)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.process.stdin.close()
        try:
            status = self.process.wait(ANSWER_SECONDS * PATIENCE)
        finally:
            self.process.kill()
            self.process.stdout.close()
        if kind is None and status != 0:
            raise AssertionError(f"the driver ended with {status}")


class MgcpClient:
    """One client, which has a socket of its own."""

    def __init__(self, clients, address, port):
        self.clients, self.name = clients, f"client{next(_names)}"
        clients.say("client", client=self.name, remote=address, port=port)
        if clients.expect(event="connected", client=self.name)["result"] != 0:
            raise AssertionError("the client has no socket")

    def send(self, verb, endpoint, **leg):
        """Sends a command; returns its transaction."""
        self.clients.say("send", client=self.name, verb=verb, endpoint=endpoint, **leg)
        return self.clients.expect(event="sent", client=self.name)["transaction"]

    def answer(self, transaction, seconds=ANSWER_SECONDS):
        return self.clients.take(seconds, event="answer", client=self.name, transaction=transaction)

    def command(self, verb, endpoint, **leg):
        transaction = self.send(verb, endpoint, **leg)
        answer = self.answer(transaction)
        if answer is None:
            raise AssertionError(f"no answer to {verb} {endpoint}")
        if answer["answered"] != transaction:
            raise AssertionError(answer)
        return answer

    def endpoint(self, name="rtpbridge/*@mgw"):
        return EndpointMachine(self, name)


class EndpointMachine:
    """The library's state machine for an endpoint, with which osmo-bsc and osmo-msc make calls."""

    def __init__(self, client, endpoint):
        self.clients, self.name = client.clients, f"endpoint{next(_names)}"
        self.clients.say("endpoint", client=client.name, name=self.name, endpoint=endpoint)

    def request(self, connection, verb, **leg):
        self.clients.say("request", name=self.name, ci=connection, verb=verb, **leg)

    def result(self, connection, event="done"):
        """What the machine tells of the last request for the connection."""
        return self.clients.expect(event=event, name=f"{self.name}-{connection}")

    def ask(self, connection, verb, **leg):
        self.request(connection, verb, **leg)
        return self.result(connection)

    def clear(self):
        """Deletes all of it; the machine ends at once, its answers come later."""
        self.clients.say("clear", name=self.name)
        self.clients.expect(event="gone", name=self.name)

"""Very many call set-ups at a running gateway, by agents that do everything wrong that agents do.

Loss, repeats, garbage, ports that run out, agents that restart, a gateway that is stopped and
continued, a wall clock that is set by an hour. Again and again all calls are ended, and then the
gateway has to be as it was: descriptors, memory, ports, endpoints, and its counters balance.
"""

import heapq
import os
import random
import select
import signal
import socket
import struct
import tempfile
import time

from support.gateway import PROGRAM, Gateway
from support.waiting import PATIENCE, wait_for

SETTINGS = {
    "mgcp.transaction-history-s": 1,
    "rtp.port-quarantine-ms": 20,
    "endpoints.connection-timeout-s": 3,
    "rtcp.generate": "true",
}
AGENTS = 3
# Endpoints and ports for each call that an agent may have at once: the agents' calls, those that
# a restarted agent has left behind, and ports in quarantine use them up now and then.
ENDPOINTS_PER_CALL = 5
PORTS_PER_CALL = 15
TRIES_MAX = 4
# Before the first repetition; the later ones wait that many times as long as they have tries.
REPEAT_SECONDS = 0.1
SDP = "M: sendrecv\r\nL: p:20, a:PCMA\r\n\r\nv=0\r\nc=IN IP4 127.0.0.1\r\nm=audio %d RTP/AVP 8\r\n"
# What is back at its value of the start when all calls have ended.
GAUGES = (
    "connections",
    "endpoints_used",
    "rtp_port_pairs_used",
    "io_sockets",
    "mgcp_transactions_remembered",
    "bandwidth_bytes_per_second",
)
FIRST, SECOND, TALKING, DELETING = range(4)


def value_of(answer, name):
    """What is between `name` and the end of its line."""
    begin = answer.index(name) + len(name)
    return answer[begin : answer.index(b"\r", begin)].decode()


class SoakCall:
    """One call of an agent: the command under way and what the gateway answered."""

    def __init__(self, number):
        self.number, self.state, self.endpoint, self.ports = number, FIRST, "rtpbridge/*@mgw", []
        self.transaction = self.tries = self.packets = 0
        self.text, self.due = b"", 0.0


class SoakAgent:
    """Keeps calls coming and going over a network that loses and repeats."""

    def __init__(self, gateway, seed, calls_max):
        self.gateway = (gateway.address, gateway.port)
        self.random = random.Random(seed)
        self.calls_max = calls_max
        self.loss = self.repeats = 0.0
        self.calls, self.due = {}, []
        self.number = self.set_up = self.refused = self.given_up = 0
        self.next_begin = 0.0
        self.socket = None
        self.media = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.media.bind(("127.0.0.1", 0))
        self.media.setblocking(False)
        self.body = SDP % self.media.getsockname()[1]
        self.begin()

    def begin(self):
        """As after a restart: another port, other transactions, no memory of calls."""
        self.calls.clear()
        self.due.clear()
        if self.socket:
            self.socket.close()
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.setblocking(False)
        self.transaction = self.random.randrange(1, 900_000_000)

    def close(self):
        self.socket.close()
        self.media.close()

    def send(self, data):
        for _ in range(1 + (self.random.random() < self.repeats)):
            if self.random.random() >= self.loss:
                try:
                    self.socket.sendto(data, self.gateway)
                except OSError:
                    pass

    def command(self, call, verb, lines):
        self.calls.pop(call.transaction, None)
        self.transaction += 1
        call.transaction, call.tries = self.transaction, 0
        call.text = (
            f"{verb} {call.transaction} {call.endpoint} MGCP 1.0\r\n"
            f"C: {call.number:x}\r\n{lines}"
        ).encode()
        self.calls[call.transaction] = call
        self.try_again(call)

    def try_again(self, call):
        call.tries += 1
        if call.tries > TRIES_MAX:
            self.given_up += 1
            del self.calls[call.transaction]
            return
        self.send(call.text)
        call.due = time.monotonic() + REPEAT_SECONDS * call.tries
        heapq.heappush(self.due, (call.due, call.transaction))

    def crcx(self, call):
        self.command(call, "CRCX", self.body)

    def step(self, may_begin):
        now = time.monotonic()
        while may_begin and now >= self.next_begin and len(self.calls) < self.calls_max:
            self.number += 1
            self.crcx(SoakCall(self.number))
        for _ in range(256):
            try:
                answer = self.socket.recv(65536)
            except OSError:
                break
            if self.random.random() >= self.loss:
                self.on_answer(answer)
        try:
            while True:
                self.media.recv(2048)
        except OSError:
            pass
        now = time.monotonic()
        while self.due and self.due[0][0] <= now:
            when, transaction = heapq.heappop(self.due)
            call = self.calls.get(transaction)
            if call and call.due == when:
                self.try_again(call)

    def on_answer(self, answer):
        words = answer.split(None, 2)
        try:
            code, transaction = int(words[0]), int(words[1])
        except (IndexError, ValueError):
            return
        call = self.calls.get(transaction)
        if call is None or code < 200:
            return
        if call.state == DELETING:
            del self.calls[transaction]
        elif code != 200:
            self.refused += 1
            self.next_begin = time.monotonic() + 0.02
            if call.state == FIRST:
                del self.calls[transaction]
            else:
                self.delete(call)
        else:
            self.on_created(call, answer)

    def on_created(self, call, answer):
        if call.state == FIRST:
            call.endpoint = value_of(answer, b"\nZ: ")
        call.ports.append(int(value_of(answer, b"\nm=audio ").split()[0]))
        if call.state == FIRST:
            call.state = SECOND
            self.crcx(call)
            return
        self.set_up += 1
        for sequence in range(self.random.randrange(4)):
            packet = struct.pack("!BBHII", 0x80, 8, sequence, sequence * 160, call.number)
            for port in call.ports:
                try:
                    self.media.sendto(packet + b"\xd5" * 40, ("127.0.0.1", port))
                except OSError:
                    pass
        self.delete(call)

    def delete(self, call):
        call.state = DELETING
        self.command(call, "DLCX", "")

    def send_garbage(self):
        garbage = self.random.randbytes(self.random.randrange(200))
        head = self.random.choice((b"", b"CRCX ", b"CRCX 1 rtpbridge/*@mgw MGCP 1.0\r\n", b"200 "))
        self.send(head + garbage)


class Soak:
    """The gateway, three agents, and the faults. cycle() may be called any number of times.

    clock_library: what goes into LD_PRELOAD so that the wall clock can be set; calls: those that
    an agent has at once.
    """

    def __init__(self, seed, clock_library=None, backend=None, calls=16):
        self.random = random.Random(seed)
        self.directory = tempfile.TemporaryDirectory(prefix="mgw-soak-")
        self.clock_file = os.path.join(self.directory.name, "shift")
        self.shift_clock(0)
        program = [PROGRAM]
        self.shifts = clock_library is not None
        if self.shifts:
            program = [
                "env",
                f"LD_PRELOAD={clock_library}",
                f"SHIFTED_CLOCK_FILE={self.clock_file}",
                PROGRAM,
            ]
        self.gateway = Gateway(
            {**SETTINGS, "endpoints.count": ENDPOINTS_PER_CALL * calls},
            ports=PORTS_PER_CALL * calls,
            program=program,
            backend=backend,
        )
        self.agents = [SoakAgent(self.gateway, seed * AGENTS + i, calls) for i in range(AGENTS)]
        self.faults = {}
        self.next_fault = 0.0
        self.calm_figures = self.figures()
        self.calm_state = self.state()

    def shift_clock(self, seconds):
        # In place: the gateway has it mapped.
        mode = "r+b" if os.path.exists(self.clock_file) else "wb"
        with open(self.clock_file, mode) as file:
            file.write(struct.pack("=q", seconds))

    def close(self):
        for agent in self.agents:
            agent.close()
        self.gateway.kill()
        self.directory.cleanup()

    @property
    def set_up(self):
        return sum(agent.set_up for agent in self.agents)

    def figures(self):
        """Descriptors, KiB of memory."""
        with open(f"/proc/{self.gateway.pid}/status", encoding="ascii") as status:
            memory = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
        return len(os.listdir(f"/proc/{self.gateway.pid}/fd")), memory

    def disturb(self):
        agent = self.random.choice(self.agents)
        kind = self.random.choice(
            ("loss", "loss", "calm", "garbage", "restart", "stop", "clock", "hangup")
        )
        self.faults[kind] = self.faults.get(kind, 0) + 1
        if kind == "loss":
            agent.loss, agent.repeats = self.random.random() * 0.1, self.random.random() * 0.1
        elif kind == "calm":
            agent.loss = agent.repeats = 0.0
        elif kind == "garbage":
            for _ in range(50):
                agent.send_garbage()
        elif kind == "restart":
            agent.begin()
        elif kind == "stop":
            self.gateway.signal(signal.SIGSTOP)
            time.sleep(self.random.random() * 0.5)
            self.gateway.signal(signal.SIGCONT)
        elif kind == "clock" and self.shifts:
            self.shift_clock(self.random.choice((-3600, 0, 3600)))
        elif kind == "hangup":
            self.gateway.signal(signal.SIGHUP)

    def step(self, may_begin):
        if may_begin and time.monotonic() >= self.next_fault:
            self.next_fault = time.monotonic() + 0.1 + self.random.random() * 0.4
            self.disturb()
        for agent in self.agents:
            agent.step(may_begin)
        select.select([agent.socket for agent in self.agents], [], [], 0.002)

    def cycle(self, setups):
        """Sets up so many calls, ends all, and checks that nothing is left."""
        goal = self.set_up + setups
        while self.set_up < goal:
            self.step(True)
            if self.gateway.process.poll() is not None:
                raise AssertionError(f"the gateway has ended: {self.gateway.log()[-4000:]}")
        for agent in self.agents:
            agent.loss = agent.repeats = 0.0
        deadline = time.monotonic() + 20 * PATIENCE
        while any(agent.calls for agent in self.agents):
            self.step(False)
            if time.monotonic() > deadline:
                raise AssertionError("commands without an answer")
        return self.check_empty()

    def state(self):
        """What the gateway holds, and the balance equation of its datagrams."""
        metrics = self.gateway.metrics()
        came, went = metrics.balance()
        held = {name: metrics.total(f"mgw_{name}") for name in GAUGES}
        return {**held, "received and not accounted for": came - went}

    def check_empty(self):
        try:
            wait_for(lambda: self.state() == self.calm_state, "the gateway is empty", 30)
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.state()}, not {self.calm_state}") from None
        wait_for(lambda: self.figures()[0] <= self.calm_figures[0], "descriptors are closed")
        return self.figures()

    def report(self):
        agents = self.agents
        return (
            f"{self.set_up} set-ups, {sum(a.refused for a in agents)} refused, "
            f"{sum(a.given_up for a in agents)} given up, faults {self.faults}"
        )

"""The gateway under load: stopped and continued, ended, and fed with hostile datagrams.

MGW_PROGRAM is the gateway, RTPLOAD_PROGRAM the load generator. MGW_FUZZ_DATAGRAMS (100,000)
and MGW_FUZZ_SEED (1) set the number of hostile datagrams and where they start.
"""

import os
import signal
import time
import unittest

from support import mgcp, runner
from support.call import Call, media_works
from support.gateway import Gateway
from support.load import Load, fault_counts
from support.mutation import Mutator
from support.ports import udp_port_is_free
from support.rtp import stream
from support.waiting import PATIENCE, wait_for

DATAGRAMS = int(os.environ.get("MGW_FUZZ_DATAGRAMS", "100000"))
SEED = int(os.environ.get("MGW_FUZZ_SEED", "1"))
PCMA = ((8, "PCMA/8000"),)
LOAD_CALLS = 40
OWN_CALLS = 10


class UnderLoad:
    """50 calls: 40 of the load generator and 10 of our own, whose streams are looked at."""

    def setUp(self):
        self.gateway = Gateway(backend=self.backend)
        self.agent = mgcp.Agent(self.gateway.address, self.gateway.port)
        self.calls = []
        for number in range(1, OWN_CALLS + 1):
            call = Call(self.agent, f"rtpbridge/{number:x}@mgw")
            self.calls.append((call, [call.leg(PCMA), call.leg(PCMA)]))
        self.peers = [leg.peer for _, legs in self.calls for leg in legs]

    def tearDown(self):
        self.agent.close()
        for peer in self.peers:
            peer.close()
        self.gateway.kill()

    def load(self, seconds):
        """Starts the generator; returns once its media flows."""
        load = Load(self.gateway.address, self.gateway.port, "--calls", LOAD_CALLS,
                    "--seconds", seconds, "--codec", "GSM-EFR", "--max-loss", 1)
        connections = 2 * (LOAD_CALLS + OWN_CALLS)
        before = self.gateway.metrics().datagrams("sent")
        try:
            wait_for(lambda: self.gateway.metrics().total("mgw_connections") == connections
                     and self.gateway.metrics().datagrams("sent") > before, "the load runs", 20)
        except AssertionError:
            load.kill()
            raise
        return load

    def test_null_endpoint(self):
        """W7: AUEP of the null endpoint is answered at once while media flows everywhere."""
        with self.load(3) as load:
            longest = 0.0
            for _ in range(100):
                begin = time.monotonic()
                self.assertEqual(self.agent.auep("null@mgw").code, 200)
                longest = max(longest, time.monotonic() - begin)
                stream(self.peers, 1)
            status, result = load.finish()
        self.assertEqual(status, 0, result)
        self.assertLess(longest, 0.5 * PATIENCE, "the agent would have repeated its command")

    def test_stopped_and_continued(self):
        """STOP for 2 s and CONT under load: every stream flows again within a second."""
        with self.load(6) as load:
            stream(self.peers, 25, interval=0.02)
            self.gateway.signal(signal.SIGSTOP)
            try:
                stream(self.peers, 100, interval=0.02)
            finally:
                self.gateway.signal(signal.SIGCONT)
            continued = time.monotonic()
            # From here on only what was sent after it counts.
            first = {peer: peer.sequence for peer in self.peers}
            silent = set(self.peers)
            while silent and time.monotonic() - continued < PATIENCE:
                stream(self.peers, 1, interval=0.02)
                for _, (one, other) in self.calls:
                    for peer, source in ((one.peer, other.peer), (other.peer, one.peer)):
                        if any(packet.sequence >= first[source] for packet in peer.packets()):
                            silent.discard(peer)
                            peer.received.clear()
            print(f"{self.backend}: all streams {time.monotonic() - continued:.3f} s after CONT")
            self.assertEqual(len(silent), 0, "streams that do not flow again")
            self.assert_all_flows()
            status, result = load.finish()
            self.assertEqual(fault_counts(result),
                             dict.fromkeys(fault_counts(result), 0), result)
            self.assertEqual(status, 0, load.errors)

    def assert_all_flows(self):
        """Half a second of each stream arrives whole and in order."""
        for peer in self.peers:
            peer.clear()
        stream(self.peers, 25, interval=0.02)
        for _, (one, other) in self.calls:
            for peer, source in ((one.peer, other.peer), (other.peer, one.peer)):
                wait_for(lambda peer=peer, source=source: peer.receive_waiting()
                         or source.sent[-1] in peer.received, "the last packet of a stream")
                # What was still under way before comes first.
                late = peer.received.index(source.sent[0])
                self.assertEqual(peer.received[late:], source.sent)

    def test_ended(self):
        """SIGTERM under load: exit status 0 within 2 s, and all ports are free again."""
        with self.load(30) as load:
            stream(self.peers, 10, interval=0.02)
            ports = range(self.gateway.range.first, self.gateway.range.last + 1)
            taken = [port for port in ports if not udp_port_is_free("127.0.0.1", port)]
            self.assertGreaterEqual(len(taken), 4 * (LOAD_CALLS + OWN_CALLS))
            start = time.monotonic()
            self.gateway.stop()
            seconds = time.monotonic() - start
            print(f"{self.backend}: ended {seconds:.3f} s after SIGTERM")
            self.assertLess(seconds, 2 * PATIENCE)
            load.kill()
            still = [port for port in taken if not udp_port_is_free("127.0.0.1", port)]
            self.assertEqual(still, [])


class HostileDatagrams:
    """Mutated MGCP and RTP: the gateway lives, stays answerable, and the next call works."""

    BATCH = 50
    ROUND = 5000

    def setUp(self):
        self.gateway = Gateway(backend=self.backend)
        self.agent = mgcp.Agent(self.gateway.address, self.gateway.port)
        self.enemy = mgcp.Agent(self.gateway.address, self.gateway.port)

    def tearDown(self):
        self.agent.close()
        self.enemy.close()
        self.gateway.kill()

    def still_alive(self):
        self.assertIsNone(self.gateway.process.poll(), self.gateway.log())
        self.assertEqual(self.agent.auep().code, 200)

    def attack_commands(self, mutator):
        for _ in range(self.ROUND // self.BATCH):
            for _ in range(self.BATCH):
                self.enemy.send(mutator.command())
            # Answered in turn, so the batch was dealt with.
            self.still_alive()
            self.enemy.socket.setblocking(False)
            try:
                while True:
                    self.enemy.socket.recv(65536)
            except OSError:
                pass
            self.enemy.socket.setblocking(True)

    def attack_media(self, mutator):
        """From the peers' own ports, so that the packets pass the source check."""
        self.agent.dlcx("rtpbridge/*@mgw")
        amr = ((96, "AMR/8000"), (8, "PCMA/8000"), (111, "GSM-HR-08/8000"))
        with Call(self.agent, "rtpbridge/1@mgw") as call:
            legs = [call.leg(amr, "confecho", fmtp=[(96, "octet-align=1")]),
                    call.leg(amr, fmtp=[(96, "octet-align=0")]),
                    call.leg(amr, address="::1")]
            for number in range(self.ROUND):
                leg = legs[number % len(legs)]
                if number % 10 == 9:
                    leg.peer.rtcp.send(mutator.report())
                else:
                    kind = mutator.random.choice((0, 8, 96, 111))
                    leg.peer.rtp.send(mutator.packet(kind, number))
                if number % self.BATCH == 0:
                    self.still_alive()
                    for peer in call.peers:
                        peer.clear()
            self.gateway.settled()
            self.assertEqual(call.agent.dlcx("rtpbridge/1@mgw").code, 200)

    def test_mutations(self):
        """Mutated commands, packets and reports, in turns."""
        mutator = Mutator(SEED)
        rounds = max(1, DATAGRAMS // (2 * self.ROUND))
        memory = None
        for number in range(rounds):
            self.attack_commands(mutator)
            self.attack_media(mutator)
            if number == rounds // 2:
                memory = self.resident_kib()
        self.agent.dlcx("rtpbridge/*@mgw")
        media_works(self.gateway, self.agent)
        print(f"{self.backend}: {2 * rounds * self.ROUND} datagrams, seed {SEED}, resident "
              f"{memory} KiB in the middle, {self.resident_kib()} KiB at the end")
        self.gateway.stop()

    def resident_kib(self):
        with open(f"/proc/{self.gateway.pid}/status", encoding="ascii") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


for base in (UnderLoad, HostileDatagrams):
    runner.for_each_backend(globals(), base)
del base, UnderLoad, HostileDatagrams

if __name__ == "__main__":
    runner.main()

"""Floods at small rates: calls go on, commands are answered, and everything is counted.

MGW_PROGRAM is the gateway, RTPLOAD_PROGRAM the load generator, FLOOD_PROGRAM what floods.
tools/abuse does the same at full rates and shows figures.
"""

import json
import os
import socket
import subprocess
import unittest

from support import mgcp, runner
from support.call import Call, media_works, wait_received
from support.gateway import Gateway
from support.ports import free_tcp_port
from support.rtp import stream
from support.waiting import PATIENCE, wait_for

FLOOD = os.environ.get("FLOOD_PROGRAM", "")
PCMA = ((8, "PCMA/8000"),)


class Flood:
    """The program beside a test; finish() returns how many datagrams it has sent."""

    def __init__(self, target, *options):
        self.process = subprocess.Popen(
            [FLOOD, target, *map(str, options)], stdout=subprocess.PIPE, text=True
        )

    def finish(self):
        output, _ = self.process.communicate(timeout=60 * PATIENCE)
        return json.loads(output)["sent"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


class Flooded:
    """A gateway with two calls whose packets are looked at one by one."""

    def setUp(self):
        self.gateway = Gateway(
            {"vty.enabled": "true", "vty.port": free_tcp_port()}, backend=self.backend
        )
        self.addCleanup(self.gateway.kill)
        self.agent = mgcp.Agent(self.gateway.address, self.gateway.port)
        self.addCleanup(self.agent.close)
        self.calls = []
        for number in (1, 2):
            call = Call(self.agent, f"rtpbridge/{number}@mgw")
            self.calls.append([call.leg(PCMA), call.leg(PCMA)])
            for leg in self.calls[-1]:
                self.addCleanup(leg.peer.close)

    def peers(self):
        return [leg.peer for legs in self.calls for leg in legs]

    def calls_go_on(self, packets=50):
        """Both ways, all packets, also those between which the flood comes."""
        before = [len(peer.received) for peer in self.peers()]
        stream(self.peers(), packets)
        for peer, already in zip(self.peers(), before):
            wait_received(peer, already + packets)

    def test_strangers(self):
        """Packets of strangers to the ports of calls that are up."""
        port = self.calls[0][0].port
        with Flood(
            f"{self.gateway.address}:{port}", "--port-pairs", 4, "--rate", 4000, "--seconds", 0.7
        ) as flood:
            self.calls_go_on()
            sent = flood.finish()
        metrics = self.gateway.settled()
        dropped = metrics.total("mgw_datagrams_dropped_total", cause="unknown_source")
        kernel = sent - dropped
        self.assertGreater(dropped, 0)
        self.assertGreaterEqual(kernel, 0)
        self.calls_go_on()
        self.assertLess(len(self.gateway.log_lines("unknown_source")), 20)

    def test_malformed_commands(self):
        """Garbage on the MGCP port: each one counted, commands answered all the while."""
        with Flood(
            f"{self.gateway.address}:{self.gateway.port}",
            "--mgcp",
            "--rate",
            3000,
            "--seconds",
            0.7,
        ) as flood:
            for _ in range(50):
                self.assertEqual(self.agent.auep("null@mgw").code, 200)
            self.calls_go_on()
            sent = flood.finish()
        self.assertGreater(sent, 0)
        media_works(self.gateway, self.agent, "rtpbridge/9@mgw")
        self.assertGreater(self.gateway.metrics().total("mgw_mgcp_garbage_total"), 0)
        self.assertLess(len(self.gateway.log().splitlines()), 100)

    def test_sessions(self):
        """Connections and input without end on the VTY."""
        address = (self.gateway.address, self.gateway.settings["vty.port"])
        sessions = []
        for number in range(60):
            session = socket.create_connection(address, 10 * PATIENCE)
            session.setblocking(False)
            sessions.append(session)
            try:
                session.send(b"enable\nshow mgcp stats\n" * 400)
            except OSError:
                pass
            if number % 10 == 0:
                self.assertEqual(self.agent.auep("null@mgw").code, 200)
        self.calls_go_on()
        for session in sessions:
            session.close()


class LimitTest(unittest.TestCase):
    """Limits that are configured, in the running program."""

    def test_agent_rate(self):
        """An agent above mgcp.rate-limit gets 409; another host's agent is served."""
        with Gateway(
            {"mgcp.rate-limit": 1, "mgcp.rate-burst": 5}
        ) as gateway:
            with Agents(gateway.port) as agents:
                codes = [agents.wild.auep("null@mgw").code for _ in range(8)]
                self.assertEqual(codes, [200] * 5 + [409] * 3)
                self.assertEqual(agents.quiet.auep("null@mgw").code, 200)
            self.assertEqual(
                gateway.metrics().total("mgw_limit_reached_total", cause="agent_rate"), 3
            )
            wait_for(lambda: gateway.log_lines("too many commands of this agent"), "the log tells")

    def test_connections(self):
        """limits.connections: 403 and a counter; what is up can be changed and deleted."""
        with Gateway({"limits.connections": 1}) as gateway:
            agent = mgcp.Agent(gateway.address, gateway.port)
            first = agent.crcx("rtpbridge/*@mgw", mode="recvonly")
            self.assertEqual(first.code, 200)
            refused = agent.crcx("rtpbridge/*@mgw", mode="recvonly")
            self.assertEqual(
                (refused.code, refused.comment), (403, "all permitted connections are in use")
            )
            self.assertEqual(
                agent.mdcx(first.endpoint, first.connection, mode="inactive").code, 200
            )
            self.assertEqual(agent.dlcx(first.endpoint).code, 200)
            self.assertEqual(agent.crcx("rtpbridge/*@mgw", mode="recvonly").code, 200)
            self.assertEqual(
                gateway.metrics().total("mgw_limit_reached_total", cause="connections"), 1
            )
            agent.close()

    def test_passwords(self):
        """Who gives wrong passwords to the VTY waits longer for each further one."""
        port = free_tcp_port()
        with Gateway(
            {"vty.enabled": "true", "vty.port": port, "vty.login": "true", "vty.password": "right"}
        ) as gateway:
            with socket.create_connection((gateway.address, port), 10 * PATIENCE) as session:

                def read_until(words):
                    text = b""
                    while words not in text:
                        piece = session.recv(4096)
                        self.assertTrue(piece, text)
                        text += piece

                read_until(b"Password: ")
                session.sendall(b"wrong\n")
                session.settimeout(0.3)
                with self.assertRaises(TimeoutError):
                    while True:
                        self.assertNotIn(b"Password", session.recv(4096))
                session.settimeout(10 * PATIENCE)
                read_until(b"Password: ")
                session.sendall(b"right\n")
                read_until(b"> ")


class Agents:
    """Two agents on hosts of their own."""

    def __init__(self, port):
        self.wild = mgcp.Agent("127.0.0.1", port)
        self.quiet = mgcp.Agent("127.0.0.1", port, source="127.0.0.2")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.wild.close()
        self.quiet.close()


runner.for_each_backend(globals(), Flooded)

if __name__ == "__main__":
    runner.main()

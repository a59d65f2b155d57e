"""What operators and their programs see of a gateway that runs: VTY, CTRL, statsd.

MGW_PROGRAM is the gateway.
"""

import os
import random
import re
import socket
import subprocess
import unittest

from support import mgcp, runner
from support.call import Call
from support.gateway import PROGRAM, Gateway
from support.operators import CONFIGURATION, NEGOTIATION, Ctrl, StatsdServer, Vty
from support.ports import free_tcp_port
from support.rtp import stream
from support.waiting import PATIENCE, wait_for

AMR = ((112, "AMR/8000"),)

class OperatorCase(unittest.TestCase):
    """A gateway with osmo-mgw's configuration, and clients of all of its interfaces."""

    def setUp(self):
        self.statsd = StatsdServer()
        self.addCleanup(self.statsd.close)
        self.vty_address = ("127.0.0.1", free_tcp_port())
        self.ctrl_address = ("127.0.0.1", free_tcp_port())
        text = CONFIGURATION.format(
            statsd=self.statsd.port, vty=self.vty_address[1], ctrl=self.ctrl_address[1])
        self.gateway = Gateway(
            {"e1.virtual": "true", "metrics.enabled": "true"}, osmo_config=text)
        self.addCleanup(self.gateway.stop)
        self.agent = mgcp.Agent(self.gateway.address, self.gateway.port)
        self.addCleanup(self.agent.close)

    def vty(self, *commands):
        session = Vty(self.vty_address)
        self.addCleanup(session.close)
        for command in commands:
            session.command(command)
        return session


class ConformanceSuiteTest(OperatorCase):
    """The connections that Osmocom's conformance suite makes before and in its test cases."""

    def test_vty_prompts(self):
        """Two sessions at once, byte for byte."""
        checker = self.vty()
        self.assertTrue(checker.greeting.startswith(b"Welcome to the OsmoMGW VTY interface\r\n"))
        self.assertTrue(checker.greeting.endswith(NEGOTIATION + b"OsmoMGW> "), checker.greeting)
        self.assertEqual(checker.prompt_after("enable"), "OsmoMGW# ")
        self.assertEqual(checker.prompt_after("stats reset"), "OsmoMGW# ")
        self.assertEqual(checker.prompt_after("stats reset"), "OsmoMGW# ")
        setter = self.vty()
        for command, prompt in (
                ("enable", "OsmoMGW# "), ("configure terminal", "OsmoMGW(config)# "),
                ("mgcp", "OsmoMGW(config-mgcp)# "), ("osmux on", "OsmoMGW(config-mgcp)# "),
                ("osmux off", "OsmoMGW(config-mgcp)# "), ("exit", "OsmoMGW(config)# "),
                ("exit", "OsmoMGW# "), ("configure terminal", "OsmoMGW(config)# "),
                ("mgcp", "OsmoMGW(config-mgcp)# "),
                ("rtp-patch rfc5993hr", "OsmoMGW(config-mgcp)# "),
                ("no rtp-patch rfc5993hr", "OsmoMGW(config-mgcp)# "), ("end", "OsmoMGW# ")):
            self.assertEqual(setter.prompt_after(command), prompt)
        self.assertEqual(checker.prompt_after("stats report"), "OsmoMGW# ")

    def check_gauge(self, session, key, low, high):
        self.statsd.clear()
        self.assertEqual(session.prompt_after("stats report"), "OsmoMGW# ")
        value, kind = self.statsd.first(key)
        self.assertEqual(kind, "g")
        self.assertTrue(low <= value <= high, f"{key} is {value}")

    def test_gauges_of_endpoints(self):
        """300 endpoints in use and free again; the gauge comes though it has not changed."""
        session = self.vty("enable", "stats reset")
        key = "TTCN3.trunk.virtual-0.common.endpoints.used"
        for _ in range(300):
            self.assertEqual(self.agent.crcx("rtpbridge/*@mgw", mode="recvonly").code, 200)
        self.check_gauge(session, key, 300, 300)
        answer = self.agent.command("DLCX", "rtpbridge/*@mgw")
        self.assertEqual((answer.code, answer.parameters), (200, {}))
        self.check_gauge(session, key, 0, 300)
        self.check_gauge(session, key, 0, 0)
        key = "TTCN3.trunk.e1-1.common.endpoints.used"
        for slot in range(1, 5):
            for offset in (0, 2, 4, 6):
                name = f"ds/e1-1/s-{slot}/su16-{offset}@mgw"
                self.assertEqual(self.agent.crcx(name, mode="recvonly").code, 200)
        self.check_gauge(session, key, 16, 16)
        self.assertEqual(self.agent.command("DLCX", "ds/e1-1/*@mgw").code, 200)
        self.check_gauge(session, key, 0, 0)

    def test_ctrl_is_accepted_and_held(self):
        with Ctrl(self.ctrl_address) as ctrl:
            ctrl.socket.setblocking(False)
            with self.assertRaises(BlockingIOError):
                ctrl.socket.recv(1)

    def test_conn_timeout(self):
        """Set over the VTY it ends connections that hear nothing; set back it ends none."""
        session = self.vty("enable", "configure terminal", "mgcp", "conn-timeout 1", "end")
        self.assertEqual(self.agent.crcx("rtpbridge/1@mgw", mode="recvonly").code, 200)
        wait_for(lambda: self.gateway.metrics().total("mgw_connections") == 0, "it is gone", 10)
        for command in ("configure terminal", "mgcp", "conn-timeout 0", "end"):
            session.command(command)
        self.assertEqual(self.agent.crcx("rtpbridge/1@mgw", mode="recvonly").code, 200)
        output, _ = session.command("show mgcp active")
        self.assertIn("rtpbridge/1@mgw", output)


class ShowTest(OperatorCase):
    """What a person sees."""

    def test_a_call(self):
        session = self.vty("enable")
        with Call(self.agent, "rtpbridge/2@mgw") as call:
            first, second = call.leg(AMR), call.leg(AMR)
            stream([first.peer, second.peer], 10, call.peers)
            self.gateway.settled(20)
            output, prompt = session.command("show mgcp endpoint rtpbridge/2@mgw")
            self.assertEqual(prompt, "OsmoMGW# ")
            connections = re.findall(
                r"^   CONN: \(\S+/rtp C:([0-9A-F]+) r=127\.0\.0\.1:(\d+)<->l=127\.0\.0\.1:(\d+)\)$",
                output, re.MULTILINE)
            self.assertEqual([(one[0], int(one[2])) for one in connections],
                             [(second.connection, second.port), (first.connection, first.port)])
            self.assertEqual(len(re.findall(r"^   Packets Sent: 10 \(\d+ bytes total\)$", output,
                                            re.MULTILINE)), 2)
            self.assertIn("   Audio-Name: AMR/8000 Sub-Type: AMR\n", output)
            output, _ = session.command("show mgcp stats")
            self.assertRegex(output, r"(?m)^ +crcx:success: +2 \(\d+/s \d+/m \d+/h \d+/d\) ")
            output, _ = session.command("show mgcp active")
            self.assertNotIn("rtpbridge/1@mgw", output)
        for command in ("show stats", "show rate-counters", "show mgcp", "show running-config",
                        "show e1_line", "show cpu-sched threads", "who", "show version",
                        "show talloc-context application brief"):
            output, prompt = session.command(command)
            self.assertEqual(prompt, "OsmoMGW# ")
            self.assertTrue(output, command)
            self.assertNotIn("OsmoMGW", output, command)
            self.assertFalse(output.startswith("%"), f"{command}: {output}")

    def test_help_and_completion(self):
        session = self.vty()
        session.socket.sendall(b"sh\tmg?")
        text = b""
        while not text.endswith(b"OsmoMGW> show mg"):
            text += session.socket.recv(65536)
        self.assertIn(b"mgcp", text)
        session.socket.sendall(b"cp x\n")
        self.assertIn(b"% Unknown command.", session.read())
        for line, error in (("show", "% Command incomplete."), ("e", "% Ambiguous command."),
                            ("configure terminal", "% Unknown command.")):
            self.assertEqual(session.command(line), (error, "OsmoMGW> "))

    def test_running_configuration_starts_a_gateway(self):
        """What `show running-config` prints is a configuration that gives the same."""
        session = self.vty("enable", "configure terminal", "mgcp", "rtp ip-dscp 46", "osmux on",
                           "conn-timeout 7", "end")
        output, _ = session.command("show running-config")
        for line in (" rtp ip-dscp 46", " osmux on", " conn-timeout 7", " trunk 1"):
            self.assertIn(f"\n{line}\n", output)
        path = os.path.join(self.gateway.directory.name, "again.cfg")
        with open(path, "w", encoding="utf-8") as again:
            again.write(output[output.index("!"):])  # without the heading
        check = subprocess.run([PROGRAM, "--check", "-c", path], capture_output=True, text=True,
                               check=False)
        self.assertEqual(check.returncode, 0, check.stderr)


class HostilePeersTest(OperatorCase):
    """Sessions that do what none should: nobody else is harmed."""

    def others_work(self):
        with Vty(self.vty_address) as other:
            self.assertEqual(other.prompt_after("enable"), "OsmoMGW# ")
        self.assertEqual(self.agent.auep().code, 200)

    def test_a_peer_that_never_reads(self):
        deaf = self.vty()
        deaf.socket.setblocking(False)
        with self.assertRaises(BlockingIOError):
            while True:
                deaf.socket.send(b"show mgcp\n" * 1000)
        self.others_work()
        with Call(self.agent, "rtpbridge/2@mgw") as call:
            legs = [call.leg(AMR), call.leg(AMR)]
            stream([leg.peer for leg in legs], 20, call.peers)
            self.gateway.settled(40)

    def test_peers_without_number(self):
        """More sessions than there may be: the newest works, an early silent one has ended."""
        sessions = [socket.create_connection(self.vty_address) for _ in range(100)]
        self.others_work()
        sessions[0].settimeout(10 * PATIENCE)
        while sessions[0].recv(4096):
            pass
        for session in sessions:
            session.close()
        self.others_work()

    def test_ten_thousand_random_lines(self):
        words = ["show", "mgcp", "stats", "enable", "configure", "terminal", "rtp", "no", "end",
                 "trunk", "1", "0", "127.0.0.1", "::1", "osmux", "on", "off", "log", "stderr",
                 "logging", "level", "lmgcp", "debug", "reset-all-endpoints", "do", "?", "\t",
                 "write", "terminal", "list", "x" * 300, "\x00", "\xff\xfb", "endpoint",
                 "rtpbridge/1@mgw", "bind", "ip", "port-range", "4002", "16001", "line", "vty"]
        choice = random.Random(5)
        session = self.vty("enable")
        session.socket.settimeout(20 * PATIENCE)
        sent = 0
        while sent < 10000:
            batch = b""
            for _ in range(50):
                line = " ".join(choice.choices(words, k=choice.randint(1, 6)))
                if "stderr" in line and "log" in line:
                    line = "show mgcp active"  # the log of this test stays where it is
                batch += line.encode("latin-1") + b"\r\n"
            batch += b"end\r\nenable\r\necho batch-%d\r\n" % sent
            session.socket.sendall(batch)
            text = b""
            while b"\nbatch-%d" % sent not in text:
                piece = session.socket.recv(1 << 20)
                self.assertTrue(piece, "the session ended")
                text = text[-64:] + piece
            sent += 50
        self.others_work()


class CtrlTest(OperatorCase):
    """Variables and counters over CTRL."""

    def test_counters_and_drain(self):
        with Ctrl(self.ctrl_address) as ctrl, Call(self.agent, "rtpbridge/1@mgw") as call:
            call.leg(AMR)
            self.assertEqual(ctrl.ask("GET 1 rate_ctr.abs.crcx.0.crcx:success"),
                             "GET_REPLY 1 rate_ctr.abs.crcx.0.crcx:success 1")
            self.assertEqual(ctrl.ask("GET 2 trunk.virtual-0.endpoints.used"),
                             "GET_REPLY 2 trunk.virtual-0.endpoints.used 1")
            self.assertEqual(ctrl.ask("GET 3 nothing"), "ERROR 3 Command not found")
            self.assertEqual(ctrl.ask("SET 4 drain 1"), "SET_REPLY 4 drain 1")
            self.assertEqual(self.agent.crcx("rtpbridge/2@mgw", mode="recvonly").code, 403)
            self.assertIn("draining", self.agent.auep().comment)
            call.leg(AMR)  # the call that is up goes on
            self.assertEqual(ctrl.ask("SET 5 drain 0"), "SET_REPLY 5 drain 0")
            self.assertEqual(self.agent.crcx("rtpbridge/2@mgw", mode="recvonly").code, 200)


if __name__ == "__main__":
    runner.main()

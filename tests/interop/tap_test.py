"""Taps: tshark reads the capture files of real calls, a listener gets the copies.

MGW_PROGRAM is the gateway; mgwctl is expected beside it.
"""

import collections
import os
import shutil
import subprocess
import tempfile
import unittest

from support import gateway as gateway_support
from support import mgcp, runner
from support.gateway import Gateway
from support.media_case import MediaCase
from support.ports import udp_socket
from support.rtp import sender_report
from support.waiting import PATIENCE, wait_for

PCMA = ((8, "PCMA/8000"),)
PACKETS = 25
MGWCTL = os.path.join(os.path.dirname(gateway_support.PROGRAM), "mgwctl")


def tshark(path, ports, fields, wanted="udp"):
    """The fields of the packets that pass the filter; status 1 of a checksum is "good"."""
    rules = []
    for port in ports:
        rules += ["-d", f"udp.port=={port},rtp", "-d", f"udp.port=={port + 1},rtcp"]
    names = [word for field in fields for word in ("-e", field)]
    options = ["-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]
    result = subprocess.run(
        ["tshark", "-n", "-r", path, *options, *rules, "-Y", wanted, "-T", "fields", *names],
        capture_output=True,
        text=True,
        check=True,
        stdin=subprocess.DEVNULL,
        timeout=60 * PATIENCE,
    )
    return result.stdout.splitlines()


class Taps(MediaCase):
    """One gateway that may write files."""

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory(prefix="mgw-taps-")
        cls.settings = {"taps.directory": cls.directory.name, "taps.max": 3}
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.directory.cleanup()

    def tap(self, leg, value):
        return self.agent.command(
            "MDCX", self.call.endpoint, [f"I: {leg.connection}", f"X-Mgw-Tap: {value}"]
        )

    def closed(self, name):
        """The path of a capture file once the gateway says that it has closed it."""
        path = os.path.join(self.directory.name, name)
        wait_for(lambda: self.gateway.log_lines(f"capture closed file={path} "), f"{name} closed")
        return path

    def legs(self):
        return self.call.leg(PCMA), self.call.leg(PCMA, address="::1")

    @unittest.skipUnless(shutil.which("tshark"), "tshark is missing")
    def test_capture_files(self):
        """Both directions, RTP and RTCP, IPv4 and IPv6, nothing malformed, checksums right."""
        legs = self.legs()
        names = [f"v4-{self.backend}.pcap", f"v6-{self.backend}.pcap"]
        for leg, name in zip(legs, names):
            answer = self.tap(leg, f"both pcap {name}")
            self.assertEqual(answer.parameters["X-MGW-TAP"], f"both pcap {name}")
        self.flow(*legs, packets=PACKETS)
        for leg in legs:
            leg.peer.rtcp.send(sender_report())
        self.gateway.settled(2)
        self.assertEqual(self.gateway.metrics().total("mgw_taps"), 2)
        self.assertEqual(self.tap(legs[0], "off").parameters["X-MGW-TAP"], "off")
        self.flow(*legs, packets=3)
        self.agent.dlcx(self.call.endpoint)
        for leg, name, more in zip(legs, names, (0, 3)):
            path = self.closed(name)
            ports = [leg.port, leg.peer.port]
            self.assertEqual(tshark(path, ports, ["frame.number"], "_ws.malformed"), [])
            self.assertEqual(
                tshark(
                    path,
                    ports,
                    ["frame.number"],
                    "udp.checksum.status != 1 or ip.checksum.status != 1",
                ),
                [],
            )
            address = "ip.src" if leg is legs[0] else "ipv6.src"
            seen = collections.Counter(
                tuple(line.split("\t"))
                for line in tshark(
                    path, ports, ["_ws.col.Protocol", address, "udp.srcport", "udp.dstport"]
                )
            )
            host, own, peer = leg.peer.address, leg.port, leg.peer.port
            self.assertEqual(
                seen,
                {
                    ("RTP", host, str(peer), str(own)): PACKETS + more,
                    ("RTP", host, str(own), str(peer)): PACKETS + more,
                    ("RTCP", host, str(peer + 1), str(own + 1)): 1,
                    ("RTCP", host, str(own + 1), str(peer + 1)): 1,
                },
            )
        self.assertEqual(self.gateway.metrics().total("mgw_taps"), 0)

    def test_listener(self):
        """The copies are the packets, from the connection's own sockets."""
        first, second = self.legs()
        listener = udp_socket("127.0.0.1")
        port = listener.getsockname()[1]
        try:
            self.assertEqual(self.tap(first, f"in,out udp 127.0.0.1:{port}").code, 200)
            self.flow(first, second, packets=PACKETS)
            first.peer.rtcp.send(sender_report())
            self.gateway.settled(1)
            got = []

            def complete():
                try:
                    got.append(listener.recvfrom(65536))
                except BlockingIOError:
                    pass
                return len(got) >= 2 * PACKETS + 1

            wait_for(complete, "all copies arrive", interval=0.001)
            self.assertEqual({source[0] for _, source in got}, {"127.0.0.1"})
            by_port = collections.defaultdict(list)
            for data, source in got:
                by_port[source[1]].append(data)
            self.assertEqual(by_port[first.port + 1], [sender_report()])
            self.assertEqual(
                collections.Counter(by_port[first.port]),
                collections.Counter(first.peer.sent + second.peer.sent),
            )
            self.tap(first, "off")
            self.flow(first, second, packets=3)
            with self.assertRaises(BlockingIOError):
                listener.recvfrom(65536)
            self.assert_arrived(first, second, {0: 0, 8: 8})
        finally:
            listener.close()

    def test_refusals(self):
        """What is malformed, not permitted or too much is refused with a reason, and no more."""
        first, _ = self.legs()
        before = set(os.listdir(self.directory.name))
        rows = {
            "both": 510,
            "in pcap ../x": 510,
            "in pcap a/b": 510,
            "in pcap .x": 510,
            "in udp 192.0.2.1:5000": 539,
            "in udp [::1]:50000": 539,
            f"in udp 127.0.0.1:{first.port}": 539,
        }
        for value, code in rows.items():
            with self.subTest(value):
                answer = self.tap(first, value)
                self.assertEqual(answer.code, code)
                self.assertRegex(answer.comment, r"\S")
        self.assertEqual(set(os.listdir(self.directory.name)), before)
        for number in range(4):
            leg = self.call.leg(PCMA)
            self.assertEqual(
                self.tap(leg, f"in udp 127.0.0.1:{50000 + number}").code,
                400 if number == 3 else 200,
            )

    def test_mgwctl(self):
        """The same by hand."""
        first, _ = self.legs()
        name = f"hand-{self.backend}.pcap"

        def run(*words):
            return subprocess.run(
                [MGWCTL, "--mgcp", f"{self.gateway.address}:{self.gateway.port}", *words],
                capture_output=True,
                text=True,
                check=False,
                timeout=20 * PATIENCE,
            )

        done = run("tap", self.call.endpoint, first.connection, "both", "pcap", name)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, rf"X-Mgw-Tap +both pcap {name}")
        self.flow(first, packets=3)
        audit = run(
            "aucx",
            "-e",
            self.call.endpoint,
            "-i",
            first.connection,
            "--info",
            "P,X-Mgw-Streams,X-Mgw-Tap",
        )
        self.assertRegex(audit.stdout, r"X-Mgw-Streams +SSRC=DEADBEEF, PR=3, OR=12, PL=0")
        self.assertRegex(audit.stdout, rf"X-Mgw-Tap +both pcap {name}")
        self.assertEqual(run("tap", self.call.endpoint, first.connection, "off").returncode, 0)
        self.assertEqual(run("tap", self.call.endpoint, first.connection, "x").returncode, 1)
        self.closed(name)


class Shutdown(unittest.TestCase):
    """What is tapped when the gateway ends is in the file."""

    def test_stop(self):
        with tempfile.TemporaryDirectory(prefix="mgw-taps-") as directory:
            with Gateway({"taps.directory": directory}) as gateway:
                agent = mgcp.Agent(gateway.address, gateway.port)
                answer = agent.crcx(
                    "rtpbridge/1@mgw",
                    mode="loopback",
                    options="a:PCMA",
                    extra=["X-Mgw-Tap: both pcap last.pcap"],
                )
                self.assertEqual(answer.code, 200)
                agent.close()
            log = gateway.log_text
        self.assertRegex(log, r"capture closed file=\S+last.pcap packets=0 bytes=24")


runner.for_each_backend(globals(), Taps)
del Taps

if __name__ == "__main__":
    runner.main()

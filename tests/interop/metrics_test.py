"""What the exporter tells, and that nothing gets lost between its counters.

MGW_PROGRAM is the gateway. promtool checks the format where it is installed.
"""

import shutil
import socket
import subprocess
import time
import unittest

from support import runner
from support.call import Call
from support.gateway import Gateway
from support.media_case import MediaCase
from support.metrics import SAMPLE
from support.mutation import Mutator
from support.rtp import rtp_packet, sender_report, stream
from support.waiting import PATIENCE

PCMA = ((8, "PCMA/8000"),)


class Exporter(MediaCase):
    """After traffic of every kind."""

    def make_traffic(self):
        """Calls of two, three and one legs with good, malformed, foreign and dummy datagrams."""
        pair = [self.call.leg(PCMA), self.call.leg(((98, "AMR/8000"),))]
        with Call(self.agent, "rtpbridge/3@mgw") as group, Call(self.agent, "4@mgw") as single:
            trio = [group.leg(PCMA, "confecho"), group.leg(PCMA, "sendrecv", "::1"),
                    group.leg(PCMA, "sendonly")]
            alone = [single.leg(PCMA, "loopback")]
            stranger = self.call.peer().connect(pair[0].port)
            legs = [*pair, *trio, *alone]
            stream([stranger, *(leg.peer for leg in legs)], 30)
            mutator = Mutator(7)
            for number in range(200):
                for leg in legs:
                    leg.peer.rtp.send(mutator.packet(8, number))
                    leg.peer.rtcp.send(mutator.report())
                if number % 10 == 0:
                    self.agent.auep()
            for leg in legs:
                leg.peer.rtcp.send(sender_report())
                leg.peer.rtp.send(b"\x23")  # another gateway's keep-alive
                leg.peer.rtp.send(b"")
                leg.peer.rtp.send(b"\x81\x00\x00")
                leg.peer.rtp.send(b"x" * 5000)
            # Two legs' peers go away: what is sent to them comes back as ICMP errors.
            for leg in (pair[1], trio[2]):
                leg.peer.close()
            stream([pair[0].peer, trio[0].peer], 20)
            self.agent.command("XYZW", "null@mgw")
            self.agent.exchange("nonsense 1 2 3\r\n")
            # Streams, mutations, four of the odd ones, last streams; the oversize are apart.
            return self.gateway.settled(7 * 30 + 6 * 2 * 200 + 6 * 4 + 2 * 20)

    def test_balance(self):
        """received + copied + generated = sent + consumed + dropped, whatever came."""
        metrics = self.make_traffic()
        came, went = metrics.balance()
        self.assertEqual(came, went)
        self.assertGreater(metrics.datagrams("received"), 2000)
        self.assertGreater(metrics.datagrams("copied"), 0)
        self.assertGreater(metrics.datagrams("consumed"), 0)
        for cause in ("unknown_source", "rtp_too_short", "rtp_bad_version", "rtcp_unknown_type"):
            self.assertGreater(metrics.dropped(cause), 0, cause)
        self.assertEqual(metrics.total("mgw_io_received_oversize_total") % 6, 0)
        # Each worker's books are balanced of their own.
        for worker in {labels["worker"] for labels in metrics.labels("mgw_io_passes_total")}:
            into = sum(metrics.total(f"mgw_datagrams_{kind}_total", worker=worker)
                       for kind in ("received", "copied", "generated"))
            out = sum(metrics.total(f"mgw_datagrams_{kind}_total", worker=worker)
                      for kind in ("sent", "consumed", "dropped"))
            self.assertEqual(into, out, f"worker {worker}")

    def test_totals(self):
        """Gauges and counters agree with what the agent did."""
        before = self.gateway.metrics()
        first, second = self.call.leg(PCMA), self.call.leg(PCMA)
        self.flow(first, second, packets=20)
        metrics = self.gateway.metrics()

        def grown(name, **labels):
            return metrics.total(name, **labels) - before.total(name, **labels)
        self.assertEqual(grown("mgw_connections"), 2)
        self.assertEqual(grown("mgw_endpoints_used"), 1)
        self.assertEqual(grown("mgw_rtp_port_pairs_used"), 2)
        self.assertEqual(grown("mgw_rtp_packets_received_total"), 40)
        self.assertEqual(grown("mgw_rtp_packets_sent_total"), 40)
        self.assertEqual(grown("mgw_rtp_octets_sent_total"), 40 * 16)
        self.assertEqual(grown("mgw_mgcp_transactions_total", verb="CRCX", code="200"), 2)
        self.assertEqual(grown("mgw_mgcp_transaction_seconds_count"), 2)

    def test_ports_are_told_before_the_first_call(self):
        """The number of port pairs is known from the start."""
        with Gateway(backend=self.backend, ports=400) as fresh:
            # 200 on each of the two configured addresses.
            self.assertEqual(fresh.metrics().total("mgw_rtp_port_pairs"), 400)

    def test_foreign_packet_is_counted_by_its_cause(self):
        """One foreign packet is one more of its cause and of nothing else."""
        leg = self.call.leg(PCMA)
        stranger = self.call.peer().connect(leg.port)
        before = self.gateway.settled()
        stranger.rtp.send(rtp_packet(8, 0, 0, b"x" * 160))
        after = self.gateway.settled(1)
        changed = {(name, labels.get("cause")) for (name, labels, value), (_, _, old)
                   in zip(after.samples, before.samples) if value != old
                   and name.startswith("mgw_datagrams")}
        self.assertEqual(changed, {("mgw_datagrams_received_total", None),
                                   ("mgw_datagrams_dropped_total", "unknown_source")})

    def test_help_and_type(self):
        """Every metric of ours has a HELP and a TYPE, and its name begins with mgw_."""
        text = self.make_traffic().text
        helped = {line.split()[2] for line in text.splitlines() if line.startswith("# HELP ")}
        typed = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE ")}
        for line in text.splitlines():
            match = SAMPLE.match(line)
            if match:
                name = match[1]
                self.assertTrue(name.startswith("mgw_"), name)
                family = name if name in typed else name.rsplit("_", 1)[0]
                self.assertIn(family, typed)
                self.assertIn(family, helped)
        for line in text.splitlines():
            if line.startswith("# HELP "):
                self.assertGreater(len(line.split(maxsplit=3)[3]), 10, line)

    @unittest.skipUnless(shutil.which("promtool"), "promtool is not installed")
    def test_promtool(self):
        """promtool has nothing to say about the names, units and help of our metrics."""
        text = self.make_traffic().text
        result = subprocess.run(["promtool", "check", "metrics"], input=text, text=True,
                                capture_output=True, check=False)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))


class Page(unittest.TestCase):
    """The HTTP server behind the metrics, met by clients that are not Prometheus."""

    @classmethod
    def setUpClass(cls):
        cls.gateway = Gateway()
        cls.address = ("127.0.0.1", cls.gateway.settings["metrics.port"])

    @classmethod
    def tearDownClass(cls):
        cls.gateway.stop()

    def ask(self, request):
        with socket.create_connection(self.address, 10) as client:
            client.sendall(request)
            data = b""
            while part := client.recv(65536):
                data += part
        return data.decode()

    def test_requests(self):
        """GET and HEAD of /metrics are served, everything else is refused by its code."""
        rows = {
            b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n": 200,
            b"GET /metrics?name=x HTTP/1.0\r\n\r\n": 200,
            b"HEAD /metrics HTTP/1.1\r\n\r\n": 200,
            b"GET / HTTP/1.1\r\n\r\n": 200,
            b"HEAD / HTTP/1.1\r\n\r\n": 200,
            b"GET /api/call/none HTTP/1.1\r\n\r\n": 404,
            b"GET /metricsandmore HTTP/1.1\r\n\r\n": 404,
            b"POST /metrics HTTP/1.1\r\n\r\n": 405,
            b"GET /metrics\r\n\r\n": 400,
            b"\0\0\0\0\r\n\r\n": 400,
            b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 8192: 431,
        }
        for request, code in rows.items():
            with self.subTest(request[:40]):
                answer = self.ask(request)
                self.assertRegex(answer, rf"^HTTP/1.1 {code} ")
                head, _, body = answer.partition("\r\n\r\n")
                self.assertEqual(body == "", request.startswith(b"HEAD"))
                if body:
                    self.assertIn(f"Content-Length: {len(body)}\r\n", head + "\r\n")

    def test_in_parts(self):
        """A request that comes in parts is answered after its last."""
        with socket.create_connection(self.address, 10) as client:
            for part in (b"GET /met", b"rics HTTP/1.1\r\n", b"Host: x\r\n\r"):
                client.sendall(part)
                self.assertGreater(self.gateway.metrics().total("mgw_endpoints"), 0)
            client.sendall(b"\n")
            self.assertTrue(client.recv(65536).startswith(b"HTTP/1.1 200 "))

    def test_silent_clients(self):
        """Connections without a request keep nobody else out, nor the gateway from ending."""
        gateway = Gateway()
        address = ("127.0.0.1", gateway.settings["metrics.port"])
        silent = [socket.create_connection(address, 10) for _ in range(10)]
        self.assertGreater(gateway.metrics().total("mgw_endpoints"), 0)
        start = time.monotonic()
        gateway.stop()
        self.assertLess(time.monotonic() - start, PATIENCE)
        for client in silent:
            client.close()


runner.for_each_backend(globals(), Exporter)
del Exporter

if __name__ == "__main__":
    runner.main()

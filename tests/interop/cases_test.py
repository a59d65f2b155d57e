"""Cases from public bug reports, with the program as its users start it.

MGW_PROGRAM is the gateway.
"""

import select
import socket
import time
import unittest

from support import mgcp, runner
from support.call import Call, media_works
from support.gateway import Gateway
from support.media_case import MediaCase
from support.rtp import rtp_packet, sender_report
from support.sandbox import limit_files
from support.waiting import PATIENCE, measure_for, wait_for

PCMA = ((8, "PCMA/8000"),)


def agent_of(gateway):
    return mgcp.Agent(gateway.address, gateway.port)


class Bursts(unittest.TestCase):
    """M: malformed datagrams and bursts on the MGCP socket."""

    def test_no_answer_to_what_is_no_command(self):
        """M17: short datagrams, zeros, answers and acknowledgements are not answered."""
        with Gateway() as gateway:
            agent = agent_of(gateway)
            for data in (b"", b"C", b"CRC", b"\0" * 64, b"\0", b"200 21 OK", b"200 21 OK\r\n",
                         b"000 21", b"000 21\r\n", b"250 9 OK\r\nP: PS=0\r\n", b"\r\n\r\n"):
                with self.subTest(data):
                    agent.send(data)
                    # One socket keeps the order: an answer to the datagram would come first.
                    self.assertEqual(agent.auep().code, 200)
            agent.close()

    def exchange_burst(self, agent, commands, interval=0.0):
        """Sends all commands, repeats none; returns the answers by number and the longest wait."""
        sent, answers, longest = {}, {}, 0.0
        next_time = time.monotonic()
        deadline = next_time + 20 * PATIENCE
        pending = [(agent.next_transaction(), command) for command in reversed(commands)]
        while len(answers) < len(commands) and time.monotonic() < deadline:
            if pending and time.monotonic() >= next_time:
                number, (verb, endpoint, lines) = pending.pop()
                agent.send(agent.text(verb, endpoint, lines, None, number))
                sent[number] = time.monotonic()
                next_time += interval
            wait = max(0.0, next_time - time.monotonic()) if pending else 0.05
            while select.select([agent.socket], [], [], wait)[0]:
                answer = mgcp.Answer(agent.receive())
                self.assertNotIn(answer.transaction, answers)
                answers[answer.transaction] = answer
                longest = max(longest, time.monotonic() - sent[answer.transaction])
                wait = 0
        return answers, longest

    def test_two_hundred_dlcx_then_two_thousand_crcx(self):
        """M19: all of a burst are answered, and none is lost in the socket's buffer."""
        settings = {"endpoints.count": 2500}
        with Gateway(settings, ports=5000) as gateway:
            agent = agent_of(gateway)
            deletions = [("DLCX", f"rtpbridge/{number:x}@mgw", ()) for number in range(1, 201)]
            answers, longest = self.exchange_burst(agent, deletions)
            self.assertEqual([answer.code for answer in answers.values()], 200 * [515])
            creations = [("CRCX", "rtpbridge/*@mgw", ["C: 1", "M: recvonly"])] * 2000
            creations_answers, longer = self.exchange_burst(agent, creations, 0.0005)
            self.assertEqual([answer.code for answer in creations_answers.values()], 2000 * [200])
            names = {answer.endpoint for answer in creations_answers.values()}
            self.assertEqual(len(names), 2000)
            print(f"longest wait: {longest * 1e3:.1f} ms (DLCX), {longer * 1e3:.1f} ms (CRCX)")
            self.assertLess(max(longest, longer), 1.0 * PATIENCE, "the RFC's first repetition")
            self.assertEqual(agent.dlcx("rtpbridge/*@mgw").code, 200)
            agent.close()


class Exhaustion(unittest.TestCase):
    """W: what runs out is refused cleanly, and works again when it is there again."""

    def test_port_range_of_four_pairs(self):
        """W9: the fifth leg gets 5xx, its endpoint stays free, a counter and the log tell."""
        with Gateway({"rtp.port-quarantine-ms": 0}, ports=8) as gateway:
            agent = agent_of(gateway)
            names = [agent.crcx("rtpbridge/*@mgw").endpoint for _ in range(4)]
            self.assertNotIn(None, names)
            refused = agent.crcx("rtpbridge/*@mgw")
            self.assertEqual(refused.code // 100, 5, refused.text)
            self.assertIn("port", refused.comment)
            metrics = gateway.metrics()
            self.assertEqual(metrics.total("mgw_endpoints_used"), 4)
            self.assertEqual(metrics.total("mgw_rtp_port_pairs_exhausted_total"), 1)
            self.assertEqual(len(gateway.told("no free RTP ports")), 1, gateway.log())
            # A second leg of a call fails for the same reason and leaves the first alone.
            self.assertEqual(agent.crcx(names[0]).code // 100, 5)
            self.assertEqual(gateway.metrics().total("mgw_connections"), 4)
            self.assertEqual(agent.dlcx(names[3]).code, 200)
            wait_for(lambda: agent.crcx("rtpbridge/*@mgw").code == 200, "ports for a call again")
            agent.close()

    def test_limit_of_descriptors(self):
        """W12: 256 descriptors, 300 legs: 5xx from some point on, all the rest works."""
        for backend in runner.BACKENDS:
            with self.subTest(backend), \
                    Gateway({"rtp.port-quarantine-ms": 0}, backend,
                            preexec=limit_files(256)) as gateway:
                agent = agent_of(gateway)
                codes = [agent.crcx(f"rtpbridge/{number:x}@mgw").code
                         for number in range(1, 301)]
                created = codes.count(200)
                self.assertGreater(created, 50)
                self.assertLess(created, 128)
                self.assertEqual({code // 100 for code in codes if code != 200}, {5})
                self.assertEqual(agent.auep().code, 200)
                metrics = gateway.metrics()
                self.assertEqual(metrics.total("mgw_endpoints_used"), created)
                self.assertEqual(metrics.total("mgw_connections"), created)
                self.assertLess(len(gateway.log().splitlines()), 50, "a line for each refusal")
                for number in (1, 2):
                    self.assertEqual(agent.dlcx(f"rtpbridge/{number:x}@mgw").code, 200)
                wait_for(lambda: agent.crcx("rtpbridge/1@mgw").code == 200, "a call again")
                agent.dlcx("rtpbridge/*@mgw")
                media_works(gateway, agent)
                agent.close()


class Marking(MediaCase):
    """N7: every packet carries the DSCP."""

    settings = {"rtp.dscp": 46, "rtp.socket-priority": 6}

    @staticmethod
    def tos_of(sock):
        select.select([sock], [], [], 5 * PATIENCE)
        ancillary = sock.recvmsg(2048, 256)[1]
        kinds = ((socket.IPPROTO_IP, socket.IP_TOS), (socket.IPPROTO_IPV6, socket.IPV6_TCLASS))
        return [int.from_bytes(data[:4], "little") for level, kind, data in ancillary
                if (level, kind) in kinds]

    def test_tos_and_traffic_class(self):
        """N7: TOS 0xb8 on IPv4, traffic class 0xb8 on IPv6, on RTP and RTCP."""
        for address in ("127.0.0.1", "::1"):
            with self.subTest(address), Call(self.agent) as call:
                first = call.leg(PCMA, address=address)
                second = call.leg(PCMA, address=address)
                for sock in (second.peer.rtp, second.peer.rtcp):
                    if address == "::1":
                        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVTCLASS, 1)
                    else:
                        sock.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
                self.gateway.settled()
                for _ in range(5):
                    first.peer.send()
                first.peer.rtcp.send(sender_report())
                self.gateway.settled(6)
                for _ in range(5):
                    self.assertEqual(self.tos_of(second.peer.rtp), [0xB8])
                self.assertEqual(self.tos_of(second.peer.rtcp), [0xB8])


class MetricsAddress(unittest.TestCase):
    """R7: the exporter's address."""

    def test_taken_port(self):
        """R7: a taken port is one log line; the gateway runs."""
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            with Gateway({"metrics.port": port}) as gateway:
                agent = agent_of(gateway)
                self.assertEqual(agent.auep().code, 200)
                self.assertEqual(agent.crcx("rtpbridge/1@mgw").code, 200)
                self.assertEqual(len(gateway.told(f":{port}")), 1, gateway.log())
                agent.close()

    def test_bad_address(self):
        """R7: an address that this machine does not have is a log line too."""
        with Gateway({"metrics.bind": "192.0.2.1"}) as gateway:
            agent = agent_of(gateway)
            self.assertEqual(agent.auep().code, 200)
            self.assertEqual(len(gateway.told("192.0.2.1")), 1, gateway.log())
            agent.close()

    def test_ipv6_address(self):
        """R7: an IPv6 metrics address."""
        with Gateway({"metrics.bind": "::1"}) as gateway:
            self.assertEqual(gateway.metrics().total("mgw_endpoints"), 300)

    def test_hundred_scrapes(self):
        """R7: 100 scrapes in a second, with commands between them, and each has its answer."""
        with Gateway() as gateway:
            agent = agent_of(gateway)
            start = time.monotonic()
            for number in range(1, 101):
                self.assertEqual(agent.crcx(f"rtpbridge/{number:x}@mgw").code, 200)
                self.assertEqual(gateway.metrics().total("mgw_endpoints_used"), number)
            print(f"100 scrapes in {time.monotonic() - start:.2f} s")
            media_works(gateway, agent, "rtpbridge/80@mgw")
            agent.close()


class Silence(unittest.TestCase):
    """R9: silent legs cost nothing."""

    def test_thousand_silent_legs(self):
        """R9: 1000 legs without media take less than 1 % of a core."""
        for backend in runner.BACKENDS:
            with self.subTest(backend), \
                    Gateway({"endpoints.count": 500}, backend, ports=3000) as gateway:
                agent = agent_of(gateway)
                body = mgcp.sdp("127.0.0.1", 9, PCMA)
                for number in range(1, 501):
                    for _ in range(2):
                        answer = agent.crcx(f"rtpbridge/{number:x}@mgw", mode="sendrecv",
                                            body=body)
                        self.assertEqual(answer.code, 200, answer.text)
                before = gateway.cpu_seconds()
                measure_for(3)
                share = (gateway.cpu_seconds() - before) / 3
                print(f"{backend}: {share * 100:.3f} % of a core with 1000 silent legs")
                self.assertLess(share, 0.01 * PATIENCE)
                agent.close()


class Datagrams(MediaCase):
    """U5: datagrams that are no packets."""

    settings = {"io.buffer-bytes": 2048}

    def test_empty_and_oversize(self):
        """U5: empty and oversize datagrams are dropped and counted, and receiving goes on."""
        first = self.call.leg(PCMA)
        second = self.call.leg(PCMA)

        def oversize():
            return self.gateway.metrics().total("mgw_io_received_oversize_total")
        one_more = rtp_packet(8, 7, 0, b"x" * (2048 + 1 - 12))
        fitting = one_more[:2048]
        for data, too_long in ((b"", 0), (b"x" * 9000, 1), (one_more, 1), (b"", 0)):
            with self.subTest(size=len(data)):
                before = oversize()
                for sock in (first.peer.rtp, first.peer.rtcp):
                    # Few enough for the default buffer of a socket.
                    for _ in range(10):
                        sock.send(data)
                # The next packet of the socket comes through.
                second.peer.clear()
                first.peer.send()
                wait_for(lambda: second.peer.receive_waiting() or second.peer.received,
                         "the packet after it")
                wait_for(lambda: oversize() - before == 20 * too_long, "they are counted")
        second.peer.clear()
        first.peer.rtp.send(fitting)
        self.gateway.settled()
        wait_for(lambda: second.peer.receive_waiting() or second.peer.received, "a long one fits")
        self.assertEqual(second.peer.received, [fitting])


for base in (Marking, Datagrams):
    runner.for_each_backend(globals(), base)
del base, Marking, Datagrams

if __name__ == "__main__":
    runner.main()

"""The kernel fast path, in network namespaces of this test's own: over loopback and over veth.

MGW_PROGRAM is the gateway. The counters say whether the kernel or the sockets forwarded; what
arrives is compared with what was sent, packet by packet.
"""

import os
import socket
import sys
import threading
import time
import unittest
import unittest.mock

from support import amr, mgcp, namespace, runner
from support.call import Leg, wait_received
from support.gateway import PROGRAM, Gateway, StartError
from support.load import Load, fault_counts
from support.kernel_path import (
    INTERVAL_S,
    PACKETS,
    PCMA,
    SPEECH,
    KernelCase,
    KernelGateway,
    refusal,
)
from support.ports import udp_socket
from support.rtp import Packet, rtp_packet, sender_report, stream
from support.waiting import wait_for

WITHOUT_LINKS = "MGW_KERNEL_PATH_WITHOUT_LINKS"
IP_TOS_OCTET = 46 << 2


class BothWays(KernelCase):
    """What all paths and devices have in common."""

    def test_both_ways(self):
        """Every packet arrives as it was sent, and the statistics of the legs say so."""
        first, second = (self.leg() for _ in range(2))
        self.warm(first, second)
        self.kernel_flow(first, second)
        self.assert_arrived(first, second, {8: 8})
        self.assert_arrived(second, first, {8: 8})
        packets = {leg: leg.peer.sequence for leg in (first, second)}
        octets = 12 + len(SPEECH)
        for leg, other in ((first, second), (second, first)):
            told = self.statistics(leg)
            self.assertEqual(
                (told["PS"], told["PR"], told["PL"]), (packets[other], packets[leg], 0)
            )
            self.assertEqual(
                (told["OS"], told["OR"]), (octets * packets[other], octets * packets[leg])
            )

    def test_payload_types(self):
        """112 becomes 98 and back."""
        first, second = self.pair(((112, "AMR/8000"),), ((98, "AMR/8000"),))
        self.kernel_flow(first, second)
        self.assert_arrived(first, second, {112: 98})
        self.assert_arrived(second, first, {98: 112})


class Loopback(BothWays, unittest.TestCase):
    """IPv4 over the loopback device."""

    def test_modes(self):
        """MDCX: what one leg may not take or send is not forwarded; then the kernel goes on."""
        first, second = self.pair()
        for mode, hears, speaks in (
            ("recvonly", False, True),
            ("sendonly", True, False),
            ("inactive", False, False),
        ):
            with self.subTest(mode):
                first.mdcx(mode)
                self.assertEqual(self.gateway.kernel("flows"), 0)
                self.flow(first, second, packets=5)
                self.assertEqual(len(first.peer.received), 5 if hears else 0)
                self.assertEqual(len(second.peer.received), 5 if speaks else 0)
        first.mdcx("sendrecv")
        self.warm(first, second)
        self.kernel_flow(first, second)
        self.assert_arrived(first, second, {8: 8})
        self.assert_arrived(second, first, {8: 8})

    def test_amr(self):
        """AMR is forwarded as long as it has the form that its sender announced."""
        speech = amr.octet_aligned(7, amr.speech(7))
        codecs = ((112, "AMR/8000"),)
        first, second = (
            self.leg(codecs, sends=((112, speech),), fmtp=((112, "octet-align=1"),))
            for _ in range(2)
        )
        self.warm(first, second)
        self.kernel_flow(first, second)
        self.assert_arrived(first, second, {112: 112})
        before = self.gateway.metrics().dropped("amr_format_mismatch")
        other_form = amr.bandwidth_efficient(7, amr.speech(7))
        first.peer.sends = [(112, other_form)]
        self.flow(first, packets=3)
        self.assert_silent(second)
        self.assertEqual(self.gateway.metrics().dropped("amr_format_mismatch") - before, 3)

    def test_stranger(self):
        """A source that is not the peer is dropped and counted; the stream goes on."""
        first, second = self.pair()
        stranger = Leg(self.call, self.call.peer(self.address).connect(first.port), ())
        dropped = self.gateway.metrics().dropped("unknown_source")
        missed = self.gateway.misses("source")
        self.kernel_flow(first, second)
        self.flow(stranger, packets=7)
        self.assert_silent(first, second)
        self.assertEqual(self.gateway.metrics().dropped("unknown_source") - dropped, 7)
        self.assertEqual(self.gateway.misses("source") - missed, 7)
        self.kernel_flow(first, second)
        self.assert_arrived(first, second, {8: 8})

    def test_reports(self):
        """RTCP goes through the sockets, on its own port and on that of RTP; RTP stays."""
        first, second = self.pair()
        interruptions = self.gateway.kernel("interruptions_total")
        report = sender_report()
        first.peer.rtcp.send(report)
        wait_received(second.peer, 0, 1)
        self.assertEqual(second.peer.reports, [report])
        before = self.gateway.misses("other")
        first.peer.rtp.send(report)
        wait_received(second.peer, 0, 2)
        self.assertEqual(self.gateway.misses("other") - before, 1)
        self.kernel_flow(first, second)
        self.assertEqual(self.gateway.kernel("interruptions_total"), interruptions)

    def test_unusual_packets(self):
        """Late packets, duplicates, jumps, another SSRC, odd headers: nothing is lost or turned."""
        first, second = self.pair()
        number = first.peer.sequence
        base = first.peer.timestamp

        def packet(offset, **changed):
            values = {
                "payload_type": 8,
                "sequence": number + offset,
                "timestamp": base + 160 * offset,
                "payload": SPEECH,
                **changed,
            }
            return rtp_packet(**values)

        cases = {
            "gap": [packet(0), packet(3), packet(4)],
            "late": [packet(6), packet(5), packet(7)],
            "duplicate": [packet(8), packet(8), packet(9)],
            "jump": [packet(10), packet(9000), packet(9001)],
            "ssrc": [packet(9002), packet(20, ssrc=7), packet(21, ssrc=7)],
            "marker": [packet(22, ssrc=7, marker=True), packet(23, ssrc=7)],
        }
        extended = bytearray(packet(24, ssrc=7))
        extended[0] |= 0x10
        extended[12:12] = b"\xbe\xde\x00\x01\x10\xff\x00\x00"
        padded = bytearray(packet(25, ssrc=7) + b"\x00\x00\x00\x04")
        padded[0] |= 0x20
        sources = bytearray(packet(26, ssrc=7))
        sources[0] |= 2
        sources[12:12] = b"\x00\x00\x00\x01\x00\x00\x00\x02"
        cases["header"] = [bytes(extended), bytes(padded), bytes(sources)]
        for name, packets in cases.items():
            with self.subTest(name):
                for data in packets:
                    self.send(first, data)
                    time.sleep(INTERVAL_S)
                self.arrives(second, packets)
        # What has no room for what its header tells of is dropped where it always was.
        broken = bytearray(packet(27, ssrc=7))
        broken[0] |= 0x10
        broken[12:16] = b"\xbe\xde\xff\xff"
        dropped = self.gateway.metrics().dropped("rtp_extension_overrun")
        self.send(first, bytes(broken))
        wait_for(
            lambda: self.gateway.metrics().dropped("rtp_extension_overrun") == dropped + 1,
            "the broken packet is counted",
        )

    def test_unmapped_payload_type(self):
        """A payload type that the other leg uses for another codec is dropped and counted."""
        first, second = self.pair(((112, "AMR/8000"),), ((98, "AMR/8000"),))
        before = self.gateway.metrics().dropped("unmapped_payload_type")
        missed = self.gateway.misses("payload_type")
        first.peer.sends = [(98, SPEECH)]
        self.flow(first, packets=2)
        self.assert_silent(second)
        self.assertEqual(self.gateway.metrics().dropped("unmapped_payload_type") - before, 2)
        self.assertEqual(self.gateway.misses("payload_type") - missed, 1)

    def test_fragments_and_options(self):
        """What IP has cut up or marked arrives through the sockets."""
        first, second = self.pair()
        before = self.forwarded(self.gateway.settled())
        first.peer.rtp.setsockopt(socket.IPPROTO_IP, socket.IP_OPTIONS, b"\x01\x01\x01\x00")
        options = first.peer.next_packet()
        self.send(first, options)
        self.arrives(second, [options])
        first.peer.rtp.setsockopt(socket.IPPROTO_IP, socket.IP_OPTIONS, b"")
        namespace.command("ip", "link", "set", "lo", "mtu", "1280")
        try:
            first.peer.sends = [(8, bytes(1500))]
            long = first.peer.next_packet()
            self.send(first, long)
            self.arrives(second, [long])
        finally:
            namespace.command("ip", "link", "set", "lo", "mtu", "65536")
        self.assertEqual(self.forwarded(self.gateway.settled()), before)

    def changes(self, first, second, *steps):
        """Both peers send without a pause while the steps are done; all of it arrives in order."""
        for peer in self.call.peers:
            peer.clear()
        stop = threading.Event()

        def talk():
            while not stop.is_set():
                stream([first.peer, second.peer], 5, self.call.peers, INTERVAL_S)

        talker = threading.Thread(target=talk)
        talker.start()
        try:
            for step in steps:
                wait_for(lambda: self.gateway.kernel("flows") == 2, "the kernel has both streams")
                step()
                time.sleep(5 * INTERVAL_S)
        finally:
            stop.set()
            talker.join()
        self.gateway.settled()
        self.assert_arrived(first, second, {8: 8})
        self.assert_arrived(second, first, {8: 8})

    def test_switch_over(self):
        """A tap, a third leg, loopback of another leg and MDCX come and go under a stream."""
        first, second = self.pair()
        listener = udp_socket("127.0.0.1")
        third = []

        def tap(value):
            def set_tap():
                answer = self.agent.command(
                    "MDCX",
                    self.call.endpoint,
                    ["C: 1226", f"I: {first.connection}", f"X-Mgw-Tap: {value}"],
                )
                self.assertEqual(answer.code, 200, answer.text)

            return set_tap

        def join():
            third.append(self.leg(mode="sendonly"))

        def leave():
            self.agent.dlcx(self.call.endpoint, "1226", third[0].connection)

        # With a third leg or a tap the streams belong to the sockets.
        self.changes(
            first,
            second,
            lambda: (
                tap(f"both udp 127.0.0.1:{listener.getsockname()[1]}")(),
                self.flows_are(0),
                tap("off")(),
            ),
        )
        self.changes(first, second, lambda: (join(), self.flows_are(0), leave()))
        self.changes(first, second, lambda: first.mdcx("sendrecv"), lambda: second.mdcx("sendrecv"))
        listener.close()

    def flows_are(self, count):
        self.assertEqual(self.gateway.kernel("flows"), count)

    def test_loopback_mode(self):
        """A leg in loopback is the sockets' affair."""
        first, _ = self.pair()
        first.mdcx("loopback")
        self.socket_flow(first)
        self.assert_arrived(first, first, {8: 8})

    def test_gap_is_lost(self):
        """PL= counts what never came, JI= is there."""
        first, second = self.pair()
        self.kernel_flow(first, packets=2)
        sent = first.peer.sequence
        for _ in range(3):
            first.peer.next_packet()
        self.kernel_flow(first)
        told = self.statistics(first)
        self.assertEqual((told["PR"], told["PL"]), (sent + PACKETS, 3))
        self.assertEqual(self.statistics(second)["PS"], sent + PACKETS)


class LoopbackIpv6(BothWays, unittest.TestCase):
    """The same over IPv6."""

    address = "::1"


class LoopbackXdp(BothWays, unittest.TestCase):
    """XDP on the loopback device."""

    path = "xdp"


class LoopbackXdpIpv6(LoopbackXdp):
    """The same over IPv6."""

    address = "::1"


class OneSsrc(KernelCase, unittest.TestCase):
    """rtp.patch.ssrc and rtp.patch.timestamp."""

    settings = {"rtp.patch.ssrc": "true", "rtp.patch.timestamp": "true"}

    def test_change_of_source(self):
        """The kernel goes on with the numbers of the first SSRC."""
        first, second = self.pair()
        self.kernel_flow(first)
        last = second.peer.packets()[-1]
        for number in range(PACKETS):
            self.send(first, rtp_packet(8, 500 + number, 77 + 160 * number, SPEECH, ssrc=5))
            time.sleep(INTERVAL_S)
        before = self.forwarded(self.gateway.metrics())
        second.peer.clear()
        for number in range(PACKETS, 2 * PACKETS):
            self.send(first, rtp_packet(8, 500 + number, 77 + 160 * number, SPEECH, ssrc=5))
            time.sleep(INTERVAL_S)
        wait_received(second.peer, PACKETS)
        self.assertGreater(self.forwarded(self.gateway.settled(2 * PACKETS)), before)
        came = second.peer.packets()
        self.assertEqual({packet.ssrc for packet in came}, {last.ssrc})
        self.assertEqual(
            [packet.sequence for packet in came],
            [(last.sequence + 1 + number) & 0xFFFF for number in range(PACKETS, 2 * PACKETS)],
        )
        self.assertEqual({(packet.timestamp - last.timestamp) % 160 for packet in came}, {0})


class Latched(KernelCase, unittest.TestCase):
    """rtp.source: latch, a peer that sends from another port than its SDP says."""

    settings = {"rtp.source": "latch"}

    def test_latched_source(self):
        """The kernel hears whom the gateway has learned, and sends there."""
        first, second = (self.leg() for _ in range(2))
        told = first.peer
        self.warm(second)
        self.kernel_flow(second)
        self.assertEqual(told.received, second.peer.sent)
        first.peer = self.call.peer(self.address, first.peer.sends).connect(first.port)
        self.warm(first, second)
        self.kernel_flow(first, second)
        self.assert_arrived(first, second, {8: 8})
        self.assert_arrived(second, first, {8: 8})
        told.connect(first.port)
        dropped = self.gateway.metrics().dropped("unknown_source")
        told.send()
        wait_for(
            lambda: self.gateway.metrics().dropped("unknown_source") == dropped + 1,
            "the announced address is a stranger now",
        )


class TimeLimit(KernelCase, unittest.TestCase):
    """endpoints.connection-timeout-s."""

    settings = {"endpoints.connection-timeout-s": 2}

    def test_timeout(self):
        """What the kernel forwards keeps a connection alive, and silence ends it."""
        first, second = self.pair()
        end = time.monotonic() + 3.5
        while time.monotonic() < end:
            first.peer.send()
            second.peer.send()
            time.sleep(0.02)
        self.assertEqual(self.gateway.metrics().total("mgw_connections"), 2)
        self.assertEqual(self.gateway.kernel("flows"), 2)
        wait_for(
            lambda: self.gateway.metrics().total("mgw_connections") == 0, "silent connections end"
        )


class Veth(BothWays, unittest.TestCase):
    """Peers in another namespace, over a veth device."""

    address = "10.99.0.2"
    local = {"rtp.bind": "10.99.0.1", "rtp.bind-v6": "fd99::1", "rtp.dscp": 46}

    @classmethod
    def setUpClass(cls):
        cls.outside = namespace.Namespace()
        cls.outside.join(
            "gw0", "peer0", ("10.99.0.1/24", "fd99::1/64"), ("10.99.0.2/24", "fd99::2/64")
        )
        cls.settings = cls.local
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        namespace.command("ip", "link", "delete", "gw0")
        cls.outside.close()

    def leg(self, *arguments, **options):
        with self.outside.inside():
            leg = super().leg(*arguments, **options)
            gateway = self.local["rtp.bind-v6" if ":" in self.address else "rtp.bind"]
            leg.peer.connect(leg.port, gateway)
            return leg

    def test_marks(self):
        """rtp.dscp is in the packets that the kernel forwards, too."""
        first, second = self.pair()
        ipv6 = ":" in self.address
        level, asked, told = (
            (socket.IPPROTO_IPV6, socket.IPV6_RECVTCLASS, socket.IPV6_TCLASS)
            if ipv6
            else (socket.IPPROTO_IP, socket.IP_RECVTOS, socket.IP_TOS)
        )
        second.peer.rtp.setsockopt(level, asked, 1)
        before = self.forwarded(self.gateway.settled())
        first.peer.send()
        self.assertEqual(self.forwarded(self.gateway.settled(1)) - before, 1)
        _, control, _, _ = second.peer.rtp.recvmsg(2048, 64)
        self.assertEqual([(kind, data[0]) for _, kind, data in control], [(told, IP_TOS_OCTET)])


class VethIpv6(Veth):
    """The same over IPv6."""

    address = "fd99::2"


class VethXdp(Veth):
    """The same with XDP."""

    path = "xdp"


class VethXdpIpv6(VethXdp):
    """And with both."""

    address = "fd99::2"


class Start(unittest.TestCase):
    """Rights, devices, and what is left behind."""

    @staticmethod
    def unprivileged():
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)

    def test_no_rights(self):
        """auto goes on without it and says why; a path by name does not start."""
        with KernelGateway("auto", preexec=self.unprivileged) as gateway:
            info = gateway.metrics().labels("mgw_kernel_path_info")[0]
            self.assertEqual(info["path"], "off")
            self.assertIn("CAP_BPF", info["reason"])
            self.assertEqual(len(gateway.told("no kernel fast path")), 1, gateway.log())
        for path in ("tc", "xdp"):
            with self.subTest(path), self.assertRaises(StartError) as raised:
                KernelGateway(path, preexec=self.unprivileged).kill()
            self.assertIn("CAP_BPF", raised.exception.text)
            self.assertGreater(raised.exception.status, 0)

    def test_just_the_rights_that_the_unit_gives(self):
        """An unprivileged user with the three capabilities has it, in either place."""
        rights = "-all,+bpf,+net_admin,+perfmon"
        program = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs",
                   f"--bounding-set={rights}", f"--inh-caps={rights}", f"--ambient-caps={rights}",
                   PROGRAM]  # fmt: skip
        for path in ("tc", "xdp"):
            with self.subTest(path), KernelGateway(path, program=program) as gateway:
                info = gateway.metrics().labels("mgw_kernel_path_info")[0]
                self.assertEqual(info["path"], path, gateway.log())

    def test_off(self):
        """Nothing is attached unless it was asked for; the environment asks too."""
        with Gateway({"endpoints.count": 8}) as gateway:
            self.assertEqual(gateway.metrics().labels("mgw_kernel_path_info")[0]["path"], "off")
        with unittest.mock.patch.dict(os.environ, {"MGW_KERNEL_PATH": "xdp"}), Gateway(
            {"endpoints.count": 8}
        ) as gateway:
            info = gateway.metrics().labels("mgw_kernel_path_info")[0]
            self.assertEqual((info["path"], info["devices"]), ("xdp", "lo"))
            self.assertIn("xdp", namespace.command("ip", "link", "show", "lo"))

    def test_devices(self):
        """Devices by name; one that is not there."""
        with self.assertRaises(StartError) as raised:
            KernelGateway("tc", {"io.kernel-path-devices": "none0"}).kill()
        self.assertIn("none0", raised.exception.text)
        with KernelGateway("tc", {"io.kernel-path-devices": "lo"}) as gateway:
            self.assertEqual(gateway.metrics().labels("mgw_kernel_path_info")[0]["devices"], "lo")

    def test_killed(self):
        """Nothing stays attached when the gateway is killed."""
        for path in ("tc", "xdp"):
            with self.subTest(path):
                gateway = KernelGateway(path)
                attached = "xdp" in namespace.command("ip", "link", "show", "lo")
                self.assertEqual(attached, path == "xdp")
                gateway.kill()
                wait_for(
                    lambda: "xdp" not in namespace.command("ip", "link", "show", "lo"),
                    "XDP is gone",
                )
                self.assertEqual(
                    namespace.command("tc", "filter", "show", "dev", "lo", "ingress"), ""
                )

    def test_without_links(self):
        """As on a kernel without links: gone after the end; what a killed one left is removed."""

        def filters():
            return namespace.command("tc", "filter", "show", "dev", "lo", "ingress").count(
                "handle 0x1 kernel_path_tc"
            )

        namespace.command("tc", "qdisc", "add", "dev", "lo", "clsact")
        with unittest.mock.patch.dict(os.environ, {WITHOUT_LINKS: "1"}):
            with KernelGateway("tc") as gateway, KernelGateway("tc") as other:
                self.assertEqual(filters(), 2)
                for one in (gateway, other):
                    self.carries_a_call(one)
            self.assertEqual(filters(), 0)
            KernelGateway("tc").kill()
            self.assertEqual(filters(), 1)
            time.sleep(5.1)
            with KernelGateway("tc") as gateway:
                self.assertEqual(filters(), 1)
                self.carries_a_call(gateway)
        namespace.command("tc", "qdisc", "delete", "dev", "lo", "clsact")

    def carries_a_call(self, gateway):
        with Load(gateway.address, gateway.port, "--calls", 2, "--seconds", 1) as load:
            status, result = load.finish()
        self.assertEqual((status, result["lost"]), (0, 0), load.errors)
        self.assertGreater(gateway.kernel("packets_total"), result["received"] / 2)


class UnderLoad(unittest.TestCase):
    """Calls with the load generator, which checks every packet of every stream."""

    def test_load(self):
        """Nothing is lost, turned round, doubled or changed while streams change sides."""
        for path in ("tc", "xdp"):
            for address in ("127.0.0.1", "::1"):
                with self.subTest(path=path, address=address), KernelGateway(
                    path, {"mgcp.bind": address}
                ) as gateway:
                    with Load(
                        f"[{address}]" if ":" in address else address,
                        gateway.port,
                        "--calls",
                        20,
                        "--seconds",
                        2,
                    ) as load:
                        status, result = load.finish()
                    self.assertEqual(status, 0, load.errors)
                    self.assertEqual(fault_counts(result), dict.fromkeys(fault_counts(result), 0))
                    self.assertEqual(result["lost"], 0)
                    self.assertGreater(gateway.kernel("packets_total"), result["received"] / 2)


if __name__ == "__main__":
    REFUSAL = refusal()
    if REFUSAL:
        print(f"THE KERNEL FAST PATH IS NOT TESTED HERE: {REFUSAL}")
        raise SystemExit(runner.SKIPPED_STATUS)
    # The sanitizers watch the gateway, whose part is the same over all devices.
    if "MGW_INTEROP_SANITIZED" in os.environ and len(sys.argv) == 1:
        sys.argv += ["Loopback", "OneSsrc", "Start"]
    runner.main()

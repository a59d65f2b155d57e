"""The rows of the TTCN-3 suite's table with Osmux, over real sockets, on both backends.

Frames are counted exactly: nothing is lost on loopback. MGW_PROGRAM is the gateway.
"""

from support import mgcp, runner
from support.call import Call, wait_received
from support.gateway import Gateway
from support.osmux import ALIGNED, FRAMES_PER_CHUNK, SPEECH, OsmuxLeg, talk, wait_frames
from support.ports import udp_socket

CHUNKS = 5
FRAMES = CHUNKS * FRAMES_PER_CHUNK
ALIGNED_FMTP = ((112, "octet-align=1"),)


def efficient():
    """SPEECH with the ten header bits of a bandwidth-efficient payload: no CMR, type 2, good."""
    bits = "0000" + "0" + "0010" + "1" + "".join(f"{octet:08b}" for octet in SPEECH)[:118]
    return bytes(int(bits[at : at + 8], 2) for at in range(0, 128, 8))


class OsmuxCase:
    """One gateway with Osmux for all tests of a class."""

    @classmethod
    def setUpClass(cls):
        with udp_socket("::1") as probe:
            cls.port = probe.getsockname()[1]
        cls.gateway = Gateway(
            {
                "osmux.mode": "on",
                "osmux.port": cls.port,
                "osmux.bind": "127.0.0.1",
                "osmux.bind-v6": "::1",
            },
            backend=cls.backend,
        )
        cls.agent = mgcp.Agent(cls.gateway.address, cls.gateway.port)

    @classmethod
    def tearDownClass(cls):
        cls.agent.close()
        cls.gateway.stop()

    def setUp(self):
        self.call = Call(self.agent)

    def tearDown(self):
        self.call.close()

    def rtp_leg(self, mode="sendrecv", address="127.0.0.1", fmtp=ALIGNED_FMTP, payload=ALIGNED):
        leg = self.call.leg(((112, "AMR/8000"),), mode, address, ((112, payload),))
        if fmtp:
            leg.fmtp = fmtp
            leg.mdcx(mode)
        return leg

    def clear(self):
        for peer in self.call.peers:
            peer.clear()

    def assert_heard(self, leg, count=FRAMES, payload=ALIGNED):
        """The RTP peer got so many packets, all with that payload."""
        wait_received(leg.peer, count)
        self.assertEqual(len(leg.peer.received), count)
        self.assertEqual({packet.payload for packet in leg.peer.packets()}, {payload})

    def assert_frames(self, leg, count=FRAMES):
        wait_frames(leg.peer, count)
        self.assertEqual(len(leg.peer.frames), count)


class Signalling(OsmuxCase):
    """Numbers of circuits."""

    def test_numbers(self):
        """TC_crcx_osmux_wildcard, TC_crcx_osmux_fixed, TC_crcx_osmux_fixed_twice."""
        for number in ("*", "2", "3", "3"):
            with self.subTest(number):
                answer = self.agent.crcx(self.call.endpoint, extra=(f"X-Osmux: {number}",))
                self.assertEqual(answer.code, 200)
                self.assertTrue(answer.connection)
                self.assertEqual(answer.rtp_port, self.port)
                self.assertIn(int(answer.parameters["X-OSMUX"]), range(256))
                self.assertEqual(self.agent.dlcx(self.call.endpoint).code, 200)

    def test_exhausted(self):
        """TC_crcx_osmux_257: a number each for 256 circuits, 400 for one more."""
        numbers = set()
        for _ in range(256):
            answer = self.agent.crcx("rtpbridge/*@mgw", extra=("X-Osmux: *",))
            self.assertEqual(answer.code, 200)
            numbers.add(answer.parameters["X-OSMUX"])
        self.assertEqual(len(numbers), 256)
        self.assertEqual(self.agent.crcx("rtpbridge/*@mgw", extra=("X-Osmux: *",)).code, 400)
        for _ in range(256):
            self.assertEqual(self.agent.dlcx("rtpbridge/*@mgw", "1226").code, 200)


class Media(OsmuxCase):
    """Circuits and RTP."""

    def test_receive_only(self):
        """TC_one_crcx_receive_only_osmux: nothing comes back, whatever circuit it is for."""
        leg = OsmuxLeg(self.call, "::1").crcx("*", "recvonly", body=False)
        self.gateway.settled()
        for circuit in (leg.peer.remote, 2) * CHUNKS:
            leg.peer.send(circuit)
        self.gateway.settled(2 * CHUNKS)
        leg.peer.receive_waiting()
        self.assertEqual((leg.peer.frames, leg.peer.refused), ([], 0))

    def test_loopback(self):
        """TC_one_crcx_loopback_osmux: each frame comes back, in batches of four again."""
        leg = OsmuxLeg(self.call, codecs=((111, "GSM-HR-08/8000/1"),)).crcx(2, "loopback")
        talk([leg.peer], chunks=CHUNKS)
        self.assert_frames(leg)

    def both_directions(self, addresses, fmtp=ALIGNED_FMTP, payload=ALIGNED):
        rtp = self.rtp_leg(address=addresses[0], fmtp=fmtp, payload=payload)
        leg = OsmuxLeg(self.call, addresses[1]).crcx(2)
        self.assertEqual(leg.answer.rtp_address, addresses[1])
        self.clear()
        talk([leg.peer], [rtp.peer], CHUNKS)
        self.assert_heard(rtp, payload=payload)
        self.assert_frames(leg)

    def test_two_legs(self):
        """TC_two_crcx_and_rtp_osmux, .._bidir, .._bidir_ipv6, .._ipv4_ipv6, .._ipv6_ipv4."""
        rtp = self.rtp_leg()
        leg = OsmuxLeg(self.call).crcx(2)
        self.clear()
        talk([leg.peer], chunks=CHUNKS)
        self.assert_heard(rtp)
        self.call.close()
        for addresses in (
            ("127.0.0.1", "127.0.0.1"),
            ("::1", "::1"),
            ("127.0.0.1", "::1"),
            ("::1", "127.0.0.1"),
        ):
            with self.subTest(addresses), Call(self.agent) as self.call:
                self.both_directions(addresses)

    def test_bandwidth_efficient(self):
        """TC_two_crcx_and_rtp_osmux_bidir_amr_bwe: the RTP side is packed otherwise."""
        self.both_directions(("127.0.0.1",) * 2, ((112, "octet-align=0"),), efficient())

    def opened_leg_by_leg(self, number, addresses):
        """The course of TC_two_crcx_mdcx_and_rtp_osmux."""
        rtp = self.rtp_leg("recvonly", addresses[0], fmtp=())
        leg = OsmuxLeg(self.call, addresses[1]).crcx(number, "recvonly")
        local = leg.peer.remote

        def exchange(heard, frames):
            self.clear()
            talk([leg.peer], [rtp.peer], CHUNKS)
            if heard:
                self.assert_heard(rtp)
            if frames:
                self.assert_frames(leg)
            self.gateway.settled()
            rtp.peer.receive_waiting()
            leg.peer.receive_waiting()
            self.assertEqual(bool(rtp.peer.received), heard)
            self.assertEqual(bool(leg.peer.frames), frames)

        exchange(False, False)
        rtp.mdcx()
        exchange(number != "*", False)
        leg.change(2)
        self.assertEqual(leg.peer.remote, local)
        exchange(True, True)

    def test_mdcx(self):
        """TC_two_crcx_mdcx_and_rtp_osmux_wildcard, .._fixed, .._ipv6, .._ipv4_ipv6, .._ipv6_ipv4.

        The RTP side says nothing of its packing: what leaves for it is octet-aligned.
        """
        for number, addresses in (
            ("*", ("127.0.0.1", "127.0.0.1")),
            (2, ("127.0.0.1", "127.0.0.1")),
            (2, ("::1", "::1")),
            (2, ("127.0.0.1", "::1")),
            (2, ("::1", "127.0.0.1")),
        ):
            with self.subTest(number=number, addresses=addresses), Call(self.agent) as self.call:
                self.opened_leg_by_leg(number, addresses)

    def test_metrics(self):
        """What was saved against plain RTP is told."""
        leg = OsmuxLeg(self.call).crcx(2, "loopback")
        talk([leg.peer], chunks=CHUNKS)
        self.assert_frames(leg)
        metrics = self.gateway.settled()
        for direction in ("received", "sent"):
            self.assertGreater(metrics.total("mgw_osmux_saved_octets", direction=direction), 0)


for base in (Signalling, Media):
    runner.for_each_backend(globals(), base)


if __name__ == "__main__":
    runner.main()

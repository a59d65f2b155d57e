"""Telephone events and comfort noise between legs of every kind of voice, over real sockets.

What is a payload type on one side means something else on the other: 101 is telephone-event
here and voice there. MGW_PROGRAM is the gateway.
"""

import itertools

from support import mgcp, runner
from support.call import Call, wait_received
from support.events import COMFORT_NOISE, SIDES, VOICE, Side, packet_text
from support.media_case import MediaCase
from support.rtp import rtp_packet


class Events(MediaCase):
    """Every ordered pair of legs, in calls of their own, all at once."""

    def setUp(self):
        self.calls = []
        super().setUp()

    def tearDown(self):
        for call in self.calls:
            call.close()
        super().tearDown()

    def every_pair(self):
        """The two sides of a call for each ordered pair of VOICE."""
        pairs = []
        for number, names in enumerate(itertools.product(VOICE, repeat=2)):
            call = Call(self.agent, f"rtpbridge/{number + 16:x}@mgw")
            self.calls.append(call)
            pairs.append(
                (
                    names,
                    [
                        Side(call, name, numbers, 2 * number + side)
                        for side, (name, numbers) in enumerate(zip(names, SIDES))
                    ],
                )
            )
        return pairs

    def test_every_pair(self):
        """A digit and comfort noise cross with their own types; foreign voice never does."""
        pairs = self.every_pair()
        before = self.gateway.metrics().dropped("unmapped_payload_type")
        foreign, sent = 0, 0
        for _, sides in pairs:
            for sender, receiver in (sides, sides[::-1]):
                for data in sender.packets(sender):
                    sender.peer.rtp.send(data)
                    sent += 1
                foreign += len(sender.packets(sender)) - len(sender.packets(receiver))
        self.assertEqual(foreign, 2 * 2 * (25 - 7), "pairs whose voice differs, both ways")
        metrics = self.gateway.settled(sent)
        self.assertEqual(metrics.dropped("unmapped_payload_type") - before, foreign)
        for names, sides in pairs:
            for sender, receiver in (sides, sides[::-1]):
                with self.subTest(names, to=receiver.rtpmap):
                    self.assert_packets(receiver.peer, sender.packets(receiver))

    def assert_packets(self, peer, expected):
        wait_received(peer, len(expected))
        self.assertEqual(
            [packet_text(data) for data in peer.received], [packet_text(data) for data in expected]
        )

    def test_clock_rates(self):
        """Noise and events of several clock rates go to those of the same rate, or nowhere."""
        first = self.call.leg(
            (
                (96, "AMR-WB/16000"),
                (97, "telephone-event/16000"),
                (98, "telephone-event/8000"),
                (99, "CN/16000"),
                (13, "CN/8000"),
            )
        )
        second = self.call.leg(
            ((99, "AMR-WB/16000"), (96, "CN/8000"), (98, "CN/16000"), (13, "telephone-event/8000"))
        )
        before = self.gateway.metrics().dropped("unmapped_payload_type")
        forward = {98: 13, 99: 98, 13: 96}
        for number, kind in enumerate((97, 98, 99, 13)):
            first.peer.rtp.send(rtp_packet(kind, number, 160 * number, b"\5\x0a\0\xa0"))
        for number, kind in enumerate((96, 98, 13)):
            second.peer.rtp.send(rtp_packet(kind, number, 160 * number, b"\5\x0a\0\xa0"))
        self.assert_packets(
            second.peer,
            [
                rtp_packet(forward[kind], number, 160 * number, b"\5\x0a\0\xa0")
                for number, kind in enumerate((97, 98, 99, 13))
                if kind in forward
            ],
        )
        backward = {there: here for here, there in forward.items()}
        self.assert_packets(
            first.peer,
            [
                rtp_packet(backward[kind], number, 160 * number, b"\5\x0a\0\xa0")
                for number, kind in enumerate((96, 98, 13))
            ],
        )
        after = self.gateway.settled().dropped("unmapped_payload_type")
        self.assertEqual(after - before, 1, "telephone-event/16000 has nowhere to go")

    def test_static_types(self):
        """Types of RFC 3551 need no rtpmap: 8 and 13 cross to what the other leg calls them."""
        peer = self.call.peer()
        body = mgcp.sdp("127.0.0.1", peer.port, ((8, "PCMA/8000"), (13, "CN/8000")))
        body = "".join(line for line in body.splitlines(True) if "rtpmap" not in line)
        answer = self.agent.crcx(self.call.endpoint, mode="sendrecv", body=body)
        peer.connect(answer.rtp_port)
        other = self.call.leg(((97, "PCMA/8000"), (98, "CN/8000"))).peer
        for sender, receiver, types in (
            (peer, other, {8: 97, 13: 98}),
            (other, peer, {97: 8, 98: 13}),
        ):
            for number, kind in enumerate(types):
                sender.rtp.send(rtp_packet(kind, number, 160 * number, COMFORT_NOISE))
            self.assert_packets(
                receiver,
                [
                    rtp_packet(to, number, 160 * number, COMFORT_NOISE)
                    for number, to in enumerate(types.values())
                ],
            )


runner.for_each_backend(globals(), Events)
del Events

if __name__ == "__main__":
    runner.main()

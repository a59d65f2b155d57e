"""The rows of the TTCN-3 suite's table with IuUP legs, on every backend.

MGW_PROGRAM is the gateway.
"""

from support import amr, iuup, runner
from support.call import Leg, wait_received
from support.iuup import IuupPeer
from support.media_case import PACKETS, MediaCase
from support.waiting import wait_for

IUFP = ((iuup.PAYLOAD_TYPE, iuup.CODEC),)
EFFICIENT = ((112, "AMR/8000"),)
FRAME_TYPE = 7  # AMR 12.2
SPEECH_RFCI = 0  # in every data PDU, as the suite has it, whatever was declared


def bits(seed):
    return amr.speech(FRAME_TYPE, seed)


FRAMES = [amr.to_octets(bits(seed)) for seed in range(5)]
AMR_FRAMES = [amr.bandwidth_efficient(FRAME_TYPE, bits(seed)) for seed in range(5)]


class Iuup(MediaCase):
    """Connection 0 is IuUP and its peer initialises, connection 1 is IuUP or AMR."""

    def iuup_leg(self, mode="recvonly"):
        """A CRCX with IuUP."""
        peer = IuupPeer(sends=[(SPEECH_RFCI, frame) for frame in FRAMES])
        self.call.peers.append(peer)
        leg = Leg(self.call, peer, IUFP)
        answer = self.agent.crcx(self.call.endpoint, mode=mode, body=leg.body())
        return leg.take(answer)

    def amr_leg(self, mode="recvonly"):
        return self.call.leg(EFFICIENT, mode, sends=[(112, frame) for frame in AMR_FRAMES])

    def assert_frames(self, leg, rfci):
        """All that the other leg's peer sent came as data PDUs, numbered without a jump."""
        wait_received(leg.peer, PACKETS)
        pdus = leg.peer.data()
        self.assertEqual([pdu.payload for pdu in pdus], 10 * FRAMES)
        self.assertEqual({(pdu.kind, pdu.rfci, pdu.quality) for pdu in pdus}, {(0, rfci, 0)})
        first = pdus[0].frame_number
        self.assertEqual(
            [pdu.frame_number for pdu in pdus], [(first + n) % 16 for n in range(PACKETS)]
        )
        self.assertEqual({packet.payload_type for packet in leg.peer.packets()}, {96})

    def assert_amr(self, leg):
        wait_received(leg.peer, PACKETS)
        packets = leg.peer.packets()
        self.assertEqual([packet.payload for packet in packets], 10 * AMR_FRAMES)
        self.assertEqual({packet.payload_type for packet in packets}, {112})
        first = packets[0].timestamp
        self.assertEqual(
            [packet.timestamp for packet in packets],
            [(first + 160 * number) & 0xFFFFFFFF for number in range(PACKETS)],
        )

    def between_iuup_legs(self, numbers):
        """The course of TC_two_crcx_mdcx_and_iuup."""
        first, second = self.iuup_leg(), self.iuup_leg()
        first.peer.initialise(numbers)
        second.peer.wait_initialised()
        self.assertEqual(first.peer.offered, None, "INIT to the active side")
        # All but the versions is the first peer's.
        own, theirs = second.peer.offered[4:], iuup.initialisation(numbers)[4:]
        self.assertEqual(own[:-3], theirs[:-3])
        self.assertEqual(own[-3:], bytes((0, 3, 0)))
        self.flow(first, second)
        self.assert_silent(first, second)
        first.mdcx("sendrecv")
        self.flow(first, second)
        self.assert_frames(first, SPEECH_RFCI)
        self.assert_silent(second)
        second.mdcx("sendrecv")
        self.flow(first, second)
        self.assert_frames(first, SPEECH_RFCI)
        self.assert_frames(second, SPEECH_RFCI)
        return first, second

    def between_iuup_and_rtp(self, numbers):
        """The course of TC_two_crcx_mdcx_and_iuup_rtp."""
        first, second = self.iuup_leg(), self.amr_leg()
        first.peer.initialise(numbers)
        self.flow(first, second)
        self.assert_silent(first, second)
        first.mdcx("sendrecv")
        self.flow(first, second)
        self.assert_frames(first, numbers[0])
        self.assert_silent(second)
        second.mdcx("sendrecv")
        self.flow(first, second)
        self.assert_frames(first, numbers[0])
        self.assert_amr(second)
        return first, second

    def closed_in_turn(self, first, second):
        """MDCX to recvonly stops the packets to each side."""
        second.mdcx("recvonly")
        self.flow(first, second)
        self.assertEqual(len(first.peer.received), PACKETS)
        self.assert_silent(second)
        first.mdcx("recvonly")
        self.flow(first, second)
        self.assert_silent(first, second)

    def test_iuup(self):
        """TC_two_crcx_mdcx_and_iuup."""
        self.between_iuup_legs((0, 1, 2))

    def test_iuup_unordered(self):
        """TC_two_crcx_mdcx_and_iuup_rfci_unordered."""
        self.between_iuup_legs((1, 2, 0))

    def test_iuup_recvonly(self):
        """TC_two_crcx_mdcx_and_iuup_mdcx_recvonly."""
        self.closed_in_turn(*self.between_iuup_legs((0, 1, 2)))

    def test_rtp(self):
        """TC_two_crcx_mdcx_and_iuup_rtp."""
        self.between_iuup_and_rtp((0, 1, 2))

    def test_rtp_unordered(self):
        """TC_two_crcx_mdcx_and_iuup_rtp_rfci_unordered."""
        self.between_iuup_and_rtp((1, 2, 0))

    def test_rtp_recvonly(self):
        """TC_two_crcx_mdcx_and_iuup_rtp_mdcx_recvonly."""
        self.closed_in_turn(*self.between_iuup_and_rtp((0, 1, 2)))

    def test_rtp_to_iuup(self):
        """TC_two_crcx_mdcx_and_iuup_rtp_mdcx_to_iuup: an MDCX makes connection 1 IuUP too."""
        first, second = self.between_iuup_and_rtp((0, 1, 2))
        second.codecs = IUFP
        peer = IuupPeer(sends=[(SPEECH_RFCI, frame) for frame in FRAMES])
        self.call.peers.append(peer)
        second.mdcx("sendrecv", peer=peer)
        peer.wait_initialised()
        self.flow(first, second)
        self.assert_frames(first, SPEECH_RFCI)
        self.assert_frames(second, SPEECH_RFCI)

    def test_malformed(self):
        """PDUs with a wrong CRC and of unknown types are dropped, counted, logged once a second."""
        first, second = self.iuup_leg("sendrecv"), self.amr_leg("sendrecv")
        first.peer.initialise()
        before = self.gateway.metrics()
        good = iuup.data(0, 0, FRAMES[0])
        bad = {
            "iuup_bad_header_crc": good[:1] + b"\1" + good[2:],
            "iuup_bad_payload_crc": good[:-1] + b"\xff",
            "iuup_unknown_pdu_type": b"\x70\0" + bytes((iuup.header_crc(b"\x70\0") << 2, 0)),
            "iuup_too_short": good[:2],
        }
        for pdu in bad.values():
            for _ in range(10):
                first.peer.send_pdu(pdu)
        first.peer.send_pdu(good)
        wait_received(second.peer, 1)
        self.gateway.settled()
        self.assertEqual(len(second.peer.received), 1)
        after = self.gateway.metrics()
        for cause in bad:
            self.assertEqual(after.dropped(cause) - before.dropped(cause), 10, cause)

        def logged():
            lines = self.gateway.log_lines(f"conn={first.connection} ")
            counts = [int(line.split("packets=")[1].split()[0]) for line in lines]
            return sum(counts) == 40 and len(counts) <= 3

        wait_for(logged, "few log lines tell of all of them")

    def test_failure(self):
        """A peer that never acknowledges its INIT: four of them, a metric, a log line."""
        first, second = self.iuup_leg("sendrecv"), self.iuup_leg("sendrecv")
        # Nobody reads the second peer's socket, so nobody answers.
        first.peer.initialise()
        before = self.gateway.metrics().total("mgw_leg_failures_total")
        wait_for(
            lambda: self.gateway.metrics().total("mgw_leg_failures_total") == before + 1,
            "the failure is counted",
            10,
        )
        inits = []
        try:
            while True:
                inits.append(second.peer.rtp.recv(2048))
        except BlockingIOError:
            pass
        self.assertEqual(len(inits), 4)
        told = f"peer does not answer the IuUP initialisation endpoint={self.call.endpoint} "
        lines = self.gateway.told(f"conn={second.connection} ")
        self.assertEqual(sum(told in line for line in lines), 1, lines)


runner.for_each_backend(globals(), Iuup)
del Iuup

if __name__ == "__main__":
    runner.main()

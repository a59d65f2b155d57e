"""The rows of the TTCN-3 suite's table with plain RTP, over real sockets, on both backends.

Counts are exact: after each stream the test waits until the gateway's own counters say that
all datagrams were dealt with. MGW_PROGRAM is the gateway.
"""

import unittest

from support import runner
from support.call import Call, Leg, wait_received
from support.media_case import PACKETS, MediaCase
from support.rtp import PLAIN_PAYLOAD, Peer, sender_report, stream

GSM = ((3, "GSM/8000/1"),)


class PeersAlone(unittest.TestCase):
    """The means of these tests."""

    def test_peers(self):
        """TC_rtpem_selftest: what the peers send to each other arrives, without a gateway."""
        for addresses in (("127.0.0.1", "127.0.0.2"), ("::1", "::1")):
            with self.subTest(addresses):
                peers = [Peer(address) for address in addresses]
                for peer, other in (peers, peers[::-1]):
                    peer.connect(other.port, other.address)
                stream(peers, PACKETS)
                for peer, other in (peers, peers[::-1]):
                    wait_received(peer, PACKETS)
                    self.assertEqual(peer.received, other.sent)
                    self.assertEqual(peer.refused, 0)
                for peer in peers:
                    peer.close()


class PlainRtp(MediaCase):
    """Rows where payloads pass as they are."""

    def test_receive_only(self):
        """TC_one_crcx_receive_only_rtp: nothing comes back."""
        leg = self.call.leg(((112, "AMR/8000/1"),), mode="recvonly")
        self.flow(leg)
        self.assert_silent(leg)

    def test_loopback(self):
        """TC_one_crcx_loopback_rtp, .._ipv6: every packet comes back as it was."""
        for address in ("127.0.0.1", "::1"):
            with self.subTest(address), Call(self.agent) as self.call:
                leg = self.call.leg(((112, "GSM-HR-08/8000/1"),), "loopback", address)
                self.flow(leg)
                self.assert_arrived(leg, leg, {0: 0, 112: 112})

    def test_loopback_implicit(self):
        """TC_one_crcx_loopback_rtp_implicit: a peer that was never announced gets nothing."""
        answer = self.agent.crcx(self.call.endpoint, mode="loopback")
        self.assertEqual(answer.code, 200)
        peer = self.call.peer("::1").connect(answer.rtp_port)
        leg = Leg(self.call, peer, ())
        self.flow(leg)
        self.assert_silent(leg)

    def test_two_legs(self):
        """TC_two_crcx_and_rtp, .._bidir: both legs with 98."""
        first = self.call.leg(((98, "AMR/8000"),))
        second = self.call.leg(((98, "AMR/8000"),))
        self.flow(first)
        self.assert_arrived(first, second, {0: 0, 98: 98})
        self.assert_silent(first)
        self.flow(first, second)
        self.assert_arrived(first, second, {0: 0, 98: 98})
        self.assert_arrived(second, first, {0: 0, 98: 98})

    def test_different_payload_types(self):
        """TC_two_crcx_diff_pt_and_rtp, .._bidir: 112 becomes 98, 0 stays 0."""
        first = self.call.leg(((112, "AMR/8000"),))
        second = self.call.leg(((98, "AMR/8000"),))
        self.flow(first)
        self.assert_arrived(first, second, {0: 0, 112: 98})
        self.flow(first, second)
        self.assert_arrived(first, second, {0: 0, 112: 98})
        self.assert_arrived(second, first, {0: 0, 98: 112})

    def opened_leg_by_leg(self, codecs, addresses):
        """The course of TC_two_crcx_mdcx_and_rtp."""
        kind = codecs[0][0]
        first = self.call.leg(codecs, "recvonly", addresses[0])
        second = self.call.leg(codecs, "recvonly", addresses[1])
        self.flow(first, second)
        self.assert_silent(first, second)
        first.mdcx("sendrecv")
        self.flow(first, second)
        self.assert_arrived(second, first, {0: 0, kind: kind})
        self.assert_silent(second)
        second.mdcx("sendrecv")
        self.flow(first, second)
        self.assert_arrived(second, first, {0: 0, kind: kind})
        self.assert_arrived(first, second, {0: 0, kind: kind})

    def test_mdcx(self):
        """TC_two_crcx_mdcx_and_rtp, .._ipv6, .._ipv4_ipv6, .._clearmode."""
        rows = ((GSM, ("127.0.0.1", "127.0.0.1")), (GSM, ("::1", "::1")),
                (GSM, ("127.0.0.1", "::1")), (((120, "CLEARMODE/8000"),), ("127.0.0.1",) * 2))
        for codecs, addresses in rows:
            with self.subTest(codec=codecs[0][1], addresses=addresses), \
                    Call(self.agent) as self.call:
                self.opened_leg_by_leg(codecs, addresses)

    def test_unsolicited(self):
        """TC_two_crcx_and_unsolicited_rtp: a third source is not forwarded."""
        first = self.call.leg(((112, "AMR/8000"),))
        second = self.call.leg(((98, "AMR/8000"),))
        stranger = Leg(self.call, self.call.peer().connect(first.port), ())
        before = self.gateway.metrics().dropped("unknown_source")
        self.flow(first, second, stranger)
        self.assert_arrived(first, second, {0: 0, 112: 98})
        self.assert_arrived(second, first, {0: 0, 98: 112})
        self.assert_silent(stranger)
        self.assertEqual(self.gateway.metrics().dropped("unknown_source") - before, PACKETS)

    def test_hand_over(self):
        """TC_two_crcx_and_one_mdcx_rtp_ho: the old peer is neither heard nor sent to."""
        codecs = ((110, "GSM-EFR/8000"),)
        self.call.close()
        with Call(self.agent, "rtpbridge/4@mgw") as self.call:
            first = self.call.leg(codecs)
            second = self.call.leg(codecs)
            self.flow(first, second)
            self.assert_arrived(first, second, {0: 0, 110: 110})
            old = Leg(self.call, first.peer, ())
            first.mdcx(peer=self.call.peer(sends=first.peer.sends))
            self.flow(first, second, old)
            self.assert_arrived(first, second, {0: 0, 110: 110})
            self.assert_arrived(second, first, {0: 0, 110: 110})
            self.assert_silent(old)

    def test_move_to_the_other_family(self):
        """N4: an MDCX moves a leg from IPv4 to IPv6; media flows between the families."""
        first = self.call.leg(GSM)
        second = self.call.leg(GSM)
        self.flow(first, second)
        self.assert_arrived(first, second, {0: 0, 3: 3})
        first.mdcx(peer=self.call.peer("::1", first.peer.sends))
        self.assertEqual(first.answer.sdp_line("c=IN "), "IP6 ::1")
        self.flow(first, second)
        self.assert_arrived(first, second, {0: 0, 3: 3})
        self.assert_arrived(second, first, {0: 0, 3: 3})

    def test_echo_and_listener(self):
        """TC_two_crcx_confecho_sendonly_rtp: the talker's own, and nothing of the listener's."""
        talker = self.call.leg(((98, "AMR/8000"),), "confecho")
        listener = self.call.leg(((98, "AMR/8000"),), "sendonly")
        self.flow(talker, listener)
        self.assert_arrived(talker, talker, {0: 0, 98: 98})
        self.assert_arrived(talker, listener, {0: 0, 98: 98})

    def test_peers_sockets_reopened(self):
        """Section 1.6: ICMP errors while a peer is away do not end its stream."""
        first = self.call.leg(GSM)
        second = self.call.leg(GSM)
        second.peer.rtp.close()
        second.peer.rtcp.close()
        self.call.peers.remove(second.peer)
        self.flow(first)
        second.peer = self.call.peer(sends=second.peer.sends)
        second.mdcx()
        self.flow(first, second)
        self.assert_arrived(first, second, {0: 0, 3: 3})
        self.assert_arrived(second, first, {0: 0, 3: 3})

    def test_reports(self):
        """RTCP passes between the odd ports unchanged."""
        first = self.call.leg(GSM)
        second = self.call.leg(GSM)
        self.flow()
        report = sender_report()
        first.peer.rtcp.send(report)
        second.peer.rtcp.send(report)
        for leg in (first, second):
            wait_received(leg.peer, 0, 1)
            self.assertEqual((leg.peer.reports, leg.peer.received), ([report], []))

    def test_numbers_of_packets_on_dlcx(self):
        """The answer to a DLCX with its connection tells what the leg sent and received."""
        first = self.call.leg(GSM)
        second = self.call.leg(GSM)
        self.flow(first)
        octets = PACKETS * (12 + len(PLAIN_PAYLOAD))
        for leg, wanted in ((first, f"PS=0, OS=0, PR={PACKETS}, OR={octets}, PL=0"),
                            (second, f"PS={PACKETS}, OS={octets}, PR=0, OR=0, PL=0")):
            answer = self.agent.dlcx(self.call.endpoint, "1226", leg.connection)
            self.assertEqual(answer.code, 250)
            self.assertTrue(answer.parameters["P"].startswith(wanted), answer.text)


runner.for_each_backend(globals(), PlainRtp)
del PlainRtp

if __name__ == "__main__":
    runner.main()

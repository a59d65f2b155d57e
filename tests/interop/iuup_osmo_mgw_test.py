"""An IuUP trunk between our gateway and osmo-mgw, with each of them on either side.

MGW_PROGRAM is the gateway. tshark's dissectors judge all that was exchanged.
"""

import os
import shutil
import tempfile
import unittest

from support import amr, iuup, mgcp, runner
from support.capture import (
    BANDWIDTH_EFFICIENT,
    CAPTURE_RIGHTS,
    Capture,
    assert_dissected,
    decode_rules,
)
from support.gateway import Gateway
from support.iuup import IuupPeer
from support.osmo_mgw import OsmoMgw
from support.rtp import Peer, stream
from support.waiting import wait_for

ENDPOINT = "rtpbridge/1@mgw"
IUFP = ((iuup.PAYLOAD_TYPE, iuup.CODEC),)
EFFICIENT, ALIGNED = 112, 113
PACKETS = 40
FRAME_TYPE = 7  # AMR 12.2
BITS = [amr.speech(FRAME_TYPE, seed) for seed in range(5)]
FRAMES = [amr.to_octets(bits) for bits in BITS]
FORMS = {
    EFFICIENT: ("octet-align=0", amr.bandwidth_efficient),
    ALIGNED: ("octet-align=1", amr.octet_aligned),
}


PROBE_BITS = amr.speech(FRAME_TYPE, 9)
PROBE = amr.to_octets(PROBE_BITS)


def payload_of(kind, bits):
    """A frame as an RTP payload of that type."""
    return FORMS[kind][1](FRAME_TYPE, bits)


def payloads(kind):
    return [payload_of(kind, bits) for bits in BITS]


class Side:
    """One gateway of the trunk: the leg to its peer and the leg to the other gateway."""

    def __init__(self, program):
        self.agent = mgcp.Agent(program.address, program.port)
        self.trunk = None

    def create(self, port, codecs=IUFP, fmtp=()):
        body = mgcp.sdp("127.0.0.1", port, codecs, fmtp)
        answer = self.agent.crcx(ENDPOINT, mode="sendrecv", body=body)
        if answer.code != 200:
            raise AssertionError(answer.text)
        return answer

    def add(self, peer, codecs=IUFP, fmtp=()):
        peer.connect(self.create(peer.port, codecs, fmtp).rtp_port)

    def close(self):
        self.agent.dlcx(ENDPOINT)
        self.agent.close()


@unittest.skipUnless(shutil.which("osmo-mgw"), "osmo-mgw is missing")
class Trunk(unittest.TestCase):
    """A peer that initialises, one gateway, the other one, and what is behind it."""

    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix="mgw-iuup-")
        self.gateway = Gateway(ports=20)
        self.osmo_mgw = OsmoMgw()
        self.capture = None
        if CAPTURE_RIGHTS:
            ours = range(self.gateway.range.first, self.gateway.range.last + 1)
            theirs = range(self.osmo_mgw.range.first, self.osmo_mgw.range.first + 20)
            self.capture = Capture(
                os.path.join(self.directory.name, "run.pcapng"),
                [self.gateway.port, self.osmo_mgw.port, *ours, *theirs],
            )
        self.peers = []
        self.ours, self.theirs = Side(self.gateway), Side(self.osmo_mgw)

    def tearDown(self):
        self.ours.close()
        self.theirs.close()
        for peer in self.peers:
            peer.close()
        if self.capture:
            self.capture.close()
        self.gateway.stop()
        self.assertEqual(self.osmo_mgw.stop(), None, "osmo-mgw had ended")
        self.directory.cleanup()

    def iuup_peer(self, side):
        peer = IuupPeer(sends=[(0, frame) for frame in FRAMES])
        self.peers.append(peer)
        side.add(peer)
        return peer

    def amr_peer(self, side, kind):
        peer = Peer(sends=[(kind, payload) for payload in payloads(kind)])
        self.peers.append(peer)
        side.add(peer, ((kind, "AMR/8000"),), ((kind, FORMS[kind][0]),))
        return peer

    def join(self):
        """The leg of each gateway to the other one."""
        own = self.ours.create(0)
        other = self.theirs.create(own.rtp_port)
        body = mgcp.sdp("127.0.0.1", other.rtp_port, IUFP)
        answer = self.ours.agent.mdcx(ENDPOINT, own.connection, body=body)
        self.assertEqual(answer.code, 200)

    def call(self, near, far, kind):
        """`near` has the peer that initialises, `far` an AMR peer of that type or an IuUP peer."""
        caller = self.iuup_peer(near)
        callee = self.amr_peer(far, kind) if kind else self.iuup_peer(far)
        self.join()
        caller.initialise()
        if not kind:
            callee.wait_initialised()

        self.probe(caller, callee, kind)
        stream([caller, callee], PACKETS, interval=0.005)
        self.assertEqual(self.heard(caller, None, PACKETS), PACKETS // 5 * FRAMES)
        expected = payloads(kind) if kind else FRAMES
        self.assertEqual(self.heard(callee, kind, PACKETS), PACKETS // 5 * expected)
        self.assertEqual({pdu.rfci for pdu in caller.data()}, {0})

    def probe(self, caller, callee, kind):
        """Frames of their own until the trunk carries them; a multiple of five."""
        caller.sends, frames = [(0, PROBE)], caller.sends
        callee.sends, others = [
            (kind, payload_of(kind, PROBE_BITS)) if kind else (0, PROBE)
        ], callee.sends

        def both_hear():
            for peer in (caller, callee):
                for _ in FRAMES:
                    peer.send()
                peer.receive_waiting()
            return caller.received and callee.received

        wait_for(both_hear, "the trunk carries frames both ways")
        caller.sends, callee.sends = frames, others

    def heard(self, peer, kind, count):
        """So many payloads besides the probes, in order."""
        probe = payload_of(kind, PROBE_BITS) if kind else PROBE

        def came():
            peer.receive_waiting()
            heard[:] = [
                payload
                for payload in (
                    packet.payload if kind else iuup.Pdu(packet.payload).payload
                    for packet in peer.packets()
                )
                if payload != probe
            ]
            return len(heard) >= count

        heard = []
        wait_for(came, f"{count} frames")
        return heard

    def dissected(self):
        """Nothing in the capture is malformed."""
        if not self.capture:
            return
        self.capture.stop()
        rules = decode_rules(self.gateway.port) + decode_rules(self.osmo_mgw.port)
        frames = self.capture.frames(rules, {EFFICIENT: (BANDWIDTH_EFFICIENT,)})
        assert_dissected(self, frames, mgcp=8, iuup=PACKETS)

    def check(self, near, far, kind):
        self.call(near, far, kind)
        self.dissected()

    def test_ours_near_efficient(self):
        """Ours is initialised by the peer and initialises osmo-mgw, which has AMR behind it."""
        self.check(self.ours, self.theirs, EFFICIENT)

    def test_ours_near_aligned(self):
        """The same with octet-aligned AMR."""
        self.check(self.ours, self.theirs, ALIGNED)

    def test_ours_near_iuup(self):
        """The same with a peer that osmo-mgw initialises."""
        self.check(self.ours, self.theirs, None)

    def test_theirs_near_efficient(self):
        """osmo-mgw is initialised by the peer and initialises ours, which has AMR behind it."""
        self.check(self.theirs, self.ours, EFFICIENT)

    def test_theirs_near_aligned(self):
        """The same with octet-aligned AMR."""
        self.check(self.theirs, self.ours, ALIGNED)

    def test_theirs_near_iuup(self):
        """The same with a peer that our gateway initialises."""
        self.check(self.theirs, self.ours, None)


if __name__ == "__main__":
    runner.main()

"""An Osmux trunk between the gateway and osmo-mgw: a call crosses both, and tshark reads the trunk.

osmo-mgw 1.10 has one number for both directions of a circuit, takes the one that the offer names,
and speaks Osmux over IPv4 only. MGW_PROGRAM is the gateway.
"""

import os
import shutil
import tempfile
import unittest

from support import mgcp, runner
from support.call import Call, wait_received
from support.capture import CAPTURE_RIGHTS, Capture, assert_dissected
from support.gateway import Gateway
from support.osmo_mgw import OsmoMgw
from support.osmux import ALIGNED, FRAMES_PER_CHUNK, talk
from support.ports import udp_socket
from support.rtp import Packet

CODECS = ((112, "AMR/8000"),)
FMTP = ((112, "octet-align=1"),)
PACKETS = 48
KEEP_ALIVE = b"#"
# What is under way in a batch when the call ends, and before osmo-mgw has enabled its circuit.
TOLERANCE = 3 * FRAMES_PER_CHUNK


def free_udp_port():
    with udp_socket("127.0.0.1") as probe:
        return probe.getsockname()[1]


def side(call, number, trunk=None):
    """An RTP leg with a peer, and a circuit towards `trunk`: (leg, answer of the circuit)."""
    leg = call.leg(CODECS, sends=((112, ALIGNED),), fmtp=FMTP)
    body = mgcp.sdp("127.0.0.1", trunk, CODECS, FMTP) if trunk else None
    answer = call.agent.crcx(
        call.endpoint,
        mode="sendrecv" if trunk else "recvonly",
        extra=(f"X-Osmux: {number}",),
        body=body,
    )
    if answer.code != 200:
        raise AssertionError(answer.text)
    return leg, answer


@unittest.skipUnless(shutil.which("osmo-mgw"), "osmo-mgw is missing")
class Trunk(unittest.TestCase):
    """Both gateways, each with an agent of its own."""

    def setUp(self):
        own, other = free_udp_port(), free_udp_port()
        self.ports = (own, other)
        self.gateway = Gateway({"osmux.mode": "on", "osmux.port": own, "rtp.keep-alive": "once"})
        self.addCleanup(self.gateway.kill)
        self.osmo_mgw = OsmoMgw(more=("osmux on", "osmux bind-ip 127.0.0.1", f"osmux port {other}"))
        self.addCleanup(self.osmo_mgw.stop)
        self.agents = [
            mgcp.Agent(program.address, program.port) for program in (self.gateway, self.osmo_mgw)
        ]
        for agent in self.agents:
            self.addCleanup(agent.close)

    def cross(self):
        """A call over the trunk, with speech both ways."""
        with Call(self.agents[0]) as ours, Call(self.agents[1]) as theirs:
            leg, circuit = side(ours, "*")
            number = circuit.parameters["X-OSMUX"]
            far, far_circuit = side(theirs, number, circuit.rtp_port)
            self.assertEqual(far_circuit.parameters["X-OSMUX"], number)
            body = mgcp.sdp("127.0.0.1", far_circuit.rtp_port, CODECS, FMTP)
            lines = ("C: 1226", f"I: {circuit.connection}", "M: sendrecv", f"X-Osmux: {number}")
            changed = ours.agent.command("MDCX", ours.endpoint, lines, body)
            self.assertEqual(changed.code, 200)
            talk(rtp=(leg.peer, far.peer), chunks=PACKETS // FRAMES_PER_CHUNK)
            for peer in (leg.peer, far.peer):
                wait_received(peer, PACKETS - TOLERANCE + 1)
                speech = [Packet(data) for data in peer.received if data != KEEP_ALIVE]
                self.assertEqual({packet.payload for packet in speech}, {ALIGNED})
        return number

    def test_call(self):
        """Speech arrives bit by bit on both sides, call after call."""
        self.assertNotEqual(self.cross(), self.cross())
        metrics = self.gateway.settled()
        self.assertEqual(metrics.total("mgw_osmux_circuits"), 0)
        for direction in ("received", "sent"):
            self.assertGreater(metrics.total("mgw_osmux_saved_octets", direction=direction), 0)

    @unittest.skipUnless(CAPTURE_RIGHTS, "dumpcap, tshark or the rights for them are missing")
    def test_capture(self):
        """tshark's dissector finds nothing malformed on the trunk."""
        with tempfile.TemporaryDirectory(prefix="mgw-osmux-") as directory:
            capture = Capture(os.path.join(directory, "trunk.pcapng"), self.ports)
            self.addCleanup(capture.close)
            self.cross()
            capture.stop()
            frames = capture.frames([f"udp.port=={port},osmux" for port in self.ports])
        assert_dissected(self, frames, osmux=2 * (PACKETS - TOLERANCE) // FRAMES_PER_CHUNK)


if __name__ == "__main__":
    runner.main()

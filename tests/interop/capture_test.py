"""What tshark's dissectors say of all that a gateway and its peers exchange.

The dissectors find the media by the session descriptions alone, so these are judged too.
MGW_PROGRAM is the gateway.
"""

import os
import tempfile
import unittest

from support import amr, mgcp, runner
from support.call import Call, wait_received
from support.capture import (
    BANDWIDTH_EFFICIENT,
    CAPTURE_RIGHTS,
    WIDEBAND,
    Capture,
    assert_dissected,
    decode_rules,
)
from support.events import Side
from support.gateway import Gateway
from support.rtp import rtp_packet, sender_report

VERBS = ["AUCX", "AUEP", "CRCX", "DLCX", "EPCF", "MDCX", "RQNT", "RSIP"]
# Dynamic voice, telephone-event, CN. Bandwidth-efficient AMR is told apart by its number.
ALIGNED_SIDE, EFFICIENT_SIDE = (96, 101, 13), (112, 97, 107)
WIDE = (99, 114)
FORMS = {112: (BANDWIDTH_EFFICIENT,), 99: (WIDEBAND,), 114: (BANDWIDTH_EFFICIENT, WIDEBAND)}


@unittest.skipUnless(CAPTURE_RIGHTS, "dumpcap, tshark or the rights for them are missing")
class Captured:
    """One gateway and one capture of all its ports for each test."""

    settings = {}
    backend = None

    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix="mgw-capture-")
        self.gateway = Gateway(self.settings, backend=self.backend, ports=20)
        self.agent = mgcp.Agent(self.gateway.address, self.gateway.port)
        ports = range(self.gateway.range.first, self.gateway.range.last + 1)
        self.capture = Capture(
            os.path.join(self.directory.name, "run.pcapng"), [self.gateway.port, *ports]
        )
        self.rules = decode_rules(self.gateway.port)

    def tearDown(self):
        self.capture.close()
        self.agent.close()
        self.gateway.stop()
        self.directory.cleanup()

    def dissected(self, wanted="udp", **least):
        """Ends the capture; all frames of it, once nothing is wrong with any."""
        self.capture.stop()
        frames = self.capture.frames(self.rules, FORMS, wanted)
        assert_dissected(self, frames, **least)
        return frames

    def fields(self, names, wanted):
        return self.capture.tshark(names, wanted, self.rules)


class Calls(Captured):
    """What the media path sends, on each backend."""

    def test_calls(self):
        """AMR of both forms, telephone events, comfort noise and RTCP: all known by their SDP."""
        with Call(self.agent) as call:
            sides = [
                Side(call, "AMR octet-aligned", ALIGNED_SIDE, 1),
                Side(call, "AMR bandwidth-efficient", EFFICIENT_SIDE, 2),
            ]
            for sender, receiver in (sides, sides[::-1]):
                for data in sender.packets(sender):
                    sender.peer.rtp.send(data)
                sender.peer.rtcp.send(sender_report())
                wait_received(receiver.peer, len(sender.packets(receiver)))
            for side in sides:
                wait_received(side.peer, 0, 1)
            count = len(sides[0].packets(sides[1]))
        # Each packet is seen twice: on its way to the gateway and away from it.
        self.dissected(mgcp=8, sdp=4, rtp=4 * count, rtpevent=4 * 8, amr=4 * 2, rtcp=4)
        for side, other in (sides, sides[::-1]):
            self.assert_as_sent(side.peer.port, other)

    def assert_as_sent(self, port, sender):
        """What went to that port, by the dissectors: a whole digit, noise, one AMR mode."""
        rows = self.fields(
            ["rtp.marker", "rtpevent.event_id", "rtpevent.end_of_event"],
            f"rtpevent && udp.dstport == {port}",
        )
        event = str(sender.seed)
        self.assertEqual(
            rows, [[str(int(number == 0)), event, str(int(number >= 5))] for number in range(8)]
        )
        infos = self.fields(["_ws.col.Info"], f"rtp && udp.dstport == {port}")
        noise = [info for info, in infos if info.startswith(("PT=CN,", "PT=Comfort noise,"))]
        self.assertEqual(len(noise), 1, infos)


class CommandsAndModes(Captured, unittest.TestCase):
    """What does not depend on the backend."""

    def test_verbs(self):
        """Every verb with its answer, errors and session descriptions of both families."""
        endpoint = "rtpbridge/1@mgw"
        for address in ("127.0.0.1", "::1"):
            body = mgcp.sdp(address, 4000, ((8, "PCMA/8000"), (101, "telephone-event/8000")))
            created = self.agent.crcx(endpoint, mode="sendrecv", body=body)
            connection = created.connection
            answers = [
                created,
                self.agent.mdcx(endpoint, connection, body=body),
                self.agent.command(
                    "AUCX", endpoint, ["C: 1226", f"I: {connection}", "F: C,N,L,M,LC,RC,P"]
                ),
                self.agent.command("AUEP", endpoint, ["F: A,I,R,D,S"]),
                self.agent.command("RQNT", endpoint, ["X: 1", "R: G/rt"]),
                self.agent.command("EPCF", endpoint, ["B: e:A"]),
                self.agent.dlcx(endpoint, "1226", connection),
                self.agent.command("RSIP", endpoint, ["RM: restart"]),
            ]
            self.assertEqual([answer.code // 100 for answer in answers], 8 * [2])
        self.assertEqual(self.agent.mdcx(endpoint, "FFFF", body=body).code, 400)
        self.assertEqual(self.agent.crcx(endpoint, mode="nonsense").code, 517)
        self.assertEqual(self.agent.command("XYZZ", endpoint).code, 504)
        frames = self.dissected(mgcp=38, sdp=8)
        self.assertEqual(len(frames), 38)
        verbs = {row[0] for row in self.fields(["mgcp.req.verb"], "mgcp.req")}
        self.assertEqual(sorted(verbs - {"XYZZ"}), VERBS)
        self.assertEqual(len(self.fields(["mgcp.rsp.rspcode"], "mgcp.rsp.rspcode >= 200")), 19)
        self.assertEqual(self.fields(["frame.number"], "sdp.invalid"), [])

    def test_faults_are_seen(self):
        """A wrong length of RTCP, spare bits of AMR and a cut telephone event are told."""
        with Call(self.agent) as call:
            side = Side(call, "AMR octet-aligned", ALIGNED_SIDE, 1)
            voice, event, _ = ALIGNED_SIDE
            spare_bits = bytes.fromhex("f7") + side.speech(0, side.fmtp)[1:]
            wrong = [
                (side.peer.rtp, rtp_packet(voice, 1, 160, spare_bits)),
                (side.peer.rtp, rtp_packet(event, 2, 320, bytes.fromhex("050a"))),
                (side.peer.rtcp, bytes.fromhex("80c90002deadbeef")),
            ]
            for sock, data in wrong:
                sock.send(data)
        self.capture.stop()
        frames = [
            frame for frame in self.capture.frames(self.rules) if "mgcp" not in frame.protocols
        ]
        self.assertEqual(len(frames), len(wrong))
        for frame in frames:
            with self.assertRaises(AssertionError):
                assert_dissected(self, [frame])

    def every_mode(self, name, modes, types):
        """All modes from one form into the other, and back; returns the ports of the call."""
        with Call(self.agent) as call:
            legs = [
                call.leg(((kind, name),), fmtp=((kind, form),))
                for kind, form in zip(types, ("octet-align=1", "octet-align=0"))
            ]
            for number, mode in enumerate(modes):
                bits = amr.speech(mode, number, modes)
                payloads = amr.octet_aligned(mode, bits), amr.bandwidth_efficient(mode, bits)
                for leg, kind, payload in zip(legs, types, payloads):
                    leg.peer.rtp.send(rtp_packet(kind, number, 160 * number, payload))
            for leg in legs:
                wait_received(leg.peer, len(modes))
            return [leg.port for leg in legs]

    def test_amr_modes(self):
        """C1: every mode of AMR from one form into the other, and back."""
        self.every_mode("AMR/8000", amr.SPEECH_BITS, (98, 112))
        self.dissected(amr=4 * len(amr.SPEECH_BITS))

    def test_wideband_modes(self):
        """C1: every mode of AMR-WB from one form into the other, and back."""
        ports = self.every_mode("AMR-WB/16000", amr.WIDE_SPEECH_BITS, WIDE)
        self.rules = decode_rules(None, ports, WIDE)
        self.dissected(f"udp.port != {self.gateway.port}", amr=4 * len(amr.WIDE_SPEECH_BITS))


runner.for_each_backend(globals(), Calls)
del Calls

if __name__ == "__main__":
    runner.main()

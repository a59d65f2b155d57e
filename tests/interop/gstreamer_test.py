"""Two GStreamer peers talk through the gateway: AMR, RTCP and digits.

GStreamer speaks octet-aligned AMR alone; between the two calls that join the peers the gateway
speaks to itself in the bandwidth-efficient form. MGW_PROGRAM is the gateway.
"""

import json
import os
import subprocess
import tempfile
import unittest

from support import mgcp, runner
from support.capture import (
    BANDWIDTH_EFFICIENT,
    CAPTURE_RIGHTS,
    Capture,
    assert_dissected,
    decode_rules,
)
from support.gateway import Gateway
from support.ports import free_pair
from support.speech import make_speech, run
from support.waiting import PATIENCE, wait_for

SYSTEM_PYTHON = "/usr/bin/python3"
PEER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "support", "gst_peer.py")
FILE_HEADER_BYTES = len("#!AMR\n")
FRAME_BYTES = 32  # AMR 12.2 with its table of contents
FRAMES = 60
# Voice and telephone-event of each side, and those of the leg between the two calls.
TYPES = ((96, 101), (98, 96))
MIDDLE = (112, 97)
DIGITS = ("5", "89")


def gstreamer_is_there():
    check = (
        "import gi; gi.require_version('Gst', '1.0'); from gi.repository import Gst; "
        "Gst.init(None); names = ('rtpbin', 'rtpamrpay', 'rtpdtmfsrc', 'amrnbenc'); "
        "assert all(Gst.ElementFactory.find(name) for name in names)"
    )
    return (
        os.access(SYSTEM_PYTHON, os.X_OK)
        and subprocess.run(
            [SYSTEM_PYTHON, "-c", check], capture_output=True, check=False
        ).returncode
        == 0
    )


def description(port, types, form):
    codecs = ((types[0], "AMR/8000/1"), (types[1], "telephone-event/8000"))
    return mgcp.sdp("127.0.0.1", port, codecs, ((types[0], form),))


class GstPeer:
    """support/gst_peer.py as a process; `lines` is what it has said."""

    def __init__(self, directory, port, target, types, speech, heard, digits):
        self.heard_path = f"{directory}/{heard}"
        self.said_path = f"{self.heard_path}.out"
        with open(self.said_path, "wb") as said:
            self.process = subprocess.Popen(
                [
                    SYSTEM_PYTHON,
                    PEER,
                    "call",
                    *map(str, (port, target, *types)),
                    speech,
                    self.heard_path,
                    digits,
                ],
                stdin=subprocess.PIPE,
                stdout=said,
                stderr=said,
            )

    def lines(self):
        with open(self.said_path, encoding="utf-8") as said:
            return said.read().splitlines()

    def wait_for_line(self, line):
        wait_for(lambda: line in self.lines() or self.process.poll() is not None, line, 20)
        if line not in self.lines():
            raise AssertionError(f"the peer ended without {line!r}: {self.lines()}")

    def start(self):
        self.process.stdin.write(b"go\n")
        self.process.stdin.flush()

    def heard(self):
        if not os.path.exists(self.heard_path):
            return b""
        with open(self.heard_path, "rb") as file:
            return file.read()

    def report(self):
        """What rtpbin knows of the other side."""
        return [json.loads(line) for line in self.lines() if line.startswith("{")]

    def end(self):
        """Says goodbye with a BYE."""
        self.process.stdin.close()
        status = self.process.wait(20 * PATIENCE)
        if status != 0:
            raise AssertionError(f"{status}: {self.lines()}")

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdin.close()


@unittest.skipUnless(gstreamer_is_there(), "GStreamer or its Python bindings are not installed")
class GStreamer:
    """The peers' legs are on two endpoints, joined by a bandwidth-efficient leg of each."""

    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix="mgw-gst-")
        wav = make_speech(self.directory.name)
        spoken, self.speech = (f"{self.directory.name}/{name}.amr" for name in ("all", "short"))
        run(SYSTEM_PYTHON, PEER, "encode", wav, spoken)
        with open(spoken, "rb") as file:
            data = file.read(FILE_HEADER_BYTES + FRAMES * FRAME_BYTES)
        with open(self.speech, "wb") as file:
            file.write(data)
        self.said = data[FILE_HEADER_BYTES:]
        self.gateway = Gateway(backend=self.backend, ports=20)
        self.agent = mgcp.Agent(self.gateway.address, self.gateway.port)
        self.peers = []
        self.capture = None
        if CAPTURE_RIGHTS:
            ports = range(self.gateway.range.first, self.gateway.range.last + 1)
            self.capture = Capture(
                f"{self.directory.name}/call.pcapng", [self.gateway.port, *ports]
            )

    def tearDown(self):
        for peer in self.peers:
            peer.close()
        if self.capture:
            self.capture.close()
        self.agent.close()
        self.gateway.stop()
        self.directory.cleanup()

    def join(self):
        """Both calls and the peers; returns the ports of the legs between the calls."""
        held = description(0, MIDDLE, "octet-align=0")  # the family is known, the port is not
        middle = [self.agent.crcx(f"rtpbridge/{number}@mgw", body=held) for number in (1, 2)]
        for number, types in enumerate(TYPES):
            endpoint = f"rtpbridge/{number + 1}@mgw"
            other = middle[1 - number].rtp_port
            joined = self.agent.mdcx(
                endpoint,
                middle[number].connection,
                body=description(other, MIDDLE, "octet-align=0"),
            )
            port = free_pair()
            answer = self.agent.crcx(
                endpoint, mode="sendrecv", body=description(port, types, "octet-align=1")
            )
            self.assertEqual((joined.code, answer.code), (200, 200))
            self.peers.append(
                GstPeer(
                    self.directory.name,
                    port,
                    answer.rtp_port,
                    types,
                    self.speech,
                    f"heard{number}",
                    DIGITS[number],
                )
            )
        return [answer.rtp_port for answer in middle]

    def test_call(self):
        """Every frame arrives bit for bit, every digit once, and RTCP tells of no loss."""
        middle = self.join()
        for peer in self.peers:
            peer.wait_for_line("ready")
        for peer in self.peers:
            peer.start()
        for peer, digits in zip(self.peers, DIGITS[::-1]):
            wait_for(lambda peer=peer: len(peer.heard()) >= len(self.said), "all speech", 20)
            for digit in digits:
                peer.wait_for_line(f"event {digit}")
        reports = [wait_for(peer.report, "reports", 20)[0] for peer in self.peers]
        for peer in self.peers:
            peer.end()
        for peer, report, digits in zip(self.peers, reports, DIGITS[::-1]):
            self.assertEqual(peer.heard(), self.said)
            self.assertEqual(
                [line for line in peer.lines() if line.startswith("event")],
                [f"event {digit}" for digit in digits],
            )
            self.assert_reports(report)
        if self.capture:
            self.look_at(middle)

    def assert_reports(self, report):
        """Sender reports and report blocks crossed both calls and fit the media."""
        self.assertGreater(report["sr-packet-count"], 0, report)
        self.assertGreater(report["rb-lsr"], 0, "no report refers to a sender report")
        self.assertLessEqual(report["packets-lost"], 0)
        self.assertLessEqual(report["rb-packetslost"], 0)
        self.assertEqual(report["rb-fractionlost"], 0)

    def look_at(self, middle):
        """The form between the calls is the efficient one, and nothing is malformed."""
        self.capture.stop()
        rules = decode_rules(self.gateway.port)
        frames = self.capture.frames(rules, {MIDDLE[0]: (BANDWIDTH_EFFICIENT,)})
        assert_dissected(self, frames, mgcp=12, sdp=12, rtcp=12, rtpevent=24, amr=6 * FRAMES)
        form = "rtp.p_type == {} && amr && udp.port == {}"
        between = self.capture.tshark(["udp.length"], form.format(MIDDLE[0], middle[0]), rules)
        # 4 + 6 + 244 bits are 32 octets, one less than octet-aligned.
        self.assertEqual(between, 2 * FRAMES * [[str(8 + 12 + 32)]])
        kinds = {
            kind
            for row in self.capture.tshark(["rtcp.pt"], "rtcp", rules)
            for kind in row[0].split(",")
        }
        self.assertLessEqual({"200", "202", "203"}, kinds, "SR, SDES and BYE")


runner.for_each_backend(globals(), GStreamer)
del GStreamer

if __name__ == "__main__":
    runner.main()

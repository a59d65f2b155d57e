"""RTCP of the gateway's own (rtcp.generate) as others see it.

GStreamer's rtpbin is the peer of one leg: it takes the gateway's sender reports and answers with
its own, from which the gateway measures the round trip. tshark looks at every datagram.
"""

import re
import shutil
import struct
import subprocess
import tempfile
import unittest

from support import mgcp, runner
from support.call import Call
from support.capture import CAPTURE_RIGHTS, Capture, assert_dissected, decode_rules
from support.gateway import Gateway
from support.rtp import stream
from support.waiting import PATIENCE, wait_for

PCMA = ((8, "PCMA/8000"),)
SPEECH = ((8, b"\xd5" * 160),)
GENERATING = {"rtcp.generate": "true", "rtp.source": "any"}
SENDER_REPORT, RECEIVER_REPORT, DESCRIPTION, GOODBYE = 200, 201, 202, 203


def packet_types(compound):
    """The types of the packets of a compound."""
    types = []
    while compound:
        first, kind, words = struct.unpack_from("!BBH", compound)
        if first >> 6 != 2:
            raise AssertionError(f"version of {compound!r}")
        types.append(kind)
        compound = compound[4 * (words + 1) :]
    return types


class RtpBin:
    """GStreamer's rtpbin: sends tones and RTCP to the gateway, takes what comes at `port`."""

    ELEMENTS = ("rtpbin", "audiotestsrc", "alawenc", "rtppcmapay", "rtppcmadepay", "udpsink")

    def __init__(self, port, gateway_port):
        received = "application/x-rtp,media=audio,clock-rate=8000,encoding-name=PCMA,payload=8"
        pipeline = f"""rtpbin name=bin
            audiotestsrc is-live=true ! audio/x-raw,rate=8000,channels=1 ! alawenc
            ! rtppcmapay min-ptime=20000000 max-ptime=20000000 ! bin.send_rtp_sink_0
            bin.send_rtp_src_0 ! udpsink host=127.0.0.1 port={gateway_port}
            bin.send_rtcp_src_0
            ! udpsink host=127.0.0.1 port={gateway_port + 1} sync=false async=false
            udpsrc address=127.0.0.1 port={port} caps={received} ! bin.recv_rtp_sink_0
            bin. ! rtppcmadepay ! fakesink sync=false async=false
            udpsrc address=127.0.0.1 port={port + 1} ! bin.recv_rtcp_sink_0"""
        self.process = subprocess.Popen(
            ["gst-launch-1.0", "-q", *pipeline.split()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    @classmethod
    def missing(cls):
        """Why it can't be used here, or None."""
        if not shutil.which("gst-launch-1.0") or not shutil.which("gst-inspect-1.0"):
            return "GStreamer is not installed"
        for element in cls.ELEMENTS:
            if subprocess.run(["gst-inspect-1.0", "--exists", element], check=False).returncode:
                return f"GStreamer's {element} is not installed"
        return None

    def check_running(self):
        if self.process.poll() is not None:
            raise AssertionError(f"gst-launch ended: {self.process.stdout.read().decode()}")

    def close(self):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.communicate(timeout=20 * PATIENCE)


class Reports(unittest.TestCase):
    """On the default backend: what is written does not depend on who sends it."""

    def parameters(self, call, leg):
        """P: of AUCX as a dictionary."""
        answer = call.agent.command("AUCX", call.endpoint, [f"I: {leg.connection}", "F: P"])
        self.assertEqual(answer.code, 200, answer.text)
        return dict(re.findall(r"(\w\w)=(\d+)", answer.parameters["P"]))

    def look_at(self, capture, gateway_port, rtp_ports):
        """Nothing malformed, each compound as long as its lengths say, from the right port."""
        rules = decode_rules(gateway_port, rtp_ports)
        assert_dissected(self, capture.frames(rules), rtp=50, rtcp=3)
        checks = capture.tshark(["rtcp.length_check"], "rtcp", rules)
        self.assertEqual({word for row in checks for word in row}, {"1"})

    def test_rtpbin_answers(self):
        """rtpbin takes the reports and answers: the gateway knows the latency of that leg."""
        if reason := RtpBin.missing():
            self.skipTest(reason)
        with Gateway(GENERATING) as gateway, tempfile.TemporaryDirectory() as directory:
            agent = mgcp.Agent(gateway.address, gateway.port)
            with Call(agent, "rtpbridge/1@mgw") as call:
                ours, theirs = call.leg(PCMA, sends=SPEECH), call.leg(PCMA)
                theirs.peer.close()
                capture = None
                rtp_ports = [ours.peer.port, ours.port, theirs.peer.port, theirs.port]
                if CAPTURE_RIGHTS:
                    ports = [gateway.port] + [port + n for port in rtp_ports for n in (0, 1)]
                    capture = Capture(f"{directory}/rtcp.pcapng", ports)
                rtpbin = RtpBin(theirs.peer.port, theirs.port)
                try:
                    self.talk_until_latency_is_known(call, ours, theirs, rtpbin)
                    agent.dlcx(call.endpoint)
                    ours.peer.receive_waiting()
                    if capture:
                        capture.stop()
                        self.look_at(capture, gateway.port, rtp_ports)
                finally:
                    rtpbin.close()
                    if capture:
                        capture.close()
                metrics = gateway.settled()
                self.assertGreater(metrics.total("mgw_rtcp_reports_received_total"), 0)
                self.assertGreater(metrics.total("mgw_rtcp_reports_sent_total"), 1)
            agent.close()

    def talk_until_latency_is_known(self, call, ours, theirs, rtpbin):
        def known():
            rtpbin.check_running()
            stream([ours.peer], 25, interval=0.02)
            return "LA" in self.parameters(call, theirs)

        wait_for(known, "rtpbin reports on a sender report of the gateway", 20)
        self.assertLess(int(self.parameters(call, theirs)["LA"]), 500)
        self.assertGreater(len(ours.peer.received), 50)

    def test_reports_and_goodbye(self):
        """Peers that send no RTCP hear reports as sender and receiver, and BYE at the end."""
        with Gateway(GENERATING) as gateway, tempfile.TemporaryDirectory() as directory:
            agent = mgcp.Agent(gateway.address, gateway.port)
            with Call(agent, "rtpbridge/1@mgw") as call:
                one, other = call.leg(PCMA, sends=SPEECH), call.leg(PCMA, sends=SPEECH)
                capture = None
                rtp_ports = [one.peer.port, one.port, other.peer.port, other.port]
                if CAPTURE_RIGHTS:
                    ports = [gateway.port] + [port + n for port in rtp_ports for n in (0, 1)]
                    capture = Capture(f"{directory}/rtcp.pcapng", ports)

                def reported():
                    stream([other.peer], 25, listeners=[one.peer], interval=0.01)
                    return one.peer.reports and other.peer.reports

                try:
                    wait_for(reported, "both legs have a report", 10)
                    for leg, report in ((one, SENDER_REPORT), (other, RECEIVER_REPORT)):
                        self.assertEqual(packet_types(leg.peer.reports[0]), [report, DESCRIPTION])
                    self.assertEqual(agent.dlcx(call.endpoint).code, 200)

                    def ended():
                        one.peer.receive_waiting()
                        return GOODBYE in packet_types(one.peer.reports[-1])

                    wait_for(ended, "BYE")
                    if capture:
                        capture.stop()
                        self.look_at(capture, gateway.port, rtp_ports)
                finally:
                    if capture:
                        capture.close()
            agent.close()


if __name__ == "__main__":
    runner.main()

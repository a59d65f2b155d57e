"""SIPp plays its captures of DTMF digits and speech into a call of the gateway.

Two SIPp processes agree on the call over SIP; the session description of the called one has the
gateway's port, so that the calling one plays there. MGW_PROGRAM is the gateway.
"""

import functools
import glob
import os
import shutil
import subprocess
import tempfile
import unittest

from support import mgcp, runner
from support.call import Call, wait_received
from support.capture import CAPTURE_RIGHTS, Capture, assert_dissected, decode_rules
from support.gateway import Gateway
from support.ports import free_pair
from support.rtp import Packet
from support.speech import run, udp_port_in_use
from support.waiting import PATIENCE, wait_for

CAPTURES = "/usr/share/sip-tester"
# The keys in the order of their event codes (RFC 4733, 3.2).
KEYS = "0123456789"
SIPP_EVENT, OUR_EVENT = 101, 97

HEADERS = """
      Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch]
      From: <sip:caller@[local_ip]:[local_port]>;tag=[pid]
      To: <sip:called@[remote_ip]:[remote_port]>{tag}
      Call-ID: [call_id]
      CSeq: {number} {verb}
      Contact: sip:caller@[local_ip]:[local_port]
      Max-Forwards: 70
"""
CALLER = """<?xml version="1.0" encoding="ISO-8859-1" ?>
<scenario name="caller">
  <send retrans="500"><![CDATA[
      INVITE sip:called@[remote_ip]:[remote_port] SIP/2.0{invite}      Content-Type: application/sdp
      Content-Length: [len]

      v=0
      o=caller 1 1 IN IP4 [local_ip]
      s=-
      c=IN IP4 [media_ip]
      t=0 0
      m=audio [media_port] RTP/AVP 8 101
      a=rtpmap:8 PCMA/8000
      a=rtpmap:101 telephone-event/8000
  ]]></send>
  <recv response="200" rrs="true"></recv>
  <send><![CDATA[
      ACK sip:called@[remote_ip]:[remote_port] SIP/2.0{ack}      Content-Length: 0
  ]]></send>
{plays}
  <send retrans="500"><![CDATA[
      BYE sip:called@[remote_ip]:[remote_port] SIP/2.0{bye}      Content-Length: 0
  ]]></send>
  <recv response="200"></recv>
</scenario>
"""
PLAY = """  <nop><action><exec play_pcap_audio="{path}"/></action></nop>
  <pause milliseconds="{milliseconds}"/>"""
CALLED = """<?xml version="1.0" encoding="ISO-8859-1" ?>
<scenario name="called">
  <recv request="INVITE"></recv>
  <send retrans="500"><![CDATA[
      SIP/2.0 200 OK
      [last_Via:]
      [last_From:]
      [last_To:];tag=[pid]
      [last_Call-ID:]
      [last_CSeq:]
      Contact: <sip:[local_ip]:[local_port]>
      Content-Type: application/sdp
      Content-Length: [len]

      v=0
      o=called 1 1 IN IP4 [local_ip]
      s=-
      c=IN IP4 127.0.0.1
      t=0 0
      m=audio {port} RTP/AVP 8 101
      a=rtpmap:8 PCMA/8000
      a=rtpmap:101 telephone-event/8000
  ]]></send>
  <recv request="ACK"></recv>
  <recv request="BYE"></recv>
  <send><![CDATA[
      SIP/2.0 200 OK
      [last_Via:]
      [last_From:]
      [last_To:]
      [last_Call-ID:]
      [last_CSeq:]
      Content-Length: 0
  ]]></send>
</scenario>
"""


def caller_scenario(plays):
    def headers(number, verb, tag="[peer_tag_param]"):
        return HEADERS.format(number=number, verb=verb, tag=tag)

    return CALLER.format(
        invite=headers(1, "INVITE", ""),
        ack=headers(1, "ACK"),
        bye=headers(2, "BYE"),
        plays="\n".join(PLAY.format(path=path, milliseconds=pause) for path, pause in plays),
    )


@functools.lru_cache
def recorded(*names):
    """The RTP packets of SIPp's capture files, one file after the other."""
    paths = [f"{CAPTURES}/{name}.pcap" for name in names]
    with tempfile.NamedTemporaryFile(suffix=".pcapng") as merged:
        run("mergecap", "-a", "-w", merged.name, *paths)
        text = run("tshark", "-n", "-r", merged.name, "-T", "fields", "-e", "udp.payload")
    return [bytes.fromhex(line) for line in text.split()]


@unittest.skipUnless(
    shutil.which("sipp") and CAPTURE_RIGHTS and glob.glob(f"{CAPTURES}/dtmf_2833_*.pcap"),
    "sipp, tshark or the rights for raw sockets are missing",
)
class Sipp:
    """One call between SIPp and a peer of ours."""

    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix="mgw-sipp-")
        self.processes = []

    def tearDown(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()
        self.directory.cleanup()

    def start(self, name, scenario, *options):
        path = os.path.join(self.directory.name, f"{name}.xml")
        with open(path, "w", encoding="ascii") as file:
            file.write(scenario)
        log = open(os.path.join(self.directory.name, f"{name}.log"), "wb")
        with log:
            self.processes.append(
                subprocess.Popen(
                    ["sipp", "-sf", path, "-i", "127.0.0.1", "-m", "1", "-nostdin", *options],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    cwd=self.directory.name,
                )
            )
        return self.processes[-1]

    def output(self):
        texts = []
        for path in sorted(glob.glob(f"{self.directory.name}/*.log")):
            with open(path, encoding="utf-8", errors="replace") as file:
                texts.append(f"{path}\n{file.read()[-3000:]}")
        return "\n".join(texts)

    def play(self, media_port, gateway_port, plays):
        """Runs the SIP call whose caller plays (file, milliseconds until the next)."""
        called_port, caller_port = free_pair(), free_pair()
        self.start("called", CALLED.format(port=gateway_port), "-p", str(called_port))
        wait_for(lambda: udp_port_in_use(called_port), "SIPp listens")
        caller = self.start(
            "caller",
            caller_scenario(plays),
            "-p",
            str(caller_port),
            "-mi",
            "127.0.0.1",
            "-mp",
            str(media_port),
            f"127.0.0.1:{called_port}",
        )
        try:
            self.assertEqual(caller.wait(60 * PATIENCE), 0, self.output())
        except subprocess.TimeoutExpired:
            self.fail(self.output())

    def two_legs(self, agent, call, media_port):
        """The leg of SIPp, at media_port, and ours; returns SIPp's answer and our leg."""
        codecs = ((8, "PCMA/8000"), (SIPP_EVENT, "telephone-event/8000"))
        body = mgcp.sdp("127.0.0.1", media_port, codecs)
        answer = agent.crcx(call.endpoint, mode="sendrecv", body=body)
        self.assertEqual(answer.code, 200)
        return answer, call.leg(((8, "PCMA/8000"), (OUR_EVENT, "telephone-event/8000")))

    def assert_same(self, peer, expected):
        """All that was played came: type of the leg, all else as it was."""
        wait_received(peer, len(expected))
        types = {8: 8, SIPP_EVENT: OUR_EVENT}
        came = [as_seen(packet, packet.payload_type) for packet in peer.packets()]
        packets = [Packet(data) for data in expected]
        self.assertEqual(came, [as_seen(one, types[one.payload_type]) for one in packets])

    def test_digits(self):
        """All ten digits arrive whole: type of the leg, timestamps, markers and ends kept."""
        names = [f"dtmf_2833_{key}" for key in KEYS]
        expected = recorded(*names)
        self.assertEqual(sum(Packet(data).marker for data in expected), len(KEYS))
        with Gateway(backend=self.backend, ports=20) as gateway:
            agent = mgcp.Agent(gateway.address, gateway.port)
            ports = range(gateway.range.first, gateway.range.last + 1)
            capture = Capture(f"{self.directory.name}/call.pcapng", [gateway.port, *ports])
            try:
                with Call(agent) as call:
                    media_port = free_pair()
                    answer, leg = self.two_legs(agent, call, media_port)
                    self.play(
                        media_port,
                        answer.rtp_port,
                        [(f"{CAPTURES}/{name}.pcap", 180) for name in names],
                    )
                    self.assert_same(leg.peer, expected)
                capture.stop()
            finally:
                capture.close()
                agent.close()
            frames = capture.frames(decode_rules(gateway.port))
        assert_dissected(self, frames, mgcp=6, sdp=4, rtpevent=2 * len(expected))

    def test_digits_within_speech(self):
        """SIPp's speech, with its digits in the middle of it, sent fast by a peer of ours."""
        speech = recorded("g711a")
        middle = len(speech) // 2
        digits = recorded("dtmf_2833_star", "dtmf_2833_pound")
        played = speech[:middle] + digits + speech[middle:]
        with Gateway(backend=self.backend, ports=20) as gateway:
            agent = mgcp.Agent(gateway.address, gateway.port)
            with Call(agent) as call:
                player = call.peer()
                answer, leg = self.two_legs(agent, call, player.port)
                player.connect(answer.rtp_port)
                for number, data in enumerate(played, 1):
                    player.rtp.send(data)
                    if number % 50 == 0:
                        wait_received(leg.peer, number)
                self.assert_same(leg.peer, played)
            agent.close()


def as_seen(packet, payload_type):
    return (
        payload_type,
        packet.marker,
        packet.sequence,
        packet.timestamp,
        packet.ssrc,
        packet.payload.hex(),
    )


runner.for_each_backend(globals(), Sipp)
del Sipp

if __name__ == "__main__":
    runner.main()

"""Real speech between two independent RTP programs through the gateway, and a dissector's view.

ffmpeg sends what espeak-ng says as PCMA, a second ffmpeg writes what arrives; tshark looks at
all datagrams of the call. MGW_PROGRAM is the gateway, RTPLOAD_PROGRAM the load generator.
"""

import os
import shutil
import signal
import subprocess
import tempfile
import unittest

from support import mgcp, runner
from support.capture import CAPTURE_RIGHTS, Capture, assert_dissected, decode_rules
from support.gateway import Gateway
from support.load import Load
from support.ports import free_pair
from support.speech import (decoded_reference, ffmpeg, make_speech, samples_of,
                            udp_port_in_use)
from support.waiting import PATIENCE, wait_for

PCMA = ((8, "PCMA/8000"),)
PACKET_BYTES = 160 * 2


def missing(*programs):
    return [program for program in programs if not shutil.which(program)]


class Conversation:
    """A call whose legs are ffmpeg processes."""

    def __init__(self, gateway, directory):
        self.gateway, self.directory = gateway, directory
        self.agent = mgcp.Agent(gateway.address, gateway.port)
        self.sender_port, self.receiver_port = free_pair(), free_pair()
        bodies = [mgcp.sdp("127.0.0.1", port, PCMA)
                  for port in (self.sender_port, self.receiver_port)]
        self.answers = [self.agent.crcx("rtpbridge/1@mgw", mode="sendrecv", body=body,
                                        options="p:20, a:PCMA") for body in bodies]
        self.received = f"{directory}/received.raw"
        self.processes = []

    def ports(self):
        ports = [self.sender_port, self.receiver_port,
                 *(answer.rtp_port for answer in self.answers)]
        return [port + one for port in ports for one in (0, 1)]

    def start(self, arguments):
        process = subprocess.Popen(ffmpeg(*arguments), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.processes.append(process)
        return process

    def speak(self, wav, expected_bytes):
        """Sends the file through the call; returns what the other side has decoded."""
        description = f"{self.directory}/receiver.sdp"
        with open(description, "w", encoding="ascii") as file:
            file.write(mgcp.sdp("127.0.0.1", self.receiver_port, PCMA))
        receiver = self.start(["-protocol_whitelist", "file,udp,rtp", "-reorder_queue_size", 0,
                               "-i", description, "-f", "s16le", "-flush_packets", 1,
                               self.received])
        wait_for(lambda: udp_port_in_use(self.receiver_port + 1), "the receiver listens")
        target = (f"rtp://127.0.0.1:{self.answers[0].rtp_port}?localrtpport={self.sender_port}"
                  f"&localrtcpport={self.sender_port + 1}&pkt_size=172")
        sender = self.start(["-re", "-i", wav, "-af", "asetnsamples=160", "-c:a", "pcm_alaw",
                             "-payload_type", 8, "-f", "rtp", target])
        errors = sender.communicate(timeout=60 * PATIENCE)[1]
        if sender.returncode != 0:
            raise AssertionError(f"ffmpeg: {errors}")
        try:
            wait_for(lambda: os.path.exists(self.received)
                     and os.path.getsize(self.received) >= expected_bytes, "all speech arrives")
        except AssertionError:
            pass  # the comparison says how much is missing
        receiver.send_signal(signal.SIGINT)
        receiver.communicate(timeout=20 * PATIENCE)
        with open(self.received, "rb") as file:
            return file.read()

    def close(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.communicate()
        self.agent.close()


@unittest.skipIf(missing("ffmpeg", "espeak-ng"), "ffmpeg or espeak-ng is not installed")
class Speech:
    """What is said on one side is heard on the other, sample for sample."""

    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix="mgw-speech-")
        self.wav = make_speech(self.directory.name)

    def tearDown(self):
        self.directory.cleanup()

    def assert_same_speech(self, heard, said):
        """heard is said, perhaps without a last packet that the receiver had not taken yet."""
        start = heard[:50 * PACKET_BYTES]
        self.assertEqual(len(start), 50 * PACKET_BYTES, "too little was heard")
        offset = said.find(start)
        self.assertEqual(offset % PACKET_BYTES, 0, "the beginning is not part of the speech")
        common = said[offset:offset + len(heard)]
        self.assertEqual(heard[:len(common)], common)
        self.assertEqual(offset, 0, "the beginning is missing")
        self.assertGreaterEqual(len(heard), len(said) - PACKET_BYTES)

    def test_ffmpeg_to_ffmpeg(self):
        """espeak-ng through ffmpeg, gateway and ffmpeg; nothing malformed on the wire."""
        said = decoded_reference(self.wav, self.directory.name)
        with Gateway(backend=self.backend) as gateway:
            conversation = Conversation(gateway, self.directory.name)
            capture = None
            if CAPTURE_RIGHTS:
                capture = Capture(f"{self.directory.name}/call.pcapng",
                                  [gateway.port, *conversation.ports()])
                conversation.agent.auep()
            try:
                heard = conversation.speak(self.wav, len(said) // PACKET_BYTES * PACKET_BYTES)
                metrics = gateway.settled()
                deleted = [conversation.agent.dlcx("rtpbridge/1@mgw", "1226", answer.connection)
                           for answer in conversation.answers]
                self.assertEqual([answer.code for answer in deleted], [250, 250])
                if capture:
                    capture.stop()
                    media = metrics.datagrams("received") + metrics.datagrams("sent")
                    self.look_at(capture, gateway.port, conversation, media)
            finally:
                conversation.close()
                if capture:
                    capture.close()
            self.assert_same_speech(heard, said)
        if not capture:
            print("no capture: dumpcap, tshark or the rights for them are missing")

    def look_at(self, capture, mgcp_port, conversation, media):
        """The dissectors know every datagram and find nothing wrong."""
        rtp_ports = [conversation.sender_port, conversation.receiver_port,
                     *(answer.rtp_port for answer in conversation.answers)]
        frames = capture.frames(decode_rules(mgcp_port, rtp_ports))
        assert_dissected(self, frames, mgcp=6, rtp=200, rtcp=2)
        self.assertEqual(sum("mgcp" in frame.protocols for frame in frames), 6)
        self.assertGreaterEqual(len(frames), media + 6)

    def test_session_descriptions(self):
        """tshark dissects each answer's SDP and finds nothing malformed in it."""
        if not CAPTURE_RIGHTS:
            self.skipTest("dumpcap, tshark or the rights for them are missing")
        codecs = ((98, "AMR/8000/1"), (3, "GSM/8000"), (101, "telephone-event/8000"))
        with Gateway(backend=self.backend) as gateway:
            agent = mgcp.Agent(gateway.address, gateway.port)
            capture = Capture(f"{self.directory.name}/sdp.pcapng", [gateway.port])
            try:
                for number, address in enumerate(("127.0.0.1", "::1"), 1):
                    body = mgcp.sdp(address, 4002, codecs, [(98, "octet-align=1")])
                    answer = agent.crcx(f"rtpbridge/{number}@mgw", mode="sendrecv", body=body)
                    self.assertEqual(answer.code, 200)
                capture.stop()
            finally:
                capture.close()
                agent.close()
            rules = decode_rules(gateway.port)
            assert_dissected(self, capture.frames(rules), mgcp=4, sdp=4)
            media = capture.tshark(["sdp.media"], f"sdp && udp.srcport == {gateway.port}", rules)
            self.assertEqual(len(media), 2)
            self.assertEqual(capture.tshark(["frame.number"], "sdp.invalid", rules), [])

    def test_recording_of_the_load_generator(self):
        """rtpload plays the speech over a call and finds what comes out the same."""
        with Gateway(backend=self.backend) as gateway:
            recorded = f"{self.directory.name}/recorded.wav"
            load = Load(gateway.address, gateway.port, "--play", self.wav, "--codec", "PCMA",
                        "--record", recorded)
            status, result = load.finish(60)
            self.assertEqual(status, 0, f"{result}\n{load.errors}")
            said = samples_of(self.wav, self.directory.name)
            heard = samples_of(recorded, self.directory.name)
            self.assertGreaterEqual(len(heard), len(said))
            # Half a step of the A-law: 8 below 256, 1/32 of the value above.
            wrong = [(number, one, other) for number, (one, other) in enumerate(zip(said, heard))
                     if abs(one - other) > 8 + abs(one) / 32]
            self.assertEqual(wrong[:10], [])


runner.for_each_backend(globals(), Speech)
del Speech

if __name__ == "__main__":
    runner.main()

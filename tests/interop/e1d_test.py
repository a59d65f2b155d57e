"""Calls over an E1 line of osmo-e1d's, with a server that stands in for it, on both backends."""

import os
import tempfile

from support import gateway, mgcp, runner
from support.call import Call
from support.e1d import E1d
from support.gateway import Gateway
from support.rtp import Packet
from support.waiting import wait_for

CONFIGURATION = """e1:
  trunks: [1]
  line-options:
    - line: 0
      driver: e1d
      port: 0
      socket: "{}"
"""
# Codec, sub-slot and the frames of its speakers, told apart by their third octet.
CODECS = {
    "FR": ((3, "GSM/8000/1"), "16-0", b"\xd0", 33),
    "EFR": ((110, "GSM-EFR/8000/1"), "16-2", b"\xc0", 31),
    "HR at 16": ((111, "GSM-HR-08/8000/1"), "16-4", b"\x00", 15),
    "HR at 8": ((111, "GSM-HR-08/8000/1"), "8-7", b"\x00", 15),
    "PCMA": ((8, "PCMA/8000/1"), "64-0", b"\x01", 160),
}
FRAMES = 25
TRIES = 5


def frames_of(name, speaker):
    codec, _, head, size = CODECS[name]
    return tuple(
        (codec[0], head + bytes((7, speaker, number)) + bytes(range(size - 4)))
        for number in range(FRAMES)
    )


class E1dLine:
    """One gateway with trunk 1 on the server's line."""

    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix="mgw-e1d-")
        path = os.path.join(self.directory.name, "e1d.ctl")
        file = os.path.join(self.directory.name, "mgw.yaml")
        with open(file, "w", encoding="utf-8") as configuration:
            configuration.write(CONFIGURATION.format(path))
        self.server = E1d(path)
        self.server.start()
        self.gateway = Gateway(backend=self.backend, program=[gateway.PROGRAM, "-c", file])
        self.agent = mgcp.Agent(self.gateway.address, self.gateway.port)
        self.calls = []
        self.wait_up(1)

    def tearDown(self):
        for call in self.calls:
            call.close()
        self.agent.close()
        self.gateway.stop()
        self.server.stop()
        self.directory.cleanup()

    def wait_up(self, up):
        wait_for(
            lambda: self.gateway.metrics().total("mgw_e1_line_up", trunk="1") == up,
            f"the line is {'up' if up else 'away'}",
            20,
        )

    def leg(self, name, timeslot, speaker):
        codec, sub_slot, _, _ = CODECS[name]
        call = Call(self.agent, f"ds/e1-1/s-{timeslot}/su{sub_slot}@mgw")
        self.calls.append(call)
        return call.leg((codec,), sends=frames_of(name, speaker))

    def hears(self, leg, other):
        """Whether all that the other's peer said arrives at the leg's, in a stream.

        PCM has no frames: its packets begin where the time slot was opened.
        """
        said = b"".join(Packet(data).payload for data in other.peer.sent)
        size = len(said) // FRAMES

        def heard():
            leg.peer.receive_waiting()
            packets = leg.peer.packets()
            at = b"".join(packet.payload for packet in packets).find(said)
            return at >= 0 and packets[at // size : -(-(at + len(said)) // size)]

        try:
            packets = wait_for(heard, "the other side is heard", 1)
        except AssertionError:
            return False
        for before, packet in zip(packets, packets[1:]):
            self.assertEqual(packet.timestamp, (before.timestamp + 160) % 2**32)
            self.assertEqual(packet.sequence, (before.sequence + 1) % 2**16)
        return True

    def talk(self, one, other):
        """Both speak, at the pace of the line, and hear each other, once it has frames of both.

        They try again where the server came to a stand on a busy machine, which is a gap in what
        they hear.
        """

        def say():
            for leg in (one, other):
                if len(leg.peer.sent) < FRAMES:
                    leg.peer.send()

        for _ in range(TRIES):
            self.server.on_block = lambda: None
            for leg in (one, other):
                wait_for(lambda peer=leg.peer: peer.receive_waiting() or peer.received, "frames")
                leg.peer.clear()
            self.server.on_block = say
            wait_for(lambda: len(other.peer.sent) == FRAMES, "everything is said", 20)
            if self.hears(one, other) and self.hears(other, one):
                return
        self.fail("what is said is not heard")

    def test_codecs(self):
        """Each codec over a pair of time slots of its own, bit by bit."""
        for number, name in enumerate(CODECS):
            with self.subTest(name):
                one = self.leg(name, 2 * number + 1, 1)
                other = self.leg(name, 2 * number + 2, 2)
                self.talk(one, other)
        self.agent.dlcx("ds/e1-1/*@mgw")
        wait_for(lambda: not self.server.timeslots, "all time slots are free")

    def test_restart_of_the_server(self):
        """No calls while it is away, and those that there are go on when it is back."""
        one, other = self.leg("EFR", 1, 1), self.leg("EFR", 2, 2)
        self.talk(one, other)
        self.server.stop()
        self.wait_up(0)
        answer = self.agent.crcx("ds/e1-1/s-3/su16-0@mgw", options="a:GSM")
        self.assertEqual(answer.code, 502, answer.text)
        self.assertIn("not reachable", answer.text)
        self.server.start()
        self.wait_up(1)
        wait_for(lambda: len(self.server.timeslots) == 2, "the time slots are open again")
        for leg in (one, other):
            leg.peer.clear()
        self.talk(one, other)
        self.assertEqual(self.agent.crcx("ds/e1-1/s-3/su16-0@mgw", options="a:GSM").code, 200)
        self.assertEqual(self.gateway.metrics().total("mgw_e1_line_losses_total", trunk="1"), 1)
        wait_for(lambda: self.gateway.log_lines("the line is up trunk=1 losses=1"), "a log line")

    def test_refusals(self):
        """AMR has no form that base stations read; a time slot may be another program's."""
        answer = self.agent.crcx("ds/e1-1/s-1/su16-0@mgw", options="a:AMR")
        self.assertEqual(answer.code, 502, answer.text)
        self.server.taken.add(5)
        self.assertEqual(self.agent.crcx("ds/e1-1/s-5/su16-0@mgw", options="a:GSM").code, 200)
        wait_for(
            lambda: self.gateway.metrics().total("mgw_e1_timeslots_refused") == 1,
            "the time slot is refused",
        )
        answer = self.agent.crcx("ds/e1-1/s-5/su16-2@mgw", options="a:GSM")
        self.assertEqual(answer.code, 502, answer.text)
        self.server.taken.clear()
        wait_for(
            lambda: self.gateway.metrics().total("mgw_e1_timeslots_refused") == 0,
            "the time slot is ours",
        )
        self.assertEqual(self.agent.crcx("ds/e1-1/s-5/su16-2@mgw", options="a:GSM").code, 200)


runner.for_each_backend(globals(), E1dLine)
del E1dLine

if __name__ == "__main__":
    runner.main()

"""Calls whose legs have telephone-event and comfort noise beside their voice, and their packets."""

from support import amr
from support.rtp import Packet, rtp_packet

FRAME_TYPE = 7  # AMR 12.2, the mode of GSM-EFR
AMR_FORMS = ("octet-align=1", "octet-align=0")
# Name of the leg: rtpmap, its static payload type, fmtp.
VOICE = {
    "PCMA": ("PCMA/8000", 8, None),
    "PCMU": ("PCMU/8000", 0, None),
    "GSM-EFR": ("GSM-EFR/8000", None, None),
    "AMR octet-aligned": ("AMR/8000", None, AMR_FORMS[0]),
    "AMR bandwidth-efficient": ("AMR/8000", None, AMR_FORMS[1]),
}
# Dynamic voice, telephone-event and CN on each side of a call.
SIDES = ((96, 101, 13), (101, 96, 107))
# One packet each 20 ms, as RFC 4733 has them.
EVENT_UPDATES = 5
EVENT_ENDS = 3
COMFORT_NOISE = bytes.fromhex("4512803f")


def digit(event, updates=EVENT_UPDATES):
    """The payloads of one digit as RFC 4733 has it: growing durations, the end three times."""
    durations = [160 * number for number in range(1, updates + 1)]
    payloads = [bytes((event, 10)) + duration.to_bytes(2, "big") for duration in durations]
    end = bytes((event, 0x8A)) + (160 * (updates + 1)).to_bytes(2, "big")
    return payloads + EVENT_ENDS * [end]


class Side:
    """One end of a call: its numbers, its voice, what it sends and must receive."""

    def __init__(self, call, voice, numbers, seed):
        rtpmap, static, self.fmtp = VOICE[voice]
        dynamic, self.event, self.noise = numbers
        self.voice = dynamic if static is None else static
        self.rtpmap, self.seed = rtpmap, seed
        codecs = (
            (self.voice, rtpmap),
            (self.event, "telephone-event/8000"),
            (self.noise, "CN/8000"),
        )
        fmtp = [(self.event, "0-15")]
        if self.fmtp:
            fmtp.append((self.voice, self.fmtp))
        self.leg = call.leg(codecs, fmtp=fmtp)
        self.peer = self.leg.peer

    def speech(self, number, fmtp):
        """A voice payload in this side's codec; fmtp: the form of AMR."""
        seed = 10 * self.seed + number
        if not fmtp:
            return bytes((seed + index) & 0xFF for index in range(160))
        build = amr.octet_aligned if fmtp == AMR_FORMS[0] else amr.bandwidth_efficient
        return build(FRAME_TYPE, amr.speech(FRAME_TYPE, seed))

    def packets(self, receiver):
        """What this side sends, as the receiver must see it (itself: as it is sent).

        Voice, noise, a digit while voice pauses, voice again; timestamps as RFC 4733 and 3389
        have them: all packets of a digit carry that of its beginning.
        """
        kinds = [("voice", self.speech(0, receiver.fmtp), True), ("noise", COMFORT_NOISE, False)]
        kinds += [
            ("event", payload, number == 0) for number, payload in enumerate(digit(self.seed % 16))
        ]
        kinds += [("voice", self.speech(1, receiver.fmtp), True)]
        types = {"voice": receiver.voice, "noise": receiver.noise, "event": receiver.event}
        times = {"voice": 160, "noise": 320, "event": 480}
        last_time = 480 + 160 * (EVENT_UPDATES + 1)
        packets = []
        for number, (kind, payload, marker) in enumerate(kinds):
            if kind == "voice" and self.rtpmap != receiver.rtpmap:
                continue
            time = last_time if number == len(kinds) - 1 else times[kind]
            packets.append(
                rtp_packet(
                    types[kind], 65530 + number, time, payload, 0xABC00000 + self.seed, marker
                )
            )
        return packets


def packet_text(data):
    """What tests compare of an RTP packet, readable where they differ."""
    packet = Packet(data)
    return (
        f"type {packet.payload_type} seq {packet.sequence} time {packet.timestamp} "
        f"ssrc {packet.ssrc:x} marker {packet.marker} {packet.payload.hex()}"
    )

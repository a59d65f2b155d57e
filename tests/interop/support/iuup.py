"""Iu UP (3GPP TS 25.415) in RTP: PDUs with their CRCs, and a peer that takes both roles."""

from support.rtp import Packet, Peer, rtp_packet
from support.waiting import wait_for

CODEC = "VND.3GPP.IUFP/16000"
PAYLOAD_TYPE = 96
DATA_WITH_CRC, DATA_WITHOUT_CRC, CONTROL = 0, 1, 14
PROCEDURE, ACK, NACK = 0, 1, 2
INITIALISATION, RATE_CONTROL, TIME_ALIGNMENT, ERROR_EVENT = range(4)
# AMR 12.2, SID and NO_DATA with their sub-flows' bits and intervals, as the suite declares them.
SUBFLOWS = ((81, 103, 60), (39, 0, 0), (0, 0, 0))
INTERVALS = (1, 7, 1)


def crc(octets, width, polynomial):
    """The remainder, most significant bit first, begun with zeros."""
    register = 0
    for octet in octets:
        for bit in range(7, -1, -1):
            top = (register >> (width - 1) ^ octet >> bit) & 1
            register = register << 1 & (1 << width) - 1
            register ^= polynomial if top else 0
    return register


def header_crc(octets):
    return crc(octets, 6, 0x2F)


def payload_crc(octets):
    return crc(octets, 10, 0x233)


def protected(first, second, payload, covered):
    """A header with both CRCs, the payload's over `covered`."""
    start = bytes((first, second))
    own = payload_crc(covered)
    return start + bytes((header_crc(start) << 2 | own >> 8, own & 0xFF)) + payload


def data(frame_number, rfci, payload, quality=0):
    """A data PDU of type 0."""
    return protected(frame_number & 15, quality << 6 | rfci, payload, payload)


def control(kind, procedure, frame_number=0, version=0, payload=b""):
    covered = b"" if kind == NACK else payload
    return protected(
        CONTROL << 4 | kind << 2 | frame_number, version << 4 | procedure, payload, covered
    )


def initialisation(numbers=(0, 1, 2), frame_number=0, intervals=INTERVALS):
    """An INIT: `numbers` are the RFCIs of speech, SID and NO_DATA."""
    payload = bytes(((0x10 if intervals else 0) | 3 << 1,))
    for at, (number, sizes) in enumerate(zip(numbers, SUBFLOWS)):
        last = at == len(SUBFLOWS) - 1
        payload += bytes((0x80 * last | number, *sizes))
    if intervals:
        padded = (*intervals, 0)
        payload += bytes((padded[0] << 4 | padded[1], padded[2] << 4 | padded[3]))
    payload += bytes((0, 1, DATA_WITH_CRC << 4))
    return control(PROCEDURE, INITIALISATION, frame_number, payload=payload)


class Pdu:
    """A PDU that was received; raises ValueError if a CRC is wrong."""

    def __init__(self, octets):
        self.kind = octets[0] >> 4
        if header_crc(octets[:2]) != octets[2] >> 2:
            raise ValueError(f"header CRC of {octets.hex()}")
        if self.kind == CONTROL:
            self.payload = octets[4:]
            self.answer = octets[0] >> 2 & 3
            self.frame_number = octets[0] & 3
            self.version, self.procedure = octets[1] >> 4, octets[1] & 15
        else:
            self.payload = octets[4 if self.kind == DATA_WITH_CRC else 3 :]
            self.frame_number = octets[0] & 15
            self.quality, self.rfci = octets[1] >> 6, octets[1] & 63
        checked = self.kind == DATA_WITH_CRC or self.kind == CONTROL and self.answer != NACK
        if checked and payload_crc(self.payload) != ((octets[2] & 3) << 8 | octets[3]):
            raise ValueError(f"payload CRC of {octets.hex()}")


class IuupPeer(Peer):
    """A peer of an IuUP leg. `received` holds the RTP packets with data; `controls` all others.

    sends: (RFCI, payload) pairs.
    """

    def __init__(self, address="127.0.0.1", sends=((0, b""),)):
        super().__init__(address, sends)
        self.frame_number = 0
        self.controls = []
        self.offered = None

    def next_packet(self):
        rfci, payload = self.sends[self.frame_number % len(self.sends)]
        pdu = data(self.frame_number, rfci, payload)
        self.frame_number += 1
        return self.in_rtp(pdu)

    def in_rtp(self, pdu):
        packet = rtp_packet(PAYLOAD_TYPE, self.sequence, self.timestamp, pdu)
        self.sequence += 1
        self.timestamp += 320
        return packet

    def send_pdu(self, pdu):
        self.rtp.send(self.in_rtp(pdu))

    def receive_waiting(self):
        """Takes what has come; answers an INIT."""
        seen = len(self.received)
        super().receive_waiting()
        fresh, self.received = self.received[seen:], self.received[:seen]
        for packet in fresh:
            pdu = Pdu(Packet(packet).payload)
            if pdu.kind != CONTROL:
                self.received.append(packet)
                continue
            self.controls.append(pdu)
            if (pdu.answer, pdu.procedure) == (PROCEDURE, INITIALISATION):
                self.offered = Packet(packet).payload
                self.send_pdu(control(ACK, INITIALISATION, pdu.frame_number, 0))

    def data(self):
        """The data PDUs received."""
        return [Pdu(packet.payload) for packet in self.packets()]

    def _wait_control(self, answer, what):
        def came():
            self.receive_waiting()
            return any(
                (pdu.answer, pdu.procedure) == (answer, INITIALISATION) for pdu in self.controls
            )

        wait_for(came, what)

    def initialise(self, numbers=(0, 1, 2)):
        """Takes the active role; returns once the gateway has acknowledged."""
        self.send_pdu(initialisation(numbers))
        self._wait_control(ACK, "INIT ACK")

    def wait_initialised(self):
        """Returns once the gateway has initialised this peer."""
        self._wait_control(PROCEDURE, "INIT")

"""Hostile datagrams: valid MGCP, RTP and RTCP with mutations, from a seed."""

import random

from support import mgcp
from support.rtp import rtp_packet, sender_report

VERBS = ("CRCX", "MDCX", "DLCX", "AUEP", "AUCX", "RQNT", "EPCF", "NTFY", "XXXX")
ENDPOINTS = ("rtpbridge/1@mgw", "rtpbridge/*@mgw", "rtpbridge/$@mgw", "null@mgw",
             "rtpbridge/ff@mgw", "rtpbridge/12c@other", "ds/e1-1/s-1/su16-0@mgw", "2@mgw", "@")
LINES = ("C: 1226", "M: sendrecv", "M: loopback", "M: confecho", "M: inactive", "I: 1",
         "L: p:20, a:AMR", "L: a:GSM;PCMU;AMR, p:20-40", "X-Osmo-IGN: C", "X-Osmux: *", "K: 1-3",
         "X+A: b", "F: A,B,C,D", "R: L/hd", "RM: restart", "N: ca@[::1]:2727", "B: e:mu", "E: 1")
SDP_LINES = ("a=rtpmap:98 AMR/8000/1", "a=fmtp:98 octet-align=1; mode-set=0,2,4", "a=sendonly",
             "a=rtcp:7 IN IP6 ::1", "a=rtcp-mux", "a=ptime:20-40", "m=video 4 RTP/AVP 96",
             "m=audio 4 RTP/SAVP 0", "c=IN IP6 ff02::1", "c=IN IP4 224.0.0.1/127", "b=AS:64")
FRAGMENTS = (b"\r", b"\n", b"\r\n", b"\r\n.\r\n", b"\0", b" ", b":", b"@", b"*", b"%s%n",
             b"-1", b"0", b"65536", b"4294967296", b"99999999999999999999", b"\xff", b"A" * 300)


class Mutator:
    """A stream of datagrams that is the same for the same seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def command(self):
        """A command with random parts that is well-formed as often as not."""
        pick = self.random.choice
        body = None
        if self.random.random() < 0.5:
            # Never towards a real port of this machine: the discard port.
            body = mgcp.sdp(pick(("127.0.0.1", "::1")), 9, ((98, "AMR/8000"), (8, "PCMA/8000")))
            for _ in range(self.random.randrange(3)):
                body += pick(SDP_LINES) + "\r\n"
        lines = self.random.sample(LINES, self.random.randrange(6))
        number = self.random.randrange(1, 1_000_000_000)
        data = mgcp.Agent.text(pick(VERBS), pick(ENDPOINTS), lines, body, number).encode()
        return self.mutated(data)

    def packet(self, payload_type, sequence):
        """An RTP packet, mutated more often than not."""
        size = self.random.choice((0, 1, 13, 14, 15, 31, 33, 160))
        data = rtp_packet(payload_type, sequence, 160 * sequence, self.random.randbytes(size))
        return self.mutated(data) if self.random.random() < 0.8 else data

    def report(self):
        return self.mutated(sender_report())

    def mutated(self, data):
        data = bytearray(data)
        for _ in range(self.random.choice((0, 1, 1, 2, 3, 8))):
            self._mutate(data)
        return bytes(data[:9000])

    def _mutate(self, data):
        at = self.random.randrange(len(data) + 1)
        kind = self.random.randrange(6)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << self.random.randrange(8)
        elif kind == 1 and at < len(data):
            data[at] = self.random.randrange(256)
        elif kind == 2:
            del data[at:at + self.random.choice((1, 2, 4, 16, 10000))]
        elif kind == 3:
            data[at:at] = self.random.choice(FRAGMENTS)
        elif kind == 4:
            source = self.random.randrange(len(data) + 1)
            data[at:at] = data[source:source + self.random.randrange(64)]
        else:
            data[at:at] = self.random.randbytes(self.random.randrange(1, 8))

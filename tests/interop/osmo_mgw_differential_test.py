"""The same commands and media to Debian's osmo-mgw and to our gateway.

Answers and forwarded media are compared after connection ids and ports are normalised. Every
difference is listed with its reason in osmo_mgw_differences.tsv: one that is not listed fails,
and so does a listed one that does not occur. MGW_PROGRAM is the gateway.
"""

import os
import shutil
import unittest

from support import amr, mgcp, runner
from support.differential import Side, Table, differences
from support.gateway import Gateway
from support.osmo_mgw import OsmoMgw
from support.rtp import rtp_packet, sender_report

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "osmo_mgw_differences.tsv")
# The version that the table describes.
VERSION = "1.10."
AMR = ((98, "AMR/8000"),)
PCMA = ((8, "PCMA/8000"),)
BASE = ("C: 1226", "L: p:20, a:AMR", "M: recvonly")
ADDRESS = "127.0.0.1"


def body(codecs=AMR, port=2344, address=ADDRESS, fmtp=()):
    return mgcp.sdp(address, port, codecs, fmtp)


def raw_body(*lines):
    return "".join(f"{line}\r\n" for line in ("v=0", "o=- 1 1 IN IP4 127.0.0.1", "s=-",
                                              "c=IN IP4 127.0.0.1", "t=0 0", *lines))


def names_and_lines(side):
    """The first line of commands, endpoint names, retransmission."""
    side.send("auep", "AUEP", "rtpbridge/1@mgw")
    side.send("auep null", "AUEP", "null@mgw")
    side.send("auep wildcard", "AUEP", "rtpbridge/*@mgw")
    side.send("auep without prefix", "AUEP", "1@mgw")
    side.send("auep upper case", "AUEP", "RTPBRIDGE/A@mgw")
    side.send("auep leading zero", "AUEP", "rtpbridge/01@mgw")
    side.send("auep beyond the last", "AUEP", "rtpbridge/12d@mgw")
    side.send("auep last", "AUEP", "rtpbridge/12c@mgw")
    side.send("auep other domain", "AUEP", "rtpbridge/1@other")
    side.send("auep no domain", "AUEP", "rtpbridge/1")
    side.send("auep e1 without trunk", "AUEP", "ds/e1-1/s-1/su16-0@mgw")
    side.send("unknown verb", "AUXX", "rtpbridge/1@mgw")
    side.send("lower-case verb", "auep", "rtpbridge/1@mgw")
    side.send("profile", "AUEP", "rtpbridge/1@mgw", version="MGCP 1.0 NCS 1.0")
    side.send("wrong version", "AUEP", "rtpbridge/1@mgw", version="MGCP 0.1")
    side.send("wrong protocol", "AUEP", "rtpbridge/1@mgw", version="SGCP 1.0")
    side.send("rqnt", "RQNT", "rtpbridge/1@mgw", ("X: 1", "R: L/hd"))
    side.send("epcf", "EPCF", "rtpbridge/1@mgw")
    side.send("answer to nobody", "200", "OK", version="")
    side.send("retransmitted crcx 1", "CRCX", "rtpbridge/1@mgw", BASE)
    side.transaction -= 1
    side.send("retransmitted crcx 2", "CRCX", "rtpbridge/1@mgw", BASE)
    side.send("retransmitted dlcx 1", "DLCX", "rtpbridge/1@mgw")
    side.transaction -= 1
    side.send("retransmitted dlcx 2", "DLCX", "rtpbridge/1@mgw")
    side.send("rsip", "RSIP", "rtpbridge/1@mgw", ("RM: restart",))


def creations(side):
    """CRCX with all kinds of parameters, each on a clear endpoint."""
    variants = {
        "plain": BASE,
        "no options": ("C: 1", "M: recvonly"),
        "empty options": ("C: 1", "L: ", "M: recvonly"),
        "no call": ("L: p:20, a:AMR", "M: recvonly"),
        "no mode": ("C: 1", "L: p:20, a:AMR"),
        "sendrecv": ("C: 1", "L: p:20, a:AMR", "M: sendrecv"),
        "sendonly": ("C: 1", "L: p:20, a:AMR", "M: sendonly"),
        "loopback": ("C: 1", "L: p:20, a:AMR", "M: loopback"),
        "confecho": ("C: 1", "L: p:20, a:AMR", "M: confecho"),
        "inactive": ("C: 1", "L: p:20, a:AMR", "M: inactive"),
        "netwtest": ("C: 1", "L: p:20, a:AMR", "M: netwtest"),
        "upper-case mode": ("C: 1", "L: p:20, a:AMR", "M: RECVONLY"),
        "lower-case letters": ("c: 1", "l: p:20, a:AMR", "m: recvonly"),
        "connection given": (*BASE, "I: 1"),
        "notified entity": (*BASE, "N: foobar"),
        "unknown letter": (*BASE, "G: 1"),
        "request id": (*BASE, "X: 12"),
        "unknown extension": (*BASE, "X-Foo: bar"),
        "ignore flag": (*BASE, "X-Osmo-IGN: C"),
        "osmux while off": (*BASE, "X-Osmux: *"),
        "packetization 30": ("C: 1", "L: p:30, a:AMR", "M: recvonly"),
        "packetization range": ("C: 1", "L: p:20-40, a:AMR", "M: recvonly"),
        "option twice": ("C: 1", "L: p:20, a:AMR, p:20", "M: recvonly"),
        "option without value": ("C: 1", "L: p:", "M: recvonly"),
        "many options": ("C: 1", "L: p:20, a:GSM-EFR, nt:IN, e:on, s:off, t:b8", "M: recvonly"),
        "list of codecs": ("C: 1", "L: p:20, a:GSM-EFR;GSM", "M: recvonly"),
    }
    for codec in ("PCMU", "PCMA", "GSM", "G729", "GSM-EFR", "GSM-HR-08", "AMR-WB", "FOO"):
        variants[f"codec {codec}"] = ("C: 1", f"L: p:20, a:{codec}", "M: recvonly")
    for name, lines in variants.items():
        side.clear("rtpbridge/2@mgw")
        side.send(f"crcx {name}", "CRCX", "rtpbridge/2@mgw", lines)
    side.send("crcx unknown endpoint", "CRCX", "rtpbridge/fff@mgw", BASE)
    side.send("crcx null", "CRCX", "null@mgw", BASE)
    answer = side.send("crcx wildcard", "CRCX", "rtpbridge/*@mgw", BASE)
    side.clear(answer.endpoint)


def descriptions(side):
    """CRCX with session descriptions, each on a clear endpoint."""
    variants = {
        "amr": body(),
        "amr octet-aligned": body(fmtp=((98, "octet-align=1"),)),
        "amr with mode-set": body(fmtp=((98, "mode-set=0,2,4,7; octet-align=1"),)),
        "amr one channel": body(((112, "AMR/8000/1"),)),
        "three codecs": body(((112, "AMR/8000"), (3, "GSM/8000"), (8, "PCMA/8000"))),
        "telephone-event": body(((8, "PCMA/8000"), (101, "telephone-event/8000"))),
        "clearmode": body(((120, "CLEARMODE/8000"),)),
        "iufp port 0": body(((96, "VND.3GPP.IUFP/16000"),), port=0),
        "ipv6": body(address="::1"),
        "static types": raw_body("m=audio 2344 RTP/AVP 18 3 8 0"),
        "line feeds only": body().replace("\r\n", "\n"),
        "ptime 40": raw_body("m=audio 2344 RTP/AVP 8", "a=ptime:40"),
        "no ptime": raw_body("m=audio 2344 RTP/AVP 8"),
        "maxptime": raw_body("m=audio 2344 RTP/AVP 8", "a=ptime:20", "a=maxptime:40"),
        "twelve types": raw_body("m=audio 2344 RTP/AVP " + " ".join(map(str, range(98, 110))),
                                 *(f"a=rtpmap:{kind} AMR/8000" for kind in range(98, 110))),
        "unknown attributes": body() + "a=sendrecv\r\na=foo:bar\r\nb=AS:64\r\n",
        "video too": body() + "m=video 4000 RTP/AVP 97\r\na=rtpmap:97 H264/90000\r\n",
        "savp": raw_body("m=audio 2344 RTP/SAVP 8"),
        "host name": body().replace("IN IP4 127.0.0.1\r\nt=", "IN IP4 phone.example\r\nt="),
        "dynamic without rtpmap": raw_body("m=audio 2344 RTP/AVP 97"),
        "address 0.0.0.0": raw_body("m=audio 2344 RTP/AVP 8").replace("127.0.0.1", "0.0.0.0"),
        "lower-case codec": body(((98, "amr/8000"),)),
    }
    for name, text in variants.items():
        side.clear("rtpbridge/3@mgw")
        side.send(f"sdp {name}", "CRCX", "rtpbridge/3@mgw", ("C: 1", "L: p:20", "M: recvonly"),
                  text)
    side.clear("rtpbridge/3@mgw")


def changes(side):
    """MDCX and DLCX, right and wrong, and what a second and a third leg get."""
    name = "rtpbridge/4@mgw"
    side.clear(name)
    side.send("mdcx without connection", "MDCX", name, ("C: 1", "I: FFFF", "M: sendrecv"), body())
    side.send("dlcx without connection", "DLCX", name, ("C: 1",))
    side.send("mdcx wildcard", "MDCX", "rtpbridge/*@mgw", ("C: 1", "I: F", "M: sendrecv"))
    first = side.send("first leg", "CRCX", name, BASE, body())
    identity = f"I: {first.connection}"
    call = "C: 1226"
    side.send("mdcx mode", "MDCX", name, (call, identity, "M: sendrecv"))
    side.send("mdcx no call", "MDCX", name, (identity, "M: sendrecv"))
    side.send("mdcx sdp", "MDCX", name, (call, identity), body(((96, "AMR/8000"),)))
    side.send("mdcx ipv6", "MDCX", name, (call, identity), body(address="::1"))
    side.send("mdcx ipv4 again", "MDCX", name, (call, identity), body())
    side.send("mdcx other codec", "MDCX", name, (call, identity), body(((3, "GSM/8000"),)))
    side.send("mdcx wrong call", "MDCX", name, ("C: ffff", identity, "M: sendrecv"))
    side.send("mdcx wrong connection", "MDCX", name, (call, "I: FFFF", "M: sendrecv"))
    side.send("mdcx no connection", "MDCX", name, (call, "M: sendrecv"))
    side.send("mdcx long connection", "MDCX", name, (call, "I: " + "F" * 33, "M: sendrecv"))
    side.send("mdcx unknown mode", "MDCX", name, (call, identity, "M: netwtest"))
    side.send("mdcx packetization 30", "MDCX", name, (call, identity, "L: p:30"))
    side.send("mdcx mode again", "MDCX", name, (call, identity, "M: recvonly"))
    side.send("other call", "CRCX", name, ("C: 99", "L: p:20, a:AMR", "M: recvonly"))
    side.send("second leg", "CRCX", name, BASE, body(((112, "AMR/8000"),)))
    side.send("third leg", "CRCX", name, BASE)
    side.send("dlcx wrong call", "DLCX", name, ("C: ffff",))
    side.send("dlcx wrong connection", "DLCX", name, (call, "I: FFFF"))
    side.send("dlcx first leg", "DLCX", name, (call, identity))
    side.send("dlcx first leg again", "DLCX", name, (call, identity))
    side.send("dlcx rest", "DLCX", name, (call,))
    side.send("dlcx nothing left", "DLCX", name)
    side.send("dlcx unknown endpoint", "DLCX", "rtpbridge/fff@mgw")
    side.send("dlcx trunk", "DLCX", "rtpbridge/*@mgw")


class Legs:
    """Two legs on endpoint 5 with a peer each."""

    def __init__(self, side, step, codecs, modes=("sendrecv", "sendrecv"), fmtp=((), ()),
                 addresses=(ADDRESS, ADDRESS)):
        side.clear("rtpbridge/5@mgw")
        self.side, self.step = side, step
        self.peers, self.connections = [], []
        for number in range(len(codecs)):
            peer = side.peer(addresses[number])
            lines = ("C: 1226", "L: p:20", f"M: {modes[number]}")
            answer = side.send(f"{step}: leg {number + 1}", "CRCX", "rtpbridge/5@mgw", lines,
                               body(codecs[number], peer.port, addresses[number], fmtp[number]))
            if answer.code == 200:
                peer.connect(answer.rtp_port)
            self.peers.append(peer)
            self.connections.append(answer.connection)

    def send(self, number, *packets):
        for packet in packets:
            self.peers[number].rtp.send(packet)
        self.side.media(f"{self.step}: media of peer {number + 1}", self.peers)


def packets(payload_type, payload=b"\x55" * 160, count=5, first=100, **options):
    return [rtp_packet(payload_type, first + number, 160 * (first + number), payload, **options)
            for number in range(count)]


def media_flows(side):
    """What comes out of the other leg, byte for byte."""
    legs = Legs(side, "pcma", (PCMA, PCMA))
    legs.send(0, *packets(8))
    legs.send(1, *packets(8, first=65533, marker=True))
    for peer in legs.peers:
        peer.rtcp.send(sender_report())
    side.media("pcma: reports", legs.peers)
    stranger = side.peer()
    stranger.connect(legs.peers[0].rtp.getpeername()[1])
    stranger.rtp.send(packets(8)[0])
    side.media("pcma: media of a stranger", [*legs.peers, stranger])
    for number, connection in enumerate(legs.connections, 1):
        side.send(f"pcma: dlcx {number}", "DLCX", "rtpbridge/5@mgw",
                  ("C: 1226", f"I: {connection}"))
    two_types = (((112, "AMR/8000"),), AMR)
    legs = Legs(side, "types 112 and 98", two_types)
    legs.send(0, *packets(112, b"\1\2\3\4"), *packets(0, b"\1\2\3\4", first=200))
    legs.send(1, *packets(98, b"\1\2\3\4"), *packets(0, b"\1\2\3\4", first=200))
    legs = Legs(side, "telephone-event on one leg", ((*PCMA, (101, "telephone-event/8000")), PCMA))
    legs.send(0, *packets(8), *packets(101, b"\1\x0a\0\xa0", first=200))
    legs = Legs(side, "telephone-event on both legs", ((*PCMA, (101, "telephone-event/8000")),
                                                       (*PCMA, (97, "telephone-event/8000"))))
    legs.send(0, *packets(8), *packets(101, b"\1\x0a\0\xa0", first=200))
    legs = Legs(side, "unknown type", (PCMA, PCMA))
    legs.send(0, *packets(77), *packets(120))
    legs = Legs(side, "loopback", (PCMA,), ("loopback",))
    legs.send(0, *packets(8))
    legs = Legs(side, "recvonly and sendonly", (PCMA, PCMA), ("recvonly", "sendonly"))
    legs.send(0, *packets(8))
    legs.send(1, *packets(8))
    legs = Legs(side, "recvonly and sendrecv", (PCMA, PCMA), ("recvonly", "sendrecv"))
    legs.send(0, *packets(8))
    legs.send(1, *packets(8))
    legs = Legs(side, "families", (PCMA, PCMA), addresses=(ADDRESS, "::1"))
    legs.send(0, *packets(8))
    legs.send(1, *packets(8))


def amr_flows(side):
    """AMR in its two forms, and what is malformed."""
    frame = amr.speech(2, 3)
    aligned, efficient = amr.octet_aligned(2, frame), amr.bandwidth_efficient(2, frame)
    two_types = (((112, "AMR/8000"),), AMR)
    for name, forms in (("aligned to efficient", "10"), ("aligned to aligned", "11"),
                        ("efficient to efficient", "00")):
        fmtp = [((kind, f"octet-align={form}"),) for kind, form in zip((112, 98), forms)]
        legs = Legs(side, name, two_types, fmtp=fmtp)
        legs.send(0, *packets(112, aligned if forms[0] == "1" else efficient))
        legs.send(1, *packets(98, aligned if forms[1] == "1" else efficient))
    legs = Legs(side, "malformed", (PCMA, PCMA))
    good = packets(8)[0]
    legs.send(0, b"", b"\x80", good[:11], b"\x00" + good[1:], b"\x40" + good[1:],
              b"\x8f" + good[1:13], b"\x23", packets(8, first=300)[0])
    legs = Legs(side, "ssrc changes", (PCMA, PCMA))
    legs.send(0, *packets(8, ssrc=1), *packets(8, first=9000, ssrc=2))
    side.clear("rtpbridge/5@mgw")


SCRIPT = (names_and_lines, creations, descriptions, changes, media_flows, amr_flows)


@unittest.skipUnless(shutil.which("osmo-mgw"), "osmo-mgw is not installed")
class Differential(unittest.TestCase):
    """Each part of the script is run against both; then all is compared."""

    maxDiff = None

    def run_script(self, gateway):
        side = Side(gateway.address, gateway.port)
        try:
            for part in SCRIPT:
                part(side)
                self.assertIsNone(gateway.process.poll(), f"ended in {part.__name__}")
        finally:
            side.close()
        return side.records

    def test_same_behaviour(self):
        """Only what is listed differs, and all that is listed does differ."""
        theirs = OsmoMgw()
        try:
            version = theirs.version()
            if not version.startswith(VERSION):
                self.skipTest(f"osmo-mgw is {version}, the table is for {VERSION}x")
            their_records = self.run_script(theirs)
        finally:
            theirs.stop()
        with Gateway() as ours:
            our_records = self.run_script(ours)
        found = differences(their_records, our_records)
        unlisted, unused = Table(TABLE).sort_out(found)
        print(f"{len(their_records)} steps, {len(found)} differences, {len(unlisted)} not listed")
        for row in unlisted:
            print("not listed:", "\t".join(row))
        for row in unused:
            print("does not occur:", "\t".join(row))
        self.assertEqual((len(unlisted), len(unused)), (0, 0))
        self.assertEqual(list(their_records), list(our_records))
        same = sum(1 for step in their_records if their_records[step] == our_records[step])
        self.assertGreater(same, len(their_records) // 3, "too little is the same")


if __name__ == "__main__":
    runner.main()

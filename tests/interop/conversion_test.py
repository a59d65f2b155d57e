"""The rows of the TTCN-3 suite's table where payloads are converted, and conn-timeout.

MGW_PROGRAM is the gateway.
"""

from support import amr, runner
from support.call import Call, wait_received
from support.media_case import MediaCase
from support.rtp import PLAIN_PAYLOAD, port_is_closed, stream
from support.waiting import measure_for, wait_for

ALIGNED, EFFICIENT = "octet-align=1", "octet-align=0"
FRAME = 2  # AMR 5.90
HALF_RATE = bytes.fromhex("0b11b3eede60be4e3ec68838c7b5")


def amr_payload(form, frame_type=FRAME, seed=0, quality=1, cmr=15):
    build = amr.octet_aligned if form == ALIGNED else amr.bandwidth_efficient
    return build(frame_type, amr.speech(frame_type, seed), cmr, quality)


class AmrConversion(MediaCase):
    """TC_amr_*_rtp_conversion: connection 0 has 96, connection 1 offers 112 and perhaps 113."""

    def amr_leg(self, forms, sends, first_type):
        codecs = [(first_type + number, "AMR/8000") for number in range(len(forms))]
        fmtp = [(kind, form) for (kind, _), form in zip(codecs, forms)]
        return self.call.leg(codecs, sends=sends, fmtp=fmtp)

    def assert_payloads(self, leg, kind, payloads):
        wait_received(leg.peer, len(payloads))
        came = [(packet.payload_type, packet.payload.hex()) for packet in leg.peer.packets()]
        self.assertEqual(came, [(kind, payload.hex()) for payload in payloads])

    def converted(self, form, offered, used):
        """Both ways; `used` is the type that connection 1 must see."""
        other = offered[used - 112]
        zero = [amr_payload(form, seed=seed) for seed in range(5)]
        one = [amr_payload(other, seed=seed) for seed in range(5, 10)]
        with Call(self.agent) as self.call:
            first = self.amr_leg([form], [(96, payload) for payload in zero], 96)
            second = self.amr_leg(offered, [(used, payload) for payload in one], 112)
            self.flow(first, second)
            self.assert_payloads(second, used, 10 * [amr_payload(other, seed=seed)
                                                     for seed in range(5)])
            self.assert_payloads(first, 96, 10 * [amr_payload(form, seed=seed)
                                                  for seed in range(5, 10)])

    def test_rows(self):
        """TC_amr_*: one form into the other, the same form, and the right one of two offers."""
        rows = {
            "oa_bwe": (ALIGNED, [EFFICIENT], 112),
            "oa_oa": (ALIGNED, [ALIGNED], 112),
            "bwe_bwe": (EFFICIENT, [EFFICIENT], 112),
            "oa_oa_no_bwe": (ALIGNED, [ALIGNED, EFFICIENT], 112),
            "oa_no_bwe_oa": (ALIGNED, [EFFICIENT, ALIGNED], 113),
            "bwe_bwe_no_oa": (EFFICIENT, [EFFICIENT, ALIGNED], 112),
            "bwe_no_oa_bwe": (EFFICIENT, [ALIGNED, EFFICIENT], 113),
        }
        for name, row in rows.items():
            with self.subTest(f"TC_amr_{name}_rtp_conversion"):
                self.converted(*row)

    def test_every_mode(self):
        """C1: all modes, SID and NO_DATA, good and bad quality, with each mode request."""
        frames = [(kind, quality, cmr) for kind in amr.SPEECH_BITS for quality in (0, 1)
                  for cmr in (0, 7, 15)]

        def payloads(form):
            return [amr_payload(form, kind, 0, quality, cmr) for kind, quality, cmr in frames]
        first = self.amr_leg([ALIGNED], [(96, data) for data in payloads(ALIGNED)], 96)
        second = self.amr_leg([EFFICIENT], [(112, data) for data in payloads(EFFICIENT)], 112)
        self.flow(first, second, packets=len(frames))
        self.assert_payloads(second, 112, payloads(EFFICIENT))
        self.assert_payloads(first, 96, payloads(ALIGNED))
        self.assertEqual([packet.timestamp for packet in second.peer.packets()],
                         [160 * number for number in range(len(frames))])

    def test_reports_are_not_converted(self):
        """C5: RTCP of a converted call passes as it is."""
        first = self.amr_leg([ALIGNED], [(96, amr_payload(ALIGNED))], 96)
        second = self.amr_leg([EFFICIENT], [(112, amr_payload(EFFICIENT))], 112)
        # An 8-octet receiver report, which looks like no AMR payload.
        report = bytes.fromhex("80c90001deadbeef")
        for leg in (first, second):
            leg.peer.rtcp.send(report)
        for leg in (first, second):
            wait_received(leg.peer, 0, 1)
            self.assertEqual(leg.peer.reports, [report])


class HalfRateConversion(MediaCase):
    """TC_ts101318_rfc5993_rtp_conversion, .._fmtp: 14 octets become 15 and back."""

    settings = {"rtp.patch.rfc5993hr": "true"}

    def converted(self, fmtp):
        short, long = HALF_RATE, b"\0" + HALF_RATE
        codecs = ((111, "GSM-HR-08/8000/1"),)
        with Call(self.agent) as self.call:
            first = self.call.leg(codecs, sends=[(111, short)], fmtp=fmtp[0])
            second = self.call.leg(codecs, sends=[(111, long)], fmtp=fmtp[1])
            self.flow(first, second)
            for leg in (first, second):
                wait_received(leg.peer, 50)
            self.assertEqual([packet.payload for packet in second.peer.packets()], 50 * [long])
            self.assertEqual([packet.payload for packet in first.peer.packets()], 50 * [short])

    def test_by_length(self):
        """TC_ts101318_rfc5993_rtp_conversion."""
        self.converted(((), ()))

    def test_by_format(self):
        """TC_ts101318_rfc5993_rtp_conversion_fmtp."""
        self.converted((((111, "gsm-hr-format=ts101318"),), ((111, "gsm-hr-format=rfc5993"),)))


class ConnectionTimeout(MediaCase):
    """TC_conn_timeout, with its times."""

    settings = {"endpoints.connection-timeout-s": 1, "rtp.port-quarantine-ms": 0}

    def test_timeout(self):
        """TC_conn_timeout: a leg lives through RTP and a gap of half a second, not of 1.5 s."""
        leg = self.call.leg(((112, "GSM-HR-08/8000/1"),), "loopback")
        stream([leg.peer], 75, interval=0.02)
        measure_for(0.5)
        self.flow(leg)
        self.assert_arrived(leg, leg, {0: 0, 112: 112})
        self.assertEqual(self.gateway.metrics().total("mgw_connections"), 1)
        wait_for(lambda: port_is_closed("127.0.0.1", leg.port, 0.05),
                 "the port of the silent connection is closed", 2.5)
        wait_for(lambda: port_is_closed("127.0.0.1", leg.port + 1, 0.05), "and its RTCP port", 5)
        self.assertEqual(self.agent.dlcx(self.call.endpoint).code, 515)
        metrics = self.gateway.metrics()
        self.assertEqual(metrics.total("mgw_connection_timeouts_total"), 1)
        self.assertEqual(metrics.total("mgw_endpoints_used"), 0)
        # R1: the endpoint is there for another call.
        self.assertEqual(self.agent.crcx(self.call.endpoint, call="4711").code, 200)

    def test_what_keeps_a_leg(self):
        """R1: MDCX, RTP and RTCP each keep a leg; media of a stranger does not."""
        leg = self.call.leg(((8, "PCMA/8000"),), sends=[(8, PLAIN_PAYLOAD)])
        keeps = (lambda: leg.mdcx(body=False), leg.peer.send,
                 lambda: leg.peer.rtcp.send(bytes.fromhex("80c90001deadbeef")))
        for keep in keeps:
            for _ in range(2):
                measure_for(0.6)
                keep()
        self.assertEqual(self.gateway.metrics().total("mgw_connections"), 1)
        wait_for(lambda: port_is_closed("127.0.0.1", leg.port, 0.05), "the port is closed", 5)


for base in (AmrConversion, HalfRateConversion, ConnectionTimeout):
    runner.for_each_backend(globals(), base)
del base, AmrConversion, HalfRateConversion, ConnectionTimeout

if __name__ == "__main__":
    runner.main()

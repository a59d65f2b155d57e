"""The rows of the TTCN-3 suite's table that are about commands alone, with their exact codes.

MGW_PROGRAM is the gateway.
"""

import unittest

from support import mgcp, runner
from support.gateway import Gateway

AMR = ((98, "AMR/8000"),)
IUFP = ((96, "VND.3GPP.IUFP/16000"),)
# "200 TID OK": the suite compares the comment with OK.
OK = "OK"


class SignallingTest(unittest.TestCase):
    """One gateway with 300 endpoints for all tests, as in the suite; each clears what it uses."""

    @classmethod
    def setUpClass(cls):
        # Twice 300 endpoints within the time that released ports rest.
        cls.gateway = Gateway(ports=2000)
        cls.agent = mgcp.Agent(cls.gateway.address, cls.gateway.port)

    @classmethod
    def tearDownClass(cls):
        cls.agent.close()
        cls.gateway.stop()

    def clear(self, endpoint):
        self.agent.dlcx(endpoint)

    def assert_ok(self, answer, *codes):
        self.assertIn(answer.code, codes or (200,), answer.text)
        self.assertEqual(answer.comment, OK)

    def assert_created(self, answer):
        self.assert_ok(answer)
        self.assertRegex(answer.connection, r"^[0-9A-Fa-f]{1,32}$")
        self.assertGreater(answer.rtp_port, 0)

    def assert_refused(self, answer, *codes):
        self.assertIn(answer.code, codes, answer.text)
        self.assertEqual((answer.parameters, answer.sdp), ({}, ""))

    def assert_dlcx_ok(self, endpoint, call=None, connection=None):
        answer = self.agent.dlcx(endpoint, call, connection)
        self.assert_ok(answer, 200, 250)
        return answer

    def create(self, endpoint, **options):
        self.clear(endpoint)
        answer = self.agent.crcx(endpoint, **options)
        self.assert_created(answer)
        return answer

    def test_auep_null(self):
        """TC_auep_null: an audit of null@mgw is answered 200 without SDP."""
        self.agent.dlcx("null@mgw")
        answer = self.agent.auep()
        self.assert_ok(answer)
        self.assertEqual(answer.sdp, "")

    def test_line_ends(self):
        """TC_selftest's texts, sent to the gateway: CRLF, LF and CR, also mixed, with SDP."""
        body = mgcp.sdp("127.0.0.2", 2344, AMR)
        for ends in (("\r\n",), ("\n",), ("\r",), ("\r\n", "\n"), ("\n", "\r", "\r\n")):
            with self.subTest(ends):
                self.clear("rtpbridge/2@mgw")
                text = self.agent.text("CRCX", "rtpbridge/2@mgw",
                                       ["C: 1226", "L: p:20, a:AMR", "M: sendrecv"], body)
                lines = text.split("\r\n")[:-1]
                mixed = "".join(line + ends[number % len(ends)]
                                for number, line in enumerate(lines))
                answer = mgcp.Answer(self.agent.exchange(mixed))
                self.assert_created(answer)
                self.assertEqual(answer.formats, [98])
                self.assert_dlcx_ok("rtpbridge/2@mgw", "1226", answer.connection)

    def test_crcx(self):
        """TC_crcx: a CRCX has a connection and SDP in its answer."""
        self.create("rtpbridge/2@mgw")
        self.assert_dlcx_ok("rtpbridge/2@mgw", "1226")

    def test_crcx_no_lco(self):
        """TC_crcx_no_lco: without local options the answer is PCMU."""
        answer = self.create("rtpbridge/2@mgw", options=None)
        self.assertEqual(answer.formats[0], 0)
        self.assert_dlcx_ok("rtpbridge/2@mgw", "1226")

    def test_crcx_noprefix(self):
        """TC_crcx_noprefix: the prefix of the endpoint may be missing."""
        self.create("2@mgw")
        self.assert_dlcx_ok("2@mgw", "1226")

    def test_crcx_refusals(self):
        """TC_crcx_unsupp_mode, .._param, .._missing_*, .._packet_intv, .._double_lco."""
        rows = {
            "unsupported mode": ({"mode": "netwtest"}, (517,)),
            "unsupported parameter": ({"extra": ["N: foobar"]}, (539,)),
            "no call": ({"call": None}, (400, 516)),
            "no mode": ({"mode": None}, (400, 517)),
            "unsupported packetization": ({"options": "p:111"}, (535,)),
            "option given twice": ({"options": "p:20, a:AMR, p:20"}, (524,)),
        }
        for name, (options, codes) in rows.items():
            with self.subTest(name):
                self.clear("rtpbridge/2@mgw")
                self.assert_refused(self.agent.crcx("rtpbridge/2@mgw", **options), *codes)
                # Nothing was allocated.
                self.assert_refused(self.agent.dlcx("rtpbridge/2@mgw"), 515)

    def test_crcx_osmo_ign(self):
        """TC_crcx_osmo_ign: X-Osmo-IGN is accepted."""
        self.create("7@mgw", call="3", options="p:20, a:GSM-EFR, nt:IN",
                    extra=["X-Osmo-IGN: C"])
        self.assert_dlcx_ok("7@mgw", "3")

    def test_crcx_early_bidir_mode(self):
        """TC_crcx_early_bidir_mode: 527 without SDP, 200 with one, when so configured."""
        with Gateway({"mgcp.compat.early-bidir-error": "true"}) as gateway:
            agent = mgcp.Agent(gateway.address, gateway.port)
            self.assert_refused(agent.crcx("rtpbridge/2@mgw", mode="sendrecv"), 527)
            body = mgcp.sdp("127.0.0.1", 0, IUFP)
            self.assert_created(agent.crcx("rtpbridge/2@mgw", mode="sendrecv", body=body))
            agent.close()
        self.create("rtpbridge/2@mgw", mode="sendrecv")

    def test_crcx_sdp(self):
        """TC_crcx_sdp: a CRCX with SDP."""
        self.create("rtpbridge/2@mgw", mode="sendrecv", body=mgcp.sdp("127.0.0.2", 2344, AMR))
        self.assert_dlcx_ok("rtpbridge/2@mgw", "1226")

    def test_crcx_wildcarded(self):
        """TC_crcx_wildcarded: the answer names the endpoint that was chosen."""
        answer = self.agent.crcx("rtpbridge/*@mgw")
        self.assert_created(answer)
        self.assert_dlcx_ok(answer.endpoint, "1226")

    def take_all(self):
        """300 wildcarded CRCX; returns the names of the endpoints."""
        self.clear("rtpbridge/*@mgw")
        names = []
        for _ in range(300):
            answer = self.agent.crcx("rtpbridge/*@mgw")
            self.assert_created(answer)
            names.append(answer.endpoint)
        self.assertEqual(len(set(names)), 300)
        self.assertEqual(self.gateway.metrics().total("mgw_endpoints_used"), 300)
        return names

    def test_crcx_wildcarded_exhaust(self):
        """TC_crcx_wildcarded_exhaust: 300 endpoints, then 403; each is deleted by its name."""
        names = self.take_all()
        self.assert_refused(self.agent.crcx("rtpbridge/*@mgw"), 403)
        for name in names:
            self.assert_dlcx_ok(name, "1226")
        self.assertEqual(self.gateway.metrics().total("mgw_endpoints_used"), 0)

    def test_dlcx_wildcarded(self):
        """TC_dlcx_wildcarded: one DLCX without parameters deletes all, and says 200, not 250."""
        self.take_all()
        answer = self.agent.dlcx("rtpbridge/*@mgw")
        self.assert_ok(answer, 200)
        self.assertEqual(answer.parameters, {})
        self.assertEqual(self.gateway.metrics().total("mgw_endpoints_used"), 0)

    def test_mdcx_without_crcx(self):
        """TC_mdcx_without_crcx: exactly 400."""
        self.clear("rtpbridge/3@mgw")
        body = mgcp.sdp("127.0.0.1", 2344, AMR)
        self.assert_refused(self.agent.mdcx("rtpbridge/3@mgw", "FFFF", body=body), 400)

    def test_dlcx_without_crcx(self):
        """TC_dlcx_without_crcx: 400 or 515."""
        self.clear("rtpbridge/4@mgw")
        self.assert_refused(self.agent.dlcx("rtpbridge/4@mgw", "1226"), 400, 515)

    def test_dlcx_non_existant_ep(self):
        """TC_dlcx_non_existant_ep: 301 of 300 is exactly 500."""
        self.assert_refused(self.agent.dlcx("rtpbridge/012D@mgw", "1226"), 500)
        self.assert_refused(self.agent.dlcx("rtpbridge/12D@mgw", "1226"), 500)

    def test_mdcx_wildcarded(self):
        """TC_mdcx_wildcarded: exactly 507."""
        body = mgcp.sdp("127.0.0.1", 2344, AMR)
        self.assert_refused(self.agent.mdcx("rtpbridge/*@mgw", "FFFF", body=body), 507)

    def test_dlcx_selections(self):
        """TC_crcx_and_dlcx_ep*: with call and connection, with call, with neither."""
        answer = self.create("rtpbridge/5@mgw")
        deleted = self.assert_dlcx_ok("rtpbridge/5@mgw", "1226", answer.connection)
        self.assertEqual(deleted.parameters.get("P", "").split(", ")[0], "PS=0")
        self.create("rtpbridge/5@mgw")
        self.assert_dlcx_ok("rtpbridge/5@mgw", "1226")
        self.create("rtpbridge/5@mgw")
        self.assert_dlcx_ok("rtpbridge/5@mgw")

    def test_connection_is_read_back_in_upper_case(self):
        """Section 1.6: connection ids go through str2hex and come back in upper case."""
        answer = self.create("rtpbridge/5@mgw")
        self.assert_dlcx_ok("rtpbridge/5@mgw", "1226", answer.connection.upper())
        answer = self.create("rtpbridge/5@mgw")
        self.assert_dlcx_ok("rtpbridge/5@mgw", "1226", answer.connection.lower())

    def test_dlcx_invalid(self):
        """TC_crcx_and_dlcx_ep_callid_inval, .._callid_connid_inval: the connection stays."""
        answer = self.create("rtpbridge/5@mgw")
        self.assert_refused(self.agent.dlcx("rtpbridge/5@mgw", "ffff"), 516)
        self.assert_refused(self.agent.dlcx("rtpbridge/5@mgw", "1226", "FFFF"), 515)
        self.assert_dlcx_ok("rtpbridge/5@mgw", "1226", answer.connection)

    def test_dlcx_retrans(self):
        """TC_crcx_and_dlcx_retrans: the same DLCX again has the same answer."""
        self.create("rtpbridge/5@mgw")
        command = self.agent.text("DLCX", "rtpbridge/5@mgw", ["C: 1226"])
        first = self.agent.exchange(command)
        self.assertEqual(self.agent.exchange(command), first)
        answer = mgcp.Answer(first)
        self.assert_ok(answer, 200)
        self.assertEqual((answer.parameters, answer.sdp), ({}, ""))

    def test_crcx_dlcx_30ep(self):
        """TC_crcx_dlcx_30ep: endpoints 1 to 1D, in upper-case hexadecimal."""
        for number in range(1, 0x1E):
            name = f"rtpbridge/{number:X}@mgw"
            answer = self.create(name)
            self.assert_dlcx_ok(name, "1226", answer.connection)

    def test_crcx_mdcx_families(self):
        """TC_crcx_mdcx_ip4, TC_crcx_mdcx_ip6: the answer is of the family that the MDCX offers."""
        for address, kind in (("127.0.0.1", "IP4"), ("::1", "IP6")):
            with self.subTest(kind):
                answer = self.create("rtpbridge/2@mgw")
                answer = self.agent.mdcx("rtpbridge/2@mgw", answer.connection,
                                         body=mgcp.sdp(address, 2344, AMR))
                self.assert_ok(answer)
                self.assertEqual(answer.sdp_line("c=IN "), f"{kind} {address}")
                self.assert_dlcx_ok("rtpbridge/2@mgw", "1226")

    def test_crcx_iufp(self):
        """TC_crcx_iufp_sendrecv, TC_crcx_iufp_recvonly: port 0 first, the port by MDCX."""
        for mode in ("sendrecv", "recvonly"):
            with self.subTest(mode):
                answer = self.create("rtpbridge/2@mgw", mode=mode,
                                     body=mgcp.sdp("127.0.0.1", 0, IUFP))
                self.assertEqual(answer.sdp_line("c=IN "), "IP4 127.0.0.1")
                self.assertEqual(answer.formats, [96])
                answer = self.agent.mdcx("rtpbridge/2@mgw", answer.connection, mode=mode,
                                         body=mgcp.sdp("127.0.0.1", 2344, IUFP))
                self.assert_ok(answer)
                self.assertEqual(answer.sdp_line("c=IN "), "IP4 127.0.0.1")
                self.assertEqual(answer.formats, [96])
                self.assert_dlcx_ok("rtpbridge/2@mgw", "1226")


if __name__ == "__main__":
    runner.main()

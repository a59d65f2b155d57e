"""The rows of the TTCN-3 suite's table for E1 endpoints, on a virtual line, on both backends.

Counts are exact. MGW_PROGRAM is the gateway.
"""

from support import mgcp, runner
from support.call import Call, wait_received
from support.media_case import MediaCase
from support.rtp import Packet

HALF_RATE = (111, "GSM-HR-08/8000/1")
SUB_SLOT = "ds/e1-1/s-1/su16-0@mgw"


class E1Endpoints(MediaCase):
    """One gateway with trunk 1 on a virtual line, as --set e1.virtual=true makes it."""

    settings = {"e1.virtual": "true"}

    def tearDown(self):
        self.call.close()
        self.agent.dlcx("ds/e1-1/*@mgw")

    def create(self, endpoint):
        answer = self.agent.crcx(endpoint, body=mgcp.sdp("127.0.0.1", 2344, (HALF_RATE,)))
        self.assertEqual(answer.code, 200, answer.text)
        self.assertGreater(answer.rtp_port, 0)
        return answer

    def used(self):
        return self.gateway.metrics().total("mgw_e1_endpoints_used", trunk="1")

    def test_create_and_delete(self):
        """TC_e1_crcx_and_dlcx_ep: 200 with SDP, and DLCX of the endpoint."""
        self.create(SUB_SLOT)
        self.assertEqual(self.agent.dlcx(SUB_SLOT).code, 200)
        self.assertEqual(self.used(), 0)

    def test_overlap(self):
        """TC_e1_crcx_with_overlap: 501 while a sub-slot with the same bits is in use."""
        for endpoint in ("ds/e1-1/s-1/su8-0@mgw", SUB_SLOT):
            self.create(endpoint)
            self.assertEqual(self.agent.dlcx(endpoint).code, 200)
        self.create("ds/e1-1/s-1/su8-0@mgw")
        self.assertEqual(self.agent.crcx(SUB_SLOT).code, 501)

    def test_loopback(self):
        """TC_e1_crcx_loopback: every packet comes back as it was, and nothing else."""
        with Call(self.agent, SUB_SLOT) as self.call:
            leg = self.call.leg((HALF_RATE,), "loopback")
            self.flow(leg)
            self.assert_arrived(leg, leg, {0: 0, 111: 111})

    def test_wildcard(self):
        """TC_e1_dlcx_wildcarded: one DLCX without parameters deletes all of the trunk."""
        for timeslot in range(1, 5):
            for offset in (0, 2, 4, 6):
                self.create(f"ds/e1-1/s-{timeslot}/su16-{offset}@mgw")
        self.assertEqual(self.used(), 16)
        answer = self.agent.dlcx("ds/e1-1/*@mgw")
        self.assertEqual((answer.code, answer.parameters, answer.sdp), (200, {}, ""))
        self.assertEqual(self.used(), 0)

    def test_line_in_real_time(self):
        """Speech that goes over the line comes back bit by bit, with exact timestamps."""
        speech = bytes(1) + bytes(range(1, 15))
        with Call(self.agent, SUB_SLOT) as self.call:
            leg = self.call.leg((HALF_RATE,), sends=((111, speech),))
            self.flow(leg)
            wait_received(leg.peer, 20)
            came = [Packet(data) for data in leg.peer.received]
            self.assertIn(speech, [packet.payload for packet in came])
            for before, after in zip(came, came[1:]):
                self.assertEqual(after.timestamp, (before.timestamp + 160) % 2**32)
                self.assertEqual(after.sequence, (before.sequence + 1) % 2**16)


runner.for_each_backend(globals(), E1Endpoints)
del E1Endpoints

if __name__ == "__main__":
    runner.main()

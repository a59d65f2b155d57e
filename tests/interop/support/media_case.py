"""The base of tests of media: counts are exact, on every backend."""

from support import mgcp
from support.call import Call, wait_received
from support.gateway import Gateway
from support.rtp import Packet, stream

PACKETS = 50


class MediaCase:
    """What the tests of media have in common: one gateway for all tests of a class."""

    settings = {}

    @classmethod
    def setUpClass(cls):
        cls.gateway = Gateway(cls.settings, backend=cls.backend)
        cls.agent = mgcp.Agent(cls.gateway.address, cls.gateway.port)

    @classmethod
    def tearDownClass(cls):
        cls.agent.close()
        cls.gateway.stop()

    def setUp(self):
        self.call = Call(self.agent)
        self.gateway.settled()

    def tearDown(self):
        self.call.close()

    def flow(self, *senders, packets=PACKETS):
        """The legs' peers send; returns once the gateway has dealt with all of it."""
        for peer in self.call.peers:
            peer.clear()
        stream([leg.peer for leg in senders], packets, self.call.peers)
        self.gateway.settled(packets * len(senders))
        for peer in self.call.peers:
            peer.receive_waiting()
            self.assertEqual(peer.refused, 0, "ICMP refused from the gateway")

    def assert_silent(self, *legs):
        for leg in legs:
            self.assertEqual(len(leg.peer.received), 0)

    def assert_arrived(self, source, destination, types):
        """All that source sent arrived at destination, in order, with its types mapped."""
        expected = []
        for data in source.peer.sent:
            sent = Packet(data)
            expected.append((types[sent.payload_type], sent.sequence, sent.timestamp, sent.ssrc,
                             sent.payload))
        wait_received(destination.peer, len(expected))
        came = [(packet.payload_type, packet.sequence, packet.timestamp, packet.ssrc,
                 packet.payload) for packet in destination.peer.packets()]
        self.assertEqual(len(came), len(expected))
        self.assertEqual(came, expected)

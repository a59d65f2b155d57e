"""An endpoint's connections with a peer behind each."""

from support import mgcp
from support.rtp import PLAIN_PAYLOAD, Peer, stream
from support.waiting import wait_for


class Leg:
    """A connection of a call and the peer at its other end."""

    def __init__(self, call, peer, codecs, fmtp=()):
        self.call, self.peer, self.codecs, self.fmtp = call, peer, codecs, fmtp
        self.connection = None
        self.port = None

    def body(self):
        return mgcp.sdp(self.peer.address, self.peer.port, self.codecs, self.fmtp)

    def take(self, answer):
        if answer.code != 200:
            raise AssertionError(answer.text)
        self.connection = answer.connection or self.connection
        if answer.sdp:
            self.port = answer.rtp_port
            self.peer.connect(self.port)
        self.answer = answer
        return self

    def mdcx(self, mode="sendrecv", peer=None, body=True):
        if peer:
            self.peer = peer
        return self.take(self.call.agent.mdcx(self.call.endpoint, self.connection, mode=mode,
                                              body=self.body() if body else None))


class Call:
    """Connections on one endpoint. Close it to clear the endpoint and the peers' sockets."""

    def __init__(self, agent, endpoint="rtpbridge/2@mgw"):
        self.agent, self.endpoint = agent, endpoint
        self.peers = []
        agent.dlcx(endpoint)

    def peer(self, address="127.0.0.1", sends=((0, PLAIN_PAYLOAD),)):
        self.peers.append(Peer(address, sends))
        return self.peers[-1]

    def leg(self, codecs, mode="sendrecv", address="127.0.0.1", sends=None, fmtp=()):
        """A CRCX with SDP. Without `sends` the peer sends type 0 and the first codec in turn."""
        if sends is None:
            sends = ((0, PLAIN_PAYLOAD), (codecs[0][0], PLAIN_PAYLOAD))
        leg = Leg(self, self.peer(address, sends), codecs, fmtp)
        return leg.take(self.agent.crcx(self.endpoint, mode=mode, body=leg.body()))

    def close(self):
        self.agent.dlcx(self.endpoint)
        for peer in self.peers:
            peer.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def media_works(gateway, agent, endpoint="rtpbridge/1@mgw", packets=25):
    """Sets a call up, sends both ways, checks every packet; raises AssertionError."""
    with Call(agent, endpoint) as call:
        first = call.leg(((8, "PCMA/8000"),), sends=((8, b"first" * 32),))
        second = call.leg(((8, "PCMA/8000"),), sends=((8, b"other" * 32),))
        stream([first.peer, second.peer], packets)
        gateway.settled()
        for one, other in ((first.peer, second.peer), (second.peer, first.peer)):
            wait_received(one, packets)
            if one.received != other.sent:
                raise AssertionError(f"{len(one.received)} of {len(other.sent)} came through")


def wait_received(peer, packets, reports=0):
    """Waits until the peer has so many RTP and RTCP packets; the caller compares what they are.

    What the gateway sends is counted a moment before it arrives.
    """
    def enough():
        peer.receive_waiting()
        return len(peer.received) >= packets and len(peer.reports) >= reports
    wait_for(enough, f"{packets} packets and {reports} reports at port {peer.port}")

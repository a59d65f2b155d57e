"""Calls by libosmo-mgcp-client, the MGCP client of osmo-bsc and osmo-msc, with media.

What is checked is what the library's own reader makes of the gateway's answers. MGW_PROGRAM is
the gateway, MGCP_CLIENT_DRIVER the program with the library.
"""

import unittest

from support import runner
from support.call import wait_received
from support.gateway import Gateway
from support.mgcp_client import MgcpClients
from support.ports import PortRange, udp_port_is_free
from support.rtp import Packet, Peer, stream
from support.waiting import wait_for

AMR, GSM, PCMA = "AMR/8000/1", "GSM/8000/1", "PCMA/8000/1"
EFR = "GSM-EFR/8000/1"
ALL = "rtpbridge/*@mgw"
PACKETS = 30
RTP_HEADER_BYTES = 12
# The gateway has addresses of both families: IPv6 it is until it knows the peer's.
UNKNOWN_PEER = "::1"
# Octet-aligned: CMR 15, one frame of mode 7 (12.2 kbit/s), good; then its 244 bits.
AMR_FRAME = bytes((0xF0, 0x3C)) + bytes(range(31))


class ClientCase:
    """Peers and gateways of a test."""

    def client(self, gateway):
        clients = self.enterContext(MgcpClients())
        return clients.client(gateway.address, gateway.port)

    def peer(self, payload_type, payload):
        peer = Peer(sends=((payload_type, payload),))
        self.addCleanup(peer.close)
        return peer

    def assert_created(self, answer, gateway, address="127.0.0.1"):
        self.assertEqual((answer["code"], answer["comment"]), (200, "OK"), answer)
        self.assertEqual(answer["parsed"], 0)
        self.assert_leg(answer, gateway, address)

    def assert_leg(self, leg, gateway, address="127.0.0.1"):
        self.assertRegex(leg["id"], r"^[0-9A-F]{1,32}$")
        self.assertEqual(leg["address"], address)
        self.assertEqual(leg["rtp_port"] % 2, 0)
        self.assertTrue(gateway.range.first <= leg["rtp_port"] < gateway.range.last)
        self.assertRegex(leg["endpoint"], r"^rtpbridge/[0-9a-f]+@mgw$")

    def connections(self, gateway):
        return gateway.metrics().total("mgw_connections")

    def wait_empty(self, gateway):
        wait_for(lambda: self.connections(gateway) == 0, "no connection is left")


class Calls(ClientCase):
    """Calls of one client, on each backend."""

    @classmethod
    def setUpClass(cls):
        cls.gateway = Gateway(backend=cls.backend)

    @classmethod
    def tearDownClass(cls):
        cls.gateway.stop()

    def setUp(self):
        self.agent = self.client(self.gateway)
        self.addCleanup(self.wait_empty, self.gateway)
        self.addCleanup(self.reset)

    def reset(self):
        self.assertEqual(self.agent.command("dlcx", ALL)["code"], 200)

    def leg(self, endpoint, peer, codecs, mode="sendrecv", **more):
        answer = self.agent.command(
            "crcx",
            endpoint,
            call=5,
            mode=mode,
            ptime=20,
            codecs=codecs,
            address=peer.address,
            rtp_port=peer.port,
            **more,
        )
        answer["endpoint"] = answer["endpoint"] or endpoint
        self.assert_created(answer, self.gateway)
        peer.connect(answer["rtp_port"])
        return answer

    def modify(self, leg, **changes):
        answer = self.agent.command("mdcx", leg["endpoint"], call=5, id=leg["id"], **changes)
        self.assertEqual((answer["code"], answer["comment"]), (200, "OK"), answer)
        self.assertEqual(answer["rtp_port"], leg["rtp_port"])
        return answer

    def flow(self, senders, listeners=()):
        for peer in (*senders, *listeners):
            peer.clear()
        stream(senders, PACKETS, listeners)
        self.gateway.settled()

    def assert_heard(self, source, target, payload_type):
        """All that source has sent, with the target's payload type."""
        wait_received(target, PACKETS)
        heard = [(one.payload_type, one.sequence, one.payload) for one in target.packets()]
        said = [Packet(data) for data in source.sent]
        self.assertEqual(heard, [(payload_type, one.sequence, one.payload) for one in said])

    def assert_silent(self, peer):
        peer.receive_waiting()
        self.assertEqual((len(peer.received), peer.refused), (0, 0))

    def amr_call(self):
        """Two legs that number AMR differently; the first one's endpoint was a wildcard."""
        bts, core = self.peer(98, AMR_FRAME), self.peer(112, AMR_FRAME)
        first = self.leg(ALL, bts, [AMR, GSM], map=[[AMR, 98]], octet_aligned=True)
        second = self.leg(first["endpoint"], core, [AMR], octet_aligned=True)
        return (first, bts), (second, core)

    def test_codec_lists(self):
        """The reader finds the codec, its payload type, packet time and fmtp of each leg."""
        (first, bts), (second, core) = self.amr_call()
        for leg, payload_type in ((first, 98), (second, 112)):
            self.assertEqual(leg["codecs"], [[AMR, payload_type]])
            self.assertEqual(leg["ptime"], 20)
            self.assertIn(f"a=fmtp:{payload_type} octet-align=1\r\n", leg["body"])
            self.assertFalse(leg["osmux"])
        self.assertNotEqual(first["id"], second["id"])
        self.assertNotEqual(first["rtp_port"], second["rtp_port"])
        self.flow((bts, core))
        self.assert_heard(bts, core, 112)
        self.assert_heard(core, bts, 98)

    def test_codecs_by_their_names(self):
        """Each codec that the library knows comes back as the one that was asked for."""
        for codec, payload_type in (
            ("PCMU/8000/1", 0),
            (GSM, 3),
            (PCMA, 8),
            (EFR, 110),
            ("GSM-HR-08/8000/1", 111),
            (AMR, 112),
            ("AMR-WB/16000/1", 113),
        ):
            with self.subTest(codec):
                answer = self.agent.command(
                    "crcx", ALL, call=5, mode="recvonly", ptime=20, codecs=[codec]
                )
                self.assert_created(answer, self.gateway, UNKNOWN_PEER)
                self.assertEqual(answer["codecs"], [[codec, payload_type]])
                self.reset()

    def test_hand_over(self):
        """A leg moves to another host in mid-stream: each packet goes to one of them, in order."""
        (first, bts), (_, core) = self.amr_call()
        target = self.peer(98, AMR_FRAME)
        target.connect(first["rtp_port"])
        self.flow((core,), (bts, target))
        transaction = self.agent.send(
            "mdcx",
            first["endpoint"],
            call=5,
            id=first["id"],
            mode="sendrecv",
            ptime=20,
            codecs=[AMR],
            map=[[AMR, 98]],
            octet_aligned=True,
            address=target.address,
            rtp_port=target.port,
        )
        stream((core,), PACKETS, (bts, target))
        answer = self.agent.answer(transaction)
        self.assertEqual((answer["code"], answer["rtp_port"]), (200, first["rtp_port"]))
        stream((core,), PACKETS, (bts, target))
        self.gateway.settled()
        wait_received(target, len(core.sent) - len(bts.received))
        heard = [packet.sequence for packet in bts.packets() + target.packets()]
        self.assertEqual(heard, [Packet(data).sequence for data in core.sent])
        self.assertGreaterEqual(len(target.received), PACKETS)
        self.assertGreaterEqual(len(bts.received), PACKETS)
        self.flow((target, core), (bts,))
        self.assert_heard(core, target, 98)
        self.assert_heard(target, core, 112)
        self.assert_silent(bts)

    def test_modes(self):
        """Each mode lets through what its name says, and changes at once."""
        (first, bts), (second, core) = self.amr_call()
        for mode, receives, sends in (
            ("recvonly", False, True),
            ("sendonly", True, False),
            ("sendrecv", True, True),
        ):
            with self.subTest(mode):
                self.modify(first, mode=mode)
                self.flow((bts, core))
                if receives:
                    self.assert_heard(core, bts, 98)
                else:
                    self.assert_silent(bts)
                if sends:
                    self.assert_heard(bts, core, 112)
                else:
                    self.assert_silent(core)
        self.modify(first, mode="loopback")
        self.flow((bts,), (core,))
        self.assert_heard(bts, bts, 98)
        self.assert_silent(core)

    def test_one_leg_is_deleted(self):
        """The other stays, and a new one takes the place."""
        (first, bts), (second, core) = self.amr_call()
        answer = self.agent.command("dlcx", second["endpoint"], call=5, id=second["id"])
        self.assertEqual((answer["code"], answer["comment"]), (250, "OK"))
        self.assertIn("P: PS=0, OS=0, PR=0, OR=0", answer["body"])
        self.assertEqual(self.connections(self.gateway), 1)
        other = self.peer(112, AMR_FRAME)
        self.leg(first["endpoint"], other, [AMR], octet_aligned=True)
        self.flow((bts, other), (core,))
        self.assert_heard(bts, other, 112)
        self.assert_heard(other, bts, 98)
        octets = PACKETS * (RTP_HEADER_BYTES + len(AMR_FRAME))
        answer = self.agent.command("dlcx", first["endpoint"], call=5, id=first["id"])
        self.assertIn(f"P: PS={PACKETS}, OS={octets}", answer["body"])

    def test_state_machine_of_an_endpoint(self):
        """What osmo-bsc does in a call: two CRCX at once, MDCX when the peers are known."""
        bts, core = self.peer(110, b"\xc0" + bytes(30)), self.peer(110, b"\xc0" + bytes(30))
        machine = self.agent.endpoint()
        self.addCleanup(machine.clear)
        legs = {}
        for name, peer in (("bts", bts), ("core", core)):
            machine.request(name, "crcx", call=9, ptime=20, codecs=[EFR])
        for name in ("bts", "core"):
            legs[name] = machine.result(name)
            self.assert_leg(legs[name], self.gateway, UNKNOWN_PEER)
        self.assertEqual(legs["bts"]["endpoint"], legs["core"]["endpoint"])
        for name, peer in (("bts", bts), ("core", core)):
            leg = machine.ask(
                name,
                "mdcx",
                call=9,
                ptime=20,
                codecs=[EFR],
                mode="sendrecv",
                address=peer.address,
                rtp_port=peer.port,
            )
            self.assert_leg(leg, self.gateway)
            self.assertEqual(leg["id"], legs[name]["id"])
            peer.connect(leg["rtp_port"])
        self.flow((bts, core))
        self.assert_heard(bts, core, 110)
        self.assert_heard(core, bts, 110)

    def test_errors(self):
        """The library sees the code of each refusal, and nothing of the call has changed."""
        (first, bts), (second, core) = self.amr_call()
        endpoint, leg = first["endpoint"], first["id"]
        for code, verb, name, words in (
            (500, "crcx", "rtpbridge/fff@mgw", {"call": 5, "mode": "recvonly"}),
            (500, "auep", "rtpbridge/1@elsewhere", {}),
            (500, "crcx", "ds/e1-9/s-1/su16-0@mgw", {"call": 5, "mode": "recvonly"}),
            (400, "crcx", endpoint, {"call": 6, "mode": "recvonly"}),
            (515, "mdcx", endpoint, {"call": 5, "id": "ABCDEF", "mode": "recvonly"}),
            (516, "mdcx", endpoint, {"call": 6, "id": leg, "mode": "recvonly"}),
            (516, "dlcx", endpoint, {"call": 6, "id": leg}),
            (515, "dlcx", "rtpbridge/12c@mgw", {"call": 5}),
        ):
            with self.subTest(verb=verb, endpoint=name):
                answer = self.agent.command(verb, name, **words)
                self.assertEqual(answer["code"], code, answer["body"])
                self.assertNotEqual(answer["comment"], "")
        self.flow((bts, core))
        self.assert_heard(bts, core, 112)
        self.assert_heard(core, bts, 98)

    def test_call_ids_of_an_msc(self):
        """X-Osmo-IGN, which a BSC sends whose MSC makes call ids up: any other is taken."""
        words = {"mode": "recvonly", "ptime": 20, "codecs": [PCMA]}
        first = self.agent.command("crcx", ALL, call=5, ignore_call=True, **words)
        for call in (6, 7):
            answer = self.agent.command(
                "crcx", first["endpoint"], call=call, ignore_call=True, **words
            )
            self.assertEqual(answer["code"], 200, answer["body"])
        answer = self.agent.command("dlcx", first["endpoint"], call=8, id=first["id"])
        self.assertEqual(answer["code"], 250, answer["body"])

    def test_audit(self):
        """AUEP, which later versions send as a keep-alive, is answered."""
        self.assertEqual(self.agent.command("auep", "null@mgw")["code"], 200)

    def test_restart_in_progress(self):
        """RSIP of the library, which names no method, is answered."""
        (first, _), _ = self.amr_call()
        self.assertEqual(self.agent.command("rsip", first["endpoint"])["code"], 200)


class ManyClientsTest(ClientCase, unittest.TestCase):
    """Several clients of one gateway."""

    def test_many_calls_at_once(self):
        """Clients that don't wait for each other get connections and ports of their own."""
        calls = 100
        with Gateway() as gateway, MgcpClients() as clients:
            agents = [clients.client(gateway.address, gateway.port) for _ in range(4)]
            machines = [agents[number % 4].endpoint() for number in range(calls)]
            for number, machine in enumerate(machines):
                for side in ("one", "other"):
                    machine.request(
                        side,
                        "crcx",
                        call=number,
                        ptime=20,
                        codecs=[PCMA],
                        address="127.0.0.1",
                        rtp_port=4000,
                    )
            legs = [[machine.result(side) for side in ("one", "other")] for machine in machines]
            for pair in legs:
                self.assertEqual(pair[0]["endpoint"], pair[1]["endpoint"])
            self.assertEqual(len({one["endpoint"] for one, _ in legs}), calls)
            self.assertEqual(len({leg["rtp_port"] for pair in legs for leg in pair}), 2 * calls)
            self.assertEqual(self.connections(gateway), 2 * calls)
            for machine in machines[::2]:
                machine.clear()
            wait_for(lambda: self.connections(gateway) == calls, "half of the calls have ended")
            self.assertEqual(agents[0].command("dlcx", ALL)["code"], 200)
            self.assertEqual(self.connections(gateway), 0)
            self.assertTrue(
                all(udp_port_is_free("127.0.0.1", leg["rtp_port"]) for pair in legs for leg in pair)
            )

    def test_no_endpoint_is_left(self):
        """The state machine gives up, and another works once an endpoint is free again."""
        with Gateway({"endpoints.count": 2}) as gateway, MgcpClients() as clients:
            agent = clients.client(gateway.address, gateway.port)
            leg = {"call": 1, "codecs": [PCMA], "ptime": 20}
            machines = [agent.endpoint() for _ in range(3)]
            for machine in machines[:2]:
                machine.ask("one", "crcx", **leg)
            machines[2].request("one", "crcx", **leg)
            clients.expect(event="gone", name=machines[2].name)
            self.assertEqual(agent.command("crcx", ALL, mode="recvonly", **leg)["code"], 403)
            machines[0].clear()
            self.wait_connections(gateway, 1)
            machine = agent.endpoint()
            machine.ask("one", "crcx", **leg)
            machine.clear()
            machines[1].clear()
            self.wait_empty(gateway)

    def wait_connections(self, gateway, number):
        wait_for(lambda: self.connections(gateway) == number, f"{number} connections")


class RestartTest(ClientCase, unittest.TestCase):
    """A gateway that ends and comes back on its port under a client that lives on."""

    def test_restart_in_the_middle_of_a_call(self):
        """Commands for the old call are refused, new calls work, on the client's old socket."""
        ports = PortRange(2)
        self.addCleanup(ports.close)
        settings = {"mgcp.port": ports.first}
        leg = {"call": 1, "codecs": [PCMA], "ptime": 20, "mode": "recvonly"}
        with MgcpClients() as clients:
            with Gateway(settings, backend="io_uring") as gateway:
                agent = clients.client(gateway.address, gateway.port)
                old = agent.command("crcx", ALL, **leg)
                self.assert_created(old, gateway, UNKNOWN_PEER)
                machine = agent.endpoint()
                machine.ask("one", "crcx", **leg)
            unheard = agent.send("mdcx", old["endpoint"], id=old["id"], **leg)
            with Gateway(settings, backend="poll") as gateway:
                self.assertIsNone(agent.answer(unheard, 0.2))
                answer = agent.command("mdcx", old["endpoint"], id=old["id"], **leg)
                self.assertEqual(answer["code"], 400)
                answer = agent.command("dlcx", old["endpoint"], call=1, id=old["id"])
                self.assertEqual(answer["code"], 515)
                machine.request("one", "mdcx", address="127.0.0.1", rtp_port=4000, **leg)
                clients.expect(event="gone", name=machine.name)
                self.assertEqual(agent.command("dlcx", ALL)["code"], 200)
                new = agent.command("crcx", ALL, **leg)
                self.assert_created(new, gateway, UNKNOWN_PEER)
                other = agent.endpoint()
                self.assert_leg(other.ask("one", "crcx", **leg), gateway, UNKNOWN_PEER)
                other.clear()
                answer = agent.command("dlcx", new["endpoint"], call=1, id=new["id"])
                self.assertEqual(answer["code"], 250)
                self.wait_empty(gateway)


runner.for_each_backend(globals(), Calls)
del Calls, ClientCase

if __name__ == "__main__":
    runner.main()

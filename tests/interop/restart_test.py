"""Calls that outlive the gateway's process: kill -9, stop and start, take-over. And drain.

MGW_PROGRAM is the gateway, RTPLOAD_PROGRAM the load generator. MGW_RESTART_CALLS: calls under load,
8 if it is not set; with more the figures of each case are printed, and what an agent beside the
load saw of the gateway.
"""

import os
import signal
import socket
import subprocess
import unittest

from support import mgcp, runner
from support.agent_watch import AgentWatch
from support.gateway import PROGRAM, Gateway
from support.load import Load, fault_counts
from support.ports import free_udp_port
from support.rtp import Packet, Peer, rtp_packet
from support.service_manager import KeepingManager, passing
from support.waiting import measure_for, wait_for

CALLS = int(os.environ.get("MGW_RESTART_CALLS", "8"))
SECONDS = 4 if CALLS < 100 else 10
PACKETS_PER_SECOND = 50
MANY = CALLS >= 100


def end_child(process):
    """Ends a child that may have ended."""
    try:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
    except (ProcessLookupError, ChildProcessError):
        pass


class RestartCase(unittest.TestCase):
    """A gateway that can be started again with the same configuration."""

    def start(self, settings=None, **options):
        ports = max(1000, 4 * CALLS + 200)
        port = free_udp_port()
        gateway = Gateway(
            {"mgcp.port": port, "endpoints.count": CALLS + 20, **(settings or {})},
            ports=ports,
            **options,
        )
        self.addCleanup(gateway.kill)
        return gateway

    def journal(self):
        """Settings with a journal in a directory of its own."""
        directory = runner.temporary_directory(self)
        return {"journal.directory": os.path.join(directory, "journal")}

    def agent(self, gateway):
        agent = mgcp.Agent(gateway.address, gateway.port)
        self.addCleanup(agent.close)
        return agent

    def peer(self):
        peer = Peer()
        self.addCleanup(peer.close)
        return peer

    def load(self, gateway, seconds=SECONDS, options=()):
        load = Load(
            gateway.address, gateway.port, "--calls", CALLS, "--seconds", seconds,
            "--rate", 500, "--drain-ms", 1000, "--max-loss", 1, "--domain", "mgw", *options,
        )  # fmt: skip
        self.addCleanup(load.kill)
        wait_for(
            lambda: gateway.metrics().total("mgw_connections") == 2 * CALLS, "all calls are up", 30
        )
        return load

    def judge(self, title, load, gap_s, watch=None):
        """No packet astray, and no more lost than a gap of that length explains."""
        status, result = load.finish()
        seen = watch.finish() if watch else []
        figures = {name: result[name] for name in ("calls", "sent", "received", "lost")}
        gap_ms = 1000 * result["lost"] / (2 * CALLS * PACKETS_PER_SECOND)
        if MANY:
            print(f"{title}: {figures}, {fault_counts(result)}, as if the media had stood still "
                  f"for {gap_ms:.0f} ms")  # fmt: skip
            print("\n".join(f"  agent: {line}" for line in seen), flush=True)
        self.assertEqual(set(fault_counts(result).values()), {0}, result)
        self.assertLessEqual(gap_ms, 1000 * gap_s, figures)
        if gap_s <= 2:  # else the gateway ended before the load, whose DLCX fail
            self.assertEqual(status, 0, f"{load.errors} {figures}")
        return result

    def watch(self):
        """An agent beside the load; it begins with at()."""
        watch = AgentWatch()
        self.addCleanup(watch.__exit__)
        return watch

    @staticmethod
    def kill(gateway):
        gateway.process.kill()
        gateway.process.wait()

    @staticmethod
    def again(gateway, *arguments, program=None):
        """The gateway starts again, or its successor does; the log is a new one."""
        gateway.log_path += "+"
        gateway.start(None, [*(program or [PROGRAM]), *arguments], None)

    def call(self, agent):
        """A call of two peers: (endpoint, answers, peers)."""
        peers = [self.peer(), self.peer()]
        answers = []
        for peer in peers:
            body = mgcp.sdp(peer.address, peer.port, [(0, "PCMU/8000")])
            endpoint = answers[0].endpoint if answers else "rtpbridge/*@mgw"
            answers.append(agent.crcx(endpoint, mode="sendrecv", options="p:20, a:PCMU", body=body))
            self.assertEqual(answers[-1].code, 200)
            peer.connect(answers[-1].rtp_port)
        return answers[0].endpoint, answers, peers

    def exchange(self, peers, packets):
        """Each peer sends, the other one gets all of it, under the sender's numbers."""
        for source, target in (peers, peers[::-1]):
            for _ in range(packets):
                source.send()
            target.rtp.settimeout(5)
            got = [Packet(target.rtp.recv(2048)) for _ in range(packets)]
            self.assertEqual([packet.data for packet in got], source.sent[-packets:])


class CrashTest(RestartCase):
    """kill -9, and the gateway is started again."""

    def test_calls_go_on_from_the_journal_alone(self):
        watch = self.watch()
        gateway = self.start({**self.journal(), "mgcp.notify-entity": watch.entity})
        load = self.load(gateway)
        watch.at(gateway)
        measure_for(1.2)
        watch.note("kill -9, and the gateway is started again")
        self.kill(gateway)
        self.again(gateway)
        restored = gateway.metrics().total("mgw_restored_connections_total")
        self.assertIn(restored - 2 * CALLS, (0, 1))  # the watch may have one
        self.judge("kill -9, journal", load, 2, watch)
        wait_for(lambda: gateway.metrics().total("mgw_connections") == 0, "the calls have ended")

    def test_no_packet_is_lost_when_the_manager_keeps_the_sockets(self):
        with KeepingManager() as manager:
            watch = self.watch()
            gateway = self.start(
                {**self.journal(), "mgcp.notify-entity": watch.entity},
                environment=manager.environment(),
            )
            load = self.load(gateway)
            measure_for(1.2)
            self.assertEqual(len(manager.kept()), 4 * CALLS)
            watch.at(gateway)
            watch.note("kill -9, and the gateway is started again with the sockets")
            self.kill(gateway)
            command, gateway.descriptors = passing(PROGRAM, manager.kept())
            self.again(gateway, program=command)
            self.judge("kill -9, sockets kept", load, 0.2, watch)
            wait_for(lambda: not manager.kept(), "nothing is kept any more")
            gateway.stop()

    def test_what_was_answered_is_there(self):
        gateway = self.start(self.journal())
        agent = self.agent(gateway)
        endpoint, answers, peers = self.call(agent)
        self.exchange(peers, 20)
        measure_for(1.5)  # so that it is known where the media stand
        modification = agent.text("MDCX", endpoint, ["C: 1226", f"I: {answers[1].connection}",
                                                     "M: sendrecv"])  # fmt: skip
        answer = agent.exchange(modification)
        self.kill(gateway)
        self.again(gateway)
        self.assertEqual(agent.exchange(modification), answer, "a repeated command")
        audit = agent.command("AUEP", endpoint, ["F: I"])
        self.assertEqual(audit.code, 200)
        self.exchange(peers, 20)
        deleted = agent.dlcx(endpoint, connection=answers[0].connection)
        self.assertEqual(deleted.code, 250)
        self.assertIn("PS=40,", deleted.parameters["P"])
        self.assertIn("PR=40,", deleted.parameters["P"])
        self.assertIn("PL=0,", deleted.parameters["P"])
        self.assertEqual(agent.dlcx(endpoint).code, 200)
        gateway.stop()

    def test_stream_with_an_ssrc_of_the_gateway_goes_on_under_its_numbers(self):
        gateway = self.start({**self.journal(), "rtp.patch.ssrc": "true"})
        agent = self.agent(gateway)
        _, _, peers = self.call(agent)
        source, target = peers
        target.rtp.settimeout(5)
        numbers = []

        def send(ssrc, sequence):
            source.rtp.send(rtp_packet(0, sequence, sequence * 160, b"speech", ssrc))
            numbers.append(Packet(target.rtp.recv(2048)))

        send(1, 100)
        send(2, 7000)
        send(2, 7001)
        measure_for(1.5)
        self.kill(gateway)
        self.again(gateway)
        send(2, 7002)
        send(2, 7003)
        self.assertEqual({packet.ssrc for packet in numbers}, {1})
        self.assertEqual([packet.sequence for packet in numbers], [100, 101, 102, 103, 104])
        gateway.stop()

    def test_a_damaged_journal_and_a_foreign_one_cost_no_new_call(self):
        settings = self.journal()
        gateway = self.start(settings)
        path = os.path.join(settings["journal.directory"], "journal")
        agent = self.agent(gateway)
        for damage in (b"", b"something else entirely", b"mgwstate\xff\xff\xff\xff" + bytes(20)):
            agent.dlcx("rtpbridge/*@mgw")
            self.kill(gateway)
            with open(path, "wb") as file:
                file.write(damage)
            self.again(gateway)
            said = any("octets are of use" in line for line in gateway.log_lines("journal: "))
            self.assertEqual(said, bool(damage), gateway.log())
            self.call(agent)
            self.kill(gateway)
            self.again(gateway)
            self.assertEqual(gateway.metrics().total("mgw_restored_connections_total"), 2)
        gateway.stop()


class StopTest(RestartCase):
    """SIGTERM, and the gateway is started again: systemctl restart."""

    def test_calls_go_on(self):
        with KeepingManager() as manager:
            watch = self.watch()
            gateway = self.start(
                {**self.journal(), "mgcp.notify-entity": watch.entity},
                environment=manager.environment(),
            )
            load = self.load(gateway)
            watch.at(gateway)
            measure_for(0.5)
            watch.note("SIGTERM, and the gateway is started again with the sockets")
            gateway.process.send_signal(signal.SIGTERM)
            self.assertEqual(gateway.process.wait(10), 0)
            command, gateway.descriptors = passing(PROGRAM, manager.kept())
            self.again(gateway, program=command)
            self.judge("SIGTERM, sockets kept", load, 0.2, watch)
            gateway.stop()


class TakeOverTest(RestartCase):
    """mgw --take-over while the gateway runs."""

    def start_with_socket(self, settings=None, **options):
        directory = runner.temporary_directory(self)
        self.socket = os.path.join(directory, "take-over")
        return self.start({"take-over.socket": self.socket, **(settings or {})}, **options)

    def take_over(self, gateway):
        predecessor = gateway.process
        self.again(gateway, "--take-over")
        self.assertEqual(predecessor.wait(10), 0)
        return predecessor

    def test_successor_goes_on_without_a_lost_packet(self):
        watch = self.watch()
        gateway = self.start_with_socket({"mgcp.notify-entity": watch.entity})
        load = self.load(gateway)
        watch.at(gateway)
        measure_for(0.5)
        watch.note("mgw --take-over")
        self.take_over(gateway)
        watch.note("the old process has ended")
        if MANY:
            print("\n".join(gateway.log_lines("taken over")))
        restored = gateway.metrics().total("mgw_restored_connections_total")
        self.assertIn(restored - 2 * CALLS, (0, 1))  # the watch may have one
        self.judge("take-over", load, 0.2, watch)
        wait_for(lambda: gateway.metrics().total("mgw_connections") == 0, "the calls have ended")
        gateway.stop()

    def test_statistics_answers_and_journal_go_over(self):
        gateway = self.start_with_socket(self.journal())
        agent = self.agent(gateway)
        endpoint, answers, peers = self.call(agent)
        self.exchange(peers, 20)
        modification = agent.text("MDCX", endpoint, ["C: 1226", f"I: {answers[1].connection}",
                                                     "M: sendrecv"])  # fmt: skip
        answer = agent.exchange(modification)
        self.take_over(gateway)
        self.assertEqual(agent.exchange(modification), answer, "a repeated command")
        self.exchange(peers, 20)
        self.take_over(gateway)
        self.exchange(peers, 20)
        measure_for(1.5)
        self.kill(gateway)
        self.again(gateway)
        self.exchange(peers, 20)
        deleted = agent.dlcx(endpoint, connection=answers[0].connection)
        self.assertIn("PS=80,", deleted.parameters["P"])
        self.assertIn("PR=80,", deleted.parameters["P"])
        self.assertIn("PL=0,", deleted.parameters["P"])
        gateway.stop()

    def test_gateway_starts_its_own_successor(self):
        gateway = self.start_with_socket()
        agent = self.agent(gateway)
        endpoint, answers, peers = self.call(agent)
        self.exchange(peers, 10)
        gateway.process.send_signal(signal.SIGUSR2)
        told = gateway.told("is started as successor, process ")
        successor = int(told[0].rsplit(" ", 1)[1])
        self.addCleanup(end_child, successor)
        self.assertEqual(gateway.process.wait(10), 0)
        self.exchange(peers, 10)
        deleted = agent.dlcx(endpoint, connection=answers[0].connection)
        self.assertIn("PS=20,", deleted.parameters["P"])
        # A child of the test, as its predecessor was: not of a process that has ended.
        os.kill(successor, signal.SIGTERM)
        self.assertEqual(os.waitpid(successor, 0)[1], 0)
        gateway.kill()

    def test_gateway_without_a_socket_for_it_starts_no_successor(self):
        gateway = self.start()
        gateway.process.send_signal(signal.SIGUSR2)
        gateway.told("no successor is started")
        gateway.stop()

    def test_gateway_serves_on_when_its_successor_fails(self):
        gateway = self.start_with_socket()
        agent = self.agent(gateway)
        endpoint, answers, peers = self.call(agent)
        self.exchange(peers, 10)
        for last in (b"", b"h", b"r"):  # the message after which the successor is gone
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as successor:
                successor.connect(self.socket)
                if last:
                    successor.send(b"h\x01\x04test")
                if last == b"r":
                    while successor.recv(65536)[:1] != b"e":
                        pass
                    successor.send(b"r")
                    while successor.recv(65536)[:1] != b"e":
                        pass
            wait_for(lambda: agent.auep().code == 200, "the gateway answers")
            self.exchange(peers, 10)
        deleted = agent.dlcx(endpoint, connection=answers[0].connection)
        self.assertIn("PS=40,", deleted.parameters["P"])
        gateway.stop()

    def test_older_format_is_refused_and_no_predecessor_is_said(self):
        gateway = self.start_with_socket()
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as successor:
            successor.connect(self.socket)
            successor.send(b"h\x00\x04test")
            self.assertIn(b"reads states up to format 0", successor.recv(65536))
        gateway.stop()
        command = [PROGRAM, "--take-over", "--set", f"take-over.socket={self.socket}"]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(ended.returncode, 1)
        self.assertIn("no gateway to take over from", ended.stderr)


class DrainTest(RestartCase):
    """SIGTERM with stop.on-sigterm: drain, under load."""

    def drain(self, deadline_s, seconds):
        watch = self.watch()
        gateway = self.start(
            {
                "stop.on-sigterm": "drain",
                "stop.drain-deadline-s": deadline_s,
                "mgcp.notify-entity": watch.entity,
            }
        )
        # Its DLCX may find no gateway any more.
        load = self.load(gateway, seconds, ("--mgcp-timeout", 2))
        watch.at(gateway)
        measure_for(0.3)
        watch.note(f"SIGTERM, which begins to drain for {deadline_s} s")
        gateway.process.send_signal(signal.SIGTERM)
        return gateway, load, watch

    def ends(self, gateway, watch):
        self.assertEqual(gateway.process.wait(60), 0)
        watch.note("the gateway has ended, status 0")
        return gateway.log()

    def test_calls_that_end_in_time_lose_nothing(self):
        gateway, load, watch = self.drain(60, 1.5 if not MANY else SECONDS)
        log = self.ends(gateway, watch)
        self.assertNotIn("time is up", log)
        self.assertIn("RSIP: RM: graceful RD: 60", "".join(watch.lines))
        self.judge("drain, calls end before the deadline", load, 0, watch)

    @unittest.skipUnless(MANY, "the deadline is in drain_test, for one call")
    def test_at_the_deadline_the_rest_is_ended(self):
        gateway, load, watch = self.drain(3, SECONDS)
        self.assertIn(f"time is up: {CALLS} calls", self.ends(gateway, watch))
        self.judge(f"drain, deadline of 3 s, calls of {SECONDS} s", load, SECONDS - 3, watch)


if __name__ == "__main__":
    runner.main()

"""The gateway under a service manager: readiness, status, watchdog, passed sockets, reload.

MGW_PROGRAM is the gateway.
"""

import os
import signal
import socket
import unittest

from support import mgcp, runner
from support.gateway import PROGRAM, Gateway, StartError
from support.ports import free_tcp_port
from support.service_manager import ServiceManager, StoppedThread, passing
from support.waiting import wait_for

WATCHDOG_US = 400_000
FED = {"WATCHDOG": "1"}


class ServiceCase(unittest.TestCase):
    """A stand-in for the service manager."""

    def setUp(self):
        self.manager = ServiceManager()
        self.addCleanup(self.manager.__exit__)

    def start(self, settings=None, watchdog_us=0, **options):
        gateway = Gateway(settings, environment=self.manager.environment(watchdog_us), **options)
        self.addCleanup(gateway.kill)
        return gateway

    def agent(self, address, port):
        agent = mgcp.Agent(address, port)
        self.addCleanup(agent.close)
        return agent


class NotificationTest(ServiceCase):
    """What the service manager is told."""

    def test_ready_when_all_sockets_are_bound(self):
        vty = free_tcp_port()
        gateway = self.start({"vty.enabled": "true", "vty.port": vty})
        self.assertEqual(self.manager.next(), {"READY": "1"})
        socket.create_connection(("127.0.0.1", vty)).close()
        self.assertEqual(gateway.metrics().total("mgw_connections"), 0)
        self.assertIn("0 connections", self.manager.next()["STATUS"])
        agent = self.agent(gateway.address, gateway.port)
        agent.crcx("rtpbridge/*@mgw")
        told = self.manager.until(lambda message: "1 connections" in message.get("STATUS", ""))
        self.assertNotIn(FED, told, "nobody watches")
        gateway.stop()
        self.assertIn({"STOPPING": "1"}, self.manager.waiting())

    def test_a_drain_may_take_longer_than_a_stop(self):
        gateway = self.start({"stop.on-sigterm": "drain", "stop.drain-deadline-s": 60})
        agent = self.agent(gateway.address, gateway.port)
        call = agent.crcx("rtpbridge/*@mgw")
        self.manager.until(lambda message: "1 connections" in message.get("STATUS", ""))
        os.kill(gateway.pid, signal.SIGTERM)
        for _ in range(2):  # again and again, until the call ends
            self.manager.until(lambda message: message == {"EXTEND_TIMEOUT_USEC": "15000000"})
        self.assertEqual(agent.dlcx(call.endpoint).code, 200)
        self.manager.until(lambda message: message == {"STOPPING": "1"})

    def test_watchdog_is_fed_while_all_workers_make_progress(self):
        gateway = self.start({"workers.count": 2}, WATCHDOG_US)
        for _ in range(3):  # without any packet to wake a worker
            self.manager.until(lambda message: message == FED)
        with StoppedThread(gateway.pid, "mgw-worker-1"):
            self.manager.until(
                lambda message: message.get("STATUS") == "worker 1 makes no progress"
            )
            agent = self.agent(gateway.address, gateway.port)
            for _ in range(20):
                agent.auep()
            self.assertNotIn(FED, self.manager.waiting())
        self.manager.until(lambda message: message == FED)
        self.manager.until(lambda message: "connections" in message.get("STATUS", ""))
        self.assertEqual(len(gateway.told("worker 1 makes no progress")), 1)
        gateway.stop()


class SocketActivationTest(ServiceCase):
    """Sockets that the service manager has bound."""

    def passed(self, sockets, settings=None):
        command, descriptors = passing(PROGRAM, sockets)
        return self.start(settings, program=command, descriptors=descriptors)

    def test_the_gateway_serves_the_passed_socket(self):
        bound = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        other = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        taken = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        for each in (bound, other, taken):
            self.addCleanup(each.close)
            each.bind(("127.0.0.1", 0))
        agent = self.agent(*bound.getsockname())
        agent.send(agent.text("AUEP", "null@mgw", transaction=7))  # before there is a gateway
        gateway = self.passed(
            {"other": other, "mgcp": bound}, {"mgcp.port": taken.getsockname()[1]}
        )
        self.assertEqual(gateway.port, bound.getsockname()[1])
        self.assertTrue(agent.receive().startswith("200 7 OK"))
        self.assertEqual(len(gateway.told('"other" has no use')), 1)
        gateway.stop()
        bound.getsockname()  # still the service manager's

    def test_a_socket_of_another_kind_is_refused(self):
        stream = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(stream.close)
        with self.assertRaises(StartError) as refused:
            self.passed({"mgcp": stream})
        self.assertIn(
            'the socket "mgcp" of the service manager is of no use', str(refused.exception)
        )


class ReloadTest(ServiceCase):
    """SIGHUP: checked whole, applied where it can be, with a list of what needs a restart."""

    def write(self, text):
        with open(self.gateway.config_path, "w", encoding="utf-8") as config:
            config.write(text)

    def reload(self):
        """Sends SIGHUP; returns the status line that the service manager has then."""
        self.manager.waiting()
        self.gateway.signal(signal.SIGHUP)
        started = self.manager.until(lambda message: "RELOADING" in message)[-1]
        self.assertGreater(int(started["MONOTONIC_USEC"]), 0)
        self.manager.until(lambda message: message == {"READY": "1"})

    def domain_works(self, domain):
        agent = self.agent(self.gateway.address, self.gateway.port)
        return agent.auep(f"rtpbridge/1@{domain}").code == 200

    def test_reload(self):
        log = os.path.join(self.manager.directory.name, "mgw.log")
        settings = (
            "log:\n  targets:\n    - type: stderr\n      level: notice\n"
            f"    - type: file\n      destination: {log}\n"
        )
        self.gateway = self.start({"endpoints.count": 7}, yaml_config=settings)
        self.manager.until(lambda message: message == {"READY": "1"})
        with self.subTest("what can be applied is, the rest is told"):
            os.rename(log, log + ".1")
            self.write(settings + "mgcp:\n  domain: other\nvty:\n  enabled: true\n")
            self.reload()
            self.assertTrue(self.domain_works("other"))
            self.assertFalse(self.domain_works("mgw"))
            wait_for(lambda: self.gateway.log_lines("configuration: changed: mgcp.domain"), "told")
            wait_for(
                lambda: self.gateway.log_lines(
                    "configuration: takes effect at the next start only: vty.enabled"
                ),
                "told",
            )
            wait_for(lambda: os.path.exists(log), "the log file is opened anew")
        with self.subTest("a file with a fault changes nothing"):
            self.write(settings + "mgcp:\n  domain: third\n  port: 99999\n")
            self.reload()
            self.assertTrue(self.domain_works("other"))
            where = f"{self.gateway.config_path}:9"
            wait_for(
                lambda: [
                    line for line in self.gateway.log_lines("nothing is changed") if where in line
                ],
                "file and line are told",
            )
            told = self.manager.until(lambda message: "not reloaded" in message.get("STATUS", ""))
            self.assertIn(where, told[-1]["STATUS"])
        with self.subTest("a file that is gone changes nothing"):
            os.unlink(self.gateway.config_path)
            self.reload()
            self.assertTrue(self.domain_works("other"))
        with self.subTest("and then it is well again"):
            self.write(settings)
            self.reload()
            self.assertTrue(self.domain_works("mgw"))
            told = self.manager.until(lambda message: "STATUS" in message)
            self.assertNotIn("not reloaded", told[-1]["STATUS"])
        self.gateway.stop()


if __name__ == "__main__":
    runner.main()

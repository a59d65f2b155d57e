"""A gateway that goes out of service: by mgwctl, by SIGTERM, at a deadline.

MGW_PROGRAM is the gateway, MGWCTL_PROGRAM the control client.
"""

import json
import os
import re
import signal
import subprocess
import unittest

from support import mgcp, runner
from support.call import Call, wait_received
from support.gateway import STOP_SECONDS, Gateway
from support.ports import free_tcp_port
from support.restart_listener import RestartListener
from support.rtp import stream
from support.waiting import PATIENCE, wait_for

MGWCTL = os.environ.get("MGWCTL_PROGRAM", "")
PCMA = ((8, "PCMA/8000"),)


class DrainTest(unittest.TestCase):
    """Each with one call whose media are looked at."""

    def start(self, **settings):
        self.agent_side = RestartListener()
        self.ctrl = f"127.0.0.1:{free_tcp_port()}"
        self.gateway = Gateway(
            {
                "mgcp.notify-entity": self.agent_side.entity,
                "ctrl.enabled": "true",
                "ctrl.port": self.ctrl.rpartition(":")[2],
                **{
                    name.replace("__", ".").replace("_", "-"): value
                    for name, value in settings.items()
                },
            }
        )
        self.addCleanup(self.gateway.kill)
        self.addCleanup(self.agent_side.socket.close)
        self.agent = mgcp.Agent(self.gateway.address, self.gateway.port)
        self.addCleanup(self.agent.close)
        self.agent_side.wait_for("RM: restart")
        self.call = Call(self.agent, "rtpbridge/1@mgw")
        self.legs = [self.call.leg(PCMA), self.call.leg(PCMA)]
        for leg in self.legs:
            self.addCleanup(leg.peer.close)

    def mgwctl(self, *arguments):
        done = subprocess.run(
            [MGWCTL, "--json", *arguments, "--ctrl", self.ctrl],
            capture_output=True,
            text=True,
            timeout=60 * PATIENCE,
            check=False,
        )
        return done.returncode, json.loads(done.stdout)

    def media_flows(self, packets=20):
        peers = [leg.peer for leg in self.legs]
        before = [len(peer.received) for peer in peers]
        stream(peers, packets)
        for peer, already in zip(peers, before):
            wait_received(peer, already + packets)

    def refuses_new_calls(self):
        self.assertEqual(self.agent.crcx("rtpbridge/*@mgw", call="77", mode="recvonly").code, 403)
        self.assertIn("draining", self.agent.auep().comment)
        self.assertEqual(self.gateway.metrics().total("mgw_draining"), 1)

    def ends(self):
        """The gateway ends by itself with status 0; its log."""
        self.assertEqual(self.gateway.process.wait(STOP_SECONDS * PATIENCE), 0)
        return self.gateway.log()

    def test_drain_and_undrain(self):
        """mgwctl drain refuses new calls, undrain takes it back; the gateway stays."""
        self.start()
        status, result = self.mgwctl("drain", "--deadline", "300")
        self.assertEqual((status, result["draining"], result["calls"]), (0, True, 1), result)
        self.refuses_new_calls()
        self.media_flows()
        self.assertEqual(
            self.mgwctl("undrain"), (0, {"draining": False, "end": "", "calls": 1, "over": False})
        )
        call = self.agent.crcx("rtpbridge/*@mgw", call="77", mode="recvonly")
        self.assertEqual(call.code, 200)
        self.assertEqual(self.gateway.metrics().total("mgw_draining"), 0)
        self.agent_side.wait_for("RM: restart", "RM: graceful RD: 300", "RM: cancel-graceful")
        self.agent.dlcx("rtpbridge/*@mgw")
        status, result = self.mgwctl("drain", "--stay", "--wait")
        self.assertEqual((status, result["over"], result["end"]), (0, True, "never"), result)
        self.gateway.stop()

    def test_waits_for_the_last_call(self):
        """mgwctl drain --wait: the call goes on, and the gateway ends when it is over."""
        self.start()
        waiting = subprocess.Popen(
            [MGWCTL, "--json", "drain", "--wait", "--ctrl", self.ctrl],
            stdout=subprocess.PIPE,
            text=True,
        )
        wait_for(lambda: "draining" in self.agent.auep().comment, "the drain begins")
        self.refuses_new_calls()
        self.media_flows()
        self.assertIsNone(waiting.poll())
        self.assertEqual(self.agent.dlcx("rtpbridge/1@mgw").code, 200)
        output, _ = waiting.communicate(timeout=STOP_SECONDS * PATIENCE)
        self.assertEqual((waiting.returncode, json.loads(output)["over"]), (0, True), output)
        self.assertIn("drained", self.ends())
        self.agent_side.wait_for("RM: restart", "RM: graceful", "RM: forced")

    def test_sigterm_drains(self):
        """With stop.on-sigterm: drain SIGTERM waits for the last call."""
        self.start(stop__on_sigterm="drain")
        self.gateway.signal(signal.SIGTERM)
        wait_for(lambda: "draining" in self.agent.auep().comment, "the drain begins")
        self.refuses_new_calls()
        self.media_flows()
        self.assertEqual(self.agent.dlcx("rtpbridge/1@mgw").code, 200)
        self.ends()

    def test_deadline(self):
        """At the deadline the calls that are left are ended, counted and told."""
        self.start(stop__on_sigterm="drain", stop__drain_deadline_s=1)
        self.gateway.signal(signal.SIGTERM)
        log = self.ends()
        self.assertRegex(log, re.compile("time is up: 1 calls with 2 connections are ended"))
        self.agent_side.wait_for("RM: restart", "RM: graceful RD: 1", "RM: forced")

    def test_second_signal_ends(self):
        """A second SIGTERM, as SIGINT, ends a gateway that drains."""
        for second in (signal.SIGTERM, signal.SIGINT):
            self.start(stop__on_sigterm="drain")
            self.gateway.signal(signal.SIGTERM)
            wait_for(lambda: "draining" in self.agent.auep().comment, "the drain begins")
            self.gateway.signal(second)
            self.assertIn("stopping with 2 connections", self.ends())


if __name__ == "__main__":
    runner.main()

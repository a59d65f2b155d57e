"""Osmocom's BSC and MSC with the gateway as their MGW, without a radio.

They reset its endpoints when they start and live through its restart. These versions speak to the
MGW on events only (start, calls, `mgw reconnect`): they have no keep-alive of their own.
MGW_PROGRAM is the gateway, SCTP_OVER_TCP what the daemons need on kernels without SCTP.
"""

import unittest

from support import mgcp, runner
from support.gateway import Gateway
from support.osmocom import Network, kernel_has_sctp, missing_programs
from support.ports import PortRange
from support.waiting import wait_for

RESET_ANSWERED = "Rx 200 1 OK"


@unittest.skipIf(missing_programs(), f"not installed: {', '.join(missing_programs())}")
class OsmocomNetwork(unittest.TestCase):
    """osmo-stp, osmo-hlr, osmo-msc and osmo-bsc on a loopback address of their own."""

    def setUp(self):
        # Held for the whole test: the gateway must find its port again after its restart.
        self.ports = PortRange(2)
        self.addCleanup(self.ports.close)
        if not kernel_has_sctp():
            print("this kernel has no SCTP: SIGTRAN runs over TCP")

    def gateway(self, backend):
        return Gateway({"mgcp.port": self.ports.first}, backend=backend)

    def resets(self, gateway):
        return gateway.metrics().total("mgw_mgcp_transactions_total", verb="DLCX", code="200")

    def occupy(self, gateway):
        """A call that nobody but a wildcarded DLCX will end."""
        agent = mgcp.Agent(gateway.address, gateway.port)
        for number in (1, 300):
            self.assertEqual(agent.crcx(f"rtpbridge/{number:x}@mgw").code, 200)
        agent.close()
        self.assertEqual(gateway.metrics().total("mgw_connections"), 2)

    def wait_reset(self, gateway, times):
        wait_for(lambda: self.resets(gateway) == times, f"{times} resets")
        self.assertEqual(gateway.metrics().total("mgw_connections"), 0)

    def assert_pool_is_up(self, network):
        [pool] = network["osmo-bsc"].commands("show mgw-pool")
        self.assertRegex(pool, r"MGW 0:mgw\s")
        self.assertRegex(pool, r"mgcp-client:\s+connected")
        self.assertRegex(pool, r"service:\s+unblocked")

    def test_start(self):
        """Each of BSC and MSC resets all endpoints when it starts; the network comes up."""
        with self.gateway("poll") as gateway, Network(gateway.address, gateway.port) as network:
            self.occupy(gateway)
            network.start_all()
            self.wait_reset(gateway, 2)
            self.assert_pool_is_up(network)
            for program in ("osmo-bsc", "osmo-msc"):
                self.assertIn("Sending DLCX to: rtpbridge/*@mgw", network[program].log())
                wait_for(
                    lambda daemon=network[program]: RESET_ANSWERED in daemon.log(),
                    f"{program} has its answer",
                )
            [running] = network["osmo-msc"].commands("show running-config")
            self.assertIn(f"mgw remote-port {gateway.port}", running)
            # The rest of the network is there as well: A interface and GSUP.
            wait_for(
                lambda: "READY" in network["osmo-msc"].commands("show bsc")[0],
                "the BSC is registered at the MSC",
                interval=0.1,
            )
            [hlr] = network["osmo-hlr"].commands("show gsup-connections")
            self.assertIn("MSC", hlr)
            transactions = gateway.metrics().labels("mgw_mgcp_transactions_total")
            self.assertEqual({labels["code"] for labels in transactions}, {"200"})

    def test_restart_of_the_gateway(self):
        """BSC and MSC live through it, and both reset the new gateway's endpoints."""
        with Network("127.0.0.1", self.ports.first) as network:
            with self.gateway("poll") as first:
                network.start_all()
                self.wait_reset(first, 2)
            bsc = network["osmo-bsc"]
            # Nobody is there: the kernel refuses the datagram, and the BSC goes on.
            bsc.commands("mgw 0 reconnect")
            wait_for(lambda: "Connection refused" in bsc.log(), "the BSC has met nobody")
            with self.gateway("io_uring") as second:
                self.occupy(second)
                bsc.commands("mgw 0 reconnect")
                self.wait_reset(second, 1)
                self.assert_pool_is_up(network)
                self.assertTrue(network["osmo-msc"].is_running())
                network["osmo-msc"].commands("show version")
                network["osmo-msc"].stop()
                self.occupy(second)
                network.start("osmo-msc")
                self.wait_reset(second, 2)


if __name__ == "__main__":
    runner.main()

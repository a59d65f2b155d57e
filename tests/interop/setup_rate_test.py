"""Thousands of call set-ups per second with an endpoint table that is nearly full.

MGW_PROGRAM is the gateway, RTPLOAD_PROGRAM the load generator. MGW_SETUP_RATE (2,000 calls per
second; 0: as many as go), MGW_SETUP_SECONDS (2). MGW_SETUP_JOURNAL=on measures each backend with a
journal, too. The times are printed; what is judged is that every command is answered with success.
"""

import os
import tempfile
import unittest

from support import runner
from support.gateway import Gateway
from support.load import Load

RATE = int(os.environ.get("MGW_SETUP_RATE", "2000"))
SECONDS = float(os.environ.get("MGW_SETUP_SECONDS", "2"))
IN_FLIGHT = 64
JOURNALS = (False, True) if os.environ.get("MGW_SETUP_JOURNAL") == "on" else (False,)
# Legs of calls that stay while others come and go: 95 % of the endpoints.
ENDPOINTS = 2000
HELD = ENDPOINTS * 95 // 100
# Two pairs of ports per call rest for this long: 2,000 pairs, beside those that are held.
SETTINGS = {"endpoints.count": ENDPOINTS, "rtp.port-quarantine-ms": 500}


class SetupRate(unittest.TestCase):
    """2,000 call set-ups per second, 64 transactions in flight, 95 % of the endpoints taken."""

    def test_all_answered(self):
        for backend in runner.BACKENDS:
            for journal in JOURNALS:
                self.measure(backend, journal)

    def measure(self, backend, journal):
        settings = dict(SETTINGS)
        if journal:
            # In memory, as /run is.
            directory = tempfile.TemporaryDirectory(prefix="mgw-journal-", dir="/dev/shm")
            self.addCleanup(directory.cleanup)
            settings["journal.directory"] = os.path.join(directory.name, "journal")
        name = f"{backend}{' with a journal' if journal else ''}"
        rate = ("--rate", RATE) if RATE else ()
        with self.subTest(name), Gateway(settings, backend, ports=22000) as gateway:
            load = Load(
                gateway.address,
                gateway.port,
                "--setup-only",
                *rate,
                "--seconds",
                SECONDS,
                "--in-flight",
                IN_FLIGHT,
                "--hold",
                HELD,
            )
            status, result = load.finish(120)
            setup = result["setup"]
            cpu = gateway.cpu_seconds() / setup["transactions"]
            print(
                f"{name}: {setup['transactions']} transactions, "
                f"{setup['per_second']:.0f}/s, {1e6 * cpu:.1f} us of CPU each, "
                f"p50 {setup['p50_us'] / 1e3:.2f} ms, "
                f"p99 {setup['p99_us'] / 1e3:.2f} ms (target 5 ms), "
                f"max {setup['max_us'] / 1e3:.2f} ms"
            )
            self.assertEqual(status, 0, load.errors)
            metrics = gateway.metrics()
            answered = metrics.total("mgw_mgcp_transaction_seconds_count")
            self.assertGreaterEqual(answered, setup["transactions"])
            for labels in metrics.labels("mgw_mgcp_transactions_total"):
                self.assertIn(labels["code"], ("200", "250"), metrics.text)
            self.assertEqual(metrics.total("mgw_connections"), 0)


if __name__ == "__main__":
    runner.main()

"""Calls over bad networks: delay, jitter, loss, reordering, a slow link.

What enters the gateway is compared with what leaves it, frame by frame, at the device in front of
it: it loses nothing, reorders nothing and invents nothing, whatever the network does.

MGW_PROGRAM is the gateway, RTPLOAD_PROGRAM the load generator. Skipped where no namespaces can be
made. The network is made bad by support/impairment.py, since not every kernel has netem.
"""

import json
import pathlib
import subprocess
import sys
import unittest

from support import runner
from support.impairment import PROFILES, Link, Profile
from support.load import fault_counts
from support.path_capture import compare
from support.waiting import PATIENCE

RUN = pathlib.Path(__file__).resolve().parent / "support" / "impaired_run.py"
CALLS, SECONDS = 10, 1.5


class Links(unittest.TestCase):
    """The network itself, on a clock that only these tests have."""

    def arrivals(self, profile, count=20_000, interval=0.001, octets=100):
        link = Link(profile, 7)
        return [link.arrival(number * interval, octets) for number in range(count)]

    def test_delay_and_jitter(self):
        arrivals = self.arrivals(Profile(delay_ms=50, jitter_ms=20))
        delays = [arrival - number * 0.001 for number, arrival in enumerate(arrivals)]
        self.assertGreaterEqual(min(delays), 0.05 - 1e-9)
        self.assertLess(max(delays), 0.07)
        self.assertNotEqual(arrivals, sorted(arrivals))
        ordered = self.arrivals(Profile(delay_ms=50, jitter_ms=20, in_order=True))
        self.assertEqual(ordered, sorted(ordered))

    def test_loss_and_reordering(self):
        lost = self.arrivals(Profile(loss=0.01)).count(None)
        self.assertTrue(140 < lost < 260, lost)
        arrivals = self.arrivals(Profile(delay_ms=30, reorder=0.01))
        early = sum(arrival < number * 0.001 + 0.03 for number, arrival in enumerate(arrivals))
        self.assertTrue(140 < early < 260, early)

    def test_the_same_seed_does_the_same(self):
        profile = Profile(delay_ms=10, jitter_ms=10, loss=0.1, reorder=0.1)
        self.assertEqual(self.arrivals(profile), self.arrivals(profile))

    def test_a_slow_link_is_slow_and_its_queue_is_bounded(self):
        # 100 octets every ms are 800 kbit/s.
        fast = self.arrivals(Profile(rate_kbit=900, queue=10))
        self.assertEqual(fast.count(None), 0)
        slow = self.arrivals(Profile(rate_kbit=400, queue=10))
        self.assertAlmostEqual(slow.count(None) / len(slow), 0.5, delta=0.01)
        arrived = [arrival for arrival in slow if arrival is not None]
        gaps = [later - sooner for sooner, later in zip(arrived, arrived[1:])]
        self.assertGreaterEqual(min(gaps), 0.002 - 1e-9)


class Captures(unittest.TestCase):
    """The comparison, on frames that never were on a network."""

    def frame(self, number, ssrc=1):
        rtp = bytes([0x80, 110]) + b"\0" * 6 + ssrc.to_bytes(4, "big") + number.to_bytes(4, "big")
        udp = b"\0\1\0\2" + (8 + len(rtp)).to_bytes(2, "big") + b"\0\0" + rtp
        return b"\0" * 12 + b"\x08\x00" + b"\x45" + b"\0" * 8 + b"\x11" + b"\0" * 10 + udp

    def frames(self, *events):
        return [(time, towards, self.frame(number)) for time, towards, number in events]

    def test_a_faithful_relay(self):
        # It keeps the order in which they came, 2 before 1.
        found = compare(self.frames((0, True, 2), (5, True, 1), (9000, False, 2), (9001, False, 1)))
        self.assertEqual((found["entered"], found["left"]), (2, 2))
        self.assertEqual((found["lost"], found["reordered"], found["invented"]), (0, 0, 0))
        self.assertEqual(found["latency_us"]["max"], 9.0)

    def test_each_fault_is_found(self):
        self.assertEqual(compare(self.frames((0, True, 1)))["lost"], 1)
        found = compare(self.frames((0, True, 1), (1, True, 2), (2, False, 2), (3, False, 1)))
        self.assertEqual(found["reordered"], 1)
        found = compare(self.frames((0, True, 1), (2, False, 1), (3, False, 1), (4, False, 9)))
        self.assertEqual(found["invented"], 2)


class BadNetworks(unittest.TestCase):
    """10 calls over a network, on each backend."""

    def run_over(self, profile, backend, coalesce_us):
        command = [sys.executable, "-B", str(RUN), "--profile", profile, "--backend", backend]
        command += ["--calls", str(CALLS), "--seconds", str(SECONDS)]
        command += ["--set", f"io.coalesce-us={coalesce_us}"]
        finished = subprocess.run(
            command, capture_output=True, text=True, timeout=120 * PATIENCE, check=False
        )
        if finished.returncode == runner.SKIPPED_STATUS:
            self.skipTest(finished.stderr.strip())
        self.assertEqual(finished.returncode, 0, finished.stderr)
        result = json.loads(finished.stdout)
        path, report = result["path"], result["report"]
        print(f"{profile}, {backend}, {coalesce_us} us: {path}")
        self.assertGreater(path["entered"], 0)
        self.assertEqual((path["lost"], path["reordered"], path["invented"]), (0, 0, 0))
        return path, report

    def test_delay_jitter_loss_and_reordering(self):
        self.assertGreater(PROFILES["everything"].delay_ms, 0)
        for backend, coalesce_us in (("poll", 0), ("io_uring", 1000)):
            with self.subTest(backend):
                _, report = self.run_over("everything", backend, coalesce_us)
                # The network loses and reorders: that is not the gateway's doing.
                faults = fault_counts(report)
                del faults["reordered"]
                self.assertEqual(set(faults.values()), {0}, faults)
                self.assertEqual(report["failed_calls"], 0, report["errors"])

    def test_a_slow_link(self):
        _, report = self.run_over("rate limit", "io_uring", 0)
        self.assertEqual(set(fault_counts(report).values()), {0})


if __name__ == "__main__":
    if sys.platform != "linux":
        sys.exit(runner.SKIPPED_STATUS)
    runner.main()

"""What the gateway asks of the kernel per packet and per pass, counted by strace.

MGW_PROGRAM is the gateway, RTPLOAD_PROGRAM the load generator. Skipped where strace is missing
or may not attach to a process.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from support import runner
from support.gateway import Gateway
from support.load import Load
from support.waiting import PATIENCE, wait_for

CALLS = 20
SECONDS = 3
# Setting up and clearing the calls: each command wakes a worker and is a few system calls.
COMMANDS = 2 * 2 * CALLS
RECEIVES = ("recvmsg", "recvfrom", "recvmmsg", "read", "recv")
SENDS = ("sendmsg", "sendto", "sendmmsg", "send")
WAITS = ("epoll_wait", "epoll_pwait", "epoll_pwait2")
ROW = re.compile(r"^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(\w+)$")


class Strace:
    """strace -c -f on a running process, from attach to detach."""

    def __init__(self, pid):
        self.output = tempfile.NamedTemporaryFile("r", suffix=".strace")
        self.process = subprocess.Popen(
            ["strace", "-c", "-f", "-p", str(pid), "-o", self.output.name],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            wait_for(lambda: self.process.poll() is not None or traced(pid),
                     "strace has attached")
        except AssertionError:
            self.process.kill()
            raise
        if self.process.poll() is not None:
            text = self.process.communicate()[1].decode()
            raise unittest.SkipTest(f"strace can't attach: {text}")

    def finish(self):
        """Detaches; returns the number of calls by name."""
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=20 * PATIENCE)
        counts = {}
        for line in self.output:
            match = ROW.match(line)
            if match:
                counts[match[2]] = int(match[1])
        self.output.close()
        counts.pop("total", None)
        return counts


def traced(pid):
    """Whether every thread of the process has a tracer."""
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/status", encoding="ascii") as status:
            if "TracerPid:\t0\n" in status.read():
                return False
    return True


@unittest.skipUnless(shutil.which("strace"), "strace is not installed")
class SystemCalls(unittest.TestCase):
    """A load of 20 calls while strace counts."""

    def counted(self, backend):
        """Runs the load; returns the counts of strace and how much the metrics grew."""
        with Gateway({"metrics.enabled": "true"}, backend) as gateway:
            before = gateway.metrics()
            strace = Strace(gateway.pid)
            load = Load(gateway.address, gateway.port, "--calls", CALLS, "--seconds", SECONDS,
                        "--codec", "GSM-EFR", "--max-loss", 0)
            status, result = load.finish(60)
            after = gateway.settled()
            counts = strace.finish()
            self.assertEqual(status, 0, load.errors)
            names = ("mgw_io_passes_total", "mgw_datagrams_received_total",
                     "mgw_datagrams_sent_total")
            passes, received, sent = [after.total(name) - before.total(name) for name in names]
            self.assertGreaterEqual(received, result["sent"])
            print(f"{backend}: {received:.0f} packets, {passes:.0f} passes, "
                  f"{dict(sorted(counts.items(), key=lambda item: -item[1])[:8])}")
            return counts, passes, received, sent

    @staticmethod
    def of(counts, names):
        return sum(counts.get(name, 0) for name in names)

    def test_io_uring(self):
        """io_uring: at most one io_uring_enter per pass, and no other call for packets."""
        counts, passes, received, _ = self.counted("io_uring")
        enters = counts.get("io_uring_enter", 0)
        self.assertGreater(enters, 0)
        self.assertLessEqual(enters, passes + 8)
        self.assertLess(self.of(counts, SENDS), received / 10, counts)

    def test_poll(self):
        """poll: at most one receive and one send per packet and one wait per pass."""
        counts, passes, received, sent = self.counted("poll")
        self.assertEqual(counts.get("io_uring_enter", 0), 0)
        # The commands' own datagrams and wake-ups are in these counts too.
        slack = 8 * COMMANDS
        self.assertLessEqual(self.of(counts, RECEIVES), received + slack, counts)
        self.assertLessEqual(self.of(counts, SENDS), sent + slack, counts)
        self.assertLessEqual(self.of(counts, WAITS), passes + slack, counts)
        # poll(2) is the exporter's own; it grows with its scrapes, not with packets.
        self.assertLess(counts.get("poll", 0), received / 20)


if __name__ == "__main__":
    if sys.platform != "linux":
        sys.exit(runner.SKIPPED_STATUS)
    runner.main()

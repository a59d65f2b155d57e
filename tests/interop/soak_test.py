"""A short form of the long run: hundreds of set-ups with faults, then nothing may be left.

tools/soak does it with as many as wanted. MGW_PROGRAM is the gateway, SHIFTED_CLOCK a library that
moves its wall clock.
"""

import os
import unittest

from support import runner
from support.soak import Soak

SETUPS = int(os.environ.get("MGW_SOAK_SETUPS", "400"))
SEED = int(os.environ.get("MGW_SEED", "1"))
# Memory that tables and the allocator may still take after the first calls, KiB.
GROWTH_MAX_KIB = 20_000


class SoakTest(unittest.TestCase):
    """On one backend: what it is about is not the way of packets."""

    def test_nothing_is_left(self):
        # Sanitizers want to be loaded first.
        library = None if "MGW_INTEROP_SANITIZED" in os.environ else os.environ.get("SHIFTED_CLOCK")
        soak = Soak(SEED, library)
        try:
            first = soak.cycle(SETUPS // 4)
            last = soak.cycle(SETUPS - SETUPS // 4)
            print(soak.report(), f"descriptors and KiB: {first}, then {last}")
            self.assertEqual(last[0], first[0])
            if library:
                self.assertLess(last[1], first[1] + GROWTH_MAX_KIB)
            soak.gateway.stop()
        finally:
            soak.close()


if __name__ == "__main__":
    runner.main()

"""Calls of the load generator whose second leg differs: payload type, AMR packing, Iu UP, Osmux.

MGW_PROGRAM is the gateway, RTPLOAD_PROGRAM the load generator, which checks every speech bit.
"""

import unittest

from support import runner
from support.gateway import Gateway
from support.load import Load, fault_counts
from support.ports import free_pair

CALLS = 20
FORMS = {
    "another payload type": ["--answer-payload-type", "98"],
    "the other AMR packing": ["--codec", "AMR-12.2", "--answer-codec", "AMR-12.2-BE"],
    "AMR 5.90 in the other packing": ["--codec", "AMR-5.90-BE", "--answer-codec", "AMR-5.90"],
    "Iu UP": ["--codec", "AMR-12.2", "--answer-codec", "IUUP"],
    "a trunk of Osmux": ["--codec", "AMR-12.2", "--answer-codec", "OSMUX-12.2"],
}


class Forms(unittest.TestCase):
    """What the second leg gets is what the first one sent, bit by bit, and the other way round."""

    def test_all(self):
        for backend in runner.BACKENDS:
            settings = {"osmux.mode": "on", "osmux.port": free_pair()}
            with Gateway(settings, backend) as gateway:
                for form, options in FORMS.items():
                    with self.subTest(form, backend=backend):
                        load = Load(
                            gateway.address,
                            gateway.port,
                            "--calls",
                            CALLS,
                            "--seconds",
                            1,
                            "--max-loss",
                            0,
                            *options
                        )
                        status, result = load.finish()
                        self.assertEqual(result["lost"], 0, load.errors)
                        self.assertEqual(sum(fault_counts(result).values()), 0, result)
                        self.assertGreater(result["received"], 0)
                        self.assertEqual(status, 0, load.errors)
                metrics = gateway.metrics()
                self.assertEqual(metrics.total("mgw_connections"), 0)
                self.assertGreater(metrics.total("mgw_osmux_chunks_total"), 0)


if __name__ == "__main__":
    runner.main()

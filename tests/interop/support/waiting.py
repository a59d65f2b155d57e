"""Waiting for conditions with a deadline, the only kind of waiting that these tests do."""

import os
import time

# Sanitizer builds and busy machines take longer; it stretches deadlines, never counts.
PATIENCE = float(os.environ.get("MGW_INTEROP_PATIENCE", "1"))
POLL_INTERVAL_S = 0.01


def wait_for(condition, what, seconds=10.0, interval=POLL_INTERVAL_S):
    """Returns the first true value of condition(); raises AssertionError after the deadline."""
    deadline = time.monotonic() + seconds * PATIENCE
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds * PATIENCE:.1f} s: {what}")
        time.sleep(interval)


def measure_for(seconds):
    """The length of a measurement, for what has no condition that ends it."""
    time.sleep(seconds)

"""The load generator as a process beside a test."""

import json
import os
import subprocess

from support.waiting import PATIENCE

PROGRAM = os.environ.get("RTPLOAD_PROGRAM", "")


class Load:
    """rtpload against a gateway. finish() returns (exit status, result of --json)."""

    def __init__(self, address, port, *options):
        if not os.access(PROGRAM, os.X_OK):
            raise RuntimeError(f"RTPLOAD_PROGRAM={PROGRAM!r} is no program")
        self.process = subprocess.Popen(
            [PROGRAM, "--mgcp", f"{address}:{port}", "--json", "-", *map(str, options)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def finish(self, seconds=60):
        try:
            output, self.errors = self.process.communicate(timeout=seconds * PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError("rtpload does not end") from None
        try:
            return self.process.returncode, json.loads(output)
        except json.JSONDecodeError:
            raise AssertionError(f"rtpload: {output}{self.errors}") from None

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()


def fault_counts(result):
    """What must be 0, whatever was lost."""
    return {name: result[name] for name in
            ("reordered", "duplicated", "corrupted", "wrong_stream")}

"""Calls over bad networks: what enters mgw is compared with what leaves it, frame by frame.

The network, the namespaces and the comparison are those of tests/interop/netem_test.py.
"""

import json
import os
import pathlib
import subprocess
import sys
import time

import machine

INTEROP = pathlib.Path(__file__).resolve().parents[2] / "tests" / "interop"
sys.path.insert(0, str(INTEROP))

from support import namespace  # noqa: E402,F401  (for those who want one without bad networks)
from support.impairment import PROFILES  # noqa: E402

RUN = INTEROP / "support" / "impaired_run.py"
SKIPPED_STATUS = 77
CALLS = 20
TIMEOUT_S = 120
# With these the gateway's own latency is seen best, so more variants are measured.
SHOWN_FOR_ALL = ("clean", "everything")


def command_for(setup, variant, profile, seconds, seed):
    command = [*setup.prefix, sys.executable, "-B", str(RUN), "--profile", profile]
    command += ["--backend", variant.backend, "--calls", str(CALLS), "--seconds", str(seconds)]
    command += ["--seed", str(seed)]
    return command + [part for setting in variant.settings for part in ("--set", setting)]


def run(bench, variant, profile, seconds, number):
    """Adds a record of part `netem`; False where there are no namespaces."""
    setup = bench.runner.setup
    command = command_for(setup, variant, profile, seconds, number + 1)
    environment = {
        **os.environ,
        "MGW_PROGRAM": str(setup.build / "mgw"),
        "RTPLOAD_PROGRAM": str(setup.build / "rtpload"),
    }
    begin = time.monotonic()
    watch = machine.Watch(())
    # The gateway shares the machine with the program that is the network: no core of its own.
    finished = subprocess.run(
        ["taskset", "-c", f"{setup.gateway_cpu},{setup.generator_cpu}", *command],
        capture_output=True,
        text=True,
        env=environment,
        timeout=TIMEOUT_S,
        check=False,
    )
    if finished.returncode == SKIPPED_STATUS:
        bench.note(f"netem: {finished.stderr.strip()}")
        return False
    if finished.returncode != 0:
        bench.note(f"netem, {profile}: {finished.stderr.strip()[-200:]}")
        return True
    result = json.loads(finished.stdout)
    record = {
        "part": "netem",
        "variant": variant.name,
        "round": number,
        "profile": profile,
        "calls": CALLS,
        "phases": "even",
        "path": result["path"],
        "report": result["report"],
        "noise": watch.finish(time.monotonic() - begin, 0),
        "commands": {"gateway": "", "load": shown(command)},
        "attempts": 1,
        # Only counts are judged here: a busy machine delays packets, but loses none.
        "noisy": False,
    }
    bench.runner.records.append(record)
    tell(bench, record)
    return True


def shown(command):
    """The command as it can be given in the root of the repository, wherever that is."""
    root = f"{RUN.parents[3]}/"
    return " ".join(command).replace(sys.executable, "python3").replace(root, "")


def tell(bench, record):
    path = record["path"]
    latency = (path["latency_us"] or {}).get("p99")
    bench.runner.say(
        f"netem     {record['variant']:<18} {record['profile']:<14} entered {path['entered']}, "
        f"lost {path['lost']}, reordered {path['reordered']}, invented {path['invented']}"
        + (f", p99 {latency:.0f} us" if latency is not None else "")
    )


def measure(bench, gateways, suite):
    """All networks with the first of the gateways, some of them with the others."""
    for index, variant in enumerate(gateways):
        for profile in suite.networks or PROFILES if index == 0 else SHOWN_FOR_ALL:
            if not run(bench, variant, profile, suite.more_seconds, 0):
                return

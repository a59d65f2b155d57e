"""How much a core carries: more and more calls until packets are lost or late."""

import dataclasses

import starting
from runs import Load

P99_LIMIT_US = 5000
# A generator that is itself later than this can't say of a gateway that it is late.
GENERATOR_LATENESS_LIMIT_US = 2000
# Nor one that sends less than it should.
MISSED_LIMIT = 0.001
ATTEMPTS = 2


def verdict_of(report):
    """`passed`, `overloaded` or `generator` (it could not send that much in time)."""
    generator = report.get("generator") or {}
    late = (generator.get("lateness_us") or {}).get("p99") or 0
    missed = generator.get("missed") or 0
    if missed > MISSED_LIMIT * max(1, report["sent"]) or late > GENERATOR_LATENESS_LIMIT_US:
        return "generator"
    latency = (report.get("latency_us") or {}).get("p99")
    good = report["lost"] == 0 and latency is not None and latency < P99_LIMIT_US
    return "passed" if good and report.get("failed_calls", 0) == 0 else "overloaded"


def step(bench, variant, calls, seconds):
    """Whether a gateway carries so many calls; tried twice, as one disturbance makes it fail."""
    for attempt in range(ATTEMPTS):
        record = bench.attempt("capacity", variant, Load(calls, seconds), attempt)
        if record is None:
            return False
        record["verdict"] = verdict_of(record["report"])
        if record["verdict"] == "passed":
            return True
    return False


def measure(bench, gateways, suite):
    """Climbs in the ordinary scheduling class, whatever the other parts run in, both sides.

    A real-time thread that takes more than 95 % of a core is stopped by the kernel for the rest of
    each second (sched_rt_runtime_us): no gateway could show what a whole core carries.
    """
    setup = bench.runner.setup
    prefix, _ = starting.scheduling_prefix("ordinary")
    bench.runner.setup = dataclasses.replace(setup, prefix=prefix, generator_prefix=prefix)
    try:
        climb(bench, gateways, suite)
    finally:
        bench.runner.setup = setup


def climb(bench, gateways, suite):
    """All gateways climb together, step by step, until each has failed; then between the steps."""
    seconds = suite.more_seconds
    passed = {variant.name: 0 for variant in gateways}
    failed = {}
    for calls in suite.ladder:
        for variant in gateways:
            if variant.name not in failed:
                if step(bench, variant, calls, seconds):
                    passed[variant.name] = calls
                else:
                    failed[variant.name] = calls
    for _ in range(suite.refinements):
        for variant in gateways:
            if variant.name in failed:
                between = (passed[variant.name] + failed[variant.name]) // 2
                outcome = passed if step(bench, variant, between, seconds) else failed
                outcome[variant.name] = between

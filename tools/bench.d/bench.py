#!/usr/bin/env python3
"""What tools/bench does once all is built: the same load through several gateways, side by side."""

import argparse
import dataclasses
import datetime
import json
import os
import pathlib
import resource
import shutil
import sys
import tempfile

import evaluation
import machine
import netem
import parts
import report
import runs
import sizing
import starting
import suites
import variants

EXIT_REFUSED = 3
DESCRIPTORS_WANTED = 131_072
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
VERSIONED = ("mgw", "osmo-mgw", "rtpengine")


def command_line():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--suite", choices=list(suites.SUITES), default="quick")
    parser.add_argument("--only", default=",".join(parts.PARTS))
    parser.add_argument("--variants", default="")
    parser.add_argument("--peers", default="osmo-mgw,rtpengine")
    parser.add_argument("--calls", type=int, default=parts.REFERENCE_CALLS)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--scheduling", choices=["ordinary", "fifo"], default="ordinary")
    parser.add_argument("--noise-limit", type=float, default=5)
    parser.add_argument("--attempts", type=int, default=5)
    parser.add_argument("--keep-going", action="store_true")
    parser.add_argument("--sizing", type=pathlib.Path)
    parser.add_argument("--output", type=pathlib.Path)
    parser.add_argument("--render", type=pathlib.Path)
    arguments = parser.parse_args()
    unknown = set(arguments.only.split(",")) - set(parts.PARTS)
    if unknown:
        parser.error(f"--only: no such part: {', '.join(sorted(unknown))}")
    return arguments


def chosen(arguments, setup):
    """(variants to run, [{variant, reason}] that can't be run or were not wanted)."""
    wanted, skipped = [], []
    peers = arguments.peers.split(",")
    names = [name.strip() for name in arguments.variants.split(",") if name.strip()]
    for variant in variants.named(names) if names else variants.ALL:
        if variant.is_peer and variant.kind not in peers:
            continue
        reason = starting.reason_against(setup, variant)
        if reason:
            skipped.append({"variant": variant.name, "reason": reason})
        else:
            wanted.append(variant)
    return wanted, skipped


def chosen_suite(arguments):
    changes = {}
    if arguments.seconds:
        changes["seconds"] = changes["more_seconds"] = arguments.seconds
    if arguments.rounds:
        changes["rounds"] = arguments.rounds
        changes["more_rounds"] = min(arguments.rounds, 2)
        changes["setup_rounds"] = min(arguments.rounds, 3)
    return dataclasses.replace(suites.SUITES[arguments.suite], **changes)


def raise_descriptor_limit():
    """Children inherit it: ten thousand calls are forty thousand sockets."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for limit in (max(hard, DESCRIPTORS_WANTED), hard):
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
            return
        except (OSError, ValueError):
            continue
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def copies_of(build, folder):
    """The programs as they are now, whatever is built while they are measured."""
    for program in ("mgw", "rtpload", "bare-relay"):
        shutil.copy2(build / program, folder)
    return pathlib.Path(folder)


def enter_namespace():
    """A loopback device of our own: no filter rules of the machine, no ports of others.

    What a gateway attaches to the device goes with it. Returns how the report calls it.
    """
    try:
        netem.namespace.enter()
        return "loopback of a network namespace of its own"
    except (OSError, RuntimeError) as error:
        runs.say(f"no network namespace of its own: {error}")
        return "the machine's loopback"


def measure(arguments, programs):
    """Runs the wanted parts; returns the result as it is written to the JSON file."""
    network = enter_namespace()
    prefix, scheduling = starting.scheduling_prefix(arguments.scheduling)
    log = str(arguments.build / "bench-gateways.log")
    generator_prefix, generator_class = starting.generator_prefix(prefix)
    setup = starting.Setup(
        programs,
        usable_cpus=tuple(sorted(os.sched_getaffinity(0))),
        prefix=prefix,
        generator_prefix=generator_prefix,
        log=log,
    )
    os.sched_setaffinity(0, {setup.generator_cpu})
    raise_descriptor_limit()
    available, skipped = chosen(arguments, setup)
    for entry in skipped:
        runs.say(f"without {entry['variant']}: {entry['reason']}")
    runner = runs.Runner(
        setup, arguments.noise_limit, arguments.attempts, runs.say, arguments.keep_going
    )
    bench = parts.Bench(runner, chosen_suite(arguments), available, arguments.calls)
    begin = datetime.datetime.now(datetime.timezone.utc)
    ended_early = False
    try:
        for part in arguments.only.split(","):
            getattr(bench, part)()
    except runs.TooNoisy:
        runs.say("the machine is too noisy: ended here")
        ended_early = True
    noisy = sum(record["noisy"] for record in runner.records)
    return {
        "name": arguments.output.name if arguments.output else "",
        "begun": begin.isoformat(timespec="seconds"),
        "ended": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "command": f"tools/bench {os.environ.get('MGW_BENCH_ARGUMENTS', '')}".strip(),
        "suite": arguments.suite,
        "parts": arguments.only.split(","),
        "scheduling": f"gateway {scheduling}, load generator {generator_class}",
        "network": network,
        "cores": {"gateway": setup.gateway_cpu, "generator": setup.generator_cpu},
        "machine": machine.facts(ROOT),
        "versions": {kind: starting.version_of(setup, kind) for kind in VERSIONED},
        "noise_limit_percent": arguments.noise_limit,
        "noisy_runs": noisy,
        "refused": bool(evaluation.undecided(runner.records)) or ended_early,
        "skipped": skipped,
        "problems": bench.problems,
        "records": runner.records,
    }


def finish(result, output):
    """Writes or prints the report; returns the exit status."""
    if output is None:
        print(report.markdown(result))
    else:
        report.write(result, output)
        print(report.markdown(result))
        runs.say(f"written to {output}")
    if result["refused"]:
        runs.say(
            f"REFUSED: {result['noisy_runs']} of {len(result['records'])} runs were disturbed by "
            f"other processes, and nothing else is known of: "
            f"{'; '.join(evaluation.undecided(result['records'])) or 'what was not run'}; "
            "repeat it on a quiet machine"
        )
        return EXIT_REFUSED
    faulty = sum(evaluation.fault_counts(result["records"])["mgw"].values())
    return 1 if faulty or result["problems"] else 0


def main():
    arguments = command_line()
    if arguments.render:
        result = json.loads(arguments.render.read_text())
        result["refused"] = bool(evaluation.undecided(result["records"]))
        return finish(result, arguments.output or arguments.render.parent)
    with tempfile.TemporaryDirectory(prefix="mgw-bench-") as folder:
        result = measure(arguments, copies_of(arguments.build, folder))
    if arguments.sizing:
        arguments.sizing.write_text(sizing.fill(arguments.sizing.read_text(), result))
    return finish(result, arguments.output)


if __name__ == "__main__":
    sys.exit(main())

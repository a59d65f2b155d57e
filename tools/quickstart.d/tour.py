#!/usr/bin/env python3
"""What tools/quickstart does once all is built: a call with speech, a load test, a table."""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

import extra_needs
import gateways
import speech_call

FAULTS = ("lost", "reordered", "duplicated", "corrupted", "wrong_stream")
GATEWAY_CPU, GENERATOR_CPU = 0, 1
# Each of the further runs is compared with others of the same length.
EXTRA_SECONDS = 4


def load(build, gateway, calls, seconds, extra=()):
    """Runs rtpload against a gateway; returns its report."""
    command = [
        str(pathlib.Path(build) / "rtpload"),
        "--mgcp",
        gateway.mgcp,
        "--calls",
        str(calls),
        "--seconds",
        str(seconds),
        "--pid",
        str(gateway.pid),
        "--json",
        "-",
        "--max-loss",
        "0",
        *extra,
    ]
    finished = subprocess.run(
        gateways.pinned(command, GENERATOR_CPU), capture_output=True, text=True, check=False
    )
    if not finished.stdout:
        raise RuntimeError(f"rtpload against {gateway.label}: {finished.stderr.strip()}")
    return json.loads(finished.stdout)


def measure(build, backends, calls, seconds, log):
    """Loads mgw on each backend, then osmo-mgw, on the same core; returns [(label, report)]."""
    reports = []
    endpoints = calls + 8
    for backend in backends:
        with gateways.start_mgw(
            build, backend, endpoints, GATEWAY_CPU, settings=["metrics.enabled=false"], log=log
        ) as gateway:
            print(f"quickstart: {calls} calls for {seconds} s on {gateway.label} …", flush=True)
            reports.append((gateway.label, load(build, gateway, calls, seconds)))
    peer = gateways.start_osmo_mgw(endpoints, GATEWAY_CPU)
    if peer is None:
        print("quickstart: osmo-mgw is not installed, so there is nothing to compare with")
        return reports
    version = gateways.osmo_mgw_version()
    with peer as gateway:
        print(
            f"quickstart: {calls} calls for {seconds} s on osmo-mgw {version} …",
            flush=True,
        )
        reports.append((f"osmo-mgw {version}", load(build, gateway, calls, seconds)))
    return reports


def print_table(reports, calls):
    reference = (
        reports[-1][1]["gateway"]["cpu_us_per_packet"]
        if reports[-1][0].startswith("osmo")
        else None
    )
    print(
        f"\n{calls} two-legged calls, GSM-EFR, 20 ms; the gateway on one core, the load elsewhere\n"
    )
    print(
        f"{'gateway':<18}{'CPU/packet':>11}{'ratio':>7}{'CPU':>7}{'p50':>9}{'p99':>9}{'memory':>9}"
        f"{'sent':>9}{'lost':>6}{'reord.':>7}{'dup.':>6}{'corr.':>6}{'wrong':>6}"
    )
    for label, report in reports:
        cost, latency = report["gateway"], report["latency_us"]
        ratio = f"{cost['cpu_us_per_packet'] / reference:.2f}" if reference else "-"
        print(
            f"{label:<18}{cost['cpu_us_per_packet']:>8.2f} us{ratio:>7}"
            f"{cost['cpu_percent']:>5.1f} %"
            f"{latency['p50']:>6.0f} us{latency['p99']:>6.0f} us{cost['rss_kib'] / 1024:>5.1f} MiB"
            f"{report['sent']:>9}{report['lost']:>6}{report['reordered']:>7}"
            f"{report['duplicated']:>6}"
            f"{report['corrupted']:>6}{report['wrong_stream']:>6}"
        )
    print(
        "\nratio: CPU per packet compared with osmo-mgw in the same run;"
        " absolute times depend on the machine."
    )


def check_speech(build, backends, log):
    """Carries the speech call on each backend; returns whether all of them were faithful."""
    faithful = True
    for backend in backends:
        with tempfile.TemporaryDirectory() as folder, gateways.start_mgw(
            build, backend, 8, settings=["metrics.enabled=false"], log=log
        ) as gateway:
            seconds, sent, received, same = speech_call.carry_speech(build, gateway, folder)
            verdict = "the same speech" if same else "NOT the same"
            print(
                f"quickstart: {seconds:.1f} s of speech, ffmpeg to {gateway.label} to ffmpeg: "
                f"{sent} octets sent, {received} received, {verdict}",
                flush=True,
            )
            faithful = faithful and same
    return faithful


def stay_up(build, backend, log):
    """Runs the gateway in the foreground, with its metrics, until it is stopped."""
    with gateways.start_mgw(build, backend, 512, port=2427, log=log) as gateway:
        print(
            f"""
The gateway runs (process {gateway.pid}, backend {backend}, log {log}). In another terminal:
  {build}/mgwctl status
  {build}/mgwctl crcx --codec GSM-EFR
  {build}/rtpload --mgcp 127.0.0.1:2427 --calls 200 --seconds 10 --pid {gateway.pid}
  curl http://127.0.0.1:9747/metrics
Ctrl-C stops it.""",
            flush=True,
        )
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            gateway.process.wait()
        except KeyboardInterrupt:
            pass


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True)
    parser.add_argument("--calls", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--backend", choices=["poll", "io_uring", "auto"])
    parser.add_argument("--once", action="store_true")
    arguments = parser.parse_args()
    log = os.path.join(arguments.build, "quickstart-gateway.log")
    backends = [arguments.backend] if arguments.backend else ["poll", "io_uring"]

    faithful = check_speech(arguments.build, backends, log)
    reports = measure(arguments.build, backends, arguments.calls, arguments.seconds, log)
    print_table(reports, arguments.calls)
    needs = extra_needs.measure(
        arguments.build,
        backends,
        arguments.calls,
        min(arguments.seconds, EXTRA_SECONDS),
        load,
        GATEWAY_CPU,
        log,
    )
    extra_needs.print_table(needs)
    all_reports = reports + [
        (label, report) for label, by_need in needs.items() for report in by_need.values()
    ]
    clean = all(
        report[fault] == 0
        for label, report in all_reports
        if label.startswith("mgw")
        for fault in FAULTS
    )
    print(
        "mgw: nothing lost, reordered, duplicated, corrupted or misdirected"
        if clean
        else "mgw: FAULTS, see the table"
    )
    if not arguments.once:
        stay_up(arguments.build, arguments.backend or "auto", log)
    return 0 if faithful and clean else 1


if __name__ == "__main__":
    sys.exit(main())

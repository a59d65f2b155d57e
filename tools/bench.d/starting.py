"""Starts the gateways that are compared, each on one core, and says how it was done."""

import dataclasses
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "quickstart.d"))

import gateways  # noqa: E402  (of tools/quickstart)

# Every gateway has room for so many calls beside those of a run.
SPARE_CALLS = 8
# Two pairs of ports for each call, and as many again that rest after calls that have ended.
PORTS_PER_CALL = 8
FIRST_PORT, LAST_PORT = 16384, 65535
PORTS_MIN = 16384


@dataclasses.dataclass
class Setup:
    """What all runs have in common."""

    build: pathlib.Path  # the programs; gateways' configuration files come here too
    gateway_cpu: object = 0  # a number, or a list for taskset: "0,1"
    generator_cpu: int = 1
    usable_cpus: tuple = ()
    prefix: tuple = ()  # what sets the scheduling class of a gateway, before its command
    generator_prefix: tuple = ()  # and of the load generator
    log: str = ""


def scheduling_prefix(scheduling):
    """The commands that put gateway and generator into a scheduling class, and how it is called.

    `ordinary` is nice -10 where that is allowed: others on the machine disturb less then.
    """
    if scheduling == "fifo":
        return ("chrt", "--fifo", "1"), "SCHED_FIFO 1"
    allowed = subprocess.run(["nice", "-n", "-10", "true"], capture_output=True, check=False)
    if allowed.returncode == 0 and not allowed.stderr:
        return ("nice", "-n", "-10"), "SCHED_OTHER, nice -10"
    return (), "SCHED_OTHER, nice 0"


def generator_prefix(gateway_prefix):
    """The class of the generator, and how it is called: real-time where that is allowed.

    It has a core of its own, so it takes nothing from the gateway, and sends at its instants
    whatever else the machine does.
    """
    prefix, name = scheduling_prefix("fifo")
    allowed = subprocess.run([*prefix, "true"], capture_output=True, check=False)
    return (prefix, name) if allowed.returncode == 0 else (gateway_prefix, "the same class")


class Adapted:
    """rtpengine with the adapter in front of it: looks like an MGCP gateway."""

    def __init__(self, engine, adapter):
        self.engine, self.adapter = engine, adapter
        self.label, self.pid, self.mgcp = engine.label, engine.pid, adapter.mgcp
        self.command = engine.command
        self.helpers = (adapter.pid,)

    def __enter__(self):
        try:
            self.adapter.wait_until_up()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self):
        self.adapter.stop()
        self.engine.stop()

    def __exit__(self, *_):
        self.stop()


def _gateway(setup, label, command, port, environment=None, cpu=None):
    cpu = setup.gateway_cpu if cpu is None else cpu
    command = ["taskset", "-c", str(cpu), *setup.prefix, *command]
    gateway = gateways.Gateway(label, command, port, environment, setup.log)
    assignments = [f"{name}={value}" for name, value in (environment or {}).items()]
    gateway.command = " ".join([*assignments, *command])
    gateway.helpers = ()
    return gateway


def ports_for(calls):
    """The first and the last port for so many calls, on an address that is the gateway's alone."""
    wanted = max(PORTS_MIN, calls * PORTS_PER_CALL)
    return FIRST_PORT, min(LAST_PORT, FIRST_PORT + wanted - 1)


def mgw_settings(variant, calls):
    """The --set arguments of a variant of mgw."""
    first, last = ports_for(calls)
    common = (
        f"endpoints.count={calls + SPARE_CALLS}",
        "workers.count=1",
        f"rtp.port-min={first}",
        f"rtp.port-max={last}",
        "metrics.enabled=false",
    )
    return [part for setting in (*common, *variant.settings) for part in ("--set", setting)]


def _start_mgw(setup, variant, calls, more):
    port = gateways.free_udp_port()
    more = [part for setting in more for part in ("--set", setting)]
    command = [str(setup.build / "mgw"), "--set", f"mgcp.port={port}"]
    command += mgw_settings(variant, calls) + more
    environment = {"MGW_IO_BACKEND": variant.backend}
    return _gateway(setup, variant.name, command, port, environment)


def _start_osmo_mgw(setup, variant, calls, _):
    port = gateways.free_udp_port()
    configuration = setup.build / f"osmo-mgw-{port}.cfg"
    configuration.write_text(
        gateways.OSMO_MGW_CONFIGURATION.format(
            port=port,
            endpoints=calls + SPARE_CALLS,
            control=f"127.1.{port >> 8}.{port & 255}",
        )
    )
    return _gateway(setup, variant.name, ["osmo-mgw", "-s", "-c", str(configuration)], port)


def _start_rtpengine(setup, variant, calls, _):
    first, last = ports_for(calls)
    ng_port, port = gateways.free_udp_port(), gateways.free_udp_port()
    engine = _gateway(
        setup,
        variant.name,
        ["rtpengine", "--config-file=none", "--foreground", "--table=-1", "--num-threads=1"]
        + ["--interface=127.0.0.1", f"--listen-ng=127.0.0.1:{ng_port}", "--log-stderr"]
        + ["--log-level=3", "--endpoint-learning=off", "--delete-delay=0"]
        + [f"--port-min={first}", f"--port-max={last}"],
        port,
    )
    adapter = _gateway(
        setup,
        "adapter of rtpengine",
        [sys.executable, "-B", str(HERE / "ng_adapter.py")]
        + ["--mgcp-port", str(port), "--ng-port", str(ng_port)],
        port,
        cpu=setup.generator_cpu,
    )
    return Adapted(engine, adapter)


def _start_bare_relay(setup, variant, _calls, _more):
    port = gateways.free_udp_port()
    command = [str(setup.build / "bare-relay"), "--mgcp-port", str(port), *variant.settings]
    return _gateway(setup, variant.name, command, port)


STARTERS = {
    "mgw": _start_mgw,
    "osmo-mgw": _start_osmo_mgw,
    "rtpengine": _start_rtpengine,
    "bare-relay": _start_bare_relay,
}


def start(setup, variant, calls, more=()):
    """The gateway, a context manager; `more` are further settings of mgw."""
    return STARTERS[variant.kind](setup, variant, calls, more)


def reason_against(setup, variant, more=()):
    """Why this variant can't be run here; empty if it can."""
    if variant.is_peer:
        return "" if shutil.which(variant.kind) else f"{variant.kind} is not installed"
    if not variant.is_mgw:
        return ""
    more = [part for setting in more for part in ("--set", setting)]
    command = [str(setup.build / "mgw"), *mgw_settings(variant, 8), *more, "--check"]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    if checked.returncode == 0:
        return ""
    lines = (checked.stderr or checked.stdout).strip().splitlines()
    return lines[-1] if lines else f"mgw --check: status {checked.returncode}"


def version_of(setup, kind):
    """What the program says of its version."""
    if kind == "mgw":
        command = [str(setup.build / "mgw"), "-V"]
    else:
        command = [kind, "--version"]
    try:
        finished = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return "not installed"
    found = re.search(r"(?i)version:?\s+(\S+)|(\d+\.\d+\S*)", finished.stdout + finished.stderr)
    return (found.group(1) or found.group(2)).rstrip(".,") if found else "unknown"


def run_load(setup, arguments, timeout_s, on_wait=None):
    """Runs rtpload; returns (its output, its CPU seconds, its error text, the command).

    `on_wait` is called again and again meanwhile.
    """
    command = [
        *setup.generator_prefix,
        str(setup.build / "rtpload"),
        "--cpu",
        str(setup.generator_cpu),
    ]
    command += ["--json", "-", *map(str, arguments)]
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, text=True
        )
        usage = _wait(process, timeout_s, on_wait)
        output.seek(0)
        errors.seek(0)
        cpu_s = usage.ru_utime + usage.ru_stime
        return output.read(), cpu_s, errors.read().strip(), " ".join(command)


def _wait(process, timeout_s, on_wait):
    """Waits for a process of ours; what it used."""
    deadline = time.monotonic() + timeout_s
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid != 0:
            process.returncode = os.waitstatus_to_exitcode(status)
            return usage
        if time.monotonic() > deadline:
            process.send_signal(signal.SIGKILL)
        if on_wait is not None:
            on_wait()
        time.sleep(0.05)

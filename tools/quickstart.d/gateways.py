"""Starts and stops the media gateways that are compared: mgw on either backend, and osmo-mgw."""

import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

START_TIMEOUT_S = 20
STOP_TIMEOUT_S = 10


def free_udp_port():
    """A UDP port that nobody has at the moment."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def answers_mgcp(port):
    """Whether a gateway answers an audit; any code will do, old ones don't know the endpoint."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as agent:
        agent.settimeout(0.2)
        agent.connect(("127.0.0.1", port))
        try:
            agent.send(b"AUEP 1 null@mgw MGCP 1.0\r\n")
            return len(agent.recv(4096)) > 0
        except OSError:
            return False


class Gateway:
    """A gateway process with its MGCP port; ends with the `with` block."""

    def __init__(self, label, command, port, environment=None, log=None):
        self.label = label
        self.port = port
        self.log = log
        self.stderr = open(log, "ab") if log else subprocess.DEVNULL
        self.process = subprocess.Popen(
            command,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self.stderr,
        )

    @property
    def pid(self):
        return self.process.pid

    @property
    def mgcp(self):
        return f"127.0.0.1:{self.port}"

    def wait_until_up(self):
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise RuntimeError(
                    f"{self.label} ended with status {self.process.returncode}"
                    + (f", see {self.log}" if self.log else "")
                )
            if answers_mgcp(self.port):
                return self
            time.sleep(0.05)
        raise RuntimeError(f"{self.label} does not answer on {self.mgcp}")

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        if self.log:
            self.stderr.close()

    def __enter__(self):
        try:
            return self.wait_until_up()
        except BaseException:
            self.stop()
            raise

    def __exit__(self, *_):
        self.stop()


def pinned(command, cpu):
    """The command on one core, if `taskset` is there and the machine has more than one."""
    if cpu is None or os.cpu_count() < 2 or not shutil.which("taskset"):
        return command
    return ["taskset", "-c", str(cpu), *command]


def start_mgw(build, backend, endpoints, cpu=None, port=None, settings=(), log=None):
    """mgw with one worker when pinned to a core, as many as there are cores otherwise."""
    port = port or free_udp_port()
    command = [
        str(pathlib.Path(build) / "mgw"),
        "--set",
        f"mgcp.port={port}",
        "--set",
        f"endpoints.count={endpoints}",
    ]
    if cpu is not None:
        command += ["--set", "workers.count=1"]
    for setting in settings:
        command += ["--set", setting]
    return Gateway(f"mgw {backend}", pinned(command, cpu), port, {"MGW_IO_BACKEND": backend}, log)


OSMO_MGW_CONFIGURATION = """
log stderr
 logging filter all 1
 logging level set-all fatal
line vty
 no login
 bind {control}
ctrl
 bind {control}
mgcp
 domain mgw
 bind ip 127.0.0.1
 bind port {port}
 rtp port-range 32768 49151
 rtp bind-ip 127.0.0.1
 no rtp keep-alive
 number endpoints {endpoints}
 conn-timeout 0
"""


def start_osmo_mgw(endpoints, cpu=None, log=None):
    """Debian's osmo-mgw, or None if it is not installed."""
    program = shutil.which("osmo-mgw")
    if program is None:
        return None
    port = free_udp_port()
    configuration = tempfile.NamedTemporaryFile("w", suffix=".cfg", delete=False)
    with configuration:
        configuration.write(
            # VTY and CTRL ports are fixed: an address of its own keeps them free for others.
            OSMO_MGW_CONFIGURATION.format(
                port=port, endpoints=endpoints, control=f"127.1.{port >> 8}.{port & 255}"
            )
        )
    return Gateway(
        "osmo-mgw", pinned([program, "-s", "-c", configuration.name], cpu), port, log=log
    )


def osmo_mgw_version():
    """The version of the installed osmo-mgw, for reports."""
    output = subprocess.run(
        ["osmo-mgw", "--version"], capture_output=True, text=True, check=False
    ).stdout
    found = re.search(r"version (\S+)", output)
    return found.group(1) if found else "unknown"

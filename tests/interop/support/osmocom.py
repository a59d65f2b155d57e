"""Osmocom's core network, as Debian packages it: osmo-stp, osmo-hlr, osmo-msc and osmo-bsc.

They listen on fixed TCP ports, so all of a network have a loopback address of their own.
"""

import os
import re
import shutil
import socket
import subprocess
import tempfile

from support.osmo_mgw import own_loopback_address
from support.waiting import PATIENCE, wait_for

CONFIGURATIONS = os.path.join(os.path.dirname(os.path.dirname(__file__)), "osmocom")
VTY_PORTS = {"osmo-stp": 4239, "osmo-bsc": 4242, "osmo-msc": 4254, "osmo-hlr": 4258}
TELNET_OPTIONS = re.compile(rb"\xff[\xfb-\xfe].", re.DOTALL)
PROMPT = re.compile(rb"(^|\n)Osmo\w+[>#] $")
STOP_SECONDS = 10


def missing_programs():
    return [program for program in VTY_PORTS if not shutil.which(program)]


def kernel_has_sctp():
    try:
        socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_SCTP).close()
    except OSError:
        return False
    return True


class Vty:
    """The command line of a daemon, over TCP."""

    def __init__(self, address, port):
        self.socket = socket.create_connection((address, port), 10 * PATIENCE)
        self._read()
        self.command("enable")

    def _read(self):
        data = b""
        while not PROMPT.search(data):
            more = self.socket.recv(65536)
            if not more:
                raise AssertionError(f"the VTY was closed after {data!r}")
            data = TELNET_OPTIONS.sub(b"", data + more)
        return data.decode(errors="replace")

    def command(self, text):
        """Runs one command; returns what it prints."""
        self.socket.sendall(text.encode() + b"\n")
        lines = self._read().splitlines()
        return "\n".join(lines[1:-1])

    def close(self):
        self.socket.close()


class Daemon:
    """One of the programs, running."""

    def __init__(self, program, directory, own, places, arguments=()):
        self.program, self.own = program, own
        with open(os.path.join(CONFIGURATIONS, f"{program}.cfg"), encoding="ascii") as file:
            text = file.read().format(own=own, **places)
        path = os.path.join(directory, f"{program}.cfg")
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        environment = dict(os.environ)
        if not kernel_has_sctp():
            environment["LD_PRELOAD"] = environment["SCTP_OVER_TCP"]
        self.log_path = os.path.join(directory, f"{program}.log")
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                [program, "-c", path, *arguments],
                cwd=directory,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
            )

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()

    def is_running(self):
        return self.process.poll() is None

    def vty(self):
        """Its command line, once it listens; raises AssertionError if it ends before."""
        opened = []

        def connected():
            try:
                opened.append(Vty(self.own, VTY_PORTS[self.program]))
            except ConnectionRefusedError:
                return not self.is_running()
            return True

        wait_for(connected, f"{self.program} has a VTY", 20)
        if not opened:
            raise AssertionError(f"{self.program} ended: {self.log()}")
        return opened[0]

    def commands(self, *texts):
        vty = self.vty()
        try:
            return [vty.command(text) for text in texts]
        finally:
            vty.close()

    def stop(self):
        """Ends it; raises AssertionError if it had ended before."""
        status = self.process.poll()
        if status is None:
            self.process.terminate()
            try:
                self.process.wait(STOP_SECONDS * PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        else:
            raise AssertionError(f"{self.program} had ended with {status}: {self.log()[-4000:]}")


class Network:
    """All four daemons, with the gateway's address as their MGW. Use it as a context manager."""

    def __init__(self, address, port):
        self.directory = tempfile.TemporaryDirectory(prefix="mgw-osmocom-")
        self.places = {"mgw": address, "mgw_port": port}
        self.own = own_loopback_address()
        self.daemons = {}

    def start(self, program):
        arguments = ()
        if program == "osmo-hlr":
            arguments = ("-l", os.path.join(self.directory.name, "hlr.db"))
        daemon = Daemon(program, self.directory.name, self.own, self.places, arguments)
        self.daemons[program] = daemon
        return daemon

    def start_all(self):
        """The servers first: their clients try again only after seconds."""
        for program in ("osmo-stp", "osmo-hlr"):
            self.start(program)
        for program in ("osmo-stp", "osmo-hlr"):
            self.daemons[program].vty().close()
        for program in ("osmo-msc", "osmo-bsc"):
            self.start(program)
        for program in ("osmo-msc", "osmo-bsc"):
            self.daemons[program].vty().close()
        return self

    def __getitem__(self, program):
        return self.daemons[program]

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        faults = []
        for daemon in reversed(self.daemons.values()):
            try:
                daemon.stop()
            except AssertionError as error:
                faults.append(str(error))
            if kind is not None:
                print(f"--- log of {daemon.program}\n{daemon.log()[-4000:]}--- end of log")
        self.directory.cleanup()
        if faults and kind is None:
            raise AssertionError("\n".join(faults))

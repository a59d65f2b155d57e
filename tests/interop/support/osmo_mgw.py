"""osmo-mgw as a process of its own, beside whatever else of it runs on this machine."""

import os
import socket
import subprocess
import tempfile

from support.ports import PortRange, udp_socket
from support.waiting import PATIENCE, wait_for

CONFIGURATION = """log stderr
 logging filter all 1
 logging level set-all error
stats interval 0
line vty
 no login
 bind {own}
ctrl
 bind {own}
mgcp
 domain mgw
 bind ip 127.0.0.1
 bind port {port}
 rtp port-range {first} {last}
 rtp bind-ip 127.0.0.1
 rtp bind-ip-v6 ::1
 no rtp keep-alive
 number endpoints 300
"""


def own_loopback_address():
    """An address of 127.0.0.0/8 for the process's fixed TCP ports (VTY, CTRL)."""
    number = os.getpid()
    return f"127.{64 + number // 65536 % 64}.{number // 256 % 256}.{number % 254 + 1}"


class OsmoMgw:
    """A running osmo-mgw with the settings that support.gateway gives to ours."""

    def __init__(self, program="osmo-mgw", more=()):
        """more: further lines of its mgcp section."""
        self.range = PortRange(1000)
        self.directory = tempfile.TemporaryDirectory(prefix="mgw-osmo-")
        with udp_socket("127.0.0.1") as probe:
            self.port = probe.getsockname()[1]
        self.address = "127.0.0.1"
        path = os.path.join(self.directory.name, "osmo-mgw.cfg")
        own = own_loopback_address()
        with open(path, "w", encoding="ascii") as file:
            file.write(CONFIGURATION.format(own=own, port=self.port, first=self.range.first,
                                            last=self.range.last))
            file.writelines(f" {line}\n" for line in more)
        self.log_path = os.path.join(self.directory.name, "log")
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen([program, "-c", path], stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, cwd=self.directory.name)
        self.pid = self.process.pid
        wait_for(lambda: self.process.poll() is not None or self._answers(), "osmo-mgw answers")
        if self.process.poll() is not None:
            raise RuntimeError(f"osmo-mgw ended: {self.log()}")

    def _answers(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((self.address, self.port))
            probe.settimeout(0.2)
            try:
                probe.send(b"AUEP 1 rtpbridge/1@mgw MGCP 1.0\r\n")
                return probe.recv(2048).startswith(b"200")
            except OSError:
                return False

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()

    def version(self):
        text = subprocess.run(["osmo-mgw", "--version"], capture_output=True, text=True,
                              check=False).stdout
        return text.split("\n")[0].rsplit(" ", 1)[-1]

    def stop(self):
        """Ends it; returns its exit status if it had ended before, else None."""
        status = self.process.poll()
        if status is None:
            self.process.terminate()
            try:
                self.process.wait(10 * PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.directory.cleanup()
        self.range.close()
        return status

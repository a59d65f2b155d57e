"""The program as scripts know it: options, exit statuses, conversion of configuration files.

MGW_PROGRAM is the gateway, MGWCTL_PROGRAM mgwctl.
"""

import os
import socket
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

from support import runner
from support.gateway import PROGRAM, Gateway, StartError
from support.operators import CONFIGURATION, StatsdServer, Vty
from support.ports import free_tcp_port
from support.waiting import PATIENCE

MGWCTL = os.environ.get("MGWCTL_PROGRAM", "")


class ProgramTest(unittest.TestCase):
    """Options, exit statuses and conversion, as scripts know them."""

    def setUp(self):
        self.statsd = StatsdServer()
        self.addCleanup(self.statsd.close)
        self.ports = {"statsd": self.statsd.port, "vty": free_tcp_port(), "ctrl": free_tcp_port()}

    def write(self, text):
        path = os.path.join(self.directory(), "osmo-mgw.cfg")
        with open(path, "w", encoding="utf-8") as config:
            config.write(text)
        return path

    def directory(self):
        holder = tempfile.TemporaryDirectory(prefix="mgw-interop-")
        self.addCleanup(holder.cleanup)
        return holder.name

    def run_program(self, *arguments):
        return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False,
                              timeout=30 * PATIENCE)

    def test_exit_statuses(self):
        missing = self.run_program("-c", "/nonexistent/osmo-mgw.cfg")
        self.assertEqual(missing.returncode, 254)
        self.assertIn("Failed to parse the config file: '/nonexistent/osmo-mgw.cfg'",
                      missing.stderr)
        broken = self.run_program("-c", self.write("mgcp\n domain mgw\n nonsense 3\n"))
        self.assertEqual(broken.returncode, 234)
        self.assertIn("nonsense 3", broken.stderr)
        deprecated = self.run_program("--check", "-c", self.write("mgcp\n loop 0\n"))
        self.assertEqual(deprecated.returncode, 0)
        self.assertIn("config no longer has any effect", deprecated.stderr)
        with self.assertRaises(StartError) as taken:
            holder = socket.create_server(("127.0.0.1", self.ports["vty"]))
            self.addCleanup(holder.close)
            Gateway(osmo_config=CONFIGURATION.format(**self.ports))
        self.assertIn("vty", str(taken.exception))

    def test_reference_of_commands(self):
        """--vty-ref-xml prints all commands, with whatever mode."""
        printed = self.run_program("--vty-ref-xml", "--vty-ref-mode", "default")
        self.assertEqual(printed.returncode, 0)
        root = xml.etree.ElementTree.fromstring(printed.stdout)
        nodes = {node.get("id"): len(list(node)) for node in root}
        self.assertEqual(len(nodes), 11)
        self.assertGreater(nodes["config-mgcp"], 50)

    def test_background(self):
        """-D returns when all sockets are open, and `shutdown` ends the gateway."""
        text = CONFIGURATION.format(**self.ports)
        done = self.run_program("-D", "-c", self.write(text), "--set", "mgcp.port=0")
        self.assertEqual(done.returncode, 0, done.stderr)
        with Vty(("127.0.0.1", self.ports["vty"])) as session:
            session.command("enable")
            session.socket.sendall(b"shutdown\n")
            while session.socket.recv(4096):
                pass
        failed = self.run_program("-D", "-c", self.write(text + " bind ip 192.0.2.77\n"))
        self.assertEqual(failed.returncode, 255)

    def test_conversion_there_and_back(self):
        text = CONFIGURATION.format(**self.ports)
        source = self.write(text)
        yaml, again = source + ".yaml", source + "-again.cfg"
        for command in ([MGWCTL, "convert-config", source, yaml],
                        [PROGRAM, "--check", "-c", yaml],
                        [MGWCTL, "convert-config", yaml, again],
                        [PROGRAM, "--check", "-c", again]):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, f"{command}: {done.stderr}")
        second = subprocess.run([MGWCTL, "convert-config", again], capture_output=True, text=True,
                                check=True)
        with open(yaml, encoding="utf-8") as first:
            self.assertEqual(second.stdout, first.read())
        refused = subprocess.run([MGWCTL, "convert-config", source, yaml], capture_output=True,
                                 text=True, check=False)
        self.assertNotEqual(refused.returncode, 0, "a file was overwritten")


if __name__ == "__main__":
    runner.main()

"""What the packages are made of: manual pages, units, the default configuration.

MGW_PROGRAM, MGWCTL_PROGRAM and RTPLOAD_PROGRAM are the programs, MANUAL_FOLDER has their pages.
Installing the packages is the matter of `tools/package --check`.
"""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from support import runner
from support.gateway import PROGRAM, Gateway
from support.load import Load
from support.ports import free_tcp_port

SOURCE = pathlib.Path(__file__).parents[2]
PACKAGING = SOURCE / "packaging"
MANUAL = pathlib.Path(os.environ.get("MANUAL_FOLDER", ""))
PROGRAMS = {
    "mgw.8": PROGRAM,
    "mgwctl.1": os.environ.get("MGWCTL_PROGRAM", ""),
    "rtpload.1": os.environ.get("RTPLOAD_PROGRAM", ""),
}
EXPOSURE_TENTHS_MAX = 20
# systemd.exec(5): always allowed.
ALWAYS_ALLOWED = {"execve", "exit", "exit_group", "getrlimit", "rt_sigreturn"}


def run(*command, **options):
    return subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options
    )


class ManualPageTest(unittest.TestCase):
    """Pages that render, and say what the programs say."""

    @staticmethod
    def rendered(page):
        text = run("mandoc", "-T", "utf8", "-O", "width=1000", str(MANUAL / page)).stdout
        return re.sub(".\b", "", text)

    @unittest.skipUnless(shutil.which("mandoc"), "mandoc is not installed")
    def test_pages_have_no_faults(self):
        for page in (*PROGRAMS, "mgw.yaml.5"):
            with self.subTest(page):
                done = run("mandoc", "-T", "lint", "-W", "warning", str(MANUAL / page))
                self.assertEqual((done.returncode, done.stdout), (0, ""))

    @unittest.skipUnless(shutil.which("mandoc"), "mandoc is not installed")
    def test_every_option_is_in_the_page(self):
        for page, program in PROGRAMS.items():
            text = self.rendered(page)
            helps = [run(program, "--help").stdout]
            commands = re.findall(r"(?m)^  ([a-z][\w-]*)  ", helps[0].partition("Subcommands:")[2])
            helps += [run(program, command, "--help").stdout for command in commands]
            options = set(re.findall(r"(?m)^  (-\S+)", "\n".join(helps)))
            self.assertGreater(len(options), 5)
            for option in {name for names in options for name in names.split(",")}:
                pattern = rf"(?<![\w-]){re.escape(option)}(?![\w-])"
                self.assertTrue(re.search(pattern, text), f"{page}: {option} is missing")
            for command in commands:
                self.assertTrue(re.search(rf"(?m)^   {command}$", text), f"{command} is missing")

    @unittest.skipUnless(shutil.which("mandoc"), "mandoc is not installed")
    def test_every_key_is_in_the_page(self):
        text = self.rendered("mgw.yaml.5")
        example = (SOURCE / "conf/mgw.example.yaml").read_text(encoding="utf-8")
        path, keys = [], []
        for indent, name in re.findall(r"(?m)^( *)([\w-]+):", example):
            path[len(indent) // 2 :] = [name]
            keys.append(".".join(path))
        self.assertGreater(len(keys), 90)
        for key in keys:
            self.assertTrue(re.search(rf"(?m)^ +{re.escape(key)}$", text), f"{key} is missing")


@unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not installed")
class UnitTest(unittest.TestCase):
    """The units, without a systemd that runs."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="mgw-units-")
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        for unit in ("mgw.service", "mgw.socket"):
            text = (PACKAGING / "systemd" / unit).read_text(encoding="utf-8")
            (self.folder / unit).write_text(text.replace("/usr/bin/mgw", PROGRAM))
        self.unit = str(self.folder / "mgw.service")

    def verify(self):
        done = run(
            "systemd-analyze", "verify", "--man=no", self.unit, str(self.folder / "mgw.socket")
        )
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_units_are_well_formed(self):
        self.verify()
        drop_ins = self.folder / "mgw.service.d"
        drop_ins.mkdir()
        for example in (PACKAGING / "systemd").glob("*.conf"):
            shutil.copy(example, drop_ins)
        self.verify()

    def test_exposure(self):
        done = run(
            "systemd-analyze",
            "security",
            "--offline=true",
            f"--threshold={EXPOSURE_TENTHS_MAX}",
            self.unit,
        )
        self.assertEqual(done.returncode, 0, done.stdout)

    def allowed_calls(self):
        """The system calls that the unit allows, with its sets expanded."""
        sets, name = {}, None
        for line in run("systemd-analyze", "syscall-filter").stdout.splitlines():
            if line.startswith("@"):
                name = line.split()[0]
                sets[name] = set()
            elif line.strip() and not line.strip().startswith("#") and name:
                sets[name].add(line.strip())

        def expanded(word):
            if not word.startswith("@"):
                return {word}
            return set().union(*map(expanded, sets[word]))

        allowed = set(ALWAYS_ALLOWED)
        with open(self.unit, encoding="utf-8") as unit:
            for words in re.findall(r"(?m)^SystemCallFilter=(.*)$", unit.read()):
                for word in words.removeprefix("~").split():
                    if words.startswith("~"):
                        allowed -= expanded(word)
                    else:
                        allowed |= expanded(word)
        return allowed

    @unittest.skipUnless(shutil.which("strace"), "strace is not installed")
    def test_the_unit_allows_the_system_calls_that_are_made(self):
        allowed = self.allowed_calls()
        self.assertNotIn("ptrace", allowed)
        settings = {"vty.enabled": "true", "vty.port": free_tcp_port()}
        for backend in runner.BACKENDS:
            trace = self.folder / backend
            command = ["strace", "-D", "-f", "-qq", "-o", str(trace), PROGRAM]
            with Gateway(settings, backend, program=command) as gateway:
                load = Load(gateway.address, gateway.port, "--calls", 2, "--seconds", 0.5)
                # Traced as it is, it may be late; what counts is that packets took their way.
                self.assertGreater(load.finish(60)[1]["received"], 0, load.errors)
                gateway.metrics()
            calls = set(re.findall(r"(?m)^\d+ +(?:<\.\.\. )?([a-z_0-9]+)", trace.read_text()))
            self.assertIn("epoll_wait", calls)
            self.assertLessEqual(calls, allowed, f"{backend}: {sorted(calls - allowed)}")


class ConfigurationTest(unittest.TestCase):
    """Configurations and scripts as they are shipped."""

    def test_configurations_are_valid(self):
        for name in ("mgw.yaml", "docker/mgw.yaml"):
            done = run(PROGRAM, "-c", str(PACKAGING / name), "--check")
            self.assertEqual(done.returncode, 0, done.stdout)

    def test_scripts_are_well_formed(self):
        for name in ("postinst", "prerm", "postrm"):
            script = PACKAGING / "debian" / name
            self.assertEqual(run("sh", "-n", str(script)).returncode, 0)
            self.assertIn("\nset -e\n", script.read_text(encoding="utf-8"))

    @unittest.skipUnless(shutil.which("promtool"), "promtool is not installed")
    def test_prometheus_takes_its_configuration(self):
        done = run("promtool", "check", "config", str(PACKAGING / "docker/prometheus.yml"))
        self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    runner.main()

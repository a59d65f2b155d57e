"""The gateway as a process of its own: started, watched, stopped."""

import os
import re
import signal
import subprocess
import tempfile

from support import metrics
from support.ports import PortRange, free_tcp_port
from support.waiting import PATIENCE, wait_for

PROGRAM = os.environ.get("MGW_PROGRAM", "")
LISTENING = re.compile(r"listening on (\S+):(\d+) for ")
STOP_SECONDS = 10


class Gateway:
    """A running gateway. Use it as a context manager, or call stop().

    settings: configuration keys with their values; backend: poll, io_uring or None (auto);
    ports: size of the RTP port range; program: a command line that runs the gateway;
    preexec: called in the child before exec, for limits and filters; osmo_config, yaml_config: the
    text of a configuration file to start with, over which the settings go; environment: variables
    that the gateway gets in addition, descriptors: those that it inherits.
    """

    def __init__(self, settings=None, backend=None, ports=1000, program=None, preexec=None,
                 osmo_config=None, yaml_config=None, environment=None, descriptors=()):
        if not os.access(PROGRAM, os.X_OK):
            raise RuntimeError(f"MGW_PROGRAM={PROGRAM!r} is no program")
        self.range = PortRange(ports)
        self.directory = tempfile.TemporaryDirectory(prefix="mgw-interop-")
        self.log_path = os.path.join(self.directory.name, "log")
        self.settings = {
            "mgcp.port": 0, "mgcp.bind": "127.0.0.1", "rtp.bind": "127.0.0.1",
            "rtp.bind-v6": "::1", "rtp.port-min": self.range.first,
            "rtp.port-max": self.range.last, "rtp.keep-alive": "off",
            "metrics.port": free_tcp_port(), "endpoints.count": 300,
        }
        self.settings.update(settings or {})
        command = list(program or [PROGRAM])
        if osmo_config is not None:
            self.config_path = os.path.join(self.directory.name, "osmo-mgw.cfg")
            with open(self.config_path, "w", encoding="utf-8") as config:
                config.write(osmo_config)
            command += ["-s", "-c", self.config_path]
        if yaml_config is not None:
            self.config_path = os.path.join(self.directory.name, "mgw.yaml")
            with open(self.config_path, "w", encoding="utf-8") as config:
                config.write(yaml_config)
            command += ["-c", self.config_path]
        self.environment, self.descriptors = environment or {}, descriptors
        self.start(backend, command, preexec)

    def start(self, backend, program, preexec):
        command = list(program)
        for key, value in self.settings.items():
            command += ["--set", f"{key}={value}"]
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("MGW_IO_BACKEND", "LIBOSMO_IO_BACKEND")}
        environment.update(self.environment)
        if backend:
            environment["MGW_IO_BACKEND"] = backend
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment,
                preexec_fn=preexec, pass_fds=self.descriptors)
        self.pid = self.process.pid
        try:
            wait_for(self._has_started, "the gateway listens or ends", 20)
        except AssertionError:
            self.kill()
            raise
        match = LISTENING.search(self.log())
        if not match:
            self.process.wait()
            self._release()
            raise StartError(self.process.returncode, self.log_text)
        self.address, self.port = match[1].strip("[]"), int(match[2])

    def _has_started(self):
        return LISTENING.search(self.log()) or self.process.poll() is not None

    def log(self):
        """All that the gateway has written so far."""
        if self.directory:
            with open(self.log_path, encoding="utf-8", errors="replace") as log:
                self.log_text = log.read()
        return self.log_text

    def told(self, text):
        """The log's lines with the text, as soon as there is one: who logs waits for nobody."""
        return wait_for(lambda: self.log_lines(text), f"the log says {text!r}")

    def log_lines(self, word):
        return [line for line in self.log().splitlines() if word in line]

    def metrics(self):
        return metrics.scrape(self.settings.get("metrics.bind", "127.0.0.1"),
                              self.settings["metrics.port"])

    def backend(self):
        return self.metrics().labels("mgw_io_backend_info")[0]["backend"]

    def settled(self, received=0):
        """Metrics once so many more datagrams came in since the last call and all of them left.

        The condition that ends every check of counts. What the gateway sends is counted when it
        is queued: the last of it may reach the receiver's socket a moment later.
        """
        seen = getattr(self, "_datagrams_seen", 0)
        state = {}

        def balanced():
            state["metrics"] = now = self.metrics()
            came, went = now.balance()
            return now.datagrams("received") >= seen + received and came == went
        try:
            wait_for(balanced, f"{received} datagrams received and dealt with")
        except AssertionError as error:
            now = state["metrics"]
            raise AssertionError(f"{error}: {now.datagrams('received') - seen:.0f} received, "
                                 f"balance {now.balance()}") from None
        self._datagrams_seen = state["metrics"].datagrams("received")
        return state["metrics"]

    def cpu_seconds(self):
        """CPU time of all threads, from the scheduler's nanoseconds."""
        total = 0
        for task in os.listdir(f"/proc/{self.pid}/task"):
            with open(f"/proc/{self.pid}/task/{task}/schedstat", encoding="ascii") as stat:
                total += int(stat.read().split()[0])
        return total / 1e9

    def signal(self, number):
        os.kill(self.pid, number)

    def stop(self):
        """SIGTERM; returns the exit status, raises if the gateway does not end or had died."""
        if self.process.poll() is not None:
            text = self.log()
            self._release()
            raise AssertionError(f"the gateway ended by itself: {self.process.returncode}\n{text}")
        self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(STOP_SECONDS * PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError("the gateway does not end on SIGTERM") from None
        text = self.log()
        self._release()
        if status != 0:
            raise AssertionError(f"exit status {status} after SIGTERM\n{text}")
        return status

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._release()

    def _release(self):
        self.log()
        if self.directory:
            self.directory.cleanup()
            self.directory = None
            self.range.close()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is None:
            self.stop()
        else:
            self.kill()
            print(f"--- log of the gateway\n{self.log_text[-4000:]}--- end of log")


class StartError(Exception):
    """The gateway ended before it listened."""

    def __init__(self, status, text):
        super().__init__(f"exit status {status}: {text}")
        self.status = status
        self.text = text

"""Network namespaces of a test's own, which end with the processes in them.

As a program, runs the script that is named in a namespace of its own: namespace.py SCRIPT.
"""

import contextlib
import ctypes
import os
import subprocess
import sys

CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


def command(*words):
    """Runs a command and returns what it wrote."""
    result = subprocess.run(words, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {result.stderr.strip()}")
    return result.stdout


def _unshare():
    if _libc.unshare(CLONE_NEWNET) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"unshare: {os.strerror(error)}")


def _set(descriptor):
    if _libc.setns(descriptor, CLONE_NEWNET) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"setns: {os.strerror(error)}")


def _current():
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def enter():
    """The process lives in a namespace of its own from now on; its loopback device is up."""
    _unshare()
    command("ip", "link", "set", "lo", "up")


class Namespace:
    """Another namespace, with a loopback device. Sockets made in `with inside():` stay in it."""

    def __init__(self):
        home = _current()
        _unshare()
        self.descriptor = _current()
        command("ip", "link", "set", "lo", "up")
        _set(home)
        self.home = home

    @contextlib.contextmanager
    def inside(self):
        _set(self.descriptor)
        try:
            yield
        finally:
            _set(self.home)

    def join(self, here, there, addresses_here, addresses_there):
        """A pair of veth devices, `here` in the process's namespace and `there` in this one."""
        path = f"/proc/{os.getpid()}/fd/{self.descriptor}"
        command("ip", "link", "add", here, "type", "veth", "peer", "name", there, "netns", path)
        _give(here, addresses_here)
        with self.inside():
            _give(there, addresses_there)

    def close(self):
        os.close(self.descriptor)
        os.close(self.home)


def _give(device, addresses):
    for address in addresses:
        words = ["nodad"] if ":" in address else []
        command("ip", "address", "add", address, "dev", device, *words)
    command("ip", "link", "set", device, "up")


if __name__ == "__main__":
    enter()
    os.execv(sys.executable, [sys.executable, "-B", *sys.argv[1:]])

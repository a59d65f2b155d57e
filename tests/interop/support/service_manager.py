"""A stand-in for the service manager: what it passes to the gateway, and what the gateway tells it.

sd_notify(3), sd_listen_fds(3), sd_watchdog_enabled(3).
"""

import ctypes
import os
import socket
import sys
import tempfile
import threading

from support.waiting import PATIENCE

PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 17, 0x4206, 0x4207
# Puts the descriptors argv[1] (numbers, comma) where they are expected, then runs the rest.
PASSING = """
import fcntl, os, sys
copies = [fcntl.fcntl(int(number), fcntl.F_DUPFD, 100) for number in sys.argv[1].split(",")]
for target, copy in enumerate(copies, 3):
    os.dup2(copy, target)
    os.close(copy)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(copies)),
                  LISTEN_FDNAMES=sys.argv[2])
os.execv(sys.argv[3], sys.argv[3:])
"""


class ServiceManager:
    """The socket NOTIFY_SOCKET with what came in over it. Use it as a context manager."""

    def __init__(self):
        self.directory = tempfile.TemporaryDirectory(prefix="mgw-notify-")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.path = os.path.join(self.directory.name, "notify")
        self.socket.bind(self.path)

    def environment(self, watchdog_us=0):
        values = {"NOTIFY_SOCKET": self.path}
        if watchdog_us:
            values["WATCHDOG_USEC"] = str(watchdog_us)
        return values

    def next(self):
        """The next notification: a dictionary of its assignments."""
        self.socket.settimeout(20 * PATIENCE)
        text = self.socket.recv(8192).decode()
        return dict(line.split("=", 1) for line in text.splitlines())

    def waiting(self):
        """All notifications that are there."""
        found = []
        self.socket.setblocking(False)
        try:
            while True:
                text = self.socket.recv(8192).decode()
                found.append(dict(line.split("=", 1) for line in text.splitlines()))
        except BlockingIOError:
            return found

    def until(self, condition):
        """Notifications up to the first one for which condition(assignments) is true."""
        found = [self.next()]
        while not condition(found[-1]):
            found.append(self.next())
        return found

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()
        self.directory.cleanup()


class KeepingManager(ServiceManager):
    """One that keeps descriptors (FDSTORE) as well; a thread of its own hears the notifications."""

    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()
        self.store = {}
        self.told = []
        self.socket.settimeout(0.1)
        self.is_ending = False
        self.thread = threading.Thread(target=self._listen)
        self.thread.start()

    def _listen(self):
        while not self.is_ending:
            try:
                text, descriptors, _, _ = socket.recv_fds(self.socket, 8192, 4)
            except TimeoutError:
                continue
            values = dict(line.split("=", 1) for line in text.decode().splitlines())
            with self.lock:
                if values.get("FDSTORE") == "1":
                    assert values["FDPOLL"] == "0"
                    for descriptor in descriptors:
                        kept = self.store.pop(values["FDNAME"], None)
                        if kept is not None:  # the same once more, from the next process
                            kept.close()
                        self.store[values["FDNAME"]] = socket.socket(fileno=descriptor)
                elif values.get("FDSTOREREMOVE") == "1":
                    if values["FDNAME"] in self.store:
                        self.store.pop(values["FDNAME"]).close()
                else:
                    self.told.append(values)

    def kept(self):
        """The sockets in the store, by name."""
        with self.lock:
            return dict(self.store)

    def __exit__(self, *details):
        self.is_ending = True
        self.thread.join()
        for a_socket in self.store.values():
            a_socket.close()
        super().__exit__(*details)


def passing(program, sockets):
    """A command line for the program with these sockets, {name: socket}, and their numbers."""
    numbers = [a_socket.fileno() for a_socket in sockets.values()]
    command = [
        sys.executable,
        "-c",
        PASSING,
        ",".join(map(str, numbers)),
        ":".join(sockets),
        program,
    ]
    return command, numbers


class StoppedThread:
    """A thread of a process that stands still from here to the end of the context."""

    def __init__(self, pid, name):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
        self.thread = next(
            int(task) for task in os.listdir(f"/proc/{pid}/task") if thread_name(pid, task) == name
        )

    def _ptrace(self, request):
        if self.libc.ptrace(request, self.thread, None, None) != 0:
            raise OSError(ctypes.get_errno(), f"ptrace {request:#x}")

    def __enter__(self):
        self._ptrace(PTRACE_SEIZE)
        self._ptrace(PTRACE_INTERRUPT)
        os.waitpid(self.thread, 0x40000000)  # __WALL
        return self

    def __exit__(self, *_):
        self._ptrace(PTRACE_DETACH)


def thread_name(pid, task):
    with open(f"/proc/{pid}/task/{task}/comm", encoding="ascii") as name:
        return name.read().strip()

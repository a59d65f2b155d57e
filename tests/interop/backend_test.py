"""Which backend runs, where the kernel, a filter or a limit refuses io_uring, and that it works.

MGW_PROGRAM is the gateway.
"""

import errno
import unittest

from support import mgcp, runner
from support.call import media_works
from support.gateway import Gateway, StartError
from support.sandbox import limit_locked_memory, refuse_io_uring


class BackendChoice(unittest.TestCase):
    """U1, U2: the choice of the backend is told, and media flows whatever it is."""

    def carry_a_call(self, gateway, backend):
        """The media test; log and metric name the backend."""
        info = gateway.metrics().labels("mgw_io_backend_info")[0]
        self.assertEqual(info["backend"], backend)
        self.assertTrue(gateway.told(f"I/O backend {backend}"), gateway.log())
        agent = mgcp.Agent(gateway.address, gateway.port)
        for endpoint in range(1, 5):
            media_works(gateway, agent, f"rtpbridge/{endpoint}@mgw")
        agent.close()
        return info

    def test_seccomp_filter(self):
        """U1: a filter that refuses io_uring_setup leads to poll, and log and metric say why."""
        for error in (errno.EPERM, errno.ENOSYS):
            with self.subTest(errno.errorcode[error]), \
                    Gateway(backend="auto", preexec=refuse_io_uring(error)) as gateway:
                info = self.carry_a_call(gateway, "poll")
                self.assertNotEqual(info["fallback_reason"], "")
                self.assertTrue(gateway.told("io_uring can't be had"), gateway.log())

    def test_explicit_choice_under_a_filter(self):
        """U1: who asks for io_uring by name and can't have it gets a message, not a gateway."""
        for error in (errno.EPERM, errno.ENOSYS):
            with self.subTest(errno.errorcode[error]):
                with self.assertRaises(StartError) as raised:
                    Gateway(backend="io_uring", preexec=refuse_io_uring(error)).kill()
                self.assertNotEqual(raised.exception.status, 0)
                self.assertGreater(raised.exception.status, 0, "ended by a signal")
                self.assertIn("io_uring", raised.exception.text)
                self.assertEqual(len(raised.exception.text.strip().splitlines()), 1,
                                 raised.exception.text)

    def test_locked_memory(self):
        """U2: no or little lockable memory: it starts and works."""
        for size in (0, 64 * 1024):
            for backend in ("auto", *runner.BACKENDS):
                with self.subTest(size=size, backend=backend):
                    try:
                        gateway = Gateway(backend=backend, preexec=limit_locked_memory(size))
                    except StartError as error:
                        self.assertEqual(backend, "io_uring", "only the explicit choice may fail")
                        self.assertGreater(error.status, 0)
                        self.assertEqual(len(error.text.strip().splitlines()), 1, error.text)
                        continue
                    with gateway:
                        self.carry_a_call(gateway, gateway.backend())
                        # Told once, at the start; never in the middle of a call.
                        self.assertLessEqual(len(gateway.log_lines("Cannot allocate memory")), 1)

    def test_named_backends(self):
        """The environment chooses; both names of the variable and any case of it."""
        for backend in runner.BACKENDS:
            with self.subTest(backend), Gateway(backend=backend) as gateway:
                self.carry_a_call(gateway, backend)


if __name__ == "__main__":
    runner.main()

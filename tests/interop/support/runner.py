"""Runs the tests of a script; exit status 77 with the reasons if all of them were skipped."""

import sys
import tempfile
import unittest

BACKENDS = ("poll", "io_uring")
SKIPPED_STATUS = 77


def for_each_backend(module, base):
    """Adds a subclass of base with `backend` set for each backend: CallTest_poll, ..."""
    for backend in BACKENDS:
        name = f"{base.__name__}_{backend}"
        module[name] = type(name, (base, unittest.TestCase),
                            {"backend": backend, "__module__": base.__module__})


def temporary_directory(case):
    """The path of a directory that goes with the test case."""
    directory = tempfile.TemporaryDirectory(prefix="mgw-interop-")
    case.addCleanup(directory.cleanup)
    return directory.name


def main():
    program = unittest.main(module="__main__", exit=False, verbosity=2, argv=sys.argv)
    result = program.result
    for test, reason in result.skipped:
        print(f"skipped: {test}: {reason}")
    if not result.wasSuccessful():
        sys.exit(1)
    if result.testsRun == 0:
        sys.exit("no tests were found")
    sys.exit(SKIPPED_STATUS if len(result.skipped) == result.testsRun else 0)

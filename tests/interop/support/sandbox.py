"""Limits and filters for a child process, applied between fork and exec."""

import ctypes
import errno
import os
import resource
import struct

IO_URING_SETUP = 425  # the same number on every architecture that got it
CAP_IPC_LOCK = 14
PR_CAPBSET_DROP, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 24, 22, 38
SECCOMP_MODE_FILTER = 2
SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO = 0x7FFF0000, 0x00050000
BPF_LOAD_WORD, BPF_JUMP_EQUAL, BPF_RETURN = 0x20, 0x15, 0x06

_libc = ctypes.CDLL(None, use_errno=True)


def _prctl(*arguments):
    # Pointers and lengths are unsigned long each: a variadic call must not cut them.
    if _libc.prctl(ctypes.c_int(arguments[0]), *map(ctypes.c_ulong, arguments[1:]),
                   *[ctypes.c_ulong(0)] * (5 - len(arguments))) != 0:
        raise OSError(ctypes.get_errno(), f"prctl {arguments[0]}")


def refuse_io_uring(error=errno.EPERM):
    """A function that puts a seccomp filter in place which refuses io_uring_setup."""
    program = b"".join(struct.pack("=HBBI", *instruction) for instruction in (
        (BPF_LOAD_WORD, 0, 0, 0),  # the number of the system call
        (BPF_JUMP_EQUAL, 0, 1, IO_URING_SETUP),
        (BPF_RETURN, 0, 0, SECCOMP_RET_ERRNO | error),
        (BPF_RETURN, 0, 0, SECCOMP_RET_ALLOW)))
    code = ctypes.create_string_buffer(program, len(program))
    header = ctypes.create_string_buffer(struct.pack("@HP", len(program) // 8,
                                                     ctypes.addressof(code)))

    def apply():
        _prctl(PR_SET_NO_NEW_PRIVS, 1)
        _prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(header))
    # The buffers live as long as the function.
    apply.buffers = (code, header)
    return apply


def limit_files(count):
    """A function that limits open descriptors, hard and soft."""
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))


def limit_locked_memory(size):
    """A function that limits locked memory and takes the capability that lifts the limit."""
    def apply():
        if os.geteuid() == 0:
            _prctl(PR_CAPBSET_DROP, CAP_IPC_LOCK)
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (size, size))
    return apply

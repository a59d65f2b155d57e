"""Port ranges for gateways and pairs of sockets for peers, without a fixed port anywhere."""

import errno
import os
import socket

# Below the ports that Linux gives to sockets bound to port 0 (32768 and up).
BLOCK_PORTS = 1000
FIRST_PORT = 10000
BLOCKS = 22


class PortRange:
    """Neighbouring blocks of ports that no other test run uses while this object lives.

    A block is taken by binding a name in the abstract socket namespace, which the kernel frees
    with the process whatever its end.
    """

    def __init__(self, ports=BLOCK_PORTS):
        count = -(-ports // BLOCK_PORTS)
        start = os.getpid() % BLOCKS
        for offset in range(BLOCKS):
            first = (start + offset) % BLOCKS
            if first + count > BLOCKS:
                continue
            locks = self._lock(range(first, first + count))
            if locks is not None:
                self._locks = locks
                self.first = FIRST_PORT + first * BLOCK_PORTS
                self.last = self.first + ports - 1
                return
        raise RuntimeError(f"no {count} neighbouring port blocks are free")

    @staticmethod
    def _lock(blocks):
        locks = []
        for block in blocks:
            lock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            try:
                lock.bind(f"\0mgw-interop-ports-{block}")
            except OSError:
                lock.close()
                for taken in locks:
                    taken.close()
                return None
            locks.append(lock)
        return locks

    def close(self):
        for lock in self._locks:
            lock.close()


def family_of(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def udp_socket(address, port=0):
    sock = socket.socket(family_of(address), socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * 1024 * 1024)
    sock.setblocking(False)
    try:
        sock.bind((address, port))
    except OSError:
        sock.close()
        raise
    return sock


def udp_pair(address):
    """Two sockets on an even port and the one above it, as RTP and RTCP want them."""
    for _ in range(1000):
        rtp = udp_socket(address)
        port = rtp.getsockname()[1]
        if port % 2 == 0:
            try:
                return rtp, udp_socket(address, port + 1)
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
        rtp.close()
    raise RuntimeError("no pair of ports is free")


def free_pair(address="127.0.0.1"):
    """Two neighbouring ports for a program that can't be told to choose."""
    pair = udp_pair(address)
    port = pair[0].getsockname()[1]
    for sock in pair:
        sock.close()
    return port


def free_udp_port(address="127.0.0.1"):
    """A port that is free now, and not given out by the kernel to sockets bound to port 0 soon."""
    with udp_socket(address) as a_socket:
        return a_socket.getsockname()[1]


def free_tcp_port(address="127.0.0.1"):
    with socket.socket(family_of(address), socket.SOCK_STREAM) as probe:
        probe.bind((address, 0))
        return probe.getsockname()[1]


def udp_port_is_free(address, port):
    try:
        udp_socket(address, port).close()
    except OSError:
        return False
    return True

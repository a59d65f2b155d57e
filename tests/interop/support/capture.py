"""Captures of a test's datagrams with dumpcap, and what tshark's dissectors say about them."""

import os
import shutil
import signal
import subprocess

from support.ports import udp_socket
from support.waiting import PATIENCE, wait_for

CAPTURE_RIGHTS = bool(shutil.which("dumpcap") and shutil.which("tshark")) and os.geteuid() == 0
# Wireshark's expert severities.
WARNING, ERROR = 0x600000, 0x800000
# The AMR dissector takes octet-aligned payloads unless told otherwise.
BANDWIDTH_EFFICIENT = "amr.encoding.version:RFC 3267 BW-efficient"
# And narrowband; AMR-WB also needs a rule for its payload type, see decode_rules().
WIDEBAND = "amr.mode:Wideband AMR"
# What the capture sends to itself.
MARKS = (b"mgw interop capture begins", b"mgw interop capture ends here")


class Frame:
    """What tshark says about one datagram."""

    def __init__(self, columns):
        number, protocols, severities, self.message, malformed, kind, self.info = columns
        self.number = int(number)
        self.payload_type = int(kind) if kind.isdigit() else None
        self.protocols = set(protocols.split(":"))
        self.malformed = bool(malformed) or "_ws.malformed" in self.protocols
        self.severity = max((int(word, 0) for word in severities.split(",") if word), default=0)

    def __repr__(self):
        return (
            f"frame {self.number} {':'.join(sorted(self.protocols))}: {self.info} "
            f"[{self.message}]"
        )


class Capture:
    """dumpcap on the loopback device, for the UDP ports of a test.

    It captures when the constructor returns, and holds all that was sent before stop() when
    that returns: a datagram to itself marks the beginning and the end.
    """

    def __init__(self, path, ports):
        self.path = path
        self.marker = udp_socket("127.0.0.1")
        self.marker_port = self.marker.getsockname()[1]
        wanted = " or ".join(f"udp port {port}" for port in (self.marker_port, *ports))
        self.process = subprocess.Popen(
            ["dumpcap", "-q", "-i", "lo", "-w", path, "-f", wanted],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        try:
            self._wait_for_mark(MARKS[0])
        except AssertionError:
            self.close()
            raise

    def _wait_for_mark(self, mark):
        def captured():
            self.marker.sendto(mark, ("127.0.0.1", self.marker_port))
            if self.process.poll() is not None:
                return True
            if not os.path.exists(self.path):
                return False
            with open(self.path, "rb") as file:
                return mark in file.read()

        wait_for(captured, f"dumpcap has {mark}", 20, interval=0.05)
        if self.process.poll() is not None:
            raise AssertionError(f"dumpcap ended: {self.process.stderr.read().decode()}")

    def stop(self):
        """Ends the capture once all that was sent before is in the file."""
        if self.process.poll() is None:
            self._wait_for_mark(MARKS[1])
        self.close()

    def close(self):
        """Ends the capture at once."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=20 * PATIENCE)
        self.marker.close()

    def tshark(self, fields, wanted="udp", decode=(), preferences=()):
        """The fields of the datagrams that pass the filter: a list of lists of words.

        decode: rules of `tshark -d`; preferences: those of `tshark -o`.
        """
        command = [
            "tshark",
            "-n",
            "-r",
            self.path,
            "-T",
            "fields",
            "-Y",
            f"({wanted}) && udp.port != {self.marker_port}",
        ]
        for option, words in (("-d", decode), ("-o", preferences), ("-e", fields)):
            for word in words:
                command += [option, word]
        result = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            timeout=60 * PATIENCE,
        )
        if result.returncode != 0:
            raise AssertionError(f"tshark: {result.stderr}")
        return [line.split("\t") for line in result.stdout.splitlines()]

    def frames(self, decode=(), forms=None, wanted="udp"):
        """Every datagram that passes the filter, as the dissectors see it.

        forms: preferences for the payload types for which tshark's own are wrong.
        """
        fields = [
            "frame.number",
            "frame.protocols",
            "_ws.expert.severity",
            "_ws.expert.message",
            "_ws.malformed",
            "rtp.p_type",
            "_ws.col.Info",
        ]
        frames = [Frame(row) for row in self.tshark(fields, wanted, decode)]
        seen = {frame.payload_type for frame in frames}
        for form in sorted({form for kind, form in (forms or {}).items() if kind in seen}):
            other = [Frame(row) for row in self.tshark(fields, wanted, decode, form)]
            frames = [
                two if forms.get(one.payload_type) == form else one
                for one, two in zip(frames, other)
            ]
        return frames


def decode_rules(mgcp_port, rtp_ports=(), wideband=()):
    """Rules that name the protocol of each port; RTCP is on the port above each of RTP.

    Without rtp_ports, tshark finds the media by the session descriptions that it saw. The name
    AMR-WB in these it does not know: where that is used mgcp_port must be None, so that it does
    not see them, and wideband the payload types.
    """
    rules = [f"udp.port=={mgcp_port},mgcp"] if mgcp_port else []
    for port in rtp_ports:
        rules += [f"udp.port=={port},rtp", f"udp.port=={port + 1},rtcp"]
    return rules + [f"rtp.pt=={kind},amr" for kind in wideband]


def assert_dissected(case, frames, **least):
    """No datagram is malformed or unknown, and each named protocol was seen often enough.

    A warning is a fault too: that is how the dissectors tell wrong lengths and padding bits.
    """
    faults = [frame for frame in frames if frame.malformed or frame.severity >= WARNING]
    case.assertEqual(faults, [])
    unknown = [frame for frame in frames if "data" in frame.protocols]
    case.assertEqual(unknown, [], "no dissector took these")
    for protocol, count in least.items():
        seen = sum(protocol in frame.protocols for frame in frames)
        case.assertGreaterEqual(seen, count, f"datagrams with {protocol}")

"""Speech and the tools that make, send and take it."""

import struct
import subprocess

from support.waiting import PATIENCE

SENTENCE = "The gateway relays voice, and what one side says the other side hears."
TOOL_SECONDS = 60


def run(*command):
    result = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL,
                            capture_output=True, text=True, check=False,
                            timeout=TOOL_SECONDS * PATIENCE)
    if result.returncode != 0:
        raise AssertionError(f"{command}: {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


def ffmpeg(*arguments):
    return ["ffmpeg", "-nostdin", "-hide_banner", "-loglevel", "warning", "-y",
            *map(str, arguments)]


def make_speech(directory):
    """A WAV file with a spoken sentence: 8000 Hz, mono, 16 bit, whole packets of 20 ms."""
    spoken, path = f"{directory}/spoken.wav", f"{directory}/speech.wav"
    run("espeak-ng", "-s", "220", "-w", spoken, SENTENCE)
    run(*ffmpeg("-i", spoken, "-ar", 8000, "-ac", 1, "-af", "apad=pad_dur=0.1", path))
    return path


def decoded_reference(wav, directory):
    """The samples of the file after PCMA and back, as bytes of 16 bit."""
    alaw, raw = f"{directory}/reference.al", f"{directory}/reference.raw"
    run(*ffmpeg("-i", wav, "-f", "alaw", "-ar", 8000, alaw))
    run(*ffmpeg("-f", "alaw", "-ar", 8000, "-ac", 1, "-i", alaw, "-f", "s16le", raw))
    with open(raw, "rb") as file:
        return file.read()


def samples_of(wav, directory):
    """The samples of a WAV file."""
    raw = f"{directory}/samples.raw"
    run(*ffmpeg("-i", wav, "-f", "s16le", raw))
    with open(raw, "rb") as file:
        data = file.read()
    return struct.unpack(f"<{len(data) // 2}h", data)


def udp_port_in_use(port):
    """Whether a process of this machine has the port, seen without touching it."""
    for table in ("/proc/net/udp", "/proc/net/udp6"):
        with open(table, encoding="ascii") as rows:
            next(rows)
            if any(int(row.split()[1].rsplit(":", 1)[1], 16) == port for row in rows):
                return True
    return False

"""One call with real speech: espeak-ng speaks, one ffmpeg sends it as PCMA over RTP into the
gateway, another one receives what comes out on the other leg. PCMA is not changed on the way, so
what arrives must be what was sent, octet by octet."""

import json
import pathlib
import subprocess
import time

from gateways import free_udp_port

SENTENCE = (
    "This sentence went through the media gateway from one leg of the call to the other, "
    "and nothing of it was lost."
)
# The receiving ffmpeg may miss a little of the beginning and cut a little of the end.
COMPLETE_FRACTION = 0.95
OCTETS_PER_SECOND = 8000


def run(command, **keywords):
    return subprocess.run(
        [str(part) for part in command], check=True, capture_output=True, text=True, **keywords
    )


def even_udp_port():
    """A port for RTP whose successor is free as well, as far as one can know."""
    while True:
        port = free_udp_port()
        if port % 2 == 0 and port < 65000:
            return port


def create_connection(mgwctl, gateway, endpoint, call_id, remote_port):
    """Creates a leg towards 127.0.0.1:remote_port; returns (endpoint, connection id, RTP port)."""
    answer = json.loads(
        run(
            [
                mgwctl,
                "--mgcp",
                gateway.mgcp,
                "--json",
                "crcx",
                "--endpoint",
                endpoint,
                "--call-id",
                call_id,
                "--mode",
                "sendrecv",
                "--codec",
                "PCMA",
                "--remote",
                f"127.0.0.1:{remote_port}",
            ]
        ).stdout
    )
    return answer.get("endpoint") or endpoint, answer["connection_id"], answer["port"]


def wait_for_socket(port, process):
    """Waits until a process has bound a UDP port on this machine."""
    deadline = time.monotonic() + 10
    wanted = f":{port:04X} "
    while time.monotonic() < deadline and process.poll() is None:
        if wanted in pathlib.Path("/proc/net/udp").read_text():
            return
        time.sleep(0.02)
    raise RuntimeError("the receiving ffmpeg does not open its socket")


def carry_speech(build, gateway, folder):
    """Returns (seconds of speech sent, octets sent, octets received, whether they are the same)."""
    folder = pathlib.Path(folder)
    mgwctl = pathlib.Path(build) / "mgwctl"
    run(["espeak-ng", "-w", folder / "spoken.wav", SENTENCE])
    run(
        [
            "ffmpeg",
            "-y",
            "-i",
            folder / "spoken.wav",
            "-ar",
            "8000",
            "-ac",
            "1",
            "-c:a",
            "pcm_alaw",
            "-f",
            "alaw",
            folder / "sent.alaw",
        ]
    )
    sent = (folder / "sent.alaw").read_bytes()
    seconds = len(sent) / OCTETS_PER_SECOND

    talker, listener = even_udp_port(), even_udp_port()
    endpoint, talker_id, talker_leg = create_connection(
        mgwctl, gateway, "rtpbridge/*@mgw", "5eec", talker
    )
    _, listener_id, _ = create_connection(mgwctl, gateway, endpoint, "5eec", listener)
    (folder / "listener.sdp").write_text(
        "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=-\nc=IN IP4 127.0.0.1\nt=0 0\n"
        f"m=audio {listener} RTP/AVP 8\n"
    )
    receiving = subprocess.Popen(
        [
            "ffmpeg",
            "-y",
            "-loglevel",
            "error",
            "-protocol_whitelist",
            "file,udp,rtp",
            "-fflags",
            "nobuffer",
            "-analyzeduration",
            "0",
            "-probesize",
            "32",
            "-i",
            str(folder / "listener.sdp"),
            "-c:a",
            "copy",
            "-f",
            "alaw",
            str(folder / "received.alaw"),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for_socket(listener, receiving)
        run(
            [
                "ffmpeg",
                "-re",
                "-f",
                "alaw",
                "-ar",
                "8000",
                "-ac",
                "1",
                "-i",
                folder / "sent.alaw",
                "-c:a",
                "copy",
                "-f",
                "rtp",
                "-payload_type",
                "8",
                f"rtp://127.0.0.1:{talker_leg}?localrtpport={talker}&pkt_size=172",
            ],
            timeout=seconds + 30,
        )
        time.sleep(0.5)
        receiving.communicate(b"q", timeout=10)
    finally:
        if receiving.poll() is None:
            receiving.kill()
            receiving.wait()
    for connection_id in (talker_id, listener_id):
        run(
            [
                mgwctl,
                "--mgcp",
                gateway.mgcp,
                "dlcx",
                "--endpoint",
                endpoint,
                "--call-id",
                "5eec",
                "--connection-id",
                connection_id,
            ]
        )
    received = (folder / "received.alaw").read_bytes()
    same = len(received) >= COMPLETE_FRACTION * len(sent) and received in sent
    return seconds, len(sent), len(received), same

"""One load through a gateway that is reached over a bad network; prints the result as JSON.

Three namespaces: this process is the network, the gateway and the load generator have one each.
MGW_PROGRAM is the gateway, RTPLOAD_PROGRAM the load generator. Exit status 77 where namespaces
can't be made.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from support import namespace  # noqa: E402
from support.gateway import Gateway  # noqa: E402
from support.impairment import PROFILES  # noqa: E402
from support.path_capture import PathCapture  # noqa: E402
from support.waiting import PATIENCE  # noqa: E402

SKIPPED_STATUS = 77
GATEWAY, GENERATOR = "10.77.0.2", "10.77.0.1"
TO_GATEWAY, TO_GENERATOR = "to-gateway", "to-generator"


def start_network(profile, seed):
    """The program between the two devices."""
    command = [sys.executable, "-B", str(pathlib.Path(__file__).with_name("impairment.py"))]
    return subprocess.Popen(
        [*command, TO_GATEWAY, TO_GENERATOR, profile, str(seed)], stdin=subprocess.DEVNULL
    )


def load_command(port, arguments):
    return [
        os.environ["RTPLOAD_PROGRAM"],
        *("--mgcp", f"{GATEWAY}:{port}", "--local", GENERATOR, "--json", "-"),
        *("--calls", str(arguments.calls), "--seconds", str(arguments.seconds)),
        # What arrives late because of the network has not been lost by the gateway.
        *("--drain-ms", "800", "--max-loss", "1"),
    ]


def settings_of(arguments):
    settings = {"mgcp.bind": GATEWAY, "rtp.bind": GATEWAY, "metrics.enabled": "false"}
    settings["endpoints.count"] = arguments.calls + 8
    for setting in arguments.set:
        name, _, value = setting.partition("=")
        settings[name] = value
    return settings


def measure(arguments):
    gateway_space, generator_space = namespace.Namespace(), namespace.Namespace()
    gateway_space.join(TO_GATEWAY, "media", [], [f"{GATEWAY}/24"])
    generator_space.join(TO_GENERATOR, "media", [], [f"{GENERATOR}/24"])
    network = start_network(arguments.profile, arguments.seed)
    try:
        with gateway_space.inside():
            gateway = Gateway(settings_of(arguments), arguments.backend)
        with gateway:
            capture = PathCapture(TO_GATEWAY)
            with generator_space.inside():
                load = subprocess.Popen(
                    load_command(gateway.port, arguments),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            output, _ = load.communicate(timeout=(arguments.seconds + 60) * PATIENCE)
            path = capture.finish()
    finally:
        network.terminate()
        network.wait()
    return {"profile": arguments.profile, "path": path, "report": json.loads(output)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", choices=PROFILES, default="clean")
    parser.add_argument("--backend", default="io_uring")
    parser.add_argument("--calls", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--set", action="append", default=[])
    arguments = parser.parse_args()
    try:
        namespace.enter()
    except (OSError, RuntimeError) as error:
        print(f"no network namespaces: {error}", file=sys.stderr)
        return SKIPPED_STATUS
    print(json.dumps(measure(arguments)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

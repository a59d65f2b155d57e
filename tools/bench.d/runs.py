"""One run: a gateway in one configuration under one load, watched for noise."""

import dataclasses
import json
import sys
import time

import machine
import starting

# What the set-up, the drain and the end of a run may take beside its media.
RUN_EXTRA_S = 120
FAULTS = ("reordered", "duplicated", "corrupted", "wrong_stream")
NOISE_PATIENCE_S = 5


@dataclasses.dataclass
class Load:
    """What rtpload does."""

    calls: int
    seconds: float
    phases: str = "even"
    arguments: tuple = ()
    settings: tuple = ()  # of mgw, for this load
    max_loss: float = 1  # a fault above; losses are reported in any case
    watch_resources: bool = False
    room: int = 0  # calls that the gateway must have room for, if more than `calls`

    def options(self):
        options = ["--calls", self.calls, "--seconds", self.seconds]
        options += ["--phases", self.phases, "--max-loss", self.max_loss]
        # Its own address: no port of the gateway's range can be taken by the generator.
        options += ["--local", "127.0.0.2"]
        return [*options, *self.arguments]


class RunFailed(Exception):
    """A gateway did not start, or the load generator could not do its work."""


class TooNoisy(Exception):
    """A run was disturbed as often as it was tried."""


class Runner:
    """Carries runs out and keeps their records."""

    def __init__(self, setup, noise_limit_percent, attempts, say, keep_going=False):
        self.setup = setup
        self.keep_going = keep_going
        self.noise_limit_percent = noise_limit_percent
        self.attempts = attempts
        self.say = say
        self.records = []
        self.on_start = None  # is told the gateway's process id before each run

    def run(self, part, variant, load, round_number=0, **marks):
        """Runs until nobody disturbs, at most `attempts` times; returns the record of the last.

        Raises TooNoisy after that, unless it is to keep going.
        `marks` are kept in the record, for the evaluation.
        """
        record = None
        for attempt in range(self.attempts):
            if attempt > 0:
                time.sleep(NOISE_PATIENCE_S)
            record = self._once(variant, load)
            record["attempts"] = attempt + 1
            record["noisy"] = self.is_noisy(part, record)
            if not record["noisy"]:
                break
        described = {"part": part, "variant": variant.name, "round": round_number, **marks}
        described.update(calls=load.calls, phases=load.phases)
        record = {**described, **record}
        self.records.append(record)
        self._tell(record)
        if record["noisy"] and not self.keep_going:
            raise TooNoisy
        return record

    def is_noisy(self, part, record):
        if part == "memory":
            return False  # nobody else's CPU time changes how much memory a call takes
        if machine.is_noisy(record["noise"], self.noise_limit_percent):
            return True
        # Where it is found out how much the generator can send, that is no disturbance.
        return part != "capacity" and machine.generator_was_held_up(record["report"])

    def _once(self, variant, load):
        if variant.kind == "none":
            return self._measure(["--self"], (), load, "", None)
        room = max(load.calls, load.room)
        with starting.start(self.setup, variant, room, load.settings) as gateway:
            target = ["--mgcp", gateway.mgcp, "--pid", gateway.pid]
            own = (gateway.pid, *gateway.helpers)
            if self.on_start is not None:
                self.on_start(gateway.pid)
            watch = machine.ResourceWatch(gateway.pid) if load.watch_resources else None
            record = self._measure(target, own, load, gateway.command, watch)
            return record if watch is None else {**record, **watch.result()}

    def _measure(self, target, own, load, gateway_command, resources):
        options = [*target, *load.options()]
        begin = time.monotonic()
        watch = machine.Watch(own)
        output, cpu_s, errors, command = starting.run_load(
            self.setup, options, load.seconds + RUN_EXTRA_S, resources and resources.look
        )
        noise = watch.finish(time.monotonic() - begin, cpu_s)
        try:
            report = json.loads(output)
        except json.JSONDecodeError:
            raise RunFailed(f"{command}: {errors or 'no report'}") from None
        commands = {"gateway": gateway_command, "load": command}
        return {"report": report, "noise": noise, "commands": commands}

    def _tell(self, record):
        report = record["report"]
        cost = (report.get("gateway") or {}).get("cpu_us_per_packet")
        latency = (report.get("latency_us") or {}).get("p99")
        parts = [f"{record['part']:<9} {record['variant']:<18} {record['calls']:>5} calls"]
        parts.append(f"{record['phases']:<6} round {record['round']}")
        parts.append(f"{cost:6.2f} us/packet" if cost is not None else " " * 16)
        parts.append(f"p99 {latency:6.0f} us" if latency is not None else "")
        if report.get("lost"):
            parts.append(f"lost {report['lost']}")
        parts += [f"{report[fault]} {fault.upper()}" for fault in FAULTS if report.get(fault)]
        if record["noisy"]:
            parts.append(f"NOISY ({record['noise']['foreign_percent']:.0f} % foreign)")
        self.say("  ".join(parts))


def say(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)

"""The parts of the benchmark: which loads run against which gateways, and in which order.

Within a part every round runs each variant once, in an order that is rotated from round to round,
so that a machine that changes its pace hits all of them alike.
"""

import dataclasses
import resource

import capacity
import figures
import netem
import system_calls
import starting
import variants
from runs import Load, RunFailed

REFERENCE_CALLS = 200
HELD_CALLS = 700
IN_FLIGHT = 64
MEMORY_SECONDS = 1.5
LOAD_FORMS = {
    "plain": (),
    "AMR aligned ↔ efficient": ("--codec", "AMR-12.2", "--answer-codec", "AMR-12.2-BE"),
    "AMR ↔ IuUP": ("--codec", "AMR-12.2", "--answer-codec", "IUUP"),
    "AMR ↔ Osmux": ("--codec", "AMR-12.2", "--answer-codec", "OSMUX-12.2"),
}
# What osmo-mgw 1.10 can do of these with its configuration here; rtpengine is a relay only.
OSMO_MGW_FORMS = ("plain", "AMR aligned ↔ efficient")


@dataclasses.dataclass(frozen=True)
class Suite:
    """How much is measured."""

    seconds: float  # of a run
    rounds: int  # of the reference load
    more_rounds: int  # of the other parts
    load_calls: tuple
    ladder: tuple
    refinements: int
    memory_calls: tuple
    peer_memory_calls: tuple
    setup_seconds: float


SUITES = {
    "quick": Suite(
        seconds=2,
        rounds=2,
        more_rounds=1,
        load_calls=(50, 200),
        ladder=(400, 800, 1600),
        refinements=0,
        memory_calls=(100, 10_000),
        peer_memory_calls=(100, 500),
        setup_seconds=1.5,
    ),
    "full": Suite(
        seconds=4,
        rounds=5,
        more_rounds=2,
        load_calls=(10, 25, 50, 100, 200, 400),
        ladder=(400, 700, 1000, 1400, 1800, 2200, 2600, 3000, 3500, 4000),
        refinements=2,
        memory_calls=(100, 1000, 4000, 10_000),
        peer_memory_calls=(100, 500, 1000),
        setup_seconds=3,
    ),
}


# A call has an RTP and an RTCP socket for each of its legs.
SOCKETS_PER_CALL = 4
OTHER_DESCRIPTORS = 200


def affordable(numbers, descriptor_limit):
    """The numbers of calls, those cut off for which a process may not have enough descriptors."""
    most = (descriptor_limit - OTHER_DESCRIPTORS) // SOCKETS_PER_CALL // 100 * 100
    return sorted({min(number, most) for number in numbers})


class Bench:
    """The parts, on a runner, with those variants that can be run here."""

    def __init__(self, runner, suite, available, calls=REFERENCE_CALLS):
        self.runner = runner
        self.suite = suite
        self.available = available
        self.calls = calls
        self.problems = []

    def wanted(self, names):
        names = [name for name in names if name in {v.name for v in self.available}]
        return variants.named(names)

    def attempt(self, *arguments, **keywords):
        """One run; what prevents it is remembered, so that one gateway can't end the benchmark."""
        where = f"{arguments[0]}, {arguments[1].name}"
        try:
            record = self.runner.run(*arguments, **keywords)
        except (RunFailed, RuntimeError) as error:
            self.note(f"{where}: {error}")
            return None
        failed = record["report"].get("failed_calls")
        if failed:
            reasons = ", ".join(record["report"]["errors"])
            self.note(f"{where}, {record['calls']} calls: {failed} not set up: {reasons}")
        return record

    def note(self, problem):
        self.runner.say(problem)
        self.problems.append(problem)

    def in_rounds(self, part, names, rounds, load, **marks):
        for number in range(rounds):
            for variant in figures.rotated(self.wanted(names), number):
                self.attempt(part, variant, load, number, **marks)

    def cpu(self):
        """The reference load: all variants, evenly spread phases."""
        names = [variant.name for variant in variants.ALL]
        self.in_rounds("cpu", names, self.suite.rounds, self.reference_load())

    def reference_load(self, phases="even"):
        return Load(self.calls, self.suite.seconds, phases)

    def latency(self):
        """The other arrival patterns, for CPU and latency."""
        names = [variant.name for variant in variants.ALL if variant.kind != "none"]
        for phases in ("random", "bursts"):
            self.in_rounds("latency", names, self.suite.more_rounds, self.reference_load(phases))

    def load(self):
        """CPU per packet against the number of calls."""
        names = [*variants.MAIN, "mgw io_uring auto", "mgw kernel tc"]
        for number in range(self.suite.more_rounds):
            for calls in self.suite.load_calls:
                for variant in figures.rotated(self.wanted(names), number):
                    self.attempt("load", variant, Load(calls, self.suite.seconds), number)

    def setup(self):
        """Calls set up and taken down, with others up meanwhile."""
        arguments = ("--setup-only", "--in-flight", IN_FLIGHT, "--hold", HELD_CALLS)
        # Ports of ended calls rest for a while: there must be enough for the fastest gateway.
        settings = ("rtp.port-quarantine-ms=100", f"endpoints.count={HELD_CALLS + 2 * IN_FLIGHT}")
        load = Load(
            IN_FLIGHT,
            self.suite.setup_seconds,
            arguments=arguments,
            settings=settings,
            room=HELD_CALLS + 2 * IN_FLIGHT,
        )
        names = ["osmo-mgw", "mgw poll 0", "mgw io_uring 0", "mgw io_uring 1000"]
        self.in_rounds("setup", names, max(2, self.suite.more_rounds), load)

    def capacity(self):
        """The most that a core carries without loss and with little latency."""
        names = [*variants.MAIN, "mgw io_uring auto", "mgw kernel tc"]
        capacity.climb(self, self.wanted(names), self.suite)

    def memory(self):
        """Resident memory with so many calls, each of which carries some packets."""
        # A packet per call and second is enough to touch all that a call has.
        arguments = ("--interval-ms", 1000, "--drain-ms", 200)
        names = {
            "mgw poll 0": self.suite.memory_calls,
            "mgw io_uring 0": self.suite.memory_calls,
            "osmo-mgw": self.suite.peer_memory_calls,
            "rtpengine": self.suite.peer_memory_calls,
        }
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        for variant in self.wanted(names):
            for calls in affordable(names[variant.name], limit):
                load = Load(calls, MEMORY_SECONDS, arguments=arguments, watch_resources=True)
                self.attempt("memory", variant, load)

    def legs(self):
        """What a leg costs that is no plain RTP."""
        names = ["osmo-mgw", "mgw poll 0", "mgw io_uring 0", "mgw io_uring auto"]
        for number in range(self.suite.more_rounds):
            for form, arguments in LOAD_FORMS.items():
                for variant in figures.rotated(self.wanted(names), number):
                    if variant.is_mgw or form in OSMO_MGW_FORMS:
                        load = self.form_load(form, arguments)
                        self.attempt("legs", variant, load, number, form=form)

    def form_load(self, form, arguments):
        settings = ()
        if "Osmux" in form:
            settings = ("osmux.mode=on", f"osmux.port={starting.gateways.free_udp_port()}")
        return Load(
            self.calls,
            self.suite.seconds,
            arguments=(*arguments,),
            settings=settings,
            watch_resources=True,
        )

    def syscalls(self):
        """System calls per forwarded packet, counted by the kernel during the reference load."""
        names = [variant.name for variant in variants.ALL if variant.kind != "none"]
        for variant in self.wanted(names):
            system_calls.count(self, variant)

    def netem(self):
        """Bad networks: what the gateway itself loses, reorders, adds in latency."""
        names = ["mgw io_uring 0", "mgw poll 0", "mgw io_uring 1000", "mgw io_uring auto"]
        netem.measure(self, names, self.suite.seconds)


PARTS = ("cpu", "latency", "load", "syscalls", "setup", "capacity", "memory", "legs", "netem")

"""The parts of the benchmark: which loads run against which gateways, and in which order.

Within a part every round runs each variant once, in an order that is rotated from round to round,
so that a machine that changes its pace hits all of them alike.
"""

import resource

import capacity
import cores
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

    def wanted(self, part):
        """The variants of a part that can be run here."""
        available = {variant.name for variant in self.available}
        names = [name for name in self.suite.names[part] if name in available]
        return [variant for name in names for variant in variants.named([name])]

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

    def in_rounds(self, part, rounds, load, **marks):
        for number in range(rounds):
            for variant in figures.rotated(self.wanted(part), number):
                self.attempt(part, variant, load, number, **marks)

    def cpu(self):
        """The reference load: all variants, evenly spread phases."""
        self.in_rounds("cpu", self.suite.rounds, Load(self.calls, self.suite.seconds))

    def latency(self):
        """The other arrival patterns, for CPU and latency."""
        for phases in ("random", "bursts"):
            load = Load(self.calls, self.suite.more_seconds, phases)
            self.in_rounds("latency", self.suite.more_rounds, load)

    def load(self):
        """CPU per packet against the number of calls."""
        for number in range(self.suite.more_rounds):
            for calls in self.suite.load_calls:
                for variant in figures.rotated(self.wanted("load"), number):
                    load = Load(calls, self.suite.more_seconds)
                    self.attempt("load", variant, load, number)

    def setup(self):
        """Calls set up and taken down, with others up meanwhile."""
        arguments = ("--setup-only", "--in-flight", IN_FLIGHT, "--hold", HELD_CALLS)
        load = Load(
            IN_FLIGHT,
            self.suite.more_seconds,
            arguments=arguments,
            # Ports of ended calls rest for a while: there are enough for the fastest gateway.
            settings=("rtp.port-quarantine-ms=100",),
            room=HELD_CALLS + 2 * IN_FLIGHT,
        )
        self.in_rounds("setup", self.suite.setup_rounds, load)

    def capacity(self):
        """The most that a core carries without loss and with little latency."""
        capacity.measure(self, self.wanted("capacity"), self.suite)

    def memory(self):
        """Resident memory with so many calls, each of which carries some packets."""
        # A packet per call and second is enough to touch all that a call has.
        arguments = ("--interval-ms", 1000, "--drain-ms", 200)
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        for variant in self.wanted("memory"):
            numbers = self.suite.memory_calls if variant.is_mgw else self.suite.peer_memory_calls
            for calls in affordable(numbers, limit):
                load = Load(calls, MEMORY_SECONDS, arguments=arguments, watch_resources=True)
                self.attempt("memory", variant, load)

    def legs(self):
        """What a leg costs that is no plain RTP."""
        for number in range(self.suite.more_rounds):
            for form, arguments in LOAD_FORMS.items():
                for variant in figures.rotated(self.wanted("legs"), number):
                    if variant.is_mgw or form in OSMO_MGW_FORMS:
                        load = self.form_load(form, arguments)
                        self.attempt("legs", variant, load, number, form=form)

    def form_load(self, form, arguments):
        settings = ()
        if "Osmux" in form:
            settings = ("osmux.mode=on", f"osmux.port={starting.gateways.free_udp_port()}")
        return Load(
            self.calls,
            self.suite.more_seconds,
            arguments=arguments,
            settings=settings,
            watch_resources=True,
        )

    def cores(self):
        """The same load on each of more and more workers."""
        cores.measure(self, self.wanted("cores"))

    def syscalls(self):
        """System calls per forwarded packet, counted by the kernel during the reference load."""
        for variant in self.wanted("syscalls"):
            system_calls.count(self, variant)

    def netem(self):
        """Bad networks: what the gateway itself loses, reorders, adds in latency."""
        netem.measure(self, self.wanted("netem"), self.suite)


PARTS = (
    "cpu",
    "latency",
    "load",
    "syscalls",
    "setup",
    "capacity",
    "cores",
    "memory",
    "legs",
    "netem",
)

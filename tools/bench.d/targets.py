"""The figures that mgw is to reach, each computed from the records of a benchmark."""

import evaluation
import figures

REFERENCE = {"part": "cpu", "phases": "even"}
HALF_CALLS = 100
MEMORY_CALLS = 10_000
MEMORY_LIMIT_MIB = 512


def _cpu_ratio(numerator, denominator):
    return lambda records: evaluation.ratio(
        records, evaluation.CPU, numerator, denominator, **REFERENCE
    )


def _half_load(records):
    """At the reference load osmo-mgw may have filled its core: then it costs what a core has."""
    return evaluation.ratio(
        records, evaluation.CPU, "mgw poll 0", "osmo-mgw", part="load", calls=HALF_CALLS
    )


def _system_calls(name):
    path = "system_calls.per_packet"
    return lambda records: figures.spread(
        evaluation.values(records, path, part="syscalls", variant=name)
    )


def _kernel_name(records):
    """The kernel path that was measured: tc if both were."""
    names = evaluation.names_in(records, **REFERENCE)
    return next((name for name in names if name.startswith("mgw kernel")), "mgw kernel tc")


def _kernel_process(records):
    name = _kernel_name(records)
    return evaluation.ratio(records, evaluation.CPU, name, "mgw io_uring 0", **REFERENCE)


def _kernel_machine(records):
    added = evaluation.added_by_gateway(records, **REFERENCE)
    kernel = added.get(_kernel_name(records), {})
    return figures.spread(figures.ratios(kernel, added.get("mgw io_uring 0", {})).values())


def _kernel_processes(records):
    added = evaluation.added_to_processes(records, **REFERENCE)
    kernel = added.get(_kernel_name(records), {})
    return figures.spread(figures.ratios(kernel, added.get("mgw io_uring 0", {})).values())


def _kernel_machine_whole(records):
    name = _kernel_name(records)
    return evaluation.ratio(records, evaluation.MACHINE, name, "mgw io_uring 0", **REFERENCE)


def _capacity(name):
    def compute(records):
        found = evaluation.capacity(records)
        ours, theirs = found.get(name), found.get("rtpengine")
        if not ours or not theirs or not theirs["calls"]:
            return None
        spread = figures.spread([ours["calls"] / theirs["calls"]])
        spread["lower_bound"] = ours["limited_by"] == "generator"
        return spread

    return compute


def _setup(name):
    path = "report.calls_per_second"
    return lambda records: evaluation.ratio(records, path, name, "osmo-mgw", part="setup")


def _memory(records):
    sizes, measured = [], MEMORY_CALLS
    for name in evaluation.names_in(records, part="memory"):
        points = evaluation.memory_points(records, name)
        if name.startswith("mgw") and len(points) > 1:
            most, size = points[-1]
            each = evaluation.memory_per_call(records, name)
            sizes.append((size + each * (MEMORY_CALLS - most)) / 1024)
            measured = min(measured, most)
    spread = figures.spread(sizes)
    if spread and measured < MEMORY_CALLS:
        spread["note"] = f"extrapolated from {measured:,} calls"
    return spread


def _scaling(records):
    steps = [
        spread
        for name in evaluation.names_in(records, part="cores")
        for _, spread in evaluation.scaling(records, name)
    ]
    return max(steps, key=lambda spread: spread["median"], default=None)


def _path_faults(records):
    found = evaluation.path_faults(records)
    return None if found is None else figures.spread([found])


def _pacing(records):
    path = "report.generator.pacing_us.p999"
    return figures.spread(evaluation.values(records, path, **REFERENCE))


def _faults(records):
    if not any(record["variant"].startswith("mgw") for record in records):
        return None
    return figures.spread([sum(evaluation.fault_counts(records)["mgw"].values())])


# (what it is, "at most" or "at least", the target, the floor seen in experiments, how it is
# computed)
TARGETS = [
    (
        "CPU per packet, mgw poll, no coalescing ÷ osmo-mgw",
        "at most",
        0.33,
        "0.21 to 0.30",
        _cpu_ratio("mgw poll 0", "osmo-mgw"),
    ),
    (
        "CPU per packet, a bare epoll relay that does nothing else ÷ osmo-mgw: the floor here",
        "for information",
        None,
        "",
        _cpu_ratio("bare relay 0", "osmo-mgw"),
    ),
    (
        f"CPU per packet, mgw poll, no coalescing ÷ osmo-mgw, {HALF_CALLS} calls: no core is full",
        "for information",
        None,
        "",
        _half_load,
    ),
    (
        "CPU per packet, mgw io_uring, no coalescing ÷ rtpengine in user space",
        "at most",
        0.95,
        "0.63 to 0.88",
        _cpu_ratio("mgw io_uring 0", "rtpengine"),
    ),
    (
        "CPU per packet, mgw poll, coalescing up to 1 ms ÷ rtpengine in user space",
        "at most",
        0.45,
        "0.36",
        _cpu_ratio("mgw poll 1000", "rtpengine"),
    ),
    (
        "CPU per packet, mgw io_uring, coalescing up to 1 ms ÷ rtpengine in user space",
        "at most",
        0.45,
        "0.36",
        _cpu_ratio("mgw io_uring 1000", "rtpengine"),
    ),
    (
        "CPU per packet, mgw poll, 1 ms, connected sockets ÷ rtpengine in user space",
        "for information",
        None,
        "",
        _cpu_ratio("mgw poll 1000 connected", "rtpengine"),
    ),
    (
        "CPU per packet, a bare epoll relay, 1 ms ÷ rtpengine in user space: the floor here",
        "for information",
        None,
        "",
        _cpu_ratio("bare relay 1000", "rtpengine"),
    ),
    (
        "CPU per packet, mgw poll, coalescing auto ÷ rtpengine in user space",
        "at most",
        0.45,
        "0.36",
        _cpu_ratio("mgw poll auto", "rtpengine"),
    ),
    (
        "CPU per packet, mgw io_uring, coalescing auto ÷ rtpengine in user space",
        "at most",
        0.45,
        "0.36",
        _cpu_ratio("mgw io_uring auto", "rtpengine"),
    ),
    (
        "System calls per forwarded packet, mgw io_uring, 1 ms coalescing",
        "at most",
        0.1,
        "0.04",
        _system_calls("mgw io_uring 1000"),
    ),
    (
        "Process CPU per packet, kernel path ÷ mgw io_uring, no coalescing",
        "at most",
        0.05,
        "0",
        _kernel_process,
    ),
    (
        "CPU of the whole machine per packet beyond direct delivery, kernel path ÷ mgw io_uring",
        "at most",
        0.35,
        "0.2",
        _kernel_machine,
    ),
    (
        "The same from the CPU time of gateway and load generator alone",
        "for information",
        None,
        "",
        _kernel_processes,
    ),
    (
        "The same with the load generator's own work on both sides",
        "for information",
        None,
        "",
        _kernel_machine_whole,
    ),
    (
        "Packets/s of a core without loss and with p99 under 5 ms, mgw io_uring ÷ rtpengine",
        "at least",
        1.2,
        "",
        _capacity("mgw io_uring 0"),
    ),
    (
        "CPU per packet with two workers or more ÷ with one, the same load for each worker",
        "at most",
        1.1,
        "1",
        _scaling,
    ),
    (
        "Call set-ups per second, 64 in flight, 700 calls up, mgw ÷ osmo-mgw",
        "at least",
        8,
        "",
        _setup("mgw io_uring 0"),
    ),
    (
        f"Memory of mgw with {MEMORY_CALLS:,} two-legged calls, MiB",
        "at most",
        MEMORY_LIMIT_MIB,
        "",
        _memory,
    ),
    (
        "Reordered, duplicated, corrupted, wrong stream, in all runs of mgw",
        "at most",
        0,
        "0",
        _faults,
    ),
    (
        "Lost, reordered or invented by mgw itself, over bad networks",
        "at most",
        0,
        "",
        _path_faults,
    ),
    (
        "Load generator: distance of a stream's packets from 20 ms at p99.9, µs",
        "at most",
        500,
        "",
        _pacing,
    ),
]


def evaluate(records):
    """[{"what", "relation", "target", "floor", "value", "met"}]; value None where not measured."""
    rows = []
    for what, relation, target, floor, compute in TARGETS:
        value = compute(records)
        met = None
        if value is not None and target is not None:
            median = value["median"]
            met = median <= target if relation == "at most" else median >= target
        rows.append(
            {
                "what": what,
                "relation": relation,
                "target": target,
                "floor": floor,
                "value": value,
                "met": met,
            }
        )
    return rows

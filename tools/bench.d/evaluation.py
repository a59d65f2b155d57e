"""From the records of all runs to the figures of the report. No I/O, so it can be done again."""

import figures

CPU = "report.gateway.cpu_us_per_packet"
MACHINE = "report.machine.busy_us_per_packet"
FAULTS = ("reordered", "duplicated", "corrupted", "wrong_stream")


def select(records, **wanted):
    """The undisturbed records whose fields are as wanted."""
    return [
        record
        for record in records
        if not record.get("noisy")
        and all(record.get(name) == value for name, value in wanted.items())
    ]


# What makes two records runs of the same thing.
IDENTITY = ("part", "variant", "calls", "phases", "form", "cores", "profile")


def undecided(records):
    """[text] of what was measured in disturbed runs only, so that nothing is known of it."""
    decided = {}
    for record in records:
        key = tuple(record.get(name) for name in IDENTITY)
        decided[key] = decided.get(key, False) or not record.get("noisy")
    return [
        ", ".join(str(word) for word in key if word is not None)
        for key, is_decided in decided.items()
        if not is_decided
    ]


def by_round(records, path, **wanted):
    """{round: value at path} of the records whose fields are as wanted."""
    return {record["round"]: figures.value_at(record, path) for record in select(records, **wanted)}


def values(records, path, **wanted):
    return [figures.value_at(record, path) for record in select(records, **wanted)]


def ratio(records, path, numerator, denominator, **wanted):
    """The spread of the ratios of two variants, round by round; None if there is none."""
    above = by_round(records, path, variant=numerator, **wanted)
    below = by_round(records, path, variant=denominator, **wanted)
    return figures.spread(figures.ratios(above, below).values())


def names_in(records, **wanted):
    """The variants that have such records, in the order of their first appearance."""
    return list(dict.fromkeys(record["variant"] for record in select(records, **wanted)))


def added_by_gateway(records, **wanted):
    """{variant: {round: µs}}: CPU time per packet of the whole machine beyond direct delivery.

    The run from socket to socket is what the generator costs without a gateway; what a run with a
    gateway takes beyond that, wherever it is accounted, is the gateway's doing.
    """
    direct = by_round(records, MACHINE, variant="direct", **wanted)
    added = {}
    for name in names_in(records, **wanted):
        rounds = by_round(records, MACHINE, variant=name, **wanted)
        added[name] = {
            number: value - direct[number]
            for number, value in rounds.items()
            if value is not None and direct.get(number) is not None
        }
    added.pop("direct", None)
    return added


def added_to_processes(records, **wanted):
    """{variant: {round: µs}}: CPU time of gateway and generator per packet, beyond what the
    generator takes for direct delivery.

    On loopback that is nearly the whole machine, since what the kernel does for a packet it does
    inside the system call of a sender; other processes on the machine are not in it.
    """
    path = "report.generator.cpu_us_per_packet"
    direct = by_round(records, path, variant="direct", **wanted)
    added = {}
    for name in names_in(records, **wanted):
        ours = by_round(records, CPU, variant=name, **wanted)
        load = by_round(records, path, variant=name, **wanted)
        added[name] = {
            number: value + load[number] - direct[number]
            for number, value in ours.items()
            if None not in (value, load.get(number), direct.get(number))
        }
    return added


def fault_counts(records):
    """Sums over all runs of what must be 0, of mgw and of the others."""
    sums = {"mgw": dict.fromkeys(FAULTS, 0), "others": dict.fromkeys(FAULTS, 0)}
    for record in records:
        if record["part"] == "netem":
            continue  # there the network reorders; its records say what the gateway did
        side = "mgw" if record["variant"].startswith("mgw") else "others"
        for fault in FAULTS:
            sums[side][fault] += record["report"].get(fault) or 0
    return sums


def capacity(records):
    """{variant: {"calls", "packets_per_second", "limited_by"}}: the highest step that was passed.

    `limited_by` is `gateway`, or `generator` where the load generator gave up first: the figure is
    then a lower bound.
    """
    result = {}
    for name in names_in(records, part="capacity"):
        steps = select(records, part="capacity", variant=name)
        passed = [record for record in steps if record["verdict"] == "passed"]
        failed = [record for record in steps if record["verdict"] != "passed"]
        calls = max((record["calls"] for record in passed), default=0)
        beyond = [record for record in failed if record["calls"] > calls]
        kinds = {record["verdict"] for record in beyond}
        limited_by = "gateway" if "overloaded" in kinds else "generator"
        if calls == 0 and limited_by == "generator":
            continue  # nothing was found out
        result[name] = {
            "calls": calls,
            "packets_per_second": calls * 100,
            "limited_by": limited_by,
        }
    return result


def scaling(records, name):
    """[(workers, ratio)]: the spread of CPU per packet with so many workers ÷ with one.

    Compared is with the mean of the single workers on the cores that the step has too.
    """
    found = []
    runs = select(records, part="cores", variant=name)
    for cores in dict.fromkeys(record["cores"] for record in runs if record["workers"] > 1):
        many = by_round(runs, CPU, cores=cores)
        single = {}
        for cpu in cores.split(","):
            for number, value in by_round(runs, CPU, cores=cpu).items():
                if value is not None:
                    single.setdefault(number, []).append(value)
        means = {number: sum(listed) / len(listed) for number, listed in single.items()}
        spread = figures.spread(figures.ratios(many, means).values())
        if spread:
            found.append((len(cores.split(",")), spread))
    return found


def contention(scaled):
    """What each further worker adds to the cost of a packet, as a fraction of it; None without.

    From the step with the most workers: cost(n) = cost(1) × (1 + contention × (n - 1)), the model
    of a part that only one can do at a time. Not below zero.
    """
    if not scaled:
        return None
    workers, spread = scaled[-1]
    return max(0.0, (spread["median"] - 1) / (workers - 1))


def memory_per_call(records, name):
    """KiB per call between the fewest and the most calls that were measured; None without both."""
    points = memory_points(records, name)
    if len(points) < 2:
        return None
    (few, small), (many, large) = points[0], points[-1]
    return (large - small) / (many - few)


def kernel_memory_per_call(records):
    """KiB of the kernel's memory for each call, of the run of mgw with the most calls; or None."""
    runs = [
        record
        for record in select(records, part="memory")
        if record["variant"].startswith("mgw") and record.get("kernel_kib")
    ]
    if not runs:
        return None
    most = max(runs, key=lambda record: record["calls"])
    return (most["kernel_kib"]["with"] - most["kernel_kib"]["without"]) / most["calls"]


def memory_points(records, name):
    """[(calls, KiB)] of one variant, by calls; the median where a number was measured twice."""
    by_calls = {}
    for record in select(records, part="memory", variant=name):
        size = figures.value_at(record, "report.gateway.rss_kib")
        if size is not None and record["report"].get("calls"):
            by_calls.setdefault(record["calls"], []).append(size)
    return [(calls, figures.median(sizes)) for calls, sizes in sorted(by_calls.items())]


def path_faults(records):
    """What mgw itself lost, reordered and invented over bad networks; None if not measured."""
    paths = [record["path"] for record in select(records, part="netem")]
    if not paths:
        return None
    return sum(path["lost"] + path["reordered"] + path["invented"] for path in paths)

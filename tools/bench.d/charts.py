"""Which charts a report has, drawn from the records."""

import evaluation
import figures
import svg

# How they are called in a report of rtpload, and for people.
QUANTILES = {"p50": "p50", "p99": "p99", "p999": "p99.9", "max": "highest"}


def _median(records, path, **wanted):
    spread = figures.spread(evaluation.values(records, path, **wanted))
    return None if spread is None else spread["median"]


def _bars(records, path, digits=2, **wanted):
    bars = []
    for name in evaluation.names_in(records, **wanted):
        value = _median(records, path, variant=name, **wanted)
        if value is not None:
            bars.append((name, value, f"{value:.{digits}f}"))
    return bars


def cpu_chart(records, part, phases):
    bars = _bars(records, evaluation.CPU, part=part, phases=phases)
    title = f"CPU of the gateway per forwarded packet, {phases} arrivals"
    return svg.bar_chart(title, "µs per packet", bars)


def latency_chart(records, part, phases):
    """One line per gateway through its quantiles."""
    series = {}
    for name in evaluation.names_in(records, part=part, phases=phases):
        points = []
        for place, key in enumerate(QUANTILES):
            value = _median(
                records, f"report.latency_us.{key}", part=part, phases=phases, variant=name
            )
            if value:
                points.append((place, value))
        series[name] = points
    title = f"Latency through the gateway, {phases} arrivals"
    names = dict(enumerate(QUANTILES.values()))
    return svg.line_chart(title, "quantile of all packets", "µs", series, log_y=True, x_names=names)


def load_chart(records):
    series = {}
    for name in evaluation.names_in(records, part="load"):
        # The reference load is one more number of calls.
        chosen = evaluation.select(records, part="load", variant=name)
        chosen += evaluation.select(records, part="cpu", variant=name)
        points = [
            (number, _median(chosen, evaluation.CPU, calls=number))
            for number in sorted({record["calls"] for record in chosen})
        ]
        series[name] = [point for point in points if point[1] is not None]
    return svg.line_chart(
        "CPU of the gateway per forwarded packet against load, even arrivals",
        "two-legged calls (100 packets/s each)",
        "µs per packet",
        series,
        log_x=True,
    )


def capacity_chart(records):
    bars = [
        (
            name,
            found["packets_per_second"],
            f"{found['packets_per_second']:,}" + ("+" if found["limited_by"] != "gateway" else ""),
        )
        for name, found in evaluation.capacity(records).items()
    ]
    title = "What one core carries without loss, p99 under 5 ms (+: more than the generator sends)"
    return svg.bar_chart(title, "packets per second", bars)


def memory_chart(records):
    series = {
        name: [(calls, size / 1024) for calls, size in evaluation.memory_points(records, name)]
        for name in evaluation.names_in(records, part="memory")
    }
    return svg.line_chart(
        "Resident memory", "two-legged calls", "MiB", series, log_x=True, log_y=False
    )


def legs_chart(records):
    bars = []
    for name in evaluation.names_in(records, part="legs"):
        chosen = evaluation.select(records, part="legs", variant=name)
        for form in dict.fromkeys(record["form"] for record in chosen):
            value = _median(records, evaluation.CPU, part="legs", variant=name, form=form)
            if value is not None:
                bars.append((f"{name}: {form}", value, f"{value:.2f}"))
    return svg.bar_chart("CPU per packet by kind of leg", "µs per packet", bars)


def all_charts(records):
    """{name: text of an SVG file} of what was measured."""
    parts = {record["part"] for record in records}
    found = {}
    if "cpu" in parts:
        found["cpu-even"] = cpu_chart(records, "cpu", "even")
        found["latency-even"] = latency_chart(records, "cpu", "even")
    if "latency" in parts:
        for phases in ("random", "bursts"):
            found[f"cpu-{phases}"] = cpu_chart(records, "latency", phases)
            found[f"latency-{phases}"] = latency_chart(records, "latency", phases)
    if "load" in parts:
        found["load"] = load_chart(records)
    if "syscalls" in parts:
        bars = _bars(records, "system_calls.per_packet", 3, part="syscalls")
        found["syscalls"] = svg.bar_chart("System calls per forwarded packet", "calls", bars)
    if "capacity" in parts:
        found["capacity"] = capacity_chart(records)
    if "setup" in parts:
        bars = _bars(records, "report.calls_per_second", 0, part="setup")
        found["setup"] = svg.bar_chart(
            "Calls set up and taken down, 64 in flight, 700 up", "calls per second", bars
        )
    if "memory" in parts:
        found["memory"] = memory_chart(records)
    if "legs" in parts:
        found["legs"] = legs_chart(records)
    return found

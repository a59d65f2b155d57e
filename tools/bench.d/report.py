"""The result for people: Markdown tables, SVG charts; and for programs: one JSON file."""

import json

import charts
import evaluation
import figures
import targets

PATTERNS = ("even", "random", "bursts")
PATTERN_TEXT = {
    "even": "evenly spread over 20 ms",
    "random": "anywhere in 20 ms, as with independent phones",
    "bursts": "64 streams at a time, as behind one trunk",
}


def _number(value, digits=2):
    return "-" if value is None else f"{value:.{digits}f}"


def _range(spread, digits=2):
    """`1.23 (1.20 to 1.31)`."""
    if spread is None:
        return "-"
    text = f"{spread['median']:.{digits}f}"
    if spread["count"] > 1:
        text += f" ({spread['min']:.{digits}f} to {spread['max']:.{digits}f})"
    return text


def markdown_table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"


def targets_table(records):
    """What is to be reached, and what was measured."""
    rows = []
    for row in targets.evaluate(records):
        if row["target"] is None:
            target, verdict = "-", ""
        else:
            target = f"{'≤' if row['relation'] == 'at most' else '≥'} {row['target']:g}"
            verdict = {True: "yes", False: "**no**", None: "not measured"}[row["met"]]
        value = row["value"]
        digits = 0 if value and value["median"] >= 100 else 3
        text = _range(value, digits)
        if value and value.get("lower_bound"):
            text = f"at least {text}"
        if value and value.get("note"):
            text += f", {value['note']}"
        rows.append([row["what"], text, target, row["floor"] or "-", verdict])
    header = ["Figure", "measured, median (range)", "target", "floor seen", "met"]
    return markdown_table(header, rows)


def gateways_table(records, part, phases):
    """CPU, ratios, latency and faults of each variant under one arrival pattern."""
    wanted = {"part": part, "phases": phases}
    rows = []
    for name in evaluation.names_in(records, **wanted):
        chosen = evaluation.select(records, variant=name, **wanted)

        def spread(path):
            return figures.spread(figures.value_at(record, path) for record in chosen)

        def against(other):
            return _range(evaluation.ratio(records, evaluation.CPU, name, other, **wanted))

        faults = sum(record["report"][fault] for record in chosen for fault in evaluation.FAULTS)
        lost = sum(record["report"]["lost"] for record in chosen)
        latency = [spread(f"report.latency_us.{key}") for key in ("p50", "p99", "p999")]
        rows.append(
            [
                name,
                _range(spread(evaluation.CPU)),
                against("osmo-mgw"),
                against("rtpengine"),
                *[_number(value and value["median"], 0) for value in latency],
                _range(spread(evaluation.MACHINE)),
                str(lost),
                str(faults),
            ]
        )
    header = ["gateway", "CPU µs/packet", "÷ osmo-mgw", "÷ rtpengine"]
    header += ["p50 µs", "p99 µs", "p99.9 µs", "machine µs/packet", "lost", "faults"]
    return markdown_table(header, rows) if rows else ""


def simple_table(records, part, columns):
    """One row per variant; columns: [(header, path, digits)]."""
    rows = []
    for name in evaluation.names_in(records, part=part):
        row = [name]
        for _, path, digits in columns:
            values = evaluation.values(records, path, part=part, variant=name)
            row.append(_range(figures.spread(values), digits))
        rows.append(row)
    return markdown_table(["gateway", *(column[0] for column in columns)], rows) if rows else ""


def capacity_table(records):
    rows = []
    for name, found in evaluation.capacity(records).items():
        at_least = "at least " if found["limited_by"] == "generator" else ""
        rows.append([name, f"{at_least}{found['packets_per_second']:,}", found["limited_by"]])
    return markdown_table(["gateway", "packets/s", "limited by"], rows) if rows else ""


MODEL_CORES = (4, 8, 16, 32)


def cores_table(records):
    """What was measured, then what the model makes of it for more cores."""
    rows = []
    for name in evaluation.names_in(records, part="cores"):
        chosen = evaluation.select(records, part="cores", variant=name)
        scaled = dict(evaluation.scaling(records, name))
        model = evaluation.contention(list(scaled.items()))
        for cores in dict.fromkeys(record["cores"] for record in chosen):
            costs = evaluation.values(chosen, evaluation.CPU, cores=cores)
            workers = len(cores.split(","))
            ratio = scaled.get(workers) if workers > 1 else None
            row = [name, cores, _range(figures.spread(costs)), _range(ratio)]
            rows.append([*row, f"{workers / ratio['median']:.2f}" if ratio else "-"])
        if model is not None:
            for cores in MODEL_CORES:
                if cores not in scaled:
                    cost = 1 + model * (cores - 1)
                    rows.append(
                        [name, f"{cores} (model)", "-", f"{cost:.2f}", f"{cores / cost:.2f}"]
                    )
    header = ["gateway", "workers on cores", "CPU µs/packet", "÷ a single worker"]
    return markdown_table([*header, "as many times the calls of one core"], rows) if rows else ""


def memory_table(records):
    rows = []
    for name in evaluation.names_in(records, part="memory"):
        points = evaluation.memory_points(records, name)
        listed = ", ".join(f"{calls:,}: {size / 1024:.1f}" for calls, size in points)
        each = evaluation.memory_per_call(records, name)
        rows.append([name, listed, _number(each, 1)])
    return markdown_table(["gateway", "MiB with so many calls", "KiB per further call"], rows)


def legs_table(records):
    forms = list(dict.fromkeys(r["form"] for r in evaluation.select(records, part="legs")))
    rows = []
    for name in evaluation.names_in(records, part="legs"):
        row = [name]
        for form in forms:
            values = evaluation.values(
                records, evaluation.CPU, part="legs", variant=name, form=form
            )
            row.append(_range(figures.spread(values)))
        rows.append(row)
    return markdown_table(["gateway", *forms], rows)


def netem_table(records):
    rows = []
    for record in evaluation.select(records, part="netem"):
        path, report = record["path"], record["report"]
        latency = path["latency_us"] or {}
        rows.append(
            [
                record["profile"],
                record["variant"],
                f"{report['sent']} / {report['received']}",
                f"{path['entered']} / {path['left']}",
                str(path["lost"]),
                str(path["reordered"]),
                str(path["invented"]),
                _number(latency.get("p50"), 0),
                _number(latency.get("p99"), 0),
            ]
        )
    header = ["network", "gateway", "sent / received by the phones", "entered / left mgw"]
    header += ["lost by mgw", "reordered", "invented", "p50 µs in mgw", "p99 µs"]
    return markdown_table(header, rows)


SETUP_COLUMNS = [
    ("calls/s", "report.calls_per_second", 0),
    ("CRCX p50 µs", "report.setup.p50_us", 0),
    ("CRCX p99 µs", "report.setup.p99_us", 0),
    ("CPU %", "report.gateway.cpu_percent", 0),
]
SYSTEM_CALL_COLUMNS = [("system calls per packet", "system_calls.per_packet", 3)]


def sections(records):
    """[(title, text, table, names of charts)] of what was measured."""
    found = [("Targets", "", targets_table(records), [])]
    for phases in PATTERNS:
        part = "cpu" if phases == "even" else "latency"
        table = gateways_table(records, part, phases)
        names = [f"cpu-{phases}", f"latency-{phases}"]
        found.append((f"Packets {phases}", f"Packets {PATTERN_TEXT[phases]}.", table, names))
    spread = "Packets evenly spread."
    found += [
        ("CPU per packet against load", spread, "", ["load"]),
        (
            "System calls",
            "Per forwarded packet, 200 calls, evenly spread, counted by the kernel.",
            simple_table(records, "syscalls", SYSTEM_CALL_COLUMNS),
            ["syscalls"],
        ),
        (
            "Capacity of a core",
            "No loss, p99 under 5 ms, evenly spread.",
            capacity_table(records),
            ["capacity"],
        ),
        (
            "Cores",
            "A worker on each core, 200 calls for each, evenly spread. Compared with single "
            "workers on the same cores, as the load generator is on one of them. The model has a "
            "part that only one worker can do at a time, as large as the measured step allows.",
            cores_table(records),
            [],
        ),
        (
            "Call set-ups",
            "Two CRCX and two DLCX per call, 64 in flight, 700 further calls up.",
            simple_table(records, "setup", SETUP_COLUMNS),
            ["setup"],
        ),
        ("Memory", "Resident, two-legged calls.", memory_table(records), ["memory"]),
        ("Kinds of leg", f"CPU µs per packet. {spread}", legs_table(records), ["legs"]),
        (
            "Bad networks",
            "Both ways between phones and gateway; counted at the device in front of the gateway.",
            netem_table(records),
            [],
        ),
    ]
    parts = {record["part"] for record in records}
    needs = {
        "CPU per packet against load": "load",
        "System calls": "syscalls",
        "Capacity of a core": "capacity",
        "Cores": "cores",
        "Call set-ups": "setup",
        "Memory": "memory",
        "Kinds of leg": "legs",
        "Bad networks": "netem",
        "Packets even": "cpu",
        "Packets random": "latency",
        "Packets bursts": "latency",
    }
    return [entry for entry in found if needs.get(entry[0]) in {None, *parts}]


def facts_text(result):
    """What must be known to read the figures."""
    facts = result["machine"]
    virtual = "a virtual machine" if facts["hypervisor"] else "no virtual machine"
    versions = ", ".join(f"{kind} {version}" for kind, version in result["versions"].items())
    lines = [
        f"- {result['begun']}, suite `{result['suite']}`, `{result['command'].strip()}`",
        f"- {facts['cpu']}, {facts['cores']} cores, {facts['memory_mib']} MiB, {virtual}, "
        f"Linux {facts['kernel']}, clock {facts['clock_source']}",
        f"- {versions}; sources {facts['revision']}, {facts['compiler']}",
        f"- {result['scheduling']}; gateway on core {result['cores']['gateway']}, load generator "
        f"on core {result['cores']['generator']}, {result['network']}",
        f"- {len(result['records'])} runs, {result['noisy_runs']} of them disturbed by others "
        f"(more than {result['noise_limit_percent']:g} % of a core) and left out of all figures",
    ]
    lines += [f"- without {entry['variant']}: {entry['reason']}" for entry in result["skipped"]]
    lines += [f"- problem: {problem}" for problem in result["problems"]]
    return "\n".join(lines) + "\n"


def markdown(result, with_charts=False):
    """The whole report."""
    title = result["name"] or "Benchmark"
    text = f"# {title}\n\n"
    if result["refused"]:
        text += (
            "**Refused: the machine was too noisy, these figures are not to be used.** "
            f"{result['noisy_runs']} of {len(result['records'])} runs were disturbed.\n\n"
        )
    text += facts_text(result)
    available = charts.all_charts(result["records"]) if with_charts else {}
    for heading, words, table, names in sections(result["records"]):
        text += f"\n## {heading}\n\n"
        text += f"{words}\n\n" if words else ""
        text += table
        for name in names:
            if name in available:
                text += f"\n![{heading}]({name}.svg)\n"
    return text


def to_json(result):
    """The result with one record per line, so that two of them can be compared line by line."""
    head = {key: value for key, value in result.items() if key != "records"}
    head["figures"] = targets.evaluate(result["records"])
    text = json.dumps(head, indent=1, ensure_ascii=False)
    records = ",\n".join(
        json.dumps(record, ensure_ascii=False, separators=(",", ":"))
        for record in result["records"]
    )
    return f'{text[:-2]},\n "records": [\n{records}\n]}}\n'


def write(result, folder):
    """result.json, README.md and the charts in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "result.json").write_text(to_json(result))
    (folder / "README.md").write_text(markdown(result, with_charts=True))
    for name, text in charts.all_charts(result["records"]).items():
        (folder / f"{name}.svg").write_text(text)

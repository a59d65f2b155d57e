#!/usr/bin/env python3
"""Fills the tables of docs/sizing.md from the result of a benchmark.

usage: sizing.py RESULT.json docs/sizing.md
A table stands between <!-- bench:NAME --> and <!-- bench:end -->; the rest is left as it is.
"""

import json
import math
import pathlib
import re
import sys

import evaluation
import figures
import parts
import report
import targets

MARKED = re.compile(r"(<!-- bench:(\w+) -->\n).*?(<!-- bench:end -->)", re.DOTALL)
# What of a core is to be used at the most: the rest is for bursts and signalling.
USABLE_PART = 0.7
PACKETS_PER_CALL = 100
MGW = ("mgw poll 0", "mgw io_uring 0", "mgw io_uring auto")


def source(result):
    facts = result["machine"]
    folder = f"`docs/benchmarks/{result['name']}`" if result["name"] else "a run that was not kept"
    refused = " The machine was too noisy for a benchmark." if result["refused"] else ""
    text = (
        f"From {folder}: {facts['cpu']}, Linux {facts['kernel']}, sources {facts['revision']}, "
        f"{result['begun'][:10]}.{refused}\n"
    )
    return text


def memory(result):
    records = result["records"]
    rows = []
    for name in evaluation.names_in(records, part="memory"):
        points = evaluation.memory_points(records, name)
        each = evaluation.memory_per_call(records, name)
        if each is None:
            continue
        most, size = points[-1]
        wanted = (size + each * (targets.MEMORY_CALLS - most)) / 1024
        how = "measured" if most >= targets.MEMORY_CALLS else f"from {most:,} measured ones"
        rows.append([name, f"{points[0][1] / 1024:.1f}", f"{each:.1f}", f"{wanted:.0f} ({how})"])
    header = ["gateway", f"MiB with {points_text(records)} calls", "KiB per further call"]
    table = report.markdown_table([*header, f"MiB with {targets.MEMORY_CALLS:,} calls"], rows)
    kernel = evaluation.kernel_memory_per_call(records)
    if kernel is not None:
        table += (
            f"\nThe kernel takes {kernel:.1f} KiB per call for its four sockets (growth of `Slab` "
            "in `/proc/meminfo`), which is in no process's account.\n"
        )
    return table


def points_text(records):
    calls = [record["calls"] for record in evaluation.select(records, part="memory")]
    return f"{min(calls):,}" if calls else "-"


def descriptors_per_call(records, form):
    """Descriptors that a call of this form takes, as seen in the process."""
    each = [
        (record["descriptors"]["with"] - record["descriptors"]["without"]) / record["calls"]
        for record in evaluation.select(records, part="legs", form=form)
        if record["variant"].startswith("mgw") and record.get("descriptors")
    ]
    return figures.median(each)


def descriptors(result):
    rows = []
    for form in parts.LOAD_FORMS:
        each = descriptors_per_call(result["records"], form)
        if each is not None:
            rows.append([form, f"{each:.1f}"])
    return report.markdown_table(["two-legged call", "descriptors"], rows)


def calls_in_core(percent):
    """How many calls of so many percent each fill the usable part of a core, in tens."""
    return math.floor(100 * USABLE_PART / percent / 10 + 1e-6) * 10


def legs(result):
    """CPU of a call by kind of leg, and what that means for a core."""
    records = result["records"]
    rows = []
    for form in parts.LOAD_FORMS:
        for name in MGW:
            values = evaluation.values(
                records, evaluation.CPU, part="legs", variant=name, form=form
            )
            spread = figures.spread(values)
            if spread is None:
                continue
            cost_us = spread["median"]
            percent = cost_us * PACKETS_PER_CALL / 10_000
            rows.append(
                [
                    form,
                    name,
                    f"{cost_us:.2f}",
                    f"{percent:.3f} %",
                    f"{calls_in_core(percent):,}",
                ]
            )
    header = ["two-legged call", "gateway", "CPU µs per packet", "of a core per call"]
    return report.markdown_table([*header, f"calls in {USABLE_PART:.0%} of a core"], rows)


def capacity(result):
    return report.capacity_table(result["records"])


def cores(result):
    return report.cores_table(result["records"])


TABLES = {
    "source": source,
    "memory": memory,
    "descriptors": descriptors,
    "legs": legs,
    "capacity": capacity,
    "cores": cores,
}


def fill(text, result):
    """The text with its tables made again. KeyError for a marker that names no table."""

    def table(match):
        made = TABLES[match.group(2)](result)
        if not made.strip() or made.strip().endswith("|---|"):
            made = "Not measured in this run.\n"
        return f"{match.group(1)}\n{made}\n{match.group(3)}"

    return MARKED.sub(table, text)


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    result = json.loads(pathlib.Path(sys.argv[1]).read_text())
    page = pathlib.Path(sys.argv[2])
    page.write_text(fill(page.read_text(), result))
    return 0


if __name__ == "__main__":
    sys.exit(main())

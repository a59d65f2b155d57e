"""System calls of a gateway per forwarded packet, as the kernel's own tracepoint counts them."""

import re
import shutil
import subprocess

from runs import Load

# Counting begins when the calls are up and the first second of media is over.
BEGIN_MS = 2000
WINDOW_MS = 1500
RUN_SECONDS = 4
COUNTED = re.compile(r"^(\d+),[^,]*,raw_syscalls:sys_enter", re.MULTILINE)


def parse_count(text):
    """The number in the output of `perf stat -x,`; None if it could not count."""
    found = COUNTED.search(text)
    return int(found.group(1)) if found else None


def start_counter(pid):
    """A perf that counts in a while and for a while."""
    command = ["perf", "stat", "-x,", "-e", "raw_syscalls:sys_enter", "-p", str(pid)]
    command += ["-D", str(BEGIN_MS), "--", "sleep", str((BEGIN_MS + WINDOW_MS) / 1000)]
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def count(bench, variant):
    """Adds a record of part `syscalls` with the count, if perf is there and may count."""
    if not shutil.which("perf"):
        bench.note("syscalls: perf is not installed")
        return
    counters = []
    bench.runner.on_start = lambda pid: counters.append(start_counter(pid))
    try:
        record = bench.attempt("syscalls", variant, Load(bench.calls, RUN_SECONDS))
    finally:
        bench.runner.on_start = None
    texts = [counter.communicate()[1].decode(errors="replace") for counter in counters]
    if record is None or not texts:
        return
    counted = parse_count(texts[-1])
    if counted is None:
        bench.note(f"syscalls, {variant.name}: {texts[-1].strip()[:200]}")
        return
    report = record["report"]
    packets = report["received"] / max(report["seconds"], 0.001) * WINDOW_MS / 1000
    if packets == 0:
        return
    record["system_calls"] = {
        "counted": counted,
        "window_ms": WINDOW_MS,
        "per_packet": counted / packets,
    }

"""What the machine is, and what else it did during a run."""

import os
import pathlib
import platform
import subprocess
import time

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
# Fields of a cpu line of /proc/stat that are no work: idle and waiting for a disk.
IDLE_FIELDS = (3, 4)
STEAL_FIELD = 7


def parse_stat(text):
    """{cpu: (idle, stolen) seconds} of /proc/stat.

    What a core was not idle it was busy: the kernel counts idle time by its clock, but looks at
    ticks only what it was busy with.
    """
    times = {}
    for line in text.splitlines():
        name, *fields = line.split()
        if name.startswith("cpu") and name[3:].isdigit():
            ticks = [int(field) for field in fields]
            idle = sum(ticks[field] for field in IDLE_FIELDS)
            stolen = ticks[STEAL_FIELD]
            times[int(name[3:])] = (idle / TICKS_PER_SECOND, stolen / TICKS_PER_SECOND)
    return times


def parse_process_stat(text):
    """(CPU seconds, CPU seconds of ended children) of a process from its stat file."""
    fields = text[text.rindex(")") + 2 :].split()
    own = int(fields[11]) + int(fields[12])
    children = int(fields[13]) + int(fields[14])
    return own / TICKS_PER_SECOND, children / TICKS_PER_SECOND


def process_times():
    """{process id: (CPU seconds, of ended children)} of all processes of the machine."""
    times = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                text = pathlib.Path(entry.path, "stat").read_text(errors="replace")
                times[int(entry.name)] = parse_process_stat(text)
            except (OSError, ValueError, IndexError):
                continue  # it has ended meanwhile
    return times


class Watch:
    """Counts from its making what others than the processes of a run do on the machine."""

    def __init__(self, own):
        """own: the ids of the processes that belong to the run, beside this one."""
        self.own = {*own, os.getpid()}
        self.processes = process_times()
        self.cores = parse_stat(pathlib.Path("/proc/stat").read_text())

    def finish(self, seconds, load_cpu_s):
        """What happened in `seconds`; load_cpu_s: CPU time of the load generator, ended by now.

        `foreign_percent`, of one core: CPU time of processes that do not belong to the run. A
        process that came and went is in its parent's account. `stolen_percent`: what the
        hypervisor gave to others.
        """
        cores = parse_stat(pathlib.Path("/proc/stat").read_text())
        foreign = foreign_time(self.processes, process_times(), self.own)
        idle = sum(cores[cpu][0] - self.cores[cpu][0] for cpu in cores)
        stolen = sum(cores[cpu][1] - self.cores[cpu][1] for cpu in cores)
        busy = max(0.0, seconds * len(cores) - idle - stolen)
        return {
            "seconds": seconds,
            "foreign_percent": 100 * foreign / seconds,
            "stolen_percent": 100 * stolen / seconds,
            "busy_percent": 100 * busy / seconds,
            "generator_percent": 100 * load_cpu_s / seconds,
        }


def foreign_time(before, after, own):
    """CPU seconds between two process_times() of all processes but `own`."""
    total = 0.0
    for pid, (cpu, children) in after.items():
        if pid not in own:
            cpu_before, children_before = before.get(pid, (0.0, 0.0))
            total += max(0.0, cpu - cpu_before) + max(0.0, children - children_before)
    # The account of a process that has ended moves to its parent as a whole.
    ended = sum(
        cpu + children
        for pid, (cpu, children) in before.items()
        if pid not in after and pid not in own
    )
    return max(0.0, total - ended)


def is_noisy(noise, limit_percent):
    """Whether so much else happened that the figures of the run are not to be believed."""
    return noise["foreign_percent"] + noise["stolen_percent"] > limit_percent


def generator_was_held_up(report):
    """Whether the load generator could not even send all its packets at their instants."""
    return bool((report.get("generator") or {}).get("missed"))


def kernel_kib(text):
    """Memory of the kernel's own objects, sockets among them, from a text of /proc/meminfo."""
    for line in text.splitlines():
        if line.startswith("Slab:"):
            return int(line.split()[1])
    return None


class ResourceWatch:
    """The most descriptors that a process had and the kernel's memory then, looked at at times."""

    INTERVAL_S = 0.4

    def __init__(self, pid):
        self.folder = f"/proc/{pid}/fd"
        self.at_first = self.most = self.look_now()
        self.next_look = 0.0

    def look_now(self):
        """(descriptors, KiB)."""
        try:
            count = len(os.listdir(self.folder))
        except OSError:
            count = 0
        return count, kernel_kib(pathlib.Path("/proc/meminfo").read_text())

    def look(self):
        if time.monotonic() >= self.next_look:
            self.most = max(self.most, self.look_now())
            self.next_look = time.monotonic() + self.INTERVAL_S

    def result(self):
        return {
            "descriptors": {"without": self.at_first[0], "with": self.most[0]},
            "kernel_kib": {"without": self.at_first[1], "with": self.most[1]},
        }


def cpu_model():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def memory_mib():
    for line in pathlib.Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemTotal"):
            return int(line.split()[1]) // 1024
    return None


def git_revision(folder):
    """The revision of the sources, with a mark if something was changed since."""
    command = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=12"]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    return finished.stdout.strip() or "unknown"


def facts(folder):
    """What must be known of the machine to understand the figures."""
    clock = pathlib.Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    return {
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "memory_mib": memory_mib(),
        "hypervisor": "hypervisor" in pathlib.Path("/proc/cpuinfo").read_text(),
        "clock_source": clock.read_text().strip() if clock.exists() else "unknown",
        "compiler": compiler_of(folder),
        "revision": git_revision(folder),
    }


def compiler_of(folder):
    """The compiler of the release build, from CMake's cache."""
    cache = pathlib.Path(folder) / "build" / "release" / "CMakeCache.txt"
    if not cache.exists():
        return "unknown"
    for line in cache.read_text().splitlines():
        if line.startswith("CMAKE_CXX_COMPILER:"):
            program = line.partition("=")[2]
            finished = subprocess.run(
                [program, "--version"], capture_output=True, text=True, check=False
            )
            return (finished.stdout.splitlines() or ["unknown"])[0]
    return "unknown"

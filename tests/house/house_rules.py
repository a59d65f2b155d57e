#!/usr/bin/env python3
"""Checks the rules of the house that no compiler checks: layers, sizes, comments, words.

usage: house_rules.py [ROOT]
Prints "file:line: message" for each fault; exit status 1 if there are any.
"""

import re
import sys
from pathlib import Path

import cpp_source

LINE_COLUMNS_MAX = 100
FILE_LINES_MAX = 600
FUNCTION_LINES_MAX = 60

# Who may include whom (docs/architecture.md). Tests may include everything.
LAYERS = {
    "io": {"io"},
    "rtp": {"rtp", "io"},
    "mgcp": {"mgcp", "io"},
    "conf": {"conf", "io"},
    "ttcn-compat": {"ttcn-compat", "mgcp", "conf", "io"},
    "mgw": {"mgw", "ttcn-compat", "mgcp", "rtp", "conf", "io"},
    "tools": {"tools", "ttcn-compat", "mgcp", "rtp", "conf", "io"},
}
FOLDERS = (*LAYERS, "tests")
SKIPPED_FOLDERS = {"build", ".git", "__pycache__", "corpus"}

# Third-party headers and the files that may include them, docs/dependencies.md.
WRAPPERS = [
    (r"(liburing|linux/io_uring)\b", r"io/uring_ring\.(h|cpp)|io/uring_probe\.cpp"),
    (r"(numa|numaif)\.h", r"mgw/worker_placement\.cpp"),
    (r"bpf/(bpf|libbpf)\.h", r"io/kernel_path\.cpp"),
    (r"boost/", r"mgw/asio_(front|streams)\.(h|cpp)"),
    (r"yaml-cpp/", r"conf/config_loader\.cpp"),
    (r"prometheus/", r"mgw/metrics_exporter\.(h|cpp)"),
    (r"spdlog/", r"io/log\.cpp"),
    (r"systemd/", r"io/(log_output|service_manager)\.cpp"),
    (r"CLI/", r"mgw/(main|arguments)\.cpp|tools/.*\.cpp"),
    (r"nlohmann/", r"tools/.*\.(h|cpp)"),
    (r"seccomp\.h", r"tests/.*"),
    (r"doctest/", r"tests/.*"),
]

# (what it matches, where it is forbidden, why). io/log* is what all threads log through: its
# targets are shared by them, and no packet is logged.
BANNED_CODE = [
    (r"\bstd::\w*mutex\b|\bcondition_variable\b|\b(lock_guard|scoped_lock)\b",
     r"(?!io/log\w*\.(h|cpp)$)(io|rtp|mgcp)/.*",
     "no locks here: one thread owns each object, others send vectors"),
    (r"\bstd::j?thread\b|\brandom_device\b|_clock::now\b|\bclock_gettime\b|\bsocket\(",
     r"(rtp|mgcp)/.*", "no threads, clocks, sockets or randomness here: they come in as arguments"),
    (r"\bshared_ptr\b", r"(?!io/log\w*\.(h|cpp)$)(io|rtp)/.*",
     "one owner: no shared_ptr on the way of a packet"),
    (r"\bsleep_(for|until)\b|\b(u|nano)?sleep\(", r"tests/.*\.(h|cpp)",
     "no sleep in tests: virtual time, or wait for what is expected"),
    (r"(?i)(?<!::io_)(?<!::)\b\w*uring", r"(rtp|mgcp|mgw)/.*",
     "the domain does not know io_uring; only the choice of the backend names it"),
    (r"^\s*(assert|abort)\(", r"(io|rtp|mgcp|conf|mgw)/.*",
     "MGW_ASSERT, which says what was wrong"),
]
BANNED_TEXT = [
    (r"\b(TODO|FIXME|XXX|HACK)\b", "unfinished work is not marked in the source"),
    (r"(?<![\w.])/(work|root|home)/", "no absolute path of a machine"),
    (r"\b(deb\.debian\.org|pypi\.org|crates\.io|golang\.org|npmjs\.org|docker\.io|ghcr\.io)\b",
     "no host name of a registry"),
]
# Titan, the TTCN-3 compiler, wants .hh for the header of a test port.
HEADER_SUFFIXES = {".h", ".hh"}
MEASURED_SUFFIXES = {*HEADER_SUFFIXES, ".cpp", ".py", ".ttcn"}
WRAPPED_SUFFIXES = {*MEASURED_SUFFIXES, ".sh", ".yaml", ".cmake"}
TEXT_SUFFIXES = {*WRAPPED_SUFFIXES, ".txt", ".md", ".json", ""}


class Source:
    """One file with the views of it that the rules need."""

    def __init__(self, root, path):
        self.path = path.relative_to(root).as_posix()
        self.root = root
        self.suffix = path.suffix
        self.text = path.read_text(encoding="utf-8", errors="replace")
        self.lines = self.text.split("\n")
        self.is_cpp = self.suffix in (*HEADER_SUFFIXES, ".cpp")
        self.folder = self.path.split("/", 1)[0]
        self.code_lines = cpp_source.without_comments(self.text).split("\n") if self.is_cpp else []
        self.reading = cpp_source.read(self.text) if self.is_cpp else None


def check_lines(source):
    if source.suffix not in WRAPPED_SUFFIXES:
        return
    for number, line in enumerate(source.lines, 1):
        if len(line) > LINE_COLUMNS_MAX and source.suffix in MEASURED_SUFFIXES:
            yield number, f"{len(line)} columns, more than {LINE_COLUMNS_MAX}"
        if line != line.rstrip():
            yield number, "blanks at the end of the line"
    if source.suffix in MEASURED_SUFFIXES and len(source.lines) - 1 > FILE_LINES_MAX:
        yield 1, f"{len(source.lines) - 1} lines, more than {FILE_LINES_MAX}"


def check_functions(source):
    for function in source.reading.functions if source.is_cpp else ():
        lines = function.last_line - function.first_line + 1
        if lines > FUNCTION_LINES_MAX:
            message = f"{function.name} has {lines} lines, more than {FUNCTION_LINES_MAX}"
            yield function.first_line, message


def check_includes(source):
    if not source.is_cpp:
        return
    for number, line in enumerate(source.lines, 1):
        match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if not match:
            continue
        kind, name = match.groups()
        if kind == '"':
            yield from check_own_include(source, number, name)
        else:
            yield from check_library_include(source, number, name)


def check_own_include(source, number, name):
    target = name.split("/", 1)[0]
    if target not in FOLDERS or not (source.root / name).is_file():
        yield number, f'"{name}" is not a file of the repository, named from its root'
    elif source.folder in LAYERS and target not in LAYERS[source.folder]:
        allowed = ", ".join(sorted(LAYERS[source.folder]))
        yield number, f"{source.folder}/ may not include {target}/ (allowed: {allowed})"


def check_library_include(source, number, name):
    for header, wrapper in WRAPPERS:
        allowed = re.fullmatch(wrapper, source.path) or source.folder == "tests"
        if re.match(header, name) and not allowed:
            yield number, f"<{name}> belongs behind its wrapper, {wrapper}"


def check_pragma_once(source):
    if source.suffix not in HEADER_SUFFIXES:
        return
    directives = [line.strip() for line in source.code_lines if line.strip()]
    if not directives or directives[0] != "#pragma once":
        yield 1, "a header starts with #pragma once"


def check_words(source):
    for number, line in enumerate(source.code_lines, 1):
        for pattern, where, why in BANNED_CODE:
            match = re.fullmatch(where, source.path) and re.search(pattern, line)
            if match and "#include" not in line:
                yield number, f"'{match.group(0).strip()}': {why}"
    if source.path.startswith("tests/house/"):
        return  # the rules and their bad examples
    for number, line in enumerate(source.lines, 1):
        for pattern, why in BANNED_TEXT:
            match = re.search(pattern, line)
            if match:
                yield number, f"'{match.group(0)}': {why}"


def check_comments(source):
    """Public types and functions of headers have a /// comment; neighbours may share one."""
    if source.suffix not in HEADER_SUFFIXES or source.folder not in LAYERS:
        return
    last_documented_line = -1
    for declaration in source.reading.declarations:
        own = source.lines[declaration.first_line - 1 : declaration.last_line]
        above = source.lines[max(declaration.first_line - 2, 0)].strip()
        documented = (
            above.startswith("///")
            or any("///<" in line for line in own)
            or declaration.first_line == last_documented_line + 1
            or (declaration.is_member and is_accessor(source, declaration))
        )
        if documented and declaration.kind == "function":
            last_documented_line = last_line_of(source, declaration)
        elif documented:
            last_documented_line = -1
        else:
            message = f"{declaration.kind} {declaration.name} has no /// comment"
            yield declaration.first_line, message


def is_accessor(source, declaration):
    """A member such as `bool empty() const { return size_ == 0; }` says what it is."""
    lines = source.lines[declaration.first_line - 1 : last_line_of(source, declaration)]
    text = " ".join(" ".join(lines).split())
    return len(lines) <= 4 and re.search(r"\(\)[^{;]*\{ return [^;{}]*; \}$", text)


def last_line_of(source, declaration):
    """Where a declaration ends, with its body if it has one."""
    for function in source.reading.functions:
        if function.first_line == declaration.first_line:
            return function.last_line
    return declaration.last_line


def check_ttcn(source):
    """Public definitions of TTCN-3 modules have a /// comment; functions have their limit."""
    if source.suffix != ".ttcn":
        return
    for number, line in enumerate(source.lines, 1):
        match = re.match(
            r"(private )?(?:external )?(type|template|function|testcase|altstep)\s+(.*)", line
        )
        if not match:
            continue
        is_private, kind, name = match.groups()
        if not is_private and not source.lines[max(number - 2, 0)].startswith("///"):
            yield number, f"{kind} {name} has no /// comment"
        if kind in ("function", "testcase", "altstep") and "external" not in line:
            rest = source.lines[number - 1 :]
            lines = rest.index("}") + 1 if "}" in rest else len(rest)
            if lines > FUNCTION_LINES_MAX:
                yield number, f"{kind} {name} has {lines} lines, more than {FUNCTION_LINES_MAX}"


RULES = (
    check_lines,
    check_functions,
    check_includes,
    check_pragma_once,
    check_words,
    check_comments,
    check_ttcn,
)


def sources(root):
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        if any(part in SKIPPED_FOLDERS for part in parts) or not path.is_file():
            continue
        is_script = path.suffix == "" and path.read_bytes()[:2] == b"#!"
        if is_script or (path.suffix in TEXT_SUFFIXES and path.suffix != ""):
            yield Source(root, path)


def check(root):
    """All faults as "path:line: message", and the number of files looked at."""
    faults = []
    count = 0
    for source in sources(root):
        count += 1
        for rule in RULES:
            faults += [f"{source.path}:{number}: {message}" for number, message in rule(source)]
    return faults, count


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[2]).resolve()
    faults, count = check(root)
    for fault in faults:
        print(fault)
    print(f"{count} files, {len(faults)} faults")
    return 1 if faults or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())

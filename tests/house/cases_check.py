#!/usr/bin/env python3
"""Checks that every test that tests/cases.tsv names exists.

usage: cases_check.py [ROOT]
Prints "file:line: message" for each fault; exit status 1 if there are any.
"""

import re
import sys
from pathlib import Path

COLUMNS = 4


def names_of_tests(path):
    """The names of the doctest cases or Python test methods of a file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return set(re.findall(r"^\s+def (test_\w+)\(", text, re.MULTILINE))
    cases = re.findall(r"TEST_CASE\(\s*((?:\"(?:[^\"\\]|\\.)*\"\s*)+)", text)
    return {"".join(re.findall(r"\"((?:[^\"\\]|\\.)*)\"", case)) for case in cases}


def check(root):
    """The faults of the table, as lines to print."""
    table = root / "tests" / "cases.tsv"
    faults = []
    for number, line in enumerate(table.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("#"):
            continue
        row = line.split("\t")
        place = f"tests/cases.tsv:{number}"
        if len(row) != COLUMNS or not all(row):
            faults.append(f"{place}: not {COLUMNS} columns")
        elif not re.fullmatch(r"[A-Z]\d+", row[0]):
            faults.append(f'{place}: "{row[0]}" names no case')
        elif not (root / row[2]).is_file():
            faults.append(f"{place}: no file {row[2]}")
        elif row[3] not in names_of_tests(root / row[2]):
            faults.append(f'{place}: {row[2]} has no test "{row[3]}"')
    return faults


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    faults = check(root)
    print("\n".join(faults) if faults else "every test of the table is there")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

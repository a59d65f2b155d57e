#!/usr/bin/env python3
"""Turns ctest's JUnit file into lines "preset TAB test TAB pass|fail|skip TAB seconds".

usage: ctest_results.py PRESET JUNIT-FILE
A test that could not be run is a failed one; skipped is only what says so itself.
"""

import sys
import xml.etree.ElementTree as ElementTree


def outcome_of(case):
    status = case.get("status")
    if status == "run":
        return "pass"
    skipped = case.find("skipped")
    reason = "" if skipped is None else skipped.get("message", "")
    if status == "disabled" or reason.startswith(("SKIP_RETURN_CODE", "SKIP_REGULAR_EXPRESSION")):
        return "skip"
    return "fail"


def main():
    preset, path = sys.argv[1:]
    try:
        cases = list(ElementTree.parse(path).getroot().iter("testcase"))
    except (OSError, ElementTree.ParseError) as error:
        print(f"{preset}\tctest ({error})\tfail\t0")
        return
    if not cases:
        print(f"{preset}\tctest (no tests)\tfail\t0")
    for case in cases:
        seconds = float(case.get("time") or 0)
        print(f"{preset}\t{case.get('name')}\t{outcome_of(case)}\t{seconds:.1f}")


if __name__ == "__main__":
    main()

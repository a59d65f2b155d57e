"""Each row of the two tables of conformance names a test that exists and that is run."""

import ast
import os
import re
import unittest

from support import runner

FOLDER = os.path.dirname(os.path.abspath(__file__))
SUITE = os.path.join(FOLDER, "..", "..", "ttcn-compat", "suite")


def read(name, folder=FOLDER):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return file.read()


def rows(name="conformance_rows.tsv", folder=FOLDER):
    lines = read(name, folder).splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def documented_tests(script):
    """The tests of a script with what they say of themselves."""
    tree = ast.parse(read(f"{script}.py"))
    return {
        function.name: ast.get_docstring(function) or ""
        for kind in tree.body
        if isinstance(kind, ast.ClassDef)
        for function in kind.body
        if isinstance(function, ast.FunctionDef) and function.name.startswith("test_")
    }


def names_in(text):
    """The test cases that a docstring names as patterns: TC_a, .._b for one that ends alike."""
    words = re.findall(r"TC_\w*\*?\w*|\.\._\w*\*?\w*", text)
    return [re.escape(word).replace(r"\.\.", "TC_.*").replace(r"\*", ".*") for word in words]


class ConformanceRows(unittest.TestCase):
    """The table and the scripts fit together."""

    def test_each_row(self):
        """The test exists, names the row in its docstring, and its script is registered."""
        registered = set(re.findall(r"mgw_interop_test\((\w+)", read("CMakeLists.txt")))
        for row in rows():
            with self.subTest(row[0]):
                self.assertIn(len(row), (3, 4))
                case, script, test = row[:3]
                self.assertIn(script, registered)
                tests = documented_tests(script)
                self.assertIn(test, tests)
                patterns = names_in(tests[test])
                self.assertTrue(
                    any(re.fullmatch(pattern, case) for pattern in patterns), tests[test]
                )

    def test_no_row_twice(self):
        """Every test case is there once."""
        cases = [row[0] for row in rows()]
        self.assertEqual(len(cases), len(set(cases)))

    def test_ttcn_suite(self):
        """The TTCN-3 suite has a test case for each row too, and its build has their modules."""
        own_rows = rows("rows.tsv", SUITE)
        self.assertEqual(sorted(row[0] for row in own_rows), sorted(row[0] for row in rows()))
        modules = re.search(r"set\(modules([^)]*)\)", read("CMakeLists.txt", SUITE))[1].split()
        for row in own_rows:
            with self.subTest(row[0]):
                self.assertIn(len(row), (3, 4))
                self.assertIn(row[1], modules)
                cases = re.findall(r"^testcase (\w+)\(\)", read(f"{row[1]}.ttcn", SUITE), re.M)
                self.assertIn(row[2], cases)


if __name__ == "__main__":
    runner.main()

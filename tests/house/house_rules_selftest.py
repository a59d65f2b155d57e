#!/usr/bin/env python3
"""Each rule of the house must find its bad example, and say nothing about a good file."""

import tempfile
import unittest
from pathlib import Path

import cpp_source
import house_rules

GOOD_HEADER = """#pragma once
// What it owns.

#include <string>

#include "io/time.h"

namespace rtp {

/// A documented type.
class Stream {
 public:
  Stream() = default;
  explicit Stream(int rate) : rate_(rate), marks_{1, 2} {}
  ~Stream() = default;
  /// Two that belong together
  /// have one comment.
  int packets() const noexcept;
  int octets() const noexcept;

  int rate() const noexcept { return rate_; }
  bool operator==(const Stream&) const = default;

 private:
  void step();
  int rate_ = 0;
  int marks_[2];
};

inline int Stream::octets() const noexcept { return 2; }

/// A comment above a template.
template <typename T, typename U = decltype(sizeof(T))>
int size_of(T value, U other) {
  return [&] { return int(sizeof(value) + sizeof(other)); }();
}

inline constexpr int kLimit = std::min(3, 4);

namespace detail {
void hidden();
}

}  // namespace rtp
"""


def faults_of(files):
    """The messages for a repository that holds these files besides what includes need."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, text in {"io/time.h": "#pragma once\n", **files}.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return house_rules.check(root)[0]


class HouseRulesTest(unittest.TestCase):
    def assert_fault(self, name, text, expected):
        found = faults_of({name: text})
        self.assertTrue(any(expected in fault for fault in found), f"{expected!r} not in {found}")

    def test_a_good_header_has_no_fault(self):
        self.assertEqual(faults_of({"rtp/stream.h": GOOD_HEADER}), [])

    def test_sizes(self):
        self.assert_fault("io/a.cpp", "// " + "x" * 98 + "\n", "io/a.cpp:1: 101 columns")
        self.assertEqual(faults_of({"io/a.cpp": "// " + "x" * 97 + "\n"}), [])
        self.assert_fault("io/a.cpp", "\n" * 601, "601 lines")
        self.assertEqual(faults_of({"io/a.cpp": "\n" * 600}), [])
        self.assert_fault("io/a.cpp", "int a; \n", "blanks at the end")

    def test_functions_have_at_most_60_lines(self):
        fits = "namespace io {\nint f(int a) {\n" + "  if (a) {}\n" * 58 + "}\n}\n"
        self.assertEqual(faults_of({"io/a.cpp": fits}), [])
        long = "namespace io {\nint f(int a) {\n" + "  if (a) {}\n" * 59 + "}\n}\n"
        self.assert_fault("io/a.cpp", long, "io/a.cpp:2: f has 61 lines")
        lambdas = "TEST_CASE(\"name { of ; a case\") {\n  run([&] {\n" + "\n" * 60 + "  });\n}\n"
        self.assert_fault("tests/a.cpp", lambdas, "TEST_CASE has 64 lines")
        members = "io::A::A(int a) : a_{a}, b_{1} {\n" + "\n" * 60 + "}\n"
        self.assertEqual(len(cpp_source.read("int f() {\n}\nint g() {\n}\n").functions), 2)
        self.assertTrue(cpp_source.read(members).functions)

    def test_layers(self):
        self.assert_fault("rtp/a.cpp", '#include "mgcp/sdp.h"\n', "not a file of the repository")
        files = {"mgcp/sdp.h": "#pragma once\n", "rtp/a.cpp": '#include "mgcp/sdp.h"\n'}
        self.assertIn("rtp/ may not include mgcp/", faults_of(files)[0])
        files = {"mgw/a.h": "#pragma once\n", "io/a.cpp": '#include "mgw/a.h"\n'}
        self.assertIn("io/ may not include mgw/", faults_of(files)[0])
        files = {"mgw/a.cpp": '#include "io/time.h"\n', "io/a.cpp": '#include "io/time.h"\n'}
        self.assertEqual(faults_of(files), [])
        self.assert_fault("io/a.cpp", '#include "time.h"\n', "named from its root")

    def test_libraries_stay_behind_their_wrappers(self):
        for header in ("liburing.h", "boost/asio.hpp", "yaml-cpp/yaml.h", "prometheus/counter.h",
                       "spdlog/spdlog.h", "nlohmann/json.hpp", "CLI/CLI.hpp", "doctest/doctest.h"):
            self.assert_fault("mgw/a.cpp", f"#include <{header}>\n", "belongs behind its wrapper")
        wrapper = {"conf/config_loader.cpp": "#include <yaml-cpp/parser.h>\n"}
        self.assertEqual(faults_of(wrapper), [])

    def test_pragma_once(self):
        self.assert_fault("io/a.h", "// text\n#include <string>\n", "#pragma once")
        self.assert_fault("io/a.h", "#ifndef A\n#define A\n#endif\n", "#pragma once")

    def test_words(self):
        todo = "TO" + "DO"
        self.assert_fault("io/a.cpp", f"// {todo}: later\n", todo)
        self.assert_fault("docs/a.md", "see /ro" + "ot/notes\n", "absolute path")
        self.assert_fault("tools/a.sh", "curl deb.deb" + "ian.org\n", "registry")
        self.assert_fault("io/a.cpp", "std::mutex m;\n", "no locks here")
        self.assert_fault("rtp/a.cpp", "auto t = std::chrono::steady_clock::now();\n", "clocks")
        self.assert_fault("io/a.cpp", "std::shared_ptr<int> p;\n", "one owner")
        self.assert_fault("tests/unit/a_test.cpp", "std::this_thread::sleep_for(1s);\n", "no sleep")
        self.assert_fault("tests/unit/a_test.cpp", "usleep(5);\n", "no sleep")
        self.assertEqual(faults_of({"tests/a.cpp": 'auto t = "no sleep(1)";  // sleep(1)\n'}), [])

    def test_ttcn(self):
        good = "module A {\n\n/// Says what.\ntestcase b() runs on C {\n}\n\n"
        good += "private type D E;\n\n}\n"
        self.assertEqual(faults_of({"ttcn-compat/a.ttcn": good}), [])
        for kind in ("testcase", "function", "external function", "type record", "template A"):
            text = f"module A {{\n\n{kind} b() {{\n}}\n\n}}\n"
            self.assert_fault("ttcn-compat/a.ttcn", text, "has no /// comment")
        text = "/// Says what.\nfunction f() {\n" + "  g();\n" * 59 + "}\n"
        self.assert_fault("ttcn-compat/a.ttcn", text, "61 lines")
        self.assert_fault("ttcn-compat/a.ttcn", "x" * 101 + "\n", "101 columns")
        self.assert_fault("ttcn-compat/A.hh", "int a;\n", "#pragma once")

    def test_the_domain_does_not_know_io_uring(self):
        self.assert_fault("mgw/a.cpp", "UringBackend backend;\n", "does not know io_uring")
        self.assert_fault("mgcp/a.cpp", "int uring_depth;\n", "does not know io_uring")
        named = 'auto b = conf::BackendChoice::io_uring;  // io_uring\nauto t = "io_uring";\n'
        self.assertEqual(faults_of({"mgw/a.cpp": named}), [])
        self.assertEqual(faults_of({"io/a.cpp": "int uring_depth;\n"}), [])

    def test_public_declarations_have_comments(self):
        def header(text):
            return "#pragma once\nnamespace io {\n\n" + text + "\n}\n"

        for text, name in (
            ("struct A {};", "type A"),
            ("enum class B { a, b };", "type B"),
            ("int f(int a);", "function f"),
            ("template <typename T>\nT g(T a) {\n  return a;\n}", "function g"),
            ("using C = int;", "type C"),
            ("// only two\nint h();", "function h"),
            ("/// type\nclass D {\n public:\n  int x();\n};", "function x"),
            ("/// type\nstruct E {\n  int y(int a = 3);\n};", "function y"),
            ("/// type\nstruct E {\n  int z(int a) { return a; }\n};", "function z"),
            ("/// type\nstruct E {\n  int w() {\n    b = 1;\n    return a;\n  }\n};", "function w"),
        ):
            self.assert_fault("io/a.h", header(text), f"{name} has no /// comment")
        for text in (
            "class A;",
            "/// type\nclass D {\n  int x();\n protected:\n  int y();\n};",
            "/// type\nstruct E {\n  int count = compute();\n  int n{3};\n};",
            "/// type\nclass F : public G {\n public:\n  void run() noexcept override;\n};",
            "/// type\nstruct H {\n  int n;\n  bool (*accepts)(int) = nullptr;\n};",
            "/// type\nstruct E {\n  int count() const {\n    return int(a.size());\n  }\n};",
            "int f(int a);  ///< what f is",
            "static_assert(sizeof(int) == 4);",
        ):
            self.assertEqual(faults_of({"io/a.h": header(text)}), [], text)


if __name__ == "__main__":
    unittest.main()

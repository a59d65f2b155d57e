#!/usr/bin/env python3
"""The benchmark's own arithmetic, encodings and drawings. No load, no gateway."""

import dataclasses
import json
import pathlib
import random
import re
import sys
import unittest
import unittest.mock
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools" / "bench.d"))

import bencode
import capacity
import cores
import charts
import evaluation
import figures
import machine
import ng_adapter
import parts
import report
import runs
import sizing
import suites
import svg
import system_calls
import targets
import variants


class Figures(unittest.TestCase):
    def test_the_median_of_an_even_number_is_between_the_middle_ones(self):
        self.assertEqual(figures.median([3, 1, 2]), 2)
        self.assertEqual(figures.median([4, 1, 3, 2]), 2.5)
        self.assertIsNone(figures.median([]))

    def test_a_spread_ignores_what_was_not_measured(self):
        spread = figures.spread([3, None, 1, 2])
        self.assertEqual(spread, {"median": 2, "min": 1, "max": 3, "count": 3})
        self.assertIsNone(figures.spread([None]))

    def test_ratios_are_within_a_round(self):
        # The machine is twice as slow in the second round: the ratio does not see it.
        found = figures.ratios({0: 2.0, 1: 4.0, 2: 5.0, 3: None}, {0: 4.0, 1: 8.0, 3: 1.0, 4: 0})
        self.assertEqual(found, {0: 0.5, 1: 0.5})

    def test_rounds_begin_with_another_variant_each(self):
        self.assertEqual(figures.rotated("abc", 1), ["b", "c", "a"])
        self.assertEqual(figures.rotated("abc", 5), ["c", "a", "b"])
        self.assertEqual(figures.rotated([], 3), [])

    def test_a_value_is_found_by_its_path(self):
        self.assertEqual(figures.value_at({"a": {"b": 0}}, "a.b"), 0)
        self.assertIsNone(figures.value_at({"a": None}, "a.b"))


class Bencode(unittest.TestCase):
    def test_values_and_their_encodings(self):
        for value, octets in (
            (0, b"i0e"),
            (-7, b"i-7e"),
            ("", b"0:"),
            ("offer", b"5:offer"),
            ("ü", b"2:\xc3\xbc"),
            ([1, "a", []], b"li1e1:alee"),
            ({"b": 1, "a": ["x"]}, b"d1:al1:xe1:bi1ee"),
        ):
            self.assertEqual(bencode.encode(value), octets)
            self.assertEqual(bencode.decode(octets), value)

    def test_what_is_no_bencode_is_refused(self):
        for octets in (b"", b"i1", b"ixe", b"5:abc", b"-1:", b"l", b"d1:a", b"di1ei2ee", b"0:x"):
            with self.assertRaises(bencode.BencodeError, msg=octets):
                bencode.decode(octets)
        with self.assertRaises(TypeError):
            bencode.encode(1.5)

    def test_no_damage_is_anything_but_an_error(self):
        numbers = random.Random(1)
        whole = bencode.encode({"sdp": "v=0\r\n", "list": [1, {"x": "y"}], "n": -5})
        for _ in range(3000):
            octets = bytearray(whole)
            for _ in range(numbers.randint(1, 4)):
                octets[numbers.randrange(len(octets))] = numbers.randrange(256)
            try:
                bencode.decode(bytes(octets))
            except bencode.BencodeError:
                pass


class Adapter(unittest.TestCase):
    """The adapter before an rtpengine that keeps the ports of a call whatever is offered later."""

    def setUp(self):
        self.asked = []
        self.adapter = ng_adapter.Adapter(self.ask)

    def ask(self, **message):
        self.asked.append(message)
        port = {"first": 40000, "second": 40010}[message["from_tag"]]
        port += 10 if message["from_tag"] == "first" and message["command"] == "answer" else 0
        port -= 10 if message["from_tag"] == "second" and message["command"] == "answer" else 0
        return {"result": "ok", "sdp": f"v=0\r\nm=audio {port} RTP/AVP 8\r\n"}

    def crcx(self, transaction, endpoint, port):
        text = f"CRCX {transaction} {endpoint} MGCP 1.0\r\nC: 1\r\n\r\nv=0\r\nm=audio {port} X\r\n"
        return self.adapter.handle(text, ("127.0.0.1", 5000))

    def test_both_legs_get_the_ports_that_face_them(self):
        first = self.crcx(1, "rtpbridge/*@mgw", 5002)
        self.assertTrue(first.startswith("200 1 OK\r\nI: 1\r\nZ: rtpbridge/1@mgw\r\n\r\n"), first)
        self.assertIn("m=audio 40010 ", first)
        second = self.crcx(2, "rtpbridge/1@mgw", 6002)
        self.assertIn("m=audio 40000 ", second)
        commands = [(message["command"], message["from_tag"]) for message in self.asked]
        self.assertEqual(
            commands,
            [("offer", "first"), ("answer", "first"), ("offer", "second"), ("answer", "second")],
        )
        ports = [message["sdp"].split("m=audio ")[1].split()[0] for message in self.asked]
        self.assertEqual(ports, ["5002", "9", "6002", "5002"])

    def test_a_repeated_request_is_answered_and_not_carried_out_again(self):
        first = self.crcx(1, "rtpbridge/*@mgw", 5002)
        self.assertEqual(self.crcx(1, "rtpbridge/*@mgw", 5002), first)
        self.assertEqual(len(self.asked), 2)

    def test_the_first_deletion_ends_the_call(self):
        self.crcx(1, "rtpbridge/*@mgw", 5002)
        self.crcx(2, "rtpbridge/1@mgw", 6002)
        for transaction in (3, 4):
            text = f"DLCX {transaction} rtpbridge/1@mgw MGCP 1.0\r\n"
            self.assertTrue(self.adapter.handle(text, 0).startswith(f"250 {transaction} "))
        self.assertEqual([message["command"] for message in self.asked].count("delete"), 1)

    def test_errors_and_strangers(self):
        def refuse(**_):
            raise ng_adapter.NgError("no ports")

        self.adapter.ask = refuse
        self.assertEqual(self.crcx(9, "rtpbridge/*@mgw", 5002), "400 9 no ports\r\n")
        self.assertIsNone(self.adapter.handle("200 1 OK\r\n", 0))
        self.assertTrue(self.adapter.handle("RQNT 1 x@mgw MGCP 1.0\r\n", 0).startswith("504 "))


class Machine(unittest.TestCase):
    def test_idle_and_stolen_time_of_each_core(self):
        text = "cpu  1 1 1 1 1 1 1 1 0 0\ncpu0 9 0 9 100 50 1 1 30 0 0\nintr 5\n"
        tick = machine.TICKS_PER_SECOND
        self.assertEqual(machine.parse_stat(text), {0: (150 / tick, 30 / tick)})

    def test_a_process_is_read_behind_any_name(self):
        text = "7 (a) b) R 1 7 7 0 -1 0 0 0 0 0 30 20 10 5 20 0 1 0 5"
        tick = machine.TICKS_PER_SECOND
        self.assertEqual(machine.parse_process_stat(text), (50 / tick, 15 / tick))

    def test_foreign_is_what_all_but_the_own_processes_took(self):
        before = {1: (5.0, 7.0), 20: (1.0, 0.0), 30: (3.0, 0.0)}
        after = {1: (5.0, 10.5), 20: (9.0, 0.0), 40: (0.5, 0.0)}
        # 30 ended with 3.5 s, which its parent 1 got; 3 s of them are older. 40 is new.
        self.assertAlmostEqual(machine.foreign_time(before, after, {20}), 1.0)
        self.assertAlmostEqual(machine.foreign_time(before, after, {20, 40}), 0.5)

    def test_the_kernels_memory_is_found(self):
        self.assertEqual(machine.kernel_kib("MemTotal: 9 kB\nSlab:   123 kB\n"), 123)
        self.assertIsNone(machine.kernel_kib(""))

    def test_noise_above_the_limit_is_noticed(self):
        quiet = {"foreign_percent": 2.0, "stolen_percent": 1.0}
        self.assertFalse(machine.is_noisy(quiet, 5))
        self.assertTrue(machine.is_noisy(quiet, 2.5))
        self.assertTrue(machine.generator_was_held_up({"generator": {"missed": 1}}))
        self.assertFalse(machine.generator_was_held_up({"generator": None}))


class Noise(unittest.TestCase):
    """A runner whose runs are made up."""

    def runner(self, foreign, **options):
        noise = [{"foreign_percent": percent, "stolen_percent": 0} for percent in foreign]
        runner = runs.Runner(None, 5, 3, lambda _: None, **options)
        runner._once = lambda *_: {"report": {"lost": 0}, "noise": noise.pop(0)}
        return runner

    def run_once(self, runner, part="cpu"):
        with unittest.mock.patch("time.sleep"):
            return runner.run(part, variants.OSMO_MGW, runs.Load(200, 1))

    def test_a_disturbed_run_is_repeated(self):
        record = self.run_once(self.runner([50, 8, 1]))
        self.assertEqual((record["attempts"], record["noisy"]), (3, False))

    def test_one_that_stays_disturbed_ends_the_benchmark_and_is_kept(self):
        runner = self.runner([50, 50, 50])
        with self.assertRaises(runs.TooNoisy):
            self.run_once(runner)
        self.assertTrue(runner.records[0]["noisy"])
        record = self.run_once(self.runner([9, 9, 9], keep_going=True))
        self.assertTrue(record["noisy"])

    def test_memory_does_not_depend_on_others(self):
        record = self.run_once(self.runner([90]), "memory")
        self.assertFalse(record["noisy"])


def record(part, variant, number, cost, **more):
    """A record as a run leaves it."""
    gateway = {"cpu_us_per_packet": cost, "rss_kib": more.pop("rss_kib", 9000)}
    found = {
        "gateway": gateway,
        "calls": more.get("calls", 200),
        "lost": 0,
        "latency_us": {"p50": 50, "p99": 500, "p999": 900, "max": 1000},
        "machine": {"busy_us_per_packet": more.pop("machine", None)},
        "generator": {"cpu_us_per_packet": more.pop("generator", None)},
        **dict.fromkeys(evaluation.FAULTS, 0),
    }
    return {
        "part": part,
        "variant": variant,
        "round": number,
        "calls": 200,
        "phases": "even",
        "noisy": False,
        "report": found,
        **more,
    }


def some_records():
    records = []
    for number, pace in enumerate((1, 2, 1.5)):
        for variant, cost, busy in (
            ("osmo-mgw", 40, 50),
            ("rtpengine", 12, 24),
            ("mgw poll 0", 10, 22),
            ("mgw io_uring 0", 9, 20),
            ("mgw io_uring 1000", 5, 10),
            ("mgw kernel tc", 0, 6),
            ("direct", None, 5),
        ):
            cost = None if cost is None else cost * pace
            records.append(record("cpu", variant, number, cost, machine=busy * pace))
    records += [
        record("memory", "mgw poll 0", 0, 1, calls=calls, rss_kib=5000 + 6 * calls)
        for calls in (100, 4900)
    ]
    for number, pace in enumerate((1, 2)):
        for cores, cost in (("0", 8), ("1", 4), ("0,1", 6.6)):
            marks = {"cores": cores, "workers": len(cores.split(","))}
            records.append(record("cores", "mgw poll 1000", number, cost * pace, **marks))
    for variant, calls, verdict in (
        ("rtpengine", 1000, "passed"),
        ("rtpengine", 2000, "overloaded"),
        ("mgw io_uring 0", 2000, "passed"),
        ("mgw io_uring 0", 3000, "generator"),
    ):
        records.append(record("capacity", variant, 0, 1, calls=calls, verdict=verdict))
    return records


class Evaluation(unittest.TestCase):
    def setUp(self):
        self.rows = {row["what"]: row for row in targets.evaluate(some_records())}

    def row(self, *words):
        return next(row for what, row in self.rows.items() if all(word in what for word in words))

    def test_ratios_do_not_depend_on_the_pace_of_the_machine(self):
        row = self.row("mgw poll, no coalescing")
        self.assertEqual(row["value"], {"median": 0.25, "min": 0.25, "max": 0.25, "count": 3})
        self.assertTrue(row["met"])

    def test_what_a_gateway_adds_to_the_machine_is_beyond_direct_delivery(self):
        row = self.row("beyond direct delivery")
        self.assertAlmostEqual(row["value"]["median"], (6 - 5) / (20 - 5))

    def test_processes_alone_tell_nearly_the_same(self):
        records = [
            record("cpu", "direct", 0, None, generator=4.0),
            record("cpu", "mgw io_uring 0", 0, 9.0, generator=10.0),
            record("cpu", "mgw kernel tc", 0, 0.1, generator=4.2),
        ]
        added = evaluation.added_to_processes(records, part="cpu")
        self.assertAlmostEqual(added["mgw io_uring 0"][0], 15)
        self.assertAlmostEqual(added["mgw kernel tc"][0], 0.3)

    def test_memory_of_more_calls_than_were_possible_is_extrapolated_and_says_so(self):
        row = self.row("Memory")
        self.assertAlmostEqual(row["value"]["median"], (5000 + 60000) / 1024)
        self.assertEqual(row["value"]["note"], "extrapolated from 4,900 calls")

    def test_a_generator_that_gives_up_first_makes_a_lower_bound(self):
        row = self.row("Packets/s of a core")
        self.assertEqual(row["value"]["median"], 2)
        self.assertTrue(row["value"]["lower_bound"])

    def test_disturbed_runs_are_in_no_figure_and_count_for_nothing(self):
        records = [
            record("cpu", "mgw poll 0", 0, 5.0),
            {**record("cpu", "mgw poll 0", 1, 50.0), "noisy": True},
            record("cpu", "osmo-mgw", 0, 20.0),
            record("cpu", "osmo-mgw", 1, 20.0),
        ]
        self.assertEqual(
            evaluation.ratio(records, evaluation.CPU, "mgw poll 0", "osmo-mgw")["max"], 0.25
        )
        self.assertEqual(evaluation.undecided(records), [])
        records.append({**record("load", "mgw poll 0", 0, 9.0), "noisy": True})
        self.assertEqual(evaluation.undecided(records), ["load, mgw poll 0, 200, even"])

    def test_workers_are_compared_with_single_ones_on_the_same_cores(self):
        row = self.row("two workers or more")
        self.assertAlmostEqual(row["value"]["median"], 6.6 / 6)
        scaled = evaluation.scaling(some_records(), "mgw poll 1000")
        self.assertEqual([workers for workers, _ in scaled], [2])
        self.assertAlmostEqual(evaluation.contention(scaled), 0.1)
        self.assertIn("| 4 (model) | - | 1.30 | 3.08 |", report.cores_table(some_records()))

    def test_cheaper_workers_do_not_make_a_model_that_gains_from_company(self):
        self.assertEqual(evaluation.contention([(2, {"median": 0.9})]), 0)
        self.assertIsNone(evaluation.contention([]))

    def test_what_was_not_measured_is_not_met_and_not_missed(self):
        row = self.row("set-ups")
        self.assertIsNone(row["value"])
        self.assertIsNone(row["met"])

    def test_faults_of_any_run_count(self):
        records = some_records()
        records[-1]["report"]["reordered"] = 3
        rows = targets.evaluate(records)
        found = next(row for row in rows if row["what"].startswith("Reordered, duplicated"))
        self.assertEqual(found["value"]["median"], 3)
        self.assertFalse(found["met"])

    def test_over_bad_networks_only_what_the_gateway_did_counts(self):
        path = {"lost": 0, "reordered": 0, "invented": 0, "entered": 9, "left": 9}
        bad = record("netem", "mgw poll 0", 0, 1, path=path, profile="loss 1 %")
        bad["report"]["reordered"] = 7  # by the network
        self.assertEqual(evaluation.fault_counts([bad])["mgw"]["reordered"], 0)
        self.assertEqual(evaluation.path_faults([bad]), 0)
        path["lost"] = 2
        self.assertEqual(evaluation.path_faults([bad]), 2)
        self.assertIsNone(evaluation.path_faults([]))

    def test_verdicts_of_a_step(self):
        good = {"sent": 1000, "lost": 0, "latency_us": {"p99": 4999}, "failed_calls": 0}
        self.assertEqual(capacity.verdict_of(good), "passed")
        self.assertEqual(capacity.verdict_of({**good, "lost": 1}), "overloaded")
        self.assertEqual(capacity.verdict_of({**good, "latency_us": {"p99": 5000}}), "overloaded")
        self.assertEqual(capacity.verdict_of({**good, "generator": {"missed": 2}}), "generator")

    def test_the_ladder_ends_between_what_was_carried_and_what_was_not(self):
        limits = {"osmo-mgw": 900, "rtpengine": 5000}
        tried = []

        class Bench:
            def attempt(self, part, variant, load, number):
                tried.append((variant.name, load.calls))
                lost = int(load.calls > limits[variant.name])
                made = record(part, variant.name, number, 1, calls=load.calls)
                made["report"].update(lost=lost, sent=1000)
                return made

        suite = dataclasses.replace(suites.FULL, ladder=(500, 1000, 1500), refinements=2)
        capacity.climb(Bench(), variants.named(["osmo-mgw", "rtpengine"]), suite)
        ours = [calls for name, calls in tried if name == "osmo-mgw"]
        # Each failure is tried twice; after 1000 it goes between what is known.
        self.assertEqual(ours, [500, 1000, 1000, 750, 875])
        self.assertEqual([c for n, c in tried if n == "rtpengine"], [500, 1000, 1500])
        self.assertEqual(tried[:2], [("osmo-mgw", 500), ("rtpengine", 500)])

    def test_descriptors_bound_the_number_of_calls(self):
        self.assertEqual(parts.affordable((100, 4000, 10_000), 20_000), [100, 4000, 4900])
        self.assertEqual(parts.affordable((100, 10_000), 65_536), [100, 10_000])

    def test_the_count_of_system_calls_is_found(self):
        text = "1234,,raw_syscalls:sys_enter,1500,100.00,,\n"
        self.assertEqual(system_calls.parse_count(text), 1234)
        self.assertIsNone(system_calls.parse_count("<not supported>,,raw_syscalls:sys_enter"))

    def test_every_suite_names_variants_that_exist_for_every_part(self):
        for suite in suites.SUITES.values():
            self.assertEqual(set(suite.names), set(parts.PARTS))
            for names in suite.names.values():
                self.assertEqual(len(variants.named(names)), len(names))
        ratios = {
            "osmo-mgw",
            "rtpengine",
            "mgw poll 0",
            "mgw io_uring 0",
            "mgw kernel tc",
            "direct",
        }
        self.assertLessEqual(ratios, set(suites.QUICK.names["cpu"]))

    def test_variants_are_found_by_name(self):
        self.assertEqual([v.name for v in variants.named(["rtpengine", "osmo-mgw"])][0], "osmo-mgw")
        with self.assertRaises(KeyError):
            variants.named(["osmo"])
        self.assertEqual(len({v.name for v in variants.ALL}), len(variants.ALL))


class Svg(unittest.TestCase):
    def test_charts_are_well_formed_and_show_every_series(self):
        series = {"a & b": [(10, 5.0), (400, 1.5)], "<c>": [(10, 9)], "none": []}
        for log in (False, True):
            text = svg.line_chart("A <title>", "calls", "µs", series, log_x=log, log_y=log)
            root = xml.etree.ElementTree.fromstring(text)
            texts = [element.text for element in root.iter() if element.tag.endswith("text")]
            for wanted in ("A <title>", "calls", "µs", "a & b", "<c>"):
                self.assertIn(wanted, texts)
            self.assertNotIn("none", texts)
            lines = [element for element in root.iter() if element.tag.endswith("polyline")]
            self.assertEqual(len(lines), 2)

    def test_points_stay_inside(self):
        numbers = random.Random(2)
        for log in (False, True):
            line = [(numbers.uniform(0.1, 1e6), numbers.uniform(0.1, 1e4)) for _ in range(200)]
            text = svg.line_chart("t", "x", "y", {"s": line}, log_x=log, log_y=log)
            for circle in xml.etree.ElementTree.fromstring(text).iter():
                if circle.tag.endswith("circle"):
                    x, y = float(circle.get("cx")), float(circle.get("cy"))
                    self.assertTrue(svg.LEFT <= x <= svg.WIDTH - svg.RIGHT + 0.1, (x, log))
                    self.assertTrue(svg.TOP - 0.1 <= y <= svg.HEIGHT - svg.BOTTOM + 0.1, (y, log))

    def test_bars_are_as_long_as_their_values(self):
        text = svg.bar_chart("t", "µs", [("mgw", 10, "10"), ("other", 5, "5"), ("x", None, "")])
        root = xml.etree.ElementTree.fromstring(text)
        widths = [float(e.get("width")) for e in root.iter() if e.tag.endswith("rect")][1:]
        self.assertEqual(len(widths), 2)
        self.assertAlmostEqual(widths[0], 2 * widths[1], delta=0.2)
        self.assertIn("nothing was measured", svg.bar_chart("t", "µs", []))

    def test_ticks_enclose_the_range(self):
        numbers = random.Random(3)
        for _ in range(500):
            low = 10 ** numbers.uniform(-3, 5)
            high = low * 10 ** numbers.uniform(0, 3)
            for ticks in (svg.linear_ticks(low, high), svg.log_ticks(low, high)):
                self.assertLessEqual(ticks[0], low * 1.001)
                self.assertGreaterEqual(ticks[-1], high * 0.999)
                self.assertEqual(ticks, sorted(ticks))
                self.assertLess(len(ticks), 16)


class Cores(unittest.TestCase):
    def test_steps_double_and_the_generators_core_comes_last_with_a_single_worker_on_it(self):
        self.assertEqual(cores.steps((0,), 0), [])
        self.assertEqual(cores.steps((0, 1), 1), [([0, 1], [0, 1])])
        self.assertEqual(cores.steps((0, 1, 2, 3, 4), 1), [([0, 2], [0]), ([0, 2, 3, 4], [0])])


class Report(unittest.TestCase):
    def result(self, **changes):
        facts = {
            "cpu": "a CPU",
            "cores": 2,
            "memory_mib": 1000,
            "hypervisor": True,
            "kernel": "6.1",
            "clock_source": "tsc",
            "revision": "abc",
            "compiler": "c++ 12",
        }
        return {
            "name": "x",
            "begun": "2026-01-01",
            "suite": "quick",
            "command": "tools/bench",
            "machine": facts,
            "versions": {"mgw": "1"},
            "scheduling": "fifo",
            "network": "loopback",
            "cores": {"gateway": 0, "generator": 1},
            "noise_limit_percent": 5,
            "noisy_runs": 0,
            "refused": False,
            "skipped": [],
            "problems": [],
            "records": some_records(),
            **changes,
        }

    def test_a_noisy_result_is_marked_as_refused(self):
        self.assertNotIn("Refused", report.markdown(self.result()))
        self.assertIn("**Refused", report.markdown(self.result(refused=True, noisy_runs=2)))

    def test_the_json_file_holds_everything(self):
        read = json.loads(report.to_json(self.result()))
        self.assertEqual(len(read["records"]), len(some_records()))
        self.assertEqual(len(read["figures"]), len(targets.TARGETS))

    def test_every_chart_that_is_mentioned_is_drawn(self):
        text = report.markdown(self.result(), with_charts=True)
        mentioned = set(re.findall(r"\((\S+)\.svg\)", text))
        self.assertTrue(mentioned)
        self.assertLessEqual(mentioned, set(charts.all_charts(some_records())))


class Sizing(unittest.TestCase):
    def test_tables_between_marks_are_made_again_and_the_rest_stays(self):
        result = Report().result()
        leg = record("legs", "mgw poll 0", 0, 7.0, form="plain")
        leg["descriptors"] = {"without": 10, "with": 810}
        result["records"].append(leg)
        page = "# Sizing\n<!-- bench:memory -->\nold\n<!-- bench:end -->\nmiddle\n"
        page += "<!-- bench:legs --><!-- bench:end -->\n<!-- bench:descriptors -->\n"
        page += "<!-- bench:end -->\nlast\n"
        page = page.replace("legs -->", "legs -->\n")
        filled = sizing.fill(page, result)
        self.assertNotIn("old", filled)
        for wanted in ("# Sizing", "middle", "last", "| mgw poll 0 |", "6.0", "from 4,900"):
            self.assertIn(wanted, filled)
        # 7 µs for each of 100 packets/s are 0.07 % of a core: 1,000 calls in 70 % of it.
        self.assertIn("| plain | mgw poll 0 | 7.00 | 0.070 % | 1,000 |", filled)
        self.assertIn("| plain | 4.0 |", filled)
        self.assertEqual(sizing.fill(filled, result), filled)

    def test_an_unknown_mark_is_an_error(self):
        with self.assertRaises(KeyError):
            sizing.fill("<!-- bench:weather -->\n<!-- bench:end -->", Report().result())


if __name__ == "__main__":
    unittest.main()

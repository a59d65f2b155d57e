"""What the metrics port shows of calls: JSON, the status page in a browser, mgwctl top, records of
calls that have ended, and the alert rules and dashboard that go by its metrics.

MGW_PROGRAM is the gateway, MGWCTL_PROGRAM mgwctl. MGW_SCREENSHOTS names a folder for pictures of
the status page.
"""

import fcntl
import json
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from support import mgcp, runner
from support.call import Call
from support.gateway import Gateway
from support.rtp import stream
from support.waiting import PATIENCE, wait_for

ROOT = Path(__file__).resolve().parents[2]
MONITORING = ROOT / "tools" / "monitoring"
MGWCTL = os.environ.get("MGWCTL_PROGRAM", "")
CHROMIUM = shutil.which("chromium")
SCREENSHOTS = os.environ.get("MGW_SCREENSHOTS")
PCMA = ((8, "PCMA/8000"),)
# A codec's name is what a stranger wrote into an SDP.
HOSTILE = ((97, "<img>/8000"),)
PACKETS = 60
FRAME = re.compile("\x1b\\[\\?2026h\x1b\\[H(.*?)\x1b\\[J\x1b\\[\\?2026l", re.DOTALL)


class Views(unittest.TestCase):
    """One gateway with a call of two legs, of whose packets every tenth is lost on one side."""

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory(prefix="mgw-status-")
        cls.records = os.path.join(cls.directory.name, "records")
        cls.gateway = Gateway({"records.file": cls.records})
        cls.agent = mgcp.Agent(cls.gateway.address, cls.gateway.port)
        cls.base = f"http://127.0.0.1:{cls.gateway.settings['metrics.port']}"

    @classmethod
    def tearDownClass(cls):
        cls.agent.close()
        cls.gateway.stop()
        cls.directory.cleanup()

    def get(self, path):
        with urllib.request.urlopen(self.base + path, timeout=10 * PATIENCE) as answer:
            return json.load(answer)

    def make_call(self, endpoint="rtpbridge/1@mgw", codecs=PCMA):
        """A call that has had media both ways."""
        call = Call(self.agent, endpoint)
        self.addCleanup(call.close)
        legs = [call.leg(given, sends=((8, b"x" * 160),)) for given in (PCMA, codecs)]
        stream([leg.peer for leg in legs], PACKETS, call.peers)
        self.gateway.settled()
        name = urllib.parse.quote(endpoint, safe="")

        def is_seen():
            try:
                self.seen = self.get(f"/api/call/{name}")
            except urllib.error.HTTPError as not_yet:
                not_yet.close()
                return False
            shown = [(leg["connection"], leg["packets_in"]) for leg in self.seen["legs"]]
            return shown == [(leg.connection, PACKETS) for leg in legs]
        wait_for(is_seen, "the packets are in the view")
        return call

    def test_calls(self):
        """A call is shown with its legs, their addresses and their quality."""
        self.make_call()
        overview = self.get("/api/overview")
        self.assertEqual(overview["now"]["calls"], 1)
        self.assertEqual(overview["endpoints"], {"used": 1, "total": 300})
        self.assertEqual(overview["legs_by_quality"]["good"], 2)
        self.assertFalse(overview["draining"])
        self.assertIn(overview["backend"], ("poll", "io_uring"))
        self.assertGreater(len(overview["history"]), 0)
        legs = self.seen["legs"]
        self.assertEqual([leg["codec"] for leg in legs], ["PCMA/8000"] * 2)
        for leg in legs:
            self.assertEqual((leg["lost"], leg["loss"], leg["mode"]), (0, 0, "sendrecv"))
            self.assertEqual((leg["packets_in"], leg["packets_out"]), (PACKETS, PACKETS))
            self.assertTrue(4.0 < leg["mos"] <= 4.41, leg["mos"])
            self.assertRegex(leg["remote"], r"^127\.0\.0\.1:\d+$")
            self.assertRegex(leg["connection"], r"^[0-9A-F]{8}$")
        self.assertTrue(0 <= self.seen["age_s"] < 60 * PATIENCE)

    def test_sort_filter_and_pages(self):
        """The list is sorted, filtered and cut as asked for."""
        self.make_call("rtpbridge/1@mgw")
        self.make_call("rtpbridge/2@mgw", ((98, "AMR/8000"),))
        self.make_call("rtpbridge/a@mgw")

        def names(query):
            answer = self.get(f"/api/calls?{query}")
            return answer["matching"], [c["endpoint"].split("/")[1] for c in answer["calls"]]
        self.assertEqual(names(""), (3, ["1@mgw", "2@mgw", "a@mgw"]))
        self.assertEqual(names("order=desc"), (3, ["a@mgw", "2@mgw", "1@mgw"]))
        self.assertEqual(names("filter=amr"), (1, ["2@mgw"]))
        self.assertEqual(names("filter=Bridge%2FA"), (1, ["a@mgw"]))
        self.assertEqual(names("limit=1&offset=1"), (3, ["2@mgw"]))
        self.assertEqual(names("sort=age&order=desc")[1][0], "1@mgw")
        for wrong in ("sort=x", "limit=501", "limit=-1", "offset=a", "order=up",
                      "filter=" + "x" * 300):
            with self.subTest(wrong), self.assertRaises(urllib.error.HTTPError) as refused:
                self.get(f"/api/calls?{wrong}")
            self.assertEqual(refused.exception.code, 400)
            refused.exception.close()
        for missing in ("/api/call/rtpbridge%2F7@mgw", "/api/nothing", "/nothing"):
            with self.subTest(missing), self.assertRaises(urllib.error.HTTPError) as refused:
                self.get(missing)
            self.assertEqual(refused.exception.code, 404)
            refused.exception.close()

    def test_page_needs_nothing_from_elsewhere(self):
        """The page's files come with a policy that lets nothing else in, and name no other host."""
        for path in ("/", "/status.css", "/status.js"):
            with urllib.request.urlopen(self.base + path) as answer:
                policy = answer.headers["Content-Security-Policy"]
                text = answer.read().decode()
            self.assertIn("default-src 'none'; script-src 'self'; style-src 'self'", policy)
            self.assertNotIn("unsafe", policy)
            self.assertEqual(answer.headers["X-Content-Type-Options"], "nosniff")
            hosts = set(re.findall(r"https?://[^\s\"']+", text)) - {"http://www.w3.org/2000/svg"}
            self.assertEqual(hosts, set())
            self.assertNotRegex(text, r"innerHTML|outerHTML|document\.write|\beval\(|<script>")
            self.assertNotRegex(text, r"\son\w+=")

    def test_records(self):
        """Each call that ended is a line: by DLCX, in a new file after SIGHUP, at the end."""
        with Gateway({"records.file": self.records + "-2"}) as gateway:
            agent = mgcp.Agent(gateway.address, gateway.port)
            path = Path(gateway.settings["records.file"])

            def lines():
                return [json.loads(line) for line in path.read_text().splitlines()] \
                    if path.exists() else []
            with Call(agent, "rtpbridge/1@mgw") as call:
                legs = [call.leg(PCMA), call.leg(PCMA)]
                stream([leg.peer for leg in legs], PACKETS, call.peers)
                gateway.settled()
            wait_for(lines, "the record is written")
            record = lines()[0]
            self.assertEqual(record["endpoint"], "rtpbridge/1@mgw")
            self.assertEqual(record["ended_by"], "deleted")
            self.assertRegex(record["time"], r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
            self.assertGreater(record["duration_s"], 0)
            self.assertEqual([leg["packets_in"] for leg in record["legs"]], [PACKETS] * 2)
            self.assertEqual(record["legs"][0]["codec"], "PCMA/8000")
            self.assertTrue(all(4 < leg["mos"] < 4.42 for leg in record["legs"]))
            path.rename(f"{path}.1")
            gateway.signal(signal.SIGHUP)
            left = Call(agent, "rtpbridge/2@mgw")
            left.leg(PCMA)
            with Call(agent, "rtpbridge/3@mgw") as call:
                call.leg(PCMA)
            wait_for(lines, "the file is made anew")
            self.assertEqual([record["endpoint"] for record in lines()], ["rtpbridge/3@mgw"])
            for peer in left.peers:
                peer.close()
            agent.close()
            wait_for(lambda: gateway.metrics().total("mgw_call_records_total") == 2,
                     "both records are counted")
        self.assertEqual([(r["endpoint"], r["ended_by"]) for r in lines()],
                         [("rtpbridge/3@mgw", "deleted"), ("rtpbridge/2@mgw", "shutdown")])

    def test_losses_of_short_calls(self):
        """What a leg lost is counted when it ends, also if no sample has seen it."""
        with Call(self.agent, "rtpbridge/1@mgw") as call:
            legs = [call.leg(PCMA), call.leg(PCMA)]
            before = self.gateway.metrics()
            stream([legs[0].peer], 5, call.peers)
            legs[0].peer.sequence += 7
            stream([legs[0].peer], 5, call.peers)
            self.gateway.settled()

        def grown(name):
            name = f"mgw_rtp_packets_{name}_total"
            return self.gateway.metrics().total(name) - before.total(name)

        self.assertEqual((grown("expected"), grown("lost")), (17, 7))

    # --- mgwctl top

    def test_top_once(self):
        """--once prints what top shows, --json what it is made of."""
        self.make_call()
        command = [MGWCTL, "top", "--metrics", self.base]
        text = subprocess.run([*command, "--once"], capture_output=True, text=True, check=True,
                              env={**os.environ, "COLUMNS": "100"}).stdout
        self.assertIn("rtpbridge/1", text)
        self.assertIn("PCMA PCMA", text)
        self.assertNotIn("\x1b", text)
        self.assertLessEqual(max(map(len, text.splitlines())), 100)
        both = json.loads(subprocess.run([*command, "--json"], capture_output=True, text=True,
                                         check=True).stdout)
        self.assertEqual(both["calls"]["matching"], 1)

    def run_top(self, columns, rows, keys, end):
        """The frames of top on a terminal of that size; end: what ends it."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        before = termios.tcgetattr(slave)
        process = subprocess.Popen(
            [MGWCTL, "top", "--metrics", self.base], stdin=slave, stdout=slave,
            stderr=subprocess.STDOUT, env={**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8"})
        output = bytearray()

        def read_until(condition):
            deadline = time.monotonic() + 20 * PATIENCE
            os.set_blocking(master, False)
            while not (found := condition(output.decode(errors="replace"))):
                self.assertLess(time.monotonic(), deadline, output.decode(errors="replace"))
                try:
                    output.extend(os.read(master, 65536))
                except BlockingIOError:
                    time.sleep(0.01)
            return found

        def frame_with(text):
            """A whole screen in which that stands."""
            return read_until(lambda given: [frame for frame in FRAME.findall(given)
                                             if text in frame])[-1]
        frame_with("Enter open")
        for key, expected in keys:
            output.clear()
            os.write(master, key)
            frame = frame_with(expected)
        end(process, master)
        read_until(lambda given: "\x1b[?1049l" in given)
        self.assertEqual(process.wait(10 * PATIENCE), 0)
        self.assertEqual(termios.tcgetattr(slave), before)
        os.close(master)
        os.close(slave)
        return [re.sub("\x1b\\[[0-9;?]*[a-zA-Z]", "", line) for line in frame.split("\r\n")]

    def test_top_on_terminals(self):
        """top fits 80x24 and 200x50, opens a call, and leaves the terminal as it was."""
        self.make_call()
        small = self.run_top(80, 24, [(b"s", "CALL\u2191"), (b"\r", "call 1226  up")],
                             lambda process, master: os.write(master, b"q"))
        self.assertLessEqual(len(small), 24)
        self.assertLessEqual(max(map(len, small)), 80)
        self.assertTrue(any("PCMA/8000" in line for line in small))
        large = self.run_top(200, 50, [(b"r", "ENDPOINT\u2193")],
                             lambda process, master: process.send_signal(signal.SIGTERM))
        self.assertEqual(len(large), 50)
        self.assertLessEqual(max(map(len, large)), 200)
        if SCREENSHOTS:
            for name, lines in (("top-80x24", small), ("top-200x50", large)):
                Path(SCREENSHOTS, f"{name}.txt").write_text(
                    "\n".join(line.rstrip() for line in lines) + "\n", encoding="utf-8")

    # --- the page in a browser

    def browse(self, fragment, *options):
        with tempfile.TemporaryDirectory() as profile:
            return subprocess.run(
                [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                 "--disable-dev-shm-usage", f"--user-data-dir={profile}", *options,
                 "--virtual-time-budget=4000", f"{self.base}/{fragment}"],
                capture_output=True, text=True, check=True, timeout=100).stdout

    @unittest.skipUnless(CHROMIUM, "chromium is not installed")
    @unittest.skipIf(os.environ.get("MGW_INTEROP_SANITIZED"), "the page is the same in all builds")
    def test_page_in_a_browser(self):
        """The page shows the calls and an opened one; what strangers wrote stays text."""
        self.make_call(codecs=HOSTILE)
        page = self.browse("#/call/rtpbridge%2F1%40mgw", "--window-size=1280,1000", "--dump-dom")
        self.assertIn('data-ready="yes"', page)
        self.assertIn("rtpbridge/1", page)
        self.assertIn("<title>1 calls · mgw</title>", page)
        self.assertIn("&lt;img&gt;/8000", page)
        self.assertNotIn("<img", page)
        self.assertIn("The way of the packets through rtpbridge/1@mgw", page)
        self.assertEqual(page.count("<figure>"), 4)

    # --- rules and dashboard

    @unittest.skipUnless(shutil.which("promtool"), "promtool is not installed")
    def test_alert_rules(self):
        """The rules fire when they should and keep quiet else."""
        for command in (["check", "rules", "mgw-alerts.yml"],
                        ["test", "rules", "mgw-alerts-test.yml"]):
            result = subprocess.run(["promtool", *command], cwd=MONITORING, capture_output=True,
                                    text=True, check=False)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_metrics_of_rules_and_dashboard_exist(self):
        """Each metric that rules and dashboard name is one that a gateway has."""
        settings = {"e1.virtual": "true", "journal.directory": runner.temporary_directory(self)}
        with Gateway(settings) as gateway:
            has = set(re.findall(r"^# TYPE (\S+)", gateway.metrics().text, re.MULTILINE))
        # Of a gateway with the kernel fast path, which not everybody may have.
        exporter = (ROOT / "mgw" / "metrics_exporter.cpp").read_text(encoding="utf-8")
        has |= set(re.findall(r'"(mgw_kernel_path_\w+)"', exporter))
        for name in ("mgw-alerts.yml", "mgw-alerts-test.yml", "mgw-dashboard.json"):
            text = (MONITORING / name).read_text(encoding="utf-8")
            named = {re.sub("_bucket$", "", metric) for metric in re.findall(r"\bmgw_\w+", text)}
            self.assertGreater(len(named), 5)
            self.assertEqual(named - has, set(), name)
        json.loads((MONITORING / "mgw-dashboard.json").read_text(encoding="utf-8"))


if __name__ == "__main__":
    runner.main()

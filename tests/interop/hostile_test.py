"""Text that strangers chose, in call ids and codec names: wherever it is shown it is text.

No view, record, log line or terminal gets control characters or markup from it. MGW_PROGRAM is the
gateway, MGWCTL_PROGRAM mgwctl.
"""

import json
import os
import re
import subprocess
import unittest
import urllib.request
from pathlib import Path

from support import mgcp, runner
from support.gateway import Gateway
from support.metrics import SAMPLE
from support.operators import Ctrl, Vty
from support.ports import free_tcp_port
from support.waiting import PATIENCE, wait_for

MGWCTL = os.environ.get("MGWCTL_PROGRAM", "")
HOSTILE = (
    b"<script>alert(1)</script>",
    b"<img src=x onerror=x>",
    b"\"quoted'",
    b'","mos":5,"x":"',
    b"back\\slash\\",
    b"\x1b[2J\x1b[31m",
    b"\x1b]0;title\x07",
    b"\x1bP+q\x1b\\",
    b"\xc2\x9b31m",  # CSI as one character of UTF-8
    b"\x9b31m",  # and as one octet
    b"nul\x00nul",
    b"tab\tbell\x07\x08\x7f",
    b"\xff\xfe\xc3",
    b"\xe2\x80\xaeright-to-left",
    b"%s%n{0}$(x)`x`",
    b"} 1 # HELP x",
    b"f" * 32,
)
CODECS = (b"<b>", b"\x1b[31mA", b'"A\\', b"A\x9b\xff", b"A" * 60)
CALLS = len(HOSTILE) + len(CODECS)
LOG = {"log.level": "debug"}
# What no line of text may have: C0 without what ends lines, DEL, C1.
CONTROL = re.compile(r"[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def make_calls(agent):
    """A call of one leg for each of the texts; as octets, for what is no text."""
    for call, codec in [(text, b"PCMA") for text in HOSTILE] + [(b"1", text) for text in CODECS]:
        agent.send(
            b"CRCX %d rtpbridge/*@mgw MGCP 1.0\r\nC: %s\r\nM: sendrecv\r\n\r\nv=0\r\n"
            b"c=IN IP4 127.0.0.1\r\nm=audio 4000 RTP/AVP 98\r\na=rtpmap:98 %s/8000\r\n"
            b"a=fmtp:98 \x1b[31m<b>\r\n" % (mgcp.Agent.next_transaction(), call, codec)
        )
        answer = agent.socket.recv(65536)
        if not answer.startswith(b"200 "):
            raise AssertionError((call, codec, answer))


class HostileTextTest(unittest.TestCase):
    """One gateway with a call for each of the texts."""

    @classmethod
    def setUpClass(cls):
        cls.vty = ("127.0.0.1", free_tcp_port())
        cls.ctrl = ("127.0.0.1", free_tcp_port())
        cls.gateway = Gateway(
            {
                **LOG,
                "vty.enabled": "true",
                "vty.port": cls.vty[1],
                "ctrl.enabled": "true",
                "ctrl.port": cls.ctrl[1],
            }
        )
        cls.addClassCleanup(cls.gateway.kill)
        cls.base = f"http://127.0.0.1:{cls.gateway.settings['metrics.port']}"
        agent = mgcp.Agent(cls.gateway.address, cls.gateway.port)
        cls.addClassCleanup(agent.close)
        make_calls(agent)

    def assert_clean(self, text, where):
        found = CONTROL.search(text)
        if found:
            self.fail(f"{where}: {found[0]!r} in {text[max(found.start() - 80, 0):][:160]!r}")

    def get(self, path):
        with urllib.request.urlopen(self.base + path, timeout=10 * PATIENCE) as answer:
            return answer.headers, answer.read().decode()

    def test_status_page(self):
        """JSON that stays JSON, of a type that no browser takes for a page."""
        headers, text = self.get("/api/calls?limit=100")
        self.assertTrue(headers["Content-Type"].startswith("application/json"))
        self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
        self.assert_clean(text, "calls")
        calls = json.loads(text)["calls"]
        self.assertEqual(len(calls), CALLS)
        ids = {call["call_id"] for call in calls}
        self.assertIn("<script>alert(1)</script>", ids)
        self.assertIn("\x1b[2J\x1b[31m", ids)
        self.assertTrue({'","mos":5,"x":"', "back\\slash\\"} <= ids)
        for call in calls:
            name = call["endpoint"].replace("/", "%2F")
            text = self.get(f"/api/call/{name}")[1]
            self.assert_clean(text, name)
            self.assertEqual(json.loads(text)["call_id"], call["call_id"])
            self.assertIsNone(call["mos"])

    def test_metrics(self):
        """Each line is a sample or a comment; none of the agents' words is in it."""
        text = self.get("/metrics")[1]
        self.assert_clean(text, "metrics")
        for line in text.splitlines():
            self.assertTrue(line.startswith("# ") or SAMPLE.match(line), line)
        self.assertNotRegex(text, r"<script|right-to-left|f{32}")

    def test_top(self):
        """mgwctl top gives a terminal nothing but its own sequences."""
        environment = {**os.environ, "COLUMNS": "200"}
        command = [MGWCTL, "top", "--metrics", self.base]
        for arguments in (["--once"], ["--json"]):
            done = subprocess.run(
                [*command, *arguments], capture_output=True, check=True, env=environment
            )
            self.assert_clean(done.stdout.decode(), f"top {arguments}")

    def test_vty_and_ctrl(self):
        """Sessions print it as text too."""
        with Vty(self.vty) as session:
            session.prompt_after("enable")
            for command in ("show mgcp", "show mgcp active", "show mgcp endpoint rtpbridge/6@mgw"):
                output, prompt = session.command(command)
                self.assertTrue(output and prompt, command)
                self.assert_clean(output, command)
        with Ctrl(self.ctrl) as ctrl:
            self.assert_clean(ctrl.ask("GET 1 rate_ctr.*"), "CTRL")

    def test_records_and_log(self):
        """A call's record is one line of JSON; a log line is one line of text."""
        path = Path(runner.temporary_directory(self), "records")
        with Gateway({**LOG, "records.file": path, "records.log": "true"}) as gateway:
            agent = mgcp.Agent(gateway.address, gateway.port)
            make_calls(agent)
            self.assertEqual(agent.dlcx("rtpbridge/*@mgw").code, 200)
            agent.close()
            wait_for(
                lambda: path.exists() and path.read_bytes().count(b"\n") == CALLS,
                "the records are written",
            )
        text = path.read_bytes().decode()
        self.assert_clean(text, "records")
        ids = {json.loads(line)["call_id"] for line in text.splitlines()}
        self.assertEqual(len(ids), len(HOSTILE) + 1)
        self.assertTrue({"<script>alert(1)</script>", "\x1b]0;title\x07", "f" * 32} <= ids)
        for log in (gateway.log_text, self.gateway.log()):
            self.assert_clean(log, "log")


if __name__ == "__main__":
    runner.main()

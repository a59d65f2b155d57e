"""A GStreamer peer: rtpbin with jitter buffer and RTCP, as a process of its own.

It runs under the system's Python, which has GStreamer's bindings, and uses nothing of these
tests. Usage:

gst_peer.py encode WAV AMR      makes an AMR file
gst_peer.py call PORT TARGET_PORT VOICE_TYPE EVENT_TYPE AMR HEARD DIGITS

A call sends the AMR file as octet-aligned AMR, then each of DIGITS as a telephone event, and
writes the frames that it receives to HEARD. "ready" on standard output tells that it listens; a
line on standard input starts the speech, the end of that ends the call with an RTCP BYE.
"event N" tells each digit that was received; what RTCP told comes as JSON once there are a
sender report, a report block that refers to ours, and half a second of RTP.
"""

import json
import socket
import sys
import threading

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gio, GLib, Gst  # noqa: E402  (the version has to come first)

# Longer than a busy machine lets a thread wait: a late packet would be dropped as lost.
LATENCY_MS = 1000
# Sources that say nothing for five intervals are forgotten.
RTCP_INTERVAL_NS = 500_000_000
REPORTED_PACKETS = 25
POLL_MS = 50
DIGIT_MS, DIGIT_PAUSE_MS = 80, 120
END_SECONDS = 1

SENDER = """
rtpbin name=rtp latency={latency}
filesrc location={speech} ! amrparse ! identity name=pace sync=true
  ! rtpamrpay pt={voice} ! mux.sink_0
rtpdtmfsrc name=digits pt={event} packet-redundancy=3 ! mux.priority_sink_0
rtpdtmfmux name=mux ! rtp.send_rtp_sink_0
rtp.send_rtp_src_0 ! udpsink name=rtp_out host=127.0.0.1 port={target} sync=false async=false
rtp.send_rtcp_src_0 ! udpsink name=rtcp_out host=127.0.0.1 port={target_rtcp} sync=false async=false
udpsrc name=rtp_in caps=application/x-rtp ! rtp.recv_rtp_sink_0
udpsrc name=rtcp_in caps=application/x-rtcp ! rtp.recv_rtcp_sink_0
"""


def say(text):
    print(text, flush=True)


def encode(wav, amr):
    """AMR 12.2 in the file format of RFC 4867, section 5."""
    with open(amr, "wb") as file:
        file.write(b"#!AMR\n")
    pipeline = Gst.parse_launch(
        f"filesrc location={wav} ! wavparse ! audioconvert ! audioresample"
        f" ! audio/x-raw,rate=8000,channels=1 ! amrnbenc ! filesink append=true location={amr}"
    )
    pipeline.set_state(Gst.State.PLAYING)
    ends = Gst.MessageType.EOS | Gst.MessageType.ERROR
    message = pipeline.get_bus().timed_pop_filtered(30 * Gst.SECOND, ends)
    pipeline.set_state(Gst.State.NULL)
    if message is None or message.type != Gst.MessageType.EOS:
        sys.exit(f"encoding failed: {message and message.parse_error()}")


def shared_socket(port):
    """One socket to receive at and to send from, as rtpbin's peers expect it."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("127.0.0.1", port))
    return Gio.Socket.new_from_fd(sock.detach())


class Peer:
    """The call; its methods run in GLib's main loop."""

    def __init__(self, port, target, voice, event, speech, heard, digits):
        self.voice, self.event, self.heard = int(voice), int(event), heard
        self.left = [int(digit) for digit in digits]
        self.remote = None
        self.loop = GLib.MainLoop()
        self.pipeline = Gst.parse_launch(
            SENDER.format(
                latency=LATENCY_MS,
                speech=speech,
                voice=voice,
                event=event,
                target=target,
                target_rtcp=int(target) + 1,
            )
        )
        for name, number in (("rtp", int(port)), ("rtcp", int(port) + 1)):
            sock = shared_socket(number)
            self.pipeline.get_by_name(f"{name}_in").set_property("socket", sock)
            self.pipeline.get_by_name(f"{name}_in").set_property("close-socket", False)
            self.pipeline.get_by_name(f"{name}_out").set_property("socket", sock)
            self.pipeline.get_by_name(f"{name}_out").set_property("close-socket", False)
        self.rtp = self.pipeline.get_by_name("rtp")
        self.rtp.connect("request-pt-map", self.caps_of)
        self.rtp.connect("pad-added", self.stream_came)
        self.session = self.rtp.emit("get-internal-session", 0)
        self.session.set_property("rtcp-min-interval", RTCP_INTERVAL_NS)
        pace = self.pipeline.get_by_name("pace").get_static_pad("src")
        pace.add_probe(Gst.PadProbeType.EVENT_DOWNSTREAM, self.speech_event)
        self.pipeline.get_bus().add_signal_watch()
        self.pipeline.get_bus().connect("message", self.message_came)

    def caps_of(self, _bin, _session, kind):
        if kind == self.voice:
            text = "encoding-name=AMR,encoding-params=(string)1,octet-align=(string)1"
        elif kind == self.event:
            text = "encoding-name=TELEPHONE-EVENT"
        else:
            say(f"unknown payload type {kind}")
            return None
        return Gst.Caps.from_string(
            f"application/x-rtp,media=audio,clock-rate=8000,payload={kind},{text}"
        )

    def stream_came(self, _bin, pad):
        name = pad.get_name()
        if not name.startswith("recv_rtp_src_"):
            return
        kind = int(name.rsplit("_", 1)[1])
        self.remote = int(name.split("_")[4])
        text = "rtpdtmfdepay ! fakesink async=false sync=false"
        if kind == self.voice:
            text = f"rtpamrdepay ! filesink buffer-mode=2 async=false location={self.heard}"
        receiver = Gst.parse_bin_from_description(text, True)
        self.pipeline.add(receiver)
        receiver.sync_state_with_parent()
        pad.link(receiver.get_static_pad("sink"))

    def speech_event(self, _pad, info):
        if info.get_event().type == Gst.EventType.EOS:
            GLib.timeout_add(DIGIT_PAUSE_MS, self.next_digit)
            return Gst.PadProbeReturn.DROP  # the stream goes on
        return Gst.PadProbeReturn.OK

    def next_digit(self):
        if self.left:
            self.press(True, self.left[0])
            GLib.timeout_add(DIGIT_MS, self.digit_ends)
        return False

    def digit_ends(self):
        self.press(False, self.left.pop(0))
        GLib.timeout_add(DIGIT_PAUSE_MS, self.next_digit)
        return False

    def press(self, start, number):
        structure = Gst.Structure.from_string(
            f"dtmf-event,type=1,method=1,volume=10,number={number},"
            f"start={'true' if start else 'false'}"
        )[0]
        event = Gst.Event.new_custom(Gst.EventType.CUSTOM_UPSTREAM, structure)
        self.pipeline.get_by_name("digits").get_static_pad("src").send_event(event)

    def message_came(self, _bus, message):
        structure = message.get_structure()
        if message.type == Gst.MessageType.ERROR:
            say(f"error {message.parse_error()}")
            self.loop.quit()
        elif message.type == Gst.MessageType.EOS:
            self.loop.quit()
        elif structure and structure.get_name() == "dtmf-event":
            if message.src.get_factory().get_name() == "rtpdtmfdepay":
                say(f"event {structure.get_value('number')}")

    def report(self):
        """What rtpbin knows of the other side by its packets and its reports, once it does."""
        source = self.remote and self.session.emit("get-source-by-ssrc", self.remote)
        if not source:
            return True
        stats = source.get_property("stats")
        fields = [stats.nth_field_name(index) for index in range(stats.n_fields())]
        values = {name: stats.get_value(name) for name in fields}
        if not (values["have-sr"] and values["have-rb"] and values["rb-lsr"]):
            return True
        if values["packets-received"] < REPORTED_PACKETS:
            return True
        plain = {name: value for name, value in values.items() if isinstance(value, (int, str))}
        say(json.dumps(plain))
        return False

    def read_commands(self):
        """Runs in a thread of its own, as reading blocks."""
        sys.stdin.readline()
        GLib.idle_add(self.pipeline.set_state, Gst.State.PLAYING)
        sys.stdin.read()
        GLib.idle_add(self.end)

    def end(self):
        self.rtp.get_static_pad("send_rtp_sink_0").send_event(Gst.Event.new_eos())
        GLib.timeout_add_seconds(END_SECONDS, self.loop.quit)
        return False

    def run(self):
        self.pipeline.set_state(Gst.State.PAUSED)
        threading.Thread(target=self.read_commands, daemon=True).start()
        GLib.timeout_add(POLL_MS, self.report)
        say("ready")
        self.loop.run()
        self.pipeline.set_state(Gst.State.NULL)


def main():
    Gst.init(None)
    if sys.argv[1] == "encode":
        encode(*sys.argv[2:])
    else:
        Peer(*sys.argv[2:]).run()


if __name__ == "__main__":
    main()

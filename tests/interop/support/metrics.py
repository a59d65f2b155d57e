"""The Prometheus text format, as far as these tests read it."""

import re
import urllib.request

SAMPLE = re.compile(r"^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')

# Both sides of the balance that holds over a gateway's datagrams.
BALANCE_IN = ("received", "copied", "generated")
BALANCE_OUT = ("sent", "consumed", "dropped")


class Metrics:
    """One scrape: samples as (name, labels, value)."""

    def __init__(self, text):
        self.text = text
        self.samples = []
        for line in text.splitlines():
            match = SAMPLE.match(line)
            if match and not line.startswith("#"):
                labels = dict(LABEL.findall(match[2] or ""))
                self.samples.append((match[1], labels, float(match[3])))

    def total(self, name, **wanted):
        """The sum over all samples of that name whose labels are as wanted."""
        return sum(value for sample, labels, value in self.samples
                   if sample == name and wanted.items() <= labels.items())

    def labels(self, name):
        return [labels for sample, labels, _ in self.samples if sample == name]

    def datagrams(self, kind):
        return self.total(f"mgw_datagrams_{kind}_total")

    def dropped(self, cause):
        return self.total("mgw_datagrams_dropped_total", cause=cause)

    def balance(self):
        """What came in and what became of it: equal, once nothing is under way."""
        return (sum(self.datagrams(kind) for kind in BALANCE_IN),
                sum(self.datagrams(kind) for kind in BALANCE_OUT))


def scrape(address, port, timeout=10):
    host = f"[{address}]" if ":" in address else address
    # No proxy of the environment stands between loopback and loopback.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"http://{host}:{port}/metrics", timeout=timeout) as response:
        return Metrics(response.read().decode())

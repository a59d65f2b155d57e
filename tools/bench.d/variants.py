"""Who is compared: gateways with what they are started with. All as data.

A variant that the program refuses (`mgw --check`) or whose program is not installed is left out,
and the report says why.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Variant:
    """One gateway in one configuration."""

    name: str
    kind: str  # mgw, osmo-mgw, rtpengine, none (the generator alone, from socket to socket)
    backend: str = ""
    settings: tuple = ()

    @property
    def is_mgw(self):
        return self.kind == "mgw"


def _mgw(backend, coalescing):
    return Variant(f"mgw {backend} {coalescing}", "mgw", backend, (f"io.coalesce-us={coalescing}",))


COALESCING = ("0", "auto", "300", "1000")
DIRECT = Variant("direct", "none")
OSMO_MGW = Variant("osmo-mgw", "osmo-mgw")
RTPENGINE = Variant("rtpengine", "rtpengine")
MGW = [_mgw(backend, coalescing) for backend in ("poll", "io_uring") for coalescing in COALESCING]
KERNEL = [
    Variant(
        f"mgw kernel {path}",
        "mgw",
        "io_uring",
        (f"io.kernel-path={path}", "io.coalesce-us=0"),
    )
    for path in ("tc", "xdp")
]
ALL = [OSMO_MGW, RTPENGINE, *MGW, *KERNEL, DIRECT]


def named(names):
    """The variants of these names, in the order of ALL. KeyError for a name that is none."""
    known = {variant.name: variant for variant in ALL}
    wanted = {known[name].name for name in names}
    return [variant for variant in ALL if variant.name in wanted]

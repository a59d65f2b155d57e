"""Who is compared: gateways with what they are started with. All as data.

A variant that the program refuses (`mgw --check`) or whose program is not installed is left out,
and the report says why.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Variant:
    """One gateway in one configuration."""

    name: str
    # mgw, osmo-mgw, rtpengine, bare-relay, none (the generator alone, from socket to socket)
    kind: str
    backend: str = ""
    settings: tuple = ()  # of mgw; options of bare-relay

    @property
    def is_mgw(self):
        return self.kind == "mgw"

    @property
    def is_peer(self):
        """Somebody else's gateway."""
        return self.kind in ("osmo-mgw", "rtpengine")


def _mgw(backend, coalescing):
    return Variant(f"mgw {backend} {coalescing}", "mgw", backend, (f"io.coalesce-us={coalescing}",))


COALESCING = ("0", "auto", "300", "1000")
DIRECT = Variant("direct", "none")
OSMO_MGW = Variant("osmo-mgw", "osmo-mgw")
RTPENGINE = Variant("rtpengine", "rtpengine")
MGW = [_mgw(backend, coalescing) for backend in ("poll", "io_uring") for coalescing in COALESCING]
# Sockets connected to their peers: only where these keep to the announced address.
CONNECTED = [
    Variant(
        f"mgw {backend} {coalescing} connected",
        "mgw",
        backend,
        (f"io.coalesce-us={coalescing}", "io.connect-peers=true"),
    )
    for backend, coalescing in (("poll", "0"), ("poll", "1000"), ("io_uring", "1000"))
]
# What reading and sending with epoll costs without anything else: the floor of user space.
BARE = [
    Variant("bare relay 0", "bare-relay"),
    Variant("bare relay 1000", "bare-relay", settings=("--wait-us", "1000")),
    Variant("bare relay 1000 connected", "bare-relay", settings=("--wait-us", "1000", "--connect")),
]
KERNEL = [
    Variant(
        f"mgw kernel {path}",
        "mgw",
        "io_uring",
        (f"io.kernel-path={path}", "io.coalesce-us=0"),
    )
    for path in ("tc", "xdp")
]
ALL = [OSMO_MGW, RTPENGINE, *MGW, *CONNECTED, *KERNEL, *BARE, DIRECT]


def named(names):
    """The variants of these names, in the order of ALL. KeyError for a name that is none."""
    known = {variant.name: variant for variant in ALL}
    wanted = {known[name].name for name in names}
    return [variant for variant in ALL if variant.name in wanted]

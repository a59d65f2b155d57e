"""How much each suite measures: which variants, loads and repetitions, part by part."""

import dataclasses

import variants

PEERS = ("osmo-mgw", "rtpengine")
KERNEL = ("mgw kernel tc", "mgw kernel xdp")
EVERYTHING = tuple(variant.name for variant in variants.ALL)
COALESCING = tuple(f"mgw io_uring {waiting}" for waiting in ("0", "auto", "1000"))


@dataclasses.dataclass(frozen=True)
class Suite:
    """Lengths in seconds; names of variants by part, the first ones matter most."""

    seconds: float  # of a run of the reference load
    rounds: int  # of the reference load
    more_seconds: float  # of a run of the other parts
    more_rounds: int  # of the other parts
    setup_rounds: int
    load_calls: tuple  # beside those of the reference load
    ladder: tuple  # calls of the steps of a core's capacity
    refinements: int
    memory_calls: tuple
    peer_memory_calls: tuple
    networks: tuple  # bad networks, () for all of them
    names: dict


QUICK = Suite(
    seconds=1.5,
    rounds=2,
    more_seconds=1.5,
    more_rounds=1,
    setup_rounds=1,
    load_calls=(50,),
    ladder=(350, 700, 1000),
    refinements=0,
    memory_calls=(100, 10_000),
    peer_memory_calls=(100, 500),
    networks=("clean", "everything"),
    names={
        "cpu": (
            *PEERS,
            "mgw poll 0",
            "mgw poll 1000",
            "mgw poll auto",
            *COALESCING,
            "mgw kernel tc",
            "bare relay 0",
            "bare relay 1000",
            "direct",
        ),
        "latency": (*PEERS, "mgw io_uring 0", "mgw io_uring 1000"),
        "load": (*PEERS, "mgw poll 0", "mgw io_uring 0", "mgw io_uring auto"),
        "syscalls": ("rtpengine", "mgw io_uring 0", "mgw io_uring 1000"),
        "setup": ("osmo-mgw", "mgw io_uring 0"),
        "capacity": ("rtpengine", "mgw io_uring 0"),
        "memory": ("mgw io_uring 0",),
        "legs": ("mgw io_uring 0",),
        "netem": ("mgw io_uring 0",),
        "cores": ("mgw io_uring 1000",),
    },
)

FULL = Suite(
    seconds=3.5,
    rounds=5,
    more_seconds=3,
    more_rounds=2,
    setup_rounds=3,
    load_calls=(10, 50, 100, 400),
    ladder=(700, 1000, 1400, 1800, 2200, 2600, 3200),
    refinements=2,
    memory_calls=(100, 1000, 4000, 10_000),
    peer_memory_calls=(100, 500, 1000),
    networks=(),
    names={
        "cpu": EVERYTHING,
        "latency": (
            *PEERS,
            "mgw poll 0",
            "mgw poll auto",
            "mgw poll 1000",
            *COALESCING,
            "mgw kernel tc",
        ),
        "load": (*PEERS, "mgw poll 0", "mgw poll auto", *COALESCING, "mgw kernel tc"),
        "syscalls": (*PEERS, "mgw poll 0", "mgw poll 1000", *COALESCING),
        "setup": ("osmo-mgw", "mgw poll 0", "mgw io_uring 0", "mgw io_uring auto"),
        "capacity": (*PEERS, "mgw poll 0", "mgw io_uring 0", "mgw io_uring auto", "mgw kernel tc"),
        "memory": ("mgw poll 0", "mgw io_uring 0", *PEERS),
        "legs": ("osmo-mgw", "mgw poll 0", "mgw io_uring 0", "mgw io_uring auto"),
        "netem": ("mgw io_uring 0", "mgw poll 0", "mgw io_uring 1000", "mgw io_uring auto"),
        "cores": ("mgw poll 1000", "mgw io_uring 1000"),
    },
)

SUITES = {"quick": QUICK, "full": FULL}

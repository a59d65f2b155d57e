"""What a packet can need besides being forwarded, and what that costs."""

import gateways

# What is needed, settings of mgw, rtpload's arguments, whether osmo-mgw 1.10 can do it too.
NEEDS = [
    ("forwarding alone", [], [], True),
    ("another payload type", [], ["--answer-payload-type", "98"], True),
    ("SSRC patching", ["rtp.patch.ssrc=true"], [], False),
    (
        "AMR aligned <-> efficient",
        [],
        ["--codec", "AMR-12.2", "--answer-codec", "AMR-12.2-BE"],
        True,
    ),
    ("AMR <-> IuUP", [], ["--codec", "AMR-12.2", "--answer-codec", "IUUP"], False),
    (
        "AMR <-> Osmux trunk",
        ["osmux.mode=on", "osmux.port={free_port}"],
        ["--codec", "AMR-12.2", "--answer-codec", "OSMUX-12.2"],
        False,
    ),
]


def measure(build, backends, calls, seconds, load, cpu, log):
    """Runs `load` for each need on each gateway; returns {label: {need: report}}."""
    endpoints = calls + 8
    results = {}
    for need, settings, arguments, _ in NEEDS:
        for backend in backends:
            port = gateways.free_udp_port()
            options = ["metrics.enabled=false", *(text.format(free_port=port) for text in settings)]
            with gateways.start_mgw(
                build, backend, endpoints, cpu, settings=options, log=log
            ) as gateway:
                report = load(build, gateway, calls, seconds, arguments)
                results.setdefault(gateway.label, {})[need] = report
    peer = gateways.start_osmo_mgw(endpoints, cpu)
    if peer is not None:
        with peer as gateway:
            for need, _, arguments, possible in NEEDS:
                if possible:
                    report = load(build, gateway, calls, seconds, arguments)
                    results.setdefault(gateway.label, {})[need] = report
    return results


def print_table(results):
    """CPU per packet, and how many times that of forwarding alone on the same gateway."""
    print("\nWhat else a packet can need; the ratio is to forwarding alone on the same gateway\n")
    print(f"{'need':<28}" + "".join(f"{label:>24}" for label in results))
    for need, *_ in NEEDS:
        cells = []
        for reports in results.values():
            report = reports.get(need)
            if report is None:
                cells.append(f"{'-':>24}")
                continue
            cost = report["gateway"]["cpu_us_per_packet"]
            plain = reports[NEEDS[0][0]]["gateway"]["cpu_us_per_packet"]
            cells.append(f"{cost:>14.2f} us {cost / plain:>6.2f}")
        print(f"{need:<28}" + "".join(cells))

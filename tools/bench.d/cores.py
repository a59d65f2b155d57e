"""Whether a worker stays as cheap with others beside it: workers on one core, two, four ...

The load of each worker is the reference load. A worker on the core of the load generator gets its
packets later and in larger batches, which makes it cheaper; so where that core is among those of a
step, the comparison has a single worker on it too.
"""

import dataclasses

from runs import Load


def steps(usable, generator):
    """[(cores of the step, cores of the single workers that it is compared with)]."""
    ordered = [cpu for cpu in usable if cpu != generator] + [generator]
    result, workers = [], 2
    while workers <= len(ordered):
        chosen = ordered[:workers]
        single = [ordered[0]] + ([generator] if generator in chosen else [])
        result.append((chosen, single))
        workers *= 2
    return result


def run(bench, variant, cores, number, seconds):
    """One run with a worker on each of the cores."""
    named = ",".join(map(str, cores))
    setup = bench.runner.setup
    # The generator may share its core with a worker: no class of its own then.
    bench.runner.setup = dataclasses.replace(
        setup, gateway_cpu=named, generator_prefix=setup.prefix
    )
    try:
        load = Load(
            bench.calls * len(cores),
            seconds,
            settings=(f"workers.count={len(cores)}", f"workers.cpu-affinity=[{named}]"),
        )
        bench.attempt("cores", variant, load, number, cores=named, workers=len(cores))
    finally:
        bench.runner.setup = setup


def measure(bench, gateways):
    setup = bench.runner.setup
    wanted = steps(setup.usable_cpus, setup.generator_cpu)
    if not wanted:
        bench.note("cores: one core only")
    lists = []
    for chosen, single in wanted:
        lists += [[cpu] for cpu in single] + [chosen]
    distinct = [list(cores) for cores in dict.fromkeys(tuple(cores) for cores in lists)]
    for number in range(bench.suite.more_rounds):
        for variant in gateways:
            for cores in distinct:
                run(bench, variant, cores, number, bench.suite.more_seconds)

"""Configurations, measurements and runs with chosen values, for tests of what reads them."""

from itertools import accumulate, combinations, pairwise

import msgspec
import numpy as np

from halftrip.plan.plan import Plan, plan_record
from halftrip.results.background import BackgroundTraffic
from halftrip.results.block import Block, RoundTrips
from halftrip.results.configuration import Configuration, EndSettings
from halftrip.results.counts import HostCounters
from halftrip.results.device import Device
from halftrip.results.memory_name import both_memories
from halftrip.results.reading import FORMAT
from halftrip.results.records import (
    ClockInfo,
    CopyTime,
    Environment,
    Header,
    Measurement,
    RunEnd,
    Skip,
    WarmUp,
)
from halftrip.results.run import Run
from halftrip.results.run_file import encode
from halftrip.results.usage import CoreUse, Usage

# Of the link that `beside_traffic` is measured over, bytes per second.
LINK = 12.5e6


def environment(rank, **changes):
    """A rank on its own core of the host node1; `changes` are fields."""
    values = {
        "rank": rank,
        "host": "node1",
        "pid": 100 + rank,
        "core": rank,
        "allowed_cores": [0, 1],
        "oversubscribed": False,
        "processor": "A Processor",
        "kernel": "Linux 6.1",
        "python": "3.11.7",
        "clock": ClockInfo(source="tsc", hertz=2e9, cost=20.0, resolution=1.0),
        "thp": "madvise",
        "governor": None,
        "hypervisor": None,
        "mpi": None,
        "mpi_library": None,
        "variables": {},
    }
    return Environment(**(values | changes))


# Ranks on virtual cores, which the hypervisor moves.
VIRTUAL = tuple(environment(rank, hypervisor="KVM") for rank in range(2))


def device(rank=0, memory="cuda@0", **changes):
    """A device of which all is known; `changes` are fields."""
    values = {
        "index": 0,
        "name": "A Device",
        "uuid": "GPU-00000000-0000-0000-0000-000000000001",
        "pci": "0000:3b:00.0",
        "cuda": "12.8",
        "memory_bytes": 80 << 30,
        "cache_bytes": 50 << 20,
        "compute_mode": "default",
        "reaches": [],
        "stand_in": False,
        "driver": "570.1",
        "link_generation": 5,
        "link_generation_max": 5,
        "link_width": 16,
        "link_width_max": 16,
        "numa_node": 0,
        "power_limit": 700.0,
        "graphics_clock": 1980.0,
        "memory_clock": 2619.0,
        "ecc": True,
        "mig": False,
    }
    return Device(rank=rank, memory=memory, **(values | changes))


def configuration(transport="shm", size=8, wait="spin", memory="host", pages="4K", **fields):
    """A configuration. `wait`, `memory` and `pages` are those of both ends, or of the initiator and
    the responder, as in ``spin:block``; other fields are those of Configuration."""
    initiator, responder = (
        EndSettings(memory=m, pages=p, wait=w)
        # The address of a device has colons, too.
        for m, p, w in zip(both_memories(memory), _both(pages), _both(wait), strict=True)
    )
    ends = {"initiator": initiator, "responder": responder}
    return Configuration(transport=transport, size=size, **(ends | fields))


def _both(setting):
    initiator, _, responder = setting.partition(":")
    return initiator, responder or initiator


def times(*ns):
    """An array of times, as blocks have them."""
    return np.array(ns, dtype=np.int64)


def blocks(samples, counts=None, rtts=(150.0, 152.0), usage=None, preemptions=None, **first):
    """The samples in blocks of `counts` samples each (None: one block of all).

    `rtts` are the core-to-core round trips before the first block and after each; the last one also
    holds after all blocks that follow. None: not known. `usage`, of both ends, is that of all
    blocks together. `preemptions`, of both ends in each block, replace its involuntary switches.
    Other fields are those of the first block.
    """
    samples = np.asarray(samples, dtype=np.int64)
    ends = list(accumulate(counts or [samples.size], initial=0))
    assert ends[-1] == samples.size
    if rtts is not None:
        rtts = [*rtts, *[rtts[-1]] * (len(ends) - len(rtts))]
    made = []
    for number, (begin, end) in enumerate(pairwise(ends)):
        counted = None if preemptions is None else preemptions[number]
        made.append(
            Block(
                start=0,
                times=samples[begin:end],
                core_to_core_rtt=None if rtts is None else RoundTrips(*rtts[number : number + 2]),
                usage=None if usage is None else _share_of_block(usage, number, counted),
                **(first if number == 0 else {}),
            )
        )
    return made


def _share_of_block(usage, number, preemptions):
    """The usage of both ends in a block: everything in the first one, but for preemptions."""
    shares = []
    for end, total in enumerate(usage):
        share = msgspec.structs.replace(total if number == 0 else _nothing(total), core=None)
        if preemptions is not None:
            share = msgspec.structs.replace(share, involuntary=preemptions[end])
        shares.append(share)
    return tuple(shares)


def _nothing(usage):
    """No usage beside that of another block; what is not known stays so."""
    fields = msgspec.structs.asdict(usage)
    kept = ("peak_memory", "counted", "core")
    return Usage(
        **{
            name: value if name in kept or value is None else type(value)(0)
            for name, value in fields.items()
        }
    )


def measurement(transport="shm", size=8, wait="spin", half_ns=100.0, seed=1, **changes):
    """400 samples of ten round trips, each about twice `half_ns` long with a standard deviation of
    one percent. `changes` are fields of the configuration or of the measurement, or arguments of
    `blocks`."""
    generator = np.random.default_rng(seed)
    iterations = changes.get("iterations", 10)
    samples = generator.normal(2 * half_ns * iterations, 0.02 * half_ns * iterations, 400)
    of_configuration = {name: changes.pop(name) for name in _CASE_FIELDS if name in changes}
    of_blocks = {name: changes.pop(name) for name in _BLOCK_FIELDS if name in changes}
    usage = of_blocks.get("usage")
    values = {
        "configuration": configuration(transport, size, wait, **of_configuration),
        "slice": 0,
        "at": 0.5,
        "first": round(20 * half_ns),
        "warm_up": WarmUp(300, 60_000, True),
        "iterations": iterations,
        "stopped": "converged",
        "blocks": blocks(**({"samples": np.rint(samples)} | of_blocks)),
        "cores": None if usage is None else tuple(each.core for each in usage),
    }
    return Measurement(**(values | changes))


def slices(*settings, levels, each="slice", **changes):
    """A measurement for each of these one-way times, ns, each a slice, or a launch, of its own."""
    return [
        measurement(*settings, half_ns=half_ns, seed=n, **{each: n}, **changes)
        for n, half_ns in enumerate(levels)
    ]


def in_launches(transport, size, half_ns, launches=1, **changes):
    """A row of ten slices in each launch, with one one-way time, ns."""
    return [
        measurement(
            transport, size, half_ns=half_ns, seed=n, slice=n % 10, launch=n // 10, **changes
        )
        for n in range(10 * launches)
    ]


def with_settings(measured, **fields):
    """The same measurement of a configuration with these fields."""
    configuration = msgspec.structs.replace(measured.configuration, **fields)
    return msgspec.structs.replace(measured, configuration=configuration)


def planned(**plan):
    """The header of a run with this plan."""
    return msgspec.structs.replace(run().header, plan=plan)


def stream(**changes):
    """100 windows of ten datagrams of 1000 bytes, each 10 us by the clocks of both ends."""
    values = {
        "pattern": "stream",
        "window": 10,
        "iterations": 1,
        "samples": [10_000] * 100,
        "peer_times": times(10_000),
    }
    return measurement("udp", 1000, "block", **(values | changes))


_CASE_FIELDS = {"memory", "pages", *Configuration.__struct_fields__} - {"transport", "size"}
_BLOCK_FIELDS = {"samples", "counts", "rtts", "usage", "preemptions", *Block.__struct_fields__}


def usage(load=0.5, system=0.2, **changes):
    """The usage of one end in a second, of which it ran for the share `load`, in the kernel for the
    share `system`. `core` has the fields of its core that differ from core 1, watched for the same
    second; None: nothing is known of its core."""
    core = changes.pop("core", None)
    values = {
        "iterations": 4000,
        "elapsed": 1.0,
        "user": load - system,
        "system": system,
        "voluntary": 10,
        "involuntary": 0,
        "minor_faults": 5,
        "major_faults": 0,
        "peak_memory": 50 << 20,
        "core": None if core is None else CoreUse(**({"number": 1, "watched": 1.0} | core)),
    }
    return Usage(**(values | changes))


def run(*measurements, **changes):
    """A complete run of these measurements; `changes` are its other fields."""
    values = {
        "header": Header(
            version=FORMAT,
            halftrip="0.1.0",
            started="2026-01-31T12:00:00+00:00",
            command=["halftrip", "run"],
            plan=plan_record(Plan()),
        ),
        "environments": (environment(0), environment(1)),
        "measurements": measurements,
        "copy_times": (CopyTime(rank=0, size=65536, ns=2000.0),),
        "skips": (Skip(transport="mpi", reason="no mpiexec beside this Python or on the PATH"),),
        "end": RunEnd(reason=None, seconds=10.0, timed=8.0, clock_drift=[0.1, 0.2]),
    }
    return Run(**(values | changes))


def between_hosts(
    names,
    slow=(),
    by=2.0,
    sizes=(8,),
    wait="block",
    pairs=None,
    slices=8,
    concurrency=1,
    pattern="pingpong",
    **changes,
):
    """A run over TCP of the rank on each of these hosts with each other one, or of these pairs: one
    way in 20 us, or `by` times as long over a link of which both hosts, or the only one, are in
    `slow`. `changes` are fields of the run."""
    slow = set(slow)
    found = []
    for first, second in pairs or combinations(range(len(names)), 2):
        link = {names[first], names[second]}
        is_slow = slow and (link >= slow if len(slow) < 3 else link <= slow)
        found += [
            measurement(
                "tcp", size, wait, 20_000.0 * (by if is_slow else 1.0), seed=number, slice=number,
                pair=(first, second), concurrency=concurrency, pattern=pattern,
            )
            for size in sizes
            for number in range(slices)
        ]  # fmt: skip
    where = tuple(environment(rank, host=name) for rank, name in enumerate(names))
    return run(*found, environments=where, **changes)


def traffic(bandwidth=LINK, load=0.1, own_cores=True):
    return BackgroundTraffic(
        bytes=round(bandwidth), ns=10**9, running=1.0, load=load, own_cores=own_cores
    )


def beside_traffic(hosts=("n1", "n2"), times=5.0, lost=0, samples=400, late=0, **beside):
    """Eight slices idle and eight beside a stream, which take so many times as long; so many
    messages of each of these were sent again after a timeout, and one took `late` ns longer."""
    found = []
    for text_, factor in (("none", 1.0), ("stream:tcp:64K", times)):
        for number in range(8):
            made = measurement(
                "tcp",
                64,
                "block",
                1e6 * factor,
                seed=number,
                slice=number,
                iterations=1,
                background=text_,
            )
            if factor > 1.0:
                (block,) = made.blocks
                longer = block.times[:samples].copy()
                longer[:lost] += 300_000_000
                longer[0] += late * (number == 4)
                blocks = [msgspec.structs.replace(block, times=longer)]
                made = msgspec.structs.replace(made, background=traffic(**beside), blocks=blocks)
            found.append(made)
    where = tuple(environment(rank, host=name) for rank, name in enumerate(hosts))
    return run(*found, environments=where)


def counters(**changes):
    """What a host, node1, has counted in a launch; `changes` are fields."""
    values = {
        "host": "node1",
        "rank": 0,
        "phase": "launch",
        "at": 0.1,
        "seconds": 2.0,
        "cpus": {},
        "memory_used": None,
        "counts": {"tcp_segments_out": 1000, "tcp_retransmits": 7},
        "interfaces": {"eth0": {"packets_in": 90, "drops_in": 10, "errors_out": 1}},
        "interrupts": {},
        "softnet": {"0": {"dropped": 2}},
    }
    return HostCounters(**(values | changes))


def save(run, path):
    """Writes a run to a file and returns its path."""
    kinds = [getattr(run, name) for name in run.__struct_fields__]
    several = [kind for kind in kinds if isinstance(kind, tuple) and kind is not run.problems]
    records = [run.header, *(record for kind in several for record in kind)]
    if run.end is not None:
        records.append(run.end)
    path.write_bytes(b"".join(encode(record) for record in records))
    return path

"""Runs made up for tests of what looks at them."""

import numpy as np

from halftrip.plan.plan import Plan, plan_record
from halftrip.results.case import Case
from halftrip.results.records import (
    ClockInfo,
    CopyBound,
    End,
    Environment,
    Head,
    LineBound,
    Measurement,
    Skip,
    WarmUp,
)
from halftrip.results.run import Run
from halftrip.results.run_file import FORMAT
from halftrip.results.usage import CoreUse, Usage


def environment(rank, **changes):
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


def measurement(transport="shm", size=8, wait="spin", half_ns=100.0, seed=1, **changes):
    """Samples of ten round trips, each twice `half_ns` long, give or take a percent."""
    generator = np.random.default_rng(seed)
    exchanges = changes.get("exchanges", 10)
    samples = generator.normal(2 * half_ns * exchanges, 0.02 * half_ns * exchanges, 400)
    case = {name: changes.pop(name) for name in ("buffers", "pages", "pair") if name in changes}
    values = {
        "case": Case(transport=transport, size=size, wait=wait, **case),
        "repetition": 0,
        "at": 0.5,
        "first": round(20 * half_ns),
        "warm_up": WarmUp(300, 60_000, True),
        "exchanges": exchanges,
        "stopped": "converged",
        "line": LineBound(150.0, 152.0),
        "samples": np.rint(samples).astype(int).tolist(),
    }
    return Measurement(**(values | changes))


def usage(load=0.5, system=0.2, **changes):
    """Of an end that ran for a share of a second, in the kernel for a part of that; `core` says
    what is known of its core, but that it was watched for as long."""
    core = changes.pop("core", None)
    values = {
        "exchanges": 4000,
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
    values = {
        "head": Head(
            format=FORMAT,
            halftrip="0.1.0",
            started="2026-01-31T12:00:00+00:00",
            command=["halftrip", "run"],
            plan=plan_record(Plan()),
        ),
        "environments": (environment(0), environment(1)),
        "measurements": measurements,
        "copies": (CopyBound(rank=0, size=65536, ns=2000.0),),
        "skips": (Skip(transport="mpi", reason="no mpiexec beside this Python or on the PATH"),),
        "end": End(reason=None, seconds=10.0, timed=8.0, clock_drift=[0.1, 0.2]),
    }
    return Run(**(values | changes))

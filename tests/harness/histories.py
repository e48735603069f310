"""Runs over weeks, whose rows change where it is known."""

import math
from datetime import UTC, datetime, timedelta

import msgspec
import numpy as np

from halftrip.analysis.run_figures import run_figures
from harness import runs

# Transport, size in bytes, and one-way time in ns.
ROWS = (("mpi", 8, 190.0), ("mpi", 65536, 9000.0), ("shm", 8, 55.0), ("tcp", 8, 9000.0))
KERNELS = ("Linux 6.1.0-18", "Linux 6.1.0-21")


def dated(run, day):
    """The run, measured so many days after the first."""
    moment = datetime(2026, 1, 5, 3, tzinfo=UTC) + timedelta(days=day)
    header = msgspec.structs.replace(run.header, started=moment.isoformat())
    return msgspec.structs.replace(run, header=header)


def weekly(count, step_at=None, factor=1.1, spread=0.03, seed=1, rows=ROWS, launches=2):
    """So many runs, a week apart; from number `step_at` on, with another kernel, `mpi` takes
    `factor` as long. Launches differ by `spread`."""
    generator = np.random.default_rng(seed)
    for number in range(count):
        later = step_at is not None and number >= step_at
        measured = [
            runs.measurement(
                transport,
                size,
                "block" if transport == "tcp" else "spin",
                half_ns=half_ns
                * (factor if later and transport == "mpi" else 1.0)
                * math.exp(spread * generator.standard_normal()),
                seed=int(generator.integers(1 << 30)),
                launch=launch,
            )
            for transport, size, half_ns in rows
            for launch in range(launches)
        ]
        ranks = tuple(
            runs.environment(rank, kernel=KERNELS[later], launch=launch)
            for launch in range(launches)
            for rank in (0, 1)
        )
        yield dated(runs.run(*measured, environments=ranks), 7 * number)


def contended(number, since=8):
    """A run in which other programs had half of a core, from a number on."""
    half_ns, others = (150.0, 0.45) if number >= since else (100.0, 0.01)
    used = tuple(runs.usage(core={"others": each}) for each in (others, 0.0))
    slices = [
        runs.measurement(half_ns=half_ns, usage=used, seed=6 * number + n, slice=n)
        for n in range(6)
    ]
    return dated(runs.run(*slices), number)


def figures(measured):
    """What a history needs of these runs, which are called 0, 1, ..."""
    return [run_figures(str(number), run) for number, run in enumerate(measured)]

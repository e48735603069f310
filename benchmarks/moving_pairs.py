"""How many rows `halftrip compare` calls changed in pairs of runs of a simulated machine whose
cores move, and how many of a planted change of one path.

    python benchmarks/moving_pairs.py [--pairs N] [--traces DIR] [--processes N]

A run is ten launches of two slices of six paths, of eight sizes each. Launches of a path differ by
its own spread, and the whole run by that of a clock, as runs of a machine do that are minutes apart
(README.md, "Like runs"). --traces: also on the recorded machines there; see states.py.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from multiprocessing import Pool
from pathlib import Path
from typing import NamedTuple

import numpy as np

from halftrip.analysis.compared_run import ComparedRun
from like_pairs import Called, called
from machines import Line, Machine, SeenRun, jumping, seen, wandering
from states import TWO, run_of, traces

# Standard deviations of logarithms: of the machine's clock between runs, and of launches.
CLOCK = 0.018
_SIZES = 8
PLANTED = (1.02, 1.05, 1.1, 1 / 1.05)


class Follower(NamedTuple):
    """How the times of a path follow the round trip, and by how much its launches differ."""

    line: Line
    spread: float


PATHS = {
    "mpi": Follower(Line(40.0, 1.5), 0.013),
    "shm": Follower(Line(10.0, 0.5), 0.05),
    "tcp": Follower(Line(20_000.0, 0.0), 0.09),
    "pipe": Follower(Line(40_000.0, 0.0), 0.1),
    "udp": Follower(Line(20_000.0, 0.0), 0.1),
    "unix": Follower(Line(20_000.0, 0.0), 0.15),
}
MACHINES = (
    jumping((90.0,), 1.0),
    *(jumping(TWO, dwell) for dwell in (0.1, 1.0, 10.0, 60.0)),
    jumping((90.0, 180.0, 300.0), 10.0),
    wandering(65.0, 180.0, 5.0),
)


def side(machine: Machine, seed: int) -> ComparedRun:
    """A run of the machine, whose clock is slower or faster than usual in all of it."""
    names = [name for name in PATHS for _ in range(_SIZES)]
    found = seen(
        machine,
        [PATHS[name].line for name in names],
        seed,
        rows=len(names),
        launch_spread=np.array([[PATHS[name].spread] for name in names]),
    )
    clock = float(np.exp(CLOCK * np.random.default_rng([seed, 2]).normal()))
    return ComparedRun.of(run_of(_slower(found, clock), seed, names), str(seed))


def _slower(found: SeenRun, clock: float) -> SeenRun:
    rows = [
        row._replace(
            probes=[(clock * before, clock * after) for before, after in row.probes],
            medians=[clock * median for median in row.medians],
        )
        for row in found.rows
    ]
    return SeenRun([clock * probe for probe in found.probes], rows)


def trial(machine: Machine, number: int) -> list[Called]:
    """A pair of runs: as it is, and with each planted change of `mpi`."""
    sides = [side(machine, 2 * number + n) for n in (0, 1)]
    return [called(sides), *(called(sides, "mpi", factor) for factor in PLANTED)]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--traces", type=Path)
    parser.add_argument("--processes", type=int, default=1)
    arguments = parser.parse_args()
    known = traces(arguments.traces) if arguments.traces else []
    planted = " | ".join(f"mpi {factor:.3g}: found" for factor in PLANTED)
    print(f"| machine | rows changed | in pairs | {planted} |")
    print("|---|---|---|" + "---|" * len(PLANTED))
    with Pool(arguments.processes) as pool:
        for machine in (*known, *MACHINES):
            found = pool.map(partial(trial, machine), range(arguments.pairs))
            like, *rest = (_sum(each) for each in zip(*found, strict=True))
            cells = [f"{each.found / max(1, each.planted):.1%} ({each.changed})" for each in rest]
            first = f"| {machine.name} | {like.changed} of {like.rows} | {like.pairs} "
            print(f"{first}| {' | '.join(cells)} |", flush=True)


def _sum(found: Sequence[Called]) -> Called:
    return Called(*map(sum, zip(*found, strict=True)))


if __name__ == "__main__":
    main()

"""Whether causes that are planted are named, and no others.

    PYTHONPATH=tests .venv/bin/python benchmarks/causes.py [--runs N] [--rows N] [--only KINDS]

Prints a Markdown table: in how many of N runs on this machine, and of N simulated rows, a planted
cause was named, and another one was. Runs take a few seconds each, and some causes need root: those
that cannot be planted here are left out, with the reason. What the machine does meanwhile is not
known: run it at rest. The simulated rows have counters as the kernel has them: tasks to the
nanosecond, all else at ticks of 4 ms and in steps of 10 ms.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import pytest

from claims import measure
from halftrip.analysis.flags import evidences
from halftrip.analysis.flags.cause import When
from halftrip.analysis.flags.table import found_by
from halftrip.analysis.verdict import verdict
from halftrip.plan.plan import Plan
from halftrip.results.run import Run
from halftrip.results.run_file import load
from halftrip.results.usage import CoreUse, Usage
from halftrip.simulation.path_model import Noise, PathModel
from harness.neighbour import neighbour
from harness.planted import awake_mpiexec, group, inside, soft_interrupts

CORES = sorted(os.sched_getaffinity(0))[:2]
NOTHING, CONTENTION, QUOTA, INTERRUPTS = "nothing", "CPU contention", "CPU quota", "interrupts"
WAITED, STEAL, SIBLINGS = "waited for a core", "steal", "SMT siblings"
OWN_TASKS = "own tasks"
# A program that wants a core for a second, and is away for two.
IN_PART = "CPU contention in a third of the time"
KINDS = (NOTHING, CONTENTION, QUOTA, INTERRUPTS, WAITED, STEAL, SIBLINGS)
# Those that say who had a core; others are of the times.
MACHINE = {CONTENTION, QUOTA, INTERRUPTS, WAITED, STEAL, SIBLINGS, OWN_TASKS}
_RUN = ("-s", "8", "--launches", "1", "--ci", "none", "--time", "0.3s")
_PATH = PathModel(latency=10e-6, bandwidth=1e18, noise=Noise(kind="lognormal", spread=0.02))
_SLICES = 10
_PLAN = Plan(ci=None, slices=_SLICES, time=0.05)
# The second only of rows that are not ok.
_ASKED: tuple[When, ...] = ("always", "slices")
_TICK, _STEP = 0.004, 0.01


def named(run: Run) -> dict[str, str]:
    """The causes of all rows that say who had a core, and what is said of one of them."""
    return {
        cause.name: f"{row.configuration.title}: {finding.seen}"
        for row in evidences(run)
        for when in _ASKED[: 1 if verdict(row).word == "ok" else 2]
        for cause, finding in found_by(row, when)
        if cause.name in MACHINE
    }


# On this machine


class Planted(NamedTuple):
    """How a run is started with a cause, what its rows shall name, and what else they may name."""

    cause: str | None
    may: frozenset[str] = frozenset()
    prefix: tuple[str, ...] = ()
    options: tuple[str, ...] = ("-t", "shm,pipe,tcp")


@contextlib.contextmanager
def planted(kind: str, directory: Path) -> Iterator[Planted]:
    """A cause on this machine, for a while."""
    core = random.choice(CORES)
    if kind == QUOTA:
        with group(random.randint(20_000, 80_000)) as limited:
            yield Planted(QUOTA, prefix=inside(limited))
    elif kind == INTERRUPTS:
        # Whoever sends the packets has the other core.
        with soft_interrupts(CORES[1], CORES[0]):
            yield Planted(INTERRUPTS, frozenset({CONTENTION}))
    elif kind == CONTENTION:
        with neighbour(core):
            yield Planted(CONTENTION)
    elif kind == IN_PART:
        with neighbour(core, busy=1.0, away=2.0):
            yield Planted(CONTENTION)
    elif kind == OWN_TASKS:
        options = ("-t", "mpi", "--mpiexec", str(awake_mpiexec(directory, core)))
        yield Planted(OWN_TASKS, options=options)
    else:
        yield Planted(None)


def real(kind: str, directory: Path) -> tuple[bool, set[str]]:
    """Whether a run names what was planted, and what else it names."""
    path = directory / "run.jsonl"
    path.unlink(missing_ok=True)
    halftrip = str(Path(sys.executable).with_name("halftrip"))
    with planted(kind, directory) as plant:
        command = (*plant.prefix, halftrip, "run", *plant.options, *_RUN, "-o", str(path))
        subprocess.run(command, check=True, capture_output=True)
    found = named(load(path))
    wrong = found.keys() - {plant.cause, *plant.may}
    for name in wrong:
        print(f"{kind}: {name}: {found[name]}", file=sys.stderr)
    return plant.cause in found, wrong


# Simulated


def _counted(seconds: float, drawn: np.random.Generator) -> float:
    """A time as it is told in steps, of which the first may have begun before."""
    return float((np.floor(seconds / _STEP + drawn.random())) * _STEP)


def _ticked(seconds: float, drawn: np.random.Generator) -> float:
    """A time that is found out at ticks."""
    return _counted(drawn.poisson(seconds / _TICK) * _TICK, drawn)


def core_use(kind: str, share: float, watched: float, drawn: np.random.Generator) -> CoreUse:
    """What is read of a core of whose time a cause has a share, where the kernel's switches and its
    own interrupts have up to 40 % and 5 %."""
    kernel = float(drawn.uniform(0, 0.4)) * watched
    interrupts = float(drawn.uniform(0, 0.05)) + share * (kind == INTERRUPTS)
    return CoreUse(
        number=1,
        watched=watched,
        others=float(drawn.uniform(0, 0.03) + share * (kind == CONTENTION)) * watched,
        interrupts=_ticked(interrupts * watched, drawn),
        unaccounted=kernel,
        steal=_counted(share * watched * (kind == STEAL), drawn),
        sibling=_counted((0.02 + share * (kind == SIBLINGS)) * watched, drawn),
        throttled=2 * share * watched * (kind == QUOTA),
    )


def simulated(kind: str, seed: int) -> tuple[bool, set[str]]:
    """The same of a row of ten slices of 10 to 200 ms; a cause has 30 to 70 % of the time."""
    drawn = np.random.default_rng([seed, KINDS.index(kind)])
    share = float(drawn.uniform(0.3, 0.7))
    spins = bool(drawn.integers(2)) or kind == WAITED
    run = measure(_PATH, seed, plan=_PLAN)
    measurements = []
    for each in run.measurements:
        watched = float(np.exp(drawn.uniform(np.log(0.01), np.log(0.2))))
        takes = kind in (CONTENTION, QUOTA, WAITED)
        waited = share * takes if spins else float(drawn.uniform(share * takes, 0.8))
        usage = Usage(
            iterations=1000, elapsed=watched, user=0.2 * watched, system=0.1 * watched,
            voluntary=0 if spins else 20_000, involuntary=9, minor_faults=0, major_faults=0,
            peak_memory=0, waited=waited * watched,
        )  # fmt: skip
        cores = tuple(core_use(end, share, watched, drawn) for end in (NOTHING, kind))
        blocks = [
            msgspec.structs.replace(
                block, usage=(msgspec.structs.replace(usage, waited=0.0), usage)
            )
            for block in each.blocks
        ]
        measurements.append(msgspec.structs.replace(each, blocks=blocks, cores=cores))
    found = named(msgspec.structs.replace(run, measurements=tuple(measurements)))
    return kind in found, found.keys() - {kind}


def line(kind: str, where: str, results: Sequence[tuple[bool, set[str]]]) -> str:
    """A line of the table."""
    hits = sum(hit for hit, _ in results)
    wrong = [name for _, others in results for name in others]
    names = ", ".join(f"{name} {wrong.count(name)}" for name in sorted(set(wrong))) or "-"
    false = sum(bool(others) for _, others in results) / len(results)
    share = "-" if kind == NOTHING else f"{hits / len(results):.1%}"
    return f"| {kind} | {where} | {len(results):,} | {share} | {false:.1%} | {names} |"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--runs", type=int, default=50, help="runs of each kind")
    arguments.add_argument("--rows", type=int, default=400, help="simulated rows of each kind")
    arguments.add_argument("--only", help="planted on this machine, separated by commas")
    asked = arguments.parse_args()
    print("| planted | where | runs | named | another named | which |")
    print("|---|---|---|---|---|---|")
    for kind in KINDS:
        rows = [simulated(kind, seed) for seed in range(asked.rows)]
        if rows:
            print(line(kind, "simulated", rows), flush=True)
    kinds = [NOTHING, CONTENTION, IN_PART, QUOTA, INTERRUPTS, OWN_TASKS]
    if asked.only is not None:
        kinds = [kind for kind in kinds if kind in asked.only.split(",")]
    results: dict[str, list[tuple[bool, set[str]]]] = {kind: [] for kind in kinds}
    with tempfile.TemporaryDirectory() as directory:
        # In an order of its own: what the machine does for a while falls on all kinds.
        for kind in random.sample(kinds * asked.runs, len(kinds) * asked.runs):
            try:
                results[kind].append(real(kind, Path(directory)))
            except pytest.skip.Exception as why:
                print(f"{kind}: {why}", file=sys.stderr)
    for kind, found in results.items():
        if found:
            print(line(kind, "this machine", found), flush=True)


if __name__ == "__main__":
    main()

"""Machines whose states are known: what a run sees of them, slice by slice, without samples.

A slice is its launch, the round trips before and after it, and its median. A run has many rows,
dealt over launches in random order, whose slices all tell the state; of some, the times follow the
round trip with a known line, and launches differ by a known spread.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from halftrip.stats.quantile import Floats

# Seconds: of a slice, between slices, and between launches.
_SLICE, _GAP, _LAUNCH = 0.015, 0.003, 0.3
_MS = 1e-3
# The steps of recorded round trips.
_STEP_NS = 10.0


class Machine(NamedTuple):
    """The core-to-core round trip, ns, in each millisecond of a run of so many milliseconds from a
    random moment on, and the levels that it has, with their lower and upper ends, ns."""

    name: str
    trace: Callable[[np.random.Generator, int], Floats]
    levels: Sequence[tuple[float, float, float]]


def jumping(rtts: Sequence[float], dwell: float, spread: float = 0.02) -> Machine:
    """A machine that stays `dwell` seconds, on average, at each of these round trips; within one,
    the round trip varies by `spread`, and forgets within a tenth of a second."""
    ends = [(rtt, rtt * (1 - 5 * spread), rtt * (1 + 5 * spread)) for rtt in rtts]
    what = " and ".join(f"{rtt:.0f}" for rtt in rtts)
    name = f"{what} ns, {_words(dwell)} each" if len(rtts) > 1 else f"{what} ns"
    return Machine(name, partial(_jumping, tuple(rtts), dwell, spread), ends)


def _jumping(
    rtts: Sequence[float], dwell: float, spread: float, random: np.random.Generator, count: int
) -> Floats:
    levels = np.empty(count)
    at, state = 0, int(random.integers(len(rtts)))
    while at < count:
        end = at + max(1, round(random.exponential(dwell) / _MS))
        levels[at:end] = rtts[state]
        others = [n for n in range(len(rtts)) if n != state]
        at, state = end, others[int(random.integers(len(others)))] if others else state
    return levels * np.exp(spread * _wandering(random, count, 100))


def wandering(low: float, high: float, seconds: float) -> Machine:
    """A machine whose round trip wanders between about these, and forgets within `seconds`."""
    name = f"wanders from {low:.0f} to {high:.0f} ns within {_words(seconds)}"
    middle = (low * high) ** 0.5
    trace = partial(_about, middle, np.log(high / low) / 4, seconds / _MS)
    return Machine(name, trace, [(middle, 0.0, np.inf)])


def _about(
    middle: float, spread: float, memory: float, random: np.random.Generator, count: int
) -> Floats:
    return middle * np.exp(spread * _wandering(random, count, memory))


def recorded(file: Path, levels: Sequence[tuple[float, float, float]]) -> Machine:
    """A machine that was recorded: a file of milliseconds with the median of their round trips."""
    name = f"recorded, {file.name.partition('.')[0]}"
    return Machine(name, partial(_from_file, file), levels)


def _from_file(file: Path, random: np.random.Generator, count: int) -> Floats:
    medians = _recorded(file)
    begin = int(random.integers(medians.size))
    # Beyond the end it goes on from the beginning. Each value stands for a step of the clock, which
    # a probe of many round trips does not see.
    found = np.take(medians, range(begin, begin + count), mode="wrap")
    return found + _STEP_NS * (random.random(count) - 0.5)


@cache
def _recorded(file: Path) -> Floats:
    with gzip.open(file, "rt") as lines:
        rows = [(int(row["ms"]), float(row["median_ns"])) for row in csv.DictReader(lines)]
    medians = np.empty(rows[-1][0] + 1)
    for (ms, value), (end, _) in zip(rows, [*rows[1:], (medians.size, 0.0)], strict=True):
        # While the recorder had no core, the last value is the best guess.
        medians[ms:end] = value
    return medians


def _wandering(random: np.random.Generator, count: int, memory: float) -> Floats:
    """A first-order autoregression of unit variance, by its values at every tenth of its memory and
    straight lines in between."""
    step = max(1, int(memory / 10))
    lag1 = np.exp(-step / memory)
    normal = random.normal(size=count // step + 2)
    normal[1:] *= np.sqrt(1 - lag1**2)
    for n in range(1, normal.size):
        normal[n] += lag1 * normal[n - 1]
    return np.interp(np.arange(count), np.arange(normal.size) * step, normal)


def _words(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1e3:g} ms"
    return f"{seconds:g} s" if seconds < 60 else f"{seconds / 60:g} min"


class Line(NamedTuple):
    """Times of a row: `fixed` ns, and `slope` for each ns of the round trip."""

    fixed: float
    slope: float

    def at(self, rtt: float) -> float:
        return self.fixed + self.slope * rtt


class Slices(NamedTuple):
    """The slices of a row in the order in which they were measured: the launch of each, the round
    trips before and after it, and its median, ns. `factors` are those of the first launch, in each
    of the machine's levels."""

    launches: list[int]
    probes: list[tuple[float, float]]
    medians: list[float]
    factors: Floats


class SeenRun(NamedTuple):
    """What a run sees: all round trips in time order, and the slices of some rows."""

    probes: list[float]
    rows: list[Slices]


def seen(
    machine: Machine,
    lines: Sequence[Line],
    seed: int,
    *,
    launches: int = 10,
    slices: int = 2,
    rows: int = 40,
    launch_spread: float | Floats = 0.0,
    noise: float = 0.02,
    probe_noise: float = 0.01,
) -> SeenRun:
    """A run of so many rows, the first of which follow these `lines`. Launches of a row differ by
    `launch_spread` (a standard deviation of logarithms; one for each row: of shape (rows, 1)), anew
    in each of the states; a slice by
    `noise`, and a probe by `probe_noise`."""
    random = np.random.default_rng(seed)
    turn = _SLICE + _GAP
    count = round((launches * (_LAUNCH + rows * slices * turn)) / _MS) + 2
    rtts = machine.trace(random, count)
    probes: list[float] = []
    shape = (launches, len(lines), len(machine.levels))
    every = np.exp(launch_spread * random.normal(size=shape))
    found = [Slices([], [], [], every[0, row]) for row in range(len(lines))]
    now = 0.0
    for launch in range(launches):
        now += _LAUNCH
        for row in random.permutation(np.repeat(np.arange(rows), slices)).tolist():
            begin = int(now / _MS)
            inside = rtts[begin : begin + round(_SLICE / _MS)]
            ends = np.array([inside[0], inside[-1]]) * np.exp(probe_noise * random.normal(size=2))
            probes += ends.tolist()
            if row < len(lines):
                own = every[launch, row][_state(machine, inside)]
                median = float(np.median(lines[row].at(inside) * own))
                found[row].launches.append(launch)
                found[row].probes.append((float(ends[0]), float(ends[1])))
                found[row].medians.append(median * float(np.exp(noise * random.normal())))
            now += turn
    return SeenRun(probes, found)


def _state(machine: Machine, rtts: Floats) -> np.ndarray:
    """The number of the level that each of these round trips is of, or nearest to."""
    middles = np.log([middle for middle, _, _ in machine.levels])
    return np.abs(np.log(rtts)[:, None] - middles[None, :]).argmin(axis=1)

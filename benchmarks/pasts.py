"""Runs over weeks whose levels are known, as `halftrip history` gets them."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import numpy as np
from scipy import signal

from halftrip.analysis.history import history
from halftrip.analysis.run_figures import RunFigures
from halftrip.results.configuration import Configuration, EndSettings
from halftrip.results.records import Header
from halftrip.results.run import Run
from halftrip.stats.estimate import Estimate
from halftrip.stats.interval import SliceMedian, interval
from halftrip.stats.median import median
from halftrip.stats.quantile import Floats

_START = datetime(2026, 1, 1, tzinfo=UTC)
_HEADER = Header(version=1, halftrip="", started=_START.isoformat(), command=[], plan={})
_END = EndSettings(wait="spin")
_STEP = 1.1
_SLICES = 10
_SHORTEST_MEMORY = 50


class Past(NamedTuple):
    """What a history of `runs` runs is made of. Launches differ by `spread`; within one, the level
    of its slices wanders by `wander`, with an autocorrelation of 0.3. `between_runs` is the
    autocorrelation of launches of neighbouring runs, of one launch each. A share `disturbed` of all
    runs of a row is slower, by half on average."""

    rows: int = 1
    launches: int = 1
    runs: int = 30
    spread: float = 0.03
    wander: float = 0.02
    between_runs: float = 0.0
    disturbed: float = 0.0


# With what they are called.
ONE = (Past(), "1 row, 1 launch")
SEVERAL = (Past(rows=20), "20 rows, 1 launch")
LAUNCHES = (Past(rows=20, launches=3), "20 rows, 3 launches")
ALIKE = (Past(between_runs=0.3), "1 row, AR(1) 0.3 between runs")
ODD = (Past(rows=20, disturbed=0.05), "20 rows, 5 % of runs slow")


def _autoregression(generator: np.random.Generator, shape: tuple[int, ...], lag1: float) -> Floats:
    """Normal series along the last axis, of unit variance."""
    *others, count = shape
    noise = generator.standard_normal((*others, count + _SHORTEST_MEMORY)) * math.sqrt(1 - lag1**2)
    series: Floats = signal.lfilter([1.0], [1.0, -lag1], noise)[..., _SHORTEST_MEMORY:]
    return series


def _row(past: Past, generator: np.random.Generator, step_at: int | None) -> list[Estimate]:
    """The figures of a row in each run."""
    shape = (past.launches, past.runs)
    level = past.spread * _autoregression(generator, shape, past.between_runs).T
    slow = generator.random(past.runs) < past.disturbed
    level += (slow * generator.exponential(0.4, past.runs))[:, None]
    if step_at is not None:
        level[step_at:] += math.log(_STEP)
    wander = past.wander * _autoregression(generator, (past.runs, past.launches, _SLICES), 0.3)
    return [_figure(np.exp(each)) for each in level[:, :, None] + wander]


def _figure(slices: Floats) -> Estimate:
    """The figure of a run from the times of its slices, shape (launches, slices): as
    `stats.summary` makes it."""
    medians = [SliceMedian(float(each)) for each in slices[0]]
    if len(slices) > 1:
        medians = [SliceMedian(median(launch)) for launch in slices]
    bounds = interval(medians)
    low, high = (math.nan, math.nan) if bounds is None else bounds
    return Estimate(median([each.median for each in medians]), low, high)


def _made(past: Past, seed: int, step_at: int | None = None) -> list[RunFigures]:
    """The runs; `step_at` is the first in which the first row takes longer."""
    generator = np.random.default_rng(seed)
    rows = [_row(past, generator, step_at if n == 0 else None) for n in range(past.rows)]
    configurations = [
        Configuration(transport="shm", size=8 * (n + 1), initiator=_END, responder=_END)
        for n in range(past.rows)
    ]
    return [
        RunFigures(
            name=str(number),
            measured=_START + timedelta(days=number),
            run=Run(header=_HEADER),
            figures={each: row[number] for each, row in zip(configurations, rows, strict=True)},
            core_to_core_rtt=math.nan,
        )
        for number in range(past.runs)
    ]


def is_changed(past: Past, seed: int) -> bool:
    """Whether a history in which nothing changes shows any change."""
    return bool(history(_made(past, seed)).events)


def is_found(past: Past, step_at: int, seed: int) -> bool:
    """Whether a step of one row is the only change of that row, at its place or one run beside
    it."""
    found = history(_made(past, seed, step_at))
    (row,) = (each for each in found.rows if each.configuration.size == 8)
    return [abs(change.first - step_at) <= 1 for change in row.changes] == [True]

"""A reason to doubt a row, and what the rules look at to find one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from halftrip.analysis.summaries import CaseTimes, case_times, line_probes, summarize_times
from halftrip.results.case import Case
from halftrip.results.records import Measurement
from halftrip.results.run import Run
from halftrip.stats.summary import Summary
from halftrip.units import significant

Floats = npt.NDArray[np.float64]

# Fewer samples tell nothing of what lies between them.
FEWEST = 24


class Flag(NamedTuple):
    """A reason to doubt a row: its name, what was seen, and what to do."""

    name: str
    seen: str
    advice: str


class Evidence(NamedTuple):
    """What is known of one case of a run: its samples, and what they come to."""

    run: Run
    case: Case
    known: CaseTimes
    summary: Summary

    @property
    def measurements(self) -> Sequence[Measurement]:
        return self.known.measurements

    @property
    def steady(self) -> list[Floats]:
        """The times of each measurement that were taken in the main state, none empty."""
        return [times for times in self.known.steady if times.size]

    @property
    def probes(self) -> list[float]:
        """The cache-line round trips meanwhile, in the main state, ns."""
        probes = [probe for m in self.measurements for probe in line_probes(m)]
        if self.known.main is not None:
            state = self.known.states[self.known.main]
            probes = [probe for probe in probes if state.has(probe)]
        return probes

    @property
    def line(self) -> float | None:
        """Their median; None if none is known."""
        return float(np.median(self.probes)) if self.probes else None


def evidence(run: Run, case: Case, measurements: Sequence[Measurement]) -> Evidence:
    known = case_times(measurements)
    return Evidence(run, case, known, summarize_times(known))


def us(ns: float) -> str:
    """A time as it stands in a flag."""
    return f"{significant(ns / 1e3, 3)} us"


def counted(count: int, noun: str) -> str:
    """How many of what."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def percent(share: float) -> str:
    return f"{significant(100 * share, 2)} %" if math.isfinite(share) else "anything"

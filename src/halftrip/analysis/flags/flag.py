"""A reason to doubt a row, and what the rules look at to find one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from halftrip.analysis.summaries import case_times, summarize_case
from halftrip.results.case import Case
from halftrip.results.records import Measurement
from halftrip.results.run import Run
from halftrip.stats.main_state import CaseTimes
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
    """What is known of one row of a run: its measurements, their times by the state of the machine,
    and its summary."""

    run: Run
    case: Case
    measurements: Sequence[Measurement]
    times: CaseTimes
    summary: Summary

    @property
    def steady(self) -> list[Floats]:
        """The times of each measurement in the main state, none of them empty."""
        return [times for times in self.times.steady if times.size]

    @property
    def rtts(self) -> list[float]:
        """The core-to-core round trips meanwhile, in the main state, ns."""
        rtts = [rtt for measurement in self.measurements for rtt in measurement.cache_line_rtts]
        if self.times.main is not None:
            state = self.times.states[self.times.main]
            rtts = [rtt for rtt in rtts if state.has(rtt)]
        return rtts

    @property
    def median_rtt(self) -> float | None:
        """Their median; None if none is known."""
        return float(np.median(self.rtts)) if self.rtts else None


def evidence(run: Run, case: Case, measurements: Sequence[Measurement]) -> Evidence:
    times = case_times(measurements)
    return Evidence(run, case, measurements, times, summarize_case(measurements, times))


def us(ns: float) -> str:
    """A time as it stands in a flag."""
    return f"{significant(ns / 1e3, 3)} us"


def counted(count: int, noun: str) -> str:
    """How many of what."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def percent(share: float) -> str:
    return f"{significant(100 * share, 2)} %" if math.isfinite(share) else "anything"

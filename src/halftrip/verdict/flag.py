"""A reason to doubt a row, and what the rules look at to find one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from halftrip.model import Case, Measurement, Run
from halftrip.stats.states import State
from halftrip.stats.summary import Summary
from halftrip.summaries import (
    line_probes,
    line_states,
    one_way_times,
    summarize_case,
    times_by_state,
)
from halftrip.units import significant

Floats = npt.NDArray[np.float64]


class Flag(NamedTuple):
    """A reason to doubt a row: its name, what was seen, and what to do."""

    name: str
    seen: str
    advice: str


class Evidence(NamedTuple):
    """What is known of one case of a run.

    `times` are the one-way times of each measurement, ns, in time order; `states` those that the
    machine was in meanwhile, and `split` the times of each measurement by these; `main` the state
    that `summary` is of, None where there are no two.
    """

    run: Run
    case: Case
    measurements: Sequence[Measurement]
    summary: Summary
    times: list[Floats]
    states: list[State]
    split: list[list[Floats]]
    main: int | None

    @property
    def steady(self) -> list[Floats]:
        """The times of each measurement that were taken in the main state, none empty."""
        if self.main is None:
            return self.times
        return [times[self.main] for times in self.split if times[self.main].size]

    @property
    def line(self) -> float | None:
        """The median cache-line round trip meanwhile, in the main state, ns; None if unknown."""
        probes = [probe for m in self.measurements for probe in line_probes(m)]
        if self.main is not None:
            probes = [probe for probe in probes if self.states[self.main].has(probe)]
        return float(np.median(probes)) if probes else None


def evidence(run: Run, case: Case, measurements: Sequence[Measurement]) -> Evidence:
    states = line_states(measurements)
    split = times_by_state(measurements, states) if len(states) > 1 else []
    counts = np.array([sum(times[n].size for times in split) for n in range(len(states))])
    main = int(np.argmax(counts)) if split and counts.any() else None
    return Evidence(
        run=run,
        case=case,
        measurements=measurements,
        summary=summarize_case(measurements),
        times=[one_way_times(measurement) for measurement in measurements],
        states=states,
        split=split,
        main=main,
    )


def us(ns: float) -> str:
    """A time as it stands in a flag."""
    return f"{significant(ns / 1e3, 3)} us"


def percent(share: float) -> str:
    return f"{significant(100 * share, 2)} %" if math.isfinite(share) else "anything"

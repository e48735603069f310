"""How far a configuration has come in its slices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from halftrip.plan.plan import Plan
from halftrip.results.configuration import Configuration
from halftrip.results.records import Measurement
from halftrip.stats.interval import SliceMedian, interval, of_samples
from halftrip.stats.median import FEWEST_FOR_INTERVAL, median
from halftrip.stats.settle import settled_from

# The spread of fewer slices is chance.
_FEWEST_FOR_SPREAD = 3
# A configuration is late where its slices take this many times as long as planned.
_LATE = 3.0
_FEWEST_FOR_LATE = 2


class Earlier(NamedTuple):
    """What earlier launches of a run have found of a configuration: as in ConfigurationProgress."""

    configuration: Configuration
    spread: float
    iteration_ns: float


class ConfigurationProgress:
    """How far a configuration has come: the medians of its slices so far, and how long it was
    sampled, ns. `before` is what earlier launches have found."""

    def __init__(self, before: Earlier | None = None) -> None:
        self.medians: list[SliceMedian] = []
        self.sampled_ns = 0
        self._before = before

    def add(self, measurement: Measurement) -> None:
        """Takes the next slice."""
        times = measurement.samples
        if times.size:
            iterations = measurement.iterations
            self.medians.append(of_samples(times / iterations, unit=1 / iterations))
        self.sampled_ns += sum(block.elapsed for block in measurement.blocks)

    @property
    def settled(self) -> list[SliceMedian]:
        """The slices after the path had warmed up."""
        return self.medians[settled_from([each.median for each in self.medians]) :]

    @property
    def iteration_ns(self) -> float | None:
        """The typical time of an iteration, ns; None if none was kept."""
        return median([each.median for each in self.medians]) if self.medians else None

    @property
    def spread(self) -> float:
        """What half of the slices differ by from their median, as a share of it, at most; 0 where
        there are too few to tell, in this launch and before it."""
        if len(self.medians) < _FEWEST_FOR_SPREAD and self._before is not None:
            return self._before.spread
        medians = np.array([each.median for each in self.medians])
        middle = median(medians) if medians.size >= _FEWEST_FOR_SPREAD else 0.0
        return median(np.abs(medians - middle)) / middle if middle > 0 else 0.0

    def is_enough(self, plan: Plan) -> bool:
        """Whether the interval over the slices is as narrow as the plan wants it."""
        if plan.ci is None or plan.iterations is not None:
            return False
        settled = self.settled
        found = interval(settled) if len(settled) >= FEWEST_FOR_INTERVAL else None
        if found is None:
            return False
        middle = median([each.median for each in settled])
        return max(found.high - middle, middle - found.low) <= plan.ci * middle

    def is_late(self, plan: Plan, slices: int) -> bool:
        """Whether it has had all its time long before all its `slices`: its iterations are long."""
        if plan.iterations is not None or plan.placement_state is not None:
            return False
        # One slice may have been stopped for a while.
        if len(self.medians) < _FEWEST_FOR_LATE:
            return False
        allowed_ns = plan.time * 1e9
        # With six slices there is an interval.
        may_end = len(self.medians) >= FEWEST_FOR_INTERVAL or self.sampled_ns >= _LATE * allowed_ns
        is_slow = self.sampled_ns * slices > _LATE * allowed_ns * len(self.medians)
        return may_end and is_slow and self.sampled_ns >= allowed_ns

"""How long a message takes there, and how long its reply takes back, by the clocks of both ends."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from halftrip.results.block import Block
from halftrip.results.records import ClockComparison, Measurement
from halftrip.results.run import Run
from halftrip.stats.clock_line import ClockLine, Offset
from halftrip.stats.median import FEWEST_FOR_INTERVAL, median
from halftrip.stats.quantile import Floats

# One-way times are known where the error of the clocks is no more than this share of the latency.
LARGEST_SHARE = 0.1
# Each end's timestamps are known as CLOCK_MONOTONIC_RAW to about 50 ns.
_CONVERSION_NS = 100.0
# Clocks have to be known well enough in at least this share of the slices.
_FEWEST_SLICES = 0.5
# One way takes longer than the other where it takes this many times as long, in all slices.
_UNEVEN = 1.25


# The lines of both clocks (None: it is that of rank 0's host), and what reading them adds to the
# error, ns.
_PairLines = tuple[ClockLine | None, ClockLine | None, float]


class Clocks:
    """The clocks of all ranks of a run, in all its launches."""

    def __init__(self, run: Run) -> None:
        self._hosts = {(each.launch, each.rank): each.host for each in run.environments}
        self._resolutions = {
            (each.launch, each.rank): each.clock.resolution for each in run.environments
        }
        self._pairs: dict[tuple[int, tuple[int, int]], _PairLines | None] = {}
        by_host: dict[tuple[int, int], list[ClockComparison]] = {}
        for each in run.clock_comparisons:
            by_host.setdefault((each.launch, each.rank), []).append(each)
        # Those of ranks on rank 0's host are not among them.
        self._lines: dict[tuple[int, int], ClockLine] = {}
        for (launch, _), compared in by_host.items():
            line = ClockLine(each.comparison for each in compared)
            self._lines |= dict.fromkeys(((launch, rank) for rank in compared[0].ranks), line)

    def ahead(self, launch: int, pair: tuple[int, int], moment: int) -> Offset | None:
        """How far the clock of the second rank of a pair is ahead of that of the first, at a moment
        of the first one's, ns; None where they were not compared."""
        if (launch, pair) not in self._pairs:
            self._pairs[launch, pair] = self._lines_of(launch, pair)
        lines = self._pairs[launch, pair]
        if lines is None:
            return None
        first, second, least_error = lines
        if first is second:
            return Offset(0, least_error)
        moment_0 = moment if first is None else _reference_moment(first, moment)
        readings = [
            Offset(0, 0.0) if line is None else line.at(moment_0) for line in (first, second)
        ]
        return Offset(
            readings[1].ahead - readings[0].ahead,
            readings[0].error + readings[1].error + least_error,
        )

    def _lines_of(self, launch: int, pair: tuple[int, int]) -> _PairLines | None:
        """Those of a pair; None where its clocks were not compared."""
        first, second = (self._lines.get((launch, rank)) for rank in pair)
        # Clocks that were not compared are those of rank 0's host, unless a part of the file is
        # lost.
        own = [rank for rank, line in zip(pair, (first, second), strict=True) if line is None]
        if len({self._hosts.get((launch, rank)) for rank in (0, *own)}) > 1:
            return None
        steps = (self._resolutions.get((launch, rank), 0.0) for rank in pair)
        return first, second, _CONVERSION_NS + sum(steps)


def _reference_moment(line: ClockLine, moment: int) -> int:
    """When the clock of a line shows `moment`, by the clock that it is compared with."""
    found = line.first
    # Each step is 5,000 times as exact as the one before, or more: see MOST_DRIFT.
    for _ in range(3):
        found = moment - line.at(found).ahead
    return found


def one_way(clocks: Clocks, measurements: Sequence[Measurement], latency: float) -> OneWay | None:
    """The one-way times of a configuration, whose `latency` is ns, from these slices; None where
    the responder did not say when messages arrived, or the clocks are not known at all."""
    slices = [each for m in measurements if (each := _of_slice(clocks, m)) is not None]
    if not slices:
        return None
    known = [each for each in slices if each.error <= LARGEST_SHARE * latency]
    is_known = len(known) >= _FEWEST_SLICES * len(slices)
    if is_known:
        return OneWay(known, max(each.error for each in known), True)
    return OneWay(slices, median([each.error for each in slices]), False)


class _Slice:
    """The blocks of a slice that have arrivals, by their number, each with how far the responder's
    clock is ahead at its beginning and at its end, ns, and the largest `error` of these, ns."""

    def __init__(
        self, measurement: Measurement, ahead: Sequence[tuple[int, int, int]], error: float
    ) -> None:
        self._measurement = measurement
        self._ahead = ahead
        self.error = error

    @cached_property
    def medians(self) -> tuple[float, float]:
        """The median times there and back, ns."""
        blocks = self._measurement.blocks
        times = [one_way_times(blocks[n], first, last) for n, first, last in self._ahead]
        there, back = (median(np.concatenate(ways)) for ways in zip(*times, strict=True))
        return there, back

    @property
    def there_is_longer(self) -> bool | None:
        """None where the two differ by less than the clocks may be wrong."""
        there, back = self.medians
        return None if abs(there - back) <= 2 * self.error else there > back


class OneWay:
    """The median time of a message from the initiator to the responder, and that of its reply, ns:
    medians over slices of their medians. Few tables show them, so they are computed when they are
    read. The clocks of both ends are known to `error` ns: if one way takes that much longer, the
    other takes that much less. `is_known`: the error is small enough for the times to mean
    something."""

    def __init__(self, slices: Sequence[_Slice], error: float, is_known: bool) -> None:
        self._slices = slices
        self.error = error
        self.is_known = is_known

    @property
    def there(self) -> float:
        return median([each.medians[0] for each in self._slices])

    @property
    def back(self) -> float:
        return median([each.medians[1] for each in self._slices])

    @cached_property
    def is_uneven(self) -> bool:
        """Whether the same way takes longer in all slices, beyond the error, and by much."""
        if not self.is_known or len(self._slices) < FEWEST_FOR_INTERVAL:
            return False
        # Most paths are even, which the first slices tell.
        longer = self._slices[0].there_is_longer
        if longer is None or any(each.there_is_longer is not longer for each in self._slices):
            return False
        short, long = sorted((self.there, self.back))
        return long >= _UNEVEN * short


def _of_slice(clocks: Clocks, measurement: Measurement) -> _Slice | None:
    """A slice; None where no block has arrivals, or the clocks are not known."""
    pair, launch = measurement.configuration.pair, measurement.launch
    found, errors = [], []
    for number, block in enumerate(measurement.blocks):
        if block.start is None or block.end is None or not block.arrivals.size:
            continue
        first, last = (clocks.ahead(launch, pair, moment) for moment in (block.start, block.end))
        if first is None or last is None:
            return None
        found.append((number, first.ahead, last.ahead))
        errors += [first.error, last.error]
    return _Slice(measurement, found, max(errors)) if found else None


def one_way_times(block: Block, first: int, last: int) -> tuple[Floats, Floats]:
    """The times of each message there and of its reply back, ns, shape (n,) each, of a block that
    has `arrivals`. The responder's clock is ahead by `first` ns when the first sample begins, and
    by `last` when the last one ends."""
    start, end, peer_start = block.start or 0, block.end or 0, block.peer_start or 0
    moments = np.concatenate(([0.0], np.cumsum(block.times, dtype=np.float64)))
    # The times of samples are by a rate that was calibrated before.
    moments *= (end - start) / max(moments[-1], 1.0)
    drift = (last - first) / max(end - start, 1)
    arrived = float(peer_start - start - first) + np.cumsum(block.arrivals, dtype=np.float64)
    arrived -= drift * moments[:-1]
    return arrived - moments[:-1], moments[1:] - arrived

"""The times and the medians of many slices at once.

A run may have a million slices of some tens of samples, and of each of them numpy takes longer to
be called than to compute. Here those of equally many samples are the rows of one array. What comes
out is to the last bit that of `interval.of_samples`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Protocol

import numpy as np

from halftrip.stats.granularity import granularity_of_ordered
from halftrip.stats.interval import MOST_FOR_STEP, SliceMedian, of_samples
from halftrip.stats.median import FEWEST_FOR_INTERVAL, median_if_known
from halftrip.stats.quantile import Floats, long_run_variances, outside
from halftrip.stats.summary import SliceTimes

# So many slices are worth an array of their own.
_FEWEST = 3
# So many series are in memory at once.
_AT_ONCE = 1024


class SampledSlice(Protocol):
    """What of a measurement is needed here: see `series.RecordedSlice`."""

    @property
    def one_way_times(self) -> Floats: ...

    @property
    def core_to_core_rtts(self) -> Sequence[float]: ...


def slice_times(series: Iterable[SampledSlice], within: bool = True) -> list[SliceTimes | None]:
    """The times of each of these slices with their median, whose step is that which the times show;
    None of one without samples. `within` is that of `interval.of_samples`."""
    known = list(series)
    found: list[SliceTimes | None] = [None] * len(known)
    by_size: dict[int, list[tuple[int, Floats]]] = {}
    for place, each in enumerate(known):
        times = each.one_way_times
        by_size.setdefault(times.size, []).append((place, times))
    by_size.pop(0, None)
    for size, alike in by_size.items():
        if len(alike) < _FEWEST or size > MOST_FOR_STEP:
            medians = [of_samples(times, within=within) for _, times in alike]
            rows = [times for _, times in alike]
        else:
            every = np.concatenate([times for _, times in alike]).reshape(len(alike), size)
            medians, rows = slice_medians(every, within), [*every]
        for (place, _), times, middle in zip(alike, rows, medians, strict=True):
            rtts = known[place].core_to_core_rtts
            rtt = median_if_known(rtts) if rtts else math.nan
            found[place] = SliceTimes(times, middle, rtt)
    return found


def medians(series: Iterable[Sequence[float] | Floats]) -> Iterator[float]:
    """The median of each of these series, none of them empty or with NaN: that of `median`."""
    every = iter(series)
    while some := [*islice(every, _AT_ONCE)]:
        found = [0.0] * len(some)
        by_size: dict[int, list[int]] = {}
        for place, each in enumerate(some):
            by_size.setdefault(len(each), []).append(place)
        for size, places in by_size.items():
            ordered = np.array([some[place] for place in places], dtype=np.float64)
            ordered.sort(axis=1)
            middles = ordered[:, [(size - 1) // 2, size // 2]].sum(axis=1) / 2
            for place, middle in zip(places, middles.tolist(), strict=True):
                found[place] = middle
        yield from found


def slice_medians(times: Floats, within: bool = True) -> list[SliceMedian]:
    """The medians of slices of n samples each, shape (m, n), 1 <= n <= MOST_FOR_STEP: of each row
    what `interval.of_samples` gives without a unit."""
    n = times.shape[1]
    ordered = np.sort(times, axis=1)
    half = n // 2
    middles = ordered[:, half] if n % 2 else (ordered[:, half - 1] + ordered[:, half]) / 2
    different = 1 + np.count_nonzero(ordered[:, 1:] != ordered[:, :-1], axis=1)
    tied = ((different > 1) & (different <= half)).tolist()
    halves = _half_widths(times, ordered, middles) if within else [math.nan] * len(times)
    return [
        SliceMedian(middle, width, granularity_of_ordered(ordered[place]) if is_tied else 0.0)
        for place, (middle, width, is_tied) in enumerate(
            zip(middles.tolist(), halves, tied, strict=True)
        )
    ]


def _half_widths(times: Floats, ordered: Floats, middles: Floats) -> list[float]:
    """The half widths of the 95 % intervals within slices; NaN where there is none."""
    n = times.shape[1]
    if n < FEWEST_FOR_INTERVAL:
        return [math.nan] * len(times)
    middle = middles[:, np.newaxis]
    below = 0.5 * ((times < middle).astype(np.float64) + (times <= middle))
    bounds = [outside(n, 0.5, *each) for each in long_run_variances(below)]
    places = np.array([(0, 0) if each is None else each for each in bounds], dtype=np.intp)
    every = np.arange(len(times))
    widths = np.maximum(
        ordered[every, n - 1 - places[:, 1]] - middles, middles - ordered[every, places[:, 0]]
    )
    return [
        math.nan if each is None else width
        for each, width in zip(bounds, widths.tolist(), strict=True)
    ]

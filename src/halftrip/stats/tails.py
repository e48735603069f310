"""Quantiles of the tail, and how far they are known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from halftrip.stats.quantile import (
    FEW_STUDENT_95,
    NORMAL_95,
    Floats,
    quantile_interval,
    quantile_of_ordered,
    student_95,
)


class Quantile(NamedTuple):
    """A quantile of samples, in their unit, and its 95 % interval; NaN where it is not known."""

    value: float
    low: float
    high: float


# A quantile is known where as many samples beyond it as this count as independent. With fewer, it
# would be given where bursts of late samples happened to be alike, and its interval would be wrong.
_FEWEST_BEYOND = 12.0
UNKNOWN = Quantile(math.nan, math.nan, math.nan)


def tail(parts: Sequence[Floats], q: float) -> Quantile:
    """The quantile `q` of the samples of all parts; see `tails`."""
    return tails(parts, (q,))[0]


def tails(parts: Sequence[Floats], shares: Sequence[float]) -> list[Quantile]:
    """The quantiles `shares` of the samples of all parts together, each of shape (n,), in time
    order. The parts are independent: slices, or launches where there are several.

    Samples beyond it come in bursts, so the variance of how many there are is estimated from how
    much their number differs between the parts, and is never taken below that of independent
    samples. Order statistics then bound the quantile, as they do the median in `quantile`. It is
    not known where too few of them count as independent: p99.9 needs some 12,000 samples, and more
    where late ones come in bursts.
    """
    parts = [part for part in parts if part.size]
    if not parts:
        return [UNKNOWN] * len(shares)
    every = np.concatenate(parts)
    ordered = np.sort(every)
    if len(parts) == 1:
        return [_of_one(every, ordered, q) for q in shares]
    sizes = np.array([part.size for part in parts])
    return [_of_several(every, sizes, ordered, q) for q in shares]


def _of_one(samples: Floats, ordered: Floats, q: float) -> Quantile:
    """The quantile of one part; `ordered` are its samples in ascending order."""
    found = quantile_interval(samples, q, ordered=ordered)
    return (
        UNKNOWN
        if found is None
        else Quantile(quantile_of_ordered(ordered, q), found.low, found.high)
    )


def _of_several(
    samples: Floats, sizes: npt.NDArray[np.intp], ordered: Floats, q: float
) -> Quantile:
    """The quantile of the samples of k parts, one part after the other; `sizes` has how many each
    part has, shape (k,), none of them 0, and `ordered` the samples in ascending order."""
    n, k = ordered.size, sizes.size
    value = quantile_of_ordered(ordered, q)
    begins = np.add.accumulate(sizes) - sizes
    # Samples equal to the quantile count half, or those of a coarse clock would look one-sided.
    beyond, up_to = (
        np.add.reduceat(side, begins, dtype=np.intp) for side in (samples > value, samples >= value)
    )
    surplus = 0.5 * (beyond + up_to) - (1.0 - q) * sizes
    variance = k / (k - 1.0) * float(np.var(surplus)) * k
    margin = FEW_STUDENT_95.get(k - 1) or student_95(k - 1)
    # Half a sample more, because a count is whole.
    spread = max(margin * math.sqrt(variance), NORMAL_95 * math.sqrt(n * q * (1.0 - q))) + 0.5
    expected = n * (1.0 - q)
    if expected * expected < _FEWEST_BEYOND * max(variance, expected * q):
        return UNKNOWN
    above = max(0, math.floor(expected - spread))
    below = max(0, math.floor(n * q - spread))
    return Quantile(value, float(ordered[below]), float(ordered[n - 1 - above]))

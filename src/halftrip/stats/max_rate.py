"""The max-rate model of several pairs that send at the same time.

W. Gropp, L. Olson and P. Samfass, Modeling MPI Communication Performance on SMP Nodes: Is It Time
to Retire the Ping Pong Test (EuroMPI 2016): while k pairs between the same two places each send a
message of n bytes, each takes

    T = alpha + k n / min(R_N, k R_C)

where R_C is what one pair gets by itself, and R_N what all of them can get together, bytes per
second. So with few pairs, T = alpha + n / R_C, and with many, T = alpha + k n / R_N.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from halftrip.stats.estimate import Estimate, difference
from halftrip.stats.linear_model import LinearFit, linear_fit

FEWEST_SIZES = 3
# The scatter of a model that describes times as well as they are known; less is no merit.
_LEAST_SCATTER = 0.005
# By how much what one pair gets and what all get may disagree about which of them limits.
_SLACK = 1.1


class Point(NamedTuple):
    """The time of a message of `size` bytes, ns, while `pairs` pairs send."""

    pairs: int
    size: int
    time: Estimate


class MaxRate(NamedTuple):
    """`start` is alpha, ns. `per_pair` is R_C and `together` R_N, bytes per second; either is None
    where it never was the limit. `alone_up_to` is the largest number of pairs that R_C limits, 0
    for none. `misfit` is by which factor a time is surely off the model at most."""

    start: Estimate
    per_pair: Estimate | None
    together: Estimate | None
    alone_up_to: int
    misfit: float


def max_rate(points: Sequence[Point]) -> MaxRate:
    """The model of these points: at least two numbers of pairs and FEWEST_SIZES sizes, times above
    0.

    Which numbers of pairs R_C limits, and which R_N, is tried for every split; the one whose
    relative residuals are least counts, by Schwarz's criterion (Estimating the Dimension of a
    Model, Annals of Statistics 6, 1978), so that a limit that explains nothing is left out.
    """
    numbers = sorted({point.pairs for point in points})
    found: list[tuple[float, int, LinearFit]] = []
    # Of models that are equally good, the first counts: one without R_N.
    for last in (*reversed(numbers), 0):
        fit = linear_fit(_factors(points, last, numbers), [point.time for point in points])
        if _agrees(fit, last, numbers):
            found.append((_criterion(fit, len(points)), last, fit))
    if not found:
        raise ValueError("no split of the numbers of pairs is a max-rate model")
    _, last, fit = min(found, key=lambda each: each[0])
    rates = [_rate(each) for each in fit.parameters[1:]]
    return MaxRate(
        start=fit.parameters[0],
        per_pair=rates[0] if last else None,
        together=rates[-1] if last < numbers[-1] else None,
        alone_up_to=last,
        misfit=max(fit.misfits([point.time for point in points])),
    )


def _factors(points: Sequence[Point], last: int, numbers: Sequence[int]) -> np.ndarray:
    """What alpha, 1 / R_C and 1 / R_N are multiplied by for each point, if R_C limits up to `last`
    pairs; without one that limits none. Shape (m, 2 or 3)."""
    columns = [[1.0 for _ in points]]
    if last:
        columns.append([float(p.size) if p.pairs <= last else 0.0 for p in points])
    if last < numbers[-1]:
        columns.append([float(p.pairs * p.size) if p.pairs > last else 0.0 for p in points])
    return np.array(columns).T


def _agrees(fit: LinearFit, last: int, numbers: Sequence[int]) -> bool:
    """Whether the rates are above 0, and each surely limits where it is said to."""
    slopes = [each.value for each in fit.parameters[1:]]
    if not min(slopes) > 0:
        return False
    if len(slopes) < 2:
        return True
    # R_N / R_C: with fewer pairs R_C limits, with more R_N.
    turn = slopes[0] / slopes[1]
    after = numbers[numbers.index(last) + 1]
    if not last / _SLACK <= turn <= after * _SLACK:
        return False
    # Of the fewest pairs surely R_C is the limit, and of the most surely R_N.
    _, one, other = fit.parameters
    fewest, most = (other.scaled(number) for number in (numbers[0], numbers[-1]))
    is_known = not math.isnan(one.low + other.low)
    return is_known and difference(one, fewest).low > 0 and difference(most, one).low > 0


def _criterion(fit: LinearFit, count: int) -> float:
    scatter = max(fit.scatter, _LEAST_SCATTER)
    return 2 * count * math.log(scatter) + len(fit.parameters) * math.log(count)


def _rate(per_byte: Estimate) -> Estimate:
    """Bytes per second from ns per byte above 0; up to infinity where the interval reaches 0."""
    high = 1e9 / per_byte.low if per_byte.low > 0 else math.inf
    if math.isnan(per_byte.low):
        high = math.nan
    return Estimate(1e9 / per_byte.value, 1e9 / per_byte.high, high)

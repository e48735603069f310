"""Any quantile and an interval for it that needs no distribution and no independence.

numpy only: the ranks use it while they measure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from halftrip.stats.distributions import NORMAL_95, student_95, student_95_from_one
from halftrip.stats.estimate import Estimate

Floats = npt.NDArray[np.float64]
Samples = npt.NDArray[np.int64] | npt.NDArray[np.float64]

# Fewer samples show no correlation.
_FEWEST = 3
# np.sum and np.mean call it too, but take three times as long for a few hundred values.
_total = np.add.reduce
# The largest correlation that is taken out beforehand. The rest is left to the batches: otherwise,
# samples that only rise would seem to have no information at all.
_MOST_LAG1 = 0.8


class Interval(NamedTuple):
    """`low` <= the true value <= `high`, at 95 % confidence, in the samples' unit."""

    low: float
    high: float


def long_run_variance(series: Floats) -> tuple[float, float]:
    """n times the variance of the mean of a stationary series, its autocorrelation included, and
    the degrees of freedom of this estimate. `series` has shape (n,), n >= 3.

    By overlapping batch means (Meketon and Schmeiser, Winter Simulation Conference 1984), whose
    degrees of freedom are 1.5 times those of n / b separate batches of length b. The batches are of
    the residuals of a first-order autoregression: with this prewhitening (Andrews and Monahan,
    Econometrica 60, 1992), batches of n**0.55 are long enough, and the estimate varies less than
    that of longer ones.
    """
    deviations = series - _total(series) / series.size
    # Sums of products, not the `@` of BLAS: that would start threads beside a rank that measures.
    square = float(_total(deviations * deviations))
    if square <= 0:
        return 0.0, 2.0
    lag1 = float(_total(deviations[1:] * deviations[:-1])) / square
    # With the bias of an estimate from n samples taken out (Kendall, Biometrika 41, 1954).
    lag1 = min(_MOST_LAG1, lag1 + (1.0 + 3.0 * lag1) / series.size) if lag1 > 0 else 0.0
    shocks = deviations[1:] - lag1 * deviations[:-1]
    n = shocks.size
    batch = max(1, int(n**0.55))
    sums = np.zeros(n + 1)
    np.add.accumulate(shocks - _total(shocks) / n, out=sums[1:])
    means = (sums[batch:] - sums[:-batch]) / batch
    scale = n * batch / ((n - batch) * (n - batch + 1.0)) / (1.0 - lag1) ** 2
    return scale * float(_total(means * means)), max(2.0, 1.5 * (n / batch - 1.0))


def long_run_variances(series: Floats) -> list[tuple[float, float]]:
    """As `long_run_variance`, of each row of `series`, shape (m, n), to the last bit: rows of some
    tens of samples take a tenth of the time so."""
    deviations = series - _total(series, axis=1, keepdims=True) / series.shape[1]
    squares = _total(deviations * deviations, axis=1)
    # Where that is 0, all is.
    flat = squares <= 0
    products = _total(deviations[:, 1:] * deviations[:, :-1], axis=1)
    lag1 = products / np.where(flat, 1.0, squares)
    corrected = np.minimum(_MOST_LAG1, lag1 + (1.0 + 3.0 * lag1) / series.shape[1])
    lag1 = np.where(lag1 > 0, corrected, 0.0)
    shocks = deviations[:, 1:] - lag1[:, np.newaxis] * deviations[:, :-1]
    m, n = shocks.shape
    batch = max(1, int(n**0.55))
    sums = np.zeros((m, n + 1))
    np.add.accumulate(shocks - _total(shocks, axis=1, keepdims=True) / n, axis=1, out=sums[:, 1:])
    means = (sums[:, batch:] - sums[:, :-batch]) / batch
    scale = n * batch / ((n - batch) * (n - batch + 1.0))
    dof = max(2.0, 1.5 * (n / batch - 1.0))
    return [
        (0.0, 2.0) if is_flat else (scale / (1.0 - each) ** 2 * square, dof)
        for is_flat, each, square in zip(
            flat.tolist(), lag1.tolist(), _total(means * means, axis=1).tolist(), strict=True
        )
    ]


def in_order(samples: Samples) -> Samples:
    """The samples, shape (n,), in ascending order."""
    ordered = samples.copy()
    ordered.sort()
    return ordered


def quantile_of_ordered(ordered: Samples, q: float) -> float:
    """The quantile `q`, 0 <= q <= 1, of these samples, shape (n,), n >= 1, ascending, between two
    of them on a straight line: to the last bit that of np.quantile, which sorts once more."""
    place = (ordered.size - 1) * q
    below = math.floor(place)
    weight = place - below
    low, high = float(ordered[below]), float(ordered[min(below + 1, ordered.size - 1)])
    gap = high - low
    return high - gap * (1 - weight) if weight >= 0.5 else low + gap * weight


def quantiles_of_ordered(ordered: Samples, shares: Floats) -> Floats:
    """As `quantile_of_ordered`, for each of `shares`, shape (m,); of several series, shape (k, n),
    those of each, shape (k, m)."""
    n = ordered.shape[-1]
    places = (n - 1) * shares
    below = np.floor(places).astype(np.intp)
    weights = places - below
    low, high = ordered[..., below], ordered[..., np.minimum(below + 1, n - 1)]
    gaps = high - low
    between: Floats = np.where(weights >= 0.5, high - gaps * (1 - weights), low + gaps * weights)
    return between


def quantile_interval(
    samples: Samples, q: float, caution: float = 0.0, ordered: Samples | None = None
) -> Interval | None:
    """The 95 % confidence interval of the quantile `q`, 0 < q < 1, of `samples`, shape (n,), in
    time order; `ordered` are the same in ascending order, where they are known already.

    Order statistics bound a quantile whatever the distribution: the number of samples below the
    true quantile is a sum of n indicators with mean n q. For independent samples its variance is
    n q (1 - q); for dependent ones it is n times the long-run variance of the indicator (Sen,
    Journal of Multivariate Analysis 2, 1972), estimated here from the samples' order and never
    taken below that of independent ones.

    `caution` widens the interval by that many relative standard errors of its width, which are 0
    where the samples show no dependence.

    None where too few samples, or too few that count as independent, bound the quantile.
    """
    n = samples.size
    if n < _FEWEST:
        return None
    if ordered is None:
        ordered = in_order(samples)
    place = (n - 1) * q
    middle = 0.5 * (ordered[math.floor(place)] + ordered[math.ceil(place)])
    # Samples equal to the quantile count half, or those of a coarse clock would look one-sided.
    below = 0.5 * ((samples < middle).astype(np.float64) + (samples <= middle))
    beyond = outside(n, q, *long_run_variance(below), caution)
    if beyond is None:
        return None
    return Interval(float(ordered[beyond[0]]), float(ordered[n - 1 - beyond[1]]))


def outside(
    n: int, q: float, variance: float, dof: float, caution: float = 0.0
) -> tuple[int, int] | None:
    """How many of `n` samples lie below and above the interval of the quantile `q`, given the
    long-run variance of the indicator and its degrees of freedom; None where there is none."""
    variance, dof = at_least_independent(variance, dof, q)
    # The variance's relative standard error is sqrt(2 / dof), that of its root half of that.
    margin = student_95(dof) * (1.0 + caution / math.sqrt(2.0 * dof))
    # Half a sample more, because a count is whole (Yates): without it the coverage of independent
    # samples falls to 92 % for some n.
    spread = margin * math.sqrt(n * variance) + 0.5
    below, above = math.floor(n * q - spread), math.floor(n * (1 - q) - spread)
    return None if below < 0 or above < 0 else (below, above)


def at_least_independent(variance: float, dof: float, q: float) -> tuple[float, float]:
    """The long-run variance of an indicator with mean `q`, and its degrees of freedom, from their
    estimates, given that it is at least that of independent samples.

    An excess by chance alone would widen the interval of independent samples. So the relative
    excess x counts with the weight x**2 / (x**2 + v / 4), as in a Wiener filter, where v = 2 / dof
    is its variance. With a quarter of v, coverage is right for samples that depend on each other
    and for independent ones (benchmarks/coverage.py).
    """
    independent = q * (1.0 - q)
    excess = variance / independent - 1.0
    if excess <= 0:
        return independent, math.inf
    weight = 1.0 / (1.0 + 0.25 * 2.0 / dof / excess / excess)
    return independent * (1.0 + excess * weight), dof / weight if weight else math.inf


# A quantile is known if at least this many samples beyond it count as independent. With fewer,
# bursts of late samples that happen to be alike would give it a wrong interval.
_FEWEST_BEYOND = 12.0
UNKNOWN = Estimate(math.nan)


def tails(parts: Sequence[Floats], shares: Sequence[float]) -> list[Estimate]:
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


def _of_one(samples: Floats, ordered: Floats, q: float) -> Estimate:
    """The quantile of one part; `ordered` are its samples in ascending order."""
    found = quantile_interval(samples, q, ordered=ordered)
    return (
        UNKNOWN
        if found is None
        else Estimate(quantile_of_ordered(ordered, q), found.low, found.high)
    )


def _of_several(
    samples: Floats, sizes: npt.NDArray[np.intp], ordered: Floats, q: float
) -> Estimate:
    """The quantile of the samples of k parts, one part after the other; `sizes` has how many each
    part has, shape (k,), none of them 0, and `ordered` the samples in ascending order."""
    n, k = ordered.size, sizes.size
    expected = n * (1.0 - q)
    # However much the parts resemble each other, there are too few.
    if expected * expected < _FEWEST_BEYOND * (expected * q):
        return UNKNOWN
    value = quantile_of_ordered(ordered, q)
    begins = np.add.accumulate(sizes) - sizes
    # Samples equal to the quantile count half, or those of a coarse clock would look one-sided.
    beyond, up_to = (
        np.add.reduceat(side, begins, dtype=np.intp) for side in (samples > value, samples >= value)
    )
    surplus = 0.5 * (beyond + up_to) - (1.0 - q) * sizes
    # As np.var has it, which takes longer to be called than to compute.
    surplus -= _total(surplus) / k
    variance = k / (k - 1.0) * (float(_total(surplus * surplus)) / k) * k
    margin = student_95_from_one(k - 1)
    # Half a sample more, because a count is whole.
    spread = max(margin * math.sqrt(variance), NORMAL_95 * math.sqrt(n * q * (1.0 - q))) + 0.5
    if expected * expected < _FEWEST_BEYOND * max(variance, expected * q):
        return UNKNOWN
    above = max(0, math.floor(expected - spread))
    below = max(0, math.floor(n * q - spread))
    return Estimate(value, float(ordered[below]), float(ordered[n - 1 - above]))

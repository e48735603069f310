"""Any quantile and an interval for it that needs no distribution and no independence.

numpy only: the ranks use it while they measure.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Samples = npt.NDArray[np.int64] | npt.NDArray[np.float64]

# The two-sided 50 and 95 % quantiles of the normal distribution, and the 95 % ones of Student's t
# with one to four degrees of freedom.
NORMAL_50 = 0.6744897501960817
NORMAL_95 = 1.959963984540054
FEW_STUDENT_95 = {
    1: 12.706204736432095,
    2: 4.302652729911275,
    3: 3.182446305284263,
    4: 2.7764451051977987,
}
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


def student_95(dof: float) -> float:
    """The two-sided 95 % quantile of Student's t with `dof` >= 2 degrees of freedom, within 1 %.

    The expansion about the normal quantile of Abramowitz and Stegun, 26.7.5.
    """
    return NORMAL_95 + sum([term / dof**k for k, term in enumerate(_TERMS, start=1)])


def _terms(z: float) -> tuple[float, ...]:
    """The terms of the expansion of `student_95` about the normal quantile `z`."""
    return (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )


_TERMS = _terms(NORMAL_95)


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
    """As `quantile_of_ordered`, for each of `shares`, shape (m,)."""
    places = (ordered.size - 1) * shares
    below = np.floor(places).astype(np.intp)
    weights = places - below
    low, high = ordered[below], ordered[np.minimum(below + 1, ordered.size - 1)]
    gaps = high - low
    return np.where(weights >= 0.5, high - gaps * (1 - weights), low + gaps * weights)


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
    variance, dof = at_least_independent(*long_run_variance(below), q)
    # The variance's relative standard error is sqrt(2 / dof), that of its root half of that.
    margin = student_95(dof) * (1.0 + caution / math.sqrt(2.0 * dof))
    # Half a sample more, because a count is whole (Yates): without it the coverage of independent
    # samples falls to 92 % for some n.
    spread = margin * math.sqrt(n * variance) + 0.5
    below_low, above_high = math.floor(n * q - spread), math.floor(n * (1 - q) - spread)
    if below_low < 0 or above_high < 0:
        return None
    return Interval(float(ordered[below_low]), float(ordered[n - 1 - above_high]))


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

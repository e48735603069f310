"""The normal distribution and Student's t: quantiles and tails; and p-values of many tests at once.

numpy only: the ranks use it while they measure.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np

# The two-sided 50, 95 and 99 % quantiles of the normal distribution, and the 95 % ones of
# Student's t with one to four degrees of freedom.
NORMAL_50 = 0.6744897501960817
NORMAL_95 = 1.959963984540054
NORMAL_99 = 2.5758293035489004
_FEW_STUDENT_95 = {
    1: 12.706204736432095,
    2: 4.302652729911275,
    3: 3.182446305284263,
    4: 2.7764451051977987,
}
# So many nodes give ten digits from 2 to 500 degrees of freedom.
_NODES = 200
# Beyond, the normal distribution differs by little: 0.0228 instead of 0.0230.
_NORMAL_FROM = 500.0


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


def student_95_from_one(dof: float) -> float:
    """As `student_95`, with `dof` >= 1: below five, by the whole number below, from a table."""
    return _FEW_STUDENT_95.get(max(1, int(dof))) or student_95(dof)


@functools.cache
def _nodes_and_weights() -> tuple[np.ndarray, np.ndarray]:
    """Those of Gauss and Legendre's quadrature. Most commands need none."""
    return np.polynomial.legendre.leggauss(_NODES)


def upper_tail(t: float, dof: float) -> float:
    """How often a statistic is at least `t`, if it has Student's t distribution with `dof` >= 1
    degrees of freedom; to six digits.

    With t = sqrt(dof) tan(x) the density becomes cos(x)**(dof - 1), which is integrated from x to
    pi/2 by Gauss and Legendre's quadrature, and divided by its integral from -pi/2, which is known
    (NIST Digital Library of Mathematical Functions, 5.12.2).
    """
    if t < 0:
        return 1.0 - upper_tail(-t, dof)
    if math.isinf(t):
        return 0.0
    if dof > _NORMAL_FROM:
        return math.erfc(t / math.sqrt(2.0)) / 2
    begin = math.atan2(t, math.sqrt(dof))
    half = (math.pi / 2 - begin) / 2
    nodes, weights = _nodes_and_weights()
    x = begin + half * (nodes + 1.0)
    tail = half * float(np.sum(weights * np.cos(x) ** (dof - 1.0)))
    whole = math.sqrt(math.pi) * math.exp(math.lgamma(dof / 2) - math.lgamma((dof + 1) / 2))
    return min(0.5, tail / whole)


def student_tail(t: float, dof: int) -> float:
    """The probability that Student's t with `dof` >= 1 degrees of freedom is beyond `t` >= 0 on
    either side: Abramowitz and Stegun, 26.7.3 and 26.7.4."""
    angle = math.atan(t / math.sqrt(dof))
    cosine = math.cos(angle)
    # The terms cos, 2/3 cos^3, ... of an odd number of degrees, or 1, 1/2 cos^2, ... of an even.
    power = 1 if dof % 2 else 0
    term = cosine if dof % 2 else 1.0
    total = 0.0
    while power <= dof - 2:
        total += term
        term *= (power + 1) / (power + 2) * cosine * cosine
        power += 2
    if dof % 2:
        inside = 2.0 / math.pi * (angle + math.sin(angle) * total)
    else:
        inside = math.sin(angle) * total
    return max(0.0, 1.0 - inside)


def adjusted_p_values(p_values: Sequence[float]) -> list[float]:
    """The p-values of all tests, in their order, so adjusted that of the tests at or below a level,
    no more than that share are expected to be chance alone: the false discovery rate (Benjamini and
    Hochberg, Journal of the Royal Statistical Society B 57, 1995). If nothing has changed, that is
    also how often any test is at or below the level."""
    p = np.asarray(p_values, dtype=np.float64)
    if not p.size:
        return []
    order = np.argsort(p)
    scaled = p[order] * p.size / np.arange(1, p.size + 1)
    lowest_above = np.minimum.accumulate(scaled[::-1])[::-1]
    found = np.empty(p.size)
    found[order] = np.minimum(1.0, lowest_above)
    return [float(each) for each in found]

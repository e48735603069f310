"""Fewer points, without losing one that stands out."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from halftrip.stats.quantile import Floats


def extremes(values: Floats, most: int) -> NDArray[np.int64]:
    """The indices, ascending, of at most `most` of `values`, shape (n,): of each of equally long
    stretches the first of its lowest and the first of its highest values, so that no outlier is
    lost. All of them, where there are no more; `most` is 2 at least."""
    if values.size <= most:
        return np.arange(values.size, dtype=np.int64)
    bounds = np.linspace(0, values.size, most // 2 + 1).astype(np.int64)
    kept: list[int] = []
    for first, end in pairwise(bounds):
        part = values[first:end]
        kept += sorted({int(first + np.argmin(part)), int(first + np.argmax(part))})
    return np.array(kept, dtype=np.int64)

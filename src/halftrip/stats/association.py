"""Whether times go with a quantity that was read beside each of them, and how much of their
variance it accounts for.

numpy only.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from halftrip.stats.median import FEWEST_FOR_INTERVAL
from halftrip.stats.quantile import Floats

# A quantity accounts for the times where it does for this share of their variance, or more.
_MOST = 0.5
# So many orders are drawn; the least p-value is one over their number and one more.
_ORDERS = 999


class Association(NamedTuple):
    """The `share` of the variance that a quantity accounts for, and whether that is the variance
    `between` launches, or within them."""

    share: float
    between: bool


def association(
    values: Sequence[float], launches: Sequence[int], times: Sequence[float], level: float
) -> Association | None:
    """Whether the times of slices rise with a quantity, and account for most of their variance.
    Each slice has its value, its launch and its time; None where chance gives a correlation as
    large in more than the share `level` of cases, and of fewer than six slices, or launches.

    It is asked twice, at half the level: of the means of launches, and of slices within their
    launch; of a single launch, once. The test is that of all orders of the values (Fisher, The
    Design of Experiments, 1935), of which some are drawn, always the same: nothing is supposed of
    how times or values are distributed.
    """
    x, y = np.asarray(values, dtype=np.float64), np.asarray(times, dtype=np.float64)
    numbers = {launch: number for number, launch in enumerate(dict.fromkeys(launches))}
    of = np.array([numbers[launch] for launch in launches])
    counts = np.bincount(of)
    means = [np.bincount(of, part) / counts for part in (x, y)]
    found = []
    if counts.size > 1:
        level /= 2
        share = _share(means[0], means[1], (0,) * counts.size, level)
        found.append(Association(share, between=True))
    share = _share(x - means[0][of], y - means[1][of], tuple(of.tolist()), level)
    found.append(Association(share, between=False))
    best = max(found, key=lambda each: each.share)
    return best if best.share >= _MOST else None


def _share(x: Floats, y: Floats, of: tuple[int, ...], level: float) -> float:
    """The share of the variance of `y` that a line through `x` accounts for; 0 where chance does,
    with the orders within each of the groups that the points are `of`."""
    if x.size < FEWEST_FOR_INTERVAL:
        return 0.0
    x, y = x - x.mean(), y - y.mean()
    square = float(x @ x) * float(y @ y)
    product = float(x @ y)
    if square <= 0 or product <= 0 or product**2 < _MOST * square:
        return 0.0
    # Equal but for rounding.
    as_large = int(np.count_nonzero(x[_orders(of)] @ y >= product * (1 - 1e-9)))
    return product**2 / square if (1 + as_large) / (1 + _ORDERS) <= level else 0.0


@lru_cache(maxsize=64)
def _orders(of: tuple[int, ...]) -> npt.NDArray[np.intp]:
    """Drawn orders of points within their groups, shape (orders, points). numpy's generators take a
    tenth of a second to import."""
    generator = random.Random(1)  # noqa: S311 (not a secret)
    groups = [[n for n, other in enumerate(of) if other == group] for group in dict.fromkeys(of)]
    drawn = np.empty((_ORDERS, len(of)), dtype=np.intp)
    for order in drawn:
        for places in groups:
            order[places] = generator.sample(places, len(places))
    return drawn

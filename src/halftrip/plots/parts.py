"""Which figures of a pattern stand in one chart, and what charts below each other say once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeVar

from halftrip.plots.chart import Chart

# Figures of several curves at so many sizes or fewer are bars of each size.
_FEW_SIZES = 3
# Two sizes are joined if the larger is at most this many times the smaller: between others, more
# may have happened than anybody has measured. Of so many sizes of which none are joined, there are
# bars, too.
JOINED, _FEW_APART = 4.1, 6
_Drawn = TypeVar("_Drawn")


def by_few_sizes(
    drawn: Sequence[_Drawn], size: Callable[[_Drawn], int], label: Callable[[_Drawn], str]
) -> list[Sequence[_Drawn]]:
    """Those of each size apart, for bars, in order of size, where these say more than curves: of
    several labels at few sizes, no two of a size with the same label. Else all together."""
    sizes = sorted({size(each) for each in drawn})
    is_apart = all(high > JOINED * low for low, high in pairwise(sizes))
    most = _FEW_APART if is_apart else _FEW_SIZES
    parts = [[each for each in drawn if size(each) == one] for one in sizes[: most + 1]]
    labels = [[*map(label, part)] for part in parts]
    if (
        len(parts) > most
        or max(map(len, parts), default=0) < 2
        or any(len(set(names)) < len(names) for names in labels)
    ):
        return [drawn]
    return [*parts]


def said_once(charts: Sequence[Chart]) -> list[Chart]:
    """Charts that stand below each other: what the first says, the others do not say again."""
    first, *others = charts
    return [
        first,
        *(
            each._replace(
                lines=[line for line in each.lines if line not in first.lines],
                marks=[line for line in each.marks if line not in first.marks],
            )
            for each in others
        ),
    ]

"""Which figures of a pattern stand in one chart, and what charts below each other say once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from halftrip.plots.chart import Chart

# Figures of several curves at so many sizes or fewer are bars of each size.
_FEW_SIZES = 3
_Drawn = TypeVar("_Drawn")


def by_few_sizes(
    drawn: Sequence[_Drawn], size: Callable[[_Drawn], int], label: Callable[[_Drawn], str]
) -> list[Sequence[_Drawn]]:
    """Those of each size apart, for bars, in order of size, where these say more than curves: of
    several labels at few sizes, no two of a size with the same label. Else all together."""
    sizes = sorted({size(each) for each in drawn})
    parts = [[each for each in drawn if size(each) == one] for one in sizes[: _FEW_SIZES + 1]]
    labels = [[*map(label, part)] for part in parts]
    if (
        len(parts) > _FEW_SIZES
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

"""Tables with a column for each figure, and none for a figure that is always 0 or not known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from rich.box import SIMPLE_HEAD
from rich.table import Table

from halftrip.report.cells import NOTHING

_Line = TypeVar("_Line")
# A number or a share of 0, and a figure that is not known.
_ZERO = {"0", "0.0", NOTHING}


class Figure(NamedTuple):
    """A column: its name, its unit, and its cell for a line."""

    name: str
    unit: str
    cell: Callable[..., str]
    is_text: bool = False
    # Usually 0, and without a column where it is 0 in all lines.
    is_rare: bool = False


class Grid(NamedTuple):
    """A table, and the names of the figures without a column: those that are 0 in all lines, and
    those that are known in none."""

    table: Table
    zero: list[str]
    unknown: list[str]


def grid(lines: Sequence[_Line], figures: Sequence[Figure]) -> Grid:
    """The table of these lines, with a column for each figure that has one."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    every = [(figure, [figure.cell(line) for line in lines]) for figure in figures]
    unknown = [figure for figure, cells in every if not set(cells) - {NOTHING, ""}]
    zero = [figure for figure, cells in every if figure.is_rare and set(cells) <= _ZERO]
    known = [(f, cells) for f, cells in every if f not in unknown and f not in zero]
    for figure, _ in known:
        table.add_column(
            f"{figure.name}\n{figure.unit}",
            justify="left" if figure.is_text else "right",
            no_wrap=True,
        )
    for line in zip(*(cells for _, cells in known), strict=True):
        table.add_row(*line)
    return Grid(table, [_named(f) for f in zero if f not in unknown], [_named(f) for f in unknown])


def _named(figure: Figure) -> str:
    return " ".join(word for word in (figure.name, figure.unit) if word not in ("", "%"))


def without_column(made: Grid) -> list[str]:
    """The figures without a column, in at most two lines."""
    lines = []
    if made.zero:
        lines.append(f"all 0: {', '.join(made.zero)}")
    unknown = [name for name in made.unknown if name]
    if unknown:
        lines.append(f"not known here: {', '.join(unknown)}")
    return lines

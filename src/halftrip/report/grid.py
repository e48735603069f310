"""Tables of figures, one line each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from rich.box import SIMPLE_HEAD
from rich.table import Table

from halftrip.report.columns import NOTHING
from halftrip.units import significant

_Line = TypeVar("_Line")
# How 0 is written, as a number and as a share, and what is not known.
_ZERO = {"0", "0.0", NOTHING}


class Figure(NamedTuple):
    """A column: its name, its unit, and what it says of a line."""

    name: str
    unit: str
    cell: Callable[..., str]
    is_text: bool = False
    # As a rule it is 0, and has no column where it is 0 in all lines.
    is_rare: bool = False


class Grid(NamedTuple):
    """A table, and what has no column in it: because it is 0 in all lines, or because there is no
    such figure."""

    table: Table
    zero: list[str]
    unknown: list[str]


def grid(lines: Sequence[_Line], figures: Sequence[Figure]) -> Grid:
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


def without(made: Grid) -> list[str]:
    """What has no column, in a line or two."""
    lines = []
    if made.zero:
        lines.append(f"all 0: {', '.join(made.zero)}")
    unknown = [name for name in made.unknown if name]
    if unknown:
        lines.append(f"not known here: {', '.join(unknown)}")
    return lines


def number(value: float | None, digits: int = 3, scale: float = 1.0) -> str:
    """A figure, divided by `scale`, or nothing where there is none."""
    if value is None or value != value:  # noqa: PLR0124 (NaN alone is not what it is)
        return NOTHING
    return significant(value / scale, digits)


def percent(share: float | None) -> str:
    """A share in per cent, to a tenth: what is less is not known as well."""
    if share is None or share != share:  # noqa: PLR0124
        return NOTHING
    return f"{100 * share:.1f}"


def whole(count: float | None) -> str:
    return NOTHING if count is None else f"{count:,.0f}"

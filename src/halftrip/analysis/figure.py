"""What a figure is: its name, its value, and how tables show it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from halftrip.plan.setting import Kind

Of = TypeVar("Of")
Whole = TypeVar("Whole")

# The ranks of columns: those of the highest are left out first where there is no room. A brief
# table has the first two.
ALWAYS, BRIEF, MORE = 0, 1, 2
# The column that says how far to trust a line.
VERDICT = "verdict"


# The tables of rows: of those whose result is a latency or a bandwidth, and, beside these, of
# datagrams.
TableKind = Literal["latency", "rate", "delivery"]


class Shown(NamedTuple):
    """How tables show a figure: its heading, the unit in which people read it, its rank, how many
    significant digits it has (None: as many as its interval supports, `most` of them), whether it
    usually is 0, and what a line below the table says of it. Of a figure of rows, these `tables`
    have a column; where it `doubles`, it is one way, and of round trips as many times as long."""

    heading: str
    unit: str = ""
    rank: int = MORE
    digits: int | None = 3
    is_rare: bool = False
    says: str = ""
    tables: tuple[TableKind, ...] = ("latency", "rate")
    doubles: bool = False
    most: int = 5


NOT_SHOWN = Shown("", tables=())


class Metric(NamedTuple):
    """A figure as a gauge of a monitoring system: its name, which ends in its base unit, and what
    it is."""

    name: str
    unit: str
    says: str


class Figure(NamedTuple, Generic[Of]):
    """What is said of each `Of`, such as a row, by a `name` that ends in its unit. `kind` is
    that of its values; with a question mark, it may not exist: `of` then gives None or NaN. `says`
    is what it is, `shown` how tables show it: with NOT_SHOWN, in no column of its own. Metrics have
    it as `metric`, if at all."""

    name: str
    kind: Kind
    of: Callable[[Of], Any]
    says: str
    shown: Shown = NOT_SHOWN
    metric: Metric | None = None

    @property
    def type(self) -> str:
        """The kind of the values that there are."""
        return self.kind.removesuffix("?")

    @property
    def optional(self) -> bool:
        """Whether there may be no value."""
        return self.kind.endswith("?")

    def value(self, of: Of) -> Any:
        """The figure of one of them; None where it does not exist."""
        found = self.of(of)
        return None if isinstance(found, float) and math.isnan(found) else found


# Digits of a number for programs. No clock is as accurate, and the last ones that a computer has
# would depend on the version of numpy that computed it.
_DIGITS = 12


def as_written(value: Any) -> Any:
    """A value as programs get it: numbers with 12 significant digits, and None for NaN, which JSON
    does not have."""
    if not isinstance(value, float):
        return value
    return None if math.isnan(value) else float(f"{value:.{_DIGITS}g}")


def fields(figures: Iterable[Figure[Of]], of: Of) -> dict[str, Any]:
    """The values of these figures by name, in their order, as programs get them."""
    return {each.name: as_written(each.of(of)) for each in figures}


def figures_of(
    _: type[Whole], part: Callable[[Whole], Of | None], figures: Iterable[Figure[Of]]
) -> tuple[Figure[Whole], ...]:
    """The figures of a part as those of such a whole; none of them exists where it has no such
    part."""

    def of_whole(of: Callable[[Of], Any]) -> Callable[[Whole], Any]:
        def value(whole: Whole) -> Any:
            found = part(whole)
            return None if found is None else of(found)

        return value

    return tuple(
        Figure(each.name, each.kind, of_whole(each.of), each.says, each.shown, each.metric)
        for each in figures
    )


def names(figures: Iterable[Figure[Any]]) -> list[str]:
    """The names of figures."""
    return [each.name for each in figures]

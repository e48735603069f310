"""``halftrip compare``: what has changed between runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from rich.console import RenderableType

from halftrip.analysis.comparison import (
    DEFAULT_THRESHOLD,
    Comparison,
    Side,
    compare,
    sides_by,
    sides_of,
)
from halftrip.cli.loading import loaded
from halftrip.cli.output import Printable, screen, writing
from halftrip.cli.show import selection_of
from halftrip.errors import UsageError
from halftrip.plan.parsing import nearest, share
from halftrip.report.comparison import render
from halftrip.report.comparison_formats import FORMATS
from halftrip.report.selection import Selection
from halftrip.texts import printable, printable_lines
from halftrip.units import parse_share

_SLOWER_STATUS, _UNTOLD_STATUS = 1, 3
_TABLE = "table"


class Compared(NamedTuple):
    """How runs are compared and shown: see the options of ``halftrip compare``."""

    threshold: float = DEFAULT_THRESHOLD
    quantile: float | None = None
    launch_spread: float | None = None
    by: str | None = None
    anyway: bool = False
    strict: bool = False
    every: bool = False
    wide: bool = False
    format: str = _TABLE
    selection: Selection = Selection()


def compared_of(options: Mapping[str, str | None], **flags: bool) -> Compared:
    """How to compare, by the options of the command line. Raises UsageError, which names the option
    that is wrong."""
    format_ = options.get("format") or _TABLE
    if format_ != _TABLE and format_ not in FORMATS:
        allowed = [_TABLE, *FORMATS]
        raise UsageError(f"--format: {format_!r} is not known; {nearest(format_, allowed)}")
    threshold, spread = (_read(options, name, share) for name in ("threshold", "launch_spread"))
    return Compared(
        threshold=DEFAULT_THRESHOLD if threshold is None else threshold,
        quantile=_read(options, "quantile", _quantile),
        launch_spread=spread,
        by=options.get("by"),
        format=format_,
        selection=selection_of(options),
        **flags,
    )


def _read(
    options: Mapping[str, str | None], name: str, read: Callable[[str], float]
) -> float | None:
    value = options.get(name)
    try:
        return None if value is None else read(value)
    except UsageError as error:
        raise UsageError(f"--{name.replace('_', '-')}: {error}") from None


def _quantile(text: str) -> float:
    found = parse_share(text)
    if not 0 < found < 1:
        raise UsageError(f"{text!r} is not between 0 and 1; write 0.99 or 99%")
    return found


def compare_files(files: Sequence[str], how: Compared) -> int:
    """Compares the runs in these files, the first with each other one, or the sides or the variants
    of a single one, prints what has changed, and returns the exit status: 1 if anything is slower,
    3 if it is strict and something cannot be told. Raises UsageError for what cannot be
    compared."""
    if how.by is not None and len(files) != 1:
        raise UsageError("--by compares the variants of one run; name one file")
    _check_distinct(files)
    sides = [_side(path, how) for path in files]
    if how.by is not None:
        sides = sides_by(sides[0].run, how.by, sides[0])
    elif len(files) == 1:
        sides = _sides_of_one(sides[0])
    if len(sides) < 2:
        raise UsageError("name two runs, BASE and NEW, or one and --by NAME for what was varied")
    return compare_sides(sides, how)


def compare_sides(sides: Sequence[Side], how: Compared, shown: bool = True) -> int:
    """As `compare_files`, of sides that are known; printed if they are to be `shown`."""
    found = compare(sides[0], sides[1:], how.threshold, how.quantile, how.launch_spread, how.anyway)
    if shown:
        _print(found, how)
    if any(each.having("slower") for each in found):
        return _SLOWER_STATUS
    untold = any(each.having("cannot tell") or each.refused for each in found)
    return _UNTOLD_STATUS if how.strict and untold else 0


def _sides_of_one(side: Side) -> list[Side]:
    """The sides of a run that was measured against another in turn, or the variants of one that has
    varied a single thing; else none."""
    names = {name for each in side.rows for name, _ in each.variant}
    if side.run.sides is None and len(names) == 1 and not side.run.sources:
        return sides_by(side.run, names.pop(), side)
    return sides_of(side.run) or []


def _check_distinct(files: Sequence[str]) -> None:
    for number, path in enumerate(files):
        for other in files[:number]:
            if os.path.exists(path) and os.path.exists(other) and os.path.samefile(path, other):
                raise UsageError(f"{printable(path)}: the same file twice")


def _side(path: str, how: Compared) -> Side:
    run = loaded(path)
    side = Side.of(run, printable(path), how.selection.has)
    if run.by_configuration and not side.rows:
        raise UsageError(f"{printable(path)}: it has none of the rows that were chosen")
    return side


def _print(found: Sequence[Comparison], how: Compared) -> None:
    with writing():
        if how.format != _TABLE:
            print(printable_lines(FORMATS[how.format](found, how.every)), end="")
            return
        console = screen()
        made: RenderableType = render(found, None if how.wide else console.width, how.every)
        console.print(Printable(made), soft_wrap=True)

"""Figures with their intervals, and why some are missing, in tables and in JSON: what the models of
curves have in common."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from halftrip.analysis.figure import ALWAYS
from halftrip.render.blocks import Column
from halftrip.report.fields import curve_name, varying
from halftrip.report.numbers import with_interval
from halftrip.results.configuration import Configuration
from halftrip.results.names import Names
from halftrip.stats.curve_times import Over
from halftrip.stats.estimate import Estimate

_INTERVAL_SAYS = "in brackets: 95 % interval, over {0}."


class FitOver(Protocol):
    """What has intervals over launches or slices."""

    @property
    def over(self) -> Over | None: ...


def namer(configurations: Sequence[Configuration], names: Names) -> Callable[[Configuration], str]:
    """What tells each of these from the others."""
    fields = varying(configurations)
    return lambda each: curve_name(each, fields, names)


# Stands where an interval leaves out nothing.
NOT_TOLD = "not told"


def is_told(found: Estimate | None, most: float | None) -> bool:
    """Whether the interval of a figure leaves out any of what it may be anyway: from 0 to
    `most`, in base units (None: not known)."""
    return found is None or most is None or found.low > 0 or found.high < most


def estimate_column(
    name: str,
    unit: str,
    of: Callable[[Any], Estimate | None],
    scale: float,
    rank: int = ALWAYS,
    text: Callable[[Estimate | None, float], str] = with_interval,
    most: Callable[[Any], float | None] = lambda _: None,
) -> Column:
    """The column of a figure with its interval, in a unit of `scale` base units; that of a line is
    at `most` so large, as far as that is known."""

    def value(line: Any) -> Estimate:
        found = of(line)
        return Estimate(math.nan) if found is None else Estimate(*(each / scale for each in found))

    def cell(line: Any) -> str:
        return text(of(line), scale) if is_told(of(line), most(line)) else NOT_TOLD

    return Column(name, unit, cell, is_text=True, rank=rank, value=value)


def reason_lines(reasons: Sequence[tuple[str, str, str]]) -> list[str]:
    """Why figures are missing: a line for each reason, with the figures and the paths, as
    (path, figure, reason)."""
    by_reason: dict[str, dict[str, list[str]]] = {}
    for path, figure, reason in reasons:
        by_reason.setdefault(reason, {}).setdefault(path, []).append(figure)
    found = []
    for reason, paths in by_reason.items():
        first = next(iter(paths))
        figures = dict.fromkeys(name for each in paths.values() for name in each)
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        found.append(f"{first}{more}: no {', '.join(figures)}: {reason}")
    return found


def interval_lines(fits: Sequence[FitOver]) -> list[str]:
    """The line that says what the intervals are over; none where there are none."""
    kinds = dict.fromkeys(each.over for each in fits if each.over is not None)
    return [_INTERVAL_SAYS.format(" or ".join(kinds))] if kinds else []


def estimate_fields(
    name: str, unit: str, estimate: Iterable[float] | None
) -> dict[str, float | None]:
    """A figure and its interval for JSON: ``NAME_UNIT``, ``NAME_low_UNIT``, ``NAME_high_UNIT``."""
    names = [f"{name}{end}_{unit}".rstrip("_") for end in ("", "_low", "_high")]
    values = (None,) * 3 if estimate is None else map(finite, estimate)
    return dict(zip(names, values, strict=True))


def finite(value: float | None) -> float | None:
    """None for what JSON has no number for."""
    return value if value is not None and math.isfinite(value) else None

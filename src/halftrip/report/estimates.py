"""Figures with their intervals, and why some are missing, in lines and in JSON: what the models of
curves have in common."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol

from rich.text import Text

from halftrip.report.cells import NOTHING, text_lines
from halftrip.report.fields import curve_name, varying
from halftrip.results.configuration import Configuration
from halftrip.results.names import Names
from halftrip.stats.curve_times import Over
from halftrip.stats.estimate import Estimate
from halftrip.units import significant

_INTERVAL_SAYS = "in brackets: 95 % interval, over {0}."


class Fit(Protocol):
    """What has intervals over launches or slices."""

    @property
    def over(self) -> Over | None: ...


def namer(configurations: Sequence[Configuration], names: Names) -> Callable[[Configuration], str]:
    """What tells each of these from the others."""
    fields = varying(configurations)
    return lambda each: curve_name(each, fields, names)


def reason_lines(reasons: Sequence[tuple[str, str, str]], width: int) -> list[Text]:
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
        found += text_lines(f"{first}{more}: no {', '.join(figures)}: {reason}", width)
    return found


def interval_lines(fits: Sequence[Fit]) -> list[str]:
    """The line that says what the intervals are over; none where there are none."""
    kinds = dict.fromkeys(each.over for each in fits if each.over is not None)
    return [_INTERVAL_SAYS.format(" or ".join(kinds))] if kinds else []


def with_interval(estimate: Estimate | None, scale: float) -> str:
    """A figure and its interval: ``0.20 [0.19, 0.21]``."""
    if estimate is None:
        return NOTHING
    digits = _digits(estimate)
    value, low, high = (signed(each / scale, digits) for each in estimate)
    return f"{value} [{low}, {high}]"


def _digits(estimate: Estimate) -> int:
    """So many significant digits that the interval is not 0 wide, at most four."""
    width = estimate.high - estimate.low
    largest = max(abs(estimate.value), abs(estimate.low))
    if not width > 0 or not math.isfinite(width) or not largest > 0:
        return 3
    return min(max(2, 1 + math.ceil(math.log10(largest / width))), 4)


def signed(value: float, digits: int) -> str:
    """A number that may be below 0; ``any`` of one that has no bound."""
    if math.isinf(value):
        return "any"
    return f"{'-' if value < 0 else ''}{significant(abs(value), digits)}"


def estimate_fields(name: str, unit: str, estimate: Estimate | None) -> dict[str, float | None]:
    """A figure and its interval for JSON: ``NAME_UNIT``, ``NAME_low_UNIT``, ``NAME_high_UNIT``."""
    names = [f"{name}{end}_{unit}" for end in ("", "_low", "_high")]
    values = (None,) * 3 if estimate is None else map(finite, estimate)
    return dict(zip(names, values, strict=True))


def finite(value: float | None) -> float | None:
    """None for what JSON has no number for."""
    return value if value is not None and math.isfinite(value) else None

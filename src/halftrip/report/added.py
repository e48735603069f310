"""What a layer adds: a row beside that of the layer below it, and the figures and names of both."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from halftrip.analysis.layers import steps
from halftrip.analysis.rows import Row
from halftrip.report.cells import NOTHING
from halftrip.report.columns import is_round_trip, one_way_times
from halftrip.report.document import Document
from halftrip.report.fields import Field, varying
from halftrip.report.overview import mark
from halftrip.results.configuration import Configuration
from halftrip.stats.estimate import Estimate, difference, ratio

# An interval has two digits up to 35 of them, else one, and the figure ends where it does (Particle
# Data Group, Review of Particle Physics, introduction, 5.3).
_TWO_DIGITS_UP_TO = 3.55
_MOST_DECIMALS = 4
# The signs of verdicts, from the best one.
_MARKS = ("", "~", "!")


class Added(NamedTuple):
    """A row, that of the layer below it, and both times, ns, with their intervals: of a message, or
    `round_trip`."""

    upper: Row
    lower: Row
    times: tuple[Estimate, Estimate]
    round_trip: bool

    @property
    def configuration(self) -> Configuration:
        """That of the upper row."""
        return self.upper.configuration

    @property
    def size(self) -> int:
        """Of the messages, bytes."""
        return self.configuration.size

    @property
    def layers(self) -> tuple[str, str]:
        """The upper transport and the lower one."""
        return self.configuration.transport, self.lower.configuration.transport

    @property
    def cost(self) -> Estimate:
        """What the upper layer adds to the time, us."""
        return difference(*self.times).scaled(1e-3)

    @property
    def ratio(self) -> Estimate:
        """The time of the upper layer / that of the lower one."""
        return ratio(*self.times)

    @property
    def change(self) -> Estimate:
        """The change of bandwidth, % of that of the lower layer; NaN of empty messages."""
        upper, lower = self.times
        change = ratio(lower, upper).scaled(100.0, -100.0)
        return change if self.size else Estimate(math.nan)

    @property
    def mark(self) -> str:
        """The sign of the worse verdict."""
        return max(mark(self.upper), mark(self.lower), key=_MARKS.index)

    @property
    def differing(self) -> list[Field]:
        """The fields in which the two rows differ."""
        return varying((self.configuration, self.lower.configuration))


def added(document: Document) -> list[Added]:
    """What each layer adds, the lowest layers first, in the order of tables."""
    rows = {row.configuration: row for row in document.rows if row.summary.latency >= 0}
    of = one_way_times(document.round_trips)

    def time(row: Row) -> Estimate:
        return Estimate(row.summary.latency, row.summary.low, row.summary.high).scaled(of(row))

    return [
        Added(
            upper, lower, (time(upper), time(lower)), document.round_trips and is_round_trip(upper)
        )
        for upper, lower in ((rows[each.upper], rows[each.lower]) for each in steps(rows))
    ]


# As text.


def above(added: Added, fields: Sequence[Field]) -> str:
    """The upper layer with these fields."""
    values = [field.of(added.configuration) for field in dict.fromkeys(fields)]
    return " ".join(filter(None, [added.layers[0], *values]))


def below(added: Added) -> str:
    """The lower layer with the fields in which it differs."""
    values = [field.of(added.lower.configuration) for field in added.differing]
    return " ".join(filter(None, [added.layers[1], *values]))


def figure(estimate: Estimate) -> str:
    """A difference, with its sign, as far as the interval supports it."""
    if math.isnan(estimate.value):
        return NOTHING
    return _rounded(estimate.value, _decimals(estimate), "+")


def bounds(estimate: Estimate) -> str:
    """The interval of a difference."""
    if math.isnan(estimate.half_width):
        return NOTHING
    low, high = (_rounded(each, _decimals(estimate)) for each in (estimate.low, estimate.high))
    return f"{low} to {high}"


def _decimals(estimate: Estimate) -> int:
    width, value = estimate.half_width, abs(estimate.value)
    if 0 < width < math.inf:
        decimals = -math.floor(math.log10(width / _TWO_DIGITS_UP_TO))
    else:
        # Three digits, where there is no interval.
        decimals = 2 - math.floor(math.log10(value)) if value > 0 else 0
    return min(max(0, decimals), _MOST_DECIMALS)


def _rounded(value: float, decimals: int, sign: str = "") -> str:
    # Adding 0 makes a 0 of -0.
    rounded = round(value, decimals) + 0.0
    return f"{rounded:{sign if rounded else ''},.{decimals}f}"

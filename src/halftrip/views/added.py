"""What a layer adds: a row beside that of the layer below it, and the figures and names of both."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from halftrip.analysis.layers import steps
from halftrip.analysis.rows import Row
from halftrip.report.document import Document
from halftrip.report.fields import Field, varying
from halftrip.report.numbers import worse_mark
from halftrip.results.configuration import Configuration
from halftrip.stats.estimate import Estimate, difference, ratio
from halftrip.views.columns import is_round_trip, one_way_times


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
        return worse_mark(self.upper, self.lower)

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

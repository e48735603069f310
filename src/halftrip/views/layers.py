"""What each layer of software adds to the one below it: a table, and the rows of both."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from halftrip.analysis.figure import ALWAYS, BRIEF, MORE
from halftrip.analysis.layers import MAY_DIFFER, ONE_WAY_OF, below_in, steps
from halftrip.analysis.like_states import alike
from halftrip.analysis.rows import Row
from halftrip.render.blocks import (
    NO_BREAK,
    SPACE,
    Block,
    Column,
    Items,
    Legend,
    Paragraph,
    View,
    table,
)
from halftrip.report.document import Document
from halftrip.report.fields import Field, common, varying
from halftrip.report.numbers import (
    NOTHING,
    bounds,
    factor_texts,
    marked,
    with_sign,
    worse_mark,
)
from halftrip.results.configuration import Configuration
from halftrip.results.patterns import ONE_WAY
from halftrip.stats.estimate import Estimate, difference, ratio
from halftrip.units import size_in_words
from halftrip.views.columns import SIZE, is_round_trip, one_way_times, setting_column
from halftrip.views.no_layers import why_none

_TITLE = "What layers add"
# What a summary is of, where it was measured: this size, one way at a time.
_USUAL_SIZE = 8
# A summary is of one of each.
_OF_KIND = ("pattern", "mode", "window")
# Behind what may as well be 0.
_UNSURE = "?"

_SAYS = (
    "adds: to the time of a message, over the layer below; 95 % interval: of that, from the "
    "intervals of both. ratio: of both times; bandwidth is divided by it."
)
_RATE_SAYS = (
    "bandwidth: of all directions, 1 MB = 10^6 bytes; change: as a share of that of the layer "
    "below, with its interval. per message: what is added to its time."
)
_MARKS_SAY = "~ caution   ! no: see show --why"
_UNSURE_SAYS = "? not told apart: the interval contains 0, or there is none"


def layers(document: Document) -> View:
    """A line for each layer over another, then the tables of latencies and of bandwidths."""
    every = added(document)
    if not every:
        return View([Paragraph(f"no layers: {why_none(document)}")], title=_TITLE)
    blocks: list[Block] = [Items(_summaries(every))]
    for of_rates in (False, True):
        found = _of_rates(every, of_rates)
        if found:
            columns = [*_path_columns(found), *(_RATES if of_rates else _times(found))]
            shown = table(found, columns, section=_path)
            blocks += [SPACE, shown.titled(_heading(found), "above")]
    return View([*blocks, SPACE, Legend(_legend(every))], title=_TITLE)


def _of_rates(every: Sequence[Added], of_rates: bool) -> list[Added]:
    return [each for each in every if each.configuration.is_rate == of_rates]


def _uppers(every: Sequence[Added]) -> list[Configuration]:
    return [each.configuration for each in every]


def _by_layers(every: Sequence[Added]) -> list[list[Added]]:
    """Those of each two layers."""
    found: dict[tuple[str, str], list[Added]] = {}
    for each in every:
        found.setdefault(each.layers, []).append(each)
    return list(found.values())


# The line of each layer.


def _summaries(every: Sequence[Added]) -> list[str]:
    lines = []
    for of_layers in _by_layers(every):
        fields = [field for field in varying(_uppers(of_layers)) if field.name not in _OF_KIND]
        by_name: dict[str, list[Added]] = {}
        for each in of_layers:
            name = f"{above(each, [*fields, *each.differing])} over {below(each)}"
            name += f", {each.state}" if each.state else ""
            by_name.setdefault(name, []).append(each)
        lines += [f"{name}: {_summary(found)}" for name, found in by_name.items()]
    return lines


def _summary(every: Sequence[Added]) -> str:
    """What is added to the time of small messages, and what large ones lose of their bandwidth: in
    a stream, or, if there are streams of small messages only, one by one."""
    latencies, rates = _of_rates(every, False), _of_rates(every, True)
    of_time = latencies or rates
    small = min(_of_one_kind(of_time), key=lambda each: (each.size != _USUAL_SIZE, each.size))
    of_bandwidth = rates or latencies
    if latencies and max(each.size for each in of_bandwidth) <= small.size:
        of_bandwidth = latencies
    large = max(_of_one_kind(of_bandwidth), key=lambda each: each.size)
    if latencies and small.cost.value < 0 and small.cost.is_apart_from(0.0):
        # What goes by way of another path takes no less time than that.
        waits = any(field.name == "wait" for field in small.differing)
        why = "it waits in another way, or does not go" if waits else "it does not go"
        return f"{_of_time(small)}: {why} by way of {small.layers[1]}"
    said = _of_time(small) + _kind(small, of_time)
    if math.isnan(large.change.value) or (latencies and large.size <= small.size):
        return said
    return f"{said}, {_of_bandwidth(large)}{_kind(large, of_bandwidth)}"


def _of_one_kind(every: Sequence[Added]) -> list[Added]:
    """Those of a usual pattern, else of the first one, and of its first mode and window."""

    def kind(each: Added) -> tuple[str, str, int]:
        return each.configuration.kind[1:]

    chosen = min(map(kind, every), key=lambda found: found[0] not in ONE_WAY)
    return [each for each in every if kind(each) == chosen]


def _kind(one: Added, every: Sequence[Added]) -> str:
    """What tells the kind of a row from others."""
    fields = [field for field in varying(_uppers(every)) if field.name in _OF_KIND]
    return f" ({', '.join(field.of(one.configuration) for field in fields)})" if fields else ""


def _of_time(one: Added) -> str:
    what = "message" if one.configuration.is_rate else "round trip" if one.round_trip else ""
    per = f" per {what}" if what else ""
    said = f"{with_sign(one.cost)}{one.mark} us{per}"
    return _with_interval(one, one.cost, said, f"time{per}", "us")


def _of_bandwidth(one: Added) -> str:
    said = f"{with_sign(one.change)}{one.mark} % bandwidth"
    return _with_interval(one, one.change, said, "bandwidth", "%")


def _with_interval(one: Added, estimate: Estimate, said: str, what: str, unit: str) -> str:
    at = f"at {size_in_words(one.size)}".replace(" ", NO_BREAK)
    interval = bounds(estimate).replace(" ", NO_BREAK)
    if interval == NOTHING:
        return f"{what} not told apart (no interval) {at}"
    if not estimate.is_apart_from(0.0):
        return f"{what} not told apart ({interval}{NO_BREAK}{unit}) {at}"
    return f"{said} ({interval}) {at}"


# The tables.


def _heading(every: Sequence[Added]) -> str:
    if every[0].configuration.is_rate:
        title = "bandwidth"
    else:
        title = "round trip" if _has_round_trips(every) else "one-way latency"
    return ", ".join([title, *common(_uppers(every), simulated=False, brief=True)])


def _has_round_trips(every: Sequence[Added]) -> bool:
    return any(each.round_trip for each in every)


def _path(one: Added) -> object:
    return one.configuration.curve, one.lower.configuration.curve


def _of_upper(column: Column) -> Column:
    value = column.value or column.cell
    return column._replace(
        cell=lambda one: column.cell(one.upper), value=lambda one: value(one.upper)
    )


def _path_columns(every: Sequence[Added]) -> list[Column]:
    """The two layers, the settings in which upper rows differ, and the size. Settings in which the
    layers may differ matter less where each layer has only one of them."""
    within = [field for of_layers in _by_layers(every) for field in varying(_uppers(of_layers))]
    settings = [
        setting_column(field)
        if field in within or field.name not in MAY_DIFFER
        else setting_column(field)._replace(rank=MORE + 3)
        for field in varying(_uppers(every))
    ]
    always = {column.name for column in settings if column.rank == ALWAYS}

    def layer(one: Added) -> str:
        return above(one, [field for field in one.differing if field.name not in always])

    return [
        Column("layer", "", layer, is_text=True, rank=ALWAYS),
        *map(_of_upper, settings),
        Column("over", "", below, is_text=True, rank=ALWAYS),
        _of_upper(SIZE),
        *([_STATE] if any(one.state for one in every) else []),
    ]


_STATE = Column("state", "", lambda one: one.state, is_text=True, rank=ALWAYS)


def _of_row(place: int, cell: Callable[[Row, Estimate], str]) -> Callable[[Added], str]:
    """A cell about the upper row (0) or the lower one (1), and its time."""
    return lambda one: cell((one.upper, one.lower)[place], one.times[place])


def _time(row: Row, time: Estimate) -> str:
    return marked(row, time.value, "us")


def _bandwidth(row: Row, _: Estimate) -> str:
    return marked(row, row.bandwidth, "MB/s")


def _told(estimate: Estimate) -> str:
    """A figure, with a sign where it may as well be 0."""
    said = with_sign(estimate)
    return said if said == NOTHING or estimate.is_apart_from(0.0) else said + _UNSURE


def _ratio(one: Added) -> str:
    return factor_texts(one.ratio)[0]


def _times(every: Sequence[Added]) -> tuple[Column, ...]:
    name = "round trip" if _has_round_trips(every) else "latency"
    return (Column(name, "us", _of_row(0, _time)), *_TIMES)


_TIMES = (
    Column("below", "us", _of_row(1, _time)),
    Column("adds", "us", lambda one: _told(one.cost), rank=ALWAYS, value=lambda one: one.cost),
    Column("95 % interval", "us", lambda one: bounds(one.cost), rank=BRIEF),
    Column("ratio", "", _ratio, rank=MORE + 1, value=lambda one: one.ratio),
)
_RATES = (
    Column("bandwidth", "MB/s", _of_row(0, _bandwidth)),
    Column("below", "MB/s", _of_row(1, _bandwidth)),
    Column("change", "%", lambda one: _told(one.change), rank=ALWAYS, value=lambda one: one.change),
    Column("95 % interval", "%", lambda one: bounds(one.change), rank=BRIEF),
    Column(
        "per message", "us", lambda one: _told(one.cost), rank=MORE + 1, value=lambda one: one.cost
    ),
    Column("its interval", "us", lambda one: bounds(one.cost), rank=MORE + 2),
)


def _legend(every: Sequence[Added]) -> list[str]:
    latencies, rates = _of_rates(every, False), _of_rates(every, True)
    said = [_SAYS] * bool(latencies) + [_RATE_SAYS] * bool(rates)
    if any(each.mark for each in every):
        said.append(_MARKS_SAY)
    if latencies and rates:
        transports = dict.fromkeys(name for each in every for name in each.layers)
        said += [two_ways(name) for name in transports if name in ONE_WAY_OF]
    estimates = [*(each.cost for each in every), *(each.change for each in rates)]
    if any(_told(estimate).endswith(_UNSURE) for estimate in estimates):
        said.append(_UNSURE_SAYS)
    return said


def two_ways(transport: str) -> str:
    """That the latencies and bandwidths of this transport, one of ONE_WAY_OF, are of two ways."""
    return (
        f"{transport}: replies go another way than streams, so that times of a ping-pong and of a "
        f"stream are not of one path; {ONE_WAY_OF[transport]} has one way for both."
    )


# A row beside that of the layer below it.


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
    def state(self) -> str:
        """What the state of the machine is called that both figures are of, where it matters."""
        return next((row.state.word for row in (self.upper, self.lower) if row.state), "")

    @property
    def mark(self) -> str:
        """The sign of the worse verdict."""
        return worse_mark(self.upper, self.lower)

    @property
    def differing(self) -> list[Field]:
        """The fields in which the two rows differ."""
        return varying((self.configuration, self.lower.configuration))


def added(document: Document) -> list[Added]:
    """What each layer adds, the lowest layers first, in the order of tables: by figures of the same
    state of the machine."""
    rows = {row.configuration: row for row in document.rows if row.summary.latency >= 0}
    of = one_way_times(document.round_trips)

    def time(row: Row) -> Estimate:
        return row.summary.time.scaled(of(row))

    both = (
        (rows[each.upper], rows[each.lower])
        for each in steps(rows, partial(below_in, document.run))
    )
    like = (alike((upper, *upper.others), (lower, *lower.others)) for upper, lower in both)
    return [
        Added(
            upper, lower, (time(upper), time(lower)), document.round_trips and is_round_trip(upper)
        )
        for upper, lower in filter(None, like)
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

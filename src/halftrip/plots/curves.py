"""Latency, bandwidth and messages per second by message size."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import altair as alt

from halftrip.analysis.breakpoints import Breakpoint
from halftrip.analysis.rows import Row
from halftrip.errors import UsageError
from halftrip.plots.bars import (
    are_far_apart,
    for_bars,
    from_zero,
    interval_says,
    on_log,
    only_size,
)
from halftrip.plots.bounds import bend_record, bends_of, bounds
from halftrip.plots.by_size import by_size
from halftrip.plots.chart import (
    Chart,
    Record,
    Subject,
    log_scale,
    place_of_size,
    si_axis,
)
from halftrip.plots.parts import JOINED, by_few_sizes, said_once
from halftrip.plots.points import (
    Axis,
    Level,
    Look,
    Moment,
    Points,
    ends_of,
    record,
)
from halftrip.plots.series import DrawnRow, in_common, lines_by_pattern
from halftrip.plots.theme import HUES
from halftrip.report.numbers import number, width_of
from halftrip.stats.estimate import Estimate
from halftrip.units import size_in_words
from halftrip.views import states

_JOINED_SAYS = (
    "Sizes at most four times apart are joined, if there is no jump between them, and none failed."
)
# Of more curves than these, the best have colours, and the others are grey: the last colour is.
_MOST_COLOURED = 10
_OTHERS = "others"
_LOOK = Look(size=38, hollow="datum.verdict === 'no'", joined="piece", width=2.0, has_band=True)
_TIP = (
    alt.Tooltip("what:N", title="what"),
    alt.Tooltip("size:N", title="size"),
    alt.Tooltip("figure:N", title="figure"),
    alt.Tooltip("interval:N", title="95 %"),
    alt.Tooltip("verdict:N", title="verdict"),
    alt.Tooltip("cause:N", title="cause"),
)


class _Figure(NamedTuple):
    """What is drawn: its kind and title, that of its axis, and its unit there; the figure of a row
    with its interval in that unit, which rows have it, and how it is written; and what it is of,
    where the pattern leaves that open."""

    kind: str
    title: str
    axis: str
    unit: str
    of: Callable[[Row], Estimate]
    has: Callable[[Row], bool]
    text: Callable[[float], str]
    means: str
    more_is_better: bool = True

    def cost(self, value: float) -> float:
        """The figure where less is better."""
        return -value if self.more_is_better else value


_LATENCY = _Figure(
    kind="latency",
    title="One-way latency",
    axis="one-way latency",
    unit="s",
    of=lambda row: row.summary.time.scaled(1e-9),
    has=lambda row: not row.configuration.is_rate,
    text=lambda value: f"{number(value * 1e9, 3, 1e3)} us",
    means="Latency: half of a round trip, where there is one.",
    more_is_better=False,
)
_BANDWIDTH = _Figure(
    kind="bandwidth",
    title="Bandwidth",
    axis="bandwidth (1 GB = 10^9 B)",
    unit="B/s",
    of=lambda row: row.over_time(row.bandwidth),
    has=lambda row: row.bandwidth > 0,
    text=lambda value: f"{number(value, 3, 1e6)} MB/s",
    means="Bandwidth: payload, in all directions in which it is sent at once.",
)
_RATE = _Figure(
    kind="rate",
    title="Message rate",
    axis="messages per second",
    unit="/s",
    of=lambda row: row.over_time(row.rate),
    has=lambda row: row.rate > 0,
    text=lambda value: f"{number(value, 3, 1e6)} M/s",
    means="Messages: in all directions in which they are sent at once.",
)


def latency(subjects: Sequence[Subject]) -> list[Chart]:
    """The latencies of all rows whose result is the time of a message. Raises UsageError where
    there are none."""
    lacks = "no row's result is the time of a message; --kind bandwidth shows the rest"
    return _charts(subjects, _LATENCY, lacks)


def bandwidth(subjects: Sequence[Subject]) -> list[Chart]:
    """The bandwidths of all rows. Raises UsageError where there are none."""
    return _charts(subjects, _BANDWIDTH, "no row has a bandwidth; --kind latency shows times")


def bandwidths(subjects: Sequence[Subject]) -> dict[str, list[Chart]]:
    """The same by pattern; empty messages have none."""
    return _by_pattern(subjects, _BANDWIDTH)


def rate(subjects: Sequence[Subject]) -> list[Chart]:
    """The messages per second of all rows. Raises UsageError where there are none."""
    return _charts(subjects, _RATE, "no row has messages per second")


def _charts(subjects: Sequence[Subject], figure: _Figure, lacks: str) -> list[Chart]:
    """The charts of all patterns."""
    found = _by_pattern(subjects, figure)
    if not found:
        raise UsageError(f"--kind {figure.kind}: {lacks}")
    return [chart for charts in found.values() for chart in charts]


def _by_pattern(subjects: Sequence[Subject], figure: _Figure) -> dict[str, list[Chart]]:
    """A chart of each pattern, or of each of its few sizes."""

    def drawn(row: Row) -> bool:
        return row.configuration.size_known and figure.has(row) and figure.of(row)[0] > 0

    def of(pattern: str, lines: Sequence[DrawnRow]) -> list[Chart]:
        names = [*dict.fromkeys(line.name for line in lines)]
        parts = by_few_sizes(lines, lambda line: line.configuration.size, lambda line: line.name)
        return said_once([_chart(pattern, part, figure, names) for part in parts])

    found = lines_by_pattern(subjects, drawn)
    return {pattern: of(pattern, lines) for pattern, lines in found.items()}


def _chart(pattern: str, lines: Sequence[DrawnRow], figure: _Figure, names: Sequence[str]) -> Chart:
    bends = bends_of(lines)
    records = _records(lines, figure, bends)
    data = {
        "bends": [bend_record(*each) for each in bends],
        "bounds": bounds(lines) if figure is _LATENCY else [],
    }
    size = only_size(records)
    is_bars = size is not None and not are_far_apart(records)
    others: list[str] = []
    if size is not None:
        # The best first.
        records = sorted(
            for_bars(records) if is_bars else records, key=lambda each: figure.cost(each["y"])
        )
    elif len(names) > _MOST_COLOURED:
        others = _others(lines, figure)
        names = [name for name in names if name not in others] + [_OTHERS]
        for each in (*records, *data["bends"]):
            each["series"] = _OTHERS if each["series"] in others else each["series"]
        # What is drawn last lies on top.
        records.sort(key=lambda each: each["series"] != _OTHERS)
    values = [*ends_of(records), *(each["y"] for each in data["bounds"])]
    axis = si_axis(figure.axis, figure.unit, values, is_log=not is_bars)
    if size is None:
        placed = Axis(log_scale(values), axis)
    else:
        placed = from_zero(axis, values, records) if is_bars else on_log(axis, values, records)
    points = Points(
        records=records,
        names=names,
        axis=placed,
        unit=figure.unit,
        look=_LOOK._replace(faint=f"datum.series === '{_OTHERS}'") if others else _LOOK,
        tip=_TIP,
        is_log=True,
        data=data,
        levels=[Level("bounds", has_text=True)],
        moments=[Moment("bends", "bend", of_series=True)],
    )
    return by_size(
        figure.kind,
        pattern,
        f"{figure.title} by message size",
        points,
        text=_in_words(lines, figure),
        lines=[
            *in_common(lines),
            *_states(lines),
            *_doubts(lines, figure, "bar" if is_bars else "point"),
            *([f"Grey: {', '.join(others)}."] if others else []),
        ],
        marks=_says(lines, figure, records, data, size is not None, is_bars),
    )


def _others(lines: Sequence[DrawnRow], figure: _Figure) -> list[str]:
    """The names of all but the best lines, at the smallest size where less is better, else at the
    largest; lines of several runs that are alike but for the run stand together."""
    best: dict[str, tuple[float, float]] = {}
    names: dict[str, dict[str, None]] = {}
    for line in lines:
        _, _, curve = line.key.partition("-")
        size = line.configuration.size
        place = -size if figure.more_is_better else size
        found = (place, figure.cost(figure.of(line.row).value))
        best[curve] = min(found, best.get(curve, found))
        names.setdefault(curve, {})[line.name] = None
    ordered = dict.fromkeys(
        name for curve in sorted(names, key=lambda each: best[each]) for name in names[curve]
    )
    return [*ordered][HUES - 1 :]


def _states(lines: Sequence[DrawnRow]) -> list[str]:
    """The line about the state of the machine, where figures go with that."""
    return [*filter(None, [states.held_most([line.row for line in lines])])]


def _doubts(lines: Sequence[DrawnRow], figure: _Figure, mark: str) -> list[str]:
    """How many marks have no interval, and how many others are not to be trusted."""

    def marks(count: int) -> str:
        if count == len(lines):
            return f"The {mark} has" if count == 1 else f"All {count} {mark}s have"
        return f"{count} of {len(lines)} {mark}s {'has' if count == 1 else 'have'}"

    unknown = [line for line in lines if not math.isfinite(figure.of(line.row)[1])]
    bad = sum(line.row.verdict.word == "no" for line in lines if line not in unknown)
    said = []
    if unknown:
        said.append(f"{marks(len(unknown))} no interval.")
    if bad:
        said.append(f"{marks(bad)} the verdict no: do not rely on {'it' if bad == 1 else 'them'}.")
    return said


def _says(
    lines: Sequence[DrawnRow],
    figure: _Figure,
    records: Sequence[Record],
    data: dict[str, list[Record]],
    is_of_one_size: bool,
    is_bars: bool,
) -> list[str]:
    """What the figures are, and what bands, bars and lines mean, as far as there are any."""
    statistics = dict.fromkeys(
        "median" if line.row.source is None else line.row.source.statistic for line in lines
    )
    what = "Bars" if is_bars else "Points"
    said = [f"{figure.means} {what}: the {' or '.join(statistics)}."]
    if any(each["low"] is not None for each in records):
        marks = "Lines" if is_of_one_size else "Bands and bars"
        said.append(f"{interval_says(is_bars, marks)}: its 95 % interval.")
    said = [" ".join([*said, "Hollow: the verdict no, or no interval."])]
    if is_of_one_size:
        return [*said, *(f"Dashed: {each['what']}." for each in data["bounds"])]
    if len({each["piece"] for each in records}) < len(records):
        said.append(_JOINED_SAYS)
    if data["bends"]:
        said.append("Dashed and upright: where a curve bends or jumps.")
    return said


# Records.


def _records(
    lines: Sequence[DrawnRow], figure: _Figure, bends: Sequence[tuple[DrawnRow, Breakpoint]]
) -> list[Record]:
    records = []
    curves: dict[str, list[DrawnRow]] = {}
    for line in lines:
        curves.setdefault(line.key, []).append(line)
    for key, of_curve in curves.items():
        ordered = sorted(of_curve, key=lambda line: line.configuration.size)
        jumps = [each for line, each in bends if line.key == key]
        piece = 0
        for place, line in enumerate(ordered):
            if place and not _joined(ordered[place - 1], line, jumps):
                piece += 1
            records.append(_record(line, figure, f"{key}-{piece}"))
    return records


def _record(line: DrawnRow, figure: _Figure, piece: str) -> Record:
    value, low, high = figure.of(line.row)
    verdict, configuration = line.row.verdict, line.configuration
    has_interval = math.isfinite(low) and math.isfinite(high) and low > 0
    interval = "none"
    if has_interval:
        ends = " to ".join(map(figure.text, (low, high)))
        interval = ends if verdict.width < 1 else width_of(verdict.width)
    return record(
        line.name,
        configuration.transport,
        place_of_size(configuration.size),
        (value, low, high) if has_interval else (value, math.nan, math.nan),
        figure.text(value),
        piece=piece,
        verdict=verdict.word,
        what=line.name if line.name != configuration.transport else line.subject.name,
        size=size_in_words(configuration.size),
        interval=interval,
        cause="" if verdict.cause is None else verdict.cause.name,
    )


def _joined(one: DrawnRow, other: DrawnRow, jumps: Sequence[Breakpoint]) -> bool:
    """Whether a straight line between two neighbours says what is between them."""
    low, high = one.configuration.size, other.configuration.size
    if low == 0 or high > JOINED * low:
        return False
    # One that is known less precisely is a change of slope, which lines follow.
    jumped = Breakpoint(low, high) in jumps
    failed = any(
        failure.configuration.curve == one.configuration.curve
        and low < failure.configuration.size < high
        for failure in one.subject.document.failures
    )
    return not jumped and not failed


# For who cannot see it.


def _in_words(lines: Sequence[DrawnRow], figure: _Figure) -> str:
    """The best line at the smallest size and at the largest."""
    said = []
    sizes = sorted({line.configuration.size for line in lines})
    for size in dict.fromkeys((sizes[0], sizes[-1])):
        at_size = [line for line in lines if line.configuration.size == size]
        best = min(at_size, key=lambda line: figure.cost(figure.of(line.row).value))
        word = "highest" if figure.more_is_better else "lowest"
        said.append(
            f"{word} at {size_in_words(size)}: {figure.text(figure.of(best.row)[0])} ({best.name})"
        )
    count = len({line.key for line in lines})
    curves = "1 curve" if count == 1 else f"{count} curves"
    return f"{curves}; {'; '.join(said)}."

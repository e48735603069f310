"""Who talks how fast with whom: a heat map of all pairs of hosts, of cores, or of kinds of
memory."""

from __future__ import annotations

import base64
import math
import struct
import zlib
from collections.abc import Iterator, Sequence

import altair as alt
import numpy as np

from halftrip.errors import UsageError
from halftrip.plots.chart import (
    LEAST_RANGE,
    Chart,
    Grid,
    Record,
    Subject,
    View,
    layered,
    named,
    slug,
    text,
)
from halftrip.plots.theme import CIVIDIS
from halftrip.report.document import Document
from halftrip.report.numbers import number
from halftrip.results.configuration import Configuration
from halftrip.views.maps import said_of, way_of, with_article
from halftrip.views.matrices import Matrix, cache_lines, of_configurations

# Of each transport and pattern, the smallest and the largest of more sizes than these.
_MOST_SIZES = 2
# Figures stand in the fields of so many places or fewer.
_MOST_WITH_FIGURES = 16
# Fields of more places are pixels of an image: as marks, they take a minute to draw.
_MOST_MARKS = 64
# So many fields without an answer are hatched; if there are more, it is those that stand out.
_MOST_HATCHED = 500
_FIELD, _LEAST, _MOST = 44, 160, 620
# The scale of hues beside a map, and the room that its title takes.
_HUES, _HUES_TITLE = 200, 50
# A letter of a label is about so wide, in pixels.
_LETTER = 6.5
_DARK = 0.55
# A pair that is less slow than this, beside the median pair, is not pointed out.
_LEAST_SLOW = 1.05
# A hatched square, from -1 to 1.
_HATCHED = "M-1,0L0,-1M-1,1L1,-1M0,1L1,0"
_WIDTHS = (1.0, 2.0, 3.0, 4.0)


def pairs(subjects: Sequence[Subject]) -> list[Chart]:
    """A heat map for each configuration that several pairs, or several kinds of memory, have
    measured. Raises UsageError where there is none."""
    charts = []
    for run, subject in enumerate(subjects):
        document = subject.document
        least = 1 if _is_asked(document) else 2
        every = [each for each in of_configurations(document) if len(each[1][0].values) >= least]
        chosen = _outermost(every)
        drawn = [*cache_lines(document), *(made[0] for _, made in chosen)]
        made = [
            _chart(subject, slug("pairs", run, place), matrix)
            for place, matrix in enumerate(drawn)
            if matrix.values
        ]
        if len(chosen) < len(every):
            said = (
                f"{len(chosen)} of {len(every)} configurations are drawn, of the smallest and the "
                "largest messages; choose others with -s."
            )
            made[0] = made[0]._replace(lines=[*made[0].lines, said])
        charts += made
    if not charts:
        raise UsageError(
            "--kind pairs: one pair has been measured; --pairs all measures all of them"
        )
    return charts


def _is_asked(document: Document) -> bool:
    """Whether a map was asked for, however few places it has."""
    return document.run.header.plan.get("pairs") == "all" and bool(cache_lines(document))


def _outermost(
    every: Sequence[tuple[Configuration, Sequence[Matrix]]],
) -> list[tuple[Configuration, Sequence[Matrix]]]:
    """Of each curve, the settings of the smallest and the largest size."""
    curves: dict[Configuration, list[tuple[Configuration, Sequence[Matrix]]]] = {}
    for each in every:
        curves.setdefault(each[0].curve, []).append(each)
    found = []
    for of_curve in curves.values():
        ordered = sorted(of_curve, key=lambda each: each[0].size)
        found += ordered if len(ordered) <= _MOST_SIZES else [ordered[0], ordered[-1]]
    return found


def _chart(subject: Subject, name: str, matrix: Matrix) -> Chart:
    (one, other), slowest = max(matrix.values.items(), key=lambda each: matrix.slowness(each[1]))
    factor = matrix.slowness(slowest)
    unit = matrix.figure.unit
    both = " and ".join(map(matrix.called, (one, other)))
    who = way_of(matrix, (one, other)) if matrix.across else both
    said = (
        f"Slowest: {text(who)}, {number(slowest)} {unit}, {number(factor)} times as slow as the "
        "median pair."
    )
    if factor < _LEAST_SLOW:
        said = f"No pair is {100 * (_LEAST_SLOW - 1):.0f} % slower than the median pair."
    if len(matrix.values) == 1:
        said = ""
    title, what = map(text, matrix.title.rsplit(": ", 1))
    what += f"; across: {matrix.across_head}" if matrix.across else ""
    told = [f"{line[0].upper()}{line[1:]}." for line in map(text, said_of(matrix))]
    missing = [*_missing(matrix)]
    places = max(len(matrix.hosts), len(matrix.columns))
    return Chart(
        name=name,
        title=f"All pairs: {title}",
        lines=[*filter(None, [f"{what}. run {subject.name}", said, *told, matrix.state])],
        marks=[_legend(matrix, factor >= _LEAST_SLOW, bool(missing))],
        view=_view(matrix, bool(missing)),
        data={
            "pairs": _records(matrix, as_image=places > _MOST_MARKS),
            "missing": missing[:_MOST_HATCHED],
            "boxes": [*_boxes(matrix)],
            "whole": [_outermost_names(matrix)] if places > _MOST_MARKS else [],
        },
        text=" ".join([f"All pairs of {places}: {title}. {said}", *told]),
        drawing=_grid(matrix),
        height=_height(matrix),
    )


def _height(matrix: Matrix) -> int:
    return max(_LEAST, min(_MOST, _FIELD * len(matrix.hosts)))


def _legend(matrix: Matrix, has_slowest: bool, has_missing: bool) -> str:
    said = f"{'Framed in white: the slowest pair. ' if has_slowest else ''}Yellow: slow."
    if matrix.groups:
        names = [with_article(name) for name, _ in matrix.groups]
        said += f" Boxes, from thin to thick: cores that share {', '.join(names)}."
    return f"{said} Hatched: no answer." if has_missing else said


def _cells(matrix: Matrix) -> Iterator[tuple[str, str, float]]:
    """The fields that have a value: its line, its column and the value."""
    for one, other in matrix.values:
        value = matrix.values[one, other]
        yield one, other, value
        if not matrix.across and one != other:
            yield other, one, value


def _missing(matrix: Matrix) -> Iterator[Record]:
    for one in matrix.hosts:
        for other in matrix.columns:
            if matrix.is_missing(one, other):
                yield {"one": text(one), "other": text(other)}


def _records(matrix: Matrix, as_image: bool) -> list[Record]:
    """The fields; of an image those with the most and the least, which a legend is made of."""
    slowness = {value: matrix.slowness(value) for value in {*matrix.values.values()}}
    worst, best = max(slowness.values()), min(slowness.values())
    low, high = _ends(matrix)
    slowest = max(matrix.values, key=lambda link: slowness[matrix.values[link]])
    framed = {slowest} if matrix.across else {slowest, slowest[::-1]}
    found: list[Record] = []
    for one, other, value in _cells(matrix):
        is_outermost = slowness[value] in (worst, best)
        if as_image and not is_outermost:
            continue
        place = math.log(value / low) / math.log(high / low)
        hue = 1.0 - place if matrix.figure.more_is_better else place
        found.append(
            {
                "one": text(one),
                "other": text(other),
                "value": value,
                "slowness": slowness[value],
                "figure": f"{number(value)} {matrix.figure.unit}",
                "short": number(value, 2),
                "is_worst": (one, other) in framed and worst >= _LEAST_SLOW,
                "is_dark": hue < _DARK,
            }
        )
    return found


def _boxes(matrix: Matrix) -> Iterator[Record]:
    """The first and the last place of each group, and how thick its box is."""
    for (_, groups), width in zip(matrix.groups, _WIDTHS, strict=False):
        for group in groups:
            yield {"first": text(group[0]), "last": text(group[-1]), "width": width}


def _grid(matrix: Matrix) -> Grid:
    def cell(one: str, other: str) -> float:
        if matrix.is_missing(one, other):
            return math.inf
        value = None if one == other and not matrix.across else matrix.between(one, other)
        return math.nan if value is None else matrix.slowness(value)

    outermost = matrix.groups[-1][1] if matrix.groups else ()
    firsts = {group[0] for group in outermost[1:]}
    return Grid(
        [*map(text, matrix.hosts)],
        [[cell(one, other) for other in matrix.columns] for one in matrix.hosts],
        [number for number, host in enumerate(matrix.hosts) if host in firsts],
    )


def _ends(matrix: Matrix) -> tuple[float, float]:
    """The values at both ends of the colour scale: less is no difference to be shown, and what
    differs by less is fast."""
    low, high = min(matrix.values.values()), max(matrix.values.values())
    if matrix.figure.more_is_better:
        return min(low, high / LEAST_RANGE), high
    return low, max(high, LEAST_RANGE * low)


def _view(matrix: Matrix, has_missing: bool) -> View:
    lines, columns = ([*map(text, each)] for each in (matrix.hosts, matrix.columns))
    low, high = ends = _ends(matrix)
    scale = alt.Scale(
        type="log",
        domain=[*ends],
        nice=False,
        range=[*CIVIDIS[:: -1 if matrix.figure.more_is_better else 1]],
    )

    def axis(title: str, angle: int = 0) -> alt.Axis:
        return alt.Axis(title=title, labelOverlap="greedy", labelAngle=angle, labelLimit=120)

    named_lines, named_columns = ("", "") if matrix.head == "host" else (matrix.head, matrix.head)
    if matrix.across:
        named_columns = matrix.across_head
    hues = alt.Color(
        "value:Q",
        scale=scale,
        # In a log scale, few ticks that Vega chooses are within a narrow range, or none.
        legend=alt.Legend(
            title=[matrix.figure.name, matrix.figure.unit],
            format=".3~r",
            values=[low, math.sqrt(low * high), high],
            gradientLength=min(_HUES, _height(matrix) - _HUES_TITLE),
        ),
    )
    x = alt.X(
        "other:N", sort=columns, scale=_band(columns), axis=axis(named_columns, _angle(columns))
    )
    y = alt.Y("one:N", sort=lines, scale=_band(lines), axis=axis(named_lines))
    base = alt.Chart(named("pairs"))
    tip = [
        alt.Tooltip("one:N", title="one"),
        alt.Tooltip("other:N", title="other"),
        alt.Tooltip("figure:N", title="figure"),
        alt.Tooltip("slowness:Q", format=".3~f", title="times as slow as the median pair"),
    ]
    marks = [base.mark_rect(stroke=None).encode(x=x, y=y, color=hues, tooltip=tip)]
    if max(len(lines), len(columns)) > _MOST_MARKS:
        marks.insert(0, _image(matrix, ends))
    marks.append(
        base.transform_filter("datum.is_worst")
        .mark_rect(filled=False, strokeWidth=2, stroke="#FFFFFF")
        .encode(x=x, y=y)
    )
    if has_missing:
        side = 0.8 * min(_FIELD, _MOST / len(lines))
        marks.append(
            alt.Chart(named("missing"))
            .mark_point(shape=_HATCHED, size=side * side, strokeWidth=1, filled=False)
            .encode(x=x, y=y, color=alt.ColorValue("#888888"))
        )
    if matrix.groups:
        marks += _sides(lines)
    if max(len(lines), len(columns)) <= _MOST_WITH_FIGURES:
        ink = alt.condition("datum.is_dark", alt.value("#FFFFFF"), alt.value("#1B1F24"))
        marks.append(
            base.mark_text(fontSize=10).encode(x=x, y=y, text=alt.Text("short:N"), color=ink)
        )
    return layered(*marks)


def _angle(names: Sequence[str]) -> int:
    """That of labels below the fields: as wide as these, they would hide each other."""
    longest = max(map(len, names), default=0)
    return -45 if longest * len(names) * _LETTER > _MOST and len(names) <= _MOST_MARKS else 0


def _band(names: Sequence[str]) -> alt.Scale:
    return alt.Scale(type="band", domain=[*names], paddingInner=0, paddingOuter=0)


def _sides(names: Sequence[str]) -> Iterator[alt.Chart]:
    """The four sides of each box."""
    scale = _band(names)
    base = alt.Chart(named("boxes")).mark_rule(color="#D55E00")
    width = alt.StrokeWidth("width:Q", scale=None)

    def x(field: str, place: float) -> alt.X:
        return alt.X(f"{field}:N", scale=scale, sort=[*names], bandPosition=place)

    def y(field: str, place: float) -> alt.Y:
        return alt.Y(f"{field}:N", scale=scale, sort=[*names], bandPosition=place)

    for field, place in (("first", 0.0), ("last", 1.0)):
        yield base.encode(
            x=x("first", 0), x2=alt.X2("last", bandPosition=1), y=y(field, place), strokeWidth=width
        )
        yield base.encode(
            y=y("first", 0), y2=alt.Y2("last", bandPosition=1), x=x(field, place), strokeWidth=width
        )


# Of many places.


def _outermost_names(matrix: Matrix) -> Record:
    """From where to where the image is."""
    (left, right), (top, bottom) = (
        (text(names[0]), text(names[-1])) for names in (matrix.columns, matrix.hosts)
    )
    return {"left": left, "right": right, "top": top, "bottom": bottom}


def _image(matrix: Matrix, ends: Sequence[float]) -> alt.Chart:
    """All fields as the pixels of one image, in the colours that the legend has."""
    lines, columns = ([*map(text, each)] for each in (matrix.hosts, matrix.columns))
    at_line, at_column = (
        {name: place for place, name in enumerate(each)} for each in (matrix.hosts, matrix.columns)
    )
    places = np.full((len(lines), len(columns)), np.nan)
    span = math.log(ends[1] / ends[0])
    for one, other, value in _cells(matrix):
        places[at_line[one], at_column[other]] = math.log(value / ends[0]) / span
    if matrix.figure.more_is_better:
        places = 1.0 - places
    stops = np.array([[int(each[n : n + 2], 16) for n in (1, 3, 5)] for each in CIVIDIS])
    steps = np.linspace(0.0, 1.0, len(stops))
    known = np.isfinite(places)
    pixels = np.zeros((*places.shape, 4), np.uint8)
    for channel in range(3):
        pixels[..., channel] = np.rint(
            np.interp(np.where(known, places, 0), steps, stops[:, channel])
        )
    pixels[..., 3] = np.where(known, 255, 0)
    url = f"data:image/png;base64,{base64.b64encode(_png(pixels)).decode()}"
    made: alt.Chart = (
        alt.Chart(named("whole"))
        .mark_image(align="left", baseline="top", aspect=False, smooth=False)
        .encode(
            x=alt.X("left:N", scale=_band(columns), sort=columns, bandPosition=0),
            x2=alt.X2("right", bandPosition=1),
            y=alt.Y("top:N", scale=_band(lines), sort=lines, bandPosition=0),
            y2=alt.Y2("bottom", bandPosition=1),
            url=alt.UrlValue(url),
        )
    )
    return made


def _png(pixels: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]) -> bytes:
    """A PNG of pixels, shape (height, width, 4): red, green, blue, opacity."""
    height, width, _ = pixels.shape
    # Each line begins with the number of a filter: none.
    lines = np.zeros((height, 1 + 4 * width), np.uint8)
    lines[:, 1:] = pixels.reshape(height, -1)

    def part(kind: bytes, content: bytes) -> bytes:
        body = kind + content
        return struct.pack(">I", len(content)) + body + struct.pack(">I", zlib.crc32(body))

    head = part(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0))
    packed = part(b"IDAT", zlib.compress(lines.tobytes(), 9))
    return b"\x89PNG\r\n\x1a\n" + head + packed + part(b"IEND", b"")

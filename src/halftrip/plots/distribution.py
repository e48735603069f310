"""How the samples of rows are distributed: shares up to a time, and densities by size."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import numpy as np
from numpy.typing import NDArray

from halftrip.analysis.summaries import configuration_times
from halftrip.errors import UsageError
from halftrip.plots.chart import (
    BYTES,
    Chart,
    Curve,
    Drawing,
    Record,
    Subject,
    View,
    curves_of,
    layered,
    log_scale,
    named,
    place_of_size,
    rounded,
    si_axis,
    size_axis,
    slug,
    visible,
)
from halftrip.plots.samples import is_sampled
from halftrip.plots.series import DrawnRow, colour, dash, in_common, lines_by_pattern
from halftrip.stats.quantile import Floats
from halftrip.units import format_size, size_in_words

# So many points of a distribution are drawn, and so many of the outline of a violin.
_MOST_POINTS = 240
# Of many lines together, so many points; of each, some at least.
_ALL_POINTS, _FEWEST_POINTS = 3600, 16
_OUTLINE = 48
# Sizes of a pattern with a chart of shares each: the smallest, the one in the middle, the largest.
_MOST_SIZES = 3
_MOST_VIOLINS = 6
# A violin is this much of the way to the next size wide, on each side of its own.
_HALF_WIDTH = 0.42
# Sizes that are further apart than this, in doublings, have violins as if they were not.
_MOST_APART = 2.0
# Beside the outermost there is room for this factor of the size.
_ROOM = 2.0
# The width of the kernel of a density, of the range of the logarithms of times.
_KERNEL = 1 / 40


def distribution(subjects: Sequence[Subject]) -> list[Chart]:
    """The shares of samples up to each time at a few sizes of each pattern, and the densities by
    size of a few curves. Raises UsageError where no row has samples."""
    found = lines_by_pattern(subjects, is_sampled)
    if not found:
        raise UsageError(
            "--kind distribution: no row has samples; a figure of another tool has none"
        )
    return [
        chart
        for pattern, lines in found.items()
        for chart in (*_shares(pattern, lines), *_violins(pattern, lines))
    ]


def _times(line: DrawnRow) -> Floats:
    """The one-way times of all samples that count, s, in order."""
    measurements = line.subject.document.run.by_configuration[line.configuration]
    times = np.concatenate([np.empty(0), *configuration_times(measurements, within=False).steady])
    return np.sort(times[times > 0]) * 1e-9


# Shares.


def _shares(pattern: str, lines: Sequence[DrawnRow]) -> list[Chart]:
    sizes = sorted({line.configuration.size for line in lines})
    chosen = [*dict.fromkeys((sizes[0], sizes[len(sizes) // 2], sizes[-1]))]
    charts = []
    for size in chosen:
        at_size = [line for line in lines if line.configuration.size == size]
        chart = _share_chart(pattern, size, at_size)
        if chart is not None:
            charts.append(chart)
    if charts and len(sizes) > len(chosen):
        said = f"{len(chosen)} of {len(sizes)} sizes have such a chart; choose others with -s."
        charts[0] = charts[0]._replace(lines=[*charts[0].lines, said])
    return charts


def _share_chart(pattern: str, size: int, lines: Sequence[DrawnRow]) -> Chart | None:
    records: list[Record] = []
    most = max(_FEWEST_POINTS, min(_MOST_POINTS, _ALL_POINTS // len(lines)))
    for line in lines:
        times = _times(line)
        records += [
            {
                "series": line.name,
                "transport": line.configuration.transport,
                "key": line.key,
                "x": rounded(times[rank]),
                "y": rounded((rank + 1) / times.size),
            }
            for rank in ranks(times.size, most)
        ]
    if not records:
        return None
    names = [*dict.fromkeys(line.name for line in lines)]
    values = [each["x"] for each in records]
    title = f"Distribution of samples: {pattern} of {size_in_words(size)}"
    view = (
        visible(alt.Chart(named("points")))
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=alt.X("x:Q", scale=log_scale(values), axis=si_axis("one-way time", "s", values)),
            y=alt.Y("y:Q", axis=alt.Axis(title="share of samples up to that time", format="%")),
            color=colour(names, is_long=True),
            strokeDash=dash(names, is_long=True),
            detail=alt.Detail("key:N"),
            tooltip=[
                alt.Tooltip("series:N", title="what"),
                alt.Tooltip("x:Q", format=".4s", title="s"),
                alt.Tooltip("y:Q", format=".4~%", title="share"),
            ],
        )
    )
    return Chart(
        name=slug("distribution", pattern, size),
        title=title,
        lines=[*in_common(lines), _SAMPLES_SAY, _thinned_says(records, lines)],
        marks=[],
        view=view,
        data={"points": records},
        text=f"{title}. {_medians(lines)}",
        drawing=Drawing(
            "s",
            "share",
            curves_of(records, names),
            x_is_log=True,
        ),
        height=240,
    )


_SAMPLES_SAY = (
    "A sample of several iterations is their mean: its tails are shorter than those of single ones."
)


def _thinned_says(records: Sequence[Record], lines: Sequence[DrawnRow]) -> str:
    count = sum(line.row.summary.samples for line in lines)
    if len(records) >= count:
        return ""
    return (
        f"{len(records):,} of {count:,} samples are drawn, both ends more densely than the middle; "
        "the lowest and the highest always."
    )


def _medians(lines: Sequence[DrawnRow]) -> str:
    said = (f"{line.name}: median {line.row.summary.latency / 1e3:.3g} us" for line in lines[:8])
    return f"{'; '.join(said)}."


def ranks(count: int, most: int) -> NDArray[np.int64]:
    """At most `most` ranks of `count` ordered values, ascending, from the lowest to the highest:
    evenly in the middle, and more and more densely towards both ends, where tails are."""
    if count <= most:
        return np.arange(count, dtype=np.int64)
    limit = np.log(count)
    logits = np.linspace(-limit, limit, most)
    shares = 1 / (1 + np.exp(-logits))
    found = np.round(shares * (count - 1)).astype(np.int64)
    return np.unique(np.concatenate([[0], found, [count - 1]]))[::1]


# Violins.

_VIOLINS_SAY = (
    "Width: how dense samples are at that time, each size by itself. Bar: the median; points: the "
    "lowest and the highest sample."
)


def _violins(pattern: str, lines: Sequence[DrawnRow]) -> list[Chart]:
    by_curve: dict[str, list[DrawnRow]] = {}
    for line in lines:
        by_curve.setdefault(line.key, []).append(line)
    several = [each for each in by_curve.values() if len(each) > 1]
    charts = [_violin_chart(pattern, each) for each in several[:_MOST_VIOLINS]]
    if len(several) > _MOST_VIOLINS:
        said = f"{_MOST_VIOLINS} of {len(several)} curves have such a chart; choose others with -t."
        charts[0] = charts[0]._replace(lines=[*charts[0].lines, said])
    return charts


def _violin_chart(pattern: str, lines: Sequence[DrawnRow]) -> Chart:
    ordered = sorted(lines, key=lambda line: line.configuration.size)
    places = [np.log2(place_of_size(line.configuration.size)) for line in ordered]
    gap = min(_MOST_APART, *np.diff(places).tolist())
    outlines: list[Record] = []
    marks: list[Record] = []
    for line, place in zip(ordered, places, strict=True):
        times = _times(line)
        if times.size:
            common = {
                "series": line.name,
                "transport": line.configuration.transport,
                "size": format_size(line.configuration.size),
            }
            outlines += [
                common
                | {
                    "y": rounded(y),
                    "left": rounded(2 ** (place - gap * w)),
                    "right": rounded(2 ** (place + gap * w)),
                }
                for y, w in _density(times)
            ]
            marks.append(common | _mark(times, float(2**place)))
    values = [each["y"] for each in outlines]
    name = ordered[0].name
    title = f"Samples by message size: {name} {pattern}"
    return Chart(
        name=slug("violins", ordered[0].key, name, pattern),
        title=title,
        lines=[
            f"run {ordered[0].subject.name}",
            _SAMPLES_SAY,
        ],
        marks=[_VIOLINS_SAY],
        view=_violin_view(name, [each["x"] for each in marks], values),
        data={"outlines": outlines, "marks": marks},
        text=f"{title}. " + "; ".join(
            f"{each['size']} bytes: median {each['y'] * 1e6:.3g} us, highest "
            f"{each['high'] * 1e6:.3g} us"
            for each in marks
        ),
        drawing=Drawing(
            BYTES,
            "s",
            [
                Curve(of, [each["x"] for each in marks], [each[field] for each in marks])
                for of, field in (("highest", "high"), ("median", "y"), ("lowest", "low"))
            ],
            x_is_log=True,
            y_is_log=True,
        ),
        height=260,
    )  # fmt: skip


def _mark(times: Floats, x: float) -> Record:
    return {
        "x": x,
        "y": float(np.median(times)),
        "low": float(times[0]),
        "high": float(times[-1]),
    }


def _density(times: Floats) -> list[tuple[float, float]]:
    """The outline of a violin: times, s, and half widths up to _HALF_WIDTH."""
    logarithms = np.log(times)
    low, high = float(logarithms[0]), float(logarithms[-1])
    # Of times that hardly differ, a violin is a bar of some height.
    span = max(high - low, 1e-3)
    places = np.linspace(low, low + span, _OUTLINE)
    counts, edges = np.histogram(logarithms, bins=4 * _OUTLINE, range=(low, low + span))
    centres = (edges[:-1] + edges[1:]) / 2
    distances = (places[:, None] - centres[None, :]) / (span * _KERNEL)
    heights = np.exp(-0.5 * distances**2) @ counts
    widths = _HALF_WIDTH * heights / heights.max()
    return [*zip(np.exp(places).tolist(), widths.tolist(), strict=True)]


def _violin_view(name: str, sizes: Sequence[float], values: Sequence[float]) -> View:
    scale, axis = log_scale(values), si_axis("one-way time of a sample", "s", values)

    def at(field: str) -> alt.X:
        return size_axis(sizes, field, _ROOM)

    def y(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", scale=scale, axis=axis)

    marks = visible(alt.Chart(named("marks")))
    hues = colour([name])
    return layered(
        visible(alt.Chart(named("outlines")))
        .mark_area(orient="horizontal", opacity=0.55)
        .encode(
            x=at("left"), x2=alt.X2("right:Q"), y=y("y"), detail=alt.Detail("size:N"), color=hues
        ),
        marks.mark_tick(thickness=2, size=22, orient="horizontal").encode(
            x=at("x"),
            y=y("y"),
            color=hues,
            tooltip=[alt.Tooltip("size:N"), alt.Tooltip("y:Q", format=".4s", title="median, s")],
        ),
        *(
            marks.mark_circle(size=14, opacity=1).encode(x=at("x"), y=y(end), color=hues)
            for end in ("low", "high")
        ),
    )

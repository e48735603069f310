"""The samples of a row in the order in which they were taken: drift, levels, outliers."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import numpy as np

from halftrip.analysis.rows import Row
from halftrip.analysis.summaries import configuration_times
from halftrip.errors import UsageError
from halftrip.plots.chart import (
    Chart,
    Drawing,
    Record,
    Subject,
    View,
    curves_of,
    layered,
    log_scale,
    named,
    rounded,
    si_axis,
    slug,
    text,
    visible,
)
from halftrip.plots.series import DrawnRow, colour, lines_of
from halftrip.plots.thinning import extremes
from halftrip.results.records import Measurement
from halftrip.units import size_name

# So many rows have a chart each, the least trusted first.
MOST_ROWS = 6
# So many samples of a row are drawn.
_MOST_SAMPLES = 1000
_WORST_FIRST = {"no": 0, "caution": 1, "ok": 2}


def samples(subjects: Sequence[Subject]) -> list[Chart]:
    """The samples of a few rows, the least trusted first. Raises UsageError where there are
    none."""
    lines = worst_first(lines_of(subjects, is_sampled))
    if not lines:
        raise UsageError("--kind samples: no row has samples; a figure of another tool has none")
    charts = [_chart(line) for line in lines[:MOST_ROWS]]
    if len(lines) > MOST_ROWS:
        said = (
            f"{MOST_ROWS} of {len(lines)} rows are drawn, the least trusted; choose others with "
            "-t, -p and -s."
        )
        charts[0] = charts[0]._replace(lines=[*charts[0].lines, said])
    return charts


def is_sampled(row: Row) -> bool:
    """Whether halftrip has taken samples of a row that a logarithmic axis has a place for."""
    summary = row.summary
    return not row.reported and summary.samples > 0 and max(summary.latency, summary.max) > 0


def worst_first(lines: Sequence[DrawnRow]) -> list[DrawnRow]:
    """Lines in the order of their verdicts, the widest interval first."""

    def place(line: DrawnRow) -> tuple[int, float]:
        verdict = line.row.verdict
        return _WORST_FIRST[verdict.word], -verdict.width

    return sorted(lines, key=place)


def title_of(line: DrawnRow) -> str:
    """The name of a row: ``shm pingpong 64K``."""
    each = line.configuration
    words = [line.name, size_name(each.known_size)]
    named = line.name.replace(",", " ").split()
    if each.pattern not in named:
        words.insert(1, each.pattern)
    if each.transport not in named:
        words.insert(0, each.transport)
    return text(" ".join(words))


def _chart(line: DrawnRow) -> Chart:
    measurements = line.subject.document.run.by_configuration[line.configuration]
    sampled = [each for each in measurements if each.is_sampled]
    counted = configuration_times(sampled, within=False).counted
    points, slices = _records(line, sampled, counted)
    values = [each["y"] for each in points]
    title = f"Samples in time order: {title_of(line)}"
    iterations = max(each.iterations for each in sampled)
    of = "of one iteration" if iterations == 1 else f"the mean of up to {iterations:,} iterations"
    marks = ["Bars: the median of a slice. Stripes: every other slice."]
    if not all(counted):
        marks.append("Warming up: slices in which the path still was; they do not count.")
    said = [f"Each point: the one-way time of a sample, {of}."]
    count = sum(each.samples.size for each in sampled)
    if len(points) < count:
        said.append(
            f"{len(points):,} of {count:,} samples are drawn: the lowest and the highest of each "
            "stretch."
        )
    names = [*dict.fromkeys(each["series"] for each in points)]
    launches = len({each.launch for each in sampled})
    return Chart(
        name=slug("samples", line.key, line.name, line.configuration.size,
                  line.configuration.pattern),
        title=title,
        lines=[f"run {line.subject.name}", *said],
        marks=marks,
        view=_view(names, values),
        data={"points": points, "slices": slices},
        text=f"{title}. {count:,} samples in {len(sampled)} slices of {launches} launches, from "
        f"{min(values) * 1e6:.3g} to {max(values) * 1e6:.3g} us.",
        drawing=Drawing(
            "sample",
            "s",
            curves_of(points, names),
            y_is_log=True,
            points=True,
        ),
        height=220,
    )  # fmt: skip


def _records(
    line: DrawnRow, sampled: Sequence[Measurement], counted: Sequence[bool]
) -> tuple[list[Record], list[Record]]:
    """The samples that are drawn, and the slices, each at its place among all samples."""
    points: list[Record] = []
    slices: list[Record] = []
    total = sum(each.samples.size for each in sampled)
    first = 0
    for number, (each, counts) in enumerate(zip(sampled, counted, strict=True)):
        times = np.concatenate(each.one_way_blocks) * 1e-9
        most = max(2, _MOST_SAMPLES * times.size // total)
        series = f"launch {each.launch + 1}" if counts else "warming up"
        common = {"series": series, "transport": line.configuration.transport}
        points += [
            {
                **common,
                "x": first + int(place) + 1,
                "y": rounded(times[place]),
            }
            for place in extremes(times, most)
            if times[place] > 0
        ]
        slices.append(
            {
                **common,
                "low": first + 1,
                "high": first + times.size,
                "y": rounded(np.median(times)),
                "slice": f"slice {each.slice + 1} of launch {each.launch + 1}",
                "shade": number % 2,
            }
        )
        first += times.size
    return points, [each for each in slices if each["y"] > 0]


def _view(names: Sequence[str], values: Sequence[float]) -> View:
    launches = [name for name in names if name != "warming up"]
    hues = colour([*launches, *(["warming up"] if len(launches) < len(names) else [])])
    x = alt.X("x:Q", axis=alt.Axis(title="sample, in time order", grid=False, format=",d"),
              scale=alt.Scale(nice=False))  # fmt: skip
    y = alt.Y("y:Q", scale=log_scale(values), axis=si_axis("one-way time of a sample", "s", values))
    slices = visible(alt.Chart(named("slices")))
    stripes = slices.transform_filter("datum.shade == 1").mark_rect(opacity=0.25)
    return layered(
        stripes.encode(x=alt.X("low:Q"), x2=alt.X2("high:Q")),
        visible(alt.Chart(named("points")))
        .mark_circle(size=9, opacity=0.6)
        .encode(
            x=x,
            y=y,
            color=hues,
            tooltip=[
                alt.Tooltip("series:N", title="of"),
                alt.Tooltip("y:Q", format=".4s", title="s"),
            ],
        ),
        slices.mark_rule(strokeWidth=3).encode(
            x=alt.X("low:Q"),
            x2=alt.X2("high:Q"),
            y=y,
            tooltip=[alt.Tooltip("slice:N"), alt.Tooltip("y:Q", format=".3s", title="median, s")],
        ),
    )

"""Rows over many runs: which got slower or faster, and when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC

import altair as alt

from halftrip.analysis import history as analysis
from halftrip.analysis.history import History, RowHistory
from halftrip.analysis.run_figures import RunFigures, run_figures
from halftrip.errors import UsageError
from halftrip.plots.chart import (
    Chart,
    Drawing,
    Record,
    Subject,
    curves_of,
    log_scale,
    ratio_axis,
    text,
)
from halftrip.plots.points import (
    Axis,
    Look,
    Moment,
    Points,
    ends_of,
    open_says,
    record,
    thinned,
    view_of,
)
from halftrip.plots.theme import HUES
from halftrip.report.fields import name_of, varying
from halftrip.results.configuration import Configuration
from halftrip.results.names import Names
from halftrip.stats.median import median
from halftrip.views.history import answer

# So many rows have a colour each: those that have changed, then the first ones.
_MOST_NAMED = HUES - 1
_OTHERS = "all other rows"
_MOMENT = "%Y-%m-%d %H:%M"
_TIP = (
    alt.Tooltip("what:N"),
    alt.Tooltip("file:N", title="run"),
    alt.Tooltip("at:T", title="when", format=_MOMENT),
    alt.Tooltip("y:Q", format=".4~f", title="ratio"),
    alt.Tooltip("verdict:N", title="verdict"),
)


def history(subjects: Sequence[Subject]) -> list[Chart]:
    """The figures of all rows over runs in time order, as ratios to the median of each. Raises
    UsageError with fewer than two runs."""
    if len(subjects) < 2:
        raise UsageError("--kind history: name several runs")
    found = analysis.history(_figures(each) for each in subjects)
    rows = [row for row in found.rows if len(row.figures) > 1]
    if not rows:
        raise UsageError("--kind history: these runs have no row in common")
    chosen = [row for row in rows if row.changes] or rows
    fields = varying(row.configuration for row in rows)
    names = {
        row.configuration: text(name_of(row.configuration, fields, Names({})))
        for row in chosen[:_MOST_NAMED]
    }
    records = [record for row in rows for record in _records(found, row, names)]
    # The last colour is grey.
    series = [*names.values(), *([_OTHERS] if len(names) < len(rows) else [])]
    said = f"{len(rows)} rows are drawn: latency or bandwidth / its median over all runs."
    ends = ends_of(records)
    axis = ratio_axis("figure / median of the row", ends)
    points = Points(
        records=records,
        names=series,
        axis=Axis(log_scale([*ends, 0.95, 1.05]), axis, foot=1.0),
        unit="ratio",
        look=Look(
            size=26,
            hollow="datum.verdict === 'no'",
            has_shapes=False,
            interval_width=1,
            joined="key",
            opacity=0.7,
            dashes=None,
        ),
        tip=_TIP,
        data={"events": _events(found)},
        moments=[Moment("events", "what")],
    )
    points, left_out = thinned(points)
    x = alt.X(
        "at:T",
        axis=alt.Axis(title="when (UTC)", grid=False, format=_MOMENT, tickCount=5),
        scale=alt.Scale(type="utc"),
    )
    return [
        Chart(
            name="history",
            title=f"History of {len(found.runs)} runs",
            lines=[*map(text, answer(found)), said, *left_out],
            marks=[
                "Bars: 95 % interval. Hollow: the verdict no. Upright: where a level changed.",
                *open_says(records),
            ],
            view=view_of(points, x),
            data={"points": points.records, **points.data},
            text=" ".join(answer(found)),
            drawing=Drawing("run", "ratio", curves_of(records, [*names.values()], x="run")),
        )
    ]


def _figures(subject: Subject) -> RunFigures:
    found = run_figures(subject.name, subject.document.run)
    shown = {row.configuration.without_cores for row in subject.document.rows}
    return found._replace(
        figures={each: figure for each, figure in found.figures.items() if each in shown}
    )


def _records(found: History, row: RowHistory, names: Mapping[Configuration, str]) -> list[Record]:
    typical = median([figure.value for figure in row.figures.values()])
    name = names.get(row.configuration, _OTHERS)
    return [
        record(
            name,
            row.configuration.transport,
            place,
            (figure.value / typical, figure.low / typical, figure.high / typical),
            f"{figure.value / typical:.4g}",
            key=str(found.rows.index(row)),
            at=_moment(found, place),
            run=place + 1,
            file=text(found.runs[place].name),
            what=text(row.configuration.title),
            verdict=None if (doubt := found.doubt(row, place)) is None else doubt.word,
        )
        for place, figure in row.figures.items()
    ]


def _moment(found: History, place: int) -> str:
    return found.runs[place].measured.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _events(found: History) -> list[Record]:
    return [
        {
            "at": _moment(found, event.first),
            "what": f"{len(event.rows)} rows {event.direction} from run {event.first + 1} on",
        }
        for event in found.events
    ]

"""Rows over many runs: which got slower or faster, and when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC

import altair as alt

from halftrip.analysis import history as analysis
from halftrip.analysis.history import History, RowHistory, RunFigures, run_figures
from halftrip.errors import UsageError
from halftrip.plot.chart import (
    Chart,
    Drawing,
    Record,
    Subject,
    View,
    curves_of,
    known,
    layered,
    log_scale,
    named,
    ratio_axis,
    text,
    visible,
)
from halftrip.plot.series import colour
from halftrip.plot.theme import HUES
from halftrip.report.fields import name_of, varying
from halftrip.results.configuration import Configuration
from halftrip.results.names import Names
from halftrip.stats.median import median
from halftrip.views.history import answer

# So many rows have a colour each: those that have changed, then the first ones.
_MOST_NAMED = HUES - 1
_OTHERS = "all other rows"
_MOMENT = "%Y-%m-%d %H:%M"


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
    said = [f"{len(rows)} rows are drawn: latency or bandwidth / its median over all runs."]
    return [
        Chart(
            name="history",
            title=f"History of {len(found.runs)} runs",
            lines=[
                *map(text, answer(found)),
                *said,
            ],
            marks=["Bars: 95 % interval. Upright: where a level changed."],
            view=_view(series, records),
            data={"points": records, "events": _events(found)},
            text=" ".join(answer(found)),
            drawing=Drawing(
                "run",
                "ratio",
                curves_of(records, [*names.values()], x="run"),
            ),
            height=300,
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
        {
            "series": name,
            "transport": row.configuration.transport,
            "key": str(found.rows.index(row)),
            "at": _moment(found, place),
            "run": place + 1,
            "file": text(found.runs[place].name),
            "y": figure.value / typical,
            "low": known(figure.low / typical),
            "high": known(figure.high / typical),
            "what": text(row.configuration.title),
        }
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


def _view(series: Sequence[str], records: Sequence[Record]) -> View:
    ends = [each[end] for each in records for end in ("low", "y", "high") if each[end]]
    scale = log_scale([*ends, 0.95, 1.05])
    x = alt.X(
        "at:T",
        axis=alt.Axis(title="when (UTC)", grid=False, format=_MOMENT, tickCount=5),
        scale=alt.Scale(type="utc"),
    )
    axis = ratio_axis("figure / median of the row", ends)
    points = visible(alt.Chart(named("points")))
    hues = colour(series)

    def y(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", scale=scale, axis=axis)

    tip = [
        alt.Tooltip("what:N"),
        alt.Tooltip("file:N", title="run"),
        alt.Tooltip("at:T", title="when", format=_MOMENT),
        alt.Tooltip("y:Q", format=".4~f", title="ratio"),
    ]
    return layered(
        alt.Chart(named("events")).mark_rule(strokeDash=[3, 3]).encode(x=x, tooltip="what:N"),
        points.mark_line(strokeWidth=1.5, opacity=0.7).encode(
            x=x, y=y("y"), color=hues, detail="key:N"
        ),
        points.mark_rule(strokeWidth=1).encode(x=x, y=y("low"), y2="high:Q", color=hues),
        points.mark_circle(size=26, opacity=1).encode(x=x, y=y("y"), color=hues, tooltip=tip),
    )

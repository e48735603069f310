"""The history of several runs for programs: as one object, and as records."""

from __future__ import annotations

from typing import Any

from halftrip.analysis.doubts import Doubt
from halftrip.analysis.figure import as_written
from halftrip.analysis.history import History, LevelChange, RowHistory
from halftrip.analysis.run_figures import RunFigures, is_bandwidth
from halftrip.analysis.setting_figures import configuration_fields
from halftrip.analysis.states import QUANTITIES
from halftrip.stats.estimate import Estimate


def content(history: History) -> dict[str, Any]:
    """The history as one object: runs, rows with their figures and changes, and events. Runs and
    rows are named by their places in these lists, from 0."""
    return {
        "launch_spread": history.launch_spread,
        "runs": [
            {"run": each.name, "measured": each.measured.isoformat(), "hosts": _hosts(each)}
            for each in history.runs
        ],
        "rows": [_row_fields(history, row) for row in history.rows],
        "events": [
            {
                "direction": event.direction,
                "first_run": event.first,
                "last_run_before": event.before,
                "first_run_after": event.high,
                "rows": [place for place, _ in event.rows],
                "environment": [each._asdict() for each in event.environment],
            }
            for event in history.events
        ],
    }


def _hosts(run: RunFigures) -> list[str]:
    names = [each.host for each in run.run.environments]
    names += [host for source in run.run.sources for host in source.hosts]
    return list(dict.fromkeys(names))


def _row_fields(history: History, row: RowHistory) -> dict[str, Any]:
    return {
        **configuration_fields(row.configuration),
        **_level_fields(row),
        "figures": [
            {
                "run": place,
                **_figure_fields(row, figure),
                **_doubt_fields(history.doubt(row, place)),
            }
            for place, figure in row.figures.items()
        ],
        "changes": [
            {
                "direction": change.direction,
                "first_run": change.first,
                "earliest_run": change.low,
                "latest_run": change.high,
                **_factor_fields(change),
            }
            for change in row.changes
        ],
        "detectable_ratio": row.detectable,
        **{
            f"last_to_first{end}": as_written(value) if row.is_short else None
            for end, value in zip(("", "_low", "_high"), row.ratio, strict=True)
        },
    }


def _level_fields(row: RowHistory) -> dict[str, float | None]:
    """The level of each quantity that the row's figures were measured at; None: at any."""
    return {
        f"state_{each.field}": row.level if row.quantity is each else None for each in QUANTITIES
    }


def _factor_fields(change: LevelChange | None) -> dict[str, float | None]:
    names = ("ratio", "ratio_low", "ratio_high")
    return dict(zip(names, (None,) * 3 if change is None else change.difference[:3], strict=True))


def _figure_fields(row: RowHistory, figure: Estimate) -> dict[str, float | None]:
    """The figure with its interval, by the name of what it is."""
    fields: dict[str, float | None] = {}
    for kind, unit in (("latency", "ns"), ("bandwidth", "bytes_per_s")):
        is_it = (kind == "bandwidth") is is_bandwidth(row.configuration)
        for end, value in zip(("", "_low", "_high"), figure, strict=True):
            fields[f"{kind}{end}_{unit}"] = as_written(value) if is_it else None
    return fields


def _doubt_fields(doubt: Doubt | None) -> dict[str, Any]:
    """How far a figure can be trusted."""
    return {
        "verdict": None if doubt is None else doubt.word,
        "cause": None if doubt is None else doubt.cause,
        "others_share": None if doubt is None else as_written(doubt.others),
    }


def records(history: History) -> list[dict[str, Any]]:
    """A record for each row and run: the figure, and, in the first run of a new level, the
    change."""
    found = []
    for row in history.rows:
        fields = {**configuration_fields(row.configuration), **_level_fields(row)}
        firsts = {change.first: change for change in row.changes}
        for place, figure in row.figures.items():
            run, change = history.runs[place], firsts.get(place)
            found.append(
                {
                    "run": run.name,
                    "measured": run.measured.isoformat(),
                    **fields,
                    **_figure_fields(row, figure),
                    **_doubt_fields(history.doubt(row, place)),
                    "change": change.direction if change else None,
                    **_factor_fields(change),
                }
            )
    return found

"""Metrics for a monitoring system: a file for the directory of node_exporter's textfile collector.

The text is both OpenMetrics and the older format of Prometheus, for which UNIT and EOF are
comments. Units are base units: seconds and bytes. All metrics are gauges: the newest value counts.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from halftrip.analysis.figure import Figure, Metric
from halftrip.analysis.figures import FIGURES
from halftrip.analysis.rows import Row, in_every_state
from halftrip.analysis.verdict import NOT_OK, Word
from halftrip.export.names import settings
from halftrip.report.document import Document
from halftrip.results.configuration import UNKNOWN
from halftrip.texts import printable


class _Gauge(NamedTuple):
    """A gauge of each row; NaN where a row has no such figure."""

    metric: Metric
    of: Callable[[Row], float]


# Those of verdicts, the best first.
_WORDS: tuple[Word, ...] = ("ok", *NOT_OK)


def _gauge(figure: Figure[Row], metric: Metric) -> _Gauge:
    """The gauge of a figure: times are in ns, those of metrics in s."""
    scale = 1e9 if figure.name.endswith("_ns") else 1.0

    def value(row: Row) -> float:
        found = figure.value(row)
        return math.nan if found is None else found / scale

    return _Gauge(metric, value)


def _lost(row: Row) -> float:
    return 1.0 - row.delivered if row.delivery is not None else math.nan


# Behind those of figures.
_OTHERS = (
    _Gauge(Metric("lost_ratio", "ratio", "Share of the datagrams that did not arrive."), _lost),
    _Gauge(
        Metric("verdict", "", "How far a row can be trusted: 0 ok, 1 caution, 2 no."),
        lambda row: float(_WORDS.index(row.verdict.word)),
    ),
)


def files(document: Document) -> Mapping[str, str]:
    """One file: the run, then each figure of all rows."""
    lines = _of_run(document)
    of_figures = (_gauge(each, each.metric) for each in FIGURES if each.metric is not None)
    for metric, of in (*of_figures, *_OTHERS):
        name = f"halftrip_{metric.name}"
        found = [(_labels(document, row), of(row)) for row in in_every_state(document.rows)]
        samples = [f"{name}{labels} {value!r}" for labels, value in found if math.isfinite(value)]
        if samples:
            lines += [*_head(name, metric.unit, metric.says), *samples]
    return {".prom": "".join(f"{line}\n" for line in (*lines, "# EOF"))}


def _head(name: str, unit: str, said: str) -> list[str]:
    lines = [f"# HELP {name} {said}", f"# TYPE {name} gauge"]
    return [*lines, f"# UNIT {name} {unit}"] if unit else lines


def _of_run(document: Document) -> list[str]:
    run = document.run
    name = "halftrip_run_complete"
    complete = int(document.interrupted is None)
    plan = {"plan": _plan(document)}
    labels = _written({**plan, "version": run.header.halftrip})
    lines = [*_head(name, "", "Whether the run was complete."), f"{name}{labels} {complete}"]
    started = None if run.measured is None else _started(run.measured)
    if started is not None:
        name = "halftrip_run_start_time_seconds"
        said = "When the run started, seconds since 1970."
        lines += [*_head(name, "seconds", said), f"{name}{_written(plan)} {started!r}"]
    return lines


def _started(text: str) -> float | None:
    """Seconds since 1970; None for what is no date."""
    try:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def _plan(document: Document) -> str:
    """What runs of one plan have in common, and others have not, so that their files can lie in one
    directory; of what was imported, its file."""
    run = document.run
    if run.sources:
        return run.sources[0].file
    # Where a run was written to, and what is done with it, are no part of a plan's record.
    return f"{zlib.crc32(msgspec.json.encode(run.header.plan, order='sorted')):08x}"


def _labels(document: Document, row: Row) -> str:
    configuration = row.configuration
    hosts = [document.run.names.hosts.get(rank) for rank in configuration.pair]
    return _written(
        {
            "plan": _plan(document),
            "transport": configuration.transport,
            "pattern": configuration.pattern,
            "mode": configuration.mode,
            "size": str(configuration.size) if configuration.size_known else UNKNOWN,
            "pair": "-".join(map(str, configuration.pair)),
            "hosts": " ".join(filter(None, hosts)),
            "settings": ", ".join(f"{name} {value}" for name, value in settings(configuration)),
            "statistic": row.source.statistic if row.source else "median",
            "state": "" if row.state is None else row.state.word,
        }
    )


def _written(labels: Mapping[str, str]) -> str:
    def escaped(value: str) -> str:
        return printable(value).replace("\\", "\\\\").replace('"', '\\"')

    return "{" + ",".join(f'{name}="{escaped(value)}"' for name, value in labels.items()) + "}"

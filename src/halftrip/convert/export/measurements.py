"""The measurements and the samples of a run as tidy tables: CSV and Parquet have the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from halftrip.analysis.rows import Row
from halftrip.analysis.summaries import summarize_configuration
from halftrip.analysis.suspect import count_suspect
from halftrip.analysis.usage import usage_figures
from halftrip.convert.export.columns import SAMPLE
from halftrip.report.document import Document
from halftrip.report.flat import configuration_fields, or_none, summary_fields
from halftrip.results.block import NO_TIMES, Times
from halftrip.results.delivery import Delivery, delivered_share
from halftrip.results.records import Measurement
from halftrip.texts import printable
from halftrip.units import with_units

# The columns of a sample that are those of its measurement.
KEYS = tuple(name for name in SAMPLE if name not in ("sample", "time_ns", "iterations"))


class Found(NamedTuple):
    """A measurement: its line of the table, the times of its samples, shape (n,), ns, and how many
    iterations each of these has."""

    line: Mapping[str, Any]
    times: Times
    iterations: int

    @property
    def keys(self) -> dict[str, Any]:
        """What tells it from others in the table of samples."""
        return {name: self.line[name] for name in KEYS}


def measurements(document: Document) -> list[Found]:
    """All measurements that count, in the order of tables, then in time order."""
    return [
        Found({"measurement": number, **_line(document, row, each)}, _times(each), each.iterations)
        for number, (row, each) in enumerate(_all(document))
    ]


def _all(document: Document) -> Iterator[tuple[Row, Measurement]]:
    for row in document.rows:
        for each in document.run.by_configuration[row.configuration]:
            yield row, each


def _times(found: Measurement) -> Times:
    """The samples; none where another tool has given a figure in their place."""
    return found.samples if found.reported is None else NO_TIMES


def _iterations(found: Measurement) -> int | None:
    """How many iterations a sample has; None where another tool does not say."""
    is_known = found.reported is None or found.reported.counted
    return found.iterations if is_known else None


def _line(document: Document, row: Row, found: Measurement) -> dict[str, Any]:
    configuration = found.configuration
    rtts = found.core_to_core_rtts
    warm_up = found.warm_up
    hosts = [document.run.names.hosts.get(rank) for rank in configuration.pair]
    figures = {
        "started": document.run.measured,
        "initiator_host": hosts[0],
        "responder_host": hosts[1],
        **configuration_fields(configuration),
        "launch": found.launch,
        "slice": found.slice,
        "at": found.at,
        "iterations": _iterations(found),
        "messages_per_iteration": configuration.messages_per_iteration,
        "warm_up_iterations": warm_up.iterations if warm_up else None,
        "warm_up_ns": warm_up.ns if warm_up else None,
        "stopped": found.stopped,
        "tool": row.source.tool if row.source else None,
        **summary_fields(summarize_configuration([found])),
        **_delivery(found.delivery),
        "verified": found.verified,
        "core_to_core_low": min(rtts, default=None),
        "core_to_core_high": max(rtts, default=None),
        "suspect_samples": count_suspect([found]),
        **usage_figures(configuration, found.usage, delivered_share(configuration, found.delivery)),
        "verdict": row.verdict.word,
        "cause": row.verdict.cause.name if row.verdict.cause else None,
        "flags": " ".join(flag.name for flag in row.flags),
    }
    return {
        name: printable(value) if isinstance(value, str) else value
        for name, value in with_units(figures).items()
    }


def _delivery(found: Delivery | None) -> dict[str, Any]:
    names: Sequence[str] = ("sent", "lost", "reordered")
    counts = {name: getattr(found, name) if found else None for name in names}
    jitter = found.jitter if found else None
    return counts | {"jitter": None if jitter is None else or_none(jitter)}

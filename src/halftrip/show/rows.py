"""The rows of a table: one for each case, summarised."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from halftrip.model import Case, Measurement, Run, summarize_case
from halftrip.registry import TRANSPORTS
from halftrip.stats.summary import Summary
from halftrip.verdict import Flag, flags


class Row(NamedTuple):
    """A case and what a reader wants to know of it. `exchanges` is how many a sample holds, at
    most; `line` spans the cache-line round trips around its repetitions, ns."""

    case: Case
    summary: Summary
    exchanges: int
    line: tuple[float, float] | None
    flags: tuple[Flag, ...]


def rows(run: Run) -> list[Row]:
    """The rows of a run in the order of a table, whatever order they were measured in."""
    cases = sorted(run.by_case.items(), key=lambda item: _order(item[0]))
    return [_row(run, case, measurements) for case, measurements in cases]


def _order(case: Case) -> tuple[Any, ...]:
    names = list(TRANSPORTS)
    place = names.index(case.transport) if case.transport in names else len(names)
    rest = msgspec.structs.astuple(case)
    return (place, case.transport, case.pair, case.wait, case.buffers, case.pages, case.size, rest)


def _row(run: Run, case: Case, measurements: list[Measurement]) -> Row:
    ends = [end for m in measurements if m.line for end in (m.line.before, m.line.after)]
    return Row(
        case=case,
        summary=summarize_case(measurements),
        exchanges=max(measurement.exchanges for measurement in measurements),
        line=(min(ends), max(ends)) if ends else None,
        flags=flags(run, measurements),
    )

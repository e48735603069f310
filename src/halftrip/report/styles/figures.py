"""What styles print: the rows of a run by curve, and the figures that older tools give of a row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, NoReturn

import numpy as np

from halftrip.analysis.rows import Row
from halftrip.errors import UsageError
from halftrip.report.document import Document
from halftrip.report.fields import common
from halftrip.results.configuration import Configuration
from halftrip.results.records import Measurement
from halftrip.results.reported import Reported, Source
from halftrip.stats.quantile import Floats


class StyleError(UsageError):
    """A run lacks what a style needs; the message names the style by the option of ``show``."""

    def __init__(self, style: str, reason: str) -> None:
        super().__init__(f"--style {style}: {reason}")
        self.reason = reason


class Curve(NamedTuple):
    """Rows that differ in their size alone, in that order, and where they were imported from (None:
    halftrip has measured them)."""

    rows: Sequence[Row]
    source: Source | None

    @property
    def configuration(self) -> Configuration:
        """That of its first row."""
        return self.rows[0].configuration

    @property
    def is_simulated(self) -> bool:
        return self.configuration.is_simulated

    def says(self) -> str:
        """What its rows have in common: the transport, and settings that are not usual."""
        settings = common([row.configuration for row in self.rows], self.is_simulated, brief=True)
        return ", ".join([self.configuration.transport, *settings])


def curves(
    document: Document, style: str, wanted: Callable[[Configuration], bool], needs: str, how: str
) -> list[Curve]:
    """The curves that a style prints, those that are `wanted`, in the order of tables, or of what
    was imported. Raises StyleError where there are none: `needs` is what the style needs, `how` how
    to measure it."""
    groups: dict[Configuration, list[Row]] = {}
    for row in document.rows:
        # No older tool has delays.
        if wanted(row.configuration) and not row.configuration.delay:
            check_size(row, style)
            groups.setdefault(row.configuration.curve, []).append(row)
    if not groups:
        lacks(style, needs, how)
    found = [
        Curve(sorted(rows, key=lambda row: row.configuration.size), rows[0].source)
        for rows in groups.values()
    ]
    return sorted(found, key=lambda curve: 0 if curve.source is None else curve.source.place)


def check_size(row: Row, style: str) -> None:
    """Raises StyleError for a row whose size is not known: no older table has such a one."""
    if not row.configuration.size_known:
        tool = row.source.tool if row.source is not None else "the run file"
        what = f"{row.configuration.transport} {row.configuration.pattern}"
        raise StyleError(style, f"a row of {what} has no size: {tool} does not say it")


def measured_by(document: Document, curve: Curve) -> str:
    """What has measured a curve, for a line that says so."""
    return f"halftrip {document.run.header.halftrip}" if curve.source is None else curve.source.tool


def lacks(style: str, needs: str, how: str) -> NoReturn:
    """Raises the error of a style whose run lacks what it needs."""
    raise StyleError(style, f"the run has no {needs}; measure it with {how}")


def printed(row: Row, tool: str) -> Sequence[Reported]:
    """What this tool has printed of a row itself, one for each measurement; nothing where another
    tool, or halftrip, has measured it."""
    return row.reported if row.source is not None and row.source.tool == tool else ()


def cells(row: Row, tool: str, names: Sequence[str]) -> list[str]:
    """The cells of these columns in the only line that this tool has printed of a row. Raises
    UsageError where the run file lacks them."""
    found = printed(row, tool)
    if len(found) != 1 or not set(names) <= found[0].figures.keys():
        raise StyleError(tool, f"{row.configuration.title}: its line is not in the file")
    return [found[0].figures[name] for name in names]


def fact(source: Source, name: str) -> str:
    """What a tool has said of its table. Raises StyleError where the run file lacks it."""
    if name not in source.facts:
        raise StyleError(source.tool, f"the table's {name} is not in the file")
    return source.facts[name]


def measurements(document: Document, row: Row) -> Sequence[Measurement]:
    """All measurements of a row, in time order."""
    return document.run.by_configuration[row.configuration]


def mean(found: Iterable[Measurement]) -> float:
    """The mean one-way time of a message in these measurements, ns: all their time over all their
    messages. NaN without a sample."""
    time, messages = 0, 0
    for each in found:
        time += int(each.samples.sum())
        messages += each.samples.size * each.iterations * each.configuration.messages_per_iteration
    return time / messages if messages else float("nan")


def single_times(found: Sequence[Measurement]) -> Floats | None:
    """The one-way times of single iterations, shape (n,), ns, in time order; None where a sample
    holds several, so that nobody knows them."""
    if any(each.iterations > 1 or each.reported is not None for each in found):
        return None
    times = [block for each in found for block in each.one_way_blocks]
    return np.concatenate(times) if times else None

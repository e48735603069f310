"""What printers in the style of other tools share: the rows of a run by curve, the figures that
such tools give of a row, and what a tool had printed of it itself."""

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
from halftrip.tools.lines import Lines


class StyleError(UsageError):
    """A run lacks what a style needs; the message names the style by the option of ``show``."""

    def __init__(self, style: str, reason: str) -> None:
        super().__init__(f"--style {style}: {reason}")
        self.reason = reason


class PrintedCurve(NamedTuple):
    """Rows that differ in their size alone, in that order, where they were imported from (None:
    halftrip has measured them), and the style in which they are printed."""

    rows: Sequence[Row]
    source: Source | None
    document: Document
    style: str

    @property
    def configuration(self) -> Configuration:
        """That of its first row."""
        return self.rows[0].configuration

    @property
    def is_own(self) -> bool:
        """Whether the tool whose style it is has printed it itself."""
        return self.source is not None and self.source.tool == self.style

    def says(self) -> str:
        """What its rows have in common: the transport, and settings that are not usual."""
        simulated = self.configuration.is_simulated
        settings = common([row.configuration for row in self.rows], simulated, brief=True)
        return ", ".join([self.configuration.transport, *settings])

    def measured_by(self) -> str:
        """What has measured it, for a line that says so."""
        if self.source is not None:
            return self.source.tool
        return f"halftrip {self.document.run.header.halftrip}"

    def fact(self, name: str) -> str:
        """What the tool has said of its table. Raises StyleError where the run file lacks it."""
        assert self.source is not None
        if name not in self.source.facts:
            raise StyleError(self.style, f"the table's {name} is not in the file")
        return self.source.facts[name]

    def cells(self, row: Row, names: Sequence[str]) -> list[str]:
        """The cells of these columns in the only line that the tool has printed of a row. Raises
        StyleError where the run file lacks them."""
        found = printed(row, self.style)
        if len(found) != 1 or not set(names) <= found[0].figures.keys():
            raise StyleError(self.style, f"{row.configuration.title}: its line is not in the file")
        return [found[0].figures[name] for name in names]

    def measurements(self, row: Row) -> Sequence[Measurement]:
        """All measurements of a row, in time order."""
        return self.document.run.by_configuration[row.configuration]

    def mean(self, row: Row) -> float:
        """The mean one-way time of a message of a row, ns."""
        return mean(self.measurements(row))


# A longer text, as a log of every message, is not kept beside its figures.
_LONGEST_KEPT = 1 << 15
_WHOLE = "text"


def whole_text(lines: Lines) -> dict[str, str]:
    """The fact of a source that all its lines are, for `as_it_was`; none of a text that is too long
    to keep."""
    text = lines.text if len(lines) <= _LONGEST_KEPT else ""
    return {_WHOLE: text} if 0 < len(text) <= _LONGEST_KEPT else {}


def as_it_was(document: Document, style: str) -> str | None:
    """What the tool whose style it is had printed, of a run that was imported from it, text after
    text; None of any other. Raises StyleError where that was too long to keep, and where rows are
    chosen, since a text is kept as a whole."""
    facts = [source.facts for source in document.run.sources if source.tool == style]
    if not facts:
        return None
    if any(_WHOLE not in each for each in facts):
        raise StyleError(style, "what it had printed is too long to be in the file")
    if len(document.rows) < len(document.run.by_configuration):
        said = "it prints the whole text that was imported; leave out what chooses rows"
        raise StyleError(style, said)
    return "".join(dict.fromkeys(each[_WHOLE] for each in facts))


def is_pingpong(configuration: Configuration) -> bool:
    """Whether its messages go one way at a time."""
    return configuration.pattern == "pingpong" and configuration.directions == 1


def curves(
    document: Document, style: str, wanted: Callable[[Configuration], bool], needs: str, how: str
) -> list[PrintedCurve]:
    """The curves that a style prints, those that are `wanted` or that its tool has printed itself,
    in the order of tables, or of what was imported. Raises StyleError where there are none: `needs`
    is what the style needs, `how` how to measure it."""
    groups: dict[Configuration, list[Row]] = {}
    for row in document.rows:
        # No older tool has delays.
        is_own = row.source is not None and row.source.tool == style
        if (is_own or wanted(row.configuration)) and not row.configuration.delay:
            check_size(row, style)
            groups.setdefault(row.configuration.curve, []).append(row)
    if not groups:
        lacks(style, needs, how)
    found = [
        PrintedCurve(
            sorted(rows, key=lambda row: row.configuration.size), rows[0].source, document, style
        )
        for rows in groups.values()
    ]
    return sorted(found, key=lambda curve: 0 if curve.source is None else curve.source.place)


def check_size(row: Row, style: str) -> None:
    """Raises StyleError for a row whose size is not known: no older table has such a one."""
    if not row.configuration.size_known:
        tool = row.source.tool if row.source is not None else "the run file"
        what = f"{row.configuration.transport} {row.configuration.pattern}"
        raise StyleError(style, f"a row of {what} has no size: {tool} does not say it")


def text(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def texts(parts: Iterable[Iterable[str]]) -> str:
    """Parts of so many lines each, with a blank line between them."""
    return "\n".join(map(text, parts))


def lacks(style: str, needs: str, how: str) -> NoReturn:
    """Raises the error of a style whose run lacks what it needs."""
    raise StyleError(style, f"the run has no {needs}; measure it with {how}")


def printed(row: Row, tool: str) -> Sequence[Reported]:
    """What this tool has printed of a row itself, one for each measurement; nothing where another
    tool, or halftrip, has measured it."""
    return row.reported if row.source is not None and row.source.tool == tool else ()


def exchanges(found: Iterable[Measurement]) -> int:
    """How many iterations these measurements have."""
    return sum(each.samples.size * each.iterations for each in found)


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

"""Finds the tables of other tools in logs, and makes a run of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, get_args

import msgspec
import numpy as np

from halftrip import __version__
from halftrip.errors import HalftripError, UsageError, system_reason
from halftrip.registry import IMPORTERS
from halftrip.results.block import Block
from halftrip.results.bounds import LONGEST_NS
from halftrip.results.configuration import Configuration
from halftrip.results.reading import FORMAT, check
from halftrip.results.records import Header, Measurement, Record, RunEnd
from halftrip.results.reported import TOOL, Reported, Source, Spread
from halftrip.results.run_file import RunFile, encode, utc_now
from halftrip.spelling import nearest
from halftrip.texts import printable
from halftrip.tools.both_ends import Printed
from halftrip.tools.lines import Lines, WrongLineError, wrong
from halftrip.tools.log import LARGEST, Log, Section, sections
from halftrip.tools.tables import Format, TableRow, ToolTable
from halftrip.tools.told import NOTHING, Told

STANDARD_INPUT = "-"
# Characters of what a message says is wrong.
_LONGEST_REASON = 250
_LARGEST_SIZE = 1 << 60
_MOST_REPETITIONS = 10**6
_MOST_ITERATIONS = 10**15
_MOST_PAIRS = 10**6
# The field of a table of this name is a setting where there are several.
_PEER = "peer"
# As `bounds` has them for what a run file holds.
_LONGEST_NAME = 200
_LONGEST_TEXT = 1 << 17
_LARGEST_AMOUNT = 1e19


class Text(NamedTuple):
    """What was printed, and what messages call it."""

    content: bytes
    name: str


class Imported(NamedTuple):
    """The records of a run, and a line about each table, or the lines of a table, left out."""

    records: list[Record]
    left_out: list[str]


class _Table(NamedTuple):
    """A table of the text `file`, with its measurements but for their launches."""

    table: ToolTable
    file: str
    measurements: list[Measurement]


def read_text(path: str) -> Text:
    """The text of a file. Raises UsageError where there is none."""
    name = printable(path) or "''"
    try:
        if path == STANDARD_INPUT:
            return Text(sys.stdin.buffer.read(LARGEST + 1), "standard input")
        with open(path, "rb") as file:
            return Text(file.read(LARGEST + 1), name)
    except (OSError, ValueError) as error:
        reason = system_reason(error).lower() if isinstance(error, OSError) else "no name of a file"
        raise UsageError(f"{name}: {reason}") from None


def write(imported: Imported, output: Path) -> None:
    """Makes a run file. Raises UsageError where it exists."""
    run_file = RunFile(output)
    try:
        run_file.append(b"".join(encode(record) for record in imported.records))
    except HalftripError:
        run_file.discard()
        raise
    finally:
        run_file.close()


def import_texts(
    texts: Iterable[Text],
    tool: str | None = None,
    told: Told = NOTHING,
    command: Sequence[str] = (),
) -> Imported:
    """The run that all tables in these texts are; `tool` is the only format that is looked for
    (None: all). The same test again is a further launch. Raises UsageError for an unknown tool, and
    HalftripError, which says why, where there is no row of a table."""
    if tool is not None and tool not in IMPORTERS:
        raise UsageError(f"--from: {tool!r} is not known; {nearest(tool, list(IMPORTERS))}")
    names = [tool] if tool is not None else list(IMPORTERS)
    formats: dict[str, Format] = {name: IMPORTERS.load(name) for name in names}
    tables: list[_Table] = []
    left_out: list[str] = []
    for text in texts:
        found, problems = _tables(text, formats, told)
        tables += found
        left_out += problems
        if not found and not problems:
            left_out.append(_nothing(text, tool))
    if not tables:
        first = left_out[0] if left_out else "no file"
        more = f"; and {len(left_out) - 1} more" if len(left_out) > 1 else ""
        raise HalftripError(first.removesuffix(_LEFT_OUT) + more)
    told.check_used()
    tables, again = _once(tables)
    left_out += again
    tables = _apart(tables)
    records: list[Record] = [_header([each.table for each in tables], command)]
    records += [_source(each.table, os.path.basename(each.file)) for each in tables]
    records += _launched(tables)
    return Imported([*records, RunEnd(reason=None)], left_out)


def _once(tables: Iterable[_Table]) -> tuple[list[_Table], list[str]]:
    """The tables that are of a measurement of their own, and what is to be said of others."""
    printed = Printed()
    kept: list[_Table] = []
    said: list[str] = []
    for each in tables:
        before = printed.before(each.table, each.file)
        if before is None:
            kept.append(each)
            continue
        first, file = before
        where = f"line {first.line}" if file == each.file else f"line {first.line} of {file}"
        same = f"the same measurement as in {where}, printed by its other end or again"
        said.append(f"{each.file}: line {each.table.line}: {same}{_LEFT_OUT}")
    return kept, said


_LEFT_OUT = "; left out"
# How a run file begins.
_OWN = b'{"record":"run"'


def _nothing(text: Text, tool: str | None) -> str:
    name = text.name
    if text.content.startswith(_OWN):
        return f"{name}: a run file of halftrip, which needs no import: halftrip show {name}"
    if tool is not None:
        return f"{name}: no table of {tool}"
    known = ", ".join(IMPORTERS)
    return f"{name}: the output of no tool that is known; --from names one of: {known}"


def _tables(text: Text, formats: dict[str, Format], told: Told) -> tuple[list[_Table], list[str]]:
    """The tables of a text, and what is to be said of others."""
    tables: list[_Table] = []
    left_out: list[str] = []

    def say(line: int, reason: str, tool: str) -> None:
        place = f"line {line}: " if line else ""
        read_as = f" (read as {tool})" if tool else ""
        # It may quote what a line has: a line can be of any length.
        said = f"{printable(reason, _LONGEST_REASON)}{read_as}{_LEFT_OUT}"
        left_out.append(f"{text.name}: {place}{said}")

    try:
        log = Log(text.content)
    except WrongLineError as error:
        say(error.line, str(error), "")
        return [], left_out
    for section in sections(log, formats, told.test):
        lines = section.lines
        if section.problem is not None:
            say(log.original(section.problem.line), str(section.problem), section.tool)
            continue
        try:
            found = [*_read(formats[section.tool], section, told, text.name)]
        except WrongLineError as error:
            say(lines.number(error.line), str(error), section.tool)
            continue
        tables += found
        if lines.doubtful:
            first, *more = sorted(lines.doubtful, key=lambda each: each.line)
            others = f", and {len(more)} more lines of this table" if more else ""
            say(lines.number(first.line), f"{first}{others}", section.tool)
        elif not found:
            reason = f"no row of {formats[section.tool].title}: it is broken off"
            say(lines.number(section.at), reason, section.tool)
    return tables, left_out


def _read(format_: Format, section: Section, told: Told, file: str) -> Iterator[_Table]:
    """The tables of a section that have rows."""
    lines = section.lines
    for table in format_.read(lines, section.at):
        _check_table(table)
        own = told.of_table(table)
        measurements = []
        if lines.is_json and lines.doubtful:
            raise lines.doubtful[0]
        for row in _in_order(own, lines):
            try:
                if row.line == len(lines) and not lines.is_whole:
                    wrong(row.line, "the last line is cut off: it has no end")
                found = _measurement(own, told.of_row(row), lines.number(row.line))
            except WrongLineError as error:
                # Values of JSON that is not all right may be parts of others.
                if lines.is_json:
                    raise
                lines.doubt(error)
                continue
            measurements.append(found)
        if measurements:
            yield _Table(own._replace(line=lines.number(own.line)), file, measurements)


def _apart(tables: list[_Table]) -> list[_Table]:
    """The tables, with their tools and peers in the variants of their rows where there are several:
    two tools measure the same thing in ways of their own, and the way to another host is another
    one."""
    for name in (TOOL, _PEER):
        values = {getattr(each.table, name) for each in tables} - {""}
        if len(values) > 1:
            tables = [_named(each, name) for each in tables]
    return tables


def _named(each: _Table, name: str) -> _Table:
    value = getattr(each.table, name)
    if not value:
        return each

    def named(configuration: Configuration) -> Configuration:
        variant = {**dict(configuration.variant), name: value}
        return msgspec.structs.replace(configuration, variant=tuple(sorted(variant.items())))

    return each._replace(
        table=each.table._replace(configuration=named(each.table.configuration)),
        measurements=[
            msgspec.structs.replace(one, configuration=named(one.configuration))
            for one in each.measurements
        ],
    )


def _in_order(table: ToolTable, lines: Lines) -> Iterator[TableRow]:
    """The rows of a table whose sizes ascend: behind one that goes back, they are of another."""
    largest: dict[tuple[Any, ...], tuple[int, bool]] = {}
    for row in table.rows:
        place = (row.launch, row.slice, tuple(row.settings.items()))
        before, is_over = largest.get(place, (-1, False))
        # Rows of no known size could be told apart by nothing else.
        size = row.size if row.size is not None else 0
        if table.in_order and (is_over or size <= before):
            how = "a second time" if size == before else f"behind {before}"
            largest[place] = before, is_over or size < before
            reason = f"size {size} comes {how}: no table of {table.tool} has that"
            lines.doubt(WrongLineError(row.line, reason))
            continue
        largest[place] = size, False
        yield row


def _launched(tables: Sequence[_Table]) -> Iterator[Measurement]:
    """The measurements of all tables: those of a table that are of something that was measured in
    another one above are of further launches."""
    launches: dict[Configuration, int] = {}
    is_joined = len({each.file for each in tables}) > 1
    for number, each in enumerate(tables):
        found = each.measurements
        first = max(launches.get(one.configuration, 0) for one in found)
        for one in found:
            launch = first + one.launch
            launches[one.configuration] = max(launches.get(one.configuration, 0), launch + 1)
            reported = one.reported
            if is_joined and reported is not None:
                reported = msgspec.structs.replace(reported, source=number)
            yield msgspec.structs.replace(one, launch=launch, reported=reported)


def _header(tables: Sequence[ToolTable], command: Sequence[str]) -> Header:
    dates = [table.date for table in tables if table.date is not None]
    return Header(
        version=FORMAT,
        halftrip=__version__,
        # When nobody knows when it was measured, the file at least sorts by when it was imported.
        started=min(dates, default=utc_now()),
        command=list(command),
        plan={},
    )


def _check_table(table: ToolTable) -> None:
    """Raises WrongLineError for what no run file can hold."""
    names = [*table.facts, *(name for name, _ in table.configuration.variant)]
    texts = [*table.facts.values(), *(value for _, value in table.configuration.variant)]
    said = [*table.hosts, table.peer, table.version or "", table.date or ""]
    _check_texts(table.line, names, [*texts, *said])
    if table.configuration.concurrency > _MOST_PAIRS:
        wrong(
            table.line, f"{table.configuration.concurrency} pairs at once are more than any job has"
        )
    try:
        # Whoever reads the run file refuses a year in which nothing can have been measured.
        check(_header([table], ()))
    except ValueError as error:
        wrong(table.line, str(error))


def _source(table: ToolTable, file: str) -> Source:
    return Source(
        tool=table.tool,
        file=file,
        place=table.line,
        statistic=table.statistic,
        variant=table.configuration.variant,
        version=table.version,
        hosts=list(table.hosts),
        date=table.date,
        warm_up=table.warm_up,
        facts=dict(table.facts),
        listings=list(table.listings),
    )


def _measurement(table: ToolTable, row: TableRow, place: int) -> Measurement:
    """That of a row, whose line in the text is number `place`. Raises WrongLineError for a row that
    no tool prints."""
    if max(row.launch, row.slice) > _MOST_REPETITIONS:
        wrong(row.line, "more repetitions than any tool makes")
    if row.size is not None and row.size > _LARGEST_SIZE:
        wrong(row.line, f"{row.size} is no size of a message")
    fields = {"size": row.size or 0, "size_known": row.size is not None, **row.settings}
    configuration = msgspec.structs.replace(table.configuration, **fields)
    iterations = row.iterations or 1
    if iterations > _MOST_ITERATIONS:
        wrong(row.line, f"{iterations} iterations are more than any tool makes")
    samples = row.samples
    if samples is None:
        messages = iterations * configuration.messages_per_iteration
        sample = row.ns * messages
        if not sample <= LONGEST_NS:
            wrong(row.line, "it took longer than any run")
        samples = np.array([round(sample)], dtype=np.int64)
    is_figure = row.samples is None
    return Measurement(
        configuration=configuration,
        slice=row.slice,
        at=None,
        first=None,
        warm_up=None,
        iterations=iterations,
        stopped=None,
        blocks=[Block(times=samples)],
        launch=row.launch,
        reported=_reported(row, place) if is_figure else None,
    )


def _reported(row: TableRow, place: int) -> Reported:
    _check_texts(row.line, row.figures, row.figures.values())
    amounts = [*row.spread.values(), row.step, row.bandwidth or 0.0, row.rate or 0.0]
    if not all(0 <= amount <= _LARGEST_AMOUNT for amount in amounts):
        wrong(row.line, "it has a figure that is larger than any tool measures")
    in_order = [name for name in get_args(Spread) if name in row.spread and name != "stddev"]
    for lower, higher in pairwise(in_order):
        if row.spread[lower] > row.spread[higher]:
            wrong(row.line, f"its {lower} is above its {higher}")
    return Reported(
        place=place,
        figures=dict(row.figures),
        spread=dict(row.spread),
        step=row.step,
        bandwidth=row.bandwidth,
        rate=row.rate,
        interval=row.interval,
        counted=row.iterations is not None,
    )


def _check_texts(line: int, names: Iterable[str], texts: Iterable[str]) -> None:
    """Raises WrongLineError for what a run file cannot hold."""
    for kind, found, longest in (("name", names, _LONGEST_NAME), ("text", texts, _LONGEST_TEXT)):
        if any(len(each) > longest for each in found):
            wrong(line, f"a {kind} of the table is longer than {longest} characters")

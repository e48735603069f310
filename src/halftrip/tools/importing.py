"""Recognises the output of another tool, and makes a run of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import msgspec
import numpy as np

from halftrip import __version__
from halftrip.errors import HalftripError, UsageError, system_reason
from halftrip.plan.parsing import nearest
from halftrip.registry import IMPORTERS
from halftrip.results.block import Block
from halftrip.results.bounds import LONGEST_NS
from halftrip.results.reading import FORMAT, check
from halftrip.results.records import Header, Measurement, Record, RunEnd
from halftrip.results.reported import Reported, Source, Spread
from halftrip.results.run_file import RunFile, encode, utc_now
from halftrip.texts import printable
from halftrip.tools.lines import LARGEST, Lines, WrongLineError, wrong
from halftrip.tools.tables import Format, TableRow, ToolTable

STANDARD_INPUT = "-"
# Characters of what a message says is wrong.
_LONGEST_REASON = 250
_LARGEST_SIZE = 1 << 60
_MOST_ITERATIONS = 10**15
# As `bounds` has them for what a run file holds.
_LONGEST_NAME = 200
_LONGEST_TEXT = 1 << 17
_LARGEST_AMOUNT = 1e19


def import_file(path: str, tool: str | None, output: Path, command: Sequence[str]) -> Path:
    """Makes a run file of another tool's output; `tool` is its format (None: it is recognised).
    Raises UsageError for what is none, and where the run file exists; nothing is written then."""
    content, name = _content(path)
    found = imported(content, name, tool, command)
    run_file = RunFile(output)
    try:
        run_file.append(b"".join(encode(record) for record in found))
    except HalftripError:
        run_file.discard()
        raise
    finally:
        run_file.close()
    return output


def _content(path: str) -> tuple[bytes, str]:
    name = printable(path) or "''"
    try:
        if path == STANDARD_INPUT:
            return sys.stdin.buffer.read(LARGEST + 1), "standard input"
        with open(path, "rb") as file:
            return file.read(LARGEST + 1), name
    except (OSError, ValueError) as error:
        reason = system_reason(error).lower() if isinstance(error, OSError) else "no name of a file"
        raise UsageError(f"{name}: {reason}") from None


def imported(
    content: bytes, name: str, tool: str | None = None, command: Sequence[str] = ()
) -> list[Record]:
    """The records of the run that another tool's output is; `name` is what messages call it. Raises
    UsageError, and nothing else."""
    if tool is not None and tool not in IMPORTERS:
        raise UsageError(f"--from: {tool!r} is not known; {nearest(tool, list(IMPORTERS))}")
    read_as = ""
    try:
        lines = Lines(content)
        which, found_at = (tool, None) if tool is not None else _recognised(lines, name)
        where = f", recognised by line {found_at}" if found_at is not None else ""
        read_as = f" (read as {which}{where})"
        format_: Format = IMPORTERS.load(which)
        tables = _tables(format_, lines)
        return _records(tables, os.path.basename(name), command)
    except WrongLineError as error:
        place = f"line {error.line}: " if error.line else ""
        # It may quote what a line has: a line can be of any length.
        reason = printable(str(error), _LONGEST_REASON)
        raise UsageError(f"{name}: {place}{reason}{read_as}") from None


def _recognised(lines: Lines, name: str) -> tuple[str, int]:
    """The format of a text, and the number of the line by which it is recognised."""
    found = {}
    for each in IMPORTERS:
        format_: Format = IMPORTERS.load(each)
        line = format_.recognised(lines.head)
        if line is not None:
            found[each] = line
    if not found:
        known = ", ".join(IMPORTERS)
        where = "" if lines.head is lines else " in its first MiB"
        raise UsageError(
            f"{name}: the output of no tool that is known{where}; --from names one of: {known}"
        )
    if len(found) > 1:
        places = " and ".join(f"{each} by line {line}" for each, line in found.items())
        raise UsageError(
            f"{name}: recognised as {places}: import each by itself, or name one with --from"
        )
    return next(iter(found.items()))


def _tables(format_: Format, lines: Lines) -> Sequence[ToolTable]:
    """The tables of a text that was printed whole. Raises WrongLineError."""
    tables = format_.read(lines)
    if not any(table.rows for table in tables):
        raise WrongLineError(len(lines), f"it ends without a row of {format_.title}")
    # Many tools print no end of the last line of JSON.
    ends = lines.is_whole or lines.is_value
    if not ends and any(row.line == len(lines) for table in tables for row in table.rows):
        raise WrongLineError(len(lines), "the last line is cut off: it has no end")
    return tables


def _records(tables: Sequence[ToolTable], file: str, command: Sequence[str]) -> list[Record]:
    """The records of the run that these tables of the text `file` are. Raises WrongLineError for
    rows that no tool prints."""
    found: list[Record] = [_header(tables, command), *(_source(table, file) for table in tables)]
    for table in tables:
        found += _measurements(table)
    return [*found, RunEnd(reason=None)]


def _header(tables: Sequence[ToolTable], command: Sequence[str]) -> Header:
    dates = [table.date for table in tables if table.date is not None]
    header = Header(
        version=FORMAT,
        halftrip=__version__,
        # When nobody knows when it was measured, the file at least sorts by when it was imported.
        started=min(dates, default=utc_now()),
        command=list(command),
        plan={},
    )
    try:
        # Whoever reads the run file refuses a year in which nothing can have been measured.
        check(header)
    except ValueError as error:
        wrong(0, str(error))
    return header


def _source(table: ToolTable, file: str) -> Source:
    names = [*table.facts, *(name for name, _ in table.configuration.variant)]
    texts = [*table.facts.values(), *(value for _, value in table.configuration.variant)]
    _check_texts(table.line, names, [*texts, *table.hosts, table.version or "", table.date or ""])
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


def _measurements(table: ToolTable) -> Iterator[Measurement]:
    largest: dict[tuple[Any, ...], int] = {}
    for row in table.rows:
        if row.size is not None and row.size > _LARGEST_SIZE:
            wrong(row.line, f"{row.size} is no size of a message")
        place = (row.launch, row.slice, tuple(row.settings.items()))
        before = largest.get(place, -1)
        # Rows of no known size could be told apart by nothing else.
        size = row.size if row.size is not None else 0
        if table.in_order and size <= before:
            how = "a second time" if size == before else f"behind {before}"
            wrong(row.line, f"size {size} comes {how}: no table of {table.tool} has that")
        largest[place] = size
        yield _measurement(table, row)


def _measurement(table: ToolTable, row: TableRow) -> Measurement:
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
        reported=_reported(row) if is_figure else None,
    )


def _reported(row: TableRow) -> Reported:
    _check_texts(row.line, row.figures, row.figures.values())
    amounts = [*row.spread.values(), row.step, row.bandwidth or 0.0, row.rate or 0.0]
    if not all(0 <= amount <= _LARGEST_AMOUNT for amount in amounts):
        wrong(row.line, "it has a figure that is larger than any tool measures")
    in_order = [name for name in get_args(Spread) if name in row.spread and name != "stddev"]
    for lower, higher in pairwise(in_order):
        if row.spread[lower] > row.spread[higher]:
            wrong(row.line, f"its {lower} is above its {higher}")
    return Reported(
        place=row.line,
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

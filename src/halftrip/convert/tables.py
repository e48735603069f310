"""Tables of another tool's output, and the records of a run that they become."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, NamedTuple, get_args

import msgspec
import numpy as np

from halftrip import __version__
from halftrip.convert.text import Lines, quoted, wrong
from halftrip.results import sensible
from halftrip.results.block import Block, Times
from halftrip.results.bounds import LONGEST_NS
from halftrip.results.configuration import UNKNOWN, Configuration, EndSettings
from halftrip.results.patterns import Mode, Pattern
from halftrip.results.records import Header, Measurement, Record, RunEnd
from halftrip.results.reported import Listing, Reported, Source, Spread, Statistic, Variant
from halftrip.results.run_file import FORMAT, utc_now

_LARGEST_SIZE = 1 << 60
_MOST_ITERATIONS = 10**15
# As `bounds` has them for what a run file holds.
_LONGEST_NAME = 200
_LONGEST_TEXT = 1 << 17
_LARGEST_AMOUNT = 1e19


class Row(NamedTuple):
    """A row of another tool's table.

    `size` is bytes, None where the tool does not say it. `ns` is the time of a message one way, ns;
    `figures` are the cells as they were printed, by the names of the columns, and `line` is the
    number of its line. `iterations` is how many exchanges the tool made for it (None: it does not
    say). `launch` and `slice` tell repetitions apart.
    `settings` are fields of the configuration in which it differs from its table. The others are
    those of `Reported`. `samples`: the times of single exchanges, ns, where the tool prints each;
    `ns` then does not count.
    """

    line: int
    size: int | None
    ns: float
    figures: Mapping[str, str]
    iterations: int | None = None
    launch: int = 0
    slice: int = 0
    spread: Mapping[Spread, float] = {}
    step: float = 0.0
    bandwidth: float | None = None
    rate: float | None = None
    settings: Mapping[str, Any] = {}
    samples: Times | None = None


class Table(NamedTuple):
    """A table of another tool's: `configuration` is that of its rows, with a size of 0; its variant
    tells the tables of one text apart. The others are those of `Source`. `in_order`: sizes ascend
    within a launch and slice, as they do in all tools that print a row as soon as they have it."""

    tool: str
    line: int
    configuration: Configuration
    statistic: Statistic
    rows: Sequence[Row]
    version: str | None = None
    hosts: Sequence[str] = ()
    date: str | None = None
    warm_up: int | None = None
    facts: Mapping[str, str] = {}
    listings: Sequence[Listing] = ()
    in_order: bool = True


class Format(NamedTuple):
    """The output of another tool. `recognised` gives the number of the line by which it is
    recognised (None: it is not this one). `read` makes tables of it, and raises WrongLineError."""

    title: str
    recognised: Callable[[Lines], int | None]
    read: Callable[[Lines], Sequence[Table]]


def settings(
    transport: str,
    pattern: Pattern,
    mode: Mode = "blocking",
    memory: tuple[str, str] = ("host", "host"),
    variant: Variant = (),
    **changes: Any,
) -> Configuration:
    """The configuration of a table, with a size of 0: what the tool does not say is unknown."""
    initiator, responder = (
        EndSettings(memory=each, pages="unknown", wait="unknown") for each in memory
    )
    values = {"buffers": UNKNOWN, "cache": UNKNOWN, "places": UNKNOWN, "datatype": "byte"}
    return Configuration(
        transport=transport,
        pattern=pattern,
        mode=mode,
        size=0,
        initiator=initiator,
        responder=responder,
        variant=variant,
        **(values | changes),
    )


def records(tables: Sequence[Table], file: str, command: Sequence[str]) -> list[Record]:
    """The records of the run that these tables of the text `file` are. Raises WrongLineError for
    rows that no tool prints."""
    found: list[Record] = [_header(tables, command), *(_source(table, file) for table in tables)]
    for table in tables:
        found += _measurements(table)
    return [*found, RunEnd(reason=None)]


def _header(tables: Sequence[Table], command: Sequence[str]) -> Header:
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
        sensible.check(header)
    except ValueError as error:
        wrong(0, str(error))
    return header


def _source(table: Table, file: str) -> Source:
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


def _measurements(table: Table) -> Iterator[Measurement]:
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


def _measurement(table: Table, row: Row) -> Measurement:
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


def _reported(row: Row) -> Reported:
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
        counted=row.iterations is not None,
    )


def _check_texts(line: int, names: Iterable[str], texts: Iterable[str]) -> None:
    """Raises WrongLineError for what a run file cannot hold."""
    for kind, found, longest in (("name", names, _LONGEST_NAME), ("text", texts, _LONGEST_TEXT)):
        if any(len(each) > longest for each in found):
            wrong(line, f"a {kind} of the table is longer than {longest} characters")


def date(line: int, text: str, pattern: str) -> str:
    """A date that a tool prints, by a pattern of strptime, as ISO 8601, in UTC where it says no
    more. Raises WrongLineError for none."""
    try:
        found = datetime.strptime(text, pattern)
    except ValueError:
        wrong(line, f"{quoted(text)} is no date")
    if found.tzinfo is None:
        found = found.replace(tzinfo=UTC)
    return found.isoformat(timespec="seconds")

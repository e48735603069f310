"""What readers of other tools' outputs make: rows and tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from halftrip.results.block import Times
from halftrip.results.configuration import UNKNOWN, Configuration, EndSettings, not_said
from halftrip.results.patterns import Mode, Pattern
from halftrip.results.reported import Listing, Spread, StatedInterval, Statistic, Variant
from halftrip.tools.lines import Lines, WrongLineError, last_place, number, positive, quoted, wrong

# Bytes, so that a time has as many nanoseconds as its bandwidth has digits.
_BLOCK = 1 << 17


class TableRow(NamedTuple):
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
    interval: StatedInterval | None = None
    settings: Mapping[str, Any] = {}
    samples: Times | None = None


def below(line: int, names: Sequence[str], cells: Sequence[str]) -> dict[str, str]:
    """The cells of a row by the names of the columns above it, of which there are as many."""
    if len(cells) != len(names):
        wrong(line, f"{len(cells)} figures below {len(names)} columns")
    return dict(zip(names, cells, strict=True))


def timed(
    line: int,
    size: int | None,
    cell: str,
    unit: float,
    figures: Mapping[str, str],
    none: str = "a message that took no time",
    **known: Any,
) -> TableRow:
    """The row of a message whose time is in a cell, in a unit of so many ns; `none` is what is said
    of 0, and `known` are other fields of it."""
    time, step = unit * positive(line, cell, none), unit * last_place(cell)
    return TableRow(line, size, time, figures, step=step, **known)


def by_rate(
    line: int, size: int | None, ns: float, cell: str, figures: Mapping[str, str], **known: Any
) -> TableRow:
    """The row of a message whose time, `ns`, is inverse to the figure in a cell; `known` are other
    fields of it."""
    rate = float(cell)
    step = ns * last_place(cell) / rate if rate else 0.0
    return TableRow(line, size, ns, figures, step=step, **known)


def by_bandwidth(
    line: int,
    size: int | None,
    bandwidth: float,
    step: float,
    figures: Mapping[str, str],
    **known: Any,
) -> TableRow:
    """The row of a bandwidth, bytes per second, whose last digit is of the unit `step`; `known` are
    other fields of it. Of messages whose size is not known its time is no message's: of several
    rows, the times tell the ratio alone. Raises WrongLineError for empty messages."""
    if size == 0:
        wrong(line, "a bandwidth of messages of no bytes")
    ns = 1e9 * (size or _BLOCK) / bandwidth
    return TableRow(
        line, size, ns, figures, step=ns * step / bandwidth, bandwidth=bandwidth, **known
    )


def spreads(
    line: int, figures: Mapping[str, str], names: Mapping[str, Spread], unit: float = 1e3
) -> dict[Spread, float]:
    """The cells that say how times are spread, ns, by the names of their columns, in a unit of so
    many ns."""
    return {
        short: unit * number(line, figures[name])
        for name, short in names.items()
        if name in figures
    }


class End(NamedTuple):
    """The end that has printed a table, where both print one. `measurement` is what the texts of
    one measurement have in common, and no other has; where they say nothing of the kind, it is
    empty, and their times tell. `name` is that of the end; where that is empty, whoever prints of
    this measurement again says the same."""

    measurement: str = ""
    name: str = ""


class ToolTable(NamedTuple):
    """A table of another tool's: `configuration` is that of its rows, with a size of 0; its variant
    tells the tables of one text apart. The others are those of `Source`. `in_order`: sizes ascend
    within a launch and slice, as they do in all tools that print a row as soon as they have it.
    `end`: None where one end prints, or nothing tells which measurements are the same. `peer` is
    the host that its client has named, where it is known: another one is another test."""

    tool: str
    line: int
    configuration: Configuration
    statistic: Statistic
    rows: Sequence[TableRow]
    version: str | None = None
    hosts: Sequence[str] = ()
    date: str | None = None
    warm_up: int | None = None
    facts: Mapping[str, str] = {}
    listings: Sequence[Listing] = ()
    in_order: bool = True
    end: End | None = None
    peer: str = ""


class Format(NamedTuple):
    """The output of another tool.

    `begins` matches a line that begins a table, from the begin of the line, such as its title. If
    there is a `heading`, too, its first line below goes on with the table, and the next one begins
    another, as where a title got lost; of several kinds of them each does, and its last group says
    which it is. `joined`: tables that no other tool's stands between are read together. `marks` are
    patterns, texts at best, of which each of these lines has one: others are not looked at. `json`
    is the pattern of a text that objects of JSON have, where the tool prints such; `follows` is how
    further objects begin that go on with such a one, each in a line: their value is a list.

    `read` makes tables of the lines from above a table, of which it is told the first, down to the
    next one, and raises WrongLineError.
    """

    title: str
    read: Callable[[Lines, int], Sequence[ToolTable]]
    marks: Sequence[str] = ()
    begins: re.Pattern[str] | None = None
    heading: re.Pattern[str] | None = None
    joined: bool = False
    json: str | None = None
    follows: str | None = None


def loops(lines: Lines, rows: Sequence[TableRow]) -> list[list[TableRow]]:
    """The rows of a tool without headings, as those of one call after the other: another one begins
    with the first size, or a smaller one. Rows of smaller sizes than those above are doubtful."""
    found: list[list[TableRow]] = []
    seen: dict[tuple[Any, ...], tuple[int, int, int]] = {}
    for row in rows:
        place = (row.launch, row.slice, tuple(row.settings.items()))
        size = row.size or 0
        first, last, loop = seen.get(place, (size, -1, 0))
        if size <= last and size > first:
            lines.doubt(WrongLineError(row.line, f"size {size} comes behind {last}"))
            continue
        if size <= last:
            first, loop = size, loop + 1
        seen[place] = first, size, loop
        found += [[] for _ in range(loop + 1 - len(found))]
        found[loop].append(row)
    return found


def settings(
    transport: str,
    pattern: Pattern,
    mode: Mode = "blocking",
    memory: tuple[str, str] = ("host", "host"),
    variant: Variant = (),
    **changes: Any,
) -> Configuration:
    """The configuration of a table, with a size of 0: what the tool does not say is unknown, and so
    are those `changes` that are None."""
    initiator, responder = (
        EndSettings(memory=each, pages="unknown", wait="unknown") for each in memory
    )
    values = {"buffers": UNKNOWN, "cache": UNKNOWN, "places": UNKNOWN, "datatype": "byte"}
    known = {name: value for name, value in changes.items() if value is not None}
    found = Configuration(
        transport=transport,
        pattern=pattern,
        mode=mode,
        size=0,
        initiator=initiator,
        responder=responder,
        variant=variant,
        **(values | known),
    )
    return not_said(found, changes.keys() - known.keys())


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

"""Streams and ping-pongs of Hpcbench's mpitest, of one size or of sizes that grow.

Its Mbps are 10^6 bits of payload over the time of all iterations. A blocking stream counts its
acknowledgement of 2 bytes; a ping-pong counts both messages: blocking, they take turns, so that it
is the rate one way, and non-blocking both are on their way at once, so that it is the sum of both
ways. What is printed of ours: elapsed, user and system times are those of the kept samples. Where
slices had different numbers of iterations, the heading has their mean.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from halftrip.results.configuration import Configuration
from halftrip.results.patterns import Mode, Pattern
from halftrip.results.records import Measurement
from halftrip.tools.hpcbench.log import DATE, TITLE, TOOL, date_of, line_of
from halftrip.tools.lines import (
    Lines,
    WrongLineError,
    count,
    layout,
    number,
    positive,
    whole,
    wrong,
)
from halftrip.tools.printing import PrintedCurve, exchanges, lacks
from halftrip.tools.tables import TableRow, ToolTable, below, by_rate, date, settings

HOW = "-p pingpong,stream, or a recipe: halftrip run hpcbench-fixed"
# The kinds of tests.
_FIXED, _EXPONENTIAL = "fixed", "exponential"
REPETITION, _SIZE, _RATE, _ITERATION = "repetition", "Message Size", "Throughput", "Iteration"
_OF_NODES = (
    "Master-node Elapsed-time", "M-process User-mode", "M-process Sys-mode",
    "Slave-node Elapsed-time", "S-process User-mode", "S-process Sys-mode",
)  # fmt: skip
COLUMNS = {
    _FIXED: (REPETITION, _RATE, *_OF_NODES),
    _EXPONENTIAL: (_SIZE, _RATE, _ITERATION, *_OF_NODES),
}
_WIDTHS = {
    _FIXED: (-4, 10, 13, 12, 11, 12, 12, 12),
    _EXPONENTIAL: (10, 12, 10, 12, 12, 11, 12, 12, 12),
}
_NODES = (
    "Master-node  M-process  M-process   Slave-node   S-process  S-process",
    "Elapsed-time  User-mode   Sys-mode  Elapsed-time  User-mode   Sys-mode",
    "Seconds     Seconds    Seconds     Seconds     Seconds     Seconds",
)
_HEADINGS = {
    _FIXED: (
        f"#      Overall    {_NODES[0]}",
        f"#    Throughput  {_NODES[1]}",
        f"#        Mbps        {_NODES[2]}",
    ),
    _EXPONENTIAL: (
        f"#   Message    Overall             {_NODES[0]}",
        f"#     Size   Throughput Iteration {_NODES[1]}",
        f"#    Bytes       Mbps                 {_NODES[2]}",
    ),
}
_TITLE_LINE = "# MPI communication test -- {date}"
BEGIN = layout(_TITLE_LINE, date=r"\S.*\S")
_MODE_LINE = "# Test mode: {kind} {pattern} ({ways}directional) test"
_MODE = re.compile(
    r"# Test mode: (?P<kind>Fixed-size|Exponential) (?P<pattern>stream|ping-pong) .*"
)
_KINDS = {"Fixed-size": _FIXED, "Exponential": _EXPONENTIAL}
_PATTERNS: dict[str, Pattern] = {"stream": "stream", "ping-pong": "pingpong"}
_HOSTS = re.compile(r"# Hosts: (?P<master>\S.*?) <-+> (?P<slave>\S.*?)\s*")
_HOSTS_LINE = "# Hosts: {} <----> {}"
_CALLS_LINE = "# {mode} communication ({calls})"
_CALLS = layout(_CALLS_LINE, mode="Blocking|Non-blocking", calls=r"[\w/ -]{1,100}")
_MODES: dict[str, Mode] = {"Blocking": "blocking", "Non-blocking": "nonblocking"}
_CALLS_OF = {"blocking": "MPI_Send/MPI_Recv", "nonblocking": "MPI_Isend/MPI_Irecv"}
_FACT = re.compile(r"# (?P<name>[A-Z][^:]*?) ?: ?(?P<value>\S+)\s*")
# What the heading of a test of one size says, beside the number of iterations.
_SIZE_FACT, _REPETITIONS = "Message size (Bytes)", "Test repetition"
_SAID = (_SIZE_FACT, _ITERATION, _REPETITIONS)
_ROW = re.compile(r"\s*\d+\s+\d+\.\d+\s+\d")
_END = re.compile(r"#|MPI R")
# Characters of a line that the tool prints, and lines of comments above a table.
LONGEST_LINE = 1000
# Elapsed times have two decimals.
_LEAST_SECONDS = 0.05
_MOST_COMMENTS = 50
# The bytes of the acknowledgement of a blocking stream.
_ACKNOWLEDGEMENT = 2


# Reads.


def read(lines: Lines, first: int) -> tuple[ToolTable, str, int]:
    """The table of the test whose title is line number `first`, its name, and the number of its
    last line."""
    n, found, facts, heading = _comments(lines, first)
    kind = _KINDS[found["mode"]["kind"]]
    calls = found["calls"]["calls"]
    configuration = settings(
        "mpi" if calls.startswith("MPI_") else calls,
        _PATTERNS[found["mode"]["pattern"]], _MODES[found["calls"]["mode"]],
        buffers="separate", cache="hot", places="same",
    )  # fmt: skip
    rows: list[TableRow] = []
    said = {}
    for name in _SAID if kind == _FIXED else ():
        if name not in facts:
            wrong(n, f"no comment with {name} above it")
        said[name] = whole(n, facts[name])
    if said.get(_ITERATION) == 0:
        wrong(n, "no iterations")

    def read_row(line: int, text: str) -> TableRow:
        row = _row(line, text, kind, configuration, said)
        if rows and said and row.slice <= rows[-1].slice:
            wrong(line, f"repetition {row.slice + 1} behind {rows[-1].slice + 1}")
        rows.append(row)
        return row

    rows = lines.rows(n, read_row, _END, decimals=True)
    if said and said[_REPETITIONS] != len(rows):
        reason = f"{len(rows)} rows, where it says {said[_REPETITIONS]} repetitions"
        lines.doubt(WrongLineError(rows[-1].line if rows else n, reason))
    if not rows:
        wrong(n, "no rows below the heading")
    hosts = [found["hosts"]["master"], found["hosts"]["slave"]] if "hosts" in found else []
    title = BEGIN.fullmatch(lines[first])
    when = date(first, title["date"], DATE) if title is not None else None
    table = ToolTable(
        TOOL, first, configuration, "mean", rows, hosts=hosts, date=when,
        facts={"kind": kind, "heading": heading},
    )  # fmt: skip
    return table, kind, rows[-1].line


def _comments(
    lines: Lines, first: int
) -> tuple[int, dict[str, re.Match[str]], dict[str, str], str]:
    """The number of the last comment below the title in line number `first`; what the comments say
    of the test by our names, and other facts by the tool's; and all of them."""
    found: dict[str, re.Match[str]] = {}
    facts: dict[str, str] = {}
    comments = [lines[first]]
    n = first
    for at, line in lines.below(first):
        if _ROW.match(line) or BEGIN.match(line) or TITLE.fullmatch(line):
            break
        if not line.startswith("#"):
            continue
        n = at
        comments.append(line)
        if len(line) > LONGEST_LINE or len(comments) > _MOST_COMMENTS:
            wrong(n, "more comments than the tool prints above a table")
        for name, pattern in (("mode", _MODE), ("hosts", _HOSTS), ("calls", _CALLS)):
            if each := pattern.fullmatch(line):
                found.setdefault(name, each)
        if each := _FACT.fullmatch(line):
            facts.setdefault(each["name"], each["value"])
    for name, comment in (("mode", "Test mode"), ("calls", "communication (MPI_...)")):
        if name not in found:
            wrong(n, f"no comment with {comment} below the title")
    return n, found, facts, "\n".join(line.rstrip() for line in comments)


def _row(
    line: int,
    text: str,
    kind: str,
    configuration: Configuration,
    said: Mapping[str, int],
) -> TableRow:
    """A row of a test; `said` is what the heading of one of a fixed size says."""
    cells = text.split()
    figures = below(line, COLUMNS[kind], cells)
    for cell in cells:
        number(line, cell)
    if said:
        size, iterations = said[_SIZE_FACT], said[_ITERATION]
        place = count(line, cells[0], "repetition 0") - 1
    else:
        size, place = whole(line, figures[_SIZE]), 0
        iterations = count(line, figures[_ITERATION], "no iterations")
    rate = positive(line, figures[_RATE], "no throughput")
    ns = 1e3 * _bits(configuration, size, iterations) / rate
    if not ns > 0:
        wrong(line, f"{size} bytes, of which no time can be told")
    # A heading that has lost digits of the size does not fit the time of all iterations.
    seconds = number(line, figures[_OF_NODES[0]])
    told = (2 if configuration.pattern == "pingpong" else 1) * iterations * ns / 1e9
    if seconds > _LEAST_SECONDS and not told / 3 < seconds < 3 * told:
        wrong(line, f"{iterations} messages of {size} bytes do not take {seconds:g} s at this rate")
    return by_rate(
        line, size, ns, figures[_RATE], figures,
        iterations=iterations, slice=place, bandwidth=1e9 * size / ns,
    )  # fmt: skip


def _bits(configuration: Configuration, size: int, iterations: int) -> float:
    """The bits that are counted for a message one way."""
    bits = 8.0 * size * configuration.directions
    if configuration.pattern == "stream" and configuration.mode == "blocking":
        bits += 8 * _ACKNOWLEDGEMENT / iterations
    return bits


# Prints.


def is_measured(configuration: Configuration) -> bool:
    """Whether the tool has such a test."""
    return configuration.pattern in _PATTERNS.values() and configuration.mode in _CALLS_OF


def printed(curve: PrintedCurve) -> list[str]:
    """The lines of a test of a curve. Raises UsageError where the CPU time of both ends is not
    known."""
    return _fixed(curve) if len(curve.rows) == 1 else _exponential(curve)


def line(kind: str, cells: Sequence[str]) -> str:
    return line_of(cells, _WIDTHS[kind])


def repetitions(curve: PrintedCurve, configuration: Configuration) -> list[Sequence[Measurement]]:
    """The measurements of each repetition."""
    found = curve.document.run.by_configuration[configuration]
    repeated: list[Sequence[Measurement]] = [[each] for each in found if each.samples.size]
    if not repeated:
        lacks(TOOL, "samples", HOW)
    return repeated


class _Figures(NamedTuple):
    """What was measured in some repetitions: how many iterations of the tool's, their time, s, and
    the elapsed, user and system time of one node, then of the other, s."""

    iterations: int
    seconds: float
    times: list[float]

    def of(self, iterations: int) -> _Figures:
        """The same at the same rate, of so many iterations."""
        factor = iterations / self.iterations
        return _Figures(iterations, factor * self.seconds, [factor * each for each in self.times])


def _figures(found: Sequence[Measurement]) -> _Figures:
    """Raises UsageError where the CPU time of both ends is not known."""
    iterations, seconds, times = 0, 0.0, [0.0] * 6
    for each in found:
        if each.usage is None:
            need = f"user and system time of both ends of {each.configuration.title}"
            lacks(TOOL, need, "halftrip run (what is imported or simulated has none)")
        time = float(each.samples.sum()) / 1e9
        iterations += each.configuration.messages_in(exchanges([each]))
        seconds += time
        for node, usage in enumerate(each.usage):
            # The usage is that of untimed iterations, too.
            kept = min(time / usage.elapsed, 1.0) if usage.elapsed > 0 else 1.0
            for n, spent in enumerate((usage.elapsed, usage.user, usage.system), 3 * node):
                times[n] += spent * kept
    return _Figures(iterations, seconds, times)


def throughput(configuration: Configuration, iterations: int, seconds: float) -> float:
    """The megabits per second that the tool prints."""
    count = configuration.size * iterations
    if configuration.pattern == "pingpong":
        count *= 2
    elif configuration.mode == "blocking":
        count += _ACKNOWLEDGEMENT
    return count * 8 / seconds / 1e6 if seconds > 0 else 0.0


def _cells(configuration: Configuration, figures: _Figures) -> list[str]:
    """The throughput, and the times of both nodes."""
    rate = throughput(configuration, figures.iterations, figures.seconds)
    return [f"{rate:.4f}", *(f"{time:.2f}" for time in figures.times)]


def _fixed(curve: PrintedCurve) -> list[str]:
    configuration = curve.configuration
    found = [_figures(each) for each in repetitions(curve, configuration)]
    iterations = round(sum(each.iterations for each in found) / len(found))
    # Of the tool's, all repetitions have as many iterations: a slice's times are for so many.
    alike = [each.of(iterations) for each in found]
    rows = [[str(n), *_cells(configuration, figures)] for n, figures in enumerate(alike, 1)]
    return [
        *_head(curve, "Fixed-size"),
        f"# Total data size of each test (Bytes): {configuration.size * iterations}",
        f"# {_SIZE_FACT}: {configuration.size}",
        f"# {_ITERATION} : {iterations}",
        f"# Test time: {_time(curve, found):.6f}",
        f"# {_REPETITIONS}: {len(rows)}",
        "#",
        *_HEADINGS[_FIXED],
        *(line(_FIXED, row) for row in rows),
    ]


def _time(curve: PrintedCurve, found: Sequence[_Figures]) -> float:
    """The time of a repetition that was asked for, s; what it took where a plan does not say."""
    plan = curve.document.run.header.plan
    time, slices = plan.get("time"), plan.get("slices")
    if isinstance(time, (int, float)) and isinstance(slices, int) and slices > 0:
        return time / slices
    return sum(each.seconds for each in found) / len(found)


def _exponential(curve: PrintedCurve) -> list[str]:
    rows = []
    for row in curve.rows:
        figures = _figures(curve.measurements(row))
        rate, *times = _cells(row.configuration, figures)
        cells = [str(row.configuration.size), rate, str(figures.iterations), *times]
        rows.append(line(_EXPONENTIAL, cells))
    return [*_head(curve, "Exponential"), "#", *_HEADINGS[_EXPONENTIAL], *rows]


def _head(curve: PrintedCurve, kind: str) -> list[str]:
    run, configuration = curve.document.run, curve.configuration
    mode, transport = configuration.mode, configuration.transport
    word = next(word for word, each in _MODES.items() if each == mode)
    pattern = next(name for name, each in _PATTERNS.items() if each == configuration.pattern)
    ways = "uni" if pattern == "stream" else "bi"
    return [
        _TITLE_LINE.format(date=date_of(run.header.started)),
        _MODE_LINE.format(kind=kind, pattern=pattern, ways=ways),
        _HOSTS_LINE.format(*map(run.names.host, configuration.pair)),
        _CALLS_LINE.format(mode=word, calls=_CALLS_OF[mode] if transport == "mpi" else transport),
    ]

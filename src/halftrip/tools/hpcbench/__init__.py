"""Hpcbench's mpitest: streams and ping-pongs of one size and of sizes that grow, round trips, and
the system logs; in one file, or in a text with several of them and the commands that made them.

The buffers are always the same one to send and one to receive. It has no windows: all messages of a
stream follow each other. A repetition is a slice or a launch.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from halftrip.report.document import Document
from halftrip.results.configuration import Configuration
from halftrip.results.reported import Listing, Variant
from halftrip.tools.hpcbench import log, round_trip, throughput
from halftrip.tools.hpcbench.log import TOOL
from halftrip.tools.lines import Lines, WrongLineError, wrong
from halftrip.tools.printing import PrintedCurve, curves, is_pingpong, lacks, text
from halftrip.tools.tables import Format, ToolTable

_MARKS = ("# MPI communication test -- ", r"MPI Round Trip Time \(", " syslog -- ")
_BEGIN = re.compile(r"# MPI communication test -- |MPI Round Trip Time \(\d+\) : |# \S+ syslog -- ")
# A command in a text: the prompt, what starts the ranks, and the program that they are.
_COMMAND = re.compile(r".*?\$ (\S*mpirun|\S*mpiexec) .*?(?P<program>[\w.-]{0,40}mpitest)\b.*")
# What a text says of a program: ge-mpitest is to test Gigabit Ethernet.
_NETWORK = re.compile(
    r"(?P<program>[\w.-]{0,40}mpitest) is (?:compiled )?to test "
    r"(?P<network>[A-Z]\w{0,30}(?: [A-Z]\w{0,30}){0,4})"
)
# Behind the name of a test that has one.
_LOGGED = " with system log"


# Reads.


class _Test(NamedTuple):
    """What a test has printed, and the `program` that its command names; `name` tells it from those
    with its pattern and mode."""

    table: ToolTable
    name: str
    program: str


def _read(lines: Lines, _: int) -> Sequence[ToolTable]:
    tests: list[_Test] = []
    networks: dict[str, str] = {}
    program = ""
    n = 0
    while n < len(lines):
        n += 1
        line = lines[n]
        if len(line) > throughput.LONGEST_LINE:
            # Prose, or what is no line of this tool.
            continue
        if command := _COMMAND.fullmatch(line):
            program = command["program"]
        for said in _NETWORK.finditer(line):
            networks.setdefault(said["program"], said["network"])
        try:
            for part in (throughput, round_trip):
                if part.BEGIN.fullmatch(line):
                    table, name, n = part.read(lines, n)
                    tests.append(_Test(table, name, program))
                    break
            else:
                if log.TITLE.fullmatch(line):
                    if not tests:
                        wrong(n, "a system log without the output of its test: put that before it")
                    found = log.read(lines, n, log.ENDINGS[bool(tests[-1].table.listings)])
                    tests[-1] = _with_log(tests[-1], n, found)
                    n = found.last
        except WrongLineError as error:
            # Of several tests, the others stay.
            lines.doubt(error)
    names = {test.name for test in tests}
    programs = {test.program for test in tests}
    is_one = len(tests) < 2 or len(names) == len(programs) == 1
    return [test.table for test in tests] if is_one else _told_apart(tests, networks)


def _told_apart(tests: Sequence[_Test], networks: dict[str, str]) -> list[ToolTable]:
    """The tables of several tests, each with what tells it from the others."""
    programs = {test.program for test in tests}
    tables = []
    for test in tests:
        table = test.table
        variant: Variant = (("test", test.name),)
        if len(programs) > 1 and test.program:
            variant = (("network", networks.get(test.program, test.program)), *variant)
        configuration = msgspec.structs.replace(table.configuration, variant=variant)
        tables.append(table._replace(configuration=configuration))
    return tables


def _with_log(test: _Test, line: int, found: log.Log) -> _Test:
    """A test with one more of its logs, the master node's first."""
    table = test.table
    if set(log.ENDINGS) <= {each.title for each in table.listings}:
        wrong(line, "a third system log of one test")
    node = log.ENDINGS.index(found.listings[0].title)
    if table.hosts and table.hosts[node] != found.host:
        wrong(line, f"a system log of {found.host}, where that of {table.hosts[node]} is the next")
    listings: list[Listing] = [*table.listings, *found.listings]
    name = test.name if test.name.endswith(_LOGGED) else test.name + _LOGGED
    return test._replace(table=table._replace(listings=listings), name=name)


# Prints.


def render(document: Document) -> str:
    """The output of each test, with both logs behind it, each below its name. Raises UsageError
    for a run without a stream or ping-pong."""
    return "\n".join(
        f"==> output{name} <==\n{content}" if name.endswith(log.ENDINGS) else content
        for name, content in files(document).items()
    )


def files(document: Document) -> dict[str, str]:
    """The files that the tool would have written, by what their names end in: nothing, ``.m_log``
    and ``.s_log``, behind a number where there are several tests. Raises UsageError as `render`."""
    tests = _tests(document)
    return {
        f"-{number}{ending}" if len(tests) > 1 else ending: content
        for number, test in enumerate(tests, 1)
        for ending, content in test.items()
    }


def _tests(document: Document) -> list[dict[str, str]]:
    """What each call of the tool prints: its output and its logs, by the endings of their names."""
    needs = "stream or ping-pong, blocking or not"
    found = _joined(curves(document, TOOL, throughput.is_measured, needs, throughput.HOW))
    imported: dict[int, PrintedCurve] = {}
    tests: list[dict[str, str]] = []
    for curve in found:
        if curve.source is not None and curve.is_own:
            imported[curve.source.place] = curve
        else:
            tests += _of_curve(curve)
    return [*(_as_it_was(imported[place]) for place in sorted(imported)), *tests]


def _joined(found: Sequence[PrintedCurve]) -> list[PrintedCurve]:
    """The curves, those as one that differ in their windows and have no size in common: the tool,
    too, sends fewer messages the larger they are."""
    groups: dict[Configuration, list[PrintedCurve]] = {}
    for curve in found:
        alike = msgspec.structs.replace(curve.configuration.curve, window=1)
        groups.setdefault(alike, []).append(curve)
    joined = []
    for group in groups.values():
        rows = [row for curve in group for row in curve.rows]
        sizes = [row.configuration.size for row in rows]
        if len(set(sizes)) < len(sizes):
            joined += group
        else:
            rows.sort(key=lambda row: row.configuration.size)
            joined.append(group[0]._replace(rows=rows))
    return joined


def _test(output: Sequence[str], listings: Sequence[Listing]) -> dict[str, str]:
    logs = {f".{ending}": log.written(listings, ending) for ending in log.ENDINGS}
    return {"": text(output), **{name: said for name, said in logs.items() if said is not None}}


def _as_it_was(curve: PrintedCurve) -> dict[str, str]:
    """What the tool had printed of a test that has this curve."""
    kind = curve.fact("kind")
    names = {**throughput.COLUMNS, round_trip.KIND: round_trip.COLUMNS}.get(kind, ())
    own = [row for row in curve.document.rows if row.source == curve.source]
    reported = sorted((each for row in own for each in row.reported), key=lambda each: each.place)
    if not names or not all(set(names) <= each.figures.keys() for each in reported):
        lacks(TOOL, "lines of the tool in the file", "halftrip import")
    rows = [[each.figures[name] for name in names] for each in reported]
    lines = curve.fact("heading").split("\n")
    if kind == round_trip.KIND:
        lines += [round_trip.line(row) for row in rows]
        lines += curve.fact("summary").split("\n")
    else:
        lines += [throughput.line(kind, row) for row in rows]
    return _test(lines, curve.source.listings if curve.source is not None else ())


def _of_curve(curve: PrintedCurve) -> list[dict[str, str]]:
    """The tests that a curve of ours, or of another tool's, is."""
    listings = log.listings(curve)
    if curve.document.round_trips and is_pingpong(curve.configuration):
        outputs = [round_trip.printed(curve, row) for row in curve.rows]
    else:
        outputs = [throughput.printed(curve)]
    # The log of several round trips is that of all of them.
    return [_test(each, listings if not number else ()) for number, each in enumerate(outputs)]


FORMAT = Format("Hpcbench's mpitest", _read, marks=_MARKS, begins=_BEGIN, joined=True)

"""Hpcbench's mpitest: streams and ping-pongs of one size and of sizes that grow, round trips, and
the system logs; in one file, or in a text with several of them and the commands that made them.

Its Mbps are 10^6 bits of payload over the time of all iterations. A blocking stream counts its
acknowledgement of 2 bytes; a ping-pong counts both messages: blocking, they take turns, so that it
is the rate one way, and non-blocking both are on their way at once, so that it is the sum of both
ways. Round trips are halved. The buffers are always the same one to send and one to receive. It has
no windows: all messages of a stream follow each other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from halftrip.convert.formats.hpcbench_log import TITLE as LOG_TITLE
from halftrip.convert.formats.hpcbench_log import Log, read_log
from halftrip.convert.tables import Format, Row, Table, date, settings
from halftrip.convert.text import Lines, last_place, number, quoted, whole, wrong
from halftrip.report.styles.hpcbench import (
    ACKNOWLEDGEMENT,
    COLUMNS,
    EXPONENTIAL,
    FIXED,
    ITERATION,
    ROUND_TRIP,
    SIZE,
    THROUGHPUT,
    TOOL,
)
from halftrip.report.styles.hpcbench_log import ENDINGS
from halftrip.results.configuration import Configuration
from halftrip.results.patterns import Mode, Pattern
from halftrip.results.reported import Listing, Variant
from halftrip.units import format_size

_TITLE = re.compile(r"# MPI communication test -- (?P<date>\S.*\S)\s*")
_MODE = re.compile(
    r"# Test mode: (?P<kind>Fixed-size|Exponential) (?P<pattern>stream|ping-pong) .*"
)
_HOSTS = re.compile(r"# Hosts: (?P<master>\S.*?) <-+> (?P<slave>\S.*?)\s*")
_CALLS = re.compile(
    r"# (?P<mode>Blocking|Non-blocking) communication \((?P<calls>[\w/ -]{1,100})\)\s*"
)
_FACT = re.compile(r"# (?P<name>[A-Z][^:]*?) ?: ?(?P<value>\S+)\s*")
_ROUND_TRIP = re.compile(r"MPI Round Trip Time \((?P<n>\d+)\) : (?P<time>\S+) (?P<unit>\S+)\s*")
_ROUND_TRIP_HOSTS = re.compile(
    r"(?P<master>\S+)\(Master-node\) <-+> (?P<slave>\S+)\(Secondary-node\)\s*"
)
_ROUND_TRIP_SIZE = re.compile(r"Message size \(Bytes\) : (?P<size>\S+)\s*")
_ROUND_TRIP_SUMMARY = re.compile(
    r"MPI RTT min/avg/max = (?P<min>[^\s/]+)/(?P<avg>[^\s/]+)/(?P<max>[^\s/]+) (?P<unit>\S+)\s*"
)
_BEGINS_ROW = re.compile(r"\s*[\d.+-]")
# A command in a text: the prompt, what starts the ranks, and the program that they are.
_COMMAND = re.compile(r".*?\$ (\S*mpirun|\S*mpiexec) .*?(?P<program>[\w.-]{0,40}mpitest)\b.*")
# What a text says of a program: ge-mpitest is to test Gigabit Ethernet.
_NETWORK = re.compile(
    r"(?P<program>[\w.-]{0,40}mpitest) is (?:compiled )?to test "
    r"(?P<network>[A-Z]\w{0,30}(?: [A-Z]\w{0,30}){0,4})"
)
_PATTERNS: dict[str, Pattern] = {"stream": "stream", "ping-pong": "pingpong"}
_MODES: dict[str, Mode] = {"Blocking": "blocking", "Non-blocking": "nonblocking"}
_KINDS = {"Fixed-size": FIXED, "Exponential": EXPONENTIAL}
_UNITS = {"usec": 1e3, "msec": 1e6}
# Behind the name of a test that has one.
_LOGGED = " with system log"
# Characters of a line that the tool prints, and lines of comments above a table.
_LONGEST_LINE = 1000
_MOST_COMMENTS = 50
_DATE = "%a %b %d %H:%M:%S %Y"


class _Test(NamedTuple):
    """What a test has printed, and the `program` that its command names; `name` tells it from those
    with its pattern and mode."""

    table: Table
    name: str
    program: str


def _recognised(lines: Lines) -> int | None:
    return lines.first(
        r"# MPI communication test -- |MPI Round Trip Time \(\d+\) : |# \S+ syslog -- "
    )


def _read(lines: Lines) -> Sequence[Table]:
    tests: list[_Test] = []
    networks: dict[str, str] = {}
    program = ""
    n = 0
    while n < len(lines):
        n += 1
        line = lines[n]
        if len(line) > _LONGEST_LINE:
            # Prose, or what is no line of this tool.
            continue
        if command := _COMMAND.fullmatch(line):
            program = command["program"]
        for said in _NETWORK.finditer(line):
            networks.setdefault(said["program"], said["network"])
        if _TITLE.fullmatch(line):
            test, n = _throughput(lines, n, program)
            tests.append(test)
        elif _ROUND_TRIP.fullmatch(line):
            test, n = _round_trips(lines, n, program)
            tests.append(test)
        elif LOG_TITLE.fullmatch(line):
            if not tests:
                wrong(n, "a system log without the output of its test: put that before it")
            log = read_log(lines, n, ENDINGS[bool(tests[-1].table.listings)])
            tests[-1] = _with_log(tests[-1], n, log)
            n = log.last
    if not tests:
        wrong(1, "no title: # MPI communication test -- DATE")
    return [test.table for test in tests] if len(tests) < 2 else _told_apart(tests, networks)


def _told_apart(tests: Sequence[_Test], networks: dict[str, str]) -> list[Table]:
    """The tables of several tests, each with what tells it from the others."""
    programs = {test.program for test in tests}
    lines: dict[tuple[Variant, Pattern, Mode], int] = {}
    tables = []
    for test in tests:
        table = test.table
        pattern, mode = table.configuration.pattern, table.configuration.mode
        variant: Variant = (("test", test.name),)
        if len(programs) > 1 and test.program:
            variant = (("network", networks.get(test.program, test.program)), *variant)
        first = lines.setdefault((variant, pattern, mode), table.line)
        if first != table.line:
            said = f"{test.name} {mode} {pattern} a second time, as in line {first}: "
            said += "import each by itself"
            wrong(table.line, said)
        configuration = msgspec.structs.replace(table.configuration, variant=variant)
        tables.append(table._replace(configuration=configuration))
    return tables


def _with_log(test: _Test, line: int, log: Log) -> _Test:
    """A test with one more of its logs, the master node's first."""
    table = test.table
    known = {each.title for each in table.listings}
    if set(ENDINGS) <= known:
        wrong(line, "a third system log of one test")
    node = ENDINGS.index(log.listings[0].title)
    if table.hosts and table.hosts[node] != log.host:
        wrong(line, f"a system log of {log.host}, where that of {table.hosts[node]} is the next")
    listings: list[Listing] = [*table.listings, *log.listings]
    name = test.name if test.name.endswith(_LOGGED) else test.name + _LOGGED
    return test._replace(table=table._replace(listings=listings), name=name)


def _comments(lines: Lines, first: int) -> tuple[int, dict[str, re.Match[str]], dict[str, str]]:
    """The number of the last comment below the title in line number `first`; what the comments say
    of the test by our names, and other facts by the tool's."""
    found: dict[str, re.Match[str]] = {}
    facts: dict[str, str] = {}
    n = first
    while n < len(lines) and lines[n + 1].startswith("#"):
        n += 1
        if len(lines[n]) > _LONGEST_LINE or n - first > _MOST_COMMENTS:
            wrong(n, "more comments than the tool prints above a table")
        for name, pattern in (("mode", _MODE), ("hosts", _HOSTS), ("calls", _CALLS)):
            if each := pattern.fullmatch(lines[n]):
                found.setdefault(name, each)
        if each := _FACT.fullmatch(lines[n]):
            facts.setdefault(each["name"], each["value"])
    for name, comment in (("mode", "Test mode"), ("calls", "communication (MPI_...)")):
        if name not in found:
            wrong(n, f"no comment with {comment} below the title")
    return n, found, facts


def _throughput(lines: Lines, first: int, program: str) -> tuple[_Test, int]:
    """The test whose title is line number `first`, and the number of its last line."""
    n, found, facts = _comments(lines, first)
    heading = "\n".join(lines[line].rstrip() for line in range(first, n + 1))
    kind = _KINDS[found["mode"]["kind"]]
    pattern_name, mode_name = found["mode"]["pattern"], found["calls"]["mode"]
    calls = found["calls"]["calls"]
    configuration = settings(
        "mpi" if calls.startswith("MPI_") else calls,
        _PATTERNS[pattern_name], _MODES[mode_name],
        buffers="separate", cache="hot", places="same",
    )  # fmt: skip
    rows: list[Row] = []
    said = _Said.of(n, facts) if kind == FIXED else None
    while n < len(lines) and _BEGINS_ROW.match(lines[n + 1]):
        n += 1
        rows.append(_row(n, lines[n], kind, configuration, said, len(rows)))
    if said is not None and said.repetitions != len(rows):
        wrong(n, f"{len(rows)} rows, where it says {said.repetitions} repetitions")
    if not rows:
        wrong(n, "no rows below the heading")
    hosts = [found["hosts"]["master"], found["hosts"]["slave"]] if "hosts" in found else []
    title = _TITLE.fullmatch(lines[first])
    when = date(first, title["date"], _DATE) if title is not None else None
    table = Table(
        TOOL, first, configuration, "mean", rows, hosts=hosts, date=when,
        facts={"kind": kind, "heading": heading},
    )  # fmt: skip
    return _Test(table, kind, program), n


class _Said(NamedTuple):
    """What the heading of a fixed-size test says."""

    size: int
    iterations: int
    repetitions: int

    @classmethod
    def of(cls, line: int, facts: dict[str, str]) -> _Said:
        values = []
        for name in ("Message size (Bytes)", "Iteration", "Test repetition"):
            if name not in facts:
                wrong(line, f"no comment with {name} above it")
            values.append(whole(line, facts[name]))
        if not values[1]:
            wrong(line, "no iterations")
        return cls(*values)


def _row(
    line: int, text: str, kind: str, configuration: Configuration, said: _Said | None, place: int
) -> Row:
    cells, names = text.split(), COLUMNS[kind]
    if len(cells) != len(names):
        wrong(line, f"{len(cells)} figures below {len(names)} columns")
    figures = dict(zip(names, cells, strict=True))
    for cell in cells:
        number(line, cell)
    rate = number(line, figures[THROUGHPUT])
    if said is None:
        size, iterations = whole(line, figures[SIZE]), whole(line, figures[ITERATION])
    else:
        size, iterations = said.size, said.iterations
        if cells[0] != str(place + 1):
            wrong(line, f"repetition {cells[0]}, where {place + 1} is the next")
    if not iterations:
        wrong(line, "no iterations")
    if not rate > 0:
        wrong(line, "no throughput")
    ns = _one_way_ns(configuration, size, iterations, rate)
    if not ns > 0:
        wrong(line, f"{size} bytes, of which no time can be told")
    return Row(
        line, size, ns, figures,
        iterations=iterations, slice=place if said is not None else 0,
        step=ns * last_place(figures[THROUGHPUT]) / rate,
        bandwidth=1e9 * size / ns,
    )  # fmt: skip


def _one_way_ns(configuration: Configuration, size: int, iterations: int, rate: float) -> float:
    """The time of a message one way, from megabits per second."""
    bits = 8.0 * size * configuration.directions
    if configuration.pattern == "stream" and configuration.mode == "blocking":
        bits += 8 * ACKNOWLEDGEMENT / iterations
    return 1e3 * bits / rate


def _round_trips(lines: Lines, first: int, program: str) -> tuple[_Test, int]:
    """The round trips whose first is line number `first`, and the number of the last line."""
    n, above = first - 1, first - 1
    hosts: list[str] = []
    # The hosts, and what it is a test of.
    for line in range(max(first - 2, 1), first):
        if len(lines[line]) > _LONGEST_LINE:
            continue
        if found := _ROUND_TRIP_HOSTS.fullmatch(lines[line]):
            hosts, above = [found["master"], found["slave"]], line - 1
    heading = "\n".join(lines[line].rstrip() for line in range(above + 1, first))
    times: list[tuple[int, str, str]] = []
    while n < len(lines) and (found := _ROUND_TRIP.fullmatch(lines[n + 1])):
        n += 1
        if found["n"] != str(len(times) + 1):
            wrong(n, f"round trip {found['n']}, where {len(times) + 1} is the next")
        times.append((n, found["time"], found["unit"]))
    size_of = _ROUND_TRIP_SIZE.fullmatch(lines[n + 1]) if n < len(lines) else None
    if size_of is None:
        wrong(min(n + 1, len(lines)), "no line Message size (Bytes) : below the round trips")
    n += 1
    size = whole(n, size_of["size"])
    summary = _ROUND_TRIP_SUMMARY.fullmatch(lines[n + 1]) if n < len(lines) else None
    if summary is None:
        wrong(min(n + 1, len(lines)), "no line MPI RTT min/avg/max = below the round trips")
    n += 1
    least, mean, most = (_ns(n, summary[name], summary["unit"]) for name in ("min", "avg", "max"))
    if not least <= mean <= most:
        wrong(n, "min, avg and max are not in order")
    rows = [
        _round_trip_row(line, size, time, unit, place)
        for place, (line, time, unit) in enumerate(times)
    ]
    facts = {
        "kind": ROUND_TRIP,
        "heading": heading,
        "summary": "\n".join(lines[line].rstrip() for line in (n - 1, n)),
    }
    configuration = settings("mpi", "pingpong", buffers="separate", cache="hot", places="same")
    table = Table(TOOL, first, configuration, "mean", rows, hosts=hosts, facts=facts)
    return _Test(table, f"round trip of {format_size(size)}", program), n


def _ns(line: int, time: str, unit: str) -> float:
    if unit not in _UNITS:
        wrong(line, f"{quoted(unit)} is neither usec nor msec")
    found = number(line, time) * _UNITS[unit]
    if not found > 0:
        wrong(line, "a round trip that took no time")
    return found


def _round_trip_row(line: int, size: int, time: str, unit: str, place: int) -> Row:
    figures = dict(zip(COLUMNS[ROUND_TRIP], (str(place + 1), f"{time} {unit}"), strict=True))
    ns = _ns(line, time, unit) / 2
    step = last_place(time) * _UNITS[unit] / 2
    return Row(line, size, ns, figures, slice=place, step=step)


FORMAT = Format("Hpcbench's mpitest", _recognised, _read)

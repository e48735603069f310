"""What iperf3 prints without --json: the mean bandwidth that the receiver got over the test, and
that of each interval, in three digits. --json has more of them. Version 3.1 and earlier print of
UDP what was sent, and how many datagrams were lost: what is left was received.

A bit/s is decimal, a Byte is one of KBytes and so on of 1024. The size of the blocks is printed
with -V alone; else it is not known.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from halftrip.results.configuration import UNKNOWN, Configuration
from halftrip.results.patterns import Pattern
from halftrip.tools.lines import Lines, WrongLineError, last_place, whole, wrong
from halftrip.tools.printing import whole_text
from halftrip.tools.tables import End, TableRow, ToolTable, by_bandwidth, settings

TOOL = "iperf3"
_HEADING = r"\[ ID\](?:\[Role\])? +Interval +Transfer +(?:Bitrate|Bandwidth)\b"
_TABLE = re.compile(_HEADING)
_ERROR = re.compile(r"iperf3: (?:error|interrupt) - (?P<why>.*\S)\s*")
MARKS = (r"Interval +Transfer", "iperf3: ", "/sec .* (?:sender|receiver)")
# Whoever quotes a summary alone may leave out its heading, and the single streams.
_SUMMED = r"\[ *(?:\d+|SUM)\].*/sec .* (?:sender|receiver)\s*$"
BEGINS = re.compile(rf"{_HEADING}|{_SUMMED}|{_ERROR.pattern}")
# Three digits, or as many as there are before the point.
_AMOUNT = r"\d\.\d\d|\d\d\.\d|\d{3,}"
_LOOKS = re.compile(r"\[ *(?:\d+|SUM)\](?:\[[TR]X-[CS]\])? +\d+\.\d", re.ASCII)
_ROW = re.compile(
    r"\[ *(?P<stream>\d+|SUM)\](?:\[(?P<role>[TR]X-[CS])\])? +"
    r"(?P<begin>\d+\.\d\d)-(?P<end>\d+\.\d\d) +sec +"
    rf"(?P<moved>{_AMOUNT}) (?P<moved_unit>[KMGT]?Bytes) +"
    rf"(?P<rate>{_AMOUNT}) (?P<unit>[KMGT]?(?:bits|Bytes))/sec(?P<rest>.*)",
    re.ASCII,
)
# Its seconds have a decimal less, or two more.
_OF_IPERF2 = re.compile(r"\[ *(?:\d+|SUM)\] +\d+\.(?:\d|\d{4})-\d+\.(?:\d|\d{4}) sec ", re.ASCII)
_DATAGRAMS = re.compile(r".*\d ms +-?\d+/\d+ \(.*")
# The whole test in old versions, below a heading of its own, which a rule is above.
_LOST = re.compile(
    r" +[\d.]+ ms +(?P<lost>\d{1,15})/(?P<total>\d{1,15}) \([\d.e+-]+%\) *", re.ASCII
)
_OLD_HEADING = re.compile(r"\[ ID\] Interval +Transfer +Bandwidth +Jitter +Lost/Total ")
_RULE = re.compile(r"(?:- ){5,}-?\s*")
# What stands above the rows of a test.
_CALLS = re.compile(r"Connecting to host (?P<peer>\S+), |Accepted connection from ")
_BEGINS = re.compile(rf"{_CALLS.pattern}|Starting Test: ")
_BLOCKS = re.compile(r"Starting Test: protocol: (?P<protocol>\w+), .* (?P<size>\d+) byte blocks.*")
_REVERSE = re.compile(r"Reverse mode, remote host ")
_VERSION = re.compile(r"iperf (?P<version>3\.\d[\w.+-]*)\s*")
_CONNECTION = re.compile(
    r"\[ *(\d+)\] local (?P<local>(\S+) port \d+) connected to (?P<remote>(\S+) port \d+)\s*"
)
_SUM = "SUM"
_LOST_NAME = "Lost/Total Datagrams"
# A figure of three digits is off by half a per cent at most, and times by 5 ms.
_OFF = 0.012


class _Row(NamedTuple):
    line: int
    role: str
    stream: str
    begin: float
    end: float
    figure: str
    bandwidth: float
    step: float
    lost: str = ""


@dataclass
class _Test:
    """What is printed of a test, down to its last row, in that `line`; `ends` are the rows of the
    receiver over all of it."""

    line: int = 0
    size: int | None = None
    protocol: str = ""
    version: str | None = None
    is_reverse: bool = False
    hosts: tuple[str, ...] = ()
    end: End | None = None
    peer: str = ""
    has_summary: bool = False
    # Rows are of the whole test, and do not say of which end.
    is_summed: bool = False
    # Some line is of all streams together, which only several have.
    has_sum: bool = False
    # Of all lines that name any.
    streams: set[str] = field(default_factory=set)
    intervals: list[_Row] = field(default_factory=list)
    ends: list[_Row] = field(default_factory=list)

    @property
    def has_rows(self) -> bool:
        return bool(self.intervals) or self.has_summary


def configuration(transport: str, direction: str, over: str, streams: int | None) -> Configuration:
    """That of a test, `over` the whole of it or its intervals."""
    variant = (("direction", direction), ("over", over), ("streams", str(streams or UNKNOWN)))
    pattern: Pattern = "bidirectional" if direction == "both" else "stream"
    return settings(transport, pattern, variant=variant)


def read(lines: Lines, _first: int) -> Sequence[ToolTable]:
    """The tables of all tests in a text. Those that are broken off are doubtful."""
    found: list[ToolTable] = []
    test = _Test()
    is_below_rule = False
    for n, line in lines:
        is_below_rule = bool(_RULE.fullmatch(line)) or (is_below_rule and not _LOOKS.match(line))
        test.is_summed |= is_below_rule and _OLD_HEADING.match(line) is not None
        if error := _ERROR.fullmatch(line):
            lines.doubt(WrongLineError(n, f"iperf3 has ended with an error: {error['why']}"))
        elif _LOOKS.match(line):
            try:
                row = _row(n, line, test)
            except WrongLineError as failure:
                lines.doubt(failure)
                continue
            is_summary = bool(row.lost) or line.rstrip().endswith(("sender", "receiver"))
            if test.has_summary and not is_summary:
                found += _tables(lines, test)
                test = _Test()
            test.line = n
            test.streams |= {row.stream} - {_SUM}
            test.has_sum |= row.stream == _SUM
            if is_summary:
                test.has_summary = True
                test.ends += [] if line.rstrip().endswith("sender") else [row]
            elif "(omitted)" not in line:
                test.intervals.append(row)
        else:
            is_heading = test.has_summary and _TABLE.match(line)
            if is_heading or (
                test.has_rows and (_BEGINS.match(line) or _CONNECTION.fullmatch(line))
            ):
                found += _tables(lines, test)
                test = _Test()
            _say(n, line, test)
    return [*found, *_tables(lines, test)]


def _say(n: int, line: str, test: _Test) -> None:
    """Notes what a line above the rows says."""
    if called := _CALLS.match(line):
        test.streams.clear()
        test.peer = called["peer"] or ""
    elif blocks := _BLOCKS.fullmatch(line):
        test.protocol = blocks["protocol"].lower()
        test.size = whole(n, blocks["size"]) or None
    elif version := _VERSION.fullmatch(line):
        test.version = version["version"]
    elif connection := _CONNECTION.fullmatch(line):
        test.hosts = test.hosts or connection.group(3, 5)
        local, remote = connection["local"], connection["remote"]
        test.end = test.end or End(" ".join(sorted((local, remote))), local)
        test.streams.add(connection[1])
    elif _REVERSE.match(line):
        test.is_reverse = True
    elif _TABLE.match(line) and ("Datagrams" in line or "Retr" in line):
        test.protocol = test.protocol or ("udp" if "Datagrams" in line else "tcp")


def _row(n: int, line: str, test: _Test) -> _Row:
    found = _ROW.fullmatch(line)
    if found is None and _OF_IPERF2.match(line):
        wrong(n, "a row of iperf 2, which is not read here: iperf3 --json is")
    if found is None:
        wrong(n, "not a whole row of iperf3")
    if _DATAGRAMS.match(found["rest"]):
        test.protocol = test.protocol or "udp"
    unit, per_second = _unit(found["unit"]), float(found["rate"])
    begin, end = float(found["begin"]), float(found["end"])
    moved, sent = (
        float(found["moved"]) * _unit(found["moved_unit"]),
        per_second * unit * (end - begin),
    )
    # Of what has lost digits, or is of two lines, they do not fit.
    if abs(moved - sent) > _OFF * max(moved, sent) + 0.011 * per_second * unit:
        wrong(n, f"{found['rate']} {found['unit']}/sec do not move {found['moved']}")
    figure = f"{found['rate']} {found['unit']}/sec"
    lost = _LOST.fullmatch(found["rest"]) if test.is_summed else None
    part = 1.0 if lost is None else _received(n, int(lost["lost"]), int(lost["total"]))
    return _Row(
        n, found["role"] or "", found["stream"], begin, end, figure, part * per_second * unit,
        part * unit * last_place(found["rate"]),
        "" if lost is None else f"{lost['lost']}/{lost['total']}",
    )  # fmt: skip


def _received(line: int, lost: int, total: int) -> float:
    """The part of the datagrams that was received."""
    if not lost < total:
        wrong(line, f"{lost} of {total} datagrams were lost: nothing was received")
    return 1 - lost / total


def _unit(name: str) -> float:
    """Bytes."""
    prefix = " KMGT".index(name[0]) if name[0] in "KMGT" else 0
    return 1e3**prefix / 8 if name.endswith("bits") else float(1 << (10 * prefix))


def _tables(lines: Lines, test: _Test) -> list[ToolTable]:
    """The whole test, and its intervals where there are several; none of one that is broken off."""
    if not test.has_rows:
        return []
    rows_of: dict[str, list[TableRow]] = {}
    try:
        ends, intervals = _by_role(test.ends), _by_role(test.intervals)
        _check(test, ends, intervals)
        each_way = _with_bytes([*zip(*intervals, strict=True)])
        # A server of version 3.1 and earlier prints 0 over all of a test of UDP.
        is_uncounted = test.is_summed and not any(rows[0].bandwidth for rows in ends)
        if not (is_uncounted and each_way):
            rows_of["whole test"] = [_table_row(test, [rows[0] for rows in ends], 0)]
        if len(each_way) > 1 or not rows_of:
            rows_of["intervals"] = [_table_row(test, rows, n) for n, rows in enumerate(each_way)]
    except WrongLineError as error:
        lines.doubt(error)
        if not rows_of:
            return []
    # Intervals without datagrams are TCP's; a summary may have lost its columns.
    protocol = test.protocol or ("tcp" if test.intervals else UNKNOWN)
    # Of -R the lines above the first table tell.
    has_head = bool(test.hosts)
    one_way = "to client" if test.is_reverse else "to server" if has_head else UNKNOWN
    direction = "both" if len(ends) > 1 else one_way
    streams = len(test.streams) // len(ends) or None
    facts = {"streams": str(streams or UNKNOWN), "direction": direction, **whole_text(lines)}
    return [
        ToolTable(
            TOOL, rows[0].line, configuration(protocol, direction, over, streams),
            "mean", rows, version=test.version, hosts=list(test.hosts), facts=facts,
            end=test.end and test.end._replace(measurement=f"{test.end.measurement} {over}"),
            peer=test.peer,
        )
        for over, rows in rows_of.items()
    ]  # fmt: skip


def _by_role(rows: Sequence[_Row]) -> list[list[_Row]]:
    """The rows of all streams together, for each direction."""
    sums = [row for row in rows if row.stream == _SUM]
    found: dict[str, list[_Row]] = {}
    for row in sums or rows:
        found.setdefault(row.role, []).append(row)
    return [found[role] for role in sorted(found)]


def _with_bytes(each_way: list[tuple[_Row, ...]]) -> list[tuple[_Row, ...]]:
    """The intervals but for the rest of one at the end, in which nothing came."""
    if len(each_way) > 1 and not any(row.bandwidth for row in each_way[-1]):
        (first, *_), (last, *_) = each_way[0], each_way[-1]
        if 2 * (last.end - last.begin) < first.end - first.begin:
            return each_way[:-1]
    return each_way


def _check(
    test: _Test, ends: Sequence[Sequence[_Row]], intervals: Sequence[Sequence[_Row]]
) -> None:
    """Raises WrongLineError for a test whose lines do not fit."""
    last = test.line
    if not ends or any(len(rows) != 1 for rows in ends):
        wrong(last, "not one line of the receiver over the whole test: broken off; --json has more")
    if test.protocol not in ("", "tcp", "udp"):
        wrong(last, f"over {test.protocol}: of iperf3, TCP and UDP are read")
    roles = {row.role for row in test.ends}
    if len(roles) > 1 and {role[:2] for role in roles} != {"TX", "RX"}:
        wrong(last, "not one line for each direction")
    is_sum = {row.stream == _SUM for rows in [*ends, *intervals] for row in rows}
    if is_sum != {test.has_sum or len(test.streams) > len(roles) or not test.streams}:
        wrong(last, "several streams, and no line [SUM] of them")
    for (total,) in ends:
        parts = [row for row in test.ends if row.role == total.role and row.stream != _SUM]
        together = sum(row.bandwidth for row in parts)
        if parts and abs(together - total.bandwidth) > 2 * _OFF * total.bandwidth:
            wrong(total.line, "its streams are not as much as their sum: lines are lost")
    _check_intervals(last, sorted(roles), intervals)


def _check_intervals(line: int, roles: Sequence[str], intervals: Sequence[Sequence[_Row]]) -> None:
    spans = [[(row.begin, row.end) for row in rows] for rows in intervals]
    if intervals and (
        [rows[0].role for rows in intervals] != roles or len(set(map(tuple, spans))) > 1
    ):
        wrong(line, "its intervals are not of the same times in each direction")
    for rows in intervals:
        for before, row in pairwise(rows):
            if row.begin < before.end:
                wrong(row.line, f"an interval from {row.begin} s, behind one to {before.end}")


def _table_row(test: _Test, rows: Sequence[_Row], slice_: int) -> TableRow:
    """The row of the mean of these directions."""
    figures = {f"Bitrate {row.role}".strip(): row.figure for row in rows}
    figures |= {f"{_LOST_NAME} {row.role}".strip(): row.lost for row in rows if row.lost}
    bandwidth = sum(row.bandwidth for row in rows) / len(rows)
    if not all(row.bandwidth > 0 for row in rows):
        wrong(rows[0].line, "nothing was received then")
    step = max(row.step for row in rows)
    return by_bandwidth(rows[0].line, test.size, bandwidth, step, figures, slice=slice_)

"""The system logs of Hpcbench's mpitest: tables of the interfaces and of the processors, with their
cells as they were printed."""

from __future__ import annotations

import re
from typing import NamedTuple

from halftrip.convert.text import Lines, number, whole, wrong
from halftrip.report.styles.hpcbench_log import HEADER, OF_CPU, interface_columns
from halftrip.results.reported import Listing

TITLE = re.compile(r"# (?P<host>\S+) syslog -- (?P<date>\S.*\S)\s*")
_WATCHES = re.compile(r"# Watch times: (?P<count>\d+)\s*")
_INTERFACES = re.compile(
    r"# Network devices \(interface\): (?P<count>\d+) \( (?P<names>\S.*\S|\S) \)\s*"
)
_CPUS = re.compile(r"# CPU number: (?P<count>\d+)\s*")
_INTERFACE = re.compile(r"##### System info, statistics of network interface <(?P<name>\S+)> .*")
_CPU = re.compile(r"##\s+CPU(?P<number>\d+) workload \(%\)\s.*")
_ROW = re.compile(r"\d")
_MOST_CPUS = 1 << 14
_MOST_WATCHES = 10**6
_LONGEST_LINE = 10_000


class Log(NamedTuple):
    """A log: its host, its tables, and the number of its last line."""

    host: str
    listings: list[Listing]
    last: int


def read_log(lines: Lines, first: int, ending: str) -> Log:
    """The log whose title is line number `first`; `ending` is that of its name. Raises
    WrongLineError."""
    title = TITLE.fullmatch(lines[first])
    if title is None:
        wrong(first, "no title of a system log: # HOST syslog -- DATE")
    watches = _count(lines, first + 1, _WATCHES, "# Watch times: ", _MOST_WATCHES)
    found = _header(lines, first + 2, _INTERFACES, "# Network devices (interface): ")
    names = found["names"].split()
    if len(names) != whole(first + 2, found["count"]):
        wrong(first + 2, f"{found['count']} interfaces, but {len(names)} names")
    cpus = _count(lines, first + 3, _CPUS, "# CPU number: ", _MOST_CPUS)
    cells = [title["host"], title["date"], str(watches), " ".join(names), str(cpus)]
    listings = [Listing(title=ending, columns=list(HEADER), rows=[cells])]
    place = first + 3
    columns = interface_columns(cpus)
    for name in names:
        place, title_of = _next(lines, place, _INTERFACE, f"the table of {name}")
        if title_of["name"] != name:
            wrong(place, f"the table of {title_of['name']}, where {name} is the next interface")
        place, rows = _rows(lines, place, watches, columns)
        listings.append(Listing(title=f"{ending} <{name}>", columns=columns, rows=rows))
    for cpu in range(cpus):
        place, title_of = _next(lines, place, _CPU, f"the table of CPU{cpu}")
        if title_of["number"] != str(cpu):
            wrong(place, f"the table of CPU{title_of['number']}, where CPU{cpu} is the next")
        place, rows = _rows(lines, place, watches, list(OF_CPU))
        listings.append(Listing(title=f"{ending} CPU{cpu}", columns=list(OF_CPU), rows=rows))
    if place == len(lines) and not lines.is_whole:
        wrong(place, "the last line is cut off: it has no end")
    return Log(title["host"], listings, place)


def _header(lines: Lines, n: int, pattern: re.Pattern[str], said: str) -> re.Match[str]:
    if n <= len(lines) and len(lines[n]) > _LONGEST_LINE:
        wrong(n, "a line that is longer than the tool prints")
    found = pattern.fullmatch(lines[n]) if n <= len(lines) else None
    if found is None:
        wrong(min(n, len(lines)), f"no line {said}... below the title of the system log")
    return found


def _count(lines: Lines, n: int, pattern: re.Pattern[str], said: str, most: int) -> int:
    count = whole(n, _header(lines, n, pattern, said)["count"])
    if not 1 <= count <= most:
        wrong(n, f"{said.strip('# ')} {count}")
    return count


def _next(
    lines: Lines, after: int, pattern: re.Pattern[str], said: str
) -> tuple[int, re.Match[str]]:
    """The next table's title and its number, behind blank lines and comments."""
    for n in range(after + 1, len(lines) + 1):
        if found := pattern.fullmatch(lines[n]):
            return n, found
        if lines[n].strip() and not lines[n].startswith("##"):
            wrong(n, f"the system log lacks {said}")
    return wrong(len(lines), f"the system log ends before {said}")


def _rows(lines: Lines, title: int, count: int, columns: list[str]) -> tuple[int, list[list[str]]]:
    """The number of the last line of a table, and its cells."""
    n = title
    while n < len(lines) and lines[n + 1].startswith("#"):
        n += 1
    rows = []
    for watch in range(count):
        n += 1
        if n > len(lines) or not _ROW.match(lines[n]):
            wrong(min(n, len(lines)), f"{watch} rows of the system log, where it has {count}")
        cells = lines[n].split()
        if len(cells) != len(columns):
            wrong(n, f"{len(cells)} figures below {len(columns)} columns")
        for cell in cells:
            number(n, cell)
        if cells[0] != str(watch):
            wrong(n, f"row {cells[0]}, where row {watch} of the system log is the next")
        rows.append(cells)
    return n, rows

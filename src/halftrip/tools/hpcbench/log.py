"""The system logs of Hpcbench's mpitest, `.m_log` of the master node and `.s_log` of the other:
tables of the interfaces and of the processors, with their cells as they were printed.

A row is what was counted in one repetition; the first and the last are a second of rest. After the
tables of the interfaces, whose first is the loopback, come those of the processors.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from halftrip.results.configuration import Configuration
from halftrip.results.counts import HostCounters
from halftrip.results.reported import Listing
from halftrip.tools.lines import Lines, layout, number, whole, wrong
from halftrip.tools.printing import PrintedCurve, lacks, text

TOOL = "hpcbench"
# The endings of the names of both logs, the master node's first.
ENDINGS = ("m_log", "s_log")
DATE = "%a %b %d %H:%M:%S %Y"
# What the tool calls the loopback.
_LOOP = "loop"
_HEADER = ("host", "date", "watch times", "interfaces", "CPUs")
_TITLE_LINE = "# {host} syslog -- {date}"
_WATCHES_LINE = "# Watch times: {count}"
_INTERFACES_LINE = "# Network devices (interface): {count} ( {names} )"
_CPUS_LINE = "# CPU number: {count}"
TITLE = layout(_TITLE_LINE, date=r"\S.*\S")
_WATCHES = layout(_WATCHES_LINE, count=r"\d+")
_INTERFACES = layout(_INTERFACES_LINE, count=r"\d+", names=r"\S.*\S|\S")
_CPUS = layout(_CPUS_LINE, count=r"\d+")
_OF_HOST = ("watch", "Load", "User", "Sys", "Mem", "Interrupt", "Page", "Swap", "Context")
_OF_INTERFACE = ("RecvPkg", "RecvByte", "SentPkg", "SentByte")
_OF_CPU = (
    "watch", "load", "user", "system", "idle",
    "overall load", "overall user", "overall system", "overall idle",
)  # fmt: skip
# The widths of the columns.
_WIDTHS = (-4, 4, 5, 5, 7, 10, 8, 7, 9, 10, 12, 10, 12)
_OF_INTERRUPTS = (10, 9)
_WIDTHS_OF_CPU = (-4, 6, 7, 7, 8, 10, 7, 7, 8)
_INTERFACE = re.compile(r"##### System info, statistics of network interface <(?P<name>\S+)> .*")
_INTERFACE_LINE = (
    "##### System info, statistics of network interface <{}> and its interrupts to each CPU #####"
)
_INTERFACE_HEADING = (
    "#       CPU(%)     Mem(%)  Interrupt  Page   Swap   Context           <{}> information",
    "#   Load User  Sys  Usage   Overall  In/out In/out   Swtich   RecvPkg    RecvByte   SentPkg  ",
    "  SentByte  ",
)
_CPU = re.compile(r"##\s+CPU(?P<number>\d+) workload \(%\)\s.*")
_CPU_HEADING = (
    "##         CPU{} workload (%)           Overall CPU workload (%)",
    "#   < load   user  system   idle >  < load   user  system   idle >",
)
_ROW = re.compile(r"\d")
_TITLE_OF_TABLE = re.compile(r"\d|# \S+ syslog -- |#####|##\s+CPU\d")
_MOST_CPUS = 1 << 14
_MOST_WATCHES = 10**6
_LONGEST_LINE = 10_000
_HOW = "--system-log on Linux"
_KINDS = (("user", "nice"), ("system", "irq", "softirq"), ("steal",), ("idle", "iowait"))


def _interface_columns(cpus: int) -> list[str]:
    """The columns of an interface, where there are so many processors."""
    return [*_OF_HOST, *_OF_INTERFACE, *(f"Int-CPU{cpu}" for cpu in range(cpus))]


# Reads.


class Log(NamedTuple):
    """A log: its host, its tables, and the number of its last line."""

    host: str
    listings: list[Listing]
    last: int


def read(lines: Lines, first: int, ending: str) -> Log:
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
    listings = [Listing(title=ending, columns=list(_HEADER), rows=[cells])]
    place = first + 3
    columns = _interface_columns(cpus)
    for name in names:
        place, title_of = _next(lines, place, _INTERFACE, name)
        if title_of["name"] != name:
            wrong(place, f"the table of {title_of['name']}, where {name} is the next interface")
        place, rows = _rows(lines, place, watches, columns)
        listings.append(Listing(title=f"{ending} <{name}>", columns=columns, rows=rows))
    for cpu in range(cpus):
        place, title_of = _next(lines, place, _CPU, f"CPU{cpu}")
        if title_of["number"] != str(cpu):
            wrong(place, f"the table of CPU{title_of['number']}, where CPU{cpu} is the next")
        place, rows = _rows(lines, place, watches, list(_OF_CPU))
        listings.append(Listing(title=f"{ending} CPU{cpu}", columns=list(_OF_CPU), rows=rows))
    if place == len(lines) and not lines.is_whole:
        wrong(place, "the last line is cut off: it has no end")
    return Log(title["host"], listings, place)


def _header(lines: Lines, n: int, pattern: re.Pattern[str], said: str) -> re.Match[str]:
    if n <= len(lines) and len(lines[n]) > _LONGEST_LINE:
        wrong(n, "a line that is longer than the tool prints")
    return lines.follows(n - 1, pattern, f"no line {said}... below the title of the system log")


def _count(lines: Lines, n: int, pattern: re.Pattern[str], said: str, most: int) -> int:
    count = whole(n, _header(lines, n, pattern, said)["count"])
    if not 1 <= count <= most:
        wrong(n, f"{said.strip('# ')} {count}")
    return count


def _next(lines: Lines, after: int, pattern: re.Pattern[str], of: str) -> tuple[int, re.Match[str]]:
    """The title of the next table and its number, behind blank lines and comments."""
    lacks = f"the system log lacks the table of {of}"
    return lines.next(after, pattern, _TITLE_OF_TABLE, lacks)


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


# Prints.


def date_of(started: str) -> str:
    """A date of ISO 8601 as the tool prints it."""
    return datetime.fromisoformat(started).strftime(DATE)


def written(listings: Sequence[Listing], ending: str) -> str | None:
    """The log with this ending; None where there is none. Raises ValueError where it is no log."""
    own = [each for each in listings if each.title.split()[0] == ending]
    if not own:
        return None
    head, *tables = own
    host, date, watches, interfaces, cpus = head.rows[0]
    count = len(interfaces.split())
    lines = [
        _TITLE_LINE.format(host=host, date=date),
        _WATCHES_LINE.format(count=watches),
        _INTERFACES_LINE.format(count=count, names=interfaces),
        _CPUS_LINE.format(count=cpus),
    ]
    for each in tables[:count]:
        lines += ["", *_interface(each)]
    lines += ["", "## CPU workload distribution: ", "##"]
    for n, each in enumerate(tables[count:]):
        lines += [*[""] * bool(n), *_cpu(each)]
    return text(lines)


def _interface(listing: Listing) -> list[str]:
    name = listing.title.split(maxsplit=1)[1].strip("<>")
    first, *second = _INTERFACE_HEADING
    interrupts = listing.columns[len(_WIDTHS) :]
    widths = [*_WIDTHS, *(_OF_INTERRUPTS[n > 0] for n in range(len(interrupts)))]
    return [
        _INTERFACE_LINE.format(name),
        first.format(name),
        "".join([*second, *(f"{each} " for each in interrupts)]),
        *(line_of(row, widths) for row in listing.rows),
    ]


def _cpu(listing: Listing) -> list[str]:
    first, second = _CPU_HEADING
    rows = [line_of(row, _WIDTHS_OF_CPU) for row in listing.rows]
    return [first.format(listing.title.split("CPU", 1)[1]), second, *rows]


def line_of(cells: Sequence[str], widths: Sequence[int]) -> str:
    """A line of a table; a column with a width below 0 is left-aligned. Where figures of the
    tool would run into each other, there is a space between them."""
    line = ""
    for cell, width in zip(cells, widths, strict=True):
        padded = f"{cell:<{-width}s}" if width < 0 else f"{cell:>{width}s}"
        apart = not line or line.endswith(" ") or padded.startswith(" ")
        line += padded if apart else f" {padded}"
    return line


def listings(curve: PrintedCurve) -> list[Listing]:
    """The logs of both nodes while a curve of ours was measured; empty where the run has none.
    Raises UsageError for a log that lacks what the tool's has."""
    run = curve.document.run
    wanted = {row.configuration for row in curve.rows}
    records = [each for each in run.host_counters if _is_of(each, wanted)]
    if not any(each.phase == "during" for each in records):
        return []
    found: list[Listing] = []
    date = date_of(run.header.started)
    for ending, rank in zip(ENDINGS, curve.configuration.pair, strict=True):
        host = run.names.host(rank)
        # Two hosts may have the same name; ranks of one share the log of the lowest.
        ranks = sorted({each.rank for each in records if each.host == host and each.rank <= rank})
        if not ranks:
            lacks(TOOL, f"system log of {host}", _HOW)
        own = [each for each in records if each.host == host and each.rank == ranks[-1]]
        own.sort(key=lambda each: (each.launch, each.at))
        found += _of_host(ending, host, date, own)
    return found


def _is_of(record: HostCounters, wanted: set[Configuration]) -> bool:
    """Whether a record is of the rest, or of one of these configurations."""
    if record.phase == "during":
        return not wanted.isdisjoint(record.configurations)
    return record.phase in ("before", "after")


def _of_host(ending: str, host: str, date: str, records: list[HostCounters]) -> list[Listing]:
    cpus = [name for name in records[0].cpus if name != "all"]
    names = dict.fromkeys(name for each in records for name in each.interfaces)
    names = {"lo": None} | names if "lo" in names else names
    if not cpus or not names:
        lacks(TOOL, "processors or interfaces in its system log", _HOW)
    shown = {name: _LOOP if name == "lo" else name for name in names}
    header = [host, date, str(len(records)), " ".join(shown.values()), str(len(cpus))]
    found = [Listing(title=ending, columns=list(_HEADER), rows=[header])]
    columns = _interface_columns(len(cpus))
    for name, called in shown.items():
        rows = [
            [str(n), *_host_cells(each), *_interface_cells(each, name, cpus)]
            for n, each in enumerate(records)
        ]
        found.append(Listing(title=f"{ending} <{called}>", columns=columns, rows=rows))
    for place, cpu in enumerate(cpus):
        rows = [
            [str(n), *(f"{share:.1f}" for name in (cpu, "all") for share in _shares(each, name))]
            for n, each in enumerate(records)
        ]
        found.append(Listing(title=f"{ending} CPU{place}", columns=list(_OF_CPU), rows=rows))
    return found


def _host_cells(record: HostCounters) -> list[str]:
    if record.memory_used is None or not record.memory_total:
        lacks(TOOL, "memory of a host in its system log", f"{_HOW}, with this halftrip")
    load, user, system, _ = _shares(record, "all")
    memory = 100 * record.memory_used / record.memory_total
    counts = record.counts
    return [
        *(f"{share:.0f}" for share in (load, user, system, memory)),
        str(_counted(counts, "interrupts")),
        str(_counted(counts, "kib_in") + _counted(counts, "kib_out")),
        str(_counted(counts, "swapped_in") + _counted(counts, "swapped_out")),
        str(_counted(counts, "context_switches")),
    ]


def _interface_cells(record: HostCounters, name: str, cpus: Sequence[str]) -> list[str]:
    counts = record.interfaces.get(name, {})
    kinds = ("packets_in", "bytes_in", "packets_out", "bytes_out")
    interrupts = record.interrupts.get(name, {})
    return [
        *(str(_counted(counts, kind)) for kind in kinds),
        # What an interface does not interrupt, or has no interrupt of its own for, has none.
        *(str(interrupts.get(cpu, 0)) for cpu in cpus),
    ]


def _counted(counts: Mapping[str, int], name: str) -> int:
    """A count of a record. Raises UsageError where the host could not read it."""
    if name not in counts:
        lacks(TOOL, f"{name.replace('_', ' ')} in its system log", _HOW)
    return counts[name]


def _shares(record: HostCounters, name: str) -> tuple[float, float, float, float]:
    """Load, user, system and idle time of a processor, percent. Load is all but idle time."""
    times = record.cpus.get(name, {})
    total = sum(times.values())
    if not total > 0:
        return 0.0, 0.0, 0.0, 100.0
    user, system, steal, idle = (
        100 * sum(times.get(kind, 0.0) for kind in kinds) / total for kinds in _KINDS
    )
    return user + system + steal, user, system, idle

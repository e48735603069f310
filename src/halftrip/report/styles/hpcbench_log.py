"""The system logs of Hpcbench's mpitest, `.m_log` of the master node and `.s_log` of the other.

A row is what was counted in one repetition; the first and the last are a second of rest. After the
tables of the interfaces, whose first is the loopback, come those of the processors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from halftrip.report.document import Document
from halftrip.report.styles.figures import Curve, lacks
from halftrip.results.configuration import Configuration
from halftrip.results.host_counters import HostCounters
from halftrip.results.reported import Listing

# The endings of the names of both logs, the master node's first.
ENDINGS = ("m_log", "s_log")
# What the tool calls the loopback.
LOOP = "loop"
HEADER = ("host", "date", "watch times", "interfaces", "CPUs")
_OF_HOST = ("watch", "Load", "User", "Sys", "Mem", "Interrupt", "Page", "Swap", "Context")
_OF_INTERFACE = ("RecvPkg", "RecvByte", "SentPkg", "SentByte")
OF_CPU = (
    "watch", "load", "user", "system", "idle",
    "overall load", "overall user", "overall system", "overall idle",
)  # fmt: skip
# The widths of the columns.
_WIDTHS = (-4, 4, 5, 5, 7, 10, 8, 7, 9, 10, 12, 10, 12)
_OF_INTERRUPTS = (10, 9)
_WIDTHS_OF_CPU = (-4, 6, 7, 7, 8, 10, 7, 7, 8)
_INTERFACE_HEADING = (
    "#       CPU(%)     Mem(%)  Interrupt  Page   Swap   Context           <{}> information",
    "#   Load User  Sys  Usage   Overall  In/out In/out   Swtich   RecvPkg    RecvByte   SentPkg  ",
    "  SentByte  ",
)
_CPU_HEADING = (
    "##         CPU{} workload (%)           Overall CPU workload (%)",
    "#   < load   user  system   idle >  < load   user  system   idle >",
)
_DATE = "%a %b %d %H:%M:%S %Y"
_STYLE = "hpcbench"
_HOW = "--system-log on Linux"
_KINDS = (("user", "nice"), ("system", "irq", "softirq"), ("steal",), ("idle", "iowait"))


def date_of(started: str) -> str:
    """A date of ISO 8601 as the tool prints it."""
    return datetime.fromisoformat(started).strftime(_DATE)


def interface_columns(cpus: int) -> list[str]:
    """The columns of an interface, where there are so many processors."""
    return [*_OF_HOST, *_OF_INTERFACE, *(f"Int-CPU{cpu}" for cpu in range(cpus))]


def written(listings: Sequence[Listing], ending: str) -> str | None:
    """The log with this ending; None where there is none. Raises ValueError where it is no log."""
    own = [each for each in listings if each.title.split()[0] == ending]
    if not own:
        return None
    head, *tables = own
    host, date, watches, interfaces, cpus = head.rows[0]
    count = len(interfaces.split())
    lines = [
        f"# {host} syslog -- {date}",
        f"# Watch times: {watches}",
        f"# Network devices (interface): {count} ( {interfaces} )",
        f"# CPU number: {cpus}",
    ]
    for each in tables[:count]:
        lines += ["", *_interface(each)]
    lines += ["", "## CPU workload distribution: ", "##"]
    for number, each in enumerate(tables[count:]):
        lines += [*[""] * bool(number), *_cpu(each)]
    return "".join(f"{line}\n" for line in lines)


def _interface(listing: Listing) -> list[str]:
    name = listing.title.split(maxsplit=1)[1].strip("<>")
    first, *second = _INTERFACE_HEADING
    interrupts = listing.columns[len(_WIDTHS) :]
    title = f"statistics of network interface <{name}> and its interrupts to each CPU"
    widths = [*_WIDTHS, *(_OF_INTERRUPTS[n > 0] for n in range(len(interrupts)))]
    return [
        f"##### System info, {title} #####",
        first.format(name),
        "".join([*second, *(f"{each} " for each in interrupts)]),
        *(line_of(row, widths) for row in listing.rows),
    ]


def _cpu(listing: Listing) -> list[str]:
    first, second = _CPU_HEADING
    number = listing.title.split("CPU", 1)[1]
    rows = [line_of(row, _WIDTHS_OF_CPU) for row in listing.rows]
    return [first.format(number), second, *rows]


def line_of(cells: Sequence[str], widths: Sequence[int]) -> str:
    """A line of a table; a column with a width below 0 is left-aligned. Where figures of the
    tool would run into each other, there is a space between them."""
    line = ""
    for cell, width in zip(cells, widths, strict=True):
        padded = f"{cell:<{-width}s}" if width < 0 else f"{cell:>{width}s}"
        apart = not line or line.endswith(" ") or padded.startswith(" ")
        line += padded if apart else f" {padded}"
    return line


def listings(document: Document, curve: Curve) -> list[Listing]:
    """The logs of both nodes while a curve of ours was measured; empty where the run has none.
    Raises UsageError for a log that lacks what the tool's has."""
    run = document.run
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
            lacks(_STYLE, f"system log of {host}", _HOW)
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
        lacks(_STYLE, "processors or interfaces in its system log", _HOW)
    shown = {name: LOOP if name == "lo" else name for name in names}
    header = [host, date, str(len(records)), " ".join(shown.values()), str(len(cpus))]
    found = [Listing(title=ending, columns=list(HEADER), rows=[header])]
    columns = interface_columns(len(cpus))
    for name, called in shown.items():
        rows = [
            [str(n), *_host_cells(each), *_interface_cells(each, name, cpus)]
            for n, each in enumerate(records)
        ]
        found.append(Listing(title=f"{ending} <{called}>", columns=columns, rows=rows))
    for number, cpu in enumerate(cpus):
        rows = [
            [str(n), *(f"{share:.1f}" for name in (cpu, "all") for share in _shares(each, name))]
            for n, each in enumerate(records)
        ]
        found.append(Listing(title=f"{ending} CPU{number}", columns=list(OF_CPU), rows=rows))
    return found


def _host_cells(record: HostCounters) -> list[str]:
    if record.memory_used is None or not record.memory_total:
        lacks(_STYLE, "memory of a host in its system log", f"{_HOW}, with this halftrip")
    load, user, system, _ = _shares(record, "all")
    memory = 100 * record.memory_used / record.memory_total
    counts = record.counts
    return [
        *(f"{share:.0f}" for share in (load, user, system, memory)),
        str(_count(counts, "interrupts")),
        str(_count(counts, "kib_in") + _count(counts, "kib_out")),
        str(_count(counts, "swapped_in") + _count(counts, "swapped_out")),
        str(_count(counts, "context_switches")),
    ]


def _interface_cells(record: HostCounters, name: str, cpus: Sequence[str]) -> list[str]:
    counts = record.interfaces.get(name, {})
    kinds = ("packets_in", "bytes_in", "packets_out", "bytes_out")
    interrupts = record.interrupts.get(name, {})
    return [
        *(str(_count(counts, kind)) for kind in kinds),
        # What an interface does not interrupt, or has no interrupt of its own for, has none.
        *(str(interrupts.get(cpu, 0)) for cpu in cpus),
    ]


def _count(counts: Mapping[str, int], name: str) -> int:
    """A count of a record. Raises UsageError where the host could not read it."""
    if name not in counts:
        lacks(_STYLE, f"{name.replace('_', ' ')} in its system log", _HOW)
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

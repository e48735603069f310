"""The view of the system log: the counters of every host, configuration by configuration."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from halftrip.analysis.figure import ALWAYS, BRIEF
from halftrip.render.blocks import (
    SPACE,
    Block,
    Column,
    Items,
    Legend,
    Paragraph,
    Table,
    View,
    table,
)
from halftrip.report.document import Document
from halftrip.report.fields import name_of, varying
from halftrip.report.numbers import NOTHING, number, percent, whole
from halftrip.results.configuration import Configuration
from halftrip.results.counts import HostCounters
from halftrip.results.names import Names
from halftrip.results.run import Run

_TITLE = "System log"
# A processor whose load is always below this has no line in each record.
_AWAKE = 0.05
# A record of more configurations names so many of them.
_MOST_NAMES = 2
# Without these, the total time of a processor is not known.
_NEEDED = {"user", "system", "idle"}
_BUSY = ("user", "nice", "system", "irq", "softirq", "steal")


class SystemLine(NamedTuple):
    """A line of a table: a record, what it is about in words, and the processor or interface whose
    counters are shown; "" for the whole host."""

    record: HostCounters
    what: str
    name: str = ""


class _Host(NamedTuple):
    """Tables of one host, and lines about what has none."""

    tables: Sequence[Table]
    notes: Sequence[str]


def system_log(document: Document) -> View:
    """For each host a table of the whole host, one of its processors, and one of its interfaces."""
    run = document.run
    hosts = _hosts(run)
    if not hosts:
        return View([Paragraph(f"no system log: {_why_none(run)}")], title=_TITLE)
    blocks: list[Block] = []
    for host in hosts:
        for each in host.tables:
            blocks += [each, SPACE, Items(each.without_column)]
        blocks += [Items(host.notes), SPACE]
    legend = Legend([_LEGEND], in_one=True)
    blocks += [legend, Items(_cost(run)), Items(document.warnings, "yellow")]
    return View(blocks, title=_TITLE)


def _hosts(run: Run) -> list[_Host]:
    """The tables of each host; none where the run has no system log."""
    # Records of a whole launch are told with the network.
    records = [record for record in run.host_counters if record.phase != "launch"]
    describe = _describe(
        [configuration for record in records for configuration in record.configurations],
        run.names,
    )
    hosts = sorted({(record.host, record.rank) for record in records}, key=lambda host: host[1])
    several = len({record.launch for record in records}) > 1
    # Several hosts may have the same name, as containers do.
    unique = len({name for name, _ in hosts}) == len(hosts)
    found = []
    for name, rank in hosts:
        own = [record for record in records if (record.host, record.rank) == (name, rank)]
        own.sort(key=lambda record: (record.launch, record.at))
        lines = [SystemLine(record, describe(record)) for record in own]
        ranks = [e for e in run.environments if e.host == name]
        cores = [core for e in ranks for core in (e.core, *(e.thread_cores or ()))]
        title = name if unique else f"{name} (rank {rank})"
        found.append(_host(title, lines, cores, several))
    return found


def _host(
    host: str, lines: Sequence[SystemLine], cores: Sequence[int | None], several: bool
) -> _Host:
    """The tables of one host. `cores` are those of its ranks; lines name their launch where there
    are `several`."""
    awake, asleep = _processors(lines, cores)
    busy, quiet = _interfaces(lines)
    tables = []
    for title, names, figures in (
        ("", [""], (*_CPU, *_HOST)),
        (": each processor", awake, (_named("CPU"), *_CPU, *_SOFTNET)),
        (": interfaces", busy, _INTERFACE),
    ):
        each = [line._replace(name=name) for line in lines for name in names]
        if each:
            made = table(each, (*_WHEN[not several :], *figures))
            tables.append(made.titled(f"host {host}{title}", "heading"))
    notes = []
    if asleep:
        notes.append(f"never at a load of {_AWAKE:.0%}: CPU {', '.join(asleep)}")
    if quiet:
        notes.append(f"nothing went through {', '.join(quiet)}")
    return _Host(tables, notes)


def _why_none(run: Run) -> str:
    if not run.header.plan.get("system_log"):
        return "this run has none; measure with --system-log"
    if run.measurements:
        return "what is simulated is on no host"
    return "nothing was measured"


def _cost(run: Run) -> list[str]:
    """The time that the log took, in all and as a share of the run without its rest."""
    end = run.end
    if end is None or end.logged is None or end.seconds is None:
        return []
    first = min(record.rank for record in run.host_counters)
    rest = sum(
        record.seconds
        for record in run.host_counters
        if record.rank == first and record.phase in ("before", "after")
    )
    # Both are of a file, which may have been damaged.
    if end.seconds <= rest:
        return [f"the log took {number(end.logged)} s"]
    share = number(100 * end.logged / (end.seconds - rest), 2)
    of = f"of the run's {end.seconds:.1f} s without the {rest:.1f} s of rest that belong to it"
    return [f"the log took {number(end.logged)} s, {share} % {of}"]


def _describe(
    configurations: Sequence[Configuration], ranks: Names
) -> Callable[[HostCounters], str]:
    """A function that names the configurations of a record by the fields in which all
    configurations differ."""
    fields = varying(configurations)

    def describe(counters: HostCounters) -> str:
        if not counters.configurations:
            return f"{counters.phase}, idle"
        names = [*dict.fromkeys(name_of(each, fields, ranks) for each in counters.configurations)]
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES + 1 else ""
        return ", ".join(names[:_MOST_NAMES] if more else names) + more

    return describe


def _processors(
    lines: Sequence[SystemLine], own: Collection[int | None]
) -> tuple[list[str], list[str]]:
    """The processors that were awake or are a rank's `own`, and the others."""
    names = dict.fromkeys(name for line in lines for name in line.record.cpus if name != "all")
    awake = {
        name
        for line in lines
        for name, times in line.record.cpus.items()
        if sum(times.get(kind, 0.0) for kind in _BUSY) >= _AWAKE * sum(times.values()) > 0
    }
    awake |= {str(core) for core in own}
    return [n for n in names if n in awake], [n for n in names if n not in awake]


def _interfaces(lines: Sequence[SystemLine]) -> tuple[list[str], list[str]]:
    """The interfaces that carried anything, and the others."""
    carried: dict[str, bool] = {}
    for line in lines:
        for name, counts in line.record.interfaces.items():
            carried[name] = carried.get(name, False) or any(counts.values())
    return (
        [name for name, carries in carried.items() if carries],
        [name for name, carries in carried.items() if not carries],
    )


def _named(heading: str) -> Column:
    return Column(heading, "", lambda line: line.name, True, rank=ALWAYS)


def _time(kinds: Sequence[str]) -> Callable[[SystemLine], str]:
    """The share of a processor's time, or of that of all, that it spent in these kinds."""

    def cell(line: SystemLine) -> str:
        times = line.record.cpus.get(line.name or "all", {})
        known = [times[kind] for kind in kinds if kind in times]
        total = sum(times.values()) if times.keys() >= _NEEDED else 0.0
        return percent(sum(known) / total if known and total else None)

    return cell


def _per_second(count: int | None, line: SystemLine, scale: float = 1.0) -> str:
    return number(None if count is None else count / line.record.seconds, 3, scale)


def _rate(name: str) -> Callable[[SystemLine], str]:
    """A count of the whole host per second."""
    return lambda line: _per_second(line.record.counts.get(name), line)


def _count(name: str) -> Callable[[SystemLine], str]:
    return lambda line: whole(line.record.counts.get(name))


def _softnet(name: str) -> Callable[[SystemLine], str]:
    return lambda line: whole(line.record.softnet.get(line.name, {}).get(name))


def _interface(name: str) -> Callable[[SystemLine], str]:
    return lambda line: whole(line.record.interfaces.get(line.name, {}).get(name))


def _megabytes(name: str) -> Callable[[SystemLine], str]:
    """A count of bytes of an interface, in MB per second."""
    return lambda line: _per_second(line.record.interfaces.get(line.name, {}).get(name), line, 1e6)


def _interrupts(line: SystemLine) -> str:
    counts = line.record.interrupts.get(line.name, {})
    return ", ".join(f"{cpu}: {count:,}" for cpu, count in counts.items()) or NOTHING


def _slice(line: SystemLine) -> str:
    slices = dict.fromkeys(line.record.slices)
    return ", ".join(str(number + 1) for number in slices) or NOTHING


_WHEN = (
    Column("launch", "", lambda line: str(line.record.launch + 1)),
    Column("at", "s", lambda line: f"{line.record.at:.2f}", rank=ALWAYS),
    Column("for", "s", lambda line: number(line.record.seconds)),
    Column("slice", "", _slice),
    Column("what", "", lambda line: line.what, True, rank=ALWAYS),
)
_CPU = (
    Column("load", "%", _time(_BUSY), rank=BRIEF),
    Column("user", "%", _time(("user", "nice"))),
    Column("system", "%", _time(("system",))),
    Column("idle", "%", _time(("idle",))),
    Column("iowait", "%", _time(("iowait",)), is_rare=True),
    Column("irq", "%", _time(("irq",)), is_rare=True),
    Column("softirq", "%", _time(("softirq",))),
    Column("steal", "%", _time(("steal",)), is_rare=True),
)
_HOST = (
    Column("memory", "MiB", lambda line: number(line.record.memory_used, 4, 1 << 20)),
    Column("interrupts", "/s", _rate("interrupts")),
    Column("switches", "/s", _rate("context_switches")),
    Column("from disk", "KiB", _count("kib_in"), is_rare=True),
    Column("to disk", "KiB", _count("kib_out")),
    Column("swap in", "pages", _count("swapped_in"), is_rare=True),
    Column("swap out", "pages", _count("swapped_out"), is_rare=True),
    Column("TCP resent", "segments", _count("tcp_retransmits"), is_rare=True),
    Column("TCP errors", "segments", _count("tcp_errors"), is_rare=True),
    Column("TCP", "timeouts", _count("tcp_timeouts"), is_rare=True),
    Column("UDP errors", "datagrams", _count("udp_errors"), is_rare=True),
    Column("UDP no room", "datagrams", _count("udp_receive_buffer_full"), is_rare=True),
)
_SOFTNET = (
    Column("softnet", "packets", _softnet("processed")),
    Column("dropped", "packets", _softnet("dropped"), is_rare=True),
    Column("squeezed", "times", _softnet("squeezed"), is_rare=True),
)
_INTERFACE = (
    _named("interface"),
    Column("in", "packets", _interface("packets_in")),
    Column("out", "packets", _interface("packets_out")),
    Column("in", "bytes", _interface("bytes_in")),
    Column("out", "bytes", _interface("bytes_out")),
    Column("in", "MB/s", _megabytes("bytes_in")),
    Column("out", "MB/s", _megabytes("bytes_out")),
    Column("dropped", "in", _interface("drops_in"), is_rare=True),
    Column("dropped", "out", _interface("drops_out"), is_rare=True),
    Column("errors", "in", _interface("errors_in"), is_rare=True),
    Column("errors", "out", _interface("errors_out"), is_rare=True),
    Column("interrupts", "CPU: times", _interrupts, True),
)
_LEGEND = (
    "at: since the launch began, by rank 0's clock. A configuration: from the line before to its "
    "end, with setting up and warm-up; short ones share a record, so that the log stays below 1 % "
    "of the time. load: all but idle and iowait. memory: used, without buffers and cache. "
    "switches: from task to task. softnet: packets handed to a processor; dropped: its queue was "
    "full; squeezed: it ran out of time. UDP errors: with those for which there was no room. lo "
    "carries each packet out and in."
)

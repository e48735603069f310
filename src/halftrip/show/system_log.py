"""The system log: what every host's counters have counted, before, in and after each case."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

from rich.console import Group, RenderableType
from rich.text import Text

from halftrip.model import Case, Run, System
from halftrip.show import columns
from halftrip.show.grid import Figure, grid, number, percent, whole
from halftrip.units import format_size

# So many cases of a record are named, or all but one of them.
_NAMED = 3
_BUSY = ("user", "nice", "system", "irq", "softirq", "steal")


class Line(NamedTuple):
    """Of a record, the part about `name`: a processor, or an interface; "" for the whole host."""

    system: System
    what: str
    name: str = ""


def render_system_log(run: Run) -> Group:
    """For each host its processors and memory, each processor by itself, and its interfaces."""
    if not run.systems:
        return Group(Text("no system log: this run has none; measure with --system-log"))
    parts: list[RenderableType] = []
    describe = _describe([case for s in run.systems for case in s.cases])
    order = sorted(run.systems, key=lambda s: (s.host, s.launch, s.at))
    for host, those in itertools.groupby(order, key=lambda s: s.host):
        lines = [Line(s, describe(s)) for s in those]
        parts += [Text(f"host {host}", style="bold"), grid(lines, (*_WHEN, *_CPU, *_HOST))]
        for title, names, figures in (
            ("each processor", _processors, (_named("CPU"), *_CPU, *_SOFTNET)),
            ("interfaces", _busy_interfaces(lines), (_named("interface"), *_INTERFACE)),
        ):
            each = [line._replace(name=name) for line in lines for name in names(line.system)]
            if each:
                parts += [Text(f"host {host}: {title}"), grid(each, (*_WHEN, *figures))]
    parts += [Text(line, style="dim") for line in _LEGEND]
    end = run.end
    if end is not None and end.logged is not None and end.seconds:
        share = number(100 * end.logged / end.seconds, 2)
        parts.append(
            Text(f"the log took {number(end.logged)} s, {share} % of the run's {end.seconds:.1f} s")
        )
    parts += [Text(line, style="yellow") for line in notices(run)]
    return Group(*parts)


def notices(run: Run) -> list[str]:
    """What was found odd and left out, one line each."""
    return list(dict.fromkeys(f"left out: {n.host}: {n.text}" for n in run.notices))


def _describe(cases: Sequence[Case]) -> Callable[[System], str]:
    """What a record is of, in the words that tell its case from the others."""
    varying = [of for _, of in columns.FIELDS if len({of(case) for case in cases}) > 1]

    def name(case: Case) -> str:
        words = [case.transport, case.wait, *(of(case) for of in varying), format_size(case.size)]
        return " ".join(words)

    def describe(system: System) -> str:
        if not system.cases:
            return f"{system.phase}, idle"
        names = [name(case) for case in system.cases]
        if len(names) > _NAMED:
            names[_NAMED - 1 :] = [f"{len(names) - _NAMED + 1} more"]
        return ", ".join(names)

    return describe


def _processors(system: System) -> list[str]:
    return [name for name in system.cpus if name != "all"]


def _busy_interfaces(lines: Sequence[Line]) -> Callable[[System], list[str]]:
    """Those through which anything went at all."""
    busy = {
        name
        for line in lines
        for name, counts in line.system.interfaces.items()
        if any(counts.values())
    }
    return lambda system: [name for name in system.interfaces if name in busy]


def _named(heading: str) -> Figure:
    return Figure(heading, "", lambda line: line.name, True)


def _time(kinds: Sequence[str]) -> Callable[[Line], str]:
    """The share of a processor's time, or of all of them, that was of these kinds."""

    def cell(line: Line) -> str:
        times = line.system.cpus.get(line.name or "all", {})
        known = [times[kind] for kind in kinds if kind in times]
        total = sum(times.values())
        return percent(sum(known) / total if known and total else None)

    return cell


def _rate(name: str, scale: float = 1.0) -> Callable[[Line], str]:
    """So many per second, in the whole host."""

    def cell(line: Line) -> str:
        count = line.system.counts.get(name)
        return number(None if count is None else count / line.system.seconds, 3, scale)

    return cell


def _count(name: str) -> Callable[[Line], str]:
    return lambda line: whole(line.system.counts.get(name))


def _softnet(name: str) -> Callable[[Line], str]:
    return lambda line: whole(line.system.softnet.get(line.name, {}).get(name))


def _interface(name: str) -> Callable[[Line], str]:
    return lambda line: whole(line.system.interfaces[line.name].get(name))


def _megabytes(name: str) -> Callable[[Line], str]:
    def cell(line: Line) -> str:
        count = line.system.interfaces[line.name].get(name)
        return number(None if count is None else count / line.system.seconds, 3, 1e6)

    return cell


def _interrupts(line: Line) -> str:
    counts = line.system.interrupts.get(line.name, {})
    return ", ".join(f"{cpu}: {count:,}" for cpu, count in counts.items()) or columns.NOTHING


def _repetition(line: Line) -> str:
    return columns.NOTHING if line.system.repetition is None else str(line.system.repetition + 1)


_WHEN = (
    Figure("at", "s", lambda line: f"{line.system.at:.2f}"),
    Figure("for", "s", lambda line: number(line.system.seconds)),
    Figure("repetition", "", _repetition),
    Figure("what", "", lambda line: line.what, True),
)
_CPU = (
    Figure("load", "%", _time(_BUSY)),
    Figure("user", "%", _time(("user", "nice"))),
    Figure("system", "%", _time(("system",))),
    Figure("idle", "%", _time(("idle",))),
    Figure("iowait", "%", _time(("iowait",))),
    Figure("irq", "%", _time(("irq",))),
    Figure("softirq", "%", _time(("softirq",))),
    Figure("steal", "%", _time(("steal",))),
)
_HOST = (
    Figure("memory", "MiB", lambda line: number(line.system.memory_used, 4, 1 << 20)),
    Figure("interrupts", "/s", _rate("interrupts")),
    Figure("switches", "/s", _rate("context_switches")),
    Figure("from disk", "KiB", _count("kib_in")),
    Figure("to disk", "KiB", _count("kib_out")),
    Figure("swap in", "pages", _count("swapped_in")),
    Figure("swap out", "pages", _count("swapped_out")),
    Figure("TCP resent", "segments", _count("tcp_retransmits")),
    Figure("TCP errors", "segments", _count("tcp_errors")),
    Figure("TCP", "timeouts", _count("tcp_timeouts")),
    Figure("UDP errors", "datagrams", _count("udp_errors")),
    Figure("UDP no room", "datagrams", _count("udp_receive_buffer_full")),
)
_SOFTNET = (
    Figure("softnet", "packets", _softnet("processed")),
    Figure("dropped", "packets", _softnet("dropped")),
    Figure("squeezed", "times", _softnet("squeezed")),
)
_INTERFACE = (
    Figure("in", "packets", _interface("packets_in")),
    Figure("out", "packets", _interface("packets_out")),
    Figure("in", "bytes", _interface("bytes_in")),
    Figure("out", "bytes", _interface("bytes_out")),
    Figure("in", "MB/s", _megabytes("bytes_in")),
    Figure("out", "MB/s", _megabytes("bytes_out")),
    Figure("dropped", "in", _interface("drops_in")),
    Figure("dropped", "out", _interface("drops_out")),
    Figure("errors", "in", _interface("errors_in")),
    Figure("errors", "out", _interface("errors_out")),
    Figure("interrupts", "CPU: times", _interrupts, True),
)
_LEGEND = (
    "at: since the launch began, by rank 0's clock. A case: from the line before to its end, with",
    "setting up; short ones together. load: all but idle and iowait. memory: used, without buffers",
    "and cache. switches: from task to task. softnet: packets handed to a processor; dropped: its",
    "queue was full; squeezed: it ran out of time. lo carries each packet out and in.",
)

"""As Hpcbench's mpitest prints: tests of one size, of sizes that grow, and of the round trip, each
with the system logs of both nodes where the run has them.

A blocking stream counts an acknowledgement of 2 bytes; a ping-pong counts both messages, which is
the one-way rate where they take turns, and the sum of both ways in nonblocking mode. A repetition
is a slice or a launch; elapsed, user and system times are those of its kept samples. Where slices
had different numbers of iterations, the heading has their mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from halftrip.report.document import Document
from halftrip.report.styles.figures import Curve, curves, fact, lacks, mean, measurements
from halftrip.report.styles.hpcbench_log import ENDINGS, date_of, line_of, listings, written
from halftrip.results.configuration import Configuration
from halftrip.results.records import Measurement
from halftrip.results.reported import Listing, Source

TOOL = "hpcbench"
# The kinds of tests.
FIXED, EXPONENTIAL, ROUND_TRIP = "fixed", "exponential", "round trip"
REPETITION, SIZE, THROUGHPUT, ITERATION = "repetition", "Message Size", "Throughput", "Iteration"
_OF_NODES = (
    "Master-node Elapsed-time", "M-process User-mode", "M-process Sys-mode",
    "Slave-node Elapsed-time", "S-process User-mode", "S-process Sys-mode",
)  # fmt: skip
COLUMNS = {
    FIXED: (REPETITION, THROUGHPUT, *_OF_NODES),
    EXPONENTIAL: (SIZE, THROUGHPUT, ITERATION, *_OF_NODES),
    ROUND_TRIP: (REPETITION, "Round Trip Time"),
}
# The bytes of the acknowledgement of a blocking stream.
ACKNOWLEDGEMENT = 2
_FIXED_HEADING = (
    "#      Overall    Master-node  M-process  M-process   Slave-node   S-process  S-process",
    "#    Throughput  Elapsed-time  User-mode   Sys-mode  Elapsed-time  User-mode   Sys-mode",
    "#        Mbps        Seconds     Seconds    Seconds     Seconds     Seconds     Seconds",
)
_EXPONENTIAL_HEADING = (
    "#   Message    Overall             Master-node  M-process  M-process"
    "   Slave-node   S-process  S-process\n"
    "#     Size   Throughput Iteration Elapsed-time  User-mode   Sys-mode"
    "  Elapsed-time  User-mode   Sys-mode\n"
    "#    Bytes       Mbps                 Seconds     Seconds    Seconds"
    "     Seconds     Seconds     Seconds"
)
_WIDTHS = {
    FIXED: (-4, 10, 13, 12, 11, 12, 12, 12),
    EXPONENTIAL: (10, 12, 10, 12, 12, 11, 12, 12, 12),
}
_TESTS = {"stream": "stream (unidirectional) test", "pingpong": "ping-pong (bidirectional) test"}
_CALLS = {"blocking": "MPI_Send/MPI_Recv", "nonblocking": "MPI_Isend/MPI_Irecv"}
_WORDS = {"blocking": "Blocking", "nonblocking": "Non-blocking"}
_HOW = "-p pingpong,stream, or a recipe: halftrip run hpcbench-fixed"


class _Test(NamedTuple):
    """What one call of the tool prints: its output, and its logs by the endings of their names."""

    output: str
    logs: dict[str, str]


def render(document: Document) -> str:
    """The output of each test, with both logs behind it, each below its name. Raises UsageError
    for a run without a stream or ping-pong."""
    tests = _tests(document)
    parts = []
    for name, test in _named(tests):
        parts.append(test.output)
        parts += [f"==> output{name}.{ending} <==\n{log}" for ending, log in test.logs.items()]
    return "\n".join(parts)


def files(document: Document) -> dict[str, str]:
    """The files that the tool would have written, by what their names end in: nothing, ``.m_log``
    and ``.s_log``, behind a number where there are several tests. Raises UsageError as `render`."""
    found = {}
    for name, test in _named(_tests(document)):
        found[name] = test.output
        found |= {f"{name}.{ending}": log for ending, log in test.logs.items()}
    return found


def _named(tests: Sequence[_Test]) -> Iterator[tuple[str, _Test]]:
    for number, test in enumerate(tests, 1):
        yield f"-{number}" if len(tests) > 1 else "", test


def _tests(document: Document) -> list[_Test]:
    needs = "stream or ping-pong, blocking or not"
    found = _joined(curves(document, TOOL, _is_hpcbench, needs, _HOW))
    imported: dict[int, Source] = {}
    tests: list[_Test] = []
    for curve in found:
        if curve.source is not None and curve.source.tool == TOOL:
            imported[curve.source.place] = curve.source
        else:
            tests += _of_curve(document, curve)
    return [*(_as_it_was(document, imported[place]) for place in sorted(imported)), *tests]


def _joined(found: Sequence[Curve]) -> list[Curve]:
    """The curves, those as one that differ in their windows and have no size in common: the tool,
    too, sends fewer messages the larger they are."""
    groups: dict[Configuration, list[Curve]] = {}
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
            joined.append(Curve(rows, group[0].source))
    return joined


def _is_hpcbench(configuration: Configuration) -> bool:
    return configuration.pattern in _TESTS and configuration.mode in _CALLS


def _logs(found: Sequence[Listing]) -> dict[str, str]:
    logs = {ending: written(found, ending) for ending in ENDINGS}
    return {ending: log for ending, log in logs.items() if log is not None}


def _as_it_was(document: Document, source: Source) -> _Test:
    """What the tool had printed."""
    kind = fact(source, "kind")
    names = COLUMNS.get(kind, ())
    reported = sorted(
        (each for row in document.rows if row.source == source for each in row.reported),
        key=lambda each: each.place,
    )
    if not names or not all(set(names) <= each.figures.keys() for each in reported):
        lacks(TOOL, "lines of the tool in the file", "halftrip import")
    rows = [[each.figures[name] for name in names] for each in reported]
    if kind == ROUND_TRIP:
        lines = [*fact(source, "heading").split("\n"), *map(_round_trip, rows)]
        lines += fact(source, "summary").split("\n")
    else:
        lines = [*fact(source, "heading").split("\n"), *(_line(kind, row) for row in rows)]
    return _Test("".join(f"{line}\n" for line in lines), _logs(source.listings))


def _line(kind: str, cells: Sequence[str]) -> str:
    return line_of(cells, _WIDTHS[kind])


def _round_trip(cells: Sequence[str]) -> str:
    return f"MPI Round Trip Time ({cells[0]}) : {cells[1]}"


def _of_curve(document: Document, curve: Curve) -> list[_Test]:
    """The tests that a curve of ours, or of another tool's, is."""
    logs = _logs(listings(document, curve))
    configuration = curve.configuration
    if (
        document.round_trips
        and configuration.pattern == "pingpong"
        and configuration.directions < 2
    ):
        outputs = [_round_trips(document, row.configuration) for row in curve.rows]
    elif len(curve.rows) == 1:
        outputs = [_fixed(document, configuration)]
    else:
        outputs = [_exponential(document, curve)]
    # The log of several round trips is that of all of them.
    return [_Test(output, logs if not number else {}) for number, output in enumerate(outputs)]


class _Figures(NamedTuple):
    """What was measured in some repetitions: how many iterations of the tool's, their time, s, and
    of each node the elapsed, user and system time, s."""

    iterations: int
    seconds: float
    nodes: tuple[tuple[float, float, float], tuple[float, float, float]]


def _figures(found: Sequence[Measurement]) -> _Figures:
    """Raises UsageError where the CPU time of both ends is not known."""
    iterations, seconds = 0, 0.0
    nodes = [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    for each in found:
        if each.usage is None:
            need = f"user and system time of both ends of {each.configuration.title}"
            lacks(TOOL, need, "halftrip run (what is imported or simulated has none)")
        count = each.samples.size * each.iterations
        time = float(each.samples.sum()) / 1e9
        iterations += count * each.configuration.window
        seconds += time
        for node, usage in zip(nodes, each.usage, strict=True):
            # The usage is that of untimed iterations, too.
            kept = min(time / usage.elapsed, 1.0) if usage.elapsed > 0 else 1.0
            node[0] += usage.elapsed * kept
            node[1] += usage.user * kept
            node[2] += usage.system * kept
    (me, mu, ms), (se, su, ss) = nodes
    return _Figures(iterations, seconds, ((me, mu, ms), (se, su, ss)))


def _repetitions(document: Document, configuration: Configuration) -> list[Sequence[Measurement]]:
    found = document.run.by_configuration[configuration]
    return [[each] for each in found if each.samples.size]


def throughput(configuration: Configuration, iterations: int, seconds: float) -> float:
    """The megabits per second that the tool prints."""
    count = configuration.size * iterations
    if configuration.pattern == "pingpong":
        count *= 2
    elif configuration.mode == "blocking":
        count += ACKNOWLEDGEMENT
    return count * 8 / seconds / 1e6 if seconds > 0 else 0.0


def _cells(configuration: Configuration, figures: _Figures) -> tuple[str, list[str]]:
    """The throughput, and the times of both nodes."""
    rate = throughput(configuration, figures.iterations, figures.seconds)
    return f"{rate:.4f}", [f"{time:.2f}" for node in figures.nodes for time in node]


def _fixed(document: Document, configuration: Configuration) -> str:
    repetitions = [_figures(each) for each in _repetitions(document, configuration)]
    if not repetitions:
        lacks(TOOL, "samples", _HOW)
    iterations = round(sum(each.iterations for each in repetitions) / len(repetitions))
    rows = []
    for number, figures in enumerate(repetitions, 1):
        rate, times = _cells(configuration, figures)
        rows.append(_line(FIXED, [str(number), rate, *times]))
    lines = [
        *_head(document, configuration, "Fixed-size"),
        f"# Total data size of each test (Bytes): {configuration.size * iterations}",
        f"# Message size (Bytes): {configuration.size}",
        f"# Iteration : {iterations}",
        f"# Test time: {_time(document, repetitions):.6f}",
        f"# Test repetition: {len(rows)}",
        "#",
        *_FIXED_HEADING,
        *rows,
    ]
    return "".join(f"{line}\n" for line in lines)


def _time(document: Document, repetitions: Sequence[_Figures]) -> float:
    """The time of a repetition that was asked for, s; what it took where a plan does not say."""
    plan = document.run.header.plan
    time, slices = plan.get("time"), plan.get("slices")
    if isinstance(time, (int, float)) and isinstance(slices, int) and slices > 0:
        return time / slices
    return sum(each.seconds for each in repetitions) / len(repetitions)


def _exponential(document: Document, curve: Curve) -> str:
    rows = []
    for row in curve.rows:
        figures = _figures(measurements(document, row))
        rate, times = _cells(row.configuration, figures)
        cells = [str(row.configuration.size), rate, str(figures.iterations), *times]
        rows.append(_line(EXPONENTIAL, cells))
    head = _head(document, curve.configuration, "Exponential")
    return "".join(f"{line}\n" for line in [*head, "#", _EXPONENTIAL_HEADING, *rows])


def _head(document: Document, configuration: Configuration, kind: str) -> list[str]:
    hosts = " <----> ".join(map(document.run.names.host, configuration.pair))
    mode, transport = configuration.mode, configuration.transport
    calls = _CALLS[mode] if transport == "mpi" else transport
    return [
        f"# MPI communication test -- {date_of(document.run.header.started)}",
        f"# Test mode: {kind} {_TESTS[configuration.pattern]}",
        f"# Hosts: {hosts}",
        f"# {_WORDS[mode]} communication ({calls})",
    ]


def _round_trips(document: Document, configuration: Configuration) -> str:
    """The mean round trip of each repetition."""
    times = [2 * mean(each) / 1e3 for each in _repetitions(document, configuration)]
    if not times:
        lacks(TOOL, "samples", _HOW)
    master, slave = map(document.run.names.host, configuration.pair)
    three = (min(times), sum(times) / len(times), max(times))
    # Above 1000 us it prints ms.
    scale, unit = (1e3, "msec") if three[1] > 1e3 else (1.0, "usec")
    lines = [
        f"{master}(Master-node) <--> {slave}(Secondary-node)",
        # As the tool spells it.
        "MPI communicaiton Round Trip Time (latency) test",
        *(
            _round_trip((str(number), f"{time / scale:.3f} {unit}"))
            for number, time in enumerate(times, 1)
        ),
        f"Message size (Bytes) : {configuration.size}",
        f"MPI RTT min/avg/max = {'/'.join(f'{time / scale:.3f}' for time in three)} {unit}",
    ]
    return "".join(f"{line}\n" for line in lines)

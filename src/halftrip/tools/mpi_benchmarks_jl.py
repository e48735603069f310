"""The CSV of MPIBenchmarks.jl, on the screen or in a file: the mean of half round trips of
IMBPingPong and OSULatency, and the mean time of two messages that cross of IMBPingPing, s. MB are
10^6 bytes.

The file does not say which of them it is of, as the screen does: --test has to.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from halftrip.results.configuration import Buffers
from halftrip.results.patterns import Pattern
from halftrip.tools.lines import Lines, count, number, quoted, whole, wrong
from halftrip.tools.tables import Format, TableRow, ToolTable, below, settings, timed

TOOL = "mpi-benchmarks-jl"
_TITLE = re.compile(
    r"Running benchmark (?P<name>.+) with type (?P<type>\w+) on (?P<ranks>\d+) MPI ranks\s*"
)
_HEADING = re.compile(
    r"size \(bytes\)(?:,iterations)?,"
    r"(?:time \(seconds\),throughput \(MB/s\)|latency \(seconds\))\s*"
)
_ROW = re.compile(r"\d+,(?:\d+,)?[\d.]+", re.ASCII)
# What is broken of it, too.
_LOOKS = re.compile(r"\d+,[^,]*(?:,|\d$)", re.ASCII)


class _Benchmark(NamedTuple):
    pattern: Pattern
    buffers: Buffers = "separate"


_BENCHMARKS = {
    "IMB Pingpong": _Benchmark("pingpong", "same"),
    "IMB Pingping": _Benchmark("pingping"),
    "OSU Latency": _Benchmark("pingpong"),
}
# Julia prints all digits of a number, of which a mean has seldom fewer.
_FEWEST_DIGITS = 12


def _read(lines: Lines, first: int) -> Sequence[ToolTable]:
    title = _TITLE.fullmatch(lines[first])
    name = title["name"] if title is not None else lines.test
    known = ", ".join(_BENCHMARKS)
    if name is None:
        wrong(first, f"no line says which benchmark it is: --test NAME does, one of {known}")
    if name not in _BENCHMARKS:
        wrong(first, f"{quoted(name)} is not read here: {known} are")
    heading, _ = lines.next(first - 1, _HEADING, _ROW, "it ends before the heading size (bytes)")
    names = lines[heading].strip().split(",")
    benchmark = _BENCHMARKS[name]
    configuration = settings(
        "mpi", benchmark.pattern, variant=(("language", "Julia"),), buffers=benchmark.buffers,
        cache="hot", places="own",
    )  # fmt: skip
    rows = lines.rows(heading, lambda n, line: _row(n, line, names), looks=_LOOKS)
    return [ToolTable(TOOL, first, configuration, "mean", rows, facts={"name": name})]


def _row(line: int, text: str, names: Sequence[str]) -> TableRow:
    figures = below(line, names, text.strip().split(","))
    size, cell = whole(line, figures["size (bytes)"]), figures[names[-1]]
    made = figures.get("iterations")
    iterations = None if made is None else count(line, made, "no iterations")
    has_rate = "throughput (MB/s)" in figures
    time = figures["time (seconds)"] if has_rate else cell
    seconds = number(line, time)
    # Of what is cut off in front of an exponent, or of another line, they are not each other's.
    if has_rate and abs(1e6 * number(line, cell) * seconds - size) > 1e-6 * size:
        wrong(line, f"{size} bytes in {quoted(time)} s are not {quoted(cell)} MB/s")
    digits = len(re.sub(r"^[0.]+|\.|e.*", "", time))
    if digits < _FEWEST_DIGITS or (not (has_rate and size) and 1 <= seconds < 10):
        wrong(line, f"{quoted(time)} s has lost digits")
    return timed(line, size, time, 1e9, figures, iterations=iterations)


FORMAT = Format(
    "MPIBenchmarks.jl", _read, marks=("Running benchmark ", r"size \(bytes\),"), begins=_TITLE,
    heading=_HEADING,
)  # fmt: skip

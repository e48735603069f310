"""The Intel MPI Benchmarks: PingPong, PingPing, Uniband and Biband of IMB-MPI1 with two processes.

t[usec] is the mean of half round trips, for PingPing the mean time of one of two messages that
cross. 1 MB is 10^6 bytes since version 2018, 2^20 before; where a text has no version, nothing is
taken from Mbytes/sec. Uniband and Biband send windows of 64 messages, and Biband's figures are the
sum of both directions.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from halftrip.analysis.rows import Row
from halftrip.report.document import Document
from halftrip.results.configuration import Configuration
from halftrip.results.patterns import Mode, Pattern
from halftrip.tools.lines import Lines, count, number, positive, quoted, whole, wrong
from halftrip.tools.printing import PrintedCurve, curves, exchanges, texts
from halftrip.tools.tables import (
    Format,
    TableRow,
    ToolTable,
    below,
    by_rate,
    date,
    settings,
    timed,
)

TOOL = "imb"
_VERSION = "2021.3"
_RULE = "#---------------------------------------------------"
_WIDE_RULE = "#----------------------------------------------------------------"
_END_LINES = ("", "", "# All processes entering MPI_Finalize", "")
_FAMILY = re.compile(r"#\s+Intel ?\(R\) MPI Benchmarks (?P<version>[\w.]+)(?P<part>.*)")
_FAMILY_LINE = "#    Intel(R) MPI Benchmarks {}, MPI-1 part"
_DATE = re.compile(r"# Date\s+: (?P<date>.*\S)\s*")
_DATE_LINE, _DATE_FORMAT = "# Date                  : {}", "%a %b %d %H:%M:%S %Y"
_TITLE = re.compile(r"# Benchmarking (?P<name>.*\S)\s*")
_PROCESSES = re.compile(r"# #processes = (?P<count>\d+)\s*")
_TITLE_LINES = (_RULE, "# Benchmarking {} ", "# #processes = 2 ", _RULE)
_GROUPS = re.compile(r"# \(\s*\d+ groups? of ")
_HEADING = re.compile(r"\s*#bytes\s+#repetitions\s.*")
_ENDS = re.compile(r"#|.*#bytes")
_ROW = re.compile(r"\s*\d+\s+\d+(\s+[\d.]+){2}\s*", re.ASCII)
_SIZE, _COUNT, _TIME, _BYTES, _RATE = (
    "#bytes", "#repetitions", "t[usec]", "Mbytes/sec", "Msg/sec",
)  # fmt: skip
_TIME_NAMES = (_SIZE, _COUNT, _TIME, _BYTES)
_RATE_NAMES = (_SIZE, _COUNT, _BYTES, _RATE)
_WINDOW = 64
_FIRST_DECIMAL = 2018
# Characters of what is kept of a text beside its tables.
_MOST_PROSE = 1 << 15


class _Benchmark(NamedTuple):
    """A benchmark of IMB-MPI1 between two processes: its pattern, how many messages of it are in
    flight, and the names of its columns."""

    pattern: Pattern
    window: int
    names: Sequence[str]


_BENCHMARKS = {
    "PingPong": _Benchmark("pingpong", 1, _TIME_NAMES),
    "PingPing": _Benchmark("pingping", 1, _TIME_NAMES),
    "Uniband": _Benchmark("stream", _WINDOW, _RATE_NAMES),
    "Biband": _Benchmark("bidirectional", _WINDOW, _RATE_NAMES),
}


# Reads.


def _read(lines: Lines, first: int) -> Sequence[ToolTable]:
    title = _TITLE.fullmatch(lines[first])
    name = title["name"] if title is not None else lines.test
    if name is None:
        wrong(first, "a heading without the name of its benchmark above it; --test NAME says it")
    if name not in _BENCHMARKS:
        wrong(first, f"{quoted(name)} is not read here: {', '.join(_BENCHMARKS)} are")
    benchmark = _BENCHMARKS[name]
    version, unit = _version(lines, first)
    heading = _heading(lines, first, name)
    # Columns are aligned: of whole messages per second, nothing else tells that digits are lost.
    width = len(lines[heading].rstrip()) if "  " in lines[heading].strip() else 0

    def read_row(n: int, line: str) -> TableRow:
        if benchmark.names is _RATE_NAMES and len(line.rstrip()) < width:
            wrong(n, "a row that is shorter than its heading")
        return _row(n, line, benchmark, unit)

    rows = lines.rows(heading, read_row, _ENDS, decimals=True)
    above = first
    while above > 1 and (lines[above - 1].startswith("#") or not lines[above - 1].strip()):
        above -= 1
    comments = [lines[n] for n in range(above, heading + 1)]
    last = rows[-1].line if rows else heading
    end = itertools.takewhile(
        lambda line: line.startswith("#") or not line.strip(),
        (line for _, line in lines.below(last)),
    )
    facts = {"title": _kept(first, comments), "end": _kept(last, [*end])}
    when = lines.above(first, "# Date ", _DATE)
    dated = None if when is None else date(first, when["date"], _DATE_FORMAT)
    pattern, window, _ = benchmark
    # One buffer to send and one to receive, which the nonblocking messages of a window share.
    mode: Mode = "nonblocking" if window > 1 else "blocking"
    configuration = settings(
        "mpi", pattern, mode, window=window, buffers="separate", cache="hot",
        places="same" if window > 1 else "own",
    )  # fmt: skip
    return [ToolTable(TOOL, first, configuration, "mean", rows, version, date=dated, facts=facts)]


def _version(lines: Lines, first: int) -> tuple[str | None, float | None]:
    """The version, and the bytes of its megabyte."""
    family = lines.above(first, "MPI Benchmarks ", _FAMILY)
    if family is None:
        return None, None
    if "MPI-1" not in family["part"]:
        wrong(first, f"{quoted(family[0].strip('# '))}: of IMB, only MPI-1 is read here")
    version = family["version"]
    major = version.partition(".")[0]
    if not major.isdecimal() or len(major) > len(str(_FIRST_DECIMAL)):
        return version, None
    return version, 1e6 if int(major) >= _FIRST_DECIMAL else float(1 << 20)


def _heading(lines: Lines, first: int, name: str) -> int:
    """The number of the line with the names of the columns."""
    names = _BENCHMARKS[name].names
    for n, line in lines.below(first - 1):
        if line.lstrip().startswith(_SIZE):
            if tuple(line.split()) != tuple(names):
                wrong(n, f"not the columns of {name}: {' '.join(names)}")
            return n
        processes = _PROCESSES.fullmatch(line)
        if processes is not None and processes["count"] != "2":
            wrong(n, f"{processes['count']} processes: only those of a pair are known")
        if _GROUPS.match(line):
            wrong(n, "several groups at once: what each of them did is not printed")
        if _ROW.fullmatch(line):
            break
    return wrong(first, f"it ends before the heading of {name}")


def _row(line: int, row: str, benchmark: _Benchmark, unit: float | None) -> TableRow:
    figures = below(line, benchmark.names, row.split())
    size = whole(line, figures[_SIZE])
    repetitions = count(line, figures[_COUNT], "no repetitions")
    printed = number(line, figures[_BYTES])
    bandwidth = None if unit is None else unit * printed
    if benchmark.names is _TIME_NAMES:
        # The bandwidth of no bytes is none; below some size, so is what is left of it.
        return timed(
            line, size, figures[_TIME], 1e3, figures,
            iterations=repetitions, bandwidth=bandwidth or None,
        )  # fmt: skip
    directions = 2 if benchmark.pattern == "bidirectional" else 1
    rate = positive(line, figures[_RATE], "no messages")
    # Both are rounded: a figure that has lost digits fits no longer.
    if bandwidth and abs(size * rate - bandwidth) > 0.01 * bandwidth + (unit or 0.0) / 100 + size:
        wrong(line, f"{figures[_RATE]} messages of {size} bytes are not {figures[_BYTES]} MB")
    ns = 1e9 * directions / rate
    return by_rate(
        line, size, ns, figures[_RATE], figures, iterations=repetitions,
        bandwidth=(bandwidth or size * rate) / directions, rate=rate / directions,
    )  # fmt: skip


def _kept(line: int, comments: Sequence[str]) -> str:
    prose = "\n".join(comments)
    if len(prose) > _MOST_PROSE:
        wrong(line, f"over {_MOST_PROSE} characters of comments, which IMB does not print")
    return prose


# Prints.


def render(document: Document) -> str:
    """A text for each setting, with a table for each benchmark. Raises UsageError for a run without
    one."""
    needs = "ping-pong, pingping, or stream or bidirectional stream of 64 messages"
    found = curves(document, TOOL, lambda each: _benchmark(each) is not None, needs, "-p pingpong")
    return texts(map(_text, _by_setting(found)))


def _benchmark(configuration: Configuration) -> str | None:
    """The benchmark that measures a configuration."""
    for name, (pattern, window, _) in _BENCHMARKS.items():
        directions = 1 if pattern in ("pingpong", "stream") else 2
        if (configuration.pattern, configuration.window) == (pattern, window):
            return name if configuration.directions == directions else None
    return None


def _by_setting(found: Sequence[PrintedCurve]) -> list[dict[str, PrintedCurve]]:
    """The curves of each text by benchmark: those that have all other settings in common, but for
    the kind of call, which is the benchmark's."""
    found_texts: list[tuple[tuple[Configuration, bool], dict[str, PrintedCurve]]] = []
    for curve in found:
        name = _benchmark(curve.configuration)
        assert name is not None
        setting = msgspec.structs.replace(
            curve.configuration,
            size=0,
            pattern="pingpong",
            mode="blocking",
            window=1,
            places="own",
        )
        place = (setting, curve.is_own)
        fitting = (text for of, text in found_texts if of == place and name not in text)
        text = next(fitting, None)
        if text is None:
            found_texts.append((place, text := {}))
        text[name] = curve
    return [text for _, text in found_texts]


def _text(by_name: dict[str, PrintedCurve]) -> list[str]:
    names = [name for name in _BENCHMARKS if name in by_name]
    first = by_name[names[0]]
    if first.is_own:
        # In the order in which they were printed.
        own = sorted(by_name.values(), key=lambda each: each.source.place if each.source else 0)
        end = own[-1].fact("end").split("\n")
        return [*(line for curve in own for line in _table("", curve)), *end]
    # What all its tables have in common.
    rows = [row for name in names for row in by_name[name].rows]
    head = _head(first._replace(rows=rows), names)
    return [*head, *(line for name in names for line in _table(name, by_name[name])), *_END_LINES]


def _head(curve: PrintedCurve, names: Sequence[str]) -> list[str]:
    measured = curve.document.run.measured
    dates = [] if measured is None else [datetime.fromisoformat(measured).strftime(_DATE_FORMAT)]
    return [
        _WIDE_RULE,
        _FAMILY_LINE.format(_VERSION),
        _WIDE_RULE,
        *map(_DATE_LINE.format, dates),
        f"# Measured by {curve.measured_by()}: {curve.says()}",
        "",
        "# List of Benchmarks to run:",
        "",
        *(f"# {name}" for name in names),
    ]


def _table(name: str, curve: PrintedCurve) -> list[str]:
    if curve.is_own:
        *title, heading = curve.fact("title").split("\n")
        names = heading.split()
        return [*title, *map(_line, [names, *(curve.cells(row, names) for row in curve.rows)])]
    title = ["", *(line.format(name) for line in _TITLE_LINES)]
    rows = [_figures(curve, row) for row in curve.rows]
    return [*title, *map(_line, [_BENCHMARKS[name].names, *rows])]


def _line(figures: Sequence[str]) -> str:
    # 13 wide, with a space between them whatever they are.
    return "".join(f" {each:>12s}" for each in figures)


def _figures(curve: PrintedCurve, row: Row) -> list[str]:
    ns, configuration = curve.mean(row), row.configuration
    first = [str(configuration.size), str(exchanges(curve.measurements(row)))]
    if not configuration.is_rate:
        rate = configuration.size / ns * 1e3 if ns else 0.0
        return [*first, f"{ns / 1e3:.2f}", f"{rate:.2f}"]
    messages = configuration.directions * 1e9 / ns if ns else 0.0
    return [*first, f"{configuration.size * messages / 1e6:.2f}", f"{messages:.0f}"]


FORMAT = Format(
    "Intel MPI Benchmarks", _read, marks=("# Benchmarking ", "#repetitions"),
    begins=_TITLE, heading=_HEADING,
)  # fmt: skip

"""The Intel MPI Benchmarks: PingPong, PingPing, Uniband and Biband of IMB-MPI1 with two processes.

t[usec] is the mean of half round trips, for PingPing the mean time of one of two messages that
cross. 1 MB is 10^6 bytes since version 2018, 2^20 before; where a text has no version, nothing is
taken from Mbytes/sec. Uniband and Biband send windows of 64 messages, and Biband's figures are the
sum of both directions.
"""

from __future__ import annotations

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
    recognised_by,
    settings,
    timed,
)

TOOL = "imb"
_VERSION = "2021.3"
_RULE = "#---------------------------------------------------"
_WIDE_RULE = "#----------------------------------------------------------------"
_END = "# All processes entering MPI_Finalize"
_FAMILY = re.compile(r"#\s+Intel ?\(R\) MPI Benchmarks (?P<version>[\w.]+)(?P<part>.*)")
_FAMILY_LINE = "#    Intel(R) MPI Benchmarks {}, MPI-1 part"
_DATE = re.compile(r"# Date\s+: (?P<date>.*\S)\s*")
_DATE_LINE, _DATE_FORMAT = "# Date                  : {}", "%a %b %d %H:%M:%S %Y"
_TITLE = re.compile(r"# Benchmarking (?P<name>.*\S)\s*")
_PROCESSES = re.compile(r"# #processes = (?P<count>\d+)\s*")
_TITLE_LINES = (_RULE, "# Benchmarking {} ", "# #processes = 2 ", _RULE)
_GROUPS = re.compile(r"# \(\s*\d+ groups? of ")
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


class _Text:
    """A text of IMB, read line by line."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.unit: float | None = None
        self.version: str | None = None
        self.date: str | None = None
        self.prose: list[str] = []
        self.facts: dict[str, str] = {}
        self.places: dict[str, int] = {}
        self.rows: dict[str, list[TableRow]] = {}

    def read(self) -> None:
        n = 0
        while (n := n + 1) <= len(self.lines):
            line = self.lines[n]
            if title := _TITLE.fullmatch(line):
                n = self._table(n, title["name"])
            elif line.lstrip().startswith(_SIZE):
                wrong(n, "a heading without the name of its benchmark above it")
            elif _ROW.fullmatch(line):
                wrong(n, "a row without a heading above it")
            else:
                self._prose(n, line)
        self._keep(len(self.lines), "end", self.prose)
        self.facts["benchmarks"] = " ".join(self.places)

    def _prose(self, n: int, line: str) -> None:
        if family := _FAMILY.match(line):
            if self.version is not None:
                wrong(n, "the text of a second run: import each by itself")
            if "MPI-1" not in family["part"]:
                wrong(n, f"{quoted(line.strip('# '))}: of IMB, only MPI-1 is read here")
            self.version = family["version"]
            major = self.version.partition(".")[0]
            if major.isdecimal() and len(major) <= len(str(_FIRST_DECIMAL)):
                self.unit = 1e6 if int(major) >= _FIRST_DECIMAL else float(1 << 20)
        elif found := _DATE.fullmatch(line):
            self.date = date(n, found["date"], _DATE_FORMAT)
        # Anything else around it is of the MPI library or of a shell.
        if line.startswith("#") or not line.strip():
            self.prose.append(line)

    def _table(self, first: int, name: str) -> int:
        """Reads the table whose title is in that line, and returns the number of its last line."""
        if name not in _BENCHMARKS:
            wrong(first, f"{quoted(name)} is not read here: {', '.join(_BENCHMARKS)} are")
        if name in self.places:
            wrong(first, f"a second table of {name}, the first is in line {self.places[name]}")
        title = [self.prose.pop()] if self.prose and self.prose[-1].startswith("#--") else []
        if self.prose and not self.prose[-1].strip():
            title.insert(0, self.prose.pop())
        if not self.places:
            self._keep(first, "head", self.prose)
            self.prose = []
        self.places[name] = first
        # What stands between two tables belongs to the second.
        title = [*self.prose, *title]
        heading = self._heading(first, name)
        title += [self.lines[n] for n in range(first, heading)]
        self._keep(first, f"{name}: title", title)
        self.prose = []
        rows = self.rows[name] = []
        n = heading
        while n < len(self.lines) and (row := self.lines[n + 1]).strip():
            if row.startswith("#"):
                break
            n += 1
            rows.append(self._row(n, row, _BENCHMARKS[name]))
        if not rows:
            wrong(heading, f"a table of {name} without a row")
        return n

    def _heading(self, first: int, name: str) -> int:
        """The number of the line with the names of the columns."""
        names = _BENCHMARKS[name].names
        for n, line in self.lines.below(first):
            if line.lstrip().startswith(_SIZE):
                if tuple(line.split()) != tuple(names):
                    wrong(n, f"not the columns of {name}: {' '.join(names)}")
                return n
            processes = _PROCESSES.fullmatch(line)
            if processes is not None and processes["count"] != "2":
                wrong(n, f"{processes['count']} processes: only those of a pair are known")
            if _GROUPS.match(line):
                wrong(n, "several groups at once: what each of them did is not printed")
            if line.strip() and not line.startswith("#"):
                wrong(n, f"neither a comment nor the heading of {name}")
        return wrong(len(self.lines), f"it ends before the heading of {name}")

    def _row(self, line: int, row: str, benchmark: _Benchmark) -> TableRow:
        figures = below(line, benchmark.names, row.split())
        size = whole(line, figures[_SIZE])
        repetitions = count(line, figures[_COUNT], "no repetitions")
        printed = number(line, figures[_BYTES])
        bandwidth = None if self.unit is None else self.unit * printed
        if benchmark.names is _TIME_NAMES:
            # The bandwidth of no bytes is none; below some size, so is what is left of it.
            return timed(
                line, size, figures[_TIME], 1e3, figures,
                iterations=repetitions, bandwidth=bandwidth or None,
            )  # fmt: skip
        directions = 2 if benchmark.pattern == "bidirectional" else 1
        rate = positive(line, figures[_RATE], "no messages")
        ns = 1e9 * directions / rate
        return by_rate(
            line, size, ns, figures[_RATE], figures, iterations=repetitions,
            bandwidth=(bandwidth or size * rate) / directions, rate=rate / directions,
        )  # fmt: skip

    def _keep(self, line: int, name: str, lines: Sequence[str]) -> None:
        prose = "\n".join(lines)
        if len(prose) > _MOST_PROSE:
            wrong(line, f"over {_MOST_PROSE} characters of comments, which IMB does not print")
        self.facts[name] = prose


def _read(lines: Lines) -> Sequence[ToolTable]:
    found = _Text(lines)
    found.read()
    tables = []
    for name, first in found.places.items():
        pattern, window, _ = _BENCHMARKS[name]
        # One buffer to send and one to receive, which the nonblocking messages of a window share.
        mode: Mode = "nonblocking" if window > 1 else "blocking"
        configuration = settings(
            "mpi", pattern, mode, window=window, buffers="separate", cache="hot",
            places="same" if window > 1 else "own",
        )  # fmt: skip
        table = ToolTable(TOOL, first, configuration, "mean", found.rows[name], found.version)
        tables.append(table._replace(date=found.date, facts=found.facts))
    return tables


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
        names = [name for name in first.fact("benchmarks").split(" ") if name in by_name]
        head, end = first.fact("head").split("\n"), first.fact("end").split("\n")
    else:
        # What all its tables have in common.
        rows = [row for name in names for row in by_name[name].rows]
        head, end = _head(first._replace(rows=rows), names), ["", "", _END, ""]
    return [*head, *(line for name in names for line in _table(name, first, by_name[name])), *end]


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


def _table(name: str, first: PrintedCurve, curve: PrintedCurve) -> list[str]:
    """A table; what the tool has said of it is with the `first` of its text."""
    names = _BENCHMARKS[name].names
    if first.is_own:
        title = first.fact(f"{name}: title").split("\n")
        rows = [curve.cells(row, names) for row in curve.rows]
    else:
        title = ["", *(line.format(name) for line in _TITLE_LINES)]
        rows = [_figures(curve, row) for row in curve.rows]
    return [*title, *map(_line, [names, *rows])]


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


FORMAT = Format("Intel MPI Benchmarks", recognised_by(f"{_FAMILY.pattern}|{_TITLE.pattern}"), _read)

"""The Intel MPI Benchmarks: PingPong, PingPing, Uniband and Biband of IMB-MPI1 with two processes.

t[usec] is the mean of half round trips, for PingPing the mean time of one of two messages that
cross. 1 MB is 10^6 bytes since version 2018, 2^20 before; where a text has no version, nothing is
taken from Mbytes/sec. Uniband and Biband send windows of 64 messages, and Biband's figures are the
sum of both directions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from halftrip.convert.tables import Format, Row, Table, date, settings
from halftrip.convert.text import Lines, last_place, number, quoted, whole, wrong
from halftrip.report.styles.imb import BENCHMARKS, TIME_NAMES, TOOL

_FAMILY = re.compile(r"#\s+Intel ?\(R\) MPI Benchmarks (?P<version>[\w.]+)(?P<part>.*)")
_DATE = re.compile(r"# Date\s+: (?P<date>.*\S)\s*")
_TITLE = re.compile(r"# Benchmarking (?P<name>.*\S)\s*")
_PROCESSES = re.compile(r"# #processes = (?P<count>\d+)\s*")
_GROUPS = re.compile(r"# \(\s*\d+ groups? of ")
_FIRST_DECIMAL = 2018
# Characters of what is kept of a text beside its tables.
_MOST_PROSE = 1 << 15


def _recognised(lines: Lines) -> int | None:
    return lines.first(f"{_FAMILY.pattern}|{_TITLE.pattern}")


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
        self.rows: dict[str, list[Row]] = {}

    def read(self) -> None:
        n = 0
        while (n := n + 1) <= len(self.lines):
            line = self.lines[n]
            if title := _TITLE.fullmatch(line):
                n = self._table(n, title["name"])
            elif line.lstrip().startswith("#bytes"):
                wrong(n, "a heading without the name of its benchmark above it")
            elif _is_row(line):
                wrong(n, "a row without a heading above it")
            else:
                self._prose(n, line)

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
            self.date = date(n, found["date"], "%a %b %d %H:%M:%S %Y")
        # Anything else around it is of the MPI library or of a shell.
        if line.startswith("#") or not line.strip():
            self.prose.append(line)

    def _table(self, first: int, name: str) -> int:
        """Reads the table whose title is in that line, and returns the number of its last line."""
        if name not in BENCHMARKS:
            wrong(first, f"{quoted(name)} is not read here: {', '.join(BENCHMARKS)} are")
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
        self._keep(first, f"{name}: title", [*title, *self.lines_of(first, heading)])
        self.prose = []
        rows = self.rows[name] = []
        n = heading
        while n < len(self.lines) and (text := self.lines[n + 1]).strip():
            if text.startswith("#"):
                break
            n += 1
            rows.append(self._row(n, text, name))
        if not rows:
            wrong(heading, f"a table of {name} without a row")
        return n

    def lines_of(self, first: int, end: int) -> list[str]:
        return [self.lines[n] for n in range(first, end)]

    def _heading(self, first: int, name: str) -> int:
        """The number of the line with the names of the columns."""
        names = BENCHMARKS[name].names
        for n in range(first + 1, len(self.lines) + 1):
            line = self.lines[n]
            if line.lstrip().startswith("#bytes"):
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

    def _row(self, line: int, text: str, name: str) -> Row:
        benchmark = BENCHMARKS[name]
        found = text.split()
        if len(found) != len(benchmark.names):
            wrong(line, f"{len(found)} figures below {len(benchmark.names)} columns")
        figures = dict(zip(benchmark.names, found, strict=True))
        size, count = whole(line, found[0]), whole(line, found[1])
        if not count:
            wrong(line, "no repetitions")
        printed = number(line, figures["Mbytes/sec"])
        bandwidth = None if self.unit is None else self.unit * printed
        if benchmark.names is TIME_NAMES:
            time = number(line, figures["t[usec]"])
            if not time > 0:
                wrong(line, "a message that took no time")
            step = 1e3 * last_place(figures["t[usec]"])
            # The bandwidth of no bytes is none; below some size, so is what is left of it.
            kept = bandwidth or None
            return Row(line, size, 1e3 * time, figures, count, step=step, bandwidth=kept)
        directions = 2 if benchmark.pattern == "bidirectional" else 1
        rate = number(line, figures["Msg/sec"])
        if not rate > 0:
            wrong(line, "no messages")
        ns = 1e9 * directions / rate
        return Row(
            line, size, ns, figures, count, step=ns * last_place(figures["Msg/sec"]) / rate,
            bandwidth=(bandwidth or size * rate) / directions, rate=rate / directions,
        )  # fmt: skip

    def _keep(self, line: int, name: str, lines: Sequence[str]) -> None:
        text = "\n".join(lines)
        if len(text) > _MOST_PROSE:
            wrong(line, f"over {_MOST_PROSE} characters of comments, which IMB does not print")
        self.facts[name] = text

    def finish(self) -> dict[str, str]:
        self._keep(len(self.lines), "end", self.prose)
        return {**self.facts, "benchmarks": " ".join(self.places)}


def _is_row(line: str) -> bool:
    return re.fullmatch(r"\s*\d+\s+\d+(\s+[\d.]+){2}\s*", line, re.ASCII) is not None


def _read(lines: Lines) -> Sequence[Table]:
    text = _Text(lines)
    text.read()
    facts = text.finish()
    tables = []
    for name, first in text.places.items():
        pattern, window, _ = BENCHMARKS[name]
        # One buffer to send and one to receive, which messages of a window share.
        configuration = settings(
            "mpi", pattern, window=window, buffers="separate", cache="hot",
            places="same" if window > 1 else "own",
        )  # fmt: skip
        tables.append(
            Table(
                TOOL,
                first,
                configuration,
                "mean",
                text.rows[name],
                version=text.version,
                date=text.date,
                facts=facts,
            )
        )
    return tables


FORMAT = Format("Intel MPI Benchmarks", _recognised, _read)

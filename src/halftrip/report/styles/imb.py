"""As the Intel MPI Benchmarks print: IMB-MPI1 PingPong, PingPing, Uniband and Biband.

t[usec] is the mean one-way time, for PingPing that of one of two messages that cross. 1 MB is 10^6
bytes, as it is since version 2018. Uniband and Biband have 64 messages in flight; Biband's figures
are the sum of both directions.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from halftrip.analysis.rows import Row
from halftrip.report.document import Document
from halftrip.report.styles.figures import (
    Curve,
    cells,
    curves,
    fact,
    mean,
    measured_by,
    measurements,
)
from halftrip.results.configuration import Configuration
from halftrip.results.patterns import Pattern
from halftrip.results.reported import Source

TOOL = "imb"
_VERSION = "2021.3"
RULE = "#---------------------------------------------------"
_WIDE_RULE = "#----------------------------------------------------------------"
END = "# All processes entering MPI_Finalize"
TIME_NAMES = ("#bytes", "#repetitions", "t[usec]", "Mbytes/sec")
RATE_NAMES = ("#bytes", "#repetitions", "Mbytes/sec", "Msg/sec")
WINDOW = 64


class Benchmark(NamedTuple):
    """A benchmark of IMB-MPI1 between two processes: its pattern, how many messages of it are in
    flight, and the names of its columns."""

    pattern: Pattern
    window: int
    names: Sequence[str]


BENCHMARKS = {
    "PingPong": Benchmark("pingpong", 1, TIME_NAMES),
    "PingPing": Benchmark("pingping", 1, TIME_NAMES),
    "Uniband": Benchmark("stream", WINDOW, RATE_NAMES),
    "Biband": Benchmark("bidirectional", WINDOW, RATE_NAMES),
}


def render(document: Document) -> str:
    """A text for each setting, with a table for each benchmark. Raises UsageError for a run without
    one."""
    needs = "ping-pong, pingping, or stream or bidirectional stream of 64 messages"
    found = curves(document, TOOL, lambda each: _benchmark(each) is not None, needs, "-p pingpong")
    return "\n".join(_text(document, each) for each in _texts(found))


def _benchmark(configuration: Configuration) -> str | None:
    """The benchmark that measures a configuration."""
    for name, (pattern, window, _) in BENCHMARKS.items():
        directions = 1 if pattern in ("pingpong", "stream") else 2
        if (configuration.pattern, configuration.window) == (pattern, window):
            return name if configuration.directions == directions else None
    return None


def _texts(found: Sequence[Curve]) -> list[dict[str, Curve]]:
    """The curves of each text by benchmark: those that have all other settings in common."""
    texts: list[tuple[Configuration, bool, dict[str, Curve]]] = []
    for curve in found:
        name = _benchmark(curve.configuration)
        assert name is not None
        setting = msgspec.structs.replace(
            curve.configuration, size=0, pattern="pingpong", window=1, places="own"
        )
        imported = _is_printed(curve)
        for other, other_imported, text in texts:
            if (other, other_imported) == (setting, imported) and name not in text:
                text[name] = curve
                break
        else:
            texts.append((setting, imported, {name: curve}))
    return [text for _, _, text in texts]


def _is_printed(curve: Curve) -> bool:
    """Whether IMB itself has printed a curve."""
    return curve.source is not None and curve.source.tool == TOOL


def _text(document: Document, text: dict[str, Curve]) -> str:
    names = [name for name in BENCHMARKS if name in text]
    source = text[names[0]].source
    if source is not None and source.tool == TOOL:
        # In the order in which they were printed.
        printed = fact(source, "benchmarks").split(" ")
        lines = fact(source, "head").split("\n")
        for name in (each for each in printed if each in text):
            lines += _as_it_was(name, text[name], source)
        return _joined([*lines, *fact(source, "end").split("\n")])
    # What all its tables have in common.
    whole = Curve([row for name in names for row in text[name].rows], source)
    lines = _head(document, whole, names)
    for name in names:
        lines += _table(document, name, text[name])
    return _joined([*lines, "", "", END, ""])


def _joined(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _head(document: Document, curve: Curve, names: Sequence[str]) -> list[str]:
    measured = document.run.measured
    dates = [] if measured is None else [datetime.fromisoformat(measured)]
    return [
        _WIDE_RULE,
        f"#    Intel(R) MPI Benchmarks {_VERSION}, MPI-1 part",
        _WIDE_RULE,
        *(f"# Date                  : {date.strftime('%a %b %d %H:%M:%S %Y')}" for date in dates),
        f"# Measured by {measured_by(document, curve)}: {curve.says()}",
        "",
        "# List of Benchmarks to run:",
        "",
        *(f"# {name}" for name in names),
    ]


def _table(document: Document, name: str, curve: Curve) -> list[str]:
    lines = ["", RULE, f"# Benchmarking {name} ", "# #processes = 2 ", RULE]
    lines.append(_line(BENCHMARKS[name].names))
    return lines + [_line(_figures(document, row)) for row in curve.rows]


def _line(figures: Sequence[str]) -> str:
    # 13 wide, with a space between them whatever they are.
    return "".join(f" {each:>12s}" for each in figures)


def _figures(document: Document, row: Row) -> list[str]:
    found = measurements(document, row)
    ns = mean(found)
    configuration = row.configuration
    repetitions = sum(each.samples.size * each.iterations for each in found)
    first = [str(configuration.size), str(repetitions)]
    if not configuration.is_rate:
        rate = configuration.size / ns * 1e3 if ns else 0.0
        return [*first, f"{ns / 1e3:.2f}", f"{rate:.2f}"]
    messages = configuration.directions * 1e9 / ns if ns else 0.0
    return [*first, f"{configuration.size * messages / 1e6:.2f}", f"{messages:.0f}"]


def _as_it_was(name: str, curve: Curve, source: Source) -> list[str]:
    """A table as IMB had printed it."""
    lines = fact(source, f"{name}: title").split("\n")
    lines.append(_line(BENCHMARKS[name].names))
    lines += [_line(cells(row, TOOL, BENCHMARKS[name].names)) for row in curve.rows]
    return lines

"""The OSU micro-benchmarks (OMB), version 4 and later: two-sided point-to-point, as they print it.

Latency is the mean of half round trips, 1 MB is 10^6 bytes, and a window is sent from one buffer,
unless the heading says otherwise. "P99" of a bandwidth is that of the best one per cent.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from halftrip.convert.tables import Format, Row, Table, settings
from halftrip.convert.text import Lines, last_place, number, quoted, whole, wrong
from halftrip.report.styles.osu import columns
from halftrip.results.configuration import Configuration
from halftrip.results.patterns import Pattern
from halftrip.results.reported import Spread

TOOL = "osu"
# The titles that are read, and what each measures; the window is the default of OMB.
_WINDOW = 64
_LARGEST_WINDOW = 10**6
_KINDS: dict[str, tuple[Pattern, int]] = {
    "Latency": ("pingpong", 1),
    "Bandwidth": ("stream", _WINDOW),
    "Bi-Directional Bandwidth": ("bidirectional", _WINDOW),
    "Multiple Bandwidth / Message Rate": ("stream", _WINDOW),
}
_TITLE = re.compile(r"# OSU MPI(?P<memory>-\w+)? (?P<kind>.+?) Test(?: v(?P<version>[\w.]+))?\s*")
_HEADING = re.compile(r"# Size\s")
_GROUP = re.compile(r"# \[ pairs: (?P<pairs>\d+) \] \[ window size: (?P<window>\d+) \]\s*")
# Columns, and what is known of them; `us` and `MB/s` are the main ones.
_TIMES = {"Latency (us)": "ns", "Avg Latency(us)": "ns"}
_RATES = ("Bandwidth (MB/s)", "MB/s")
_SPREADS: dict[str, Spread] = {
    "P50 Tail Lat(us)": "p50",
    "P90 Tail Lat(us)": "p90",
    "P99 Tail Lat(us)": "p99",
}
_VALIDATION = "Validation"


def _recognised(lines: Lines) -> int | None:
    return lines.first(r"# OSU MPI\b")


def _read(lines: Lines) -> Sequence[Table]:
    first = _recognised(lines)
    if first is None:
        wrong(1, "no title: # OSU MPI ... Test")
    title = _TITLE.fullmatch(lines[first])
    if title is None or title["kind"] not in _KINDS:
        wrong(first, f"no point-to-point test that is read here: {', '.join(_KINDS)}")
    pattern, window = _KINDS[title["kind"]]
    heading = _heading(lines, first)
    said = [lines[n].rstrip() for n in range(first, heading) if lines[n].strip()]
    for n in range(first + 1, heading):
        window = _window(n, lines[n]) or window
    # The buffers of a window are one, and those to send and receive are two (osu_latency.c).
    configuration = settings(
        "mpi", pattern, window=window, buffers="separate", cache="hot",
        places="same" if window > 1 else "own",
    )  # fmt: skip
    names = columns(lines[heading])
    rows = [_row(n, lines[n], names, configuration) for n in _row_numbers(lines, heading)]
    facts = {"title": "\n".join(said), "heading": lines[heading].rstrip()}
    version = title["version"]
    return [Table(TOOL, first, configuration, "mean", rows, version=version, facts=facts)]


def _heading(lines: Lines, first: int) -> int:
    """The number of the line with the names of the columns, behind the title and comments."""
    for n in range(first + 1, len(lines) + 1):
        if _HEADING.match(lines[n]):
            return n
        if lines[n].strip() and not lines[n].startswith("#"):
            wrong(n, "neither a comment nor the heading # Size")
    return wrong(len(lines), "it ends before the heading # Size")


def _window(line: int, text: str) -> int | None:
    """The window that a comment names."""
    group = _GROUP.fullmatch(text)
    if group is None:
        return None
    if group["pairs"] != "1":
        wrong(line, f"{group['pairs']} pairs at once: only their sum is printed")
    window = whole(line, group["window"])
    if not 1 <= window <= _LARGEST_WINDOW:
        wrong(line, f"a window of {window}")
    return window


def _row_numbers(lines: Lines, heading: int) -> list[int]:
    """The numbers of the lines of the table; nothing else comes behind it."""
    found = []
    for n in range(heading + 1, len(lines) + 1):
        if lines[n].startswith("# OSU"):
            wrong(n, "a second table: import each by itself")
        if lines[n].strip():
            found.append(n)
    return found


def _row(line: int, text: str, names: Sequence[str], configuration: Configuration) -> Row:
    cells = text.split()
    if len(cells) != len(names):
        wrong(line, f"{len(cells)} figures below {len(names)} columns")
    figures = dict(zip(names, cells, strict=True))
    if figures.get(_VALIDATION, "Pass") not in ("Pass", "Fail"):
        wrong(line, f"{quoted(figures[_VALIDATION])} is no result of a validation")
    if figures.get(_VALIDATION) == "Fail":
        wrong(line, "its validation failed: these figures are of broken messages")
    size = whole(line, figures[names[0]])
    values = {name: number(line, cell) for name, cell in figures.items() if name != _VALIDATION}
    spread = {short: 1e3 * values[name] for name, short in _SPREADS.items() if name in values}
    for name in _TIMES:
        if name in values:
            step = 1e3 * last_place(figures[name])
            return Row(line, size, 1e3 * values[name], figures, spread=spread, step=step)
    rates = [name for name in _RATES if name in values]
    if not rates:
        wrong(line, f"below {', '.join(names)}, which have neither a latency nor a bandwidth")
    name = rates[0]
    bandwidth = 1e6 * values[name] / configuration.directions
    rate = values.get("Messages/s")
    if not bandwidth > 0 and not rate:
        wrong(line, "no bandwidth")
    ns = 1e9 / rate if rate else 1e9 * size / bandwidth
    step = ns * last_place(figures[name]) / values[name] if values[name] else 0.0
    return Row(line, size, ns, figures, step=step, bandwidth=bandwidth, rate=rate)


FORMAT = Format("OSU micro-benchmarks", _recognised, _read)

"""What netperf prints, as values: its classic text, -o (CSV), -O (columns, below four lines of
names) and -k (keys)."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

from halftrip.results.reported import Spread
from halftrip.tools.lines import Lines, WrongLineError, number, quoted, wrong

BANNER = re.compile(
    r"(?:MIGRATED )?(?P<protocol>[A-Z]{2,5}) (?P<test>[A-Za-z|/ ]{4,60}) TEST (?:from|to) .*"
)
_UNIT = r"(?P<unit>10\^[369]bits|[KMG]?Bytes) */s(?:ec)?"
# What -c and -C add to a heading.
_OF_LOAD = r" *(?: % .*)?"
# The last line of a heading, the columns below it, and those that -c and -C add.
_CLASSIC = (
    (
        re.compile(r"bytes +[Bb]ytes +bytes +bytes +secs\. +per sec" + _OF_LOAD),
        ("Send Socket Size", "Recv Socket Size", "REQUEST_SIZE", "RESPONSE_SIZE", "ELAPSED_TIME",
         "TRANSACTION_RATE"),
    ),
    (
        re.compile(rf"bytes +bytes +bytes +secs\. +{_UNIT}{_OF_LOAD}"),
        ("Recv Socket Size", "Send Socket Size", "LOCAL_SEND_SIZE", "ELAPSED_TIME", "THROUGHPUT"),
    ),
    (
        re.compile(rf"bytes +bytes +secs +# +# +{_UNIT}{_OF_LOAD}"),
        ("Socket Size", "LOCAL_SEND_SIZE", "ELAPSED_TIME", "Messages Okay", "Messages Errors",
         "THROUGHPUT"),
    ),
)  # fmt: skip
_ARRIVED = ("Remote Socket Size", "Remote Elapsed Time", "Remote Messages Okay",
            "REMOTE_RECV_THROUGHPUT")  # fmt: skip
_LOAD = ("CPU local", "CPU remote", "Service Demand local", "Service Demand remote")
_NOT_MEASURED = "-1.00"
# The names of -o, by those of -k.
_NAMES = {
    "THROUGHPUT": "Throughput",
    "THROUGHPUT_UNITS": "Throughput Units",
    "REMOTE_RECV_THROUGHPUT": "Remote Recv Throughput",
    "TRANSACTION_RATE": "Transaction Rate Tran/s",
    "RT_LATENCY": "Round Trip Latency usec/tran",
    "MIN_LATENCY": "Minimum Latency Microseconds",
    "MAX_LATENCY": "Maximum Latency Microseconds",
    "P50_LATENCY": "50th Percentile Latency Microseconds",
    "P90_LATENCY": "90th Percentile Latency Microseconds",
    "P99_LATENCY": "99th Percentile Latency Microseconds",
    "MEAN_LATENCY": "Mean Latency Microseconds",
    "STDDEV_LATENCY": "Stddev Latency Microseconds",
    "REQUEST_SIZE": "Request Size Bytes",
    "RESPONSE_SIZE": "Response Size Bytes",
    "BURST_SIZE": "Initial Burst Requests",
    "LOCAL_SEND_SIZE": "Local Send Size",
    "REMOTE_SEND_SIZE": "Remote Send Size",
    "ELAPSED_TIME": "Elapsed Time (sec)",
    "CONFIDENCE_LEVEL": "Confidence Level Percent",
    "THROUGHPUT_CONFID": "Throughput Confidence Width (%)",
    "RESULT_BRAND": "Result Tag",
    "PROTOCOL": "Protocol",
    "DIRECTION": "Direction",
}
_KEYS = {name: key for key, name in _NAMES.items()}
_KEY = re.compile(r"(?P<key>[A-Z][A-Z0-9_]{2,60})=(?P<value>.*?)\s*")
SPREADS: dict[str, Spread] = {
    "MIN_LATENCY": "min", "P50_LATENCY": "p50", "P90_LATENCY": "p90", "P99_LATENCY": "p99",
    "MAX_LATENCY": "max", "STDDEV_LATENCY": "stddev",
}  # fmt: skip
TIMES = ("MEAN_LATENCY", "RT_LATENCY", "TRANSACTION_RATE", "THROUGHPUT", "P50_LATENCY")
LATENCIES = ("MEAN_LATENCY", "RT_LATENCY", *SPREADS)
NUMBERS = {*TIMES, *SPREADS, "REMOTE_RECV_THROUGHPUT", "ELAPSED_TIME"}
# A line of -k with one of these is netperf's, and so is a heading of -o with one of their names.
_OWN = (*LATENCIES, "TRANSACTION_RATE", "THROUGHPUT_UNITS", "THROUGHPUT", "ELAPSED_TIME")
_OWN_KEY = re.compile(rf"({'|'.join((*_OWN, 'REQUEST_SIZE', 'RESPONSE_SIZE', 'DIRECTION'))})=")
_SELECTED = re.compile(
    rf"(?:[^,]+,)*(?:{'|'.join(re.escape(_NAMES[key]) for key in _OWN)})(?:,[^,]+)*\s*"
)
_FIGURES = re.compile(r"\s*[-+.\"]?\d\S*(?:\s+[-+.]?\d\S*)*\s*")
_INTERRUPTED = "it ends before the figures: netperf was interrupted"
_SECONDS = re.compile(r"\d+\.\d\d")
_NEXT_TEST = re.compile(BANNER.pattern)
# The lines of names above the cells of -O, and how far below the title they may begin.
_HUMAN_LINES = 4
_MOST_BETWEEN = 20
_OTHERS = 2
_LONGEST_HUMAN = 4096
# Of the classic text: what was asked for; where that was not reached, a warning says what was.
_ASKED = re.compile(r" \+/-(?P<half>\d+\.\d+)% @ ")
_REACHED = re.compile(r"!!! Confidence intervals: Throughput +: *(?P<width>\d+\.\d+)%\s*")
UNITS = {
    "10^3bits": 125.0, "10^6bits": 1.25e5, "10^9bits": 1.25e8, "Bytes": 1.0,
    "KBytes": float(1 << 10), "MBytes": float(1 << 20), "GBytes": float(1 << 30),
}  # fmt: skip
TRANSACTIONS = "Trans"
# How far a rate and the mean latency may be from each other's inverse.
INVERSE = 0.1
_BY_LAYOUT = "|".join(
    (*(f"{each.pattern.replace('?P<unit>', '')}$" for each, _ in _CLASSIC), f"{_SELECTED.pattern}$")
)
HEADING = re.compile(f"{_OWN_KEY.pattern}|(?=(?:{_BY_LAYOUT}))")


class Said(NamedTuple):
    """What a text says: its figures by the keys of -k and their lines, the cells as they were
    printed, and the line of the row."""

    line: int
    values: dict[str, tuple[int, str]]
    figures: dict[str, str]

    def of(self, key: str) -> str:
        return self.values[key][1] if key in self.values else ""


def said(lines: Lines, first: int) -> Sequence[Said]:
    """What the text from that line on says; nothing where it ends before a result."""
    layouts = (_classic, _human, _selected, _keys)
    return next(filter(None, (layout(lines, first) for layout in layouts)), ())


def _classic(lines: Lines, first: int) -> list[Said]:
    found = [
        (n, match, columns)
        for n, line in lines.below(first - 1)
        for heading, columns in _CLASSIC
        if (match := heading.fullmatch(line))
    ]
    if not found:
        return []
    at, match, names = found[0]
    n = _next(lines, at)
    cells = _cells(lines, n, names)
    values = {name: (n, cell) for name, cell in cells.items()}
    unit = match.groupdict().get("unit")
    values["THROUGHPUT_UNITS"] = at, f"{unit or TRANSACTIONS}/s"
    if width := _width(lines, first, at):
        values["THROUGHPUT_CONFID"] = width
    if "Messages Okay" in names:
        n = _next(lines, n)
        arrived = _cells(lines, n, _ARRIVED)
        lasted = [float(each) for each in (cells["ELAPSED_TIME"], arrived["Remote Elapsed Time"])]
        came = float(arrived["Remote Messages Okay"]) * float(cells["LOCAL_SEND_SIZE"])
        told = UNITS[unit or "Bytes"] * float(arrived["REMOTE_RECV_THROUGHPUT"]) * lasted[1]
        if abs(came - told) > INVERSE * came:
            wrong(n, "its messages, time and throughput do not fit each other")
        if abs(lasted[0] - lasted[1]) > INVERSE * lasted[0]:
            wrong(n, f"it lasted {lasted[0]:g} s, and {lasted[1]:g} s at the other end")
        values.update({name: (n, cell) for name, cell in arrived.items()})
        cells |= arrived
    return [Said(n, values, cells)]


def _width(lines: Lines, first: int, heading: int) -> tuple[int, str] | None:
    """The whole width of the interval of the throughput, per cent of it, behind its line."""
    for n, found in lines.matches(_REACHED, heading, first):
        return n, found["width"]
    asked = _ASKED.search(lines[first])
    if asked is None or any(lines[n].startswith("!!!") for n in range(first, heading)):
        return None
    return first, repr(2 * float(asked["half"]))


def _next(lines: Lines, at: int) -> int:
    """The number of the next line that begins with a figure."""
    return lines.next(at, _FIGURES, _NEXT_TEST, _INTERRUPTED)[0]


def _cells(lines: Lines, line: int, names: Sequence[str]) -> dict[str, str]:
    """The cells of a row of the classic text; the last of them are of the processors, if any."""
    cells = lines[line].split()
    more = len(cells) - len(names)
    if more not in (0, 2, 4):
        wrong(line, f"{len(cells)} figures below {len(names)} columns")
    for n, cell in enumerate(cells):
        if n < len(names) or cell != _NOT_MEASURED:
            number(line, cell)
    found = dict(zip((*names, *_LOAD[:more]), cells, strict=True))
    # What looks alike with other decimals is a row of another tool.
    for name in ("ELAPSED_TIME", "Remote Elapsed Time"):
        if name in found and not _SECONDS.fullmatch(found[name]):
            wrong(line, f"{quoted(found[name])}: netperf prints a time with two decimals")
    return found


def _selected(lines: Lines, first: int) -> list[Said]:
    at = next((n for n, line in lines.below(first - 1) if _SELECTED.fullmatch(line)), None)
    if at is None:
        return []
    names = lines[at].rstrip().split(",")
    found: list[Said] = []
    for n, line in lines.below(at):
        if _NEXT_TEST.match(line):
            break
        try:
            said = _row(n, line, names, not found)
        except WrongLineError as error:
            if not found:
                raise
            lines.doubt(error)
            continue
        if said is not None and found and not said.of("RESULT_BRAND"):
            lines.doubt(WrongLineError(n, "a second row below one heading"))
        elif said is not None:
            found.append(said)
    if not found:
        wrong(len(lines), _INTERRUPTED)
    return found


def _row(n: int, line: str, names: Sequence[str], is_first: bool) -> Said | None:
    """What a line says; None where it is no row. One that begins with a text has all figures."""
    is_figures = _FIGURES.fullmatch(line) is not None
    has_cells = line.count(",") >= len(names) - 1 and (is_figures or len(names) > 1)
    if not (has_cells or (is_first and is_figures)):
        return None
    try:
        said = _csv(n, line, names)
    except WrongLineError:
        if is_figures:
            raise
        return None
    cells = [cell for key, (_, cell) in said.values.items() if key in NUMBERS]
    return said if is_figures or all(map(_FIGURES.fullmatch, cells)) else None


def _csv(n: int, line: str, names: Sequence[str]) -> Said:
    try:
        (cells,) = csv.reader([line.rstrip()], strict=True)
    except csv.Error as error:
        wrong(n, f"no CSV: {error}")
    if len(cells) != len(names) or len(set(names)) != len(names):
        wrong(n, f"{len(cells)} figures below {len(set(names))} names")
    return _by_name(n, dict(zip(names, cells, strict=True)))


def _by_name(n: int, figures: dict[str, str]) -> Said:
    return Said(n, {_KEYS.get(name, name): (n, cell) for name, cell in figures.items()}, figures)


def _human(lines: Lines, first: int) -> list[Said]:
    """The columns of -O below that line, in blocks between which there is a blank line."""
    last = min(first + _MOST_BETWEEN, len(lines))
    for n in range(first + _HUMAN_LINES + 1, last + 1):
        # Lines of others may stand between those of names.
        above = range(max(first + 1, n - _HUMAN_LINES - _OTHERS), n)
        found = [_block(lines, (*numbers, n)) for numbers in combinations(above, _HUMAN_LINES)]
        figures = max(found, key=lambda each: len(each.keys() & _KEYS.keys()), default={})
        if any(_FIGURES.fullmatch(cell) for name, cell in figures.items() if name in _KEYS):
            return [_by_name(n, figures | _blocks(lines, n))]
    return []


def _blocks(lines: Lines, above: int) -> dict[str, str]:
    """The cells of the blocks below that line, up to what is none."""
    found: dict[str, str] = {}
    while above + 2 + _HUMAN_LINES <= len(lines) and not lines[above + 1].strip():
        more = _block(lines, range(above + 2, above + 3 + _HUMAN_LINES))
        if not more.keys() & _KEYS.keys() or more.keys() & found.keys():
            break
        found |= more
        above += _HUMAN_LINES + 2
    return found


def _block(lines: Lines, numbers: Sequence[int]) -> dict[str, str]:
    """The cells in the last of these lines, by the names above them; none where they are no
    columns, or have a name twice."""
    rows = [lines[n] for n in numbers]
    width = max(map(len, rows))
    if width > _LONGEST_HUMAN or not rows[-1].strip():
        return {}
    rows = [row.ljust(width) for row in rows]
    is_gap = [all(row[n] == " " for row in rows) for n in range(width)]
    starts = [n for n in range(width) if not is_gap[n] and (n == 0 or is_gap[n - 1])]
    found: dict[str, str] = {}
    for start, end in pairwise([*starts, width]):
        *above, cell = (row[start:end].strip() for row in rows)
        name = " ".join(filter(None, above))
        # Two names where a cell is not below its own.
        if name in found or any("  " in each for each in above):
            return {}
        if name or not found:
            found[name] = cell
        else:
            # Blanks in a cell, such as a command line, make columns without a name.
            found[next(reversed(found))] += f" {cell}"
    return found


def _keys(lines: Lines, first: int) -> list[Said]:
    """The keys from that line down to where one is there again, and those right above it."""
    values: dict[str, tuple[int, str]] = {}
    last = first
    for n, line in lines.below(first - 1):
        if found := _KEY.fullmatch(line):
            if values.get(found["key"], (0, found["value"]))[1] != found["value"]:
                break
            last = n
            values[found["key"]] = n, found["value"]
    for n in range(first - 1, 0, -1):
        found = _KEY.fullmatch(lines[n])
        if found is None or found["key"] in values:
            break
        values[found["key"]] = n, found["value"]
    if not values:
        return []
    return [Said(last, values, {key: value for key, (_, value) in values.items()})]

"""The OSU micro-benchmarks (OMB): point-to-point of version 4 and later, put and get are read,
osu_latency, osu_bw and osu_bibw of version 7.4 are printed.

Latency is the mean of half round trips, of a put or get the mean with its synchronization, which
brings data one way. 1 MB is 10^6 bytes, and a window is sent from one buffer, unless the heading
says otherwise; each put or get of a window has a place of its own. Of several pairs at once,
osu_mbw_mr prints the sum, of which a row is the mean of a pair, and osu_multi_lat the mean, without
their number. The tails of a bandwidth are those of the windows: "P99" is that of the best one per
cent.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from halftrip.analysis.rows import Row
from halftrip.report.document import Document
from halftrip.results.configuration import UNKNOWN, Configuration, Datatype, Places
from halftrip.results.patterns import Mode, Pattern
from halftrip.results.reported import Spread, Statistic, Variant
from halftrip.tools.commands import Program, told
from halftrip.tools.lines import Lines, count, last_place, number, quoted, whole, window, wrong
from halftrip.tools.printing import PrintedCurve, curves, single_times, texts
from halftrip.tools.tables import (
    Format,
    TableRow,
    ToolTable,
    below,
    by_rate,
    settings,
    spreads,
)

TOOL = "osu"
_VERSION = "7.4"
# Of OMB, unless it is told otherwise; of put and get before version 5.4.
_WINDOW = 64
_OLD_WINDOW, _WITH_OLD_WINDOW = 32, (5, 3)
# Where the buffers of a rank are, by the letter in a comment; what devices there are, by the title.
_BUFFERS = re.compile(
    r"# (?:Send Buffer|Rank 0 Memory) on \w+ \((\w)\)"
    r" and (?:Receive Buffer|Rank 1 Memory) on \w+ \((\w)\)\s*"
)
# As an argument of the command says it, which newer versions do not print.
_PROGRAM = Program("osu_[a-z_]+", "osu_", "# OSU ")
_ENDS_OF_BUFFERS, _ASKED_WINDOW = (
    r"(?<!\S)([DHM] +[DHM])(?!\S)",
    r"(?<!\S)(?:-W *|--window-size[= ])(\d{1,6})(?!\S)",
)
_ANY_DEVICE = "device"
_DEVICES = {"-CUDA": "cuda", "-ROCM": "rocm", "-SYCL": "sycl"}
# What the ends of a ping-pong have several of, and the lines that say how many, the sender first.
_SHARED = {
    "multi-threaded": ("threads", re.compile(r"# Number of (?:Send|Receiv)er threads: (\d+)\s*")),
    "multi-process": (
        "forked processes",
        re.compile(r"# Number of forked processes in (?:send|receiv)er: (\d+)\s*"),
    ),
}
# The titles that are printed, and those that are read.
_TITLES: dict[str, Pattern] = {
    "Latency": "pingpong",
    "Bandwidth": "stream",
    "Bi-Directional Bandwidth": "bidirectional",
}
_OF_PAIRS = "multiple bandwidth / message rate"
# By the verb and the kind: get has a small letter.
_KINDS: dict[tuple[str | None, str], Pattern] = {
    **{(None, kind.lower()): pattern for kind, pattern in _TITLES.items()},
    (None, _OF_PAIRS): "stream",
    **{(None, f"{kind} latency"): "pingpong" for kind in ("multi", *_SHARED)},
    **{("Put", kind): "put" for kind in ("latency", "bandwidth")},
    **{("Get", kind): "get" for kind in ("latency", "bandwidth")},
    ("Put", "bi-directional bandwidth"): "bidirectional",
}
_READ = ", ".join((*_TITLES, "Multi-threaded Latency", "Multiple Bandwidth / Message Rate"))
_BEGIN = re.compile(r"# OSU \w")
_TITLE = re.compile(
    r"# OSU MPI(?:_(?P<verb>[A-Z][a-z_]+))?(?P<memory>-\w+)? (?P<kind>.+?) Test"
    r"(?: v(?P<version>[\w.]+))?\s*"
)
# The usual ones, which halftrip has, too, make no variant.
_ONE_SIDED = {
    "window creation": (re.compile(r"# Window creation: MPI_Win_(\S+)\s*"), "allocate"),
    "synchronization": (re.compile(r"# Synchronization: MPI_Win_(\S+)\s*"), "flush"),
}
# As osu_mbw_mr says it; osu_bw says nothing of the window that it was given.
_GROUP = re.compile(r"# \[ pairs: (?P<pairs>\d+) \] \[ window size: (?P<window>\d+) \]\s*")
_GROUP_LINE = "# [ pairs: 1 ] [ window size: {} ]"
# The columns: of each kind, the first is printed.
_SIZE = "# Size"
# Of version 7, above or below the heading; the usual one makes no variant.
_DATATYPE = re.compile(r"# Datatype: (?P<name>MPI_\w+)(?: (?P<made>contiguous|vector))?\.?\s*")
_CHARACTERS = "MPI_CHAR"
_HEADING = re.compile(r"# Size\s+(?!\[)(?=.*(?:Latency|Bandwidth|MB/s)).*")
# Lines below the heading in which it may stand.
_BELOW = 2
_ROW = re.compile(r"\s*\d+\s+\d")
# Comments that stand below a heading, as version 7.1 has the datatype there.
_ENDS = re.compile(r"# (?!Datatype)")
_TIMES = ("Avg Latency(us)", "Latency (us)")
# The third is version 3's, of both ways.
_RATES = ("Bandwidth (MB/s)", "MB/s", "Bi-Bandwidth (MB/s)")
_TIME_TAILS: dict[str, Spread] = {
    "P50 Tail Lat(us)": "p50",
    "P90 Tail Lat(us)": "p90",
    "P99 Tail Lat(us)": "p99",
}
_RATE_TAILS = ("P50 Tail BW(MB/s)", "P90 Tail BW(MB/s)", "P99 Tail BW(MB/s)")
_SHARES = (0.5, 0.9, 0.99)
_VALIDATION = "Validation"
# Or more digits.
_PRECISION = 0.01


def _columns(heading: str) -> list[str]:
    """The names of the columns in a heading. The tails of a bandwidth have a single space before
    them, as wide as their columns are."""
    return re.split(r"\s{2,}|\s(?=P\d[\d.]* Tail )", heading.removeprefix("# ").strip())


def _line(first: str, others: Sequence[str]) -> str:
    """A row, or the heading."""
    width = 20 if len(others) == 1 else 18
    return f"{first:<10s}" + "".join(f"{each:>{width}s}" for each in others)


# Reads.


def _read(lines: Lines, first: int) -> Sequence[ToolTable]:
    title = _title(lines, first)
    kind = title.kind.lower()
    if (title.verb, kind) not in _KINDS:
        name = quoted(f"{title.verb or ''} {title.kind}".strip())
        known = f"{_READ}, of MPI_Put and MPI_Get"
        wrong(first, f"no point-to-point test that is read here: {name}; these are: {known}")
    pattern = _KINDS[title.verb, kind]
    is_latency = kind.endswith("latency")
    lacks = f"it ends before the heading {_SIZE}"
    heading, _ = lines.next(first - 1, _HEADING, _ROW, lacks)
    said = [lines[n].rstrip() for n in range(first, heading) if lines[n].startswith("#")]
    pairs, in_flight = 0 if kind == _OF_PAIRS else 1, 1 if is_latency else _window(title)
    asked = None if is_latency else told(lines, first, _PROGRAM, _ASKED_WINDOW)
    if asked is not None and asked != UNKNOWN:
        in_flight = window(first, asked)
    for n in range(first + 1, heading):
        if title.verb is None and any(of.fullmatch(lines[n]) for of, _ in _ONE_SIDED.values()):
            wrong(n, f"a line of MPI_Put or MPI_Get below {title.kind}: a title is lost")
        if "# OSU " in lines[n]:
            wrong(n, "a title in the middle of a line: what is between two tables is lost")
        if group := _GROUP.fullmatch(lines[n]):
            pairs = count(n, group["pairs"], "no pairs")
            in_flight, asked = window(n, group["window"]), None
    if not pairs:
        wrong(heading, "no line [ pairs: ... ] says of how many pairs it has the sum")
    variant, above = _variant(lines, first, heading, title)
    datatype, of_type = _datatype_of(lines, first, heading)
    variant = tuple(sorted((*variant, *of_type)))
    memory = _memory(title, said, told(lines, first, _PROGRAM, _ENDS_OF_BUFFERS))
    names = _columns(lines[heading])
    # The buffers of a window are one, and those to send and receive are two (osu_latency.c); its
    # messages are nonblocking (osu_bw.c).
    mode: Mode = "blocking" if is_latency else "nonblocking"
    places: Places = "same" if in_flight > 1 and title.verb is None else "own"
    is_verified = _VALIDATION in names
    if is_verified and in_flight > 1:
        places = "unknown"
    configuration = settings(
        "mpi", pattern, "onesided" if pattern in ("put", "get") else mode, memory,
        variant, window=None if asked == UNKNOWN else in_flight, buffers="separate", cache="hot",
        places=places, concurrency=pairs, verify=is_verified, datatype=datatype,
    )  # fmt: skip
    is_sum = _RATES[1] in names
    if is_latency != any(name in _TIMES for name in names) or is_sum != (kind == _OF_PAIRS):
        wrong(heading, f"below {', '.join(names)}, which are no columns of {title.kind}")
    rows = lines.rows(
        heading, lambda n, line: _row(n, line, names, configuration), _ENDS, decimals=True
    )
    facts = {"title": "\n".join([*above, *said]), "heading": lines[heading].rstrip()}
    how: Statistic = "sum" if pairs > 1 and not is_latency else "mean"
    return [ToolTable(TOOL, first, configuration, how, rows, version=title.version, facts=facts)]


def _window(title: _Title) -> int:
    """The usual window of a bandwidth, which no line of osu_bw tells."""
    version = tuple(int(part) for part in re.findall(r"\d{1,6}", title.version or "")[:2])
    is_old = title.verb is not None and version and version <= _WITH_OLD_WINDOW
    return _OLD_WINDOW if is_old else _WINDOW


def _variant(
    lines: Lines, first: int, heading: int, title: _Title
) -> tuple[Variant, Sequence[str]]:
    """What tells a test from the usual one, and the lines above its title that say so."""
    kind = title.kind.lower().removesuffix(" latency")
    if kind == "multi":
        return (("pairs", UNKNOWN),), ()
    if kind in _SHARED:
        name, pattern = _SHARED[kind]
        # They are printed before the title.
        numbers = [*lines.matches(pattern, heading)][-2:]
        ends = [str(whole(n, found[1])) for n, found in numbers]
        above = [found[0].rstrip() for n, found in numbers if n < first]
        return ((name, ":".join(ends) if len(ends) == 2 else UNKNOWN),), above
    if title.verb is None:
        return (), ()
    found = {"verb": "put"} if _KINDS[title.verb, title.kind.lower()] == "bidirectional" else {}
    for name, (pattern, usual) in _ONE_SIDED.items():
        said = next((each for _, each in lines.matches(pattern, heading, first)), None)
        how = said[1].lower() if said is not None else UNKNOWN
        if how != usual:
            found[name] = how
    return tuple(sorted(found.items())), ()


class _Title(NamedTuple):
    kind: str
    version: str | None
    device: str = _ANY_DEVICE
    verb: str | None = None


def _title(lines: Lines, first: int) -> _Title:
    found = _TITLE.fullmatch(lines[first])
    if found is not None:
        device = _DEVICES.get(found["memory"] or "", _ANY_DEVICE)
        return _Title(found["kind"], found["version"], device, found["verb"])
    if lines[first].startswith(_SIZE):
        if lines.test is None:
            wrong(first, "no title: # OSU MPI ... Test; --test NAME says which it is")
        return _Title(lines.test, None)
    return wrong(first, "not the whole title: # OSU MPI ... Test")


def _datatype_of(lines: Lines, first: int, heading: int) -> tuple[Datatype, Variant]:
    """What a message is made of, and what tells it from the usual one."""
    below = min(heading + _BELOW, len(lines)) + 1
    found = next((each for _, each in lines.matches(_DATATYPE, below, first)), None)
    if found is None or found["name"] == _CHARACTERS:
        made: Datatype = "byte"
        if found is not None and found["made"]:
            made = "vector" if found["made"] == "vector" else "contiguous"
        return made, ()
    return "byte", (("datatype", found["name"]),)


def _memory(title: _Title, said: Sequence[str], by_command: str | None) -> tuple[str, str]:
    """The kinds of memory at both ends: a device's where a comment or a command says so. Where
    there is none, a title with a device does not tell whose memory it is."""
    kinds = {"D": title.device, "M": f"{title.device}-managed", "H": "host"}
    for found in filter(None, map(_BUFFERS.fullmatch, said)):
        send, receive = (kinds.get(letter, UNKNOWN) for letter in found.groups())
        return send, receive
    if by_command not in (None, UNKNOWN) and title.device != _ANY_DEVICE:
        return kinds[by_command[0]], kinds[by_command[-1]]
    return ("host", "host") if title.device == _ANY_DEVICE else (UNKNOWN, UNKNOWN)


def _row(line: int, text: str, names: Sequence[str], configuration: Configuration) -> TableRow:
    figures = below(line, names, text.split())
    if figures.get(_VALIDATION, "Pass") not in ("Pass", "Fail"):
        wrong(line, f"{quoted(figures[_VALIDATION])} is no result of a validation")
    if figures.get(_VALIDATION) == "Fail":
        wrong(line, "its validation failed: these figures are of broken messages")
    size = whole(line, figures[names[0]])
    values = {
        name: _value(line, name, cell) for name, cell in figures.items() if name != _VALIDATION
    }
    for name in _TIMES:
        if name in values:
            step = 1e3 * last_place(figures[name])
            spread = spreads(line, figures, _TIME_TAILS)
            return TableRow(line, size, 1e3 * values[name], figures, spread=spread, step=step)
    rates = [name for name in _RATES if name in values]
    if not rates:
        wrong(line, f"below {', '.join(names)}, which have neither a latency nor a bandwidth")
    name = rates[0]
    # All pairs and directions together.
    parts = configuration.directions * configuration.concurrency
    bandwidth = 1e6 * values[name] / parts
    rate = values.get("Messages/s")
    # Both are rounded: a figure that has lost digits fits no longer.
    if rate is not None and abs(size * rate - 1e6 * values[name]) > 1e4 * (1 + values[name]) + size:
        wrong(line, f"{figures['Messages/s']} messages of {size} bytes are not {figures[name]} MB")
    if not bandwidth > 0 and not rate:
        wrong(line, "no bandwidth")
    if rate is not None:
        rate /= parts
    ns = 1e9 / rate if rate else 1e9 * size / bandwidth
    return by_rate(line, size, ns, figures[name], figures, bandwidth=bandwidth, rate=rate)


def _value(line: int, name: str, cell: str) -> float:
    value = number(line, cell)
    if name in (*_TIMES, *_RATES) and last_place(cell) > _PRECISION:
        wrong(line, f"its figures have other decimals than are printed: {cell}")
    return value


# Prints.


def render(document: Document) -> str:
    """A table for each curve. Raises UsageError for a run without one."""
    found = curves(
        document, TOOL, _is_osu, "ping-pong, stream or bidirectional stream", "-p pingpong,stream"
    )
    return texts(map(_table, found))


def _is_osu(configuration: Configuration) -> bool:
    return configuration.pattern in _TITLES.values() and configuration.directions == (
        2 if configuration.pattern == "bidirectional" else 1
    )


def _table(curve: PrintedCurve) -> list[str]:
    if curve.is_own:
        return _as_it_was(curve)
    configuration = curve.configuration
    is_latency = configuration.pattern == "pingpong"
    verified = configuration.verify
    tails = [_tails(curve, row) for row in curve.rows]
    known = [each for each in tails if each is not None]
    # What reads these tables expects either the results of a validation or all three tails.
    has_tails = not verified and len(known) == len(tails)
    title = next(name for name, pattern in _TITLES.items() if pattern == configuration.pattern)
    names = [(_TIMES if is_latency else _RATES)[0]]
    if has_tails:
        names += _TIME_TAILS if is_latency else _RATE_TAILS
    lines = [
        f"# OSU MPI {title} Test v{_VERSION}",
        f"# Datatype: {_datatype(configuration)}.",
        f"# Measured by {curve.measured_by()}: {curve.says()}",
    ]
    if configuration.window not in (1, _WINDOW):
        lines.append(_GROUP_LINE.format(configuration.window))
    lines.append(_line(_SIZE, [*names, *[_VALIDATION] * verified]))
    for row, of_row in zip(curve.rows, tails, strict=True):
        figures = [f"{_figure(curve, row):.2f}", *["Pass"] * verified]
        if has_tails:
            figures += [f"{value:.2f}" for value in of_row or ()]
        lines.append(_line(str(row.configuration.size), figures))
    return lines


def _datatype(configuration: Configuration) -> str:
    names = {"byte": "MPI_CHAR", "contiguous": "MPI_CHAR contiguous", "vector": "MPI_CHAR vector"}
    return names[configuration.datatype]


def _figure(curve: PrintedCurve, row: Row) -> float:
    ns = curve.mean(row)
    if row.configuration.pattern == "pingpong":
        return ns / 1e3
    return row.configuration.directions * row.configuration.size / ns * 1e3 if ns else 0.0


def _tails(curve: PrintedCurve, row: Row) -> list[float] | None:
    """The tails of a row, in its unit; None where a sample holds several iterations."""
    times = single_times(curve.measurements(row))
    if times is None or not times.size or not times.min() > 0:
        return None
    if row.configuration.pattern == "pingpong":
        return [float(each) / 1e3 for each in np.quantile(times, _SHARES)]
    rates = row.configuration.directions * row.configuration.size / times * 1e3
    return [float(each) for each in np.quantile(rates, _SHARES)]


def _as_it_was(curve: PrintedCurve) -> list[str]:
    """What the tool had printed, from its heading on."""
    title, heading = curve.fact("title"), curve.fact("heading")
    rows = [curve.cells(row, _columns(heading)) for row in curve.rows]
    return [*title.split("\n"), heading, *(_line(size, others) for size, *others in rows)]


FORMAT = Format(
    "OSU micro-benchmarks", _read, marks=("# OSU ", "# Size"), begins=_BEGIN, heading=_HEADING
)

"""The Intel MPI Benchmarks: PingPong, PingPing, Sendrecv, Exchange, Uniband and Biband of IMB-MPI1
between two processes, also of several groups at once (-multi), and Unidir_Put and Unidir_Get of
IMB-EXT and IMB-RMA are read; PingPong, PingPing, Uniband and Biband are printed.

t[usec] is the mean of half round trips, for PingPing the mean time of one of two messages that
cross, and that of a put or get. Where the times of all processes are told apart, that of the
slowest counts, t_max, of which Mbytes/sec is made. In Sendrecv each process sends one message and
receives one, in Exchange two, and Mbytes/sec is the sum. More than two processes do so in a ring:
the figures are those of a process, and `processes` tells the rows apart. 1 MB is 10^6 bytes since
version 2018, 2^20 before; where a text has no version, nothing is taken from Mbytes/sec. Uniband
and Biband send windows of 64 messages; Biband's figures are the sum of both directions, and those
of more processes the sum of all pairs, of which a row is the mean.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from halftrip.analysis.rows import Row
from halftrip.report.document import Document
from halftrip.results.configuration import UNKNOWN, Cache, Configuration, Places
from halftrip.results.reported import Statistic, Variant
from halftrip.tools.imb_benchmarks import (
    BENCHMARKS,
    BYTES,
    COUNT,
    PRINTED,
    RANGE_NAMES,
    RANGES,
    RATE,
    SIZE,
    TIME,
    TIME_NAMES,
    WINDOW,
    Benchmark,
)
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
# Version 3 calls itself Benchmark Suite V3.2.
_FAMILY = re.compile(
    r"#\s+Intel ?\(R\) MPI Benchmark(?:s| Suite) V?(?P<version>[\w.]+)(?P<part>.*)"
)
_FAMILY_LINE = "#    Intel(R) MPI Benchmarks {}, MPI-1 part"
_DATE = re.compile(r"# Date\s+: (?P<date>.*\S)\s*")
_DATE_LINE, _DATE_FORMAT = "# Date                  : {}", "%a %b %d %H:%M:%S %Y"
# The command, as the head repeats it.
_COMMAND = re.compile(r"# *(?:\S*/)?IMB-\w+(?P<gpu>-GPU)?(?P<arguments>(?: .*)?)")
# Older versions print six of its words in a line.
_GOES_ON = re.compile(r"#\s{5,}(\S.*)")
_OFF_CACHE = re.compile(r" -off_cache (?!0(?:[ ,]|$))")
_ALLOCATED = re.compile(r" -mem_alloc_type (\w+)")
_TITLE = re.compile(r"# Benchmarking(?: |\s*:)\s*(?P<name>.*[^\s:])\s*:?\s*")
_PROCESSES = re.compile(r"# (?:\( )?#processes = (?P<count>\d+)(?: \)|; rank order.*)?\s*")
_TITLE_LINES = (_RULE, "# Benchmarking {} ", "# #processes = 2 ", _RULE)
_MULTI = "Multi-"
_GROUPS = re.compile(r"# \(\s*(?P<groups>\d+) groups? of (?P<processes>\d+) processes each .*")
_GROUP_RANKS = re.compile(r"# Group +(?P<group>\d+): +(?P<one>\d+) +(?P<other>\d+)\s*")
_MODE = re.compile(r"# +MODE: (?P<mode>AGGREGATE|NON-AGGREGATE)\s*")
_HEADING = re.compile(r"\s*(?:Group\s+)?#bytes\s+#repetitions\s.*")
_ENDS = re.compile(r"#|.*#bytes")
_ROW = re.compile(r"\s*\d+\s+\d+(\s+[\d.]+){2,5}\s*", re.ASCII)
_GROUP = "Group"
_FIRST_DECIMAL = 2018
# Characters of what is kept of a text beside its tables.
_MOST_PROSE = 1 << 15


_PARTS = re.compile(r".*\b(MPI-1|MPI-2|MPI-RMA) part\b.*")


class _Said(NamedTuple):
    """What is said above the rows of a table: the line of the heading and the names in it, how many
    pairs were active at once, of how many a rate is the sum, and the ranks of each by the number of
    its group."""

    heading: int
    names: Sequence[str]
    pairs: int
    summed: int
    ranks: Mapping[str, tuple[int, int]]
    variant: Variant


# Reads.


def _read(lines: Lines, first: int) -> Sequence[ToolTable]:
    title = _TITLE.fullmatch(lines[first])
    name = title["name"] if title is not None else lines.test
    if name is None:
        wrong(first, "a heading without the name of its benchmark above it; --test NAME says it")
    is_multi, name = name.startswith(_MULTI), name.removeprefix(_MULTI)
    if name not in BENCHMARKS:
        wrong(first, f"{quoted(name)} is not read here: {', '.join(BENCHMARKS)} are")
    benchmark = BENCHMARKS[name]
    version, unit = _version(lines, first)
    said = _said(lines, first, name, is_multi)
    # Columns are aligned: of whole messages per second, nothing else tells that digits are lost.
    heading = lines[said.heading]
    width = len(heading.rstrip()) if "  " in heading.strip() else 0

    def read_row(n: int, line: str) -> TableRow:
        if RATE in said.names and len(line.rstrip()) < width:
            wrong(n, "a row that is shorter than its heading")
        return _row(n, line, benchmark, said, unit)

    rows = lines.rows(said.heading, read_row, _ENDS, decimals=True)
    above = first
    while above > 1 and (lines[above - 1].startswith("#") or not lines[above - 1].strip()):
        above -= 1
    comments = [lines[n] for n in range(above, said.heading + 1)]
    last = rows[-1].line if rows else said.heading
    end = itertools.takewhile(
        lambda line: line.startswith("#") or not line.strip(),
        (line for _, line in lines.below(last)),
    )
    facts = {"title": _kept(first, comments), "end": _kept(last, [*end]), "name": name}
    when = lines.above(first, "# Date ", _DATE)
    dated = None if when is None else date(first, when["date"], _DATE_FORMAT)
    window = benchmark.window
    # One buffer to send and one to receive, which the nonblocking messages of a window share.
    places: Places = "own" if window == 1 else "same" if window == WINDOW else "unknown"
    memory, cache = _by_command(lines, first)
    configuration = settings(
        "mpi", benchmark.pattern, benchmark.mode, (memory, memory), window=window,
        buffers="separate", cache=cache,
        places=places, concurrency=said.pairs,
        variant=said.variant,
    )  # fmt: skip
    how: Statistic = "sum" if said.summed > 1 else "mean"
    return [ToolTable(TOOL, first, configuration, how, rows, version, date=dated, facts=facts)]


def _by_command(lines: Lines, first: int) -> tuple[str, Cache]:
    """The kind of memory, and whether buffers stay in the cache, as they do unless it is asked for:
    the head repeats the command."""
    # That of an earlier run stands above the head of this one.
    heads = lines.all_above(first, "MPI Benchmark", _FAMILY)
    head = next((number for number, _ in heads), 0)
    commands = lines.all_above(first, "IMB-", _COMMAND)
    number, found = next(commands, (0, None))
    if found is None or number < head:
        return "host", "hot"
    arguments = found["arguments"]
    while more := _GOES_ON.fullmatch(lines.of_log(number := number + 1)):
        arguments += f" {more[1]}"
    allocated = _ALLOCATED.search(arguments)
    kind = allocated[1] if allocated else "device"
    device = kind if kind == "device" else UNKNOWN
    memory = "host" if not found["gpu"] or kind == "cpu" else device
    return memory, "cold" if _OFF_CACHE.search(arguments) else "hot"


def _version(lines: Lines, first: int) -> tuple[str | None, float | None]:
    """The version, and the bytes of its megabyte."""
    family = lines.above(first, "MPI Benchmark", _FAMILY)
    if family is None:
        return None, None
    if _PARTS.fullmatch(family["part"]) is None:
        wrong(first, f"{quoted(family[0].strip('# '))}: of IMB, only MPI-1, EXT and RMA are read")
    version = family["version"]
    major = version.partition(".")[0]
    if not major.isdecimal() or len(major) > len(str(_FIRST_DECIMAL)):
        return version, None
    return version, 1e6 if int(major) >= _FIRST_DECIMAL else float(1 << 20)


def _said(lines: Lines, first: int, name: str, is_multi: bool) -> _Said:
    """What stands above the rows, down to the line with the names of the columns."""
    benchmark = BENCHMARKS[name]
    lacks = f"it ends before the heading of {name}"
    heading, _ = lines.next(first - 1, _HEADING, _ROW, lacks)
    # Where a title is lost, so is this.
    processes, pairs, summed = 0 if _TITLE.match(lines[first]) else 2, 1, 1
    for n, found in lines.matches(_PROCESSES, heading, first):
        processes = whole(n, found["count"])
    for n, found in lines.matches(_GROUPS, heading, first):
        processes, pairs = whole(n, found["processes"]), count(n, found["groups"], "no groups")
    if is_multi != (pairs > 1):
        wrong(heading, "several groups at once, or one, where the title says otherwise")
    if RATE in benchmark.names and not is_multi and processes and processes % 2 == 0:
        pairs, processes = processes // 2, 2
        summed = pairs
    is_ring = benchmark.names is RANGE_NAMES and processes > 2
    if processes != 2 and not is_ring:
        wrong(heading, f"{processes or 'unknown'} processes: only those of a pair are known")
    names = tuple(lines[heading].split())
    # With -multi 1, each group has rows, else these are of the slowest, and may have all times.
    has_groups = names[0] == _GROUP
    is_range = names == RANGE_NAMES and benchmark.names is TIME_NAMES
    if names[has_groups:] != benchmark.names and not is_range:
        wrong(heading, f"not the columns of {name}: {' '.join(benchmark.names)}")
    ranks = {
        found["group"]: (whole(n, found["one"]), whole(n, found["other"]))
        for n, found in lines.matches(_GROUP_RANKS, heading, first)
    }
    variant = _variant(lines, first, heading, benchmark, is_multi and not has_groups)
    if is_ring:
        variant = tuple(sorted((*variant, ("processes", str(processes)))))
    return _Said(heading, names, pairs, summed, ranks if is_multi else {"0": (0, 1)}, variant)


def _variant(
    lines: Lines, first: int, heading: int, benchmark: Benchmark, is_slowest: bool
) -> Variant:
    """What tells a table from the usual one."""
    found = {"pair": "slowest"} if is_slowest else {}
    if benchmark.synchronization:
        found["synchronization"] = benchmark.synchronization
    if benchmark.mode == "onesided":
        # Aggregate: many are on their way before they are synchronized.
        said = next((each["mode"] for _, each in lines.matches(_MODE, heading, first)), UNKNOWN)
        if said != "NON-AGGREGATE":
            found["mode"] = said.lower()
    return tuple(sorted(found.items()))


def _row(line: int, row: str, benchmark: Benchmark, said: _Said, unit: float | None) -> TableRow:
    figures = below(line, said.names, row.split())
    size = whole(line, figures[SIZE])
    repetitions = count(line, figures[COUNT], "no repetitions")
    pair: dict[str, Any] = {}
    if _GROUP in figures:
        if figures[_GROUP] not in said.ranks:
            wrong(line, f"no line above says which ranks group {quoted(figures[_GROUP])} has")
        pair = {"settings": {"pair": said.ranks[figures[_GROUP]]}}
    printed = number(line, figures[BYTES])
    directions = 1 if benchmark.pattern in ("pingpong", "pingping", "stream", "put", "get") else 2
    bandwidth = None if unit is None else unit * printed
    if RATE not in figures:
        name = TIME if TIME in figures else RANGES[1]
        sent = size * directions * benchmark.window
        if name != TIME:
            _check_range(line, figures, sent, bandwidth, unit)
        # The bandwidth of no bytes is none; below some size, so is what is left of it.
        return timed(
            line, size, figures[name], 1e3 / benchmark.window, figures,
            iterations=repetitions, bandwidth=(bandwidth or 0.0) / directions or None, **pair,
        )  # fmt: skip
    rate = positive(line, figures[RATE], "no messages")
    # Both are rounded: a figure that has lost digits fits no longer.
    if bandwidth and abs(size * rate - bandwidth) > 0.01 * bandwidth + (unit or 0.0) / 100 + size:
        wrong(line, f"{figures[RATE]} messages of {size} bytes are not {figures[BYTES]} MB")
    parts = directions * said.summed
    return by_rate(
        line, size, 1e9 * parts / rate, figures[RATE], figures, iterations=repetitions,
        bandwidth=(bandwidth or size * rate) / parts, rate=rate / parts, **pair,
    )  # fmt: skip


def _check_range(
    line: int, figures: Mapping[str, str], sent: int, bandwidth: float | None, unit: float | None
) -> None:
    """Raises WrongLineError for times that are out of order, or of which the bandwidth, bytes per
    second, of so many bytes is not made."""
    least, most, mean = (number(line, figures[name]) for name in RANGES)
    if not least <= mean <= most:
        wrong(line, f"{RANGES[2]} of {figures[RANGES[2]]} is not between the two others")
    moved = 1e-6 * most * (bandwidth or 0.0)
    if unit is not None and abs(moved - sent) > 0.01 * sent + most * unit * 1e-8 + 1:
        wrong(line, f"{sent} bytes in {figures[RANGES[1]]} us are not {figures[BYTES]} MB/s")


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
    found = curves(document, TOOL, lambda each: _printed(each) is not None, needs, "-p pingpong")
    return texts(map(_text, _by_setting(found)))


def _printed(configuration: Configuration) -> str | None:
    """The benchmark that measures a configuration, of those that are printed."""
    for name, (pattern, window, *_) in PRINTED.items():
        directions = 1 if pattern in ("pingpong", "stream") else 2
        if (configuration.pattern, configuration.window) == (pattern, window):
            return name if configuration.directions == directions else None
    return None


def _by_setting(found: Sequence[PrintedCurve]) -> list[dict[str, PrintedCurve]]:
    """The curves of each text by benchmark: those that have all other settings in common, but for
    the kind of call, which is the benchmark's."""
    found_texts: list[tuple[tuple[Configuration, bool], dict[str, PrintedCurve]]] = []
    for curve in found:
        own = curve.source.facts.get("name") if curve.is_own and curve.source else None
        name = own or _printed(curve.configuration)
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
    first = next(iter(by_name.values()))
    if first.is_own:
        # In the order in which they were printed.
        own = sorted(by_name.values(), key=lambda each: each.source.place if each.source else 0)
        end = own[-1].fact("end").split("\n")
        return [*(line for curve in own for line in _table("", curve)), *end]
    names = [name for name in PRINTED if name in by_name]
    # What all its tables have in common.
    rows = [row for name in names for row in by_name[name].rows]
    head = _head(by_name[names[0]]._replace(rows=rows), names)
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
    return [*title, *map(_line, [PRINTED[name].names, *rows])]


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
    "Intel MPI Benchmarks", _read, marks=("# Benchmarking", "#repetitions"),
    begins=_TITLE, heading=_HEADING,
)  # fmt: skip

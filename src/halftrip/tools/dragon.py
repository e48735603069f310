"""The channel benchmarks of Dragon: ch_p2p_latency, ch_p2p_msg_rate and ch_p2p_bandwidth.

Each of two nodes prints what it has seen: node i talks with node i ^ 1. The latency is elapsed time
/ (2 x iterations), s, after 10 iterations of warm-up, printed to 1 us; a rate is over windows, with
one reply to each, after 8 windows. What ch_p2p_bandwidth prints is bytes per second.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from halftrip.analysis.rows import Row
from halftrip.report.document import Document
from halftrip.results.configuration import Configuration
from halftrip.tools.lines import Lines, count, positive, whole, wrong
from halftrip.tools.lines import window as window_of
from halftrip.tools.printing import check_size, exchanges, is_pingpong, lacks, mean, printed, text
from halftrip.tools.tables import (
    Format,
    TableRow,
    ToolTable,
    by_rate,
    loops,
    settings,
    timed,
)

TOOL = "dragon"
_SIZE, _WINDOW = "MsgSize", "WindowSize"
_LATENCY, _RATE, _BANDWIDTH = "Lat", "Msg/Sec", "Bandwidth"
_BEGIN = re.compile(rf".*\b{_SIZE} = ")
_ROW = re.compile(
    # What the runtime and a line of another node may have left before it.
    r".*?((?P<node>\d+)-stdout: )?(Iterations = (?P<n>\S+) )?MsgSize = (?P<size>[^\s,]+), "
    r"(WindowSize = (?P<window>[^\s,]+), Samps = (?P<samples>[^\s,]+), )?"
    r"((?P<name>Lat|Msg/Sec|Bandwidth) = (?P<value>\S+))(?P<unit> seconds)?\s*"
)
_LATENCY_ROW = "Iterations = {Iterations} MsgSize = {MsgSize}, Lat = {Lat} seconds"
_WINDOWS_ROW = "MsgSize = {MsgSize}, WindowSize = {WindowSize}, Samps = {Samps}, {name} = {value}"
# Programs by the column that each has alone; each is a launch of its own.
_PROGRAMS = {_LATENCY: "ch_p2p_latency", _RATE: "ch_p2p_msg_rate", _BANDWIDTH: "ch_p2p_bandwidth"}
_LARGEST_NODE = 10**5
_HOW = "halftrip run dragon, or with --pairs reciprocal"
# Sizes and windows of which these two programs print; what neither has is with the first up to the
# largest size of it.
_RATES = {(8, 64), (64, 64), (256, 64), (1 << 10, 64), (2 << 10, 64)}
_BANDWIDTHS = {(8, 64), (64, 48), (1 << 10, 32), (16 << 10, 32), (64 << 10, 32), (1 << 20, 16)}
_LARGEST_OF_RATES = 2 << 10


# Reads.


def _read(lines: Lines, first: int) -> Sequence[ToolTable]:
    configuration = settings(TOOL, "pingpong", ownership="transfer", places="own")
    found = loops(lines, lines.rows(first - 1, _row, looks=_BEGIN))
    return [ToolTable(TOOL, rows[0].line, configuration, "mean", rows) for rows in found]


def _row(line: int, text: str) -> TableRow:
    found = _ROW.fullmatch(text)
    if found is None:
        wrong(line, "no line of ch_p2p_latency, ch_p2p_msg_rate or ch_p2p_bandwidth")
    node, name = whole(line, found["node"] or "0"), found["name"]
    if node > _LARGEST_NODE:
        wrong(line, f"node {node}")
    size, value = whole(line, found["size"]), found["value"]
    amount = positive(line, value, f"{name} = {value}")
    if not (name == _LATENCY) == (found["n"] is not None) == (found["unit"] is not None):
        wrong(line, f"not all that {_PROGRAMS[name]} prints")
    iterations = count(line, found["n"] or found["samples"] or "0", "no samples")
    launch, pair = list(_PROGRAMS).index(name), {"pair": (node, node ^ 1)}
    if name == _LATENCY:
        figures = {"Iterations": found["n"], _SIZE: found["size"], name: value}
        return timed(
            line, size, value, 1e9, figures, iterations=iterations, launch=launch, settings=pair
        )
    window = window_of(line, found["window"])
    ns = 1e9 / amount if name == _RATE else 1e9 * size / amount
    return by_rate(
        line, size, ns, value,
        {_SIZE: found["size"], _WINDOW: found["window"], "Samps": found["samples"], name: value},
        iterations=iterations, launch=launch,
        bandwidth=amount * size if name == _RATE else amount,
        rate=amount if name == _RATE else amount / size if size else None,
        settings={"pattern": "stream", "window": window, "ownership": None, "places": "unknown"}
        | pair,
    )  # fmt: skip


# Prints.


def render(document: Document) -> str:
    """What each program prints at both ends of each pair. Raises UsageError for a run of which only
    one end has figures, and for one without a ping-pong or stream."""
    lines = [line for column in _PROGRAMS for line in _of_program(document, column)]
    if not lines:
        lacks(TOOL, "ping-pong or stream", _HOW)
    return text(lines)


def _of_program(document: Document, column: str) -> list[str]:
    by_node: dict[int, list[str]] = {}
    by_size = sorted(
        document.rows, key=lambda row: (row.configuration.size, -row.configuration.window)
    )
    for row in by_size:
        lines = _lines_of(document, row, column)
        if lines:
            check_size(row, TOOL)
            by_node.setdefault(row.configuration.pair[0], []).extend(lines)
    nodes, program = sorted(by_node), _PROGRAMS[column]
    alone = [node for node in nodes if node ^ 1 not in by_node]
    if alone:
        lacks(TOOL, f"{program} of both ends, only of rank {alone[0]}", _HOW)
    lines = [f"{node}: Starting {program}" for node in nodes]
    for node in nodes:
        lines += [f"{node}-stdout: {line}" for line in by_node[node]]
        lines += [f"{node}: app exited with 0", f"{node}: Done"]
    return lines


def _lines_of(document: Document, row: Row, column: str) -> list[str]:
    """The lines of a row that the program with this column prints."""
    reported = printed(row, TOOL)
    if reported:
        return [_line(each.figures, column) for each in reported if column in each.figures]
    return [_made(document, row, column)] if _has(row.configuration, column) else []


def _line(figures: Mapping[str, str], column: str) -> str:
    if column == _LATENCY:
        return _LATENCY_ROW.format(**figures)
    return _WINDOWS_ROW.format(**figures, name=column, value=figures[column])


def _has(configuration: Configuration, column: str) -> bool:
    """Whether a program prints a configuration."""
    if column == _LATENCY:
        return is_pingpong(configuration)
    own, others = (_RATES, _BANDWIDTHS) if column == _RATE else (_BANDWIDTHS, _RATES)
    of = (configuration.size, configuration.window)
    fits = (configuration.size <= _LARGEST_OF_RATES) == (column == _RATE)
    return configuration.pattern == "stream" and (of in own or (fits and of not in others))


def _made(document: Document, row: Row, column: str) -> str:
    found = document.run.by_configuration[row.configuration]
    ns, iterations = mean(found), str(exchanges(found))
    size, window = row.configuration.size, row.configuration.window
    if column == _LATENCY:
        figures = {"Iterations": iterations, _SIZE: str(size), column: f"{ns / 1e9:.6f}"}
        return _line(figures, column)
    messages = 1e9 / ns if ns > 0 else 0.0
    value = messages if column == _RATE else messages * size
    figures = {_SIZE: str(size), _WINDOW: str(window), "Samps": iterations, column: f"{value:g}"}
    return _line(figures, column)


FORMAT = Format(
    "Dragon's channel benchmarks", _read, marks=(f"{_SIZE} = ",), begins=_BEGIN, joined=True
)

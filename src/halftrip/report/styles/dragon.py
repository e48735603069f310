"""As the channel benchmarks of Dragon print: ch_p2p_latency, ch_p2p_msg_rate, ch_p2p_bandwidth, by
both ends of each pair. Latencies are seconds one way, bandwidths are bytes per second."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from halftrip.analysis.rows import Row
from halftrip.report.document import Document
from halftrip.report.styles.figures import check_size, lacks, mean, measurements, printed
from halftrip.results.configuration import Configuration

TOOL = "dragon"
LATENCY, RATE, BANDWIDTH = "ch_p2p_latency", "ch_p2p_msg_rate", "ch_p2p_bandwidth"
_HOW = "halftrip run dragon, or with --pairs reciprocal"
# Sizes and windows of which these two programs print; what neither has is with the first up to the
# largest size of it.
_RATES = {(8, 64), (64, 64), (256, 64), (1 << 10, 64), (2 << 10, 64)}
_BANDWIDTHS = {(8, 64), (64, 48), (1 << 10, 32), (16 << 10, 32), (64 << 10, 32), (1 << 20, 16)}
_LARGEST_OF_RATES = 2 << 10


class _Program(NamedTuple):
    """A program: its name, the column that it alone has, whether it prints a row, and its line."""

    name: str
    column: str
    has: Callable[[Configuration], bool]
    line: Callable[[Document, Row], str]


def render(document: Document) -> str:
    """What each program prints at both ends of each pair. Raises UsageError for a run of which only
    one end has figures, and for one without a ping-pong or stream."""
    lines: list[str] = []
    for program in _PROGRAMS:
        lines += _of_program(document, program)
    if not lines:
        lacks(TOOL, "ping-pong or stream", _HOW)
    return "".join(f"{line}\n" for line in lines)


def _of_program(document: Document, program: _Program) -> list[str]:
    by_node: dict[int, list[str]] = {}
    for row in _in_order(document.rows):
        lines = _lines_of(document, row, program)
        if lines:
            check_size(row, TOOL)
        for line in lines:
            by_node.setdefault(row.configuration.pair[0], []).append(line)
    nodes = sorted(by_node)
    alone = [node for node in nodes if node ^ 1 not in by_node]
    if alone:
        lacks(TOOL, f"{program.name} of both ends, only of rank {alone[0]}", _HOW)
    lines = [f"{node}: Starting {program.name}" for node in nodes]
    for node in nodes:
        lines += [f"{node}-stdout: {line}" for line in by_node[node]]
        lines += [f"{node}: app exited with 0", f"{node}: Done"]
    return lines


def _in_order(rows: Sequence[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row.configuration.size, -row.configuration.window))


def _lines_of(document: Document, row: Row, program: _Program) -> list[str]:
    """The lines of a row that this program prints."""
    reported = printed(row, TOOL)
    if not reported:
        return [program.line(document, row)] if program.has(row.configuration) else []
    found = [each.figures for each in reported if program.column in each.figures]
    return [_line(figures, program.column) for figures in found]


def _line(figures: dict[str, str], column: str) -> str:
    said = [f"{name} = {value}" for name, value in figures.items()]
    if column == "Lat":
        return f"{' '.join(said[:2])}, {', '.join(said[2:])} seconds"
    return ", ".join(said)


def _is_latency(configuration: Configuration) -> bool:
    return configuration.pattern == "pingpong" and configuration.directions == 1


def _is_rate(configuration: Configuration) -> bool:
    of = (configuration.size, configuration.window)
    small = configuration.size <= _LARGEST_OF_RATES and of not in _BANDWIDTHS
    return configuration.pattern == "stream" and (of in _RATES or small)


def _is_bandwidth(configuration: Configuration) -> bool:
    of = (configuration.size, configuration.window)
    large = configuration.size > _LARGEST_OF_RATES and of not in _RATES
    return configuration.pattern == "stream" and (of in _BANDWIDTHS or large)


def _latency(document: Document, row: Row) -> str:
    found = measurements(document, row)
    values = {
        "Iterations": str(_iterations(row, document)),
        "MsgSize": str(row.configuration.size),
        "Lat": f"{mean(found) / 1e9:.6f}",
    }
    return _line(values, "Lat")


def _iterations(row: Row, document: Document) -> int:
    return sum(each.samples.size * each.iterations for each in measurements(document, row))


def _windows(column: str) -> Callable[[Document, Row], str]:
    def line(document: Document, row: Row) -> str:
        ns = mean(measurements(document, row))
        messages = 1e9 / ns if ns > 0 else 0.0
        value = messages if column == "Msg/Sec" else messages * row.configuration.size
        values = {
            "MsgSize": str(row.configuration.size),
            "WindowSize": str(row.configuration.window),
            "Samps": str(_iterations(row, document)),
            column: f"{value:g}",
        }
        return _line(values, column)

    return line


_PROGRAMS = (
    _Program(LATENCY, "Lat", _is_latency, _latency),
    _Program(RATE, "Msg/Sec", _is_rate, _windows("Msg/Sec")),
    _Program(BANDWIDTH, "Bandwidth", _is_bandwidth, _windows("Bandwidth")),
)

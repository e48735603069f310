"""A script for gnuplot, and its data: latency and throughput over size, with intervals and a line.

The line is t = s + r * size, the least squares of the latencies, each point with the same weight,
as Hpcbench fits it. It is fitted here; gnuplot draws it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from halftrip.analysis.rows import Row
from halftrip.errors import UsageError
from halftrip.export.names import settings
from halftrip.report.document import Document
from halftrip.results.configuration import Configuration
from halftrip.texts import printable
from halftrip.units import format_size
from halftrip.views import states

_COLUMNS = (
    *("size_bytes", "latency_us", "latency_low_us", "latency_high_us"),
    *("throughput_MB_per_s", "throughput_low_MB_per_s", "throughput_high_MB_per_s", "verdict"),
    "state",
)
# Pixels: of a line of the key, of a letter in it, and of the picture without the key.
_LINE = 20
_LETTER = 11
_HEIGHT = 760
_WIDTH = 900
# Of curves in turn: dark enough on white, and told apart without red and green.
_COLOURS = (
    *("#0072b2", "#d55e00", "#009e73", "#a04f86", "#b8860b", "#333333"),
    *("#56b4e9", "#8b0000", "#556b2f", "#6a3d9a"),
)
_MOST_TICKS = 12


class FittedLine(NamedTuple):
    """A line of times by size: the time of an empty message, us, and of a byte, us."""

    start: float
    per_byte: float


class _Curve(NamedTuple):
    name: str
    rows: Sequence[Row]

    @property
    def fit(self) -> FittedLine | None:
        return fitted([(row.configuration.size, row.summary.latency / 1e3) for row in self.rows])


def fitted(points: Sequence[tuple[int, float]]) -> FittedLine | None:
    """The line of least squares through points of size, bytes, and time, us; None of less than two
    sizes."""
    if len({size for size, _ in points}) < 2:
        return None
    sizes = np.array([size for size, _ in points], dtype=float)
    times = np.array([time for _, time in points])
    from_mean = sizes - sizes.mean()
    per_byte = float(from_mean @ (times - times.mean()) / (from_mean @ from_mean))
    return FittedLine(float(times.mean() - per_byte * sizes.mean()), per_byte)


def files(document: Document) -> Mapping[str, str]:
    """The script, which names its data and its picture as itself, and the data. Raises UsageError
    for a run without a size that logarithmic axes have."""
    curves = _curves(document)
    if not curves:
        raise UsageError("--to gnuplot: the run has no row with a size and a time above 0")
    blocks = [_block(number, curve) for number, curve in enumerate(curves)]
    held = states.held_most([row for curve in curves for row in curve.rows])
    head = f"# {held}\n" if held else ""
    return {".gnuplot": head + _script(curves), ".dat": head + "\n\n".join(blocks)}


def _curves(document: Document) -> list[_Curve]:
    groups: dict[Configuration, list[Row]] = {}
    for row in document.rows:
        if row.configuration.size_known and row.configuration.size > 0 and row.summary.latency > 0:
            groups.setdefault(row.configuration.curve, []).append(row)
    return [
        _Curve(_title(curve), sorted(rows, key=lambda row: row.configuration.size))
        for curve, rows in groups.items()
    ]


def _title(curve: Configuration) -> str:
    mode = [] if curve.mode == "blocking" else [curve.mode]
    said = [f"{name} {value}" for name, value in settings(curve)]
    return printable(", ".join([" ".join([curve.transport, curve.pattern, *mode]), *said]))


def _block(number: int, curve: _Curve) -> str:
    """The points of a curve, under comments."""
    lines = [f"# {number}: {curve.name}", f"# {' '.join(_COLUMNS)}"]
    lines += [" ".join(_cells(row)) for row in curve.rows]
    return "".join(f"{line}\n" for line in lines)


def _figures(row: Row) -> list[float]:
    """The latency, us, and the throughput, 10^6 bytes/s, each with the ends of its interval."""
    summary = row.summary
    throughputs = row.over_time(summary.bandwidth)
    return [*(time / 1e3 for time in summary.time), *(value / 1e6 for value in throughputs)]


def _cells(row: Row) -> list[str]:
    cells = ["NaN" if math.isnan(value) else f"{value:.9g}" for value in _figures(row)]
    state = "-" if row.state is None else re.sub(r"\s+", "_", row.state.word)
    return [str(row.configuration.size), *cells, row.verdict.word, state]


def _script(curves: Sequence[_Curve]) -> str:
    fits = [curve.fit for curve in curves]
    described = [
        *(
            f"t_{n}(x) = {fit.start:.9g} + {fit.per_byte:.9g} * x"
            for n, fit in enumerate(fits)
            if fit
        ),
    ]
    titles = [
        f"title_{n} = {_quoted(curve.name + _said(fit))}"
        for n, (curve, fit) in enumerate(zip(curves, fits, strict=True))
    ]
    points = [_figures(row) for curve in curves for row in curve.rows]
    least, longest = _limits(each for point in points for each in point[:3])
    lowest, most = _limits(each for point in points for each in point[3:])
    sizes = [row.configuration.size for curve in curves for row in curve.rows]
    smallest, largest = min(sizes), max(sizes)
    longest_title = max(
        len(curve.name + _said(fit)) for curve, fit in zip(curves, fits, strict=True)
    )
    key = "set key bottom center outside horizontal maxcols 1 Left reverse samplen 2"
    return "\n".join(
        [
            "# gnuplot NAME.gnuplot draws NAME.svg beside it, of NAME.dat;",
            "# gnuplot -e \"picture='NAME.png'\" NAME.gnuplot draws a PNG.",
            "# Lines are t = s + r * size, the least squares of the latencies, us and bytes.",
            "base = ARG0[1:strlen(ARG0) - strlen('.gnuplot')]",
            "if (!exists('picture')) picture = base.'.svg'",
            "data = base.'.dat'",
            f"width = {max(_WIDTH, _LETTER * longest_title + 100)}",
            f"height = {_HEIGHT + _LINE * len(curves)}",
            "if (picture[strlen(picture) - 3:] eq '.png') {",
            "    set terminal pngcairo noenhanced size width, height font ',11'",
            "} else {",
            "    set terminal svg noenhanced size width, height font 'sans,13' background 'white'",
            "}",
            "set output picture",
            *titles,
            *described,
            "set logscale xy",
            f"set xtics ({', '.join(_ticks(smallest, largest))})",
            f"set xrange [{smallest / 1.2:.6g}:{largest * 1.2:.6g}]",
            "set format y '%g'",
            "# An interval that reaches 0 ends at the edge of the picture.",
            f"least = {least:.6g}",
            f"most = {most:.6g}",
            "set grid linecolor rgb '#dddddd'",
            "set bars 0.5",
            f"key_height = {_LINE * len(curves) + 40}.0 / height",
            "middle = (1.0 + key_height) / 2",
            "set multiplot",
            "set lmargin 11",
            "set rmargin 4",
            "set size 1, 1 - middle",
            "set origin 0, middle",
            "set ylabel 'time of one message, one way, us'",
            "set title 'dashed: t = s + r * size, least squares of the times'",
            "unset key",
            f"set yrange [least:{longest:.6g}]",
            _plot(curves, fits, (2, "($3 <= 0 ? least : $3)", 4), "t_{}(x)"),
            "set size 1, middle",
            "set origin 0, 0",
            "unset title",
            f"set yrange [{lowest:.6g}:most]",
            # A second line, so that the key does not touch it.
            'set xlabel "message size, bytes (K = 1024)\\n "',
            "set ylabel 'throughput, one direction, 10^6 bytes/s'",
            key,
            _plot(curves, fits, (5, 6, "($3 <= 0 ? most : $7)"), "x / t_{}(x)"),
            "unset multiplot",
            "",
        ]
    )


def _limits(figures: Iterable[float]) -> tuple[float, float]:
    """Half of the least of these figures that a logarithmic axis has, and twice the greatest; NaN
    is none."""
    found = [each for each in figures if 0 < each < math.inf]
    return min(found, default=1.0) / 2, max(found, default=1.0) * 2


def _ticks(smallest: int, largest: int) -> list[str]:
    """Sizes that are powers of two, not too many, with K, M and G as in tables."""
    powers = range(smallest.bit_length() - 1, largest.bit_length() + 1)
    step = max(1, -(-len(powers) // _MOST_TICKS))
    return [f"'{format_size(1 << power)}' {1 << power}" for power in powers[::step]]


def _said(fit: FittedLine | None) -> str:
    if fit is None:
        return ""
    return f"  (line: {fit.start:.3g} us + {fit.per_byte * 1e3:.3g} ns/byte)"


def _plot(
    curves: Sequence[_Curve],
    fits: Sequence[FittedLine | None],
    columns: tuple[int, int | str, int | str],
    line: str,
) -> str:
    value, low, high = columns
    parts = []
    for n, fit in enumerate(fits):
        colour = f"linecolor rgb '{_COLOURS[n % len(_COLOURS)]}'"
        style = f"{colour} pointtype {n % 15 + 1} pointsize 0.6"
        index = f"data index {n} using"
        parts.append(f"{index} 1:{value} with linespoints {style} title title_{n}")
        parts.append(f"{index} 1:{value}:{low}:{high} with yerrorbars {style} notitle")
        if fit is not None:
            # Where it is not above 0, a logarithmic axis has no place for it.
            first, last = (curves[n].rows[end].configuration.size for end in (0, -1))
            parts.append(
                f"[{first}:{last}] {line.format(n)} with lines {colour} dashtype 2 notitle"
            )
    return "plot " + ", \\\n    ".join(parts)


def _quoted(text: str) -> str:
    """A string that gnuplot neither executes nor expands. Quotes are in strings of their own: it
    takes one that begins with a doubled quote for an empty one."""
    return "'" + text.replace("'", "'.\"'\".'") + "'"

"""Charts in a terminal, drawn by plotext."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import plotext

from halftrip.plots.chart import BYTES, LEAST_RANGE, Bar, Bars, Chart, Curve, Drawing, Grid
from halftrip.render.terminal import wrapped
from halftrip.stats.quantile import Floats
from halftrip.units import format_size, significant

_HEIGHT = 20
# The characters of curves; of more, these come again.
_MARKERS = "ox+*#@%&=~"
_TICKS = 8
_FEW_DECADES = 4
# From usual to slow, a character for a field of a heat map, by the position between both.
_SHADES = " .:-=+*#%@"
# The units that have prefixes, and these.
_WITH_PREFIX = ("s", "B/s", "/s")
_PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "u"), (1e-9, "n"))


def render(charts: Sequence[Chart], width: int) -> str:
    """The charts in lines of `width` columns, without colours: curves are told apart by their
    characters."""
    parts = []
    for chart in charts:
        said = [line for each in (chart.title, *chart.lines) for line in wrapped("", each, width)]
        parts.append("\n".join([*said, _drawn(chart, width)]))
    return "\n\n".join(parts) + "\n"


def _drawn(chart: Chart, width: int) -> str:
    if isinstance(chart.drawing, Grid):
        return _grid(chart.drawing, width)
    if isinstance(chart.drawing, Bars):
        return _bars(chart.drawing, width)
    return _curves(chart.drawing, width)


# Curves.


def _curves(drawing: Drawing, width: int) -> str:
    figure = plotext.figure
    figure.clear()
    figure.plot_size(width, _HEIGHT)
    for number, curve in enumerate(drawing.curves):
        for x, y in _pieces(curve, drawing):
            signal = figure.signal(x, y, marker=_MARKERS[number % len(_MARKERS)])
            figure.draw(signal.lines(len(x) > 1 and not drawing.points))
    for axis, unit, is_log in (
        ("x", drawing.x, drawing.x_is_log),
        ("y", drawing.y, drawing.y_is_log),
    ):
        every = [value for curve in drawing.curves for value in getattr(curve, axis)]
        ticks = _ticks([each for each in every if _fits(each, is_log)], is_log, unit == BYTES)
        if ticks:
            figure.ruler(axis).ticks(
                [_place(each, is_log) for each in ticks], [_label(each, unit) for each in ticks]
            )
    built = str(figure.build().string(colorless=True)).rstrip("\n")
    named = [
        f"{_MARKERS[number % len(_MARKERS)]} {curve.name}"
        for number, curve in enumerate(drawing.curves)
    ]
    legend = [f"across: {drawing.x}, up: {drawing.y}; {', '.join(named)}"]
    return "\n".join([built, *(line for each in legend for line in wrapped("", each, width))])


def _fits(value: float, is_log: bool) -> bool:
    return math.isfinite(value) and (value > 0 or not is_log)


def _place(value: float, is_log: bool) -> float:
    return math.log10(value) if is_log else value


def _pieces(curve: Curve, drawing: Drawing) -> list[tuple[list[float], list[float]]]:
    """The stretches of a curve that are joined."""
    found: list[tuple[list[float], list[float]]] = [([], [])]
    for x, y in zip(curve.x, curve.y, strict=True):
        if _fits(x, drawing.x_is_log) and _fits(y, drawing.y_is_log):
            found[-1][0].append(_place(x, drawing.x_is_log))
            found[-1][1].append(_place(y, drawing.y_is_log))
        elif found[-1][0]:
            found.append(([], []))
    return [piece for piece in found if piece[0]]


def _ticks(values: Sequence[float], is_log: bool, is_binary: bool) -> list[float]:
    if not values:
        return []
    low, high = min(values), max(values)
    if not is_log:
        step = (high - low) / _TICKS
        return [low + n * step for n in range(_TICKS + 1)] if step > 0 else [low]
    if is_binary:
        found = [2.0**power for power in range(math.floor(math.log2(low)), 64)]
    else:
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        found = [10.0**power for power in decades]
        if len(found) <= _FEW_DECADES:
            found = [step * decade for decade in found for step in (1, 2, 5)]
    inside = [each for each in found if low <= each <= high]
    return inside[:: math.ceil(len(inside) / _TICKS)] if inside else [low]


def _label(value: float, unit: str) -> str:
    if unit == BYTES:
        return format_size(int(value)) if value >= 1 else "0"
    if unit not in _WITH_PREFIX:
        return _short(value)
    for scale, prefix in _PREFIXES:
        if abs(value) >= 0.999 * scale:
            return f"{_short(value / scale)} {prefix}{unit}"
    return f"0 {unit}"


def _short(value: float) -> str:
    text = significant(value, 3)
    return text.rstrip("0").rstrip(".") if "." in text else text


# Bars.


def _bars(drawing: Bars, width: int) -> str:
    """A line for each bar, or point, with the ends of its interval, and its figure behind."""
    foot = drawing.foot
    values = [each.value for each in drawing.bars] + ([] if foot is None else [foot])
    values += [end for each in drawing.bars for end in (each.low, each.high) if end is not None]
    if foot is None:
        values = [math.log(value) for value in values if value > 0]
    low, high = min(values), max(values)
    longest = min(max(len(each.name) for each in drawing.bars), width // 2)
    room = max(width - longest - max(len(each.text) for each in drawing.bars) - 4, 1)

    def column(value: float) -> int:
        if foot is None:
            value = math.log(value) if value > 0 else low
        return round((value - low) / (high - low) * (room - 1)) if high > low else 0

    def line(each: Bar) -> str:
        cells = [" "] * room
        if foot is not None:
            first, last = sorted((column(foot), column(each.value)))
            cells[first : last + 1] = "#" * (last + 1 - first)
        if each.low is not None and each.high is not None:
            first, last = column(each.low), column(each.high)
            cells[first : last + 1] = "-" * (last + 1 - first)
            cells[first] = "<" if each.is_open[0] else "|"
            cells[last] = ">" if each.is_open[1] else "|"
        if foot is None:
            cells[column(each.value)] = "o"
        return f"{each.name[:longest]:{longest}}  {''.join(cells)}  {each.text}"

    legend = "o: the figure, on a logarithmic axis" if foot is None else f"#: from {foot:g}"
    if any(each.low is not None for each in drawing.bars):
        legend += "; |: the ends of the 95 % interval, where there is one"
    if any(any(each.is_open) for each in drawing.bars):
        legend += "; < and >: it goes on"
    return "\n".join([*map(line, drawing.bars), *wrapped("", legend, width)])


# Heat maps.


def _grid(grid: Grid, width: int) -> str:
    """A character for each field; of more fields than there is room for, several share one, which
    is that of the slowest."""
    values = np.array(grid.values)
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if known.size else (1.0, 1.0)
    high = max(high, LEAST_RANGE * low)
    longest = min(max(map(len, grid.names)), width // 2)
    room = max(width - longest - 2 - len(grid.breaks), 1)
    step = -(-values.shape[1] // room)
    breaks = {each // step for each in grid.breaks}

    def shade(fields: Floats) -> str:
        found = fields[np.isfinite(fields)]
        if not found.size:
            return "/" if np.isinf(fields).any() else " "
        position = (float(found.max()) - low) / (high - low)
        return _SHADES[round(position * (len(_SHADES) - 1))] if position > 0 else "."

    lines = []
    for number, first in enumerate(range(0, len(values), step)):
        cells = [
            shade(values[first : first + step, column : column + step])
            for column in range(0, values.shape[1], step)
        ]
        for place in sorted(breaks, reverse=True):
            cells.insert(place, "|")
        line = f"{grid.names[first][:longest]:{longest}}  {''.join(cells)}"
        if number in breaks:
            lines.append(" " * (longest + 2) + "-" * len(cells))
        lines.append(line)
    said = f"from . ({low:.2f} times as slow as the median pair) to @ ({high:.2f}); / no answer"
    if step > 1:
        said += f"; each character is the slowest of {step} x {step} pairs"
    return "\n".join([*lines, *wrapped("", said, width)])

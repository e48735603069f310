"""The parameters of LogGP, in lines and in JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from halftrip.analysis.figure import ALWAYS, MORE
from halftrip.analysis.layers import ONE_WAY_OF
from halftrip.analysis.loggp import MISFIT, LogGPFit, Overheads, Parameter
from halftrip.analysis.setting_figures import curve_fields
from halftrip.render.blocks import SPACE, Block, Column, Items, Legend, table
from halftrip.report.numbers import with_interval
from halftrip.results.configuration import Configuration
from halftrip.results.names import Names
from halftrip.stats.estimate import Estimate
from halftrip.units import format_size, significant, size_name
from halftrip.views.estimates import (
    NOT_TOLD,
    estimate_column,
    estimate_fields,
    finite,
    interval_lines,
    is_told,
    namer,
    reason_lines,
)
from halftrip.views.layers import two_ways

_SAYS = (
    "LogGP: s bytes take o_s + L + (s - 1) G + o_r one way; o_s, o_r: how long the sender and the "
    "receiver are busy, told by delays that hide all else; messages begin g + (s - 1) G apart. "
    "Culler et al. 1996, Hoefler et al. 2007."
)


def blocks(fits: Sequence[LogGPFit], names: Names) -> list[Block]:
    """The parameters of each path, its overheads by size, and why some are missing."""
    named = namer([fit.path for fit in fits], names)
    told = [fit for fit in fits if fit.overheads or fit.gap.estimate]
    found: list[Block] = []
    if told:
        each = [(fit, shown) for fit in told for shown in _parameters(fit)]
        one_by_one = table(each, _narrow_columns(named), section=lambda line: line[0].path)
        made = table(told, _parameter_columns(named, told[0])).titled("LogGP")
        found.append(made._replace(instead=[one_by_one]))
    sized = [(fit, each) for fit in fits for each in fit.overheads if len(fit.overheads) > 1]
    if sized:
        made = table(sized, _overhead_columns(named), section=lambda line: line[0].path)
        found += [SPACE, made.titled("Overheads of LogGP")]
    reasons = [
        (named(fit.path), name, figure.reason)
        for fit in fits
        for name, figure in _figures(fit)
        if figure.reason
    ]
    if reasons:
        found += [SPACE, Items(reason_lines(reasons))]
    said = [note for fit in told for note in _notes(fit, named(fit.path))]
    if said:
        found += [SPACE, Items(said)]
    return [*found, Legend([_SAYS, *interval_lines(told)])] if told else found


def _figures(fit: LogGPFit) -> list[tuple[str, Parameter]]:
    """The parameters that may be missing, by name."""
    found = [("L", fit.latency), ("g", fit.gap), ("G", fit.per_byte)]
    if not fit.overheads:
        return [*found, ("o_s", fit.latency), ("o_r", fit.latency)]
    for each in fit.overheads:
        size = size_name(each.size)
        found += [(f"o_s of {size}", each.send), (f"o_r of {size}", each.receive)]
    return found


class _Shown(NamedTuple):
    """A parameter of a path: its name, the unit in which it is shown, so many base units, its
    figure, and what it cannot exceed (None: not known)."""

    name: str
    unit: str
    scale: float
    estimate: Estimate | None
    most: float | None


def _parameters(fit: LogGPFit) -> list[_Shown]:
    """All of a path. What a message of a size takes is no less than any of its parts."""
    halves = {each.size: each.half.value for each in fit.overheads if each.half is not None}
    first, last = (f(halves, default=0) for f in (min, max))
    half = halves.get(first)
    ends = fit.smallest
    return [
        _Shown("L", "us", 1e3, fit.latency.estimate, halves.get(fit.size or 0, half)),
        _Shown("o_s", "us", 1e3, None if ends is None else ends.send.estimate, half),
        _Shown("o_r", "us", 1e3, None if ends is None else ends.receive.estimate, half),
        _Shown("g", "us", 1e3, fit.gap.estimate, half),
        _Shown("G", "ns/B", 1.0, fit.per_byte.estimate, halves[last] / last if last else None),
    ]


def _parameter_columns(named: Callable[[Configuration], str], fit: LogGPFit) -> list[Column]:
    def column(place: int, name: str, unit: str, scale: float) -> Column:
        def shown(fit: LogGPFit) -> _Shown:
            return _parameters(fit)[place]

        estimate, most = (lambda fit: shown(fit).estimate), (lambda fit: shown(fit).most)
        return estimate_column(name, unit, estimate, scale, most=most)

    return [
        Column("path", "", lambda fit: named(fit.path), True, rank=ALWAYS),
        *(
            column(place, name, unit, scale)
            for place, (name, unit, scale, *_) in enumerate(_parameters(fit))
        ),
    ]


def _narrow_columns(named: Callable[[Configuration], str]) -> list[Column]:
    """A line for each parameter of each path."""

    def text(line: tuple[LogGPFit, _Shown]) -> str:
        _, shown = line
        told = is_told(shown.estimate, shown.most)
        return with_interval(shown.estimate, shown.scale) if told else NOT_TOLD

    return [
        Column("path", "", lambda line: named(line[0].path), True, rank=ALWAYS),
        Column("", "", lambda line: line[1].name, True, rank=ALWAYS),
        Column("figure", "", text, True, rank=ALWAYS),
        Column("unit", "", lambda line: line[1].unit, True, rank=ALWAYS),
    ]


def _half(of: Overheads) -> float | None:
    return None if of.half is None else of.half.value


def _overhead_columns(named: Callable[[Configuration], str]) -> list[Column]:
    def end(name: str, of: Callable[[Overheads], Parameter]) -> Column:
        return estimate_column(
            name, "us", lambda line: of(line[1]).estimate, 1e3, most=lambda line: _half(line[1])
        )

    return [
        Column("path", "", lambda line: named(line[0].path), True, rank=ALWAYS),
        Column("size", "bytes", lambda line: format_size(line[1].size), rank=ALWAYS),
        end("o_s", lambda each: each.send),
        end("o_r", lambda each: each.receive),
        estimate_column("half a round trip", "us", lambda line: line[1].half, 1e3, MORE),
        estimate_column("by LogGP", "us", lambda line: line[1].predicted.estimate, 1e3, MORE),
    ]


def _notes(fit: LogGPFit, name: str) -> list[str]:
    """Where the model does not fit."""
    found = [two_ways(fit.path.transport)] if fit.path.transport in ONE_WAY_OF else []
    untold = [each.name for each in _parameters(fit) if not is_told(each.estimate, each.most)]
    untold += [
        f"{end} of {size_name(each.size)}"
        for each in fit.overheads[1:]
        for end, of in (("o_s", each.send), ("o_r", each.receive))
        if not is_told(of.estimate, _half(each))
    ]
    if untold:
        found.append(
            f"{name}: {', '.join(untold)} {NOT_TOLD}: the interval holds all from 0 to what a "
            "message takes; measure longer, as with --time 1s, or where nobody else has the cores."
        )
    if fit.misfit is not None and fit.misfit_at is not None and fit.misfit > MISFIT:
        off = significant(fit.misfit, 2) if math.isfinite(fit.misfit) else "many"
        found.append(
            f"{name}: the time between messages is no straight line of their size: at "
            f"{size_name(fit.misfit_at)} it is off by a factor of {off}, so that g and G are "
            "known poorly; fit a smaller range of sizes (-s)."
        )
    below = [
        format_size(each.size)
        for each in fit.overheads
        if each.receive.estimate is not None and each.receive.estimate.high < 0
    ]
    if below:
        found.append(
            f"{name}: o_r of {', '.join(below)} is below 0: a send took longer between two sends "
            "than in a ping-pong, which LogGP does not have."
        )
    latency = fit.latency.estimate
    if latency is None or "L" in untold:
        return found
    if not latency.is_apart_from(0.0):
        found.append(
            f"{name}: L cannot be told from 0: as far as they are known, the overheads are all of "
            "the time; measure longer, as with --time 1s, to know more."
        )
    elif latency.value < 0:
        found.append(
            f"{name}: L is below 0: part of the overheads overlaps with the transfer, which LogGP "
            "does not have."
        )
    return found


def content(fits: Sequence[LogGPFit]) -> list[dict[str, Any]]:
    """The parameters as objects for JSON; names end in units."""
    return [
        {
            **curve_fields(fit.path),
            "over": fit.over,
            "latency_size_bytes": fit.size,
            **_figure_fields("L", "ns", fit.latency),
            **_figure_fields("g", "ns", fit.gap),
            **_figure_fields("G", "ns_per_byte", fit.per_byte),
            "window": fit.window,
            "misfit": finite(fit.misfit),
            "misfit_size_bytes": fit.misfit_at,
            "overheads": [
                {
                    "size_bytes": each.size,
                    "delay_ns": each.delay,
                    **_figure_fields("o_s", "ns", each.send),
                    **_figure_fields("o_r", "ns", each.receive),
                    **_figure_fields("both", "ns", each.both),
                    **estimate_fields("half_round_trip", "ns", each.half),
                    **_figure_fields("predicted", "ns", each.predicted),
                }
                for each in fit.overheads
            ],
        }
        for fit in fits
    ]


def _figure_fields(name: str, unit: str, figure: Parameter) -> dict[str, Any]:
    reason = figure.reason or None
    return {**estimate_fields(name, unit, figure.estimate), f"{name}_reason": reason}

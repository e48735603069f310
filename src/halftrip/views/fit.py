"""The models of the curves of a run: the answer, and a table for each model."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from halftrip.analysis.figure import ALWAYS, BRIEF, as_written
from halftrip.analysis.fit import Bend, CurveFit, Hockney, Piece, Pieces, StraightLine
from halftrip.analysis.flags.flag import counted
from halftrip.analysis.setting_figures import curve_fields
from halftrip.render.blocks import (
    SPACE,
    Block,
    Column,
    Items,
    Legend,
    Paragraph,
    table,
)
from halftrip.report.fields import common, curve_name, varying
from halftrip.report.numbers import NOTHING, number, with_interval
from halftrip.results.names import Names
from halftrip.stats.estimate import Estimate
from halftrip.units import format_size, significant, size_name
from halftrip.views.columns import TRANSPORT, setting_column
from halftrip.views.estimates import estimate_column, estimate_fields
from halftrip.views.states import of_curve

# A residual is a share that is known to so many digits after the point.
_OFF_DIGITS = 6
# Of more curves, the answer counts.
_MOST_SENTENCES = 4
# Of more sizes than these it is said how many there are.
_MOST_SIZES = 8
_OVER = {
    "launches": "by bootstrap over launches",
    "slices": (
        "by bootstrap over the slices of one launch; --launches 5 measures what fresh processes "
        "differ by"
    ),
    "residuals": "by distances from the line, as nothing was repeated",
}
_OF_LINES = [
    (
        "one line: t = s + n / B; n-half: s B, where half of B is reached (not told: anywhere up "
        "to the largest size); off: the time less the line's, at the size where it is worst."
    ),
    (
        "ordinary: every ns counts alike; relative: every per cent; robust: as relative, and "
        "points that are far off count less."
    ),
]
_OF_PIECES = [
    (
        "pieces: straight lines, t = s + n / B, each from its first to its last measured size; s "
        "of a later piece is where its line would begin."
    ),
]
_OF_BENDS = ["jump: how much longer a message just above it takes; slope: the lines meet there."]


def blocks(fits: Sequence[CurveFit], names: Names, models: Sequence[str]) -> list[Block]:
    """The answer, and the tables of these models (hockney, piecewise)."""
    fitted = [each for each in fits if each.pieces is not None]
    found: list[Block] = [Items(answer(fits, names))]
    if fitted:
        configurations = [each.configuration for each in fitted]
        simulated = all(each.is_simulated for each in configurations)
        heading = ", ".join(common(configurations, simulated, brief=True))
        if heading:
            found += [SPACE, Paragraph(heading)]
        if "hockney" in models:
            lines = [_Of(fit, line) for fit in fitted for line in fit.lines]
            found += _section("Lines", lines, _line_columns(fitted), _OF_LINES)
        if "piecewise" in models:
            pieces = [
                _Of(fit, piece, place)
                for fit in fitted
                for place, piece in enumerate(_pieces(fit).pieces, start=1)
            ]
            found += _section("Pieces", pieces, _piece_columns(fitted), _OF_PIECES)
            bends = [_Of(fit, bend) for fit in fitted for bend in _pieces(fit).bends]
            found += _section("Bends", bends, _bend_columns(fitted), _OF_BENDS)
        over = {each.curve.times.over: None for each in fitted if each.curve.times}
        found.append(Legend([f"in brackets: 95 % interval, {_OVER[each]}." for each in over]))
    return found


def _section(
    title: str, lines: Sequence[_Of], columns: Sequence[Column], legend: Sequence[str]
) -> list[Block]:
    """An empty line, the table, and what it means; nothing without lines."""
    if not lines:
        return []
    shown = table(lines, columns, section=lambda line: line.fit.configuration)
    return [SPACE, shown.titled(title), Legend(legend)]


# The answer.


def answer(fits: Sequence[CurveFit], names: Names) -> list[str]:
    """What the curves are made of, and which could not be fitted: a line each, or counts."""
    fitted = [each for each in fits if each.pieces is not None]
    fields = varying(each.configuration for each in fits)
    lines = []
    if len(fitted) > _MOST_SENTENCES:
        lines += _counts(fitted)
    else:
        lines += [
            f"{curve_name(each.configuration, fields, names)}: {_made_of(each)}" for each in fitted
        ]
    reasons: dict[str, list[CurveFit]] = {}
    for each in fits:
        if each.curve.reason is not None:
            reasons.setdefault(each.curve.reason, []).append(each)
    for reason, those in reasons.items():
        whose = curve_name(those[0].configuration, fields, names)
        if len(those) > 1:
            whose = counted(len(those), "curve")
        lines.append(f"{whose}: no fit: {reason}")
    left = sorted({size for each in fitted for size in each.curve.left_out})
    if left:
        lines.append(f"left out, without a time above 0: {sizes_in_words(left)}")
    return [*lines, *dict.fromkeys(said for each in fitted if (said := of_curve(each.curve)))]


def _made_of(fit: CurveFit) -> str:
    pieces = _pieces(fit)
    line = next((each for each in fit.lines if each.method == "relative"), None)
    if pieces.unclear is not None:
        said = f"no bend can be told; {pieces.unclear}"
    elif not pieces.bends:
        said = "straight; no bend"
    else:
        bends = ", ".join(map(bend_in_words, pieces.bends))
        said = f"{counted(len(pieces.pieces), 'straight piece')}: {bends}"
    if pieces.bends and line is not None and line.unfit is not None:
        said += f"; a single line is off by {_share(line.worst.share)} at "
        said += size_name(line.worst.size)
    if pieces.outliers:
        said += f"; on no piece: {sizes_in_words(pieces.outliers)}"
    return said


def sizes_in_words(sizes: Sequence[int], name: Callable[[int], str] = size_name) -> str:
    """These sizes, bytes, or, of many, how many and from where to where."""
    if len(sizes) <= _MOST_SIZES:
        return ", ".join(map(name, sizes))
    return f"{len(sizes):,} sizes from {name(min(sizes))} to {name(max(sizes))}"


def bend_in_words(bend: Bend) -> str:
    """Where a bend is, and what happens there: ``jump to 1.34 times between 4K and 8K``."""
    what = "bend"
    if bend.kind == "jump":
        known = not math.isnan(bend.step.low)
        what = f"jump to {significant(bend.step.value, 3)} times" if known else "jump"
    return f"{what} between {size_name(bend.low)} and {size_name(bend.high)}"


def _counts(fits: Sequence[CurveFit]) -> list[str]:
    bent = sum(bool(_pieces(each).bends) for each in fits)
    unclear = sum(_pieces(each).unclear is not None for each in fits)
    straight = len(fits) - bent - unclear
    said = [f"{counted(len(fits), 'curve')}: {straight} straight, {bent} bend"]
    said[0] += f", {unclear} cannot be told" if unclear else ""
    places = Counter((bend.low, bend.high) for each in fits for bend in _pieces(each).bends)
    if places:
        (low, high), count = places.most_common(1)[0]
        said.append(f"most often between {size_name(low)} and {size_name(high)}: {count}")
    return ["; ".join(said)]


def _pieces(fit: CurveFit) -> Pieces:
    assert fit.pieces is not None
    return fit.pieces


def _share(share: float) -> str:
    return f"{significant(100 * share, 2)} %"


# The tables.


class _Of(NamedTuple):
    """A line of a table: what it is of, and the curve."""

    fit: CurveFit
    what: Any
    number: int = 0


def _of_curve(fits: Iterable[CurveFit]) -> list[Column]:
    """The columns that say which curve it is."""
    fields = [TRANSPORT, *varying(each.configuration for each in fits)]
    return [setting_column(field, lambda line: line.fit.configuration) for field in fields]


def _line_columns(fits: Sequence[CurveFit]) -> list[Column]:
    return [
        *_of_curve(fits),
        Column("one line", "", lambda line: line.what.method, True, rank=ALWAYS),
        *_of_a_line(lambda line: line.what.line),
        estimate_column(
            "n-half", "bytes", lambda line: line.what.n_half, 1.0, BRIEF, _bytes, _largest
        ),
        Column("off", "%", lambda line: _off(line.what), rank=ALWAYS),
        Column("at", "bytes", lambda line: _worst(line.what), rank=BRIEF),
        Column("", "", lambda line: "fits" if line.what.unfit is None else "unfit", True,
               rank=ALWAYS, key="fits"),
    ]  # fmt: skip


def _largest(line: _Of) -> float:
    assert line.fit.curve.times is not None
    return float(line.fit.curve.times.sizes[-1])


def _off(line: Hockney) -> str:
    # Rounding is no distance; nor has 0 a sign.
    return number(round(line.worst.share, _OFF_DIGITS) + 0.0, 2, 0.01)


def _worst(line: Hockney) -> str:
    return NOTHING if math.isnan(line.worst.share) else format_size(line.worst.size)


def _of_a_line(of: Callable[[_Of], StraightLine]) -> list[Column]:
    return [
        estimate_column("s", "us", lambda line: of(line).start, 1e3, text=_figure),
        estimate_column("B", "MB/s", lambda line: of(line).bandwidth, 1e6, text=_figure),
    ]


def _piece_columns(fits: Sequence[CurveFit]) -> list[Column]:
    return [
        *_of_curve(fits),
        Column("piece", "", lambda line: str(line.number), rank=ALWAYS),
        Column("from", "bytes", lambda line: format_size(line.what.first), rank=ALWAYS),
        Column("to", "bytes", lambda line: format_size(line.what.last), rank=ALWAYS),
        *_of_a_line(lambda line: line.what.line),
    ]


def _bend_columns(fits: Sequence[CurveFit]) -> list[Column]:
    return [
        *_of_curve(fits),
        Column("bend", "", lambda line: line.what.kind, True, rank=ALWAYS),
        Column("after", "bytes", lambda line: format_size(line.what.low), rank=ALWAYS),
        Column("by", "bytes", lambda line: format_size(line.what.high), rank=ALWAYS),
        Column("time", "times", lambda line: _step(line.what), True, rank=ALWAYS),
    ]


def _step(bend: Bend) -> str:
    return _figure(bend.step, 1.0) if bend.kind == "jump" else ""


def _figure(found: Estimate | None, scale: float) -> str:
    """A figure and its interval; without one it says nothing."""
    if found is None or math.isnan(found.low) or math.isnan(found.value):
        return NOTHING
    if math.isinf(found.value):
        return f"over {significant(found.low / scale, 3)}" if found.low < math.inf else NOTHING
    return with_interval(found, scale)


def _bytes(found: Estimate | None, _: float) -> str:
    assert found is not None
    # A line that starts below 0 never has half of its bandwidth.
    if math.isnan(found.low) or found.value < 0:
        return NOTHING
    value, low, high = (f"{each:,.0f}" for each in found)
    return f"{value} [{low}, {high}]"


# For programs.


def content(fits: Sequence[CurveFit], models: Sequence[str]) -> list[dict[str, Any]]:
    """The fits of each curve as one object."""
    found = []
    for fit in fits:
        times, pieces = fit.curve.times, fit.pieces
        curve: dict[str, Any] = {
            **curve_fields(fit.configuration),
            "reason": fit.curve.reason,
            "left_out_sizes_bytes": list(fit.curve.left_out),
            "state": None if fit.curve.state is None else fit.curve.state.word,
            "sizes_in_other_states": fit.curve.elsewhere,
            "over": None if times is None else times.over,
        }
        if "hockney" in models:
            curve["hockney"] = [_line_fields(line) for line in fit.lines]
        if "piecewise" in models:
            curve["pieces"] = [] if pieces is None else list(map(_piece_fields, pieces.pieces))
            curve["bends"] = [] if pieces is None else list(map(_bend_fields, pieces.bends))
            curve["unclear"] = None if pieces is None else pieces.unclear
            curve["outlier_sizes_bytes"] = [] if pieces is None else list(pieces.outliers)
        found.append(curve)
    return found


def _known(found: Estimate) -> Estimate | None:
    """A figure; without an interval it is not known."""
    return None if math.isnan(found.low) else found


def _of_line(line: StraightLine) -> dict[str, float | None]:
    return {
        **estimate_fields("start", "ns", _known(line.start)),
        **estimate_fields("per_byte", "ns", _known(line.per_byte)),
        **estimate_fields("bandwidth", "bytes_per_s", _known(line.bandwidth)),
    }


def _line_fields(line: Hockney) -> dict[str, Any]:
    return {
        "method": line.method,
        **_of_line(line.line),
        **estimate_fields(
            "n_half", "bytes", _known(line.n_half) if line.n_half.value >= 0 else None
        ),
        "worst_residual_share": as_written(line.worst.share),
        "worst_residual_size_bytes": None if math.isnan(line.worst.share) else line.worst.size,
        "typical_residual_share": as_written(line.typical),
        "unfit": line.unfit,
        "launches": [
            {"start_ns": start, "per_byte_ns": per_byte} for start, per_byte in line.by_launch
        ],
    }


def _piece_fields(piece: Piece) -> dict[str, Any]:
    return {
        "first_size_bytes": piece.first,
        "last_size_bytes": piece.last,
        **_of_line(piece.line),
    }


def _bend_fields(bend: Bend) -> dict[str, Any]:
    kind = "time_ratio" if bend.kind == "jump" else "per_byte_ratio"
    return {
        "low_size_bytes": bend.low,
        "high_size_bytes": bend.high,
        "kind": bend.kind,
        **estimate_fields(kind, "", _known(bend.step)),
    }

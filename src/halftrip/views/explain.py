"""Why the curves of a run bend: each bend, and its causes, in words and as values for programs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from halftrip.analysis.bend_causes import BendCauses, Candidate, CurveCauses, bend_at
from halftrip.analysis.bend_kinds import KINDS
from halftrip.analysis.figure import as_written
from halftrip.analysis.fit import Bend, StraightLine
from halftrip.analysis.states import State
from halftrip.registry import TRANSPORTS
from halftrip.render.blocks import SPACE, Block, Items, Paragraph, View
from halftrip.report.fields import FIELDS, Field, curve_name, varying_within_patterns
from halftrip.report.numbers import factor_texts, in_words
from halftrip.results.configuration import Configuration
from halftrip.results.names import Names
from halftrip.results.run import Run
from halftrip.results.threshold import Threshold
from halftrip.stats.estimate import Estimate, inverse
from halftrip.units import significant, size_in_words
from halftrip.views import single_copies
from halftrip.views.fit import sizes_in_words
from halftrip.views.states import of_curve

NO_THRESHOLDS = (
    "The run has no thresholds: it was imported, or measured by a halftrip that did not record "
    "them. Measure it again to have causes named."
)
_NOTHING = "Nothing that is known of this run has a threshold there."
_REFINE = "To know the place better, measure with --refine"
_UNKNOWN = (
    _NOTHING,
    f"{_REFINE}; what was not recorded, such as a switch on the way, is not excluded.",
)
_NOT_NEARER = "No known cause lies nearer than chance would put one."
_PROVE = "--prove measures whether it moves with a setting that has a threshold there."
# --refine makes sizes around a bend about as near as this factor.
_REFINED = 1.02
# From this factor on, a step is said as one.
_TIMES = 2.0
# Sizes of which the larger is at most this many times the smaller are both said in bytes.
_NEAR = 8


def explain(run: Run, found: Sequence[CurveCauses], at: int | None = None) -> View:
    """Each bend of these curves of a run in two sentences. With `at`, bytes, only the bend nearest
    to that size is shown of each."""
    named = [*zip(curve_names([each.fit.curve for each in found], run.names), found, strict=True)]
    blocks: list[Block] = []
    if not any(each.knows for each in found):
        blocks += [Paragraph(NO_THRESHOLDS, style="yellow"), SPACE]
    named.sort(key=lambda each: (*_place(each[1].fit.curve), each[0]))
    paragraphs = {name: _said(name, each, at) for name, each in named if each.fit.found is not None}
    shared = _shared(paragraphs)
    for lines in paragraphs.values():
        blocks += [*(Paragraph(line.text_beside(shared)) for line in lines), SPACE]
    if shared:
        blocks += [Items([*shared.values()]), SPACE]
    measured = [each.fit.measured for _, each in named if each.fit.measured is not None]
    if states := dict.fromkeys(said for each in measured if (said := of_curve(each))):
        blocks += [Items([*states]), SPACE]
    if copies := [single_copies.sentence(name, each.copy) for name, each in named if each.copy]:
        blocks += [Items(copies), SPACE]
    if skipped := _skipped(named):
        blocks += [Items(skipped), SPACE]
    return View(
        blocks[:-1],
        lambda: {"curves": [_curve_content(name, each, at) for name, each in named]},
        lambda: [record for name, each in named for record in _records(name, each, at)],
        "Why curves bend",
    )


def _place(curve: Configuration) -> tuple[Any, ...]:
    """Where a curve stands, whatever the order in which it was measured."""
    return (*TRANSPORTS.place(curve.transport), curve.pattern)


def _skipped(named: Iterable[tuple[str, CurveCauses]]) -> list[str]:
    """The curves that no lines were fitted to: a line for each reason."""
    by_reason: dict[str, list[str]] = {}
    for name, each in named:
        if each.fit.found is None:
            by_reason.setdefault(each.fit.reason or "no fit", []).append(name)
    return [f"left out: {', '.join(names)}: {reason}" for reason, names in by_reason.items()]


def _records(name: str, found: CurveCauses, at: int | None) -> list[dict[str, Any]]:
    """A record for each bend and cause, or a bend without any."""
    return [
        {"curve": name, **bend, **cause}
        for bend in _curve_content(name, found, at)["bends"]
        for cause in bend.pop("causes") or [{}]
    ]


def curve_names(curves: Sequence[Configuration], names: Names) -> list[str]:
    """A name for each of these curves: its transport, its pattern, and all in which those of a
    pattern differ."""
    fields: list[Field] = varying_within_patterns(curves)
    pattern = [field for field in FIELDS if field.name == "pattern" and field not in fields]
    return [curve_name(curve, [*pattern, *fields], names) for curve in curves]


class _Said(NamedTuple):
    """A paragraph on a curve. Of a bend at a `place` whose cause is not told, `unexplained` says
    so, sentences that bends may have in common, and `guess` what it may be."""

    text: str
    place: str = ""
    unexplained: tuple[str, ...] = ()
    guess: str = ""

    def text_beside(self, shared: Collection[str]) -> str:
        """The paragraph, where what is `shared` by several bends is said elsewhere."""
        is_alone = self.unexplained[:1] and self.unexplained[0] not in shared
        left = [*(self.unexplained if is_alone else ()), *filter(None, (self.guess,))]
        return ". ".join([self.text, " ".join(left)]) if left else self.text


def _shared(said: Mapping[str, Iterable[_Said]]) -> dict[str, str]:
    """What several bends have in common, with their curves and places, by its first sentence."""
    bends: dict[str, list[tuple[str, _Said]]] = {}
    for name, lines in said.items():
        for line in lines:
            if line.unexplained:
                bends.setdefault(line.unexplained[0], []).append((name, line))
    found = {}
    for why, those in bends.items():
        if len(those) > 1:
            names = [
                f"{name} ({', '.join(line.place for _, line in of_curve)})"
                for name, of_curve in itertools.groupby(those, key=lambda each: each[0])
            ]
            every = dict.fromkeys(why for _, line in those for why in line.unexplained)
            found[why] = f"{', '.join(names)}: {' '.join(every)}"
    return found


def _said(name: str, found: CurveCauses, at: int | None) -> list[_Said]:
    """What is said of a curve of this name."""
    if at is not None:
        bend = bend_at(found.bends, at)
        if bend is None:
            return [_Said(_straight(name, found, at))]
        return _of_bend(name, bend, found.knows)
    if not found.bends:
        return [_Said(_straight(name, found, None))]
    said = [said for bend in found.bends for said in _of_bend(name, bend, found.knows)]
    if found.fit.found is not None and found.fit.found.outliers:
        sizes = sizes_in_words(found.fit.found.outliers, size_in_words)
        said.append(_Said(f"{name}: on no straight piece: {sizes}"))
    return said


def _straight(name: str, found: CurveCauses, at: int | None) -> str:
    """That a curve is straight: at a size, or everywhere; or that a size is on no piece, or that
    it may bend."""
    outliers = found.fit.found.outliers if found.fit.found is not None else ()
    if at in outliers:
        return f"{name}: the time of {size_in_words(at)} is on no straight piece"
    pieces = found.fit.found.pieces if found.fit.found is not None else ()
    piece = next((each for each in pieces if at is None or each.first <= at <= each.last), None)
    if piece is None:
        first, last = (
            (min(pieces[0].first, *outliers), max(pieces[-1].last, *outliers))
            if (outliers)
            else (pieces[0].first, pieces[-1].last)
        )
        sizes = span_in_words(first, last)
        return f"{name}: {size_in_words(at or 0)} was not measured; the run has {sizes}"
    if found.fit.found is not None and found.fit.found.unclear is not None:
        return f"{name}: no bend can be told; {found.fit.found.unclear}"
    where = "" if at is None else f" at {size_in_words(at)}"
    span = span_in_words(piece.first, piece.last)
    said = f"{name}: the curve is straight{where}: from {span} it is {_line(piece.line)}"
    others = [span_in_words(each.bend.low, each.bend.high) for each in found.bends]
    return f"{said}; it bends at {', '.join(others)}" if others else said


def _line(line: StraightLine) -> str:
    start = f"{significant(line.start.value / 1e3, 3)} us"
    if line.per_byte.value <= 0:
        return start
    return f"{start} + size / {significant(1 / line.per_byte.value, 3)} GB/s"


def _of_bend(name: str, found: BendCauses, knows: bool) -> list[_Said]:
    bend = found.bend
    place = span_in_words(bend.low, bend.high)
    said = f"{name}: at {place}, {_change(bend)}"
    if not found.candidates:
        return [_Said(said, place, _UNKNOWN) if knows else _Said(f"{said}.")]
    named = [each for each in found.candidates if each.is_named]
    if not named:
        return [_Said(said, place, *_unnamed(found))]
    first, *others = named + [each for each in found.candidates if not each.threshold.value]
    lines = [_Said(f"{said}, where {_cause(first)}. {_advice(first)}")]
    if others:
        lines.append(_Said(f"    It could also be {'; '.join(map(_brief, others))}."))
    return lines


def _unnamed(found: BendCauses) -> tuple[tuple[str, ...], str]:
    """What is said of a bend that has candidates, none of which beats chance, and what it may
    be."""
    known = [each for each in found.candidates if each.threshold.value]
    said = [_NOT_NEARER if known else _NOTHING]
    if known and found.bend.high > _REFINED * found.bend.low:
        said.append(f"{_REFINE}.")
    settings = [each.threshold.setting for each in known]
    if any(is_variable(each) or each.startswith("--") for each in settings):
        said.append(_PROVE)
    unknown = [each for each in found.candidates if not each.threshold.value]
    guess = f"It may be {_cause(unknown[0])}. {_advice(unknown[0])}" if unknown else ""
    return tuple(said), guess


def span_in_words(low: int, high: int) -> str:
    """``4 to 8 KiB``, or ``4040 to 4096 B``: both ends in the same form, where they are near."""
    names = [size_in_words(low), size_in_words(high)]
    if low == high:
        return names[0]
    (first, unit), (_, other) = (name.split(" ") for name in names)
    if unit == other:
        return f"{first} to {names[1]}"
    # 4032 B to 4 KiB is hard to read; 64 KiB to 4 MiB is not, nor 1 B to 64 KiB.
    near = high <= _NEAR * low
    return f"{low} to {high} B" if near and "B" in (unit, other) else " to ".join(names)


def _change(bend: Bend) -> str:
    step = bend.step
    if not math.isfinite(step.value):
        return "the curve bends"
    known = math.isfinite(step.low) and math.isfinite(step.high)
    if bend.kind == "slope":
        return _change_of_slope(step if known and step.low > 0 else None)
    word = "falls" if step.value < 1 else "jumps"
    if not known:
        return f"the time {word}, by how much cannot be told"
    if step.low >= _TIMES:
        return f"the time becomes {in_words(step, 2)} times what it was"
    share = Estimate(step.value - 1, step.low - 1, step.high - 1)
    if word == "falls":
        share = Estimate(-share.value, -share.high, -share.low)
    return f"the time {word} by {in_words(share, 2, 0.01, ' %')}"


def _change_of_slope(step: Estimate | None) -> str:
    if step is None:
        return "the time per byte changes, by how much cannot be told"
    if step.value < 1:
        times, low, high = factor_texts(inverse(1.0, step))
        return f"the time per byte was {times} (95 %: {low} to {high}) times as long before"
    times, low, high = factor_texts(step)
    return f"the time per byte becomes {times} (95 %: {low} to {high}) times what it was"


def _cause(candidate: Candidate) -> str:
    threshold = candidate.threshold
    effect = KINDS[threshold.acts].effect
    if not threshold.value:
        chosen = "which is chosen by the library and may be anywhere"
        return f"{threshold.name} ({threshold.source}), {chosen}: {effect}"
    times = f"{candidate.prediction.multiple} times " if candidate.prediction.multiple > 1 else ""
    return f"{times}{threshold.name} is, {_value(threshold)} ({threshold.source}): {effect}"


def _value(threshold: Threshold) -> str:
    said = size_in_words(threshold.value)
    if not threshold.header:
        return said
    return f"{said} of which up to {threshold.header:,} B hold no payload"


def _brief(candidate: Candidate) -> str:
    times = f"{candidate.prediction.multiple} times " if candidate.prediction.multiple > 1 else ""
    value = candidate.threshold.value
    return f"{times}{candidate.threshold.name}{f', {size_in_words(value)}' if value else ''}"


def _advice(candidate: Candidate) -> str:
    setting = candidate.threshold.setting
    if not setting:
        return "No setting of halftrip or its environment moves it."
    if is_variable(setting):
        return f"To move it, set {setting}; --prove measures whether the bend moves with it."
    if setting.startswith("--"):
        return f"To move it, try {setting}; --prove measures whether the bend moves with it."
    return f"To move it, change {setting}, measure again, and compare by --moved."


def is_variable(setting: str) -> bool:
    """Whether what moves a threshold is an environment variable."""
    return setting.isidentifier()


# For programs.


def _curve_content(name: str, found: CurveCauses, at: int | None) -> dict[str, Any]:
    bends: Iterable[BendCauses] = found.bends
    if at is not None:
        nearest = bend_at(found.bends, at)
        bends = () if nearest is None else (nearest,)
    curve = found.fit.curve
    return {
        "curve": name,
        "transport": curve.transport,
        "pattern": curve.pattern,
        "pair": list(curve.pair),
        "reason": found.fit.reason,
        "over": found.fit.over,
        "state": state.word if (state := state_of(found)) is not None else None,
        "knows_thresholds": found.knows,
        "unclear": found.fit.found.unclear if found.fit.found else None,
        "outlier_sizes_bytes": list(found.fit.found.outliers) if found.fit.found else [],
        "single_copy": single_copies.content(found.copy),
        "bends": [_bend_content(each) for each in bends],
    }


def state_of(found: CurveCauses) -> State | None:
    """The state of the machine that a curve was measured in; None if it is of all."""
    return None if found.fit.measured is None else found.fit.measured.state


def _bend_content(found: BendCauses) -> dict[str, Any]:
    bend = found.bend
    return {
        "low_bytes": bend.low,
        "high_bytes": bend.high,
        "kind": bend.kind,
        "step": as_written(bend.step.value) if math.isfinite(bend.step.low) else None,
        "step_low": as_written(bend.step.low),
        "step_high": as_written(bend.step.high),
        "causes": [_cause_content(each) for each in found.candidates],
    }


def _cause_content(candidate: Candidate) -> dict[str, Any]:
    threshold, prediction, by_chance = candidate
    return {
        "name": threshold.name,
        "value_bytes": threshold.value,
        "header_bytes": threshold.header,
        "acts": threshold.acts,
        "source": threshold.source,
        "setting": threshold.setting or None,
        "multiple": prediction.multiple,
        "predicted_low_bytes": prediction.low,
        "predicted_high_bytes": prediction.high,
        "by_chance": by_chance,
        "named": candidate.is_named,
    }

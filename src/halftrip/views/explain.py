"""Why the curves of a run bend: each bend, and its causes, in words and as values for programs; and
whether a bend moved with what is said to cause it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

from halftrip.analysis.bend_causes import BendCauses, Candidate, CurveCauses, bend_at
from halftrip.analysis.bend_kinds import KINDS, Prediction
from halftrip.analysis.figure import as_written
from halftrip.analysis.fit import Bend, StraightLine
from halftrip.analysis.proof import Proof
from halftrip.analysis.states import State
from halftrip.registry import TRANSPORTS
from halftrip.render.blocks import SPACE, Block, Items, Paragraph, View
from halftrip.report.fields import FIELDS, Field, curve_name, varying_within_patterns
from halftrip.report.numbers import in_words
from halftrip.results.configuration import Configuration
from halftrip.results.names import Names
from halftrip.results.run import Run
from halftrip.results.threshold import Threshold
from halftrip.stats.estimate import Estimate
from halftrip.texts import printable
from halftrip.units import significant, size_in_words
from halftrip.views import single_copies
from halftrip.views.states import in_state, of_curve

NO_THRESHOLDS = (
    "The run has no thresholds: it was imported, or measured by a halftrip that did not record "
    "them. Measure it again to have causes named."
)
_NOTHING = "Nothing that is known of this run has a threshold there."
_REFINE = "To know the place better, measure with --refine"
_UNKNOWN = (
    f"{_NOTHING} {_REFINE}; what was not recorded, such as a switch on the way, is not excluded."
)
_NOT_NEARER = "No known cause lies nearer than chance would put one."
_PROVE = "--prove measures whether it moves with a setting that has a threshold there."
# --refine makes sizes around a bend about as near as this factor.
_REFINED = 1.02
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
    for name, each in named:
        if each.fit.found is not None:
            blocks += [*map(Paragraph, sentences(name, each, at)), SPACE]
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


def sentences(name: str, found: CurveCauses, at: int | None) -> list[str]:
    """What is said of a curve of this name, a paragraph each."""
    if found.fit.found is None:
        return [f"{name}: {found.fit.reason}"]
    if at is not None:
        bend = bend_at(found.bends, at)
        return [_straight(name, found, at)] if bend is None else _of_bend(name, bend, found.knows)
    if not found.bends:
        return [_straight(name, found, None)]
    said = [said for bend in found.bends for said in _of_bend(name, bend, found.knows)]
    if found.fit.found.outliers:
        sizes = ", ".join(map(size_in_words, found.fit.found.outliers))
        said.append(f"{name}: on no straight piece: {sizes}")
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


def _of_bend(name: str, found: BendCauses, knows: bool) -> list[str]:
    bend = found.bend
    said = f"{name}: at {span_in_words(bend.low, bend.high)}, {_change(bend)}"
    if not found.candidates:
        return [f"{said}. {_UNKNOWN}" if knows else f"{said}."]
    named = [each for each in found.candidates if each.is_named]
    if not named:
        return [f"{said}. {_unnamed(found)}"]
    first, *others = named + [each for each in found.candidates if not each.threshold.value]
    lines = [f"{said}, where {_cause(first)}. {_advice(first)}"]
    if others:
        lines.append(f"    It could also be {'; '.join(map(_brief, others))}.")
    return lines


def _unnamed(found: BendCauses) -> str:
    """What is said of a bend that has candidates, none of which beats chance."""
    known = [each for each in found.candidates if each.threshold.value]
    said = [_NOT_NEARER if known else _NOTHING]
    if known and found.bend.high > _REFINED * found.bend.low:
        said.append(f"{_REFINE}.")
    settings = [each.threshold.setting for each in known]
    if any(is_variable(each) or each.startswith("--") for each in settings):
        said.append(_PROVE)
    unknown = [each for each in found.candidates if not each.threshold.value]
    said += [f"It may be {_cause(each)}. {_advice(each)}" for each in unknown[:1]]
    return " ".join(said)


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
        if not known or step.low <= 0:
            return "the time per byte changes, by how much cannot be told"
        return f"the time per byte becomes {in_words(step, 2)} times what it was"
    word = "falls" if step.value < 1 else "jumps"
    if not known:
        return f"the time {word}, by how much cannot be told"
    share = Estimate(step.value - 1, step.low - 1, step.high - 1)
    if word == "falls":
        share = Estimate(-share.value, -share.high, -share.low)
    return f"the time {word} by {in_words(share, 2, 0.01, ' %')}"


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


# Whether a bend moved with the setting that is said to cause it.


class Proven(NamedTuple):
    """What came of moving a threshold: the `values` of its setting, old and new, as they are
    written, the `places` where they predict the bend, the file of the run that shows it, and the
    state of the machine that its times are of (None: of all)."""

    threshold: Threshold
    values: tuple[str, str]
    places: tuple[Prediction, Prediction]
    proof: Proof
    file: str
    state: State | None = None


def proof(name: str, proven: Proven) -> View:
    """The answer."""
    found = proven.proof
    old, new = (span_in_words(round(place.low), round(place.high)) for place in proven.places)
    match found.outcome:
        case "moved":
            said = f"the bend moved from {old} to {new} with it: proved"
        case "stayed":
            said = f"the bend at {old} did not move to {new} with it: it has another cause"
        case "unknown":
            said = f"whether the bend moves from {old} to {new} with it: cannot tell"
    setting = proven.threshold.setting or proven.threshold.name
    values = f"{_written(proven.values[0])} to {_written(proven.values[1])}"
    reasons = [] if found.reason is None else [found.reason]
    if found.jump is not None and found.gone is not None and found.come is not None:
        reasons += [
            f"old value: times jump there by a factor of {in_words(found.jump, 3)}",
            (
                f"new value: a factor of {in_words(found.gone, 3)} of that is gone, and one of "
                f"{in_words(found.come, 3)} has come to the new place"
            ),
        ]
    if proven.state is not None and found.jump is not None:
        reasons.append(in_state(proven.state))
    reasons.append(f"run file: {printable(proven.file)}")
    blocks: list[Block] = [
        Paragraph(f"{name}: {setting} from {values}: {said}"),
        Items(reasons, indent=4),
    ]
    content = partial(_proof_content, name, proven)
    return View(blocks, content, lambda: [content()], "Whether a setting moves a bend")


def _written(written: str) -> str:
    return size_in_words(int(written)) if written.isdecimal() else written


def _proof_content(name: str, proven: Proven) -> dict[str, Any]:
    """The same for programs: sizes in bytes, steps as factors of time."""
    proof = proven.proof
    return {
        "curve": name,
        "threshold": proven.threshold.name,
        "setting": proven.threshold.setting or None,
        "values": list(proven.values),
        "predicted_bytes": [[place.low, place.high] for place in proven.places],
        "outcome": proof.outcome,
        **{
            name: None if step is None else list(map(as_written, step))
            for name, step in (("jump", proof.jump), ("gone", proof.gone), ("come", proof.come))
        },
        "reason": proof.reason,
        "state": None if proven.state is None else proven.state.word,
        "file": proven.file,
    }

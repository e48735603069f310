"""Whether a bend moved with the setting that is said to cause it, in words and as values."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from halftrip.analysis.causes import Prediction
from halftrip.analysis.figure import or_none
from halftrip.analysis.proof import Proof
from halftrip.render.blocks import Block, Items, Paragraph, View
from halftrip.results.threshold import Threshold
from halftrip.stats.estimate import Estimate
from halftrip.texts import printable
from halftrip.units import significant, size_in_words
from halftrip.views.explain import span_in_words


class Proven(NamedTuple):
    """What came of moving a threshold: the `values` of its setting, old and new, as they are
    written, the `places` where they predict the bend, and the file of the run that shows it."""

    threshold: Threshold
    values: tuple[str, str]
    places: tuple[Prediction, Prediction]
    proof: Proof
    file: str


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
    values = f"{_value(proven.values[0])} to {_value(proven.values[1])}"
    reasons = [] if found.reason is None else [found.reason]
    if found.jump is not None and found.gone is not None and found.come is not None:
        reasons += [
            f"old value: times jump there by a factor of {_factor(found.jump)}",
            (
                f"new value: a factor of {_factor(found.gone)} of that is gone, and one of "
                f"{_factor(found.come)} has come to the new place"
            ),
        ]
    reasons.append(f"run file: {printable(proven.file)}")
    blocks: list[Block] = [
        Paragraph(f"{name}: {setting} from {values}: {said}"),
        Items(reasons, indent=4),
    ]
    content = partial(_content, name, proven)
    return View(blocks, content, lambda: [content()])


def _value(written: str) -> str:
    return size_in_words(int(written)) if written.isdecimal() else written


def _factor(step: Estimate) -> str:
    value, low, high = (significant(each, 3) for each in step)
    return f"{value} (95 %: {low} to {high})"


def _content(name: str, proven: Proven) -> dict[str, Any]:
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
            name: None if step is None else list(map(or_none, step))
            for name, step in (("jump", proof.jump), ("gone", proof.gone), ("come", proof.come))
        },
        "reason": proof.reason,
        "file": proven.file,
    }

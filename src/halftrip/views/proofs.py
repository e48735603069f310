"""Whether a bend moved with the setting that is said to cause it, in words and for programs."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from halftrip.analysis.bend_kinds import Prediction
from halftrip.analysis.figure import as_written
from halftrip.analysis.proof import Proof
from halftrip.analysis.states import State
from halftrip.render.blocks import Block, Items, Paragraph, View
from halftrip.report.numbers import in_words
from halftrip.results.threshold import Threshold
from halftrip.texts import printable
from halftrip.units import size_in_words
from halftrip.views.explain import span_in_words
from halftrip.views.states import in_state


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

"""Draws runs as charts, and says what these do not show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from halftrip.errors import UsageError
from halftrip.plots.chart import Chart, Subject, text
from halftrip.registry import PLOTS
from halftrip.views.matrices import by_setting, of_memories

# So many reasons why something was not measured are named.
_MOST = 3


def draw(subjects: Sequence[Subject], kind: str | None = None) -> list[Chart]:
    """Charts of this kind, which is one of PLOTS (None: what shows most), with lines in the first
    about what these runs lack. Raises UsageError where they have nothing of that kind."""
    kind = kind or usual_kind(subjects)
    made: list[Chart] = PLOTS.load(kind)(subjects)
    if not made:
        raise UsageError(f"--kind {kind}: no time is above 0: nothing can be drawn of it")
    first, *others = made
    lines = [*filter(None, first.lines), *map(text, _caveats(subjects))]
    return [first._replace(lines=lines), *others]


def usual_kind(subjects: Sequence[Subject]) -> str:
    """The kind that shows most of what runs have: of what more than two pairs have measured, who is
    slow; of several kinds of memory, which is; else latencies; else bandwidths."""
    settings = (each for subject in subjects for each in by_setting(subject.document))
    if any(len(matrices[0].values) > 2 for _, matrices in settings):
        return "pairs"
    if any(of_memories(subject.document) for subject in subjects):
        return "pairs"
    rows = [row.configuration for subject in subjects for row in subject.document.rows]
    return "latency" if any(not row.is_rate for row in rows) else "bandwidth"


def _caveats(subjects: Sequence[Subject]) -> list[str]:
    """What was not measured, and in which runs, where there are several."""
    runs: dict[str, list[str]] = {}
    for subject in subjects:
        for said in dict.fromkeys(_lacks(subject)):
            runs.setdefault(said, []).append(subject.name)
    several = len(subjects) > 1
    lines = [
        f"{said}, in {', '.join(names)}." if several else f"{said}." for said, names in runs.items()
    ]
    if len(lines) > _MOST:
        lines = [*lines[:_MOST], f"{len(lines) - _MOST} more are missing: halftrip show."]
    return lines


def _lacks(subject: Subject) -> Iterator[str]:
    document = subject.document
    if document.interrupted is not None:
        yield f"Interrupted: {document.interrupted}"
    for skip in document.skips:
        yield f"Not measured: {skip.transport} ({skip.reason})"
    for failure in document.failures:
        yield f"Failed: {failure.configuration.title} ({failure.reason})"

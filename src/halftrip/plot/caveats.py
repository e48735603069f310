"""What a picture of runs does not show, since it was not measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from halftrip.plot.chart import Chart, Subject, text

# So many reasons are named.
_MOST = 3


def with_caveats(charts: Sequence[Chart], subjects: Sequence[Subject]) -> list[Chart]:
    """The charts, with lines in the first about what these runs lack."""
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
    first, *others = charts
    return [first._replace(lines=[*filter(None, first.lines), *map(text, lines)]), *others]


def _lacks(subject: Subject) -> Iterator[str]:
    document = subject.document
    if document.interrupted is not None:
        yield f"Interrupted: {document.interrupted}"
    for skip in document.skips:
        yield f"Not measured: {skip.transport} ({skip.reason})"
    for failure in document.failures:
        yield f"Failed: {failure.configuration.title} ({failure.reason})"

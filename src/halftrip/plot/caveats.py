"""What a picture of runs does not show, since it was not measured."""

from __future__ import annotations

from collections.abc import Sequence

from halftrip.plot.chart import Chart, Subject, text

# So many reasons are named, and so many configurations for one.
_MOST = 3


def with_caveats(charts: Sequence[Chart], subjects: Sequence[Subject]) -> list[Chart]:
    """The charts, with lines in the first about what these runs lack."""
    said = [line for subject in subjects for line in _caveats(subject, len(subjects) > 1)]
    first, *others = charts
    return [first._replace(lines=[*filter(None, first.lines), *said]), *others]


def _caveats(subject: Subject, several: bool) -> list[str]:
    document = subject.document
    run = f"Run {subject.name}: " if several else ""
    said = [] if document.interrupted is None else [f"interrupted: {document.interrupted}"]
    reasons = dict.fromkeys(
        f"not measured: {skip.transport} ({skip.reason})" for skip in document.skips
    )
    failed = [f"failed: {each.configuration.title} ({each.reason})" for each in document.failures]
    missing = [*reasons, *dict.fromkeys(failed)]
    said += missing[:_MOST]
    if len(missing) > _MOST:
        said.append(f"{len(missing) - _MOST} more are missing: halftrip show")
    return [text(f"{run}{each[0].upper() + each[1:] if not run else each}.") for each in said]

"""Who falls short of what was expected, in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from halftrip.analysis.expectation import (
    FIGURES,
    Expectations,
    Short,
    judged,
    shortfalls,
    unjudged,
    untold,
)
from halftrip.results.patterns import BOTH_WAYS
from halftrip.units import significant, size_name
from halftrip.views.states import BOTH_STATES

if TYPE_CHECKING:
    from halftrip.report.document import Document

# So many of those that fall short have a line.
_MOST_LINES = 10

NOTHING_JUDGED = (
    "not judged: nobody has said what is expected. halftrip show judges this run now, with "
    "--expect latency=2us,bandwidth=10GB/s or --baseline RUN; halftrip run has these options, too."
)


def lines(document: Document) -> list[str]:
    """A line for each that falls short, or one that none does; none where nothing was expected, but
    that nothing was judged, where the plan is one to judge by."""
    wishes = document.expectations
    said = [NOTHING_JUDGED] if wishes.are_none and wishes.asked else []
    if wishes.baseline is None and wishes.named is not None:
        said.append(f"baseline: {wishes.named}; show --baseline FILE compares with it again")
    if not wishes.figures and wishes.baseline is None:
        return said
    lacking, apart = unjudged(document), untold(document)
    short = [_line(each, wishes) for each in _by_kind(shortfalls(document))]
    said += short[:_MOST_LINES] or _as_expected(document)
    if len(short) > _MOST_LINES:
        said.append(f"and {len(short) - _MOST_LINES} more; show --format nodes has all of them")
    said += [f"cannot tell: {each}. {BOTH_STATES}" for each in apart]
    return [*said, *(f"not judged: {each}" for each in lacking)]


def _as_expected(document: Document) -> list[str]:
    wishes = document.expectations
    found = judged(document)
    known = {each.figure for each in found if each.against == "expect"}
    names = [
        f"{name} {with_unit(name, wishes.figures[name])}"
        for name in wishes.figures
        if name in known
    ]
    links = [link for each in found if each.against == "baseline" for link in each.links]
    if wishes.baseline is not None and links:
        rows_of = [
            configuration
            for each in found
            if each.against == "baseline"
            for configuration, link in zip(each.configurations, each.links, strict=True)
            if not link.is_own
        ]
        of = f", {len(set(rows_of))} of them with its median link" if rows_of else ""
        count = len(
            {c for each in found if each.against == "baseline" for c in each.configurations}
        )
        rows = f"{count} row" if count == 1 else f"{count} rows"
        names.append(f"{rows} against {wishes.baseline.name}{of}")
    return [f"as expected: {', '.join(names)}, {wishes.within}"] if names else []


def _by_kind(found: Iterable[Short]) -> list[list[Short]]:
    """What falls short alike at several sizes together, the worst first."""
    kinds: dict[Any, list[Short]] = {}
    for each in found:
        kind = (*each[:3], each.figure, each.against, each.variant, each.state)
        kinds.setdefault(kind, []).append(each)
    return [
        sorted(alike, key=lambda each: (not each.is_sure, -each.factor)) for alike in kinds.values()
    ]


def _line(alike: Sequence[Short], wishes: Expectations) -> str:
    short = alike[0]
    who = " to ".join(short.hosts)
    some, of = short.links
    links = f" on {some} of its {of} links" if len(short.hosts) == 1 else ""
    word = "falls short" if short.is_sure else "may fall short"
    value, wanted = (with_unit(short.figure, each) for each in (short.value, short.expected))
    each_way = " each way" * (short.figure == "bandwidth" and short.pattern in BOTH_WAYS)
    what = f"{short.transport} {short.pattern} {short.figure}{each_way}"
    by = "expected"
    if short.against == "baseline":
        what = f"{short.transport} {short.pattern} {size_name(short.size)} {short.figure}"
        by = "baseline"
    more = f", and in {len(alike) - 1} more rows like it" if len(alike) > 1 else ""
    who = f"{short.variant}: {who}" if short.variant else who
    what += f", {short.state}," if short.state else ""
    return f"{word}: {who}: {what} {value}{links}, {by} {wanted} {wishes.within}{more}"


def with_unit(figure: str, value: float) -> str:
    """A figure as people read it: ``40.0 us``."""
    unit = FIGURES[figure]
    return f"{significant(value / unit.scale, 3)} {unit.unit}"

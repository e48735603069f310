"""What the lines of a picture are called: by what differs between them, and nothing else."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import altair as alt

from halftrip.analysis.rows import Row
from halftrip.plots.chart import Subject, text
from halftrip.plots.theme import DASHES, HUES, SHAPES
from halftrip.report.fields import Field, common, curve_name, varying
from halftrip.results.configuration import Configuration

# Of more lines than these, those that differ only in who talks have one name together: nobody finds
# one of a hundred colours in a legend.
_MOST_NAMES = 24
# The size of a symbol of a legend, which is its length squared, in which dashes are whole.
LONG = 600
# What says who talks.
_WHO = ("ranks", "thread")
_MOST_IN_A_COLUMN = 12


class DrawnRow(NamedTuple):
    """A row of a run in a picture: the run it is from, its row, the `name` of its line in the
    legend, and a `key` that no other line has."""

    subject: Subject
    row: Row
    name: str
    key: str

    @property
    def configuration(self) -> Configuration:
        return self.row.configuration


def lines_of(subjects: Sequence[Subject], chosen: Callable[[Row], bool]) -> list[DrawnRow]:
    """The chosen rows of all runs, in their order, with the names of their lines."""
    rows = [(subject, row) for subject in subjects for row in subject.document.rows if chosen(row)]
    fields = needed(row.configuration for _, row in rows)
    alike = len({row.configuration.transport for _, row in rows}) == 1
    names = [_name(subject, row, fields, alike) for subject, row in rows]
    if len(dict.fromkeys(names)) > _MOST_NAMES:
        fields = [field for field in fields if field.name not in _WHO]
        names = [_name(subject, row, fields, alike) for subject, row in rows]
    names = _with_runs(rows, names)
    runs = {subject.name: str(number) for number, subject in enumerate(subjects)}
    curves: dict[Configuration, str] = {}
    found = []
    for (subject, row), name in zip(rows, names, strict=True):
        curve = curves.setdefault(row.configuration.curve, str(len(curves)))
        found.append(DrawnRow(subject, row, text(name), f"{runs[subject.name]}-{curve}"))
    return found


def lines_by_pattern(
    subjects: Sequence[Subject], chosen: Callable[[Row], bool]
) -> dict[str, list[DrawnRow]]:
    """The chosen rows by their pattern, in the order of rows, each with names for those lines."""
    rows = [row for subject in subjects for row in subject.document.rows if chosen(row)]

    def of(pattern: str) -> list[DrawnRow]:
        return lines_of(subjects, lambda row: row.configuration.pattern == pattern and chosen(row))

    return {each: of(each) for each in dict.fromkeys(row.configuration.pattern for row in rows)}


def needed(configurations: Iterable[Configuration]) -> list[Field]:
    """The fields that it takes, with the transport and the size, to tell all of these apart: one
    that goes with the others says nothing new."""
    distinct = [*dict.fromkeys(configurations)]
    kept = varying(distinct)
    parts = {field: [field.of(each) for each in distinct] for field in kept}
    whole = [(each.transport, each.size) for each in distinct]

    def apart(fields: Sequence[Field]) -> int:
        columns = (parts[field] for field in fields)
        return len(set(zip(whole, *columns, strict=True)))

    most = apart(kept)
    for field in reversed(kept):
        rest = [each for each in kept if each is not field]
        if apart(rest) == most:
            kept = rest
    return kept


def _name(subject: Subject, row: Row, fields: Sequence[Any], alike: bool) -> str:
    """The transport, unless all rows have it `alike`, and what differs."""
    whole = curve_name(row.configuration, fields, subject.document.run.names)
    rest = whole.removeprefix(row.configuration.transport).strip().removeprefix(", ")
    if re.fullmatch(r"\d+-\d+", rest):
        rest = f"ranks {rest}"
    return rest if alike and rest else whole


def _with_runs(rows: Sequence[tuple[Subject, Row]], names: Sequence[str]) -> list[str]:
    """The names, with those of runs where several have a line of the same name; where a line of
    each run is all there is, the names of runs alone."""
    of_runs = Counter(
        name for name, _ in {(n, s.name) for n, (s, _) in zip(names, rows, strict=True)}
    )
    if max(of_runs.values(), default=1) < 2:
        return [*names]
    if len(of_runs) == 1:
        return [subject.name for subject, _ in rows]
    return [f"{name}, {subject.name}" for name, (subject, _) in zip(names, rows, strict=True)]


def in_common(lines: Sequence[DrawnRow]) -> list[str]:
    """What all lines have in common and is not usual, and in what they differ besides their names:
    ``shm, window 64, run a. wait: spin (mpi, shm), block (tcp).``; none where there is nothing."""
    configurations = [*dict.fromkeys(line.configuration for line in lines)]
    simulated = all(each.is_simulated for each in configurations)
    transports = dict.fromkeys(each.transport for each in configurations)
    said = [*transports] if len(transports) == 1 else []
    said += [
        each
        for each in common(configurations, simulated, brief=True)
        if not each.startswith("pattern ")
    ]
    runs = dict.fromkeys(line.subject.name for line in lines)
    said += [f"run {next(iter(runs))}"] if len(runs) == 1 else []
    named_by = needed(configurations)
    others = [each for each in varying(configurations) if each not in named_by]
    parts = [", ".join(said), *(_by_transport(each, configurations) for each in others)]
    whole = ". ".join(filter(None, parts))
    return [text(whole)] if whole else []


def _by_transport(field: Field, configurations: Sequence[Configuration]) -> str:
    """A field that goes with the transport: ``wait: spin (mpi, shm), block (tcp)``."""
    found: dict[str, dict[str, None]] = {}
    for each in configurations:
        found.setdefault(field.of(each), {})[each.transport] = None
    said = [f"{value} ({', '.join(of)})" for value, of in found.items() if value]
    return f"{field.name}: {', '.join(said)}"


# How a line is told from others: by its colour, and, for who cannot tell colours, by its shape and
# its dashes.


def legend(names: Sequence[str], is_long: bool = False) -> Any:
    """The legend of series; None where there is one. All channels of a series share it: `is_long`
    is that of lines, whose dashes are seen."""
    if len(names) < 2:
        return None
    columns = min(-(-len(names) // _MOST_IN_A_COLUMN), 3)
    line: dict[str, Any] = {"symbolType": "stroke", "symbolSize": LONG} if is_long else {}
    return alt.Legend(
        **line,
        title=None,
        symbolOpacity=1,
        symbolDash=[1, 0],
        symbolLimit=len(names),
        labelLimit=320,
        columns=columns,
    )


def _series(
    names: Sequence[str], has_legend: bool = True, is_long: bool = False, **scale: Any
) -> dict[str, Any]:
    """What channels of series with these names have in common."""
    return {
        "shorthand": "series:N",
        "scale": alt.Scale(domain=[*names], **scale),
        "legend": legend(names, is_long) if has_legend else None,
    }


def colour(names: Sequence[str], has_legend: bool = True, is_long: bool = False) -> alt.Color:
    """The colours of series with these names; `is_long`: of lines, with `dash`."""
    return alt.Color(**_series(names, has_legend, is_long))


def fill(names: Sequence[str], hollow: str, has_legend: bool = True) -> Any:
    """The same for what points are filled with; nothing where the expression `hollow` is true."""
    filled = alt.Fill(**_series(names, has_legend))
    return alt.condition(hollow, alt.value("transparent"), filled)


def shape(names: Sequence[str]) -> alt.Shape:
    """The shapes of the points of series with these names."""
    # Where a colour comes again, it has another shape.
    shapes = [SHAPES[(place + place // HUES) % len(SHAPES)] for place in range(len(names))]
    return alt.Shape(**_series(names, range=shapes))


def dash(names: Sequence[str], is_long: bool = False) -> alt.StrokeDash:
    """The dashes of the lines of series with these names: whole ones up to the last colour. Only
    the legend of lines has them: points would have dashed outlines there."""
    dashes = [DASHES[place // HUES % len(DASHES)] for place in range(len(names))]
    return alt.StrokeDash(**_series(names, is_long, is_long, range=dashes))

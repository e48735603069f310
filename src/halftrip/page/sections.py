"""The sections of a report: what a person wants to know of runs, in the order of asking."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from halftrip.errors import UsageError
from halftrip.page import question
from halftrip.page.answer import answer
from halftrip.page.asked import (
    asked,
    counted,
    environments_of_hosts,
    environments_of_runs,
    repeat,
)
from halftrip.page.drawing import kinds, of_section, within
from halftrip.page.rules import rules
from halftrip.plots.chart import Subject
from halftrip.registry import VIEWS
from halftrip.render.blocks import (
    Block,
    Checks,
    Fold,
    Items,
    Legend,
    Page,
    Paragraph,
    Picture,
    Section,
    Table,
    View,
    text_table,
)
from halftrip.render.plain import tables_in, title_of
from halftrip.report.document import Document
from halftrip.views import carriers, notes, screen, side_by_side
from halftrip.views.row_tables import RowTable, row_tables
from halftrip.views.side_by_side import alone, letters
from halftrip.views.why import flag_groups, groups, table_of_causes, trust

# A page has to open: so many bytes of pictures that have a point for each of many samples.
_MOST_BYTES = 700_000
# The section of pictures of figures by size.
_CURVES = "curves"
_BY_KIND = ("latency_rows", "rate_rows")
# Of more lines of a table, so many at even distances are shown: a page has to open.
_MOST_LINES = 1000
_MARKS_SAY = "~ caution, ! no: see how far to trust them."


class ReportedRun(NamedTuple):
    """A run to report: what of it is drawn and shown, and its file; whether that is the `whole` of
    the run: of a part, nothing can be measured again alone."""

    subject: Subject
    file: str
    whole: bool = True

    @property
    def document(self) -> Document:
        return self.subject.document

    @property
    def to_do(self) -> str:
        """The one thing to do about its rows; empty where there is nothing to do."""
        return screen.to_do(self.document, self.file if self.whole else None)


def report(shown: Sequence[ReportedRun], title: str) -> Page:
    """The report of some runs; several are beside each other."""
    one = shown[0] if len(shown) == 1 else None
    made = [*(_of_several(shown) if one is None else _of_one(one))]
    said = [block for each in made for block in each.blocks]
    made.append(_rules([each.document for each in shown], said))
    line = counted(len(shown), "run") if one is None else " · ".join(screen.heading(one.document))
    return Page(title, line, [each for each in made if each.blocks])


def _of_one(shown: ReportedRun) -> Iterable[Section]:
    document = shown.document
    first = question.section([shown.subject])
    bends = Section("bends", "Why curves bend", _bends(document))
    is_sweep = first is not None and first.name == question.MODEL
    yield Section("answer", "The answer", [Paragraph(line) for line in answer(document)])
    if first is not None:
        yield first._replace(blocks=_shortened(first.blocks))
    yield from [bends] * is_sweep
    yield Section("trust", "How far to trust it", _trust(shown))
    yield Section("asked", "What was asked", [Paragraph(line) for line in asked(document)])
    yield _pictures([shown.subject], first)
    yield Section("table", "Tables", _rows(document))
    yield from [bends] * (not is_sweep)
    yield Section("flags", "What looks odd", _flags(document))
    yield from _rest([shown.subject])
    yield Section("repeat", "How to repeat it", repeat(document.run))


def _of_several(shown: Sequence[ReportedRun]) -> Iterable[Section]:
    documents = [each.document for each in shown]
    names = letters(len(shown))
    named = [*zip(names, shown, strict=True)]
    subjects = [each.subject for each in shown]
    first = question.section(subjects)
    if first is not None:
        yield first._replace(blocks=_shortened(first.blocks))
    asks: list[Block] = [Items(side_by_side.key(documents, [each.file for each in shown]))]
    asks += [Paragraph(" ".join(asked(each.document)), name) for name, each in named]
    yield Section("asked", "What was asked", asks)
    answers = [Paragraph(" ".join(answer(each.document)), name) for name, each in named]
    yield Section("answer", "The answers", answers)
    trusts = [block for name, each in named for block in _trust_of(name, each)]
    yield Section("trust", "How far to trust them", trusts)
    yield _pictures(subjects, first)
    yield Section("table", "Tables", _beside(documents))
    yield from _rest(subjects)
    blocks: list[Block] = [
        Fold(f"{name}: {each.file}", repeat(each.document.run)) for name, each in named
    ]
    yield Section("repeat", "How to repeat them", blocks)


def _pictures(subjects: Sequence[Subject], asked: Section | None) -> Section:
    """Pictures of figures by size, and of what the section that answers the question has not."""
    name = "" if asked is None else asked.name
    blocks: list[Block] = [*map(Picture, of_section(subjects, _CURVES, name))]
    return Section(
        _CURVES, "Pictures", blocks or [Paragraph("There is nothing to draw.")] * (asked is None)
    )


def _rows(document: Document) -> list[Block]:
    """The figures that people look for first, and, folded, all."""
    blocks: list[Block] = []
    for brief, full in zip(
        row_tables(document, brief=True), row_tables(document, brief=False), strict=True
    ):
        blocks += _of_table(brief)
        if len(full.table.columns) > len(brief.table.columns):
            blocks.append(Fold("All figures of these rows", _of_table(full)))
    return blocks


def _of_table(found: RowTable) -> list[Block]:
    is_rate = found.rows[0].configuration.is_rate
    made = found.table
    title = made.title if any(made.title) else ["Bandwidth" if is_rate else "Latency"]
    said = [
        *made.said_once,
        *made._replace(unknown=()).without_column,
        *found.legend.lines(made.columns),
    ]
    return _shortened([made._replace(title=title), Legend(said)])


def _shortened(blocks: Iterable[Block], most: int = _MOST_LINES) -> list[Block]:
    """The blocks, with so many lines of longer tables at even distances."""
    found: list[Block] = []
    for block in blocks:
        if isinstance(block, Table) and len(block.lines) > most:
            said = f"{most:,} of {len(block.lines):,} rows, evenly chosen"
            found += [block.evenly(most), Legend([said])]
        else:
            found.append(block)
    return found


def _views(document: Document) -> dict[str, list[Block]]:
    """The views that a report has and that show something of a run which halftrip has measured, by
    the section that they stand in."""
    found: dict[str, list[Block]] = {}
    for name, entry in VIEWS.entries():
        try:
            if isinstance(entry, UsageError):
                raise entry
            place = entry.in_report
            if place is None or document.run.sources:
                continue
            view: View = VIEWS.load(name)(document)
        except UsageError as error:
            # The rest of the report needs nothing of a plug-in.
            found.setdefault("Not shown", []).append(Paragraph(str(error)))
            continue
        if not tables_in(view.blocks):
            continue
        made = _shortened(view.blocks, place.most)
        if place.folded == "all":
            made = [Fold(view.title, made)]
        elif place.folded == "tables":
            made = [Fold(title_of(x), [x]) if isinstance(x, Table) else x for x in made]
        found.setdefault(place.section, []).extend(made)
    return found


def _rest(subjects: Sequence[Subject]) -> Iterable[Section]:
    """What is behind the figures."""
    documents = [subject.document for subject in subjects]
    one = documents[0] if len(documents) == 1 else None
    views = {} if one is None else _views(one)
    above = tuple(kinds(_CURVES))
    cost: list[Block] = [
        Picture(each)
        for each in of_section(subjects, "usage")
        # The same bandwidths are above.
        if not each.name.startswith(above)
    ]
    log = [*map(Picture, of_section(subjects, "system-log"))]
    for name, title, blocks in (
        ("distribution", "Distribution of the times", _spread(subjects)),
        ("usage", "What it cost", cost),
        ("system-log", "System log", log),
    ):
        yield Section(name, title, [*blocks, *views.pop(name, [])])
    for title, blocks in views.items():
        yield Section(title.lower().replace(" ", "-"), title, blocks)
    if one is not None:
        yield Section("carrier", "What carried the messages", carriers.table(one.run))
    runs = [document.run for document in documents]
    environments = environments_of_runs(runs) if one is None else environments_of_hosts(one.run)
    yield Section("environment", "Environment", environments)


def _spread(subjects: Sequence[Subject]) -> list[Block]:
    """How single times differ, in as many pictures as there is room for."""
    every = of_section(subjects, "distribution")
    kept = within(every, _MOST_BYTES)
    blocks: list[Block] = [Picture(each) for each in kept]
    if len(kept) < len(every):
        left = counted(len(every) - len(kept), "picture")
        said = f"{left} left out, as the page would be large: halftrip plot -k samples, or -k "
        said += "distribution, draws them."
        blocks.append(Paragraph(said))
    return blocks


def _trust(shown: ReportedRun) -> list[Block]:
    """The verdicts, what to do, and what is missing."""
    document = shown.document
    blocks: list[Block] = []
    if document.rows:
        blocks.append(Paragraph(trust(document)))
        # The sentence about trust has said it where it is a single one.
        if len(groups(document)) > 1:
            blocks.append(table_of_causes(document))
    if shown.to_do:
        blocks.append(Paragraph(shown.to_do, "To do"))
    missing = notes.missing(document)
    return [*blocks, Items(missing)] if missing else blocks


def _trust_of(name: str, shown: ReportedRun) -> list[Block]:
    """The same of one of several runs, in short."""
    document = shown.document
    said = trust(document) if document.rows else "Nothing was measured."
    do = f" To do: {shown.to_do}" if shown.to_do else ""
    missing = notes.missing(document)
    return [Paragraph(f"{said}{do}", name), *([Items(missing)] if missing else [])]


def _beside(documents: Sequence[Document]) -> list[Block]:
    """Several runs side by side, and what only some of them have."""
    names = letters(len(documents))
    latencies, rates = ([getattr(each, name) for each in documents] for name in _BY_KIND)
    blocks = [
        block
        for made in side_by_side.tables(latencies, rates, names)
        for block in (*_shortened([made]), Legend([_MARKS_SAY]))
    ]
    only = alone([document.rows for document in documents], names)
    moved = side_by_side.moved(documents)
    said = [*only, *filter(None, [moved])]
    if not blocks:
        said = said or ["No run has any row."]
    return [*blocks, Items(said)] if said else blocks


def _bends(document: Document) -> Sequence[Block]:
    """Where curves bend, and what is known to happen there."""
    from halftrip.analysis.bend_causes import causes
    from halftrip.analysis.fit import piecewise_fits
    from halftrip.views.explain import explain

    shown = {row.configuration for row in document.rows}
    found = causes(document.run, piecewise_fits(document.run, shown.__contains__))
    bent = [each for each in found if each.bends]
    return explain(document.run, bent).blocks if bent else []


def _flags(document: Document) -> list[Block]:
    """The flags by name: how many rows have it, what to do, and which rows."""
    if not document.rows:
        return []
    blocks: list[Block] = []
    for name, found in groupby(flag_groups(document), key=lambda each: each.name):
        of_name = [*found]
        lines = [(*line, group.advice) for group in of_name for line in group.seen]
        rows = counted(len(lines), "row")
        names = ["row", "seen", *["what to do"] * (len(of_name) > 1)]
        made = text_table("What was seen", names, [line[: len(names)] for line in lines])
        advice = [f"{counted(len(each.seen), 'row')}: {each.advice}" for each in of_name]
        blocks.append(Paragraph(". ".join(advice) if len(advice) > 1 else of_name[0].advice, name))
        blocks.append(Fold(f"{rows} with {name}", _shortened([made])))
    if blocks:
        return blocks
    total = counted(len(document.rows), "row")
    return [Paragraph(f"No flags: none of the {total} gives a reason to doubt it.")]


def _rules(documents: Sequence[Document], shown: Sequence[Block]) -> Section:
    said = (
        "The twelve rules of Hoefler and Belli, Scientific Benchmarking of Parallel Computing "
        "Systems (SC'15), in short, and how this report keeps them."
    )
    return Section(
        "rules",
        "Twelve rules of good measuring",
        [Paragraph(said), Checks(rules(documents, shown), numbered=True)],
    )

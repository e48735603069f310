"""The sections of a report: what a person wants to know of runs, in the order of asking."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from halftrip.analysis.flags import NAMES
from halftrip.errors import UsageError
from halftrip.page import environments, tables
from halftrip.page.answer import answer
from halftrip.page.asked import asked, counted, repeat
from halftrip.page.blocks import Block, Code, Drawn, Folded, Items, Report, Ruled, Said, Section
from halftrip.page.drawing import charts, within
from halftrip.page.rules import rules
from halftrip.plots.chart import Subject
from halftrip.registry import PLOTS
from halftrip.report import notes, pairs, screen, side_by_side
from halftrip.report.causes import trust
from halftrip.report.document import Document
from halftrip.report.side_by_side import alone, letters

# The kinds of pictures, by the section that they stand in.
_CURVES = ("latency", "bandwidth")
_RATES = ("rate",)
_OTHERS = ("pairs", "layers")
_COMPARISON = "compare"
_DISTRIBUTION = ("distribution", "samples")
# A page has to open: so many bytes of pictures that have a point for each of many samples.
_MOST_BYTES = 700_000
_USAGE = ("usage",)
_SYSTEM = ("system",)
_COLUMNS = 100
# A heading that may be as long as it gets.
_ANY_WIDTH = 10_000


class Shown(NamedTuple):
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


def report(shown: Sequence[Shown], title: str) -> Report:
    """The report of some runs; several are beside each other."""
    one = shown[0] if len(shown) == 1 else None
    made = [*(_of_several(shown) if one is None else _of_one(one))]
    made.append(_rules([each.document for each in shown]))
    line = counted(len(shown), "run") if one is None else screen.heading(one.document, _ANY_WIDTH)
    return Report(title, line, [each for each in made if each.blocks])


def _of_one(shown: Shown) -> Iterable[Section]:
    document = shown.document
    yield Section("asked", "What was asked", [Said(line) for line in asked(document)])
    yield Section("answer", "The answer", [Said(line) for line in answer(document)])
    yield Section("trust", "How far to trust it", _trust(shown))
    yield from _pictures([shown.subject])
    yield Section("table", "Tables", tables.of_rows(document))
    yield Section("bends", "Why curves bend", _bends(document))
    yield Section("flags", "What looks odd", _flags(document))
    yield from _rest([shown.subject])
    yield Section("repeat", "How to repeat it", repeat(document.run))


def _of_several(shown: Sequence[Shown]) -> Iterable[Section]:
    documents = [each.document for each in shown]
    names = letters(len(shown))
    named = [*zip(names, shown, strict=True)]
    asks: list[Block] = [Items(side_by_side.key(documents, [each.file for each in shown]))]
    asks += [Said(" ".join(asked(each.document)), name) for name, each in named]
    yield Section("asked", "What was asked", asks)
    answers = [Said(" ".join(answer(each.document)), name) for name, each in named]
    yield Section("answer", "The answers", answers)
    trusts = [block for name, each in named for block in _trust_of(name, each)]
    yield Section("trust", "How far to trust them", trusts)
    subjects = [each.subject for each in shown]
    yield from _pictures(subjects)
    yield Section("table", "Tables", _beside(documents))
    yield from _rest(subjects)
    blocks: list[Block] = [
        Folded(f"{name}: {each.file}", repeat(each.document.run)) for name, each in named
    ]
    yield Section("repeat", "How to repeat them", blocks)


def _pictures(subjects: Sequence[Subject]) -> Iterable[Section]:
    """Pictures of figures by size, of pairs, and of what differs."""
    documents = [subject.document for subject in subjects]
    found = charts(subjects, _CURVES)
    found += charts([*map(_with_rates, subjects)], _RATES)
    found += charts(subjects, _OTHERS)
    blocks: list[Block] = [Drawn(each) for each in found]
    if len(subjects) > 1:
        blocks += _compared(subjects)
    if len(documents) == 1 and pairs.has_pairs(documents[0].rows):
        blocks.append(_pairs(documents[0]))
    if not blocks:
        blocks.append(Said("There is nothing to draw."))
    yield Section("curves", "Pictures", blocks)


def _compared(subjects: Sequence[Subject]) -> list[Block]:
    """What has changed from the first run to the others, or why that cannot be told."""
    try:
        return [Drawn(each) for each in PLOTS.load(_COMPARISON)(subjects)]
    except UsageError as error:
        return [Said(f"Nothing is compared: {error}.")]


def _with_rates(subject: Subject) -> Subject:
    """The rows whose result is a rate: how many single messages go in a second, their latency has
    said."""
    document = subject.document
    return subject._replace(document=document._replace(rows=document.rate_rows))


def _pairs(document: Document) -> Code:
    """Who talks how fast with whom."""
    lines = pairs.lines(document, _COLUMNS)
    return Code("\n".join(line.plain for line in lines), "Pairs")


def _rest(subjects: Sequence[Subject]) -> Iterable[Section]:
    """What is behind the figures."""
    documents = [subject.document for subject in subjects]
    one = documents[0] if len(documents) == 1 else None
    spread = _spread(subjects)
    cost: list[Block] = [
        Drawn(each)
        for each in charts(subjects, _USAGE)
        # The same bandwidths are above.
        if not each.name.startswith(_CURVES)
    ]
    log: list[Block] = [Drawn(each) for each in charts(subjects, _SYSTEM)]
    if one is not None:
        spread += tables.of_tails(one)
        cost += tables.of_cost(one)
        log += tables.of_system_log(one.run)
    yield Section("distribution", "Distribution of the times", spread)
    yield Section("usage", "What it cost", cost)
    yield Section("system-log", "System log", log)
    runs = [document.run for document in documents]
    found = environments.of_runs(runs) if one is None else environments.of_hosts(one.run)
    yield Section("environment", "Environment", [] if found is None else [found])


def _spread(subjects: Sequence[Subject]) -> list[Block]:
    """How single times differ, in as many pictures as there is room for."""
    every = charts(subjects, _DISTRIBUTION)
    kept = within(every, _MOST_BYTES)
    blocks: list[Block] = [Drawn(each) for each in kept]
    if len(kept) < len(every):
        left = counted(len(every) - len(kept), "picture")
        said = f"{left} left out, as the page would be large: halftrip plot -k samples, or -k "
        said += "distribution, draws them."
        blocks.append(Said(said))
    return blocks


def _trust(shown: Shown) -> list[Block]:
    """The verdicts, what to do, and what is missing."""
    document = shown.document
    blocks: list[Block] = []
    if document.rows:
        blocks.append(Said(trust(document)))
        blocks += tables.of_causes(document)
    if shown.to_do:
        blocks.append(Said(shown.to_do, "To do"))
    missing = notes.missing(document)
    return [*blocks, Items(missing)] if missing else blocks


def _trust_of(name: str, shown: Shown) -> list[Block]:
    """The same of one of several runs, in short."""
    document = shown.document
    said = trust(document) if document.rows else "Nothing was measured."
    do = f" To do: {shown.to_do}" if shown.to_do else ""
    missing = notes.missing(document)
    return [Said(f"{said}{do}", name), *([Items(missing)] if missing else [])]


def _beside(documents: Sequence[Document]) -> list[Block]:
    """Several runs side by side, and what only some of them have."""
    blocks = tables.of_several(documents)
    only = alone([document.rows for document in documents], letters(len(documents)))
    moved = side_by_side.moved(documents)
    said = [*only, *filter(None, [moved])]
    if not blocks:
        said = said or ["No run has any row."]
    return [*blocks, Items(said)] if said else blocks


def _bends(document: Document) -> list[Block]:
    """Where curves bend, and what is known to happen there."""
    from halftrip.analysis.causes import causes
    from halftrip.analysis.fit import piecewise_fits
    from halftrip.report.explain import NO_THRESHOLDS, curve_names, sentences

    shown = {row.configuration for row in document.rows}
    found = [
        each
        for each in causes(document.run, piecewise_fits(document.run, shown.__contains__))
        if each.bends
    ]
    if not found:
        return []
    names = curve_names([each.fit.curve for each in found], document.run.names)
    said = [
        line.strip()
        for name, each in zip(names, found, strict=True)
        for line in sentences(name, each, None)
    ]
    blocks: list[Block] = [Items(said)]
    return blocks if any(each.knows for each in found) else [Said(NO_THRESHOLDS), *blocks]


def _flags(document: Document) -> list[Block]:
    """The flags by name: how many rows have it, what to do, and which rows."""
    if not document.rows:
        return []
    blocks: list[Block] = []
    for name in NAMES:
        blocks += tables.of_flag(document, name)
    total = counted(len(document.rows), "row")
    return blocks or [Said(f"No flags: none of the {total} gives a reason to doubt it.")]


def _rules(documents: Sequence[Document]) -> Section:
    said = (
        "The twelve rules of Hoefler and Belli, Scientific Benchmarking of Parallel Computing "
        "Systems (SC'15), in short, and how this report keeps them."
    )
    return Section("rules", "Twelve rules of good measuring", [Said(said), Ruled(rules(documents))])

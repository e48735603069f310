"""The question that runs were measured for, and the section of a report that answers it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from halftrip.analysis.compared_run import sides_of
from halftrip.analysis.layers import layered
from halftrip.errors import UsageError
from halftrip.page.drawing import charts, of_section
from halftrip.plots.chart import Subject
from halftrip.plots.compare import comparisons
from halftrip.render.blocks import Block, Fold, Items, Paragraph, Picture, Section
from halftrip.report.document import Document
from halftrip.results.configuration import Configuration
from halftrip.views import (
    compare,
    compare_rows,
    congestion,
    layers,
    models,
    pairs,
    under_load,
)

# So many sizes of a curve are a sweep.
_SWEEP = 5
# The names of the sections. Pairs and layers are also those of kinds of pictures.
CHANGES, TRAFFIC, PAIRS, LAYERS, MODEL = "changes", "traffic", "pairs", "layers", "model"


def section(subjects: Sequence[Subject]) -> Section | None:
    """What changed between several runs, or between the sides of one; of a run beside other
    traffic, how much longer messages take; of several pairs, who is slow; of one of layers of
    software, what each adds; of a sweep, its model. None: the run asks for none of these."""
    document = subjects[0].document
    if len(subjects) > 1 or sides_of(document.run) is not None:
        return Section(CHANGES, "What changed", _changes(subjects))
    if not document.rows:
        return None

    def drawn(kind: str) -> list[Block]:
        return [*map(Picture, charts(subjects, [kind]))]

    if congestion.has_congestion(document.rows):
        said = [*congestion.blocks(document), *drawn(PAIRS)]
        return Section(TRAFFIC, "Beside other traffic", said)
    if under_load.has_traffic(document.rows):
        said = [*under_load.blocks(document), Items(under_load.lines(document))]
        return Section(TRAFFIC, "Beside other traffic", said)
    if pairs.has_pairs(document.rows):
        return Section(PAIRS, "Each pair", [*pairs.blocks(document), *drawn(PAIRS)])
    return _of_curves(document, drawn)


def _of_curves(document: Document, drawn: Callable[[str], list[Block]]) -> Section | None:
    """That of layers, or of a sweep; `drawn` are the pictures of a kind."""
    if _is_of_layers(document):
        said = layers.layers(document).blocks
        return Section(LAYERS, "What layers add", [*said, *drawn(LAYERS)])
    if asked := _models(document):
        shown = {row.configuration for row in document.rows}
        found = models.fitted(document.run, asked, shown.__contains__)
        return Section(MODEL, "The model", models.models(found).blocks)
    return None


def _changes(subjects: Sequence[Subject]) -> list[Block]:
    """The answer of each comparison with the first run, in pictures, and row by row."""
    try:
        found = comparisons(subjects)
    except UsageError as error:
        return [Paragraph(f"Nothing is compared: {error}.")]
    blocks: list[Block] = []
    for each in found:
        term = f"{each.new.name} against {each.base.name}" if len(found) > 1 else ""
        first, *others = compare.answer(each)
        blocks += [Paragraph(first, term), *map(Paragraph, others)]
    blocks += map(Picture, of_section(subjects, CHANGES))
    for each in found:
        shown, every = (compare.shown_rows(each, is_every) for is_every in (False, True))
        if shown:
            blocks += compare_rows.tables(each, shown)
        if len(shown) < len(every):
            blocks.append(Fold("All rows that both have", compare_rows.tables(each, every)))
        blocks.append(Items([*compare.left_out(each, every), *compare.around(each)]))
    return blocks


def _is_of_layers(document: Document) -> bool:
    """Whether all that was measured are layers of one another."""
    configurations = [row.configuration for row in document.rows]
    found = layered(document.run, configurations)
    return bool(found) and found == {each.transport for each in configurations}


def _models(document: Document) -> tuple[str, ...]:
    """The models of a sweep; none of a run that compares paths."""
    if any(row.configuration.delay for row in document.rows):
        return ("loggp",)
    sizes: dict[Configuration, set[int]] = {}
    for row in document.rows:
        sizes.setdefault(row.configuration.curve, set()).add(row.configuration.size)
    swept = sum(len(each) >= _SWEEP for each in sizes.values())
    is_sweep = swept == 1 or (swept and document.run.header.plan.get("refine"))
    return models.OF_CURVES if is_sweep else ()

"""The variants of a run side by side: a line for each configuration, and a column for each."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from halftrip.analysis.rows import Row
from halftrip.errors import UsageError
from halftrip.plan.against import against
from halftrip.plan.vary import in_words, label
from halftrip.render.blocks import SPACE, Block, Legend
from halftrip.report.document import Document
from halftrip.results.reported import Variant
from halftrip.results.run import Run
from halftrip.views.side_by_side import letters, tables

# As many stand side by side in most terminals, with names of these lengths.
_MOST_BESIDE = 4
_LONGEST_NAME = 18
_MARKS = {
    "caution": "~ interval wider than 2 %, or a cause that matters; see --why",
    "no": "! wider than 10 %, or none; see --why",
}


def has_variants(document: Document) -> bool:
    """Whether a run has a few variants, which stand side by side. What was imported has tables."""
    return not document.run.sources and 1 < len(_variants(document)) <= _MOST_BESIDE


def blocks(document: Document) -> list[Block]:
    """The tables of latencies and of bandwidths, with columns of the variants' names or letters."""
    found = _variants(document)
    by_variant = [
        (_of(document.latency_rows, each), _of(document.rate_rows, each)) for each in found
    ]
    latencies, rates = zip(*by_variant, strict=True)
    shown: list[Block] = []
    for made in tables(latencies, rates, _columns(found), brief=True):
        shown += [*([SPACE] if shown else []), made]
    words = {row.verdict.word for row in document.rows}
    return [*shown, Legend([said for word, said in _MARKS.items() if word in words])]


def key(document: Document) -> list[str]:
    """What was measured with what: a line for each variant that is called by a letter, and the MPI
    of each where these differ."""
    run = document.run
    found = _variants(document)
    called = _columns(found) if has_variants(document) else [in_words(each) for each in found]
    software = mpis(run)
    differ = len(set(software.values())) > 1
    said = []
    for name, variant in zip(called, found, strict=True):
        what = [] if in_words(variant).endswith(name) else [in_words(variant)]
        if differ and variant in software:
            what.append(software[variant])
        said += [f"{name}: {', '.join(what)}"] if what else []
    return [*said, *_base(document)]


def _base(document: Document) -> list[str]:
    """What is different about the base of a run that was measured against another one."""
    run = document.run
    if run.base_file is None:
        return []
    try:
        asked = against(run.header.plan["against"])
    except UsageError:
        # Anybody may have written the file.
        return []
    what = [f"{name}={value}" for name, value in asked.env]
    what += [f"mpiexec {asked.mpiexec}"] if asked.mpiexec is not None else []
    what += [f"command {asked.command}"] if asked.command is not None else []
    versions = dict.fromkeys(each.halftrip for each in run.environments if each.halftrip)
    what += [f"halftrip {version}" for version in versions]
    return [f"base: {run.base_file}, measured again with {', '.join(what)}"] if what else []


def mpis(run: Run) -> dict[Variant, str]:
    """The MPI of each variant that has one."""
    return {
        variant: ranks[0].mpi
        for variant, ranks in run.first_environments.items()
        if ranks[0].mpi is not None
    }


def _variants(document: Document) -> list[Variant]:
    """The variants that have rows, in the order of the plan."""
    planned = document.run.header.plan.get("vary")
    axes = planned if isinstance(planned, dict) else {}

    def place(variant: Variant) -> list[int]:
        values = dict(variant)
        return [
            known.index(values[name]) if isinstance(known, list) and values[name] in known else 0
            for name, known in axes.items()
            if name in values
        ]

    found = dict.fromkeys(row.configuration.variant for row in document.rows)
    return sorted(found, key=lambda variant: (place(variant), variant))


def _columns(found: Sequence[Variant]) -> list[str]:
    """A name for each: the values in which they differ where these are short, else a letter."""
    differ = [
        name
        for name, _ in found[0]
        if len({dict(variant).get(name) for variant in found}) > 1
    ]  # fmt: skip
    names = [" ".join(dict(variant).get(name, "") for name in differ) for variant in found]
    are_short = all(len(name) <= _LONGEST_NAME for name in names)
    # A number says nothing by itself.
    are_words = not any(name[:1].isdigit() for name in names)
    if are_short and len(set(names)) == len(names):
        return names if are_words or len(differ) > 1 else [f"{label(differ[0])} {n}" for n in names]
    return letters(len(found))


def _of(rows: Sequence[Row], variant: Variant) -> list[Row]:
    """The rows of a variant, as they would be without it."""
    return [
        row._replace(configuration=msgspec.structs.replace(row.configuration, variant=()))
        for row in rows
        if row.configuration.variant == variant
    ]

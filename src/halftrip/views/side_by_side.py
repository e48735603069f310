"""Several runs, or the variants of one, side by side: a line for each configuration, and a column
for each run or variant."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

import msgspec

from halftrip.analysis.figure import ALWAYS, BRIEF
from halftrip.analysis.flags.flag import counted
from halftrip.analysis.matching import MatchedRows, filled_by, in_effect, lacks, matched_rows
from halftrip.analysis.rows import Row
from halftrip.errors import UsageError
from halftrip.plan.vary import against, in_words, label
from halftrip.render.blocks import (
    SPACE,
    Block,
    Column,
    Items,
    Legend,
    Paragraph,
    Table,
    View,
    table,
)
from halftrip.report.document import Document
from halftrip.report.fields import common, varying
from halftrip.report.numbers import MARKS_SAY, NOTHING, marked, number, width_of
from halftrip.results.configuration import Configuration
from halftrip.results.reported import Variant
from halftrip.results.run import Run
from halftrip.stats.median import median
from halftrip.views.columns import SIZE, TRANSPORT, setting_column
from halftrip.views.details import content, records_of_several
from halftrip.views.single_figures import CANNOT_TELL, what_it_takes

# Medians of core-to-core round trips differ if one is that many times another.
_MOVED = 1.2
# More reasons than these are counted together.
_MOST_REASONS = 3


def letters(count: int) -> list[str]:
    """The names of so many runs: A to Z, then A2 and so on."""
    return [f"{chr(65 + n % 26)}{n // 26 + 1 if n >= 26 else ''}" for n in range(count)]


def key(documents: Sequence[Document], files: Sequence[str]) -> list[str]:
    """Which run each letter is: a line for each, with what tells it from the others."""
    lines = []
    for letter, document, file in zip(letters(len(files)), documents, files, strict=True):
        hosts = ", ".join(dict.fromkeys(e.host for e in document.run.first_ranks))
        firsts = document.run.first_environments.values()
        known = dict.fromkeys(e.mpi for ranks in firsts for e in ranks if e.mpi)
        mpi = " and ".join(known) or None
        tools = [f"imported from {source.tool}" for source in document.run.sources]
        said = [
            file,
            *filter(None, (document.run.measured, hosts, mpi)),
            *dict.fromkeys(tools),
        ]
        if document.interrupted is not None:
            said.append(f"interrupted: {document.interrupted}")
        elif not document.rows:
            said.append("nothing was measured")
        lines.append(f"{letter}: {', '.join(said)}")
    return lines


def side_by_side(documents: Sequence[Document], files: Sequence[str]) -> View:
    """Which run each letter is, the tables of latencies and of bandwidths, and which rows of what
    was imported stand alone."""
    names = letters(len(documents))
    found = tables(
        [document.latency_rows for document in documents],
        [document.rate_rows for document in documents],
        names,
    )
    said_moved = moved(documents)
    return View(
        [
            Items(key(documents, files)),
            *(block for each in found for block in (SPACE, each)),
            SPACE,
            Items(alone([document.rows for document in documents], names)),
            Items(_single(documents)),
            *([Paragraph(said_moved, style="yellow")] if said_moved else []),
            Legend([MARKS_SAY]),
        ],
        lambda: [
            {"run": file, **content(each)} for each, file in zip(documents, files, strict=True)
        ],
        lambda: records_of_several(documents, files),
        "Runs side by side",
    )


def _single(documents: Sequence[Document]) -> list[str]:
    """What the ratios of rows say that have no interval, if there are any; and what would tell."""
    lines = matched_rows([document.rows for document in documents])
    count = sum(_is_single(line.rows) for line in lines)
    if not count:
        return []
    imported = any(document.run.sources for document in documents)
    takes = what_it_takes(imported, "halftrip compare ")
    return [f"? {CANNOT_TELL} of {counted(count, 'row')} whether the runs differ; {takes}"]


def _is_single(rows: Sequence[Row | None]) -> bool:
    """Whether several runs have the row, and one of them a single figure of it."""
    known = [row for row in rows if row is not None]
    return len(known) > 1 and any(math.isinf(row.verdict.width) for row in known)


def tables(
    latencies: Sequence[Sequence[Row]],
    rates: Sequence[Sequence[Row]],
    names: Sequence[str],
    brief: bool = False,
) -> list[Table]:
    """The tables of the latencies and the bandwidths that stand side by side, by the names of their
    columns; `brief`: with what is not the default in their titles."""
    found = []
    for of_rates in (False, True):
        lines = matched_rows(rates if of_rates else latencies)
        if lines:
            configurations = [line.configuration for line in lines]
            simulated = all(each.is_simulated for each in configurations)
            figure = "bandwidth" if of_rates else "one-way latency"
            title = ", ".join([figure, *common(configurations, simulated, brief)])
            several = len({line.configuration.known_size for line in lines}) > 1
            section = _path if several else lambda _: None
            made = table(lines, _columns(lines, of_rates, names), section=section)
            found.append(made.titled(title, "above"))
    return found


def moved(documents: Sequence[Document]) -> str:
    """That the core-to-core round trip was not the same in all runs, if so: their rows differ by
    that, too."""
    known = {
        letter: median(document.baselines.core_to_core_rtts)
        for letter, document in zip(letters(len(documents)), documents, strict=True)
        if document.baselines.core_to_core_rtts
    }
    if len(known) < 2 or max(known.values()) <= _MOVED * min(known.values()):
        return ""
    each = ", ".join(f"{letter} {rtt:.0f} ns" for letter, rtt in known.items())
    return (
        f"core-to-core round trips differ ({each}): the cores moved between these runs, and "
        "latencies with them"
    )


def _path(line: MatchedRows) -> object:
    return line.configuration.curve


def _columns(lines: Sequence[MatchedRows], of_rates: bool, names: Sequence[str]) -> list[Column]:
    configurations = [line.configuration for line in lines]
    columns = [*map(setting_column, [TRANSPORT, *varying(configurations)]), SIZE]
    for place, letter in enumerate(names):
        figure = _of_run(place, _bandwidth if of_rates else _latency)
        columns.append(Column(letter, "MB/s" if of_rates else "us", figure, rank=ALWAYS))
        width = _of_run(place, lambda row: width_of(row.verdict.width))
        columns.append(Column("95 %", "", width, rank=BRIEF))
        if place and any(_is_single([line.rows[0], line.rows[place]]) for line in lines):
            ratio = _ratio(place, of_rates)
            columns.append(Column(f"{letter} / {names[0]}", "", ratio, rank=BRIEF))
    return columns


def _ratio(place: int, of_rates: bool) -> Callable[[MatchedRows], str]:
    """The ratio of a run's figure to the first one's, with a mark where no interval tells how far
    it holds."""

    def of_line(line: MatchedRows) -> str:
        both = line.rows[0], line.rows[place]
        first, other = (
            math.nan if row is None else row.bandwidth if of_rates else row.summary.latency
            for row in both
        )
        found = number(other / first if first else math.nan)
        return f"{found}?" if _is_single(both) else found

    return of_line


def _of_run(place: int, cell: Callable[[Row], str]) -> Callable[[MatchedRows], str]:
    def of_line(line: MatchedRows) -> str:
        row = line.rows[place]
        return NOTHING if row is None else cell(row)

    return of_line


def _latency(row: Row) -> str:
    return marked(row, row.summary.latency, "us")


def _bandwidth(row: Row) -> str:
    return marked(row, row.bandwidth, "MB/s")


def alone(runs: Sequence[Sequence[Row]], letters: Sequence[str]) -> list[str]:
    """How many of the rows that were imported stand beside one of another run, and why the others
    do not; a line for each run that was imported, where another one was not."""
    if all(row.source is not None for rows in runs for row in rows):
        return []
    beside = matched_rows(runs)
    said = []
    for place, (letter, rows) in enumerate(zip(letters, runs, strict=True)):
        imported = [row for row in rows if row.source is not None]
        if not imported:
            continue
        matched = {
            id(line.rows[place])
            for line in beside
            if any(row is not None and row.source is None for row in line.rows)
        }
        left = [row.configuration for row in imported if id(row) not in matched]
        others = [
            row.configuration.without_cores
            for each in runs
            if each is not rows
            for row in each
            if row.source is None
        ]
        count = f"{len(imported) - len(left)} of its {len(imported)} rows"
        line = f"{letter}: {count} stand beside a row that was measured here"
        if left:
            line += f"; not the others: {_reasons(left, others)}"
        said.append(line)
    return said


def _reasons(left: Sequence[Configuration], others: Sequence[Configuration]) -> str:
    """Why these have no counterpart, with how many of them: the most frequent first."""
    counts = Counter(_reason(each, others) for each in left).most_common()
    named = [f"{count} {reason}" for reason, count in counts[:_MOST_REASONS]]
    more = sum(count for _, count in counts[_MOST_REASONS:])
    return ", ".join([*named, *([f"{more} for other reasons"] if more else [])])


def _reason(imported: Configuration, others: Sequence[Configuration]) -> str:
    """The first thing that no other configuration has in common with this one."""
    left = list(others)
    for name in ("transport", "pattern", "mode", "known_size"):
        value = getattr(imported, name)
        same = [each for each in left if getattr(each, name) == value]
        if not same:
            if name != "known_size":
                return f"of {name} {value}"
            return "of another size" if value is not None else "of a size that is not known"
        left = same
    if sum(lacks(imported, each) for each in left) > 1:
        return "that may be any of several rows"
    filled = filled_by(imported, left[0]), filled_by(left[0], imported)
    for field in varying([*map(in_effect, filled)]):
        return f"of {field.name} {field.of(imported) or 'unknown'}"
    return "of other settings"


# The variants of one run.

# As many stand side by side in most terminals, with names of these lengths.
_MOST_BESIDE = 4
_LONGEST_NAME = 18
_MARKS_SAY = {
    "caution": "~ interval wider than 2 %, or a cause that matters; see --why",
    "no": "! wider than 10 %, or none; see --why",
}


def has_variants(document: Document) -> bool:
    """Whether a run has a few variants, which stand side by side. What was imported has tables."""
    return not document.run.sources and 1 < len(_variants(document)) <= _MOST_BESIDE


def blocks_of_variants(document: Document) -> list[Block]:
    """The tables of latencies and of bandwidths, with columns of the variants' names or letters."""
    found = _variants(document)
    by_variant = [
        (_of(document.latency_rows, each), _of(document.rate_rows, each)) for each in found
    ]
    latencies, rates = zip(*by_variant, strict=True)
    shown: list[Block] = []
    for made in tables(latencies, rates, _names(found), brief=True):
        shown += [*([SPACE] if shown else []), made]
    words = {row.verdict.word for row in document.rows}
    return [*shown, Legend([said for word, said in _MARKS_SAY.items() if word in words])]


def variant_names(document: Document) -> dict[Variant, str]:
    """What the variants that stand side by side are called; empty of a run without."""
    found = _variants(document) if has_variants(document) else []
    return dict(zip(found, _names(found), strict=True)) if found else {}


def key_of_variants(document: Document) -> list[str]:
    """What was measured with what: a line for each variant that is called by a letter, and the MPI
    of each where these differ."""
    run = document.run
    found = _variants(document)
    called = _names(found) if has_variants(document) else [in_words(each) for each in found]
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


def _names(found: Sequence[Variant]) -> list[str]:
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

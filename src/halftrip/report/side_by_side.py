"""Several runs side by side: a line for each configuration, and a column for each run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rich.console import Group
from rich.text import Text

from halftrip.report.cells import NOTHING, number, text_lines
from halftrip.report.columns import supported_digits, width_of
from halftrip.report.counterparts import Line, alone, lines_of
from halftrip.report.document import Document
from halftrip.report.fields import common, varying
from halftrip.report.layout import ALWAYS, BRIEF, WIDTH_OF_LINES, Column, Made, as_text, made_table
from halftrip.report.overview import mark
from halftrip.report.rows import Row
from halftrip.results.configuration import Configuration
from halftrip.stats.median import median
from halftrip.units import format_size

# Medians of core-to-core round trips differ if one is that many times another.
_MOVED = 1.2


class Part(NamedTuple):
    """The latencies or the bandwidths of all runs: what their rows have in common, and the
    table."""

    heading: str
    made: Made


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


def parts(documents: Sequence[Document]) -> list[Part]:
    """The tables of latencies and of bandwidths."""
    return tables_of(
        [document.latency_rows for document in documents],
        [document.rate_rows for document in documents],
        letters(len(documents)),
    )


def tables_of(
    latencies: Sequence[Sequence[Row]],
    rates: Sequence[Sequence[Row]],
    names: Sequence[str],
    brief: bool = False,
) -> list[Part]:
    """The tables of the latencies and the bandwidths that stand side by side, by the names of their
    columns; `brief`: with what is not the default in their headings."""
    found = []
    for of_rates in (False, True):
        lines = lines_of(rates if of_rates else latencies)
        if lines:
            configurations = [line.configuration for line in lines]
            simulated = all(each.is_simulated for each in configurations)
            figure = "bandwidth" if of_rates else "one-way latency"
            heading = ", ".join([figure, *common(configurations, simulated, brief)])
            several = len({line.configuration.known_size for line in lines}) > 1
            section = _path if several else lambda _: None
            made = made_table(lines, _columns(lines, of_rates, names), section=section)
            found.append(Part(heading, made))
    return found


def render(documents: Sequence[Document], files: Sequence[str], width: int | None) -> Group:
    """The tables in lines of at most `width` columns; None: as many as it takes."""
    of_lines = width or WIDTH_OF_LINES
    shown = [part for line in key(documents, files) for part in text_lines(line, of_lines)]
    for part in parts(documents):
        shown += [Text(), *text_lines(part.heading, of_lines)]
        shown += as_text(part.made.table, width)
    said = "~ caution   ! no: see show --why of that run"
    shown.append(Text())
    for line in alone([document.rows for document in documents], letters(len(documents))):
        shown += text_lines(line, of_lines)
    said_moved = moved(documents)
    return Group(*shown, *text_lines(said_moved, of_lines, "yellow"), Text(said, style="dim"))


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


def _path(line: Line) -> object:
    return line.configuration.curve


def _columns(lines: Sequence[Line], of_rates: bool, names: Sequence[str]) -> list[Column]:
    configurations = [line.configuration for line in lines]
    columns = [
        Column("transport", "", lambda line: line.configuration.transport, True, rank=ALWAYS)
    ]
    for field in varying(configurations):
        of = _of_configuration(field.of)
        columns.append(Column(field.name, "", of, is_text=True, rank=ALWAYS))
    size = _of_configuration(lambda each: format_size(each.known_size))
    columns.append(Column("size", "bytes", size, rank=ALWAYS))
    for place, letter in enumerate(names):
        figure = _of_run(place, _bandwidth if of_rates else _latency)
        columns.append(Column(letter, "MB/s" if of_rates else "us", figure, rank=ALWAYS))
        width = _of_run(place, lambda row: width_of(row.verdict))
        columns.append(Column("95 %", "", width, rank=BRIEF))
    return columns


def _of_configuration(of: Callable[[Configuration], str]) -> Callable[[Line], str]:
    return lambda line: of(line.configuration)


def _of_run(place: int, cell: Callable[[Row], str]) -> Callable[[Line], str]:
    def of_line(line: Line) -> str:
        row = line.rows[place]
        return NOTHING if row is None else cell(row)

    return of_line


def _latency(row: Row) -> str:
    return number(row.summary.latency, supported_digits(row.verdict.width), 1e3) + mark(row)


def _bandwidth(row: Row) -> str:
    return number(row.bandwidth, supported_digits(row.verdict.width), 1e6) + mark(row)

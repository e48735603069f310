"""Tables of text: which columns there is room for, and how they stand in a terminal, Markdown and
LaTeX."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from rich.console import Group
from rich.text import Text

from halftrip.analysis.figure import ALWAYS, MORE
from halftrip.report.numbers import NOTHING
from halftrip.report.wrapping import text_lines
from halftrip.texts import printable

_Line = TypeVar("_Line")
# A number or a share of 0, and a figure that is not known.
_ZERO = {"0", "0.0", NOTHING}
# Columns stand this far apart, closer where that makes room, but not closer than the last.
_GAPS = (3, 2)
# Of lines of text, where a table may take as much as it needs.
WIDTH_OF_LINES = 100
# In fewer lines, that a column says the same everywhere is no news.
_FEWEST_ALIKE = 3


class Column(NamedTuple):
    """A column: its name, its unit, its cell for a line, its rank, and what a line below the table
    says of it."""

    name: str
    unit: str
    cell: Callable[..., str]
    is_text: bool = False
    # Usually 0, and without a column where it is 0 in all lines.
    is_rare: bool = False
    rank: int = MORE
    says: str = ""


class Line(NamedTuple):
    """The cells of a line, its style, and whether it begins a section."""

    cells: Sequence[str]
    style: str = ""
    begins_section: bool = False


class Table(NamedTuple):
    """The columns, and a cell of each line for each of them."""

    columns: Sequence[Column]
    lines: Sequence[Line]

    def only(self, kept: Sequence[int]) -> Table:
        """The table of the columns with these numbers."""
        return Table(
            [self.columns[n] for n in kept],
            [line._replace(cells=[line.cells[n] for n in kept]) for line in self.lines],
        )


class Made(NamedTuple):
    """A table, and the columns that it has not: those that are 0 in all lines, those that are known
    in none, and those that are the same in all, with their cell."""

    table: Table
    zero: list[str]
    unknown: list[str]
    alike: list[str]


def made_table(
    lines: Sequence[_Line],
    columns: Sequence[Column],
    style: Callable[[_Line], str] = lambda _: "",
    section: Callable[[_Line], object] = lambda _: None,
    say_once: bool = False,
) -> Made:
    """The table of these lines, with the columns that say something. Another `section` than that of
    the line before begins a new one. With `say_once`, lesser columns that say the same in all lines
    are left out."""
    every = [(column, [printable(column.cell(line)) for line in lines]) for column in columns]
    unknown = [column for column, cells in every if not set(cells) - {NOTHING, ""}]
    zero = [column for column, cells in every if column.is_rare and set(cells) <= _ZERO]
    known = [(c, cells) for c, cells in every if c not in unknown and c not in zero]
    alike = [
        (c, cells[0]) for c, cells in known if say_once and c.rank >= MORE and _are_alike(cells)
    ]
    shown = [(c, cells) for c, cells in known if c not in [each for each, _ in alike]]
    sections = [section(line) for line in lines]
    # Sections of a line each would only be farther apart.
    if len(set(sections)) == len(sections):
        sections = [None] * len(sections)
    return Made(
        Table(
            [column for column, _ in shown],
            [
                Line(
                    [cells[n] for _, cells in shown],
                    style(line),
                    n > 0 and sections[n] != sections[n - 1],
                )
                for n, line in enumerate(lines)
            ],
        ),
        [_named(column) for column in zero if column not in unknown],
        [_named(column) for column in unknown],
        [" ".join(word for word in (c.name, cell, c.unit) if word) for c, cell in alike],
    )


def _are_alike(cells: Sequence[str]) -> bool:
    return len(cells) >= _FEWEST_ALIKE and len(set(cells)) == 1


def _named(column: Column) -> str:
    return " ".join(word for word in (column.name, column.unit) if word not in ("", "%"))


def said_once(made: Made) -> list[str]:
    """The line about what is the same in all lines, if anything is."""
    return [f"in all rows: {', '.join(made.alike)}"] if made.alike else []


def without_column(made: Made) -> list[str]:
    """The figures without a column of their own, a line for each kind."""
    lines = []
    if made.zero:
        lines.append(f"all 0: {', '.join(made.zero)}")
    unknown = [name for name in made.unknown if name]
    if unknown:
        lines.append(f"not known here: {', '.join(unknown)}")
    return lines


# In a terminal.


class Fitted(NamedTuple):
    """The part of a table that there is room for: its columns, its lines, and a line about what was
    left out."""

    columns: Sequence[Column]
    lines: list[Text]


def fitted(table: Table, width: int | None) -> Fitted:
    """The table in lines of at most `width` columns; None: as many as it takes."""
    kept, gap = _fitting(table, width)
    part = table.only(kept)
    lines = _text_lines(part, " " * gap)
    left_out = dict.fromkeys(c.name for n, c in enumerate(table.columns) if n not in kept)
    if left_out:
        said = f"no room for {', '.join(filter(None, left_out))}: --wide"
        lines += text_lines(said, width or WIDTH_OF_LINES, "dim")
    return Fitted(part.columns, lines)


def as_text(table: Table, width: int | None) -> list[Text]:
    """The lines of `fitted`."""
    return fitted(table, width).lines


def _fitting(table: Table, width: int | None) -> tuple[list[int], int]:
    """The numbers of the columns that there is room for, and how far apart they stand."""
    sizes = _widths(table)
    kept = list(range(len(sizes)))
    while True:
        for gap in _GAPS:
            if width is None or sum(sizes[n] for n in kept) + gap * (len(kept) - 1) <= width:
                return kept, gap
        least = table.columns[max(kept, key=lambda n: (table.columns[n].rank, n))]
        if least.rank == ALWAYS:
            return kept, 1
        # Columns of one name, as of several runs, have a meaning beside each other only.
        kept = [n for n in kept if table.columns[n].name != least.name or not table.columns[n].rank]


def _widths(table: Table) -> list[int]:
    return [
        max(len(column.name), len(column.unit), *(len(line.cells[n]) for line in table.lines))
        for n, column in enumerate(table.columns)
    ]


def _text_lines(table: Table, gap: str) -> list[Text]:
    sizes = _widths(table)

    def joined(cells: Sequence[str]) -> str:
        return gap.join(
            cell.ljust(size) if column.is_text else cell.rjust(size)
            for cell, size, column in zip(cells, sizes, table.columns, strict=True)
        ).rstrip()

    found = [Text(joined([column.name for column in table.columns]), style="bold")]
    units = joined([column.unit for column in table.columns])
    if units:
        found.append(Text(units, style="bold"))
    for line in table.lines:
        if line.begins_section:
            found.append(Text())
        found.append(Text(joined(line.cells), style=line.style))
    return found


def view(made: Made, width: int | None, legend: Sequence[str], title: str = "") -> Group:
    """A table under a title, and lines about what it lacks and what its columns are."""
    parts = [Text(title, style="bold")] if title else []
    parts += as_text(made.table, width)
    parts.append(Text())
    for style, said in (("", without_column(made)), ("dim", legend)):
        for line in said:
            parts += text_lines(line, width or WIDTH_OF_LINES, style)
    return Group(*parts)


# For documents.


def as_markdown(table: Table) -> str:
    """A pipe table of GitHub Flavored Markdown."""

    def joined(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"

    return (
        joined([_heading(column) for column in table.columns])
        + joined(["---" if column.is_text else "---:" for column in table.columns])
        + "".join(joined(line.cells) for line in table.lines)
    )


def as_latex(table: Table) -> str:
    """A tabular of LaTeX with the rules of the package booktabs; one that no page has room for is a
    longtable, of the package of that name."""

    def joined(cells: Sequence[str]) -> str:
        return " & ".join(cells) + r" \\" + "\n"

    kinds = "".join("l" if column.is_text else "r" for column in table.columns)
    lines = "".join(
        ("\\addlinespace\n" if line.begins_section else "")
        + joined([latex_text(cell) for cell in line.cells])
        for line in table.lines
    )
    heading = joined([_latex_heading(column) for column in table.columns])
    is_long = len(table.lines) > _MOST_LINES_OF_A_PAGE
    name, place, end = ("longtable", "[l]", "\\endhead\n") if is_long else ("tabular", "", "")
    return (
        f"\\begin{{{name}}}{place}{{{kinds}}}\n\\toprule\n{heading}"
        f"\\midrule\n{end}{lines}\\bottomrule\n\\end{{{name}}}\n"
    )


def _latex_heading(column: Column) -> str:
    """The name and the unit, with a power and a micro as formulas."""
    found = latex_text(_heading(column)).replace("10\\textasciicircum{}6", "$10^6$")
    return found.replace("(us)", r"($\mu$s)")


def _heading(column: Column) -> str:
    return f"{column.name} ({column.unit})" if column.unit else column.name


# A page has room for so many lines of a table, and a heading.
_MOST_LINES_OF_A_PAGE = 40
_LATEX = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "<": r"$<$",
    ">": r"$>$",
}


def latex_text(text: str) -> str:
    """A text whose characters LaTeX prints and does not obey."""
    return "".join(_LATEX.get(sign, sign) for sign in text)

"""What a view consists of, whatever it is written in."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from halftrip.analysis.figure import ALWAYS, MORE
from halftrip.report.numbers import NOTHING
from halftrip.texts import printable

_Row = TypeVar("_Row")
# How a terminal shows the title of a table: right above it, apart from it, as a heading, or not.
Titling = Literal["above", "apart", "heading", "none"]
# Stands for a blank where no line may end.
NO_BREAK = "\u00a0"
# Between a command and what a shell does not read.
SHELL_COMMENT = "  # "
# A number or a share of 0, and a figure that is not known.
_ZERO = {"0", "0.0", NOTHING}
# In fewer lines, that a column says the same everywhere is no news.
_FEWEST_ALIKE = 3


class Paragraph(NamedTuple):
    """A paragraph; `term` is what it is about, in front of it."""

    text: str
    term: str = ""
    style: str = ""


class Items(NamedTuple):
    """A list of lines."""

    lines: Sequence[str]
    style: str = ""
    indent: int = 0


class Terms(NamedTuple):
    """What is said of each term, as (term, text); all texts begin at the same column, as if the
    longest term had at `least` so many characters. A text without a term begins where terms do.
    `commands` are to be copied, those of each term after its text, which may be empty."""

    items: Sequence[tuple[str, str]]
    indent: int = 0
    style: str = ""
    least: int = 0
    commands: Mapping[str, Sequence[str]] = MappingProxyType({})


class Heading(NamedTuple):
    """What the blocks below it are about."""

    text: str


class SummaryLine(NamedTuple):
    """Parts of one line, of which a terminal shows as many as there is room for."""

    parts: Sequence[str]


class Code(NamedTuple):
    """Lines to be copied, or whose columns stand below each other."""

    text: str
    title: str


class Column(NamedTuple):
    """A column: its name, its unit, the text of its cell for a line, its rank, and what a line
    below the table says of it. For programs: the `key` that its `value` for a line has, a number in
    base units or an Estimate; without them, both are made of the name and the text."""

    name: str
    unit: str
    cell: Callable[..., str]
    is_text: bool = False
    # Usually 0, and without a column where it is 0 in all lines.
    is_rare: bool = False
    rank: int = MORE
    says: str = ""
    key: str = ""
    value: Callable[..., Any] | None = None
    # Its cells have the mark of their line where there is no room for the verdicts.
    is_marked: bool = False


class TableLine(NamedTuple):
    """The texts of the cells of a line, their values, its style, whether it begins a section, and
    the mark of its verdict."""

    cells: Sequence[str]
    style: str = ""
    begins_section: bool = False
    values: Sequence[Any] = ()
    mark: str = ""


class Table(NamedTuple):
    """The columns, and a cell of each line for each of them. `title` is one line or several. `zero`
    and `unknown` are the columns that are left out: 0 in all lines, or unknown in all; `alike` are
    those that are the same in all lines, with their cells. `differing` are the numbers of lines
    whose cells differ where they should be alike. Where a terminal has no room for it, there are
    other blocks `instead`."""

    columns: Sequence[Column]
    lines: Sequence[TableLine]
    title: Sequence[str] = ()
    titling: Titling = "none"
    zero: Sequence[str] = ()
    unknown: Sequence[str] = ()
    alike: Sequence[str] = ()
    differing: frozenset[int] = frozenset()
    instead: Sequence[Block] = ()

    def titled(self, title: str, titling: Titling = "none") -> Table:
        """The table with a title."""
        return self._replace(title=[title], titling=titling)

    def only(self, kept: Sequence[int]) -> Table:
        """The table of the columns with these numbers."""
        return self._replace(
            columns=[self.columns[n] for n in kept],
            lines=[
                line._replace(cells=[line.cells[n] for n in kept], values=()) for line in self.lines
            ],
        )

    def evenly(self, count: int) -> Table:
        """The table with no more than so many lines, at even distances, with the first and the
        last."""
        last = len(self.lines) - 1
        if last < count:
            return self
        return self._replace(lines=[self.lines[last * n // (count - 1)] for n in range(count)])

    @property
    def without_column(self) -> list[str]:
        """The figures without a column of their own, a line for each kind."""
        unknown = [name for name in self.unknown if name]
        return [
            *([f"all 0: {', '.join(self.zero)}"] if self.zero else []),
            *([f"not known here: {', '.join(unknown)}"] if unknown else []),
        ]

    @property
    def said_once(self) -> list[str]:
        """The line about what is the same in all lines, if anything is."""
        return [f"in all rows: {', '.join(self.alike)}"] if self.alike else []


class Legend(NamedTuple):
    """What the columns of the table above are, or a function that says it of those columns that are
    shown; a terminal writes it as one paragraph or as one for each line."""

    says: Sequence[str] | Callable[[Sequence[Column]], Sequence[str]]
    in_one: bool = False

    def lines(self, shown: Sequence[Column]) -> Sequence[str]:
        return self.says(shown) if callable(self.says) else self.says


class Drawable(Protocol):
    """A picture, with what it shows in words."""

    @property
    def title(self) -> str: ...
    @property
    def lines(self) -> Sequence[str]: ...
    @property
    def text(self) -> str: ...


class Picture(NamedTuple):
    """A picture."""

    chart: Drawable


class CheckLine(NamedTuple):
    """Something that should be so, the word for whether it is, what was found, and what to do, also
    as `commands` to be copied."""

    asks: str
    state: str
    found: Sequence[str]
    advice: str | None = None
    commands: Sequence[str] = ()


class Checks(NamedTuple):
    """Checks in their order; `numbered` from 1."""

    checks: Sequence[CheckLine]
    numbered: bool = False


class Fold(NamedTuple):
    """What only some readers want to see, behind a line that says what it is."""

    summary: str
    blocks: Sequence[Block]


class Space(NamedTuple):
    """An empty line in a terminal; other formats have space between all blocks."""


Block = (
    Paragraph
    | Items
    | Terms
    | Heading
    | SummaryLine
    | Code
    | Table
    | Legend
    | Picture
    | Checks
    | Fold
    | Space
)
SPACE = Space()


class View(NamedTuple):
    """The blocks of a view, and functions that make what JSON and CSV have of it; None: made of the
    blocks. `title` is that of a page which has nothing else."""

    blocks: Sequence[Block]
    content: Callable[[], Any] | None = None
    records: Callable[[], Sequence[Mapping[str, Any]]] | None = None
    title: str = ""


class Section(NamedTuple):
    """A part of a page under a heading; `name` is its anchor."""

    name: str
    title: str
    blocks: Sequence[Block]


class Page(NamedTuple):
    """A whole page: its title, a line below that, and its sections."""

    title: str
    line: str
    sections: Sequence[Section]

    @property
    def charts(self) -> list[Any]:
        """All its pictures, in their order."""
        return [
            block.chart
            for section in self.sections
            for block in section.blocks
            if isinstance(block, Picture)
        ]


def table(
    rows: Sequence[_Row],
    columns: Sequence[Column],
    style: Callable[[_Row], str] = lambda _: "",
    section: Callable[[_Row], object] = lambda _: None,
    say_once: bool = False,
    mark: Callable[[_Row], str] = lambda _: "",
) -> Table:
    """The table with a line for each of these, with the columns that say something. Another
    `section` than that of the line before begins a new one; `mark` is that of its verdict. With
    `say_once`, lesser columns that say the same in all lines are left out."""
    every = [(column, [printable(column.cell(row)) for row in rows]) for column in columns]
    unknown = [column for column, cells in every if not set(cells) - {NOTHING, ""}]
    zero = [column for column, cells in every if column.is_rare and set(cells) <= _ZERO]
    known = [(c, cells) for c, cells in every if c not in unknown and c not in zero]
    alike = [
        (c, cells[0]) for c, cells in known if say_once and c.rank >= MORE and _are_alike(cells)
    ]
    shown = [(c, cells) for c, cells in known if c not in [each for each, _ in alike]]
    sections = [section(row) for row in rows]
    # Sections of a line each would only be farther apart.
    if len(set(sections)) == len(sections):
        sections = [None] * len(sections)
    return Table(
        [column for column, _ in shown],
        [
            TableLine(
                [cells[n] for _, cells in shown],
                style(row),
                n > 0 and sections[n] != sections[n - 1],
                [cells[n] if c.value is None else c.value(row) for c, cells in shown],
                mark(row),
            )
            for n, row in enumerate(rows)
        ],
        zero=[_named(column) for column in zero if column not in unknown],
        unknown=[_named(column) for column in unknown],
        alike=[" ".join(word for word in (c.name, cell, c.unit) if word) for c, cell in alike],
    )


def _are_alike(cells: Sequence[str]) -> bool:
    return len(cells) >= _FEWEST_ALIKE and len(set(cells)) == 1


def _named(column: Column) -> str:
    return " ".join(word for word in (column.name, column.unit) if word not in ("", "%"))


def text_table(
    title: str,
    names: Sequence[str],
    rows: Sequence[Sequence[str]],
    numbers: Collection[str] = (),
) -> Table:
    """A table of texts below these names; those of columns in `numbers` are numbers."""
    columns = [Column(printable(name), "", str, name not in numbers, rank=ALWAYS) for name in names]
    lines = [TableLine(cells := [printable(cell) for cell in row], values=cells) for row in rows]
    return Table(columns, lines, [title])

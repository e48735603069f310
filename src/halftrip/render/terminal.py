"""Blocks in lines of a terminal."""

from __future__ import annotations

import re
import shlex
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rich.console import Group
from rich.text import Text

from halftrip.analysis.figure import ALWAYS, VERDICT
from halftrip.render import blocks
from halftrip.render.plain import advice_of, name_in, names_in
from halftrip.report.numbers import MARKS_OF_ROWS, NOTHING
from halftrip.texts import printable, printable_lines

# What is not torn apart at the end of a line.
_TOGETHER = re.compile(r"([±>] )?\d (%|[num]?s|GB/s|MB/s)(?![a-z])|\b(core|rank|process) \d")
# Where there is no terminal, lines have so many columns.
WIDTH = 100
# Later lines of a paragraph are indented by so much.
_INDENT = 4
# Columns stand this far apart, closer where that makes room, but not closer than the last.
_GAPS = (3, 2)
# The columns of checks, of which the last has at least this width.
_GAP_OF_CHECKS = 2
_LEAST_WIDTH_OF_CHECKS = 30
# Names of lines stand beside their figures in so many columns or more.
_LEAST_WIDTH_OF_NAMES = 24
# A shell reads on in the next line.
_GOES_ON = " \\"
_COLOURS = {"ok": "green", "warning": "yellow", "unknown": "dim"}


def render(shown: Sequence[blocks.Block], width: int, wide: bool = False) -> Group:
    """The blocks in lines of at most `width` columns. `wide`: tables have all columns, and text
    beside them is in lines that are easy to read; where there is no table, lines are as long as
    they get."""
    if wide:
        width = WIDTH if any(isinstance(each, blocks.Table) for each in shown) else sys.maxsize
    return Group(*_Screen(width, wide).lines(shown))


def lines(shown: Sequence[blocks.Block], width: int) -> list[Text]:
    """The lines of `render`."""
    return _Screen(width, False).lines(shown)


def text_lines(text: str, width: int, style: str = "") -> list[Text]:
    """Lines of `text`; the later ones are indented."""
    return [Text(line, style=style) for line in wrapped("", text, width, _INDENT)]


def wrapped(label: str, text: str, width: int, indent: int | None = None) -> list[str]:
    """Lines of `text` after a label; the later ones are indented by as much, or by `indent`. A
    figure and its unit stay on one line."""
    lines = textwrap.wrap(
        _TOGETHER.sub(lambda match: match[0].replace(" ", blocks.NO_BREAK), text),
        width,
        initial_indent=label,
        subsequent_indent=" " * (len(label) if indent is None else indent),
        break_on_hyphens=False,
    )
    return [printable(line.replace(blocks.NO_BREAK, " ")) for line in lines]


class _Screen:
    """Lines of a width, the columns of the latest table that are shown, and what has been said of
    columns: it is not repeated below each table."""

    def __init__(self, width: int, wide: bool) -> None:
        self._width = width
        self._wide = wide
        self._shown: Sequence[blocks.Column] = ()
        self._said: set[str] = set()

    def lines(self, shown: Iterable[blocks.Block]) -> list[Text]:
        found: list[Text] = []
        is_silent = False
        for block in shown:
            if is_silent and isinstance(block, blocks.Space):
                # One above a legend that says nothing new is enough.
                is_silent = False
                continue
            lines = self._block(block)
            is_silent = isinstance(block, blocks.Legend) and not lines
            found += lines
        return found

    def _block(self, block: blocks.Block) -> list[Text]:
        made: Mapping[type[blocks.Block], Callable[[Any], list[Text]]] = {
            blocks.Paragraph: self._paragraph,
            blocks.Items: self._items,
            blocks.Terms: self._terms,
            blocks.Heading: lambda heading: [Text(printable(heading.text), style="bold")],
            blocks.SummaryLine: self._summary,
            blocks.Code: lambda code: [Text(printable(line)) for line in code.text.splitlines()],
            blocks.Table: self._table,
            blocks.Legend: self._legend,
            blocks.Picture: lambda picture: self._all(
                [picture.chart.title, *picture.chart.lines, picture.chart.text]
            ),
            blocks.Checks: lambda checks: _checks(checks.checks, self._width),
            blocks.Fold: lambda fold: [Text(fold.summary, style="bold"), *self.lines(fold.blocks)],
            blocks.Space: lambda _: [Text()],
        }
        return made[type(block)](block)

    def _all(self, lines: Iterable[str], style: str = "") -> list[Text]:
        return [part for line in lines for part in text_lines(line, self._width, style)]

    def _items(self, block: blocks.Items) -> list[Text]:
        indent = " " * block.indent
        return [
            Text(each, style=block.style)
            for line in block.lines
            for each in wrapped(indent, line, self._width, _INDENT)
        ]

    def _paragraph(self, block: blocks.Paragraph) -> list[Text]:
        term = f"{block.term}: " if block.term else ""
        return text_lines(f"{term}{block.text}", self._width, block.style)

    def _terms(self, block: blocks.Terms) -> list[Text]:
        longest = max(block.least, *(len(term) for term, _ in block.items))
        indent = " " * block.indent
        found: list[str] = []
        for term, text in block.items:
            label = indent + (f"{term}:".ljust(longest + 2) if term else "")
            lines = wrapped(label, text, self._width) if text else []
            for each in block.commands.get(term, ()):
                lines += _command(each, self._width, len(label))
            if not text and lines:
                # The first command stands beside its term.
                lines[0] = label + lines[0][len(label) :]
            found += lines
        return [Text(line, style=block.style) for line in found]

    def _summary(self, block: blocks.SummaryLine) -> list[Text]:
        line = block.parts[0]
        for part in block.parts[1:]:
            if len(line) + 3 + len(part) <= self._width:
                line += f" · {part}"
        return [Text(line)]

    def _legend(self, block: blocks.Legend) -> list[Text]:
        lines = [each for each in block.lines(self._shown) if each not in self._said]
        self._said.update(lines)
        if not block.in_one or not lines:
            return self._all(lines, "dim")
        return [Text(each, style="dim") for each in wrapped("", " ".join(lines), self._width)]

    def _table(self, block: blocks.Table) -> list[Text]:
        lines: list[Text] = []
        if block.titling != "none":
            lines = self._all(block.title, "bold" if block.titling == "heading" else "")
        if block.titling == "apart":
            lines.append(Text())
        room = None if self._wide else self._width
        block, kept, gap = _fitted(block, room)
        part = block.only(kept)
        self._shown = part.columns
        found = _table_lines(part, " " * gap)
        if block.instead and room is not None and max(map(len, found)) > room:
            return [*lines, *self.lines(block.instead)]
        lines += found
        left_out = dict.fromkeys(c.name for n, c in enumerate(block.columns) if n not in kept)
        if left_out:
            said = f"no room for {', '.join(filter(None, left_out))}: --wide"
            lines += text_lines(said, self._width, "dim")
            if VERDICT in left_out and any(line.mark for line in block.lines):
                lines += text_lines(MARKS_OF_ROWS, self._width, "dim")
        return lines


def _fitted(table: blocks.Table, room: int | None) -> tuple[blocks.Table, list[int], int]:
    """A table, the numbers of the columns that there is room for, and how far apart they stand.
    Where one that always stands there would be left out, what tells lines apart is in one column;
    where it is still the verdict, figures have its mark."""
    kept, gap = _fitting(table, room)
    if any(c.rank == ALWAYS and n not in kept for n, c in enumerate(table.columns)):
        table = _named_lines(table, sys.maxsize if room is None else room)
        kept, gap = _fitting(table, room)
    if VERDICT in [c.name for n, c in enumerate(table.columns) if n not in kept]:
        table = table._replace(lines=[_marked(line, table.columns) for line in table.lines])
        kept, gap = _fitting(table, room)
    return table, kept, gap


def _named_lines(table: blocks.Table, room: int) -> blocks.Table:
    """The table with the texts in front of its figures in one column, in several lines where there
    is too little room beside the figures that always stand there."""
    names = names_in(table)
    begin, end = names.start, names.stop
    if len(names) < 2 or end == len(table.columns):
        return table
    others = [*range(begin), *range(end, len(table.columns))]
    sizes = _widths(table)
    room -= sum(sizes[n] + 1 for n in others if table.columns[n].rank == ALWAYS)
    lines = []
    for line in table.lines:
        name = name_in(table, line, names)
        first, *more = wrapped("", name, max(room, _LEAST_WIDTH_OF_NAMES), 2) or [""]
        whole = [*line.cells[:begin], first, *line.cells[end:]]
        lines.append(line._replace(cells=whole, values=()))
        empty = [""] * (len(whole) - 1)
        lines += [
            blocks.TableLine([*empty[:begin], each, *empty[begin:]], line.style) for each in more
        ]
    shared = table.columns[begin]._replace(name="row")
    columns = [*table.columns[:begin], shared, *table.columns[end:]]
    return table._replace(columns=columns, lines=lines)


def _marked(line: blocks.TableLine, columns: Sequence[blocks.Column]) -> blocks.TableLine:
    cells = zip(line.cells, columns, strict=True)
    return line._replace(
        cells=[cell + (line.mark if c.is_marked and cell != NOTHING else "") for cell, c in cells]
    )


def _fitting(table: blocks.Table, room: int | None) -> tuple[list[int], int]:
    """The numbers of the columns that there is room for, and how far apart they stand."""
    width = sys.maxsize if room is None else room
    sizes = _widths(table)
    kept = list(range(len(sizes)))
    while True:
        for gap in _GAPS:
            if sum(sizes[n] for n in kept) + gap * (len(kept) - 1) <= width:
                return kept, gap
        least = table.columns[max(kept, key=lambda n: (table.columns[n].rank, n))]
        if least.rank == ALWAYS:
            break
        # Columns of one name, as of several runs, have a meaning beside each other only.
        kept = [n for n in kept if table.columns[n].name != least.name or not table.columns[n].rank]
    # The first columns are those that tell lines apart.
    while not table.instead and len(kept) > 2 and sum(sizes[n] + 1 for n in kept) > width + 1:
        kept.pop()
    return kept, 1


def _widths(table: blocks.Table) -> list[int]:
    return [
        max(len(column.name), len(column.unit), *(len(line.cells[n]) for line in table.lines))
        for n, column in enumerate(table.columns)
    ]


def _table_lines(table: blocks.Table, gap: str) -> list[Text]:
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


def _checks(checks: Sequence[blocks.CheckLine], width: int) -> list[Text]:
    """A line for each check, what was found beside it, and what to do below that; commands have
    lines of their own, as they are copied."""
    first = max(len(check.state) for check in checks) + _GAP_OF_CHECKS
    second = first + max(len(check.asks) for check in checks) + _GAP_OF_CHECKS
    room = max(width - second, _LEAST_WIDTH_OF_CHECKS)
    parts: list[Text] = []
    for check in checks:
        label = f"{check.state.ljust(first)}{check.asks.ljust(second - first)}"
        found = [line for text in check.found for line in wrapped("", text, room, 0)]
        lines = [Text(line) for line in found or [""]]
        lines += [Text(line, style="italic") for line in wrapped("", advice_of(check), room, 0)]
        for number, line in enumerate(lines):
            begin = Text(label if number == 0 else " " * second)
            begin.stylize(_COLOURS.get(check.state, ""), 0, len(check.state) if not number else 0)
            begin.append_text(line)
            begin.rstrip()
            parts.append(begin)
        parts += [Text(line) for each in check.commands for line in _command(each, width)]
    return parts


def _command(command: str, width: int, indent: int = _INDENT) -> list[str]:
    """A command in lines that a shell takes for one, with an end between words only; a comment of
    it where there is room, else below it."""
    command, mark, comment = command.partition(blocks.SHELL_COMMENT)
    room = width - len(_GOES_ON)
    lines = [" " * indent]
    for each in (w if w == ">" else shlex.quote(w) for w in shlex.split(command)):
        if lines[-1].strip() and len(lines[-1]) + len(each) > room:
            lines.append(" " * (indent + _INDENT))
        lines[-1] += f"{each} "
    lines = [line.rstrip() for line in lines]
    if len(lines) == 1 and mark and len(lines[0] + mark + comment) <= width:
        lines, comment = [lines[0] + mark + comment], ""
    found = printable_lines(f"{_GOES_ON}\n".join(lines)).splitlines()
    begin = f"{' ' * indent}# "
    below = wrapped("", comment, width - len(begin), 0) if comment else []
    return [*found, *(f"{begin}{line}" for line in below)]

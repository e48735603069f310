"""The blocks of a report in HTML. Every text is escaped here, and only here."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any

from halftrip.render import blocks
from halftrip.render.plain import advice_of, name_in, names_in, title_of
from halftrip.texts import printable, printable_lines

# The classes of verdicts, and of rules that are kept.
_CLASSES = {
    "caution": "caution",
    "no": "no",
    "in part": "caution",
    "not kept": "no",
    "kept": "ok",
    "ok": "ok",
    "warning": "caution",
}
# A text of so many characters would be a column of single words where a table is wider than a page.
_LONG = 40
# So many names of a line or more share a column on a narrow page.
_FEWEST_SHARED = 3
# Pixels: what a page as wide as page.css lets it be has for a table, a character of a cell, what is
# beside its text, the arrow in a heading, and the least width of a text, which is in lines, and of
# a long one.
_ROOM, _CHARACTER, _BESIDE, _ARROW, _TEXT, _LONG_TEXT = 1040, 8.4, 24, 18, 80, 256


def escaped(text: str) -> str:
    """A text that stands in HTML as it is, without control characters."""
    return html.escape(printable(text))


# A figure and its unit, which stay on one line.
_UNIT = re.compile(r"(\d) (%|[num]?s|[GM]B/s|[KMG]?i?B)(?![\w/])")


def prose(text: str) -> str:
    """An escaped text, in lines that do not part a figure from its unit."""
    return _UNIT.sub(r"\1&nbsp;\2", escaped(text))


Draw = Callable[[Any], str]


def body(page: blocks.Page, draw: Draw, before_pictures: str) -> str:
    """All sections, with a list of them in front. `draw` makes an element of a picture; what stands
    before the section that has the first is given."""
    places = "".join(
        f'<li><a href="#{each.name}">{escaped(each.title)}</a></li>' for each in page.sections
    )
    contents = f'<nav aria-label="Contents"><ul>{places}</ul></nav>'
    writer = Writer(draw)
    first = next((each for each in page.sections if any(map(_is_picture, each.blocks))), None)
    parts = [
        (before_pictures if each is first else "") + _section(each, writer)
        for each in page.sections
    ]
    return "\n".join([contents, *parts])


def _is_picture(block: blocks.Block) -> bool:
    return isinstance(block, blocks.Picture)


def _section(section: blocks.Section, writer: Writer) -> str:
    heading = f'<h2 id="{section.name}-title">{escaped(section.title)}</h2>'
    return (
        f'<section id="{section.name}" aria-labelledby="{section.name}-title">\n{heading}\n'
        f"{writer.write(section.blocks)}\n</section>"
    )


class Writer:
    """Writes blocks; names of elements are given once."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self._count = 0
        self._shown: Sequence[blocks.Column] = ()
        self._writers: Mapping[type[blocks.Block], Callable[[Any], str]] = {
            blocks.Paragraph: lambda block: f"<p>{_term(block.term)}{prose(block.text)}</p>",
            blocks.Items: lambda block: _list(map(prose, block.lines)),
            blocks.Terms: lambda block: _list(
                _term(term) + _with_commands([prose(text)], block.commands.get(term, ()))
                for term, text in block.items
            ),
            blocks.Heading: lambda block: f"<p><strong>{escaped(block.text)}</strong></p>",
            blocks.SummaryLine: lambda block: f"<p>{escaped(' · '.join(block.parts))}</p>",
            blocks.Code: self._code,
            blocks.Table: self._table,
            blocks.Legend: self._legend,
            blocks.Picture: lambda block: draw(block.chart),
            blocks.Checks: _checks,
            blocks.Fold: self._fold,
            blocks.Space: lambda _: "",
        }

    def write(self, shown: Iterable[blocks.Block]) -> str:
        return "\n".join(filter(None, (self._writers[type(each)](each) for each in shown)))

    def _name(self) -> str:
        self._count += 1
        return f"e{self._count}"

    def _fold(self, block: blocks.Fold) -> str:
        summary = f"<summary>{escaped(block.summary)}</summary>"
        return f"<details>{summary}\n{self.write(block.blocks)}\n</details>"

    def _code(self, block: blocks.Code) -> str:
        name = self._name()
        text = html.escape(printable_lines(block.text))
        return (
            f'<p class="what" id="{name}">{escaped(block.title)}</p>'
            f'<pre tabindex="0" role="region" aria-labelledby="{name}"><code>{text}</code></pre>'
        )

    def _legend(self, block: blocks.Legend) -> str:
        lines = "".join(f"<p>{prose(each)}</p>" for each in block.lines(self._shown))
        return f'<div class="legend">{lines}</div>' if lines else ""

    def _table(self, block: blocks.Table) -> str:
        """A table, in parts one below the other where it has more columns than a page has room
        for; on narrower pages, it scrolls alone. It can be sorted by its columns."""
        self._shown = block.columns
        title = title_of(block) or "Table"
        return "\n".join(
            self._part(block.only(kept), f"{title} (continued)" if part else title)
            for part, kept in enumerate(_parts(block))
        )

    def _part(self, block: blocks.Table, title: str) -> str:
        name = self._name()
        is_prose = any(_is_long(cell) for line in block.lines for cell in line.cells)
        names = names_in(block)
        # Fewer have room beside each other on a narrow page.
        are_shared = len(names) >= _FEWEST_SHARED and not is_prose
        first, *others = names if are_shared else (None,)
        heads = "".join(
            _head(column, "other" * (n in others)) for n, column in enumerate(block.columns)
        )
        lines = "".join(
            _line(line, block, n in block.differing, is_prose, first, others)
            for n, line in enumerate(block.lines)
        )
        return (
            f'<div class="wide" role="region" aria-labelledby="{name}" tabindex="0">'
            f"<table{_class(*['prose'] * is_prose)}>"
            f'<caption id="{name}">{escaped(title)}</caption>'
            f"<thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table></div>"
        )


def _parts(block: blocks.Table) -> list[list[int]]:
    """The numbers of the columns of each part of a table that is too wide for a page: those that
    tell its lines apart, which are the first, stand in all parts."""
    widths = [_width(block, number) for number in range(len(block.columns))]
    keys = [*takewhile(lambda n: block.columns[n].is_text or n == 0, range(len(widths)))]
    while len(keys) > 1 and 2 * sum(widths[n] for n in keys) > _ROOM:
        keys.pop()
    # The size of a message follows what else tells rows apart.
    keys += [n for n in range(len(widths)) if n == len(keys) and block.columns[n].name == "size"]
    parts = [[*keys]]
    for number in range(len(keys), len(widths)):
        if sum(widths[n] for n in (*parts[-1], number)) > _ROOM and len(parts[-1]) > len(keys):
            parts.append([*keys])
        parts[-1].append(number)
    return parts


def _width(block: blocks.Table, number: int) -> float:
    """How many pixels a column takes at least."""
    column = block.columns[number]
    cells = [line.cells[number] for line in block.lines]
    head = _CHARACTER * len(f"{column.name} {column.unit}".strip()) + _ARROW
    if column.is_text and number:
        words = max((len(word) for cell in cells for word in cell.split()), default=0)
        least = _LONG_TEXT if any(map(_is_long, cells)) else _TEXT
        return _BESIDE + max(head, least, _CHARACTER * words)
    return _BESIDE + max(head, _CHARACTER * max(map(len, cells), default=0))


def _is_long(cell: str) -> bool:
    return len(cell) > _LONG


def _term(term: str) -> str:
    return f"<strong>{escaped(term)}:</strong> " if term else ""


def _list(lines: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{line}</li>' for line in lines)}</ul>"


def _checks(block: blocks.Checks) -> str:
    lines = "".join(map(_check, block.checks))
    name = "ol" if block.numbered else "ul"
    return f'<{name} class="rules">{lines}</{name}>'


def _check(check: blocks.CheckLine) -> str:
    state = f'<b class="{_CLASSES.get(check.state, "")}">{escaped(check.state)}</b>'
    said = [*map(prose, filter(None, [*check.found, advice_of(check)]))]
    found = _with_commands(said, check.commands)
    return f"<li><p>{escaped(check.asks)} {state}</p><p>{found}</p></li>"


def _with_commands(said: Sequence[str], commands: Sequence[str]) -> str:
    """Lines of prose, and below them commands to be copied."""
    codes = (f"<code>{escaped(each)}</code>" for each in commands)
    return "<br>".join(filter(None, [*said, *codes]))


def _head(column: blocks.Column, kind: str) -> str:
    kind = _class(*["text"] * column.is_text, *filter(None, [kind]))
    unit = f" <small>{escaped(column.unit)}</small>" if column.unit else ""
    # A heading must not be empty.
    return f'<th scope="col"{kind}>{escaped(column.name) or "note"}{unit}</th>'


def _line(
    line: blocks.TableLine,
    table: blocks.Table,
    differs: bool,
    is_prose: bool,
    first: int | None,
    others: Sequence[int],
) -> str:
    """A line of a table. On a narrow page, the name in the column `first` has those of the `others`
    behind it, which have no columns there."""
    kinds = ["differs"] * differs + ["begins"] * line.begins_section
    rest = name_in(table, line, others)
    cells = "".join(
        _cell(cell, column, n == 0, is_prose, rest if n == first else "", ["other"] * (n in others))
        for n, (cell, column) in enumerate(zip(line.cells, table.columns, strict=True))
    )
    return f"<tr{_class(*kinds)}>{cells}</tr>"


def _cell(
    cell: str,
    column: blocks.Column,
    is_first: bool,
    is_prose: bool,
    rest: str,
    more: Sequence[str],
) -> str:
    kinds = ["text"] * column.is_text + [*more]
    behind = f' data-rest=" {escaped(rest)}"' if rest else ""
    if column.is_text and _is_long(cell):
        kinds.append("long")
    if column.name == "verdict" and cell in _CLASSES:
        kinds.append(_CLASSES[cell])
    if is_first:
        return f'<th scope="row"{_class(*kinds)}{behind}>{escaped(cell)}</th>'
    # On a narrow page, cells stand below each other, each behind its heading.
    head = f' data-head="{escaped(column.name)}: "' if is_prose and column.name else ""
    return f"<td{_class(*kinds)}{head}{behind}>{escaped(cell)}</td>"


def _class(*names: str) -> str:
    return f' class="{" ".join(names)}"' if names else ""

"""The blocks of a report in HTML. Every text is escaped here, and only here."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from halftrip.render import blocks
from halftrip.render.plain import title_of
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
                _term(term) + prose(text) for term, text in block.items
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
        """A table that scrolls alone where the page is narrow, and can be sorted by its columns."""
        name = self._name()
        self._shown = block.columns
        heads = "".join(map(_head, block.columns))
        lines = "".join(
            _line(line, block.columns, n in block.differing) for n, line in enumerate(block.lines)
        )
        title = escaped(title_of(block) or "Table")
        return (
            f'<div class="wide" role="region" aria-labelledby="{name}" tabindex="0">'
            f'<table><caption id="{name}">{title}</caption>'
            f"<thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table></div>"
        )


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
    found = "<br>".join(map(prose, filter(None, [*check.found, check.advice])))
    return f"<li><p>{escaped(check.asks)} {state}</p><p>{found}</p></li>"


def _head(column: blocks.Column) -> str:
    kind = ' class="text"' if column.is_text else ""
    unit = f" <small>{escaped(column.unit)}</small>" if column.unit else ""
    # A heading must not be empty.
    return f'<th scope="col"{kind}>{escaped(column.name) or "note"}{unit}</th>'


def _line(line: blocks.TableLine, columns: Sequence[blocks.Column], differs: bool) -> str:
    kinds = ["differs"] * differs + ["begins"] * line.begins_section
    cells = "".join(
        _cell(cell, column, n == 0)
        for n, (cell, column) in enumerate(zip(line.cells, columns, strict=True))
    )
    return f"<tr{_class(*kinds)}>{cells}</tr>"


def _cell(cell: str, column: blocks.Column, is_first: bool) -> str:
    kinds = ["text"] * column.is_text
    if column.is_text and len(cell) > _LONG:
        kinds.append("long")
    if column.name == "verdict" and cell in _CLASSES:
        kinds.append(_CLASSES[cell])
    if is_first:
        return f'<th scope="row"{_class(*kinds)}>{escaped(cell)}</th>'
    return f"<td{_class(*kinds)}>{escaped(cell)}</td>"


def _class(*names: str) -> str:
    return f' class="{" ".join(names)}"' if names else ""

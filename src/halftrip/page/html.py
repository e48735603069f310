"""The blocks of a report in HTML. Every text is escaped here, and only here."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from halftrip.page.blocks import (
    Block,
    Code,
    Drawn,
    Folded,
    Items,
    Report,
    Rule,
    Ruled,
    Said,
    Section,
    Tabled,
)
from halftrip.page.drawing import script_json, specification, transports
from halftrip.plots.chart import Chart
from halftrip.plots.writing import said_of
from halftrip.report.layout import Column, Line
from halftrip.texts import printable, printable_lines

# The classes of verdicts, and of rules that are kept.
_CLASSES = {
    "caution": "caution",
    "no": "no",
    "in part": "caution",
    "not kept": "no",
    "kept": "ok",
    "ok": "ok",
}


def escaped(text: str) -> str:
    """A text that stands in HTML as it is, without control characters."""
    return html.escape(printable(text))


# A figure and its unit, which stay on one line.
_UNIT = re.compile(r"(\d) (%|[num]?s|[GM]B/s|[KMG]?i?B)(?![\w/])")


def _prose(text: str) -> str:
    """An escaped text, in lines that do not part a figure from its unit."""
    return _UNIT.sub(r"\1&nbsp;\2", escaped(text))


def body(report: Report) -> str:
    """All sections, with a list of them in front."""
    places = "".join(
        f'<li><a href="#{each.name}">{escaped(each.title)}</a></li>' for each in report.sections
    )
    contents = f'<nav aria-label="Contents"><ul>{places}</ul></nav>'
    names = _Names()
    first = next((each for each in report.sections if any(map(_is_drawn, each.blocks))), None)
    parts = [
        (choice(report.charts) if each is first else "") + _section(each, names)
        for each in report.sections
    ]
    return "\n".join([contents, *parts])


def _is_drawn(block: Block) -> bool:
    return isinstance(block, Drawn)


def choice(charts: Sequence[Chart]) -> str:
    """Check boxes for the transports of all charts; a script shows them."""
    names = transports(charts)
    if len(names) < 2:
        return ""
    boxes = "".join(
        f'<label><input type="checkbox" value="{escaped(name)}" checked> {escaped(name)}</label>'
        for name in names
    )
    return (
        '<div id="choice" role="group" aria-labelledby="choice-title" hidden>'
        f'<span id="choice-title">Shown in pictures:</span>{boxes}</div>\n'
    )


class _Names:
    """Names of elements, of which each is given once."""

    def __init__(self) -> None:
        self._count = 0

    def next(self) -> str:
        self._count += 1
        return f"e{self._count}"


def _section(section: Section, names: _Names) -> str:
    parts = "\n".join(_block(block, names) for block in section.blocks)
    heading = f'<h2 id="{section.name}-title">{escaped(section.title)}</h2>'
    return (
        f'<section id="{section.name}" aria-labelledby="{section.name}-title">\n{heading}\n'
        f"{parts}\n</section>"
    )


def _block(block: Block, names: _Names) -> str:
    made: Mapping[type[Block], Callable[[Any, _Names], str]] = {
        Said: _said,
        Items: _items,
        Code: _code,
        Tabled: _table,
        Drawn: lambda drawn, _: figure(drawn.chart),
        Ruled: lambda ruled, _: f'<ol class="rules">{"".join(map(_rule, ruled.rules))}</ol>',
        Folded: _folded,
    }
    return made[type(block)](block, names)


def _said(block: Said, _: _Names) -> str:
    term = f"<strong>{escaped(block.term)}:</strong> " if block.term else ""
    return f"<p>{term}{_prose(block.text)}</p>"


def _items(block: Items, _: _Names) -> str:
    return f"<ul>{''.join(f'<li>{_prose(line)}</li>' for line in block.lines)}</ul>"


def _folded(block: Folded, names: _Names) -> str:
    inner = "\n".join(_block(each, names) for each in block.blocks)
    return f"<details><summary>{escaped(block.summary)}</summary>\n{inner}\n</details>"


def _code(block: Code, names: _Names) -> str:
    name = names.next()
    text = html.escape(printable_lines(block.text))
    return (
        f'<p class="what" id="{name}">{escaped(block.title)}</p>'
        f'<pre tabindex="0" role="region" aria-labelledby="{name}"><code>{text}</code></pre>'
    )


def _rule(rule: Rule) -> str:
    kept = f'<b class="{_CLASSES.get(rule.kept, "")}">{escaped(rule.kept)}</b>'
    how = "<br>".join(map(_prose, rule.how))
    return f"<li><p>{escaped(rule.asks)} {kept}</p><p>{how}</p></li>"


# Tables.


def _table(block: Tabled, names: _Names) -> str:
    """A table that scrolls alone where the page is narrow, and can be sorted by its columns."""
    name = names.next()
    columns = block.table.columns
    heads = "".join(map(_head, columns))
    lines = "".join(
        _line(line, columns, n in block.differing) for n, line in enumerate(block.table.lines)
    )
    legend = "".join(f"<p>{_prose(each)}</p>" for each in block.legend)
    said = f'<div class="legend">{legend}</div>' if legend else ""
    return (
        f'<div class="wide" role="region" aria-labelledby="{name}" tabindex="0">'
        f'<table><caption id="{name}">{escaped(block.title)}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table></div>{said}"
    )


def _head(column: Column) -> str:
    kind = ' class="text"' if column.is_text else ""
    unit = f" <small>{escaped(column.unit)}</small>" if column.unit else ""
    # A heading must not be empty.
    return f'<th scope="col"{kind}>{escaped(column.name) or "note"}{unit}</th>'


def _line(line: Line, columns: Sequence[Column], differs: bool) -> str:
    kinds = ["differs"] * differs + ["begins"] * line.begins_section
    cells = "".join(
        _cell(cell, column, n == 0)
        for n, (cell, column) in enumerate(zip(line.cells, columns, strict=True))
    )
    return f"<tr{_class(*kinds)}>{cells}</tr>"


def _cell(cell: str, column: Column, is_first: bool) -> str:
    kinds = ["text"] * column.is_text
    if column.name == "verdict" and cell in _CLASSES:
        kinds.append(_CLASSES[cell])
    if is_first:
        return f'<th scope="row"{_class(*kinds)}>{escaped(cell)}</th>'
    return f"<td{_class(*kinds)}>{escaped(cell)}</td>"


def _class(*names: str) -> str:
    return f' class="{" ".join(names)}"' if names else ""


# Pictures.


def figure(chart: Chart) -> str:
    """A picture with its title, its lines, and what it shows in words; a script draws it."""
    name = f"chart-{chart.name}"
    lines = "".join(f"<p>{_prose(line)}</p>" for line in said_of(chart))
    return (
        f'<figure aria-labelledby="{name}-title">'
        f'<figcaption><h3 id="{name}-title">{escaped(chart.title)}</h3>{lines}</figcaption>'
        f'<div class="picture" id="{name}" role="img" aria-labelledby="{name}-title" '
        f'aria-describedby="{name}-text"><div aria-hidden="true"></div></div>'
        f'<details class="words"><summary>In words</summary>'
        f'<p id="{name}-text">{_prose(chart.text)}</p></details>'
        f'<script type="application/json" data-for="{name}">'
        f"{script_json(specification(chart))}</script></figure>"
    )

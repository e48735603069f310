"""Blocks in GitHub Flavored Markdown, without pictures: what they show is said in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from halftrip.render import blocks
from halftrip.render.plain import found_by, texts_of, title_of
from halftrip.texts import printable, printable_lines

# What means something to Markdown or HTML in the middle of a line: one tilde alone strikes nothing,
# and > only closes what < opens.
_MEANS = re.compile(r"([\\`*_\[\]<&]|~(?=.*~)|(?<=~)~)")
_MEANS_BEHIND_LESS = re.compile(r"([\\`*_\[\]<>&]|~(?=.*~)|(?<=~)~)")
# What does at the beginning of one.
_BEGINS = re.compile(r"^(\s*\d*)([-+=.)](?=\s|$)|[>#])", re.ASCII)


def escaped(text: str) -> str:
    """A text that Markdown shows as it is, without control characters."""
    return _BEGINS.sub(r"\1\\\2", _in_line(text))


def _in_line(text: str) -> str:
    """The same within a line."""
    means = _MEANS_BEHIND_LESS if "<" in text else _MEANS
    return means.sub(r"\\\1", printable(text))


def page(made: blocks.Page) -> str:
    """A whole page."""
    line = [escaped(made.line)] if made.line else []
    parts = [f"# {escaped(made.title)}", *line, *map(_section, made.sections)]
    return "\n\n".join(parts) + "\n"


def _section(section: blocks.Section) -> str:
    return "\n\n".join([f"## {escaped(section.title)}", *_blocks(section.blocks)])


def render(view: blocks.View) -> str:
    """A view."""
    return "".join(f"{block}\n\n" for block in _blocks(view.blocks))[:-1]


def _blocks(shown: Iterable[blocks.Block]) -> list[str]:
    columns: Sequence[blocks.Column] = ()
    parts: list[str] = []
    for block in shown:
        if isinstance(block, blocks.Table):
            columns = block.columns
        if isinstance(block, blocks.Legend):
            parts += map(escaped, block.lines(columns))
        else:
            parts.append(_WRITERS[type(block)](block))
    return [*filter(None, parts)]


def _picture(block: blocks.Picture) -> str:
    """What a picture shows, in words."""
    chart = block.chart
    words = chart.text.removeprefix(f"{chart.title}. ")
    parts = [f"### {escaped(chart.title)}", *map(escaped, filter(None, [*chart.lines, words]))]
    return "\n\n".join(parts)


def _paragraph(block: blocks.Paragraph) -> str:
    return f"{_term(block.term)}{escaped(block.text.strip())}"


def _term(term: str) -> str:
    return f"**{escaped(term)}:** " if term else ""


def _items(block: blocks.Items) -> str:
    return "\n".join(f"- {escaped(line)}" for line in block.lines)


def _terms(block: blocks.Terms) -> str:
    return "\n".join(f"- {_term(term)}{escaped(text)}" for term, text in texts_of(block))


def _code(block: blocks.Code) -> str:
    """Lines in a fence that is longer than any in them."""
    shown = printable_lines(block.text).rstrip("\n")
    longest = max(map(len, re.findall(r"`+", shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{escaped(block.title)}:\n\n{fence}\n{shown}\n{fence}"


def _table(block: blocks.Table) -> str:
    """A pipe table below its title."""

    def joined(cells: Iterable[str]) -> str:
        return f"| {' | '.join(cells)} |"

    lines = [
        joined(map(_heading, block.columns)),
        joined("---" if column.is_text else "---:" for column in block.columns),
        *(joined(map(_cell, line.cells)) for line in block.lines),
    ]
    title = title_of(block)
    return "\n\n".join([*([escaped(title)] if title else []), "\n".join(lines)])


def _heading(column: blocks.Column) -> str:
    return _cell(f"{column.name} ({column.unit})" if column.unit else column.name)


def _cell(text: str) -> str:
    return _in_line(text).replace("|", "\\|")


def _checks(block: blocks.Checks) -> str:
    return "\n".join(
        f"{f'{number}.' if block.numbered else '-'} {_check(each)}"
        for number, each in enumerate(block.checks, 1)
    )


def _check(check: blocks.CheckLine) -> str:
    return f"{escaped(check.asks)} **{escaped(check.state)}**: {escaped(found_by(check))}"


def _fold(block: blocks.Fold) -> str:
    return "\n\n".join([f"**{escaped(block.summary)}**", *_blocks(block.blocks)])


_WRITERS: Mapping[type[blocks.Block], Callable[[Any], str]] = {
    blocks.Paragraph: _paragraph,
    blocks.Items: _items,
    blocks.Terms: _terms,
    blocks.Heading: lambda block: f"**{escaped(block.text)}**",
    blocks.SummaryLine: lambda block: escaped(" · ".join(block.parts)),
    blocks.Code: _code,
    blocks.Table: _table,
    blocks.Picture: _picture,
    blocks.Checks: _checks,
    blocks.Fold: _fold,
    blocks.Space: lambda _: "",
}

"""A report in GitHub Flavored Markdown, without its pictures: what they show is said in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
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
from halftrip.report.layout import Table, as_markdown
from halftrip.texts import printable, printable_lines

# What means something to Markdown or HTML in the middle of a line.
_MEANS = re.compile(r"([\\`*_\[\]<>&#~])")
# What does at the beginning of one.
_BEGINS = re.compile(r"^(\s*\d*)([-+=.)])(?=\s|$)", re.ASCII)


def escaped(text: str) -> str:
    """A text that Markdown shows as it is, without control characters."""
    return _BEGINS.sub(r"\1\\\2", _MEANS.sub(r"\\\1", printable(text)))


def render(report: Report) -> str:
    """The whole report."""
    line = [escaped(report.line)] if report.line else []
    parts = [f"# {escaped(report.title)}", *line, *map(_section, report.sections)]
    return "\n\n".join(parts) + "\n"


def _section(section: Section) -> str:
    return "\n\n".join([f"## {escaped(section.title)}", *map(_block, section.blocks)])


def _block(block: Block) -> str:
    made: Mapping[type[Block], Callable[[Any], str]] = {
        Said: _said,
        Items: _items,
        Code: lambda code: f"{escaped(code.title)}:\n\n{_fenced(code.text)}",
        Tabled: _table,
        Drawn: _drawn,
        Ruled: lambda ruled: "\n".join(
            f"{number}. {_rule(rule)}" for number, rule in enumerate(ruled.rules, 1)
        ),
        Folded: lambda folded: "\n\n".join(
            [f"**{escaped(folded.summary)}**", *map(_block, folded.blocks)]
        ),
    }
    return made[type(block)](block)


def _drawn(block: Drawn) -> str:
    """What a picture shows, in words."""
    chart = block.chart
    words = chart.text.removeprefix(f"{chart.title}. ")
    parts = [f"### {escaped(chart.title)}", *map(escaped, filter(None, [*chart.lines, words]))]
    return "\n\n".join(parts)


def _said(block: Said) -> str:
    term = f"**{escaped(block.term)}:** " if block.term else ""
    return f"{term}{escaped(block.text)}"


def _items(block: Items) -> str:
    return "\n".join(f"- {escaped(line)}" for line in block.lines)


def _fenced(text: str) -> str:
    """Lines in a fence that is longer than any in them."""
    shown = printable_lines(text).rstrip("\n")
    longest = max(map(len, re.findall(r"`+", shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{shown}\n{fence}"


def _table(block: Tabled) -> str:
    table = Table(
        [
            column._replace(name=escaped(column.name), unit=escaped(column.unit))
            for column in block.table.columns
        ],
        [line._replace(cells=[escaped(cell) for cell in line.cells]) for line in block.table.lines],
    )
    parts = [escaped(block.title), as_markdown(table).rstrip("\n")]
    return "\n\n".join([*parts, *map(escaped, block.legend)])


def _rule(rule: Rule) -> str:
    how = " ".join(map(escaped, rule.how))
    return f"{escaped(rule.asks)} **{escaped(rule.kept)}**: {how}"

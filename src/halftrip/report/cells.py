"""Figures as text, in the cells of tables."""

from __future__ import annotations

import math
import re
import textwrap

from rich.text import Text

from halftrip.texts import printable
from halftrip.units import significant

# What is not torn apart at the end of a line, and what stands in it for a blank until then.
_TOGETHER = re.compile(r"([±>] )?\d (%|[num]?s|GB/s|MB/s)(?![a-z])|\b(core|rank|process) \d")
NO_BREAK = "\u00a0"
# Stands where a figure does not exist.
NOTHING = "-"


def number(value: float | None, digits: int = 3, scale: float = 1.0) -> str:
    """`value / scale` with at least that many significant digits; NOTHING for None and NaN."""
    if value is None or math.isnan(value):
        return NOTHING
    return significant(value / scale, digits)


def percent(share: float | None) -> str:
    """A share in per cent, to a tenth: it is not known more precisely."""
    if share is None or math.isnan(share):
        return NOTHING
    return f"{100 * share:.1f}"


def whole(count: float | None) -> str:
    """A whole number with its thousands grouped."""
    return NOTHING if count is None else f"{count:,.0f}"


def text_lines(text: str, width: int, style: str = "") -> list[Text]:
    """Lines of `text`; the later ones are indented."""
    return [Text(line, style=style) for line in wrapped("", text, width, 4)]


def wrapped(label: str, text: str, width: int, indent: int | None = None) -> list[str]:
    """Lines of `text` after a label; the later ones are indented by as much, or by `indent`. A
    figure and its unit stay on one line."""
    lines = textwrap.wrap(
        _TOGETHER.sub(lambda match: match[0].replace(" ", NO_BREAK), text),
        width,
        initial_indent=label,
        subsequent_indent=" " * (len(label) if indent is None else indent),
        break_on_hyphens=False,
    )
    return [printable(line.replace(NO_BREAK, " ")) for line in lines]

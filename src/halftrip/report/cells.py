"""Figures as text, in the cells of tables."""

from __future__ import annotations

import math
import textwrap

from rich.text import Text

from halftrip.units import significant

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
    """Lines of `text` after a label; the later ones are indented by as much, or by `indent`."""
    return textwrap.wrap(
        text,
        width,
        initial_indent=label,
        subsequent_indent=" " * (len(label) if indent is None else indent),
        break_on_hyphens=False,
    )

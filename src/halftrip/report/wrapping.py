"""Text in lines that fit, of which no figure is torn from its unit."""

from __future__ import annotations

import re
import textwrap

from rich.text import Text

from halftrip.texts import printable

# What is not torn apart at the end of a line, and what stands in it for a blank until then.
_TOGETHER = re.compile(r"([±>] )?\d (%|[num]?s|GB/s|MB/s)(?![a-z])|\b(core|rank|process) \d")
NO_BREAK = "\u00a0"


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

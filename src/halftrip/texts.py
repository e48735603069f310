"""Texts that come from elsewhere, as they can be printed."""

from __future__ import annotations

import re


def printable(text: str, longest: int | None = None) -> str:
    r"""`text` in one line, without anything that a terminal obeys or that hides what it shows:
    line ends and tabs become blanks, and other control and format characters, and what is no
    character, stand as Python writes them (``\x1b``). It is cut off after `longest` characters.

    >>> printable("a\tb\x1b[2J")
    'a b\\x1b[2J'
    """
    if longest is not None and len(text) > longest:
        text = text[:longest] + "..."
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else _shown(each) for each in text)


def printable_lines(text: str, tabs: bool = False) -> str:
    """The same of a text of several lines, which stay; with `tabs`, these stay, too."""
    if text.replace("\n", "").isprintable():
        return text
    lines = text.split("\n")
    if tabs:
        return "\n".join("\t".join(map(printable, line.split("\t"))) for line in lines)
    return "\n".join(map(printable, lines))


# What somebody has written, in quotation marks or without blanks.
_WRITTEN = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\S+")


def shortened(text: str, longest: int = 200) -> str:
    """`text` with no more than so many characters of anything that somebody has written, in
    quotation marks or as one word."""
    return _WRITTEN.sub(
        lambda found: found[0] if len(found[0]) <= longest else found[0][: longest - 3] + "...",
        text,
    )


def _shown(character: str) -> str:
    return " " if character.isspace() else character.encode("unicode_escape").decode("ascii")

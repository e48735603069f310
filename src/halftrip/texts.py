"""Texts that come from elsewhere, as they can be printed."""

from __future__ import annotations


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


def printable_lines(text: str) -> str:
    """The same of a text of several lines, which stay."""
    if text.replace("\n", "").isprintable():
        return text
    return "\n".join(printable(line) for line in text.split("\n"))


def _shown(character: str) -> str:
    return " " if character.isspace() else character.encode("unicode_escape").decode("ascii")

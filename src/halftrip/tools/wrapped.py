"""Tables whose rows a mailer has broken in two, at its last column: each row is one line again."""

from __future__ import annotations

import re

_QUOTE = r"[> \t]{0,20}"
_CELL = r"[-+]?\.?\d[\d.,]*(?:[eE][-+]?\d+)?%?|N/A|nan|-"
_REST = rf"{_QUOTE}(?:{_CELL})(?:[ \t]+(?:{_CELL}))*[ \t]*"
# Two rows or more, or one that has a name, each with its rest in a line of its own.
_ROWS = re.compile(
    rf"(?:^{_QUOTE}\d[^\n]{{35,79}}\n{_REST}\n){{2,}}|^{_QUOTE}Final:[^\n]{{35,73}}\n{_REST}\n",
    re.MULTILINE,
)
_MARKS = re.compile(r"[> \t]*")
# How the first line of a heading begins, in most tools.
_BEGINS = ("#", "|")
# Characters: the last column of any mailer, and what a line that it broke has at least, as a
# column of a table may be wide.
_LAST_COLUMN = 80
_LEAST = 36
# Lines of a heading, and those above a row in which they may be.
_MOST_BROKEN = 4
_MOST_ABOVE = 12
_FARTHEST = 4096


def joined(text: str) -> str:
    """The text with these rows, and the lines of their headings, in one line. What follows is an
    empty line, so that all others keep their numbers."""
    parts: list[str] = []
    done = 0
    for found in _ROWS.finditer(text):
        rows = found[0].split("\n")[:-1]
        near = max(done, found.start() - _FARTHEST)
        above = text[near : found.start()].split("\n")[-_MOST_ABOVE - 1 : -1]
        broken = _broken(above)
        if not broken or not _are_broken(rows):
            continue
        begin = found.start() - sum(len(line) + 1 for line in above)
        for first, last in broken:
            above[first : last + 1] = _one(above[first : last + 1])
        for first in range(0, len(rows), 2):
            rows[first : first + 2] = _one(rows[first : first + 2])
        parts += [text[done:begin], *(f"{line}\n" for line in (*above, *rows))]
        done = found.end()
    return "".join([*parts, text[done:]]) if parts else text


def _one(lines: list[str]) -> list[str]:
    first, *rest = lines
    return [" ".join([first, *map(_words, rest)]), *("" for _ in rest)]


def _are_broken(rows: list[str]) -> bool:
    """Whether each second line is the rest of the one above: each pair has as many cells, where
    rows of a table that is whole have as many in each line."""
    shapes = {(len(a.split()), len(b.split())) for a, b in zip(rows[::2], rows[1::2], strict=True)}
    first, rest = min(shapes)
    return len(shapes) == 1 and rest < first


def _broken(above: list[str]) -> list[tuple[int, int]]:
    """The lines above rows that are one, by the numbers of the first and the last of each."""
    found: list[tuple[int, int]] = []
    last = len(above) - 1
    while last > 0 and len(found) < _MOST_BROKEN:
        words, first = _words(above[last]), last - 1
        if not any(map(str.isalnum, words)):
            if not words and found:
                break
            # A rule, or blanks behind the last column.
            last -= 1
            continue
        if not _words(above[first]).startswith(_BEGINS) and first > 0:
            # A heading of three lines.
            first -= _words(above[first - 1]).startswith(_BEGINS) and _is_full(above[first - 1])
        is_comment = words.startswith("# ") or (
            words.startswith("#") and not _words(above[first]).startswith("#")
        )
        if is_comment or not _is_full(above[first]) or len(above[last].rstrip()) > _LAST_COLUMN:
            break
        found.append((first, last))
        last = first - 1
    return found


def _words(line: str) -> str:
    return _MARKS.sub("", line, count=1)


def _is_full(line: str) -> bool:
    return _LEAST <= len(line.rstrip()) <= _LAST_COLUMN

"""Quoted-printable, in which mail has texts: an equals sign and two digits stand for a byte, and a
line that ends with one goes on below."""

from __future__ import annotations

import re

_LONGEST_LINE = 76
_HEADER = re.compile(
    rb"^Content-Transfer-Encoding:[ \t]*(?P<encoding>[\w-]+)", re.IGNORECASE | re.MULTILINE
)
# What stands between the parts of a mail, and before the next one in a box of several.
_BOUNDARY = re.compile(rb"\bboundary=\"?([^\"\s;]+)")
_NEXT = rb"From \S+ .*\d"
_ESCAPE = re.compile(rb"=(?:([0-9A-F]{2})|(?=\r?$))", re.MULTILINE)
_SOFT = re.compile(rb"[^\n]*=\r?\n")
# What no other text has: the sign itself, a letter of UTF-8, blanks that end a line, and a line
# that was broken where it had no more room.
_SIGNS = re.compile(
    rb"=3D|=[C-F][0-9A-F]=[89AB][0-9A-F]|=(?:20|09)\r?$|^[^\n]{72,75}=\r?$", re.MULTILINE
)
_BROKEN = re.compile(rb"=(?![0-9A-F]{2}|\r?$)", re.MULTILINE)
_LONG = re.compile(rb"^[^\n]{%d}[^\r\n]" % _LONGEST_LINE, re.MULTILINE)


def decoded(content: bytes) -> bytes:
    """The content with what is surely quoted-printable as it was: where every equals sign is as
    that has them, parts below a header that says so, or, without such a header, all of it, if it
    has signs of it and no longer lines. Lines keep their numbers: behind one that was broken there
    are blank ones."""
    headers = [*_HEADER.finditer(content)]
    if not headers:
        is_sure = _SIGNS.search(content) and not _LONG.search(content)
        return _part(content) if is_sure else content
    boundaries = (rb"--" + re.escape(each) for each in _BOUNDARY.findall(content))
    between = re.compile(rb"^(?:%s)" % rb"|".join([_NEXT, *boundaries]), re.MULTILINE)
    parts: list[bytes] = []
    at = 0
    for header, end in zip(
        headers, [*(each.start() for each in headers[1:]), len(content)], strict=True
    ):
        parts.append(content[at : header.end()])
        part, at = content[header.end() : end], end
        if header["encoding"].lower() == b"quoted-printable":
            found = between.search(part)
            own = found.start() if found else len(part)
            part = _part(part[:own]) + part[own:]
        parts.append(part)
    return b"".join(parts)


def _part(content: bytes) -> bytes:
    if _BROKEN.search(content):
        return content
    lines: list[bytes] = []
    pieces: list[bytes] = []
    for line in content.splitlines(keepends=True):
        if _SOFT.fullmatch(line):
            pieces.append(_bytes(line.rstrip(b"\r\n")[:-1]))
            continue
        lines += [b"".join(pieces), _bytes(line), b"\n" * len(pieces)]
        pieces = []
    return b"".join([*lines, *pieces])


def _bytes(line: bytes) -> bytes:
    return _ESCAPE.sub(lambda found: bytes.fromhex((found[1] or b"").decode()), line)

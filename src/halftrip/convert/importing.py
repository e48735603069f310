"""Recognises the output of another tool, and makes a run of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from halftrip.convert.tables import Format, Table, records
from halftrip.convert.text import LARGEST, Lines, WrongLineError
from halftrip.errors import HalftripError, UsageError, system_reason
from halftrip.plan.parsing import nearest
from halftrip.registry import IMPORTERS
from halftrip.results.records import Record
from halftrip.results.run_file import RunFile, encode
from halftrip.texts import printable

STANDARD_INPUT = "-"
# Characters of what a message says is wrong.
_LONGEST_REASON = 250


def import_file(path: str, tool: str | None, output: Path, command: Sequence[str]) -> Path:
    """Makes a run file of another tool's output; `tool` is its format (None: it is recognised).
    Raises UsageError for what is none, and where the run file exists; nothing is written then."""
    content, name = _content(path)
    found = imported(content, name, tool, command)
    run_file = RunFile(output)
    try:
        run_file.append(b"".join(encode(record) for record in found))
    except HalftripError:
        run_file.discard()
        raise
    finally:
        run_file.close()
    return output


def _content(path: str) -> tuple[bytes, str]:
    name = printable(path) or "''"
    try:
        if path == STANDARD_INPUT:
            return sys.stdin.buffer.read(LARGEST + 1), "standard input"
        with open(path, "rb") as file:
            return file.read(LARGEST + 1), name
    except (OSError, ValueError) as error:
        reason = system_reason(error).lower() if isinstance(error, OSError) else "no name of a file"
        raise UsageError(f"{name}: {reason}") from None


def imported(
    content: bytes, name: str, tool: str | None = None, command: Sequence[str] = ()
) -> list[Record]:
    """The records of the run that another tool's output is; `name` is what messages call it. Raises
    UsageError, and nothing else."""
    if tool is not None and tool not in IMPORTERS:
        raise UsageError(f"--from: {tool!r} is not known; {nearest(tool, list(IMPORTERS))}")
    read_as = ""
    try:
        lines = Lines(content)
        which, found_at = (tool, None) if tool is not None else _recognised(lines, name)
        where = f", recognised by line {found_at}" if found_at is not None else ""
        read_as = f" (read as {which}{where})"
        format_: Format = IMPORTERS.load(which)
        tables = _tables(format_, lines)
        return records(tables, os.path.basename(name), command)
    except WrongLineError as error:
        place = f"line {error.line}: " if error.line else ""
        # It may quote what a line has: a line can be of any length.
        reason = printable(str(error), _LONGEST_REASON)
        raise UsageError(f"{name}: {place}{reason}{read_as}") from None


def _recognised(lines: Lines, name: str) -> tuple[str, int]:
    """The format of a text, and the number of the line by which it is recognised."""
    found = {}
    for each in IMPORTERS:
        format_: Format = IMPORTERS.load(each)
        line = format_.recognised(lines.head)
        if line is not None:
            found[each] = line
    if not found:
        known = ", ".join(IMPORTERS)
        where = "" if lines.head is lines else " in its first MiB"
        raise UsageError(
            f"{name}: the output of no tool that is known{where}; --from names one of: {known}"
        )
    if len(found) > 1:
        places = " and ".join(f"{each} by line {line}" for each, line in found.items())
        raise UsageError(
            f"{name}: recognised as {places}: import each by itself, or name one with --from"
        )
    return next(iter(found.items()))


def _tables(format_: Format, lines: Lines) -> Sequence[Table]:
    """The tables of a text that was printed whole. Raises WrongLineError."""
    tables = format_.read(lines)
    if not any(table.rows for table in tables):
        raise WrongLineError(len(lines), f"it ends without a row of {format_.title}")
    # Many tools print no end of the last line of JSON.
    ends = lines.is_whole or lines.is_value
    if not ends and any(row.line == len(lines) for table in tables for row in table.rows):
        raise WrongLineError(len(lines), "the last line is cut off: it has no end")
    return tables

"""``halftrip export``: a run as files of other programs."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from halftrip.cli.loading import loaded
from halftrip.cli.output import writing
from halftrip.cli.show import selection_of
from halftrip.errors import UsageError
from halftrip.export.writing import named, write
from halftrip.plan.parsing import nearest
from halftrip.registry import EXPORTS
from halftrip.report.document import Document, document
from halftrip.report.selection import selected
from halftrip.results.run_file import newest
from halftrip.texts import printable
from halftrip.tools.printing import StyleError

STANDARD_OUTPUT = "-"
NO_CHOICE: Mapping[str, str | None] = MappingProxyType({})


def export_run(
    run: str | None,
    to: str,
    output: str | None,
    force: bool,
    chosen: Mapping[str, str | None] = NO_CHOICE,
) -> int:
    """Writes the files of a format, prints their names, and returns the exit status. `chosen` are
    the options that choose rows, by name. Raises UsageError for an unknown format, a file that is
    no run file or has no rows, a choice of none, and files that exist, unless they are to be
    replaced by `force`."""
    if to not in EXPORTS:
        raise UsageError(f"--to: {printable(to)!r} is not known; {nearest(to, list(EXPORTS))}")
    selection = selection_of(chosen)
    path = run if run is not None else str(newest())
    found = loaded(path)
    if not found.by_configuration:
        raise UsageError(f"{printable(path)}: the run has no rows to export")
    made = _made(to, selected(document(found), selection))
    contents = {suffix: _encoded(content) for suffix, content in made.items()}
    if output == STANDARD_OUTPUT:
        _print(to, contents)
        return 0
    files = named(contents, output, Path(path).stem)
    write(files, force)
    with writing():
        for each in files:
            print(printable(each))
    return 0


def _made(to: str, content: Document) -> Mapping[str, str | bytes]:
    try:
        made: Mapping[str, str | bytes] = EXPORTS.load(to)(content)
        return made
    except StyleError as error:
        # The format is that style, which was asked for by another option.
        raise UsageError(f"--to {to}: {error.reason}") from None


def _encoded(content: str | bytes) -> bytes:
    return content if isinstance(content, bytes) else content.encode(errors="replace")


def _print(to: str, contents: dict[str, bytes]) -> None:
    if len(contents) > 1:
        raise UsageError(f"-o -: --to {to} makes {len(contents)} files; name them with -o PATH")
    with writing():
        for content in contents.values():
            sys.stdout.buffer.write(content)
            sys.stdout.buffer.flush()

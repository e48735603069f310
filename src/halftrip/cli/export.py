"""``halftrip export``: a run as files of other programs."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from halftrip.cli import app, inputs, syntax
from halftrip.cli.inputs import Text
from halftrip.cli.output import STANDARD_OUTPUT, check_one_of, writing
from halftrip.errors import UsageError
from halftrip.registry import EXPORTS
from halftrip.texts import printable

if TYPE_CHECKING:
    from halftrip.report.document import Document


@app.command(
    "export",
    help="Write a run as files that other programs read.\n\n"
    f"Formats: {', '.join(EXPORTS.built_in)}.",
)
def export(
    to: Annotated[
        str,
        syntax.Option("--to", metavar="NAME", help="The format.", offers=lambda: [*EXPORTS]),
    ],
    run: inputs.RunFile = None,
    transport: inputs.Transports = None,
    pattern: inputs.Patterns = None,
    sizes: inputs.Sizes = None,
    pair: inputs.Pairs = None,
    output: Annotated[
        Text,
        syntax.Option("-o", "--output", metavar="PATH", help="The file, or base name; -: stdout."),
    ] = None,
    force: Annotated[bool, syntax.Option("--force", help="Replace files that exist.")] = False,
) -> int:
    from halftrip.export.writing import named, write
    from halftrip.report.document import document
    from halftrip.report.selection import selected

    check_one_of("--to", to, EXPORTS)
    selection = inputs.selection_of(transport, pattern, sizes, pair)
    path = inputs.path_of(run)
    found = inputs.loaded(path)
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
    from halftrip.tools.printing import StyleError

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

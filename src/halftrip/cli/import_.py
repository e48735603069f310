"""``halftrip import``: what other tools have printed, as a run."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from halftrip.cli import app, syntax
from halftrip.cli.inputs import Text
from halftrip.cli.output import writing
from halftrip.registry import IMPORTERS
from halftrip.texts import printable

if TYPE_CHECKING:
    from halftrip.tools.importing import Imported

# Of a text, lines about what is left out of it.
_MOST_SAID = 20


@app.command(
    "import",
    help="Make a run of what other tools have printed, and show it.\n\n"
    "Every table in the files counts, whatever stands around it; the same test again is a further "
    f"launch.\n\nTools: {', '.join(IMPORTERS.built_in)}.",
)
def import_(
    files: Annotated[
        list[str],
        syntax.Argument(
            metavar="FILE...", help="What tools have printed, or folders of it; -: stdin."
        ),
    ],
    tool: Annotated[
        Text,
        syntax.Option(
            "--from",
            metavar="NAME",
            help="Which tool. [recognised]",
            offers=lambda: [*IMPORTERS],
        ),
    ] = None,
    output: Annotated[
        Text, syntax.Option("-o", "--output", metavar="RUN", help="The run file. [FILE.jsonl]")
    ] = None,
    each: Annotated[bool, syntax.Option("--each", help="Make a run of each file.")] = False,
    test: Annotated[
        Text,
        syntax.Option("--test", metavar="NAME", help="Which test it is, where no title says it."),
    ] = None,
    size: Annotated[
        Text,
        syntax.Option("--size", metavar="SIZE", help="The size of messages, where no row says it."),
    ] = None,
    memory: Annotated[
        Text,
        syntax.Option("--memory", metavar="KIND", help="The kind of memory, where it is not said."),
    ] = None,
    transport: Annotated[
        Text,
        syntax.Option("--transport", metavar="NAME", help="The transport, where it is not said."),
    ] = None,
    setting: Annotated[
        list[str] | None,
        syntax.Option(
            "--set", metavar="NAME=VALUE", help="A setting that is not said; several times."
        ),
    ] = None,
    quiet: Annotated[
        bool, syntax.Option("-q", "--quiet", help="Print the run file's name only.")
    ] = False,
) -> None:
    from halftrip.analysis.expectation import Expectations
    from halftrip.cli.show import print_first
    from halftrip.errors import HalftripError, UsageError
    from halftrip.results.run_file import default_name, load
    from halftrip.tools.importing import STANDARD_INPUT, import_texts, read_text, write
    from halftrip.tools.told import told_by

    def name_of(source: str) -> str:
        stem = "" if source == STANDARD_INPUT else Path(source.rstrip("/")).stem
        return f"{stem}.jsonl" if stem else default_name()

    def make(sources: list[str], path: Path) -> None:
        told = told_by(test, size, memory, transport, setting or ())
        imported = import_texts(map(read_text, sources), tool, told, sys.argv)
        write(imported, path)
        _say(imported)
        if not quiet:
            run = load(path)
            print_first(run, str(path), Expectations.of_plan(run.header.plan))
        with writing():
            print(f"{'' if quiet else 'run file: '}{printable(str(path))}")

    sources = [name for file in files for name in _files(file)]
    _check_output(output, each)
    if not each:
        make(sources, Path(output or name_of(files[0])))
        return
    failed: list[HalftripError] = []
    for source in sources:
        try:
            make([source], Path(name_of(source)))
        except UsageError:
            raise
        except HalftripError as error:
            failed.append(error)
            print(f"halftrip: {error}", file=sys.stderr)
    if len(failed) == len(sources):
        raise HalftripError(f"{len(sources)} files, and no table that is read in any of them")


def _check_output(output: str | None, each: bool) -> None:
    from halftrip.errors import UsageError

    if output == "-":
        raise UsageError("-o: a run file needs a name")
    if output is not None and each:
        raise UsageError("-o names one run file, and --each makes several: leave one of them out")


def _files(name: str) -> list[str]:
    """The file of this name, or those in the folder of this name, in the order of their names."""
    from halftrip.errors import UsageError

    if not os.path.isdir(name):
        return [name]
    found = sorted(each.path for each in os.scandir(name) if each.is_file())
    if not found:
        raise UsageError(f"{printable(name)}: no file in this folder")
    return found


def _say(imported: Imported) -> None:
    """Says what was left out."""
    for line in imported.left_out[:_MOST_SAID]:
        print(f"halftrip: {line}", file=sys.stderr)
    if (more := len(imported.left_out) - _MOST_SAID) > 0:
        print(f"halftrip: {more} more left out", file=sys.stderr)

"""``halftrip import``: what another tool has printed, as a run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from halftrip.cli import app
from halftrip.cli.inputs import Text
from halftrip.cli.output import writing
from halftrip.registry import IMPORTERS
from halftrip.texts import printable


@app.command(
    "import",
    help="Make a run of what another tool has printed, and show it.\n\n"
    f"Tools: {', '.join(IMPORTERS.built_in)}.",
)
def import_(
    file: Annotated[str, typer.Argument(metavar="FILE", help="What a tool has printed; -: stdin.")],
    tool: Annotated[
        Text,
        typer.Option(
            "--from",
            metavar="NAME",
            help="Which tool. [recognised]",
            autocompletion=lambda: [*IMPORTERS],
        ),
    ] = None,
    output: Annotated[
        Text, typer.Option("-o", "--output", metavar="RUN", help="The run file. [FILE.jsonl]")
    ] = None,
    quiet: Annotated[
        bool, typer.Option("-q", "--quiet", help="Print the run file's name only.")
    ] = False,
) -> None:
    from halftrip.analysis.expectation import Expectations
    from halftrip.cli.show import print_first
    from halftrip.results.run_file import default_name, load
    from halftrip.tools.importing import STANDARD_INPUT, import_file

    stem = "" if file == STANDARD_INPUT else Path(file).stem
    name = f"{stem}.jsonl" if stem else default_name()
    path = import_file(file, tool, Path(output or name), sys.argv)
    if not quiet:
        run = load(path)
        print_first(run, str(path), Expectations.of_plan(run.header.plan))
    with writing():
        print(f"{'' if quiet else 'run file: '}{printable(str(path))}")

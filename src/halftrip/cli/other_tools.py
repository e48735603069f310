"""``halftrip import`` and ``export``: other tools' output in, other programs' files out."""

from __future__ import annotations

from typing import Annotated

import typer

from halftrip.cli.selecting import Pairs, Patterns, Sizes, Transports
from halftrip.registry import EXPORTS, IMPORTERS

Text = str | None


def import_(
    file: Annotated[str, typer.Argument(metavar="FILE", help="What a tool has printed; -: stdin.")],
    tool: Annotated[
        Text, typer.Option("--from", metavar="NAME", help="Which tool. [recognised]")
    ] = None,
    output: Annotated[
        Text, typer.Option("-o", "--output", metavar="RUN", help="The run file. [FILE.jsonl]")
    ] = None,
    quiet: Annotated[
        bool, typer.Option("-q", "--quiet", help="Print the run file's name only.")
    ] = False,
) -> None:
    from halftrip.cli.importing import import_run

    raise typer.Exit(import_run(file, tool, output, quiet))


def export(
    to: Annotated[str, typer.Option("--to", metavar="NAME", help="The format.")],
    run: Annotated[Text, typer.Argument(metavar="RUN", help="The run file. [newest]")] = None,
    transport: Transports = None,
    pattern: Patterns = None,
    sizes: Sizes = None,
    pair: Pairs = None,
    output: Annotated[
        Text,
        typer.Option("-o", "--output", metavar="PATH", help="The file, or base name; -: stdout."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
) -> None:
    from halftrip.cli.exporting import export_run

    chosen = {"transport": transport, "pattern": pattern, "sizes": sizes, "pair": pair}
    raise typer.Exit(export_run(run, to, output, force, chosen))


def add_to(app: typer.Typer) -> None:
    """Adds these commands to the command line."""
    tools, formats = ", ".join(IMPORTERS.built_in), ", ".join(EXPORTS.built_in)
    said = f"Make a run of what another tool has printed, and show it.\n\nTools: {tools}."
    app.command("import", help=said)(import_)
    said = f"Write a run as files that other programs read.\n\nFormats: {formats}."
    app.command("export", help=said)(export)

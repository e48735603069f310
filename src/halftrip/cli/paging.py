"""``halftrip report``: the options."""

from __future__ import annotations

from typing import Annotated

import typer

from halftrip.cli.selecting import Pairs, Patterns, Sizes, Transports

Text = str | None


def report(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN...]", help="Run files; several: side by side. [the newest one here]"
        ),
    ] = None,
    output: Annotated[
        Text,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="The page. [the first run's name with .html; Markdown: standard output]",
        ),
    ] = None,
    transport: Transports = None,
    pattern: Patterns = None,
    sizes: Sizes = None,
    pair: Pairs = None,
    report_format: Annotated[
        str,
        typer.Option("--format", metavar="NAME", help="html or md. [html]", show_default=False),
    ] = "html",
    open_: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Write one page about runs: the answer, pictures, tables, and how far to trust them.

    The page needs no network, and no other file."""
    from halftrip.cli.report import Asked, report_runs
    from halftrip.cli.show import selection_of

    chosen = {"transport": transport, "pattern": pattern, "sizes": sizes, "pair": pair}
    asked = Asked(output, report_format, open_, selection_of(chosen))
    raise typer.Exit(report_runs(runs or [], asked))


def add_to(app: typer.Typer) -> None:
    """Adds this command to the command line."""
    app.command()(report)

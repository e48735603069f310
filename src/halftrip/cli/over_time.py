"""``halftrip history``: many runs, measured over days or months."""

from __future__ import annotations

from typing import Annotated

import typer

from halftrip.cli.selecting import AsJson, Pairs, Patterns, Sizes, Transports, Wide

Text = str | None


def history(
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[DIR|RUN...]", help="Run files, or directories of them. [.]"),
    ] = None,
    transport: Transports = None,
    pattern: Patterns = None,
    sizes: Sizes = None,
    pair: Pairs = None,
    every: Annotated[bool, typer.Option("--all", help="Also rows that have not changed.")] = False,
    wide: Wide = False,
    history_format: Annotated[
        str,
        typer.Option(
            "--format", metavar="NAME", help="table, json or csv. [table]", show_default=False
        ),
    ] = "table",
    json: AsJson = False,
) -> None:
    """Say which rows got slower or faster over many runs, when, and what changed then."""
    from halftrip.cli.history import Asked, show_history
    from halftrip.cli.show import selection_of

    chosen = {"transport": transport, "pattern": pattern, "sizes": sizes, "pair": pair}
    asked = Asked("json" if json else history_format, selection_of(chosen), every, wide)
    raise typer.Exit(show_history(runs or [], asked))


def add_to(app: typer.Typer) -> None:
    """Adds this command to the command line."""
    app.command()(history)

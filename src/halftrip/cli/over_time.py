"""``halftrip history``: many runs, measured over days or months."""

from __future__ import annotations

from typing import Annotated

import typer

Text = str | None


def history(
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[DIR|RUN...]", help="Run files, or directories of them. [.]"),
    ] = None,
    transport: Annotated[
        Text, typer.Option("-t", "--transport", metavar="NAME", help="Only of these.")
    ] = None,
    pattern: Annotated[
        Text, typer.Option("-p", "--pattern", metavar="NAME", help="Only of these.")
    ] = None,
    sizes: Annotated[
        Text,
        typer.Option(
            "-s", "-m", "--sizes", metavar="SIZES", help="Only these: 8,1K..1M (all between)."
        ),
    ] = None,
    pair: Annotated[
        Text, typer.Option("--pair", metavar="PAIR", help="Only these pairs of ranks: 0-1,2-3.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Also rows that have not changed.")] = False,
    wide: Annotated[bool, typer.Option("--wide", help="All columns, however long lines get.")] = (
        False
    ),
    history_format: Annotated[
        str,
        typer.Option(
            "--format", metavar="NAME", help="table, json or csv. [table]", show_default=False
        ),
    ] = "table",
    json: Annotated[bool, typer.Option("-j", help="As --format json.")] = False,
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

"""``halftrip explain``: the options."""

from __future__ import annotations

from typing import Annotated

import typer

from halftrip.cli.selecting import AsJson, Pairs, Patterns, Transports

Text = str | None


def explain(
    run: Annotated[
        Text, typer.Argument(metavar="[RUN]", help="The run file. [the newest one here]")
    ] = None,
    at: Annotated[
        Text, typer.Option("--at", metavar="SIZE", help="Only the bend nearest to this size.")
    ] = None,
    transport: Transports = None,
    pattern: Patterns = None,
    pair: Pairs = None,
    prove: Annotated[
        bool,
        typer.Option(
            "--prove", help="Measure around a bend with another value of what may cause it."
        ),
    ] = False,
    moved: Annotated[
        Text,
        typer.Option(
            "--moved", metavar="RUN", help="Prove by this run, measured with another value."
        ),
    ] = None,
    output: Annotated[
        Text,
        typer.Option("-o", "--output", metavar="FILE", help="With --prove: its run file."),
    ] = None,
    explain_format: Annotated[
        str,
        typer.Option("--format", metavar="NAME", help="table or json. [table]", show_default=False),
    ] = "table",
    json: AsJson = False,
) -> None:
    """Say why the curves of a run bend where they bend, and prove it.

    With --prove or --moved it exits with 0 if the bend moves with the setting, with 1 if it does
    not, with 3 if that cannot be told."""
    from halftrip.cli.explain import Asked, explain_run

    asked = Asked(
        at=at,
        chosen={"transport": transport, "pattern": pattern, "pair": pair},
        prove=prove,
        moved=moved,
        output=output,
        format="json" if json else explain_format,
    )
    raise typer.Exit(explain_run(run, asked))


def add_to(app: typer.Typer) -> None:
    """Adds this command to the command line."""
    app.command()(explain)

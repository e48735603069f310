"""``halftrip fit``: what the curves of a run are made of."""

from __future__ import annotations

from typing import Annotated

import typer

from halftrip.cli.selecting import AsJson, Pairs, Patterns, Sizes, Transports, Wide

Text = str | None


def fit(
    run: Annotated[Text, typer.Argument(metavar="RUN", help="The run file. [newest]")] = None,
    model: Annotated[
        str,
        typer.Option(
            "--model",
            metavar="NAME",
            help="hockney, piecewise, netpipe, loggp, max-rate or all. [all]",
            show_default=False,
        ),
    ] = "all",
    transport: Transports = None,
    pattern: Patterns = None,
    sizes: Sizes = None,
    pair: Pairs = None,
    wide: Wide = False,
    fit_format: Annotated[
        str,
        typer.Option("--format", metavar="NAME", help="table or json. [table]", show_default=False),
    ] = "table",
    json: AsJson = False,
) -> None:
    """Fit models to time over size: lines and pieces of lines, LogGP, and more."""
    from halftrip.cli.fit import Asked, show_fits
    from halftrip.cli.show import selection_of

    chosen = {"transport": transport, "pattern": pattern, "sizes": sizes, "pair": pair}
    asked = Asked(model, "json" if json else fit_format, selection_of(chosen), wide)
    raise typer.Exit(show_fits(run, asked))


def add_to(app: typer.Typer) -> None:
    """Adds this command to the command line."""
    app.command()(fit)

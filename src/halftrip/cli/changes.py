"""``halftrip compare``: the options."""

from __future__ import annotations

from typing import Annotated

import typer

from halftrip.cli.selecting import AsJson, Pairs, Patterns, Sizes, Transports, Wide

Text = str | None


def compare(
    files: Annotated[
        list[str], typer.Argument(metavar="BASE NEW...", help="Run files; the first is the base.")
    ],
    transport: Transports = None,
    pattern: Patterns = None,
    sizes: Sizes = None,
    pair: Pairs = None,
    by: Annotated[
        Text,
        typer.Option(
            "--by", metavar="NAME", help="Of one run: what --vary has varied, as env.UCX_TLS."
        ),
    ] = None,
    threshold: Annotated[
        Text,
        typer.Option("--threshold", metavar="SHARE", help="What counts as the same. [2%]"),
    ] = None,
    quantile: Annotated[
        Text,
        typer.Option(
            "--quantile", metavar="Q", help="Compare this quantile, as 0.99. [the median]"
        ),
    ] = None,
    launch_spread: Annotated[
        Text,
        typer.Option(
            "--launch-spread",
            metavar="SHARE",
            help="How much fresh processes differ. [as measured, or 3%]",
        ),
    ] = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Also what was measured in another way.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 3 if something cannot be told.")
    ] = False,
    every: Annotated[bool, typer.Option("--all", help="Also the rows that are the same.")] = False,
    wide: Wide = False,
    format_: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="NAME",
            help="table, markdown, json, junit or csv. [table]",
            show_default=False,
        ),
    ] = "table",
    json: AsJson = False,
) -> None:
    """Say what has changed between runs; exit with 1 if anything got slower."""
    from halftrip.cli.comparing import compare_files, compared_of

    options = {
        "transport": transport,
        "pattern": pattern,
        "sizes": sizes,
        "pair": pair,
        "by": by,
        "threshold": threshold,
        "quantile": quantile,
        "launch_spread": launch_spread,
        "format": "json" if json else format_,
    }
    how = compared_of(options, anyway=anyway, strict=strict, every=every, wide=wide)
    raise typer.Exit(compare_files(files, how))


def add_to(app: typer.Typer) -> None:
    """Adds this command to the command line."""
    app.command()(compare)

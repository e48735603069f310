"""``halftrip show``: the command line of it."""

from __future__ import annotations

from typing import Annotated

import typer

from halftrip.cli.selecting import AsJson, Pairs, Patterns, Sizes, Transports, Wide

Text = str | None


def show(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN...]", help="Run files; several: side by side. [the newest one here]"
        ),
    ] = None,
    transport: Transports = None,
    pattern: Patterns = None,
    sizes: Sizes = None,
    pair: Pairs = None,
    details: Annotated[
        bool, typer.Option("--details", help="Every row, with all figures there is room for.")
    ] = False,
    wide: Wide = False,
    why: Annotated[
        bool, typer.Option("--why", help="Why rows cannot be trusted, and what to do.")
    ] = False,
    every: Annotated[bool, typer.Option("--all", help="With --why: row by row.")] = False,
    rtt: Annotated[
        bool, typer.Option("--rtt", help="Round trips of pingpong, not their half.")
    ] = False,
    tails: Annotated[
        bool, typer.Option("--tails", help="p50, p90, p99 and p99.9 with their intervals.")
    ] = False,
    cost: Annotated[
        bool, typer.Option("--cost", help="CPU time and more that each row took at both ends.")
    ] = False,
    layers: Annotated[
        bool, typer.Option("--layers", help="What each layer adds to the transport below it.")
    ] = False,
    matrix: Annotated[
        bool, typer.Option("--matrix", help="Each host with each other, and a summary by host.")
    ] = False,
    sort: Annotated[
        bool, typer.Option("--sort", help="With --matrix: the slowest host first.")
    ] = False,
    flags: Annotated[bool, typer.Option("--flags", help="All that looks odd in each row.")] = False,
    system_log: Annotated[
        bool, typer.Option("--system-log", help="What every host's counters have counted.")
    ] = False,
    expect: Annotated[
        Text, typer.Option("--expect", metavar="LIST", help="Exit with 1 if one falls short.")
    ] = None,
    baseline: Annotated[
        Text, typer.Option("--baseline", metavar="RUN", help="Exit with 1 if worse than that run.")
    ] = None,
    tolerance: Annotated[
        Text, typer.Option("--tolerance", metavar="SHARE", help="How much worse it may be. [10%]")
    ] = None,
    format_: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="NAME",
            help="table, csv, json, markdown, latex or nodes. [table]",
            show_default=False,
        ),
    ] = "table",
    json: AsJson = False,
    style: Annotated[
        Text, typer.Option("--style", metavar="NAME", help="As osu, imb, hpcbench... print it.")
    ] = None,
) -> None:
    """Print runs again: the answer, and how far to trust it."""
    from halftrip.cli.show import Shown, selection_of, show_runs

    views = {
        "details": details,
        "why": why,
        "tails": tails,
        "cost": cost,
        "layers": layers,
        "matrix": matrix,
        "flags": flags,
        "system-log": system_log,
    }
    chosen = {"transport": transport, "pattern": pattern, "sizes": sizes, "pair": pair}
    shown = Shown(
        format="json" if json else format_,
        views=[name for name, requested in views.items() if requested],
        rtt=rtt,
        wide=wide,
        every=every,
        sort=sort,
        selection=selection_of(chosen),
        expect=expect,
        baseline=baseline,
        tolerance=tolerance,
        style=style,
    )
    raise typer.Exit(show_runs(files or [], shown))


def add_to(app: typer.Typer) -> None:
    """Adds this command to the command line."""
    app.command()(show)

"""``halftrip plot``: the command line of pictures."""

from __future__ import annotations

from typing import Annotated

import typer

from halftrip.cli.selecting import Pairs, Patterns, Sizes, Transports

Text = str | None


def plot(
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[RUN...]", help="Run files; several are overlaid. [the newest]"),
    ] = None,
    output: Annotated[
        Text,
        typer.Option(
            "-o", "--output", metavar="FILE", help="Name.svg, .png, .pdf or .html. [terminal]"
        ),
    ] = None,
    kind: Annotated[
        Text,
        typer.Option(
            "-k",
            "--kind",
            metavar="NAME",
            help="latency, bandwidth, rate, samples, distribution, usage, system, pairs, compare, "
            "layers or history. [what the runs have most of]",
        ),
    ] = None,
    transport: Transports = None,
    pattern: Patterns = None,
    sizes: Sizes = None,
    pair: Pairs = None,
    theme: Annotated[
        Text, typer.Option("--theme", metavar="NAME", help="Of a picture: light or dark. [light]")
    ] = None,
    tty: Annotated[bool, typer.Option("--tty", help="Draw in the terminal.")] = False,
    spec: Annotated[
        bool, typer.Option("--spec", help="Write the Vega-Lite JSON of it, to change it.")
    ] = False,
) -> None:
    """Draw runs: in the terminal, or into a file."""
    from halftrip.cli.plot import Asked
    from halftrip.cli.plot import plot as draw
    from halftrip.cli.show import selection_of

    chosen = {"transport": transport, "pattern": pattern, "sizes": sizes, "pair": pair}
    asked = Asked(output, kind, theme, tty, spec, selection_of(chosen))
    raise typer.Exit(draw(runs or [], asked))


def add_to(app: typer.Typer) -> None:
    """Adds this command to the command line."""
    app.command()(plot)

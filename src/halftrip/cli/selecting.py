"""The options that choose rows, which several commands have."""

from __future__ import annotations

from typing import Annotated

import typer

Text = str | None

Transports = Annotated[
    Text, typer.Option("-t", "--transport", metavar="NAME", help="Only of these.")
]
Patterns = Annotated[Text, typer.Option("-p", "--pattern", metavar="NAME", help="Only of these.")]
Sizes = Annotated[
    Text,
    typer.Option(
        "-s", "-m", "--sizes", metavar="SIZES", help="Only these: 8,1K..1M (all between)."
    ),
]
Pairs = Annotated[
    Text, typer.Option("--pair", metavar="PAIR", help="Only these pairs of ranks: 0-1,2-3.")
]
Wide = Annotated[bool, typer.Option("--wide", help="All figures, however long lines get.")]
AsJson = Annotated[bool, typer.Option("-j", help="As --format json.")]

"""``halftrip recipes``: the plans that come with halftrip."""

from __future__ import annotations

from typing import Annotated

from halftrip.cli import app, syntax
from halftrip.cli.inputs import Text
from halftrip.cli.output import screen, writing
from halftrip.plan.recipes import path_of, purposes


@app.command("recipes")
def recipes(
    recipe: Annotated[
        Text,
        syntax.Argument(help="Print this one; none: list them.", offers=purposes),
    ] = None,
) -> None:
    """List plans that come with halftrip, for halftrip run NAME."""
    with writing():
        if recipe is not None:
            print(path_of(recipe).read_text(encoding="utf-8"), end="")
            return
        from halftrip.render.terminal import wrapped

        width = max(len(name) for name, _ in purposes())
        for name, purpose in purposes():
            print(*wrapped(f"{name:{width}}  ", purpose, screen().width), sep="\n")

"""The commands that explain halftrip: help, recipes, and what completes words in a shell."""

from __future__ import annotations

from typing import Annotated

import typer

from halftrip.cli.help import help_of
from halftrip.cli.output import writing

Text = str | None


def help_(
    ctx: typer.Context,
    command: Annotated[Text, typer.Argument(help="The command; none: all of them.")] = None,
    man: Annotated[bool, typer.Option("--man", help="Print the man page, for man -l -.")] = False,
) -> None:
    """Say how to use a command."""
    if man:
        from halftrip.cli.man_page import man_page

        said = man_page(ctx.find_root().command, ctx)
    else:
        said = f"{help_of(ctx, command)}\n"
    with writing():
        print(said, end="")


def recipes(
    recipe: Annotated[Text, typer.Argument(help="Print this one; none: list them.")] = None,
) -> None:
    """List plans that come with halftrip, for halftrip run NAME."""
    from halftrip.cli.recipes import print_recipes

    print_recipes(recipe)


def completion(
    ctx: typer.Context,
    shell: Annotated[Text, typer.Argument(help="bash, zsh or fish; words: for these.")] = None,
    words: Annotated[list[str] | None, typer.Argument(help="Words to complete.")] = None,
) -> None:
    """Print what makes a shell complete words.

    In ~/.bashrc: eval "$(halftrip completion bash)"."""
    from halftrip.cli.completion import print_completion

    print_completion(ctx.find_root().command, shell, words or [])


def add_to(app: typer.Typer) -> None:
    """Adds these commands to the command line."""
    app.command("help")(help_)
    app.command()(recipes)
    app.command()(completion)

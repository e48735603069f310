"""``halftrip help``: the help of a command, in groups; and the man page, from the same texts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any

import click

from halftrip import __version__
from halftrip.cli import app, syntax
from halftrip.cli.inputs import Text
from halftrip.cli.output import writing
from halftrip.plan.recipes import purposes

EXAMPLES = (
    ("halftrip run", "every path on this machine"),
    ("halftrip run -t mpi,shm -s 8:64K", "8, 16 ... 64K bytes"),
    ("halftrip run -p stream -W 1,64 -s 8,1M", "messages/s and bandwidth"),
    ("halftrip run paper -t shm -s 8 --cores 0,1", "a recipe, changed"),
    ("mpiexec -n 2 halftrip run -t mpi", "in a job of MPI or Slurm"),
)
_FILES = (
    ("halftrip-DATE-TIME.jsonl", "A run file: plan, environment and all samples, in JSON Lines."),
    ("~/.config/halftrip/config.toml", "Keys of a plan: your own defaults of halftrip run."),
)
_ENVIRONMENT = (
    ("HALFTRIP_CONFIG", "Another file of defaults; empty: none."),
    ("XDG_CONFIG_HOME", "Where halftrip/config.toml is, instead of ~/.config."),
)
_STATUSES = (
    ("0", "Everything was measured."),
    ("1", "Nothing was measured, a configuration failed, or the run ended early."),
    ("2", "A mistake in what was typed; one line says which."),
    ("128 + N", "Signal N stopped it."),
)


class Command(syntax.Command):
    """A command whose help ends with examples."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        super().format_options(ctx, formatter)
        with formatter.section("Examples"):
            formatter.write_dl(EXAMPLES, col_max=50)


@app.command("help")
def help_(
    command: Annotated[Text, syntax.Argument(help="The command; none: all of them.")] = None,
    man: Annotated[bool, syntax.Option("--man", help="Print the man page, for man -l -.")] = False,
) -> None:
    """Say how to use a command."""
    ctx = click.get_current_context()
    root = ctx.find_root()
    with writing():
        if man:
            print(man_page(root.command, ctx), end="")
            return
        words = [command] if command is not None else []
        root.command.main([*words, "--help"], prog_name=root.info_name, standalone_mode=False)


def man_page(commands: Any, ctx: Any) -> str:
    """The page of all commands, in the macros of man(7)."""
    return "".join(f"{line}\n" for line in _lines(commands, ctx))


def _lines(commands: Any, ctx: Any) -> Iterator[str]:
    yield f'.TH HALFTRIP 1 "" "halftrip {__version__}" "User Commands"'
    yield ".SH NAME"
    yield rf"halftrip \- {_plain(commands.help.rstrip('.')).lower()}"
    yield ".SH SYNOPSIS"
    shown = {name: each for name, each in commands.commands.items() if not each.hidden}
    for number, (name, command) in enumerate(shown.items()):
        if number:
            yield ".br"
        yield rf"\fBhalftrip {name}\fR {_plain(' '.join(command.collect_usage_pieces(ctx)))}"
    for name, command in shown.items():
        yield f".SH {_quoted(f'halftrip {name}'.upper())}"
        yield from _paragraphs(command.help)
        yield from _parameters(command, ctx)
    yield ".SH RECIPES"
    yield from _list(purposes())
    for title, entries in (
        ("FILES", _FILES),
        ("ENVIRONMENT", _ENVIRONMENT),
        ("EXIT STATUS", _STATUSES),
        ("EXAMPLES", EXAMPLES),
    ):
        yield f".SH {_quoted(title)}"
        yield from _list(entries)
    yield ".SH SEE ALSO"
    yield r"\fBmpiexec\fR(1), \fBsrun\fR(1)"


def _parameters(command: Any, ctx: Any) -> Iterator[str]:
    """The arguments and options of a command, in the groups of its help."""
    group = None
    for parameter in command.params:
        record = parameter.get_help_record(ctx)
        if record is None:
            continue
        title = syntax.group_of(parameter)
        if title != group:
            yield f".SS {_quoted(title or 'Options')}"
            group = title
        yield from _list([record])


def _list(entries: Any) -> Iterator[str]:
    for term, text in entries:
        yield ".TP"
        yield rf"\fB{_plain(term)}\fR"
        yield _plain(text)


def _paragraphs(text: str) -> Iterator[str]:
    for number, paragraph in enumerate(text.split("\n\n")):
        if number:
            yield ".PP"
        yield _plain(" ".join(paragraph.split()))


def _quoted(text: str) -> str:
    return '"' + _plain(text) + '"'


def _plain(text: str) -> str:
    """The text without what roff would take for a request or an escape."""
    # A hyphen that can be copied, and no line that begins like a request.
    escaped = text.replace("\\", r"\e").replace("-", r"\-").replace('"', r"\(dq")
    return re.sub(r"^(?=[.'])", r"\\&", escaped)

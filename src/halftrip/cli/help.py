"""What the command line says of itself: its help in groups, and the nearest name of a wrong one."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from halftrip.errors import UsageError
from halftrip.plan.parsing import nearest

EXAMPLES = (
    ("halftrip run", "every path on this machine"),
    ("halftrip run -t mpi,shm -s 8:64K", "8, 16 ... 64K bytes"),
    ("halftrip run -p stream -W 1,64 -s 8,1M", "messages/s and bandwidth"),
    ("halftrip run paper -t shm -s 8 --cores 0,1", "a recipe, changed"),
    ("mpiexec -n 2 halftrip run -t mpi", "in a job of MPI or Slurm"),
)


class Command(TyperCommand):
    """A command whose help has its options in groups, those of `rich_help_panel`, then examples."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                kind = "Arguments" if parameter.param_type_name == "argument" else "Options"
                title = getattr(parameter, "rich_help_panel", None) or kind
                sections.setdefault(title, []).append(record)
        # The help itself comes last.
        for title in (*(title for title in sections if title != "Options"), "Options"):
            if title in sections:
                with formatter.section(title):
                    formatter.write_dl(sections[title])
        if self.name == "run":
            with formatter.section("Examples"):
                formatter.write_dl(EXAMPLES, col_max=50)


class Commands(TyperGroup):
    """All commands."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name = args[0]
        if self.get_command(ctx, name) is None and not ctx.resilient_parsing:
            raise UsageError(f"{name}: no such command; {nearest(name, self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)


def help_of(ctx: Any, name: str | None) -> Any:
    """The help of a command, or of all (None)."""
    root = ctx.find_root()
    commands = root.command
    if name is None or not isinstance(commands, Commands):
        return root.get_help()
    _, command, _ = commands.resolve_command(root, [name])
    return command.make_context(name, [], parent=root, resilient_parsing=True).get_help()


def mistake(error: typer.TyperException) -> str:
    """What the parser of the command line found wrong, in one line."""
    name, ctx = getattr(error, "option_name", None), getattr(error, "ctx", None)
    # Of all errors with the name of an option, only that of an unknown one has possibilities.
    if name is None or ctx is None or not hasattr(error, "possibilities"):
        return error.format_message().rstrip(".")
    names = [
        form
        for parameter in ctx.command.get_params(ctx)
        for form in (*parameter.opts, *parameter.secondary_opts)
        if form.startswith("--")
    ]
    close = nearest(name, names)
    if not close.startswith("did"):
        close = f"{ctx.command_path} --help"
    return f"{name}: no such option; {close}"

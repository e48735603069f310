"""The command line: one file per command, called as the command, and imported when that is called.

The help imports all of these files, and should not take as long as all commands together: they
import what reads, measures and draws where they use it."""

from __future__ import annotations

import contextlib
import copy
import gc
import os
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from keyword import iskeyword
from typing import Any, NoReturn, TypeVar

import click

from halftrip import __version__
from halftrip.cli import syntax
from halftrip.cli.output import flush, in_job, prepare_streams, speaks, writing
from halftrip.errors import SHORTAGES, HalftripError, Interrupted, UsageError, shortage
from halftrip.plan.recipes import names as recipe_names
from halftrip.spelling import nearest

# In the order of the help.
COMMANDS = (
    "run", "show", "doctor", "plot", "compare", "history", "report", "fit", "explain", "import",
    "export", "serve", "agent", "help", "recipes", "completion",
)  # fmt: skip
_USAGE_STATUS = 2
# After so many, garbage is collected.
_NEW_OBJECTS = 200_000
# In a job that another launcher has started: how long the rank that reports a usage error stays, so
# that the launcher passes its message on, and how long the other ranks wait for it.
_REPORTER_SECONDS = 0.3
_OTHERS_SECONDS = 1.5
# These say something of the others.
_ABOUT_ALL = ("help", "completion")

_Function = TypeVar("_Function", bound=Callable[..., Any])


class Commands(click.Group):
    """All commands, in their order."""

    def command(  # type: ignore[override]
        self, *args: Any, **more: Any
    ) -> Callable[[_Function], _Function]:
        """Declares a command of a function, which, unlike with click's own, stays one."""
        made: Any = super().command(*args, cls=more.pop("cls", syntax.Command), **more)

        def declared(function: _Function) -> _Function:
            made(function)
            return function

        return declared

    def list_commands(self, ctx: Any) -> list[str]:
        return [*self.commands]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name = args[0]
        if self.get_command(ctx, name) is None and not ctx.resilient_parsing:
            raise UsageError(f"{name}: no such command; {self._instead(ctx, name)}")
        return super().resolve_command(ctx, args)

    def _instead(self, ctx: Any, name: str) -> str:
        """What to type instead of a name that no command has."""
        if name in recipe_names():
            return f"it is a recipe: halftrip run {name}"
        return nearest(name, [*self._for_users(ctx)])

    def _for_users(self, ctx: Any) -> dict[str, Any]:
        """The commands by name, without those that only programs call."""
        commands = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        return {name: each for name, each in commands if each is not None and not each.hidden}

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The commands, each with the whole first paragraph of its help, in several lines where
        that is long."""
        with formatter.section("Commands"):
            formatter.write_dl(
                [
                    (name, " ".join((each.help or "").partition("\n\n")[0].split()))
                    for name, each in self._for_users(ctx).items()
                ]
            )


# What most people want.
_WANTED = (
    ("halftrip run", "Measure every path on this machine: a minute."),
    ("halftrip show --why", "Say what to doubt, and what to do about it."),
    ("halftrip compare OLD NEW", "Say what has changed between two runs."),
)


@click.group(
    "halftrip",
    cls=Commands,
    help="How fast two processes talk, how far each number can be trusted, and why.",
    epilog="halftrip help COMMAND says more.",
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option("-V", "--version", is_flag=True, help="Print the version.")
@click.option("-v", "--verbose", is_flag=True, help="With --version: what a bug report needs, too.")
@click.pass_context
def app(ctx: click.Context, version: bool, verbose: bool) -> None:
    if verbose and not version:
        raise UsageError("--verbose: goes with --version")
    if not version and ctx.invoked_subcommand is not None:
        return
    with writing():
        if version:
            print(f"halftrip {__version__}")
        else:
            formatter = ctx.make_formatter()
            formatter.write_dl(_WANTED)
            formatter.write(
                "\nhalftrip --help lists all commands, halftrip help COMMAND says more.\n"
            )
            print(formatter.getvalue(), end="")
        if verbose:
            from halftrip.cli.version import details

            print(*details(), sep="\n")
    ctx.exit()


def command_line(*names: str) -> click.Group:
    """The command line with these commands, or with all."""
    chosen = names or COMMANDS
    for name in chosen:
        # Python has a statement that is called import.
        import_module(f"halftrip.cli.{name}{'_' if iskeyword(name) else ''}")
    found = copy.copy(app)
    found.commands = {name: app.commands[name] for name in chosen}
    return found


def main() -> NoReturn:
    """Runs the command line and exits with a status: 0; 1 if nothing was measured or the run ended
    early; 2 for a usage error; 128 plus the signal's number if a signal stopped it."""
    prepare_streams()
    # A large run is a million objects, which hold no cycles: to look for these at the usual pace
    # would take a third of the time.
    gc.set_threshold(_NEW_OBJECTS, 100, 100)
    status, ended_by = 0, ""
    try:
        status = _call()
    except UsageError as error:
        from halftrip.job.existing import shared

        status = _report(str(shared(error)), _USAGE_STATUS)
    except Interrupted as error:
        status, ended_by = _status_of(str(error)), str(error)
        if not error.told:
            _report(str(error), status)
    except HalftripError as error:
        status = _report(str(error), 1)
    except SHORTAGES as error:
        short = shortage(error)
        if short is None:
            raise
        status = _report(short, 1)
    flush()
    if status and "mpi4py.MPI" in sys.modules:
        from halftrip.job import existing, shm_cleanup

        # MPI_Finalize would wait for ranks that have ended.
        shm_cleanup.remove_own()
        existing.await_kill(ended_by)
        os._exit(status)
    # The process is over: to look for garbage, and free it, would take 30 ms.
    gc.freeze()
    sys.exit(status)


def _call() -> int:
    """Calls what the command line names, and returns its status."""
    try:
        return _called(sys.argv[1:])(standalone_mode=False) or 0
    except click.ClickException as error:
        raise UsageError(mistake(error)) from None


def _called(words: Sequence[str]) -> click.Group:
    """The command line with no other command than the one that is called: others are neither
    imported nor made."""
    name = words[0] if words else None
    return command_line() if name not in COMMANDS or name in _ABOUT_ALL else command_line(name)


def mistake(error: click.ClickException) -> str:
    """What the parser of the command line found wrong, and what to do, in one line."""
    if not isinstance(error, click.UsageError) or error.ctx is None:
        return error.format_message().rstrip(".")
    ctx = error.ctx
    parameters = ctx.command.get_params(ctx)
    said, instead = error.format_message().rstrip("."), ""
    match error:
        case click.NoSuchOption(option_name=name):
            names = [
                form
                for parameter in parameters
                for form in (*parameter.opts, *parameter.secondary_opts)
                if form.startswith("--")
            ]
            close = nearest(name, names)
            said, instead = f"{name}: no such option", close if close.startswith("did") else ""
        case click.MissingParameter(param=missing) if missing is not None:
            # What an option's make_metavar() takes depends on the version of click.
            is_option = isinstance(missing, click.Option)
            shown = missing.metavar or "" if is_option else missing.make_metavar(ctx)
            option = missing.opts[-1:] if is_option else []
            said = " ".join(filter(None, (f"{ctx.command.name} needs", *option, shown)))
            instead = _values(missing)
        case click.BadOptionUsage(option_name=name):
            of_name = next((each for each in parameters if name in each.opts), None)
            if getattr(of_name, "is_flag", True):
                said, instead = f"{name}: takes no value", "write it alone"
            else:
                said, instead = f"{name}: its value is missing", _values(of_name)
    return f"{said}; {instead or f'{ctx.command_path} --help'}"


def _values(parameter: click.Parameter | None) -> str:
    """What a parameter may be, as far as its declaration offers something."""
    offered = [] if parameter is None else [value for value, _ in syntax.offered(parameter)]
    return f"such as {', '.join(offered)}" if offered else ""


def _report(message: str, status: int) -> int:
    """Prints an error, on one rank of a job, and returns the status."""
    try:
        from halftrip.texts import printable, shortened

        speaking = speaks(message)
    except (ImportError, MemoryError):
        # Not even for this there is memory.
        os.write(2, f"halftrip: {message}\n".encode())
        return status

    if speaking:
        # A terminal may be gone.
        with contextlib.suppress(OSError):
            print(f"halftrip: {printable(shortened(message))}", file=sys.stderr, flush=True)
    if status == _USAGE_STATUS and in_job():
        # Every rank finds a mistake by itself, and an mpiexec kills all ranks as soon as the first
        # has exited, even if the one that reports the mistake has not done so.
        time.sleep(_REPORTER_SECONDS if speaking else _OTHERS_SECONDS)
    return status


def _status_of(reason: str) -> int:
    """The exit status of a run that was interrupted for this reason."""
    import signal

    name = reason.removeprefix("stopped by ")
    return 128 + signal.Signals[name].value if name in signal.Signals.__members__ else 1

"""The command: one file per subcommand, each imported when it is called."""

from __future__ import annotations

import inspect
import os
import sys
import time
from typing import Annotated, Any, NoReturn

import typer

from halftrip import __version__
from halftrip.errors import HalftripError, Interrupted, UsageError
from halftrip.plan.options import OPTIONS

# Rich markup would double the time that --help takes.
app = typer.Typer(
    name="halftrip",
    help="How fast two processes talk, how far each number can be trusted, and why.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"halftrip {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Say which it is."),
    ] = False,
) -> None:
    pass


Text = str | None


def _run(**given: Any) -> None:
    """Measure, and print a table. With no argument: every transport, 1 byte to 4 MiB."""
    plan = given.pop("plan")
    # A flag that is not given leaves it to the plan.
    options = {
        name: None if value is False and not OPTIONS[name].negatable else value
        for name, value in given.items()
    }
    from halftrip.cli.run import run_plan

    raise typer.Exit(run_plan(plan, options))


def _parameters() -> list[inspect.Parameter]:
    """The plan, and every option of the table that has a place on the command line."""
    plan = Annotated[Text, typer.Argument(help="A plan in TOML; options win over it.")]
    kinds: dict[str, tuple[Any, bool | None]] = {"plan": (plan, None)}
    for name, option in OPTIONS.items():
        dashed = f"--{name.replace('_', '-')}"
        long = f"{dashed}/--no-{name.replace('_', '-')}" if option.negatable else dashed
        names = [option.short, long] if option.short else [long]
        kind = bool if option.is_flag and not option.negatable else bool | None
        kind = kind if option.is_flag else Text
        default = False if option.is_flag and not option.negatable else None
        if option.help:
            kinds[name] = (Annotated[kind, typer.Option(*names, help=option.help)], default)
    return [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, (kind, default) in kinds.items()
    ]


# Typer makes the command line of a function's signature.
_run.__signature__ = inspect.Signature(_parameters())  # type: ignore[attr-defined]
_run.__annotations__ = {p.name: p.annotation for p in _parameters()}
app.command("run")(_run)


@app.command()
def show(
    file: Annotated[str, typer.Argument(metavar="RUN", help="A run file.")],
    style: Annotated[str, typer.Option(help="table, json or csv.")] = "table",
    rtt: Annotated[
        bool, typer.Option("--rtt", help="Round trips of pingpong, not their half.")
    ] = False,
    flags: Annotated[
        bool, typer.Option("--flags", help="Why rows should be doubted, and what to do.")
    ] = False,
    usage: Annotated[
        bool, typer.Option("--usage", help="What each row has cost both ends.")
    ] = False,
    system_log: Annotated[
        bool, typer.Option("--system-log", help="What every host's counters have counted.")
    ] = False,
) -> None:
    """Print a run's table again."""
    from halftrip.cli.show import show_run

    views = {"flags": flags, "usage": usage, "system-log": system_log}
    show_run(file, style, rtt, [name for name, wanted in views.items() if wanted])


@app.command()
def doctor(
    json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Say what on this machine will spoil the numbers."""
    from halftrip.cli.doctor import examine

    examine(json)


_MISTAKE = 2
# How long the rank of a job that speaks stays until it has been heard, and the others for it.
_HEARD_SECONDS = 0.3
_LISTENING_SECONDS = 1.5


def main() -> NoReturn:
    """Runs the command line and exits: 0; 1 if nothing was measured or the run broke off; 2 for a
    mistake in what was asked; 128 and the signal's number if it was stopped by one."""
    status = 0
    try:
        status = app(standalone_mode=False) or 0
    except typer.TyperException as error:
        # The usage of a command that was called without arguments is no error.
        help_wanted = not sys.argv[1:]
        status = 0 if help_wanted else _complain(f"{error.format_message()}".rstrip("."), _MISTAKE)
        if help_wanted:
            print(error.format_message())
    except UsageError as error:
        status = _complain(str(error), _MISTAKE)
    except Interrupted as error:
        status = _status_of(str(error))
        if not error.told:
            _complain(str(error), status)
    except HalftripError as error:
        status = _complain(str(error), 1)
    sys.stdout.flush()
    sys.stderr.flush()
    if status and "mpi4py.MPI" in sys.modules:
        from halftrip.job import shm_cleanup

        # MPI_Finalize would wait for ranks that are gone.
        shm_cleanup.remove_own()
        os._exit(status)
    sys.exit(status)


def _complain(message: str, status: int) -> int:
    from halftrip.cli.speaker import in_job, speaks

    speaking = speaks(message)
    if speaking:
        print(f"halftrip: {message}", file=sys.stderr, flush=True)
    if status == _MISTAKE and in_job():
        # All ranks see a mistake by themselves; and an mpiexec ends the others as soon as one has
        # gone, whether they have spoken or not, and has something to say of it itself.
        time.sleep(_HEARD_SECONDS if speaking else _LISTENING_SECONDS)
    return status


def _status_of(reason: str) -> int:
    import signal

    name = reason.removeprefix("stopped by ")
    return 128 + signal.Signals[name].value if name in signal.Signals.__members__ else 1

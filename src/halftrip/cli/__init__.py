"""The command line: one file per subcommand, each imported when it is called."""

from __future__ import annotations

import inspect
import os
import sys
import time
from typing import Annotated, Any, NoReturn

import typer

from halftrip import __version__
from halftrip.cli.output import replace_closed
from halftrip.errors import HalftripError, Interrupted, UsageError
from halftrip.plan.options import OPTIONS, Option

# Rich markup would double the time that --help takes.
app = typer.Typer(
    name="halftrip",
    help="How fast two processes talk, how far each number can be trusted, and why.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(requested: bool) -> None:
    if requested:
        print(f"halftrip {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "-V", "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    pass


Text = str | None


def _run(**arguments: Any) -> None:
    """Measure, and print a table. With no argument: every transport, 1 byte to 4 MiB."""
    plan, resume, again = (arguments.pop(name) for name in ("plan", "resume", "again"))
    # Without its flag, an option has the plan's value.
    options = {
        name: None if value is False and not OPTIONS[name].negatable else value
        for name, value in arguments.items()
    }
    from halftrip.cli.run import resume_run, run_plan

    if resume is None and again is None:
        raise typer.Exit(run_plan(plan, options))
    raise typer.Exit(resume_run(plan, resume, again, options))


def _parameters() -> list[inspect.Parameter]:
    """The parameters of ``run``: the plan, every option that has a help text, and how to go on with
    an earlier run."""
    plan = Annotated[Text, typer.Argument(help="A plan in TOML; options win over it.")]
    options = [_option(name, option) for name, option in OPTIONS.items() if option.help]
    resume = Annotated[
        Text, typer.Option("--resume", help="Go on with this run file, as a further launch.")
    ]
    again = Annotated[
        Text, typer.Option("--again", help="With --resume: also rows with these verdicts or flags.")
    ]
    return [
        _parameter("plan", plan, None),
        *options,
        _parameter("resume", resume, None),
        _parameter("again", again, None),
    ]


def _option(name: str, option: Option) -> inspect.Parameter:
    dashed = name.replace("_", "-")
    long = f"--{dashed}/--no-{dashed}" if option.negatable else f"--{dashed}"
    names = [option.short, long] if option.short else [long]
    help_text = typer.Option(*names, help=option.help)
    if not option.is_flag:
        return _parameter(name, Annotated[Text, help_text], None)
    if option.negatable:
        return _parameter(name, Annotated[bool | None, help_text], None)
    return _parameter(name, Annotated[bool, help_text], False)


def _parameter(name: str, annotation: Any, default: bool | None) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=default, annotation=annotation)


# Typer makes the command line from a function's signature.
_signature = inspect.Signature(_parameters())
_run.__signature__ = _signature  # type: ignore[attr-defined]
_run.__annotations__ = {name: each.annotation for name, each in _signature.parameters.items()}
app.command("run")(_run)


@app.command()
def show(
    file: Annotated[
        Text, typer.Argument(metavar="[RUN]", help="A run file; none: the newest one here.")
    ] = None,
    style: Annotated[str, typer.Option(help="table, json or csv.")] = "table",
    details: Annotated[
        bool, typer.Option("--details", help="Every row with all its figures.")
    ] = False,
    why: Annotated[
        bool, typer.Option("--why", help="Why rows cannot be trusted, and what to do.")
    ] = False,
    rtt: Annotated[
        bool, typer.Option("--rtt", help="Round trips of pingpong, not their half.")
    ] = False,
    flags: Annotated[bool, typer.Option("--flags", help="All that looks odd in each row.")] = False,
    tails: Annotated[
        bool, typer.Option("--tails", help="p50, p90, p99 and p99.9 with their intervals.")
    ] = False,
    usage: Annotated[
        bool, typer.Option("--usage", help="What each row has cost both ends.")
    ] = False,
    system_log: Annotated[
        bool, typer.Option("--system-log", help="What every host's counters have counted.")
    ] = False,
) -> None:
    """Print a run again."""
    from halftrip.cli.show import show_run

    views = {
        "details": details,
        "why": why,
        "flags": flags,
        "tails": tails,
        "usage": usage,
        "system-log": system_log,
    }
    show_run(file, style, rtt, [name for name, requested in views.items() if requested])


@app.command()
def doctor(
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    load: Annotated[
        Text, typer.Option("--load", help="Look for so long at who has the cores. [0.2s]")
    ] = None,
) -> None:
    """Say what on this machine will spoil the numbers; exit with 1 if anything will."""
    from halftrip.cli.doctor import examine

    raise typer.Exit(examine(json, load))


_USAGE_STATUS = 2
# In a job that another launcher has started: how long the rank that reports a usage error stays, so
# that the launcher passes its message on, and how long the other ranks wait for it.
_REPORTER_SECONDS = 0.3
_OTHERS_SECONDS = 1.5


def main() -> NoReturn:
    """Runs the command line and exits with a status: 0; 1 if nothing was measured or the run ended
    early; 2 for a usage error; 128 plus the signal's number if a signal stopped it."""
    replace_closed()
    status = 0
    try:
        status = app(standalone_mode=False) or 0
    except typer.TyperException as error:
        message = error.format_message()
        if sys.argv[1:]:
            status = _report(message.rstrip("."), _USAGE_STATUS)
        else:
            # Without arguments there is no mistake: the message is the help.
            print(message)
    except UsageError as error:
        status = _report(str(error), _USAGE_STATUS)
    except Interrupted as error:
        status = _status_of(str(error))
        if not error.told:
            _report(str(error), status)
    except HalftripError as error:
        status = _report(str(error), 1)
    sys.stdout.flush()
    sys.stderr.flush()
    if status and "mpi4py.MPI" in sys.modules:
        from halftrip.job import shm_cleanup

        # MPI_Finalize would wait for ranks that have ended.
        shm_cleanup.remove_own()
        os._exit(status)
    sys.exit(status)


def _report(message: str, status: int) -> int:
    """Prints an error, on one rank of a job, and returns the status."""
    from halftrip.cli.speaker import in_job, speaks

    speaking = speaks(message)
    if speaking:
        print(f"halftrip: {message}", file=sys.stderr, flush=True)
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

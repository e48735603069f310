"""The command line: one file per subcommand, each imported when it is called."""

from __future__ import annotations

import contextlib
import copy
import gc
import inspect
import os
import sys
import time
from collections.abc import Sequence
from typing import Annotated, Any, NoReturn

import typer

from halftrip import __version__
from halftrip.cli import (
    changes,
    explaining,
    guides,
    models,
    other_tools,
    over_time,
    paging,
    picturing,
    several_hosts,
    showing,
)
from halftrip.cli.help import Command, Commands, mistake
from halftrip.cli.output import flush, prepare_streams, writing
from halftrip.errors import SHORTAGES, HalftripError, Interrupted, UsageError, shortage
from halftrip.plan.option import GROUPS, Option
from halftrip.plan.options import OPTIONS

# Rich markup would double the time that --help takes.
app = typer.Typer(
    name="halftrip",
    cls=Commands,
    help="How fast two processes talk, how far each number can be trusted, and why.",
    epilog="halftrip help COMMAND says more.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(requested: bool) -> None:
    if requested:
        with writing():
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
    """Measure, and print a table. With no argument: six transports, 1 byte to 4 MiB.

    All but --format, -j, --style, --report, --open, --resume, --again, --against, --base-... are
    also keys of a plan. K, M and G are powers of 1024."""
    plan, no_config, format_, json, style, report, open_ = (
        arguments.pop(name)
        for name in ("plan", "no_config", "format_", "json", "style", "report", "open_")
    )
    resume, again, *base = (arguments.pop(name) for name in _OF_A_RUN)
    # Without its flag, an option has the plan's value.
    options = {
        name: None if value == [] or (value is False and not OPTIONS[name].negatable) else value
        for name, value in arguments.items()
    }
    from halftrip.cli.against import Asked
    from halftrip.cli.report import Page
    from halftrip.cli.run import resume_run, run_plan
    from halftrip.cli.show import Form

    form = Form("json" if json else format_, style)
    page = Page(report or open_, open_)
    against = Asked(*base)
    if resume is None and again is None:
        raise typer.Exit(run_plan(plan, options, form, not no_config, against, page))
    if against.is_given:
        raise UsageError("--resume takes what --against said from the file; leave that out")
    raise typer.Exit(resume_run(plan, resume, again, options, form, page))


def _parameters() -> list[inspect.Parameter]:
    """The parameters of ``run``: the plan, every option that has a help text, how to go on with an
    earlier run, and whether the user's own defaults hold."""
    plan = Annotated[
        Text, typer.Argument(help="A plan in TOML, or the name of a recipe; options win.")
    ]
    parameters = [_parameter("plan", plan, None)]
    for group, title in GROUPS.items():
        parameters += [
            _option(name, option)
            for name, option in OPTIONS.items()
            if option.group == group and option.help
        ]
        parameters += [
            _of_a_run(name, text, title, metavar)
            for name, (metavar, text) in _OF_A_RUN.items()
            if group == "long"
        ]
        if group == "output":
            parameters += _format_parameters(title)
    text = "Leave out the defaults of ~/.config/halftrip/config.toml."
    no_config = _named("--no-config", text, GROUPS["expert"], None)
    return [*parameters, _parameter("no_config", Annotated[bool, no_config], False)]


def _format_parameters(title: str) -> list[inspect.Parameter]:
    """How the run is printed, which is no key of a plan."""
    text = "Print table, csv, json, markdown, latex or nodes. [table]"
    format_ = Annotated[str, _named("--format", text, title, "NAME")]
    json = Annotated[bool, _named("-j", "As --format json.", title, None)]
    style = Annotated[Text, _named("--style", "As osu, imb, hpcbench... print it.", title, "NAME")]
    report = Annotated[bool, _named("--report", "Also write a page about it.", title, None)]
    open_ = Annotated[bool, _named("--open", "The same, and open it in a browser.", title, None)]
    return [
        _parameter("format_", format_, "table"),
        _parameter("json", json, False),
        _parameter("style", style, None),
        _parameter("report", report, False),
        _parameter("open_", open_, False),
    ]


# What concerns a run that exists already is no key of a plan.
_OF_A_RUN = {
    "resume": ("RUN", "Go on with this run file, as a further launch."),
    "again": ("NAME", "With --resume: also rows with these verdicts or flags."),
    "against": ("RUN", "Measure what this run file has again, to compare with it."),
    "base_env": ("NAME=VALUE", "With --against: measure the base again, too, in turn, with this."),
    "base_mpiexec": ("NAME", "The same, with this mpiexec."),
    "base_command": ("NAME", "The same, by this command: another installation's halftrip."),
}
# Of these, the one that may be given several times.
_LIST_OF_A_RUN = "base_env"


def _of_a_run(name: str, text: str, title: str, metavar: str) -> inspect.Parameter:
    named = _named(f"--{name.replace('_', '-')}", text, title, metavar)
    if name == _LIST_OF_A_RUN:
        return _parameter(name, Annotated[list[str] | None, named], None)
    return _parameter(name, Annotated[Text, named], None)


def _option(name: str, option: Option) -> inspect.Parameter:
    dashed = name.replace("_", "-")
    long = f"--{dashed}/--no-{dashed}" if option.negatable else f"--{dashed}"
    metavar = None if option.is_flag else option.metavar
    forms = " ".join((*option.short, long))
    help_text = _named(forms, option.help, GROUPS[option.group], metavar)
    if option.is_list:
        return _parameter(name, Annotated[list[str] | None, help_text], None)
    if not option.is_flag:
        return _parameter(name, Annotated[Text, help_text], None)
    if option.is_repeated:
        return _parameter(name, Annotated[list[bool] | None, help_text], None)
    if option.negatable:
        return _parameter(name, Annotated[bool | None, help_text], None)
    return _parameter(name, Annotated[bool, help_text], False)


def _named(names: str, text: str, title: str, metavar: str | None) -> Any:
    return typer.Option(
        *names.split(), help=text, rich_help_panel=title, metavar=metavar, show_default=False
    )


def _parameter(name: str, annotation: Any, default: bool | str | None) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=default, annotation=annotation)


# Typer makes the command line from a function's signature.
_signature = inspect.Signature(_parameters())
_run.__signature__ = _signature  # type: ignore[attr-defined]
_run.__annotations__ = {name: each.annotation for name, each in _signature.parameters.items()}
app.command("run", cls=Command)(_run)
showing.add_to(app)


@app.command()
def doctor(
    json: Annotated[bool, typer.Option("-j", "--json", help="Print JSON.")] = False,
    load: Annotated[
        Text,
        typer.Option(
            "--load", metavar="TIME", help="Look for so long at who has the cores. [0.2s]"
        ),
    ] = None,
    loops: Annotated[
        bool,
        typer.Option(
            "--loops", help="Instead, compare halftrip with loops written by hand; half a minute."
        ),
    ] = False,
    transport: Annotated[
        Text,
        typer.Option("-t", "--transport", metavar="NAMES", help="With --loops: only over these."),
    ] = None,
    hosts: Annotated[
        Text,
        typer.Option(
            "--hosts", metavar="HERE,OTHER", help="With --loops: between this host and another."
        ),
    ] = None,
    ssh: Annotated[
        Text,
        typer.Option("--ssh", metavar="COMMAND", help="With --hosts: what reaches the other."),
    ] = None,
) -> None:
    """Say what on this machine will spoil the numbers; exit with 1 if anything will."""
    if loops and load is not None:
        raise UsageError("--load: not with --loops")
    if ssh is not None and hosts is None:
        raise UsageError("--ssh: goes with --hosts")
    if loops:
        from halftrip.cli.loops import examine_loops

        raise typer.Exit(examine_loops(transport, json, hosts, ssh))
    for name, value in (("-t", transport), ("--hosts", hosts)):
        if value is not None:
            raise UsageError(f"{name}: goes with --loops")
    from halftrip.cli.doctor import examine

    raise typer.Exit(examine(json, load))


picturing.add_to(app)
changes.add_to(app)
over_time.add_to(app)
paging.add_to(app)
models.add_to(app)
explaining.add_to(app)
other_tools.add_to(app)
several_hosts.add_to(app)


guides.add_to(app)


_USAGE_STATUS = 2
# These say something of the others.
_ABOUT_ALL = ("help", "completion")
# After so many, garbage is collected.
_NEW_OBJECTS = 200_000
# In a job that another launcher has started: how long the rank that reports a usage error stays, so
# that the launcher passes its message on, and how long the other ranks wait for it.
_REPORTER_SECONDS = 0.3
_OTHERS_SECONDS = 1.5


def main() -> NoReturn:
    """Runs the command line and exits with a status: 0; 1 if nothing was measured or the run ended
    early; 2 for a usage error; 128 plus the signal's number if a signal stopped it."""
    prepare_streams()
    # A large run is a million objects, which hold no cycles: to look for these at the usual pace
    # would take a third of the time.
    gc.set_threshold(_NEW_OBJECTS, 100, 100)
    status = 0
    try:
        status = _call()
    except UsageError as error:
        from halftrip.job.mpi_start import shared

        status = _report(str(shared(error)), _USAGE_STATUS)
    except Interrupted as error:
        status = _status_of(str(error))
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
        from halftrip.job import shm_cleanup

        # MPI_Finalize would wait for ranks that have ended.
        shm_cleanup.remove_own()
        os._exit(status)
    # The process is over: to look for garbage, and free it, would take 30 ms.
    gc.freeze()
    sys.exit(status)


def _call() -> int:
    """Calls what the command line names, and returns its status."""
    try:
        return _called(sys.argv[1:])(standalone_mode=False) or 0
    except typer.TyperException as error:
        if sys.argv[1:]:
            raise UsageError(mistake(error)) from None
        # Without arguments there is no mistake: the message is the help.
        print(error.format_message())
        return 0


def _called(words: Sequence[str]) -> typer.Typer:
    """The command line with no other command than the one that is called: Typer makes all that it
    has, which takes as long as half of the imports."""
    name = words[0] if words else None
    if name in _ABOUT_ALL:
        return app
    named = [
        command
        for command in app.registered_commands
        if command.callback is not None and name == (command.name or command.callback.__name__)
    ]
    if not named:
        return app
    narrow = copy.copy(app)
    narrow.registered_commands = named
    return narrow


def _report(message: str, status: int) -> int:
    """Prints an error, on one rank of a job, and returns the status."""
    try:
        from halftrip.cli.speaker import in_job, speaks
        from halftrip.texts import printable, shortened
    except (ImportError, MemoryError):
        # Not even for this there is memory.
        os.write(2, f"halftrip: {message}\n".encode())
        return status

    speaking = speaks(message)
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

"""The command: one file per subcommand, each imported when it is called."""

from __future__ import annotations

import os
import sys
import time
from typing import Annotated, NoReturn

import typer

from halftrip import __version__
from halftrip.errors import HalftripError, Interrupted, UsageError

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


@app.command()
def run(
    plan: Annotated[Text, typer.Argument(help="A plan in TOML; options win over it.")] = None,
    transport: Annotated[
        Text,
        typer.Option(
            "-t",
            "--transport",
            help="mpi, shm, pipe, unix, tcp, udp: some. [all]; simulated: in virtual time.",
        ),
    ] = None,
    pattern: Annotated[
        Text,
        typer.Option(
            "-p",
            "--pattern",
            help="pingpong, stream, bidirectional, exchange, pingping, put, get. [pingpong]",
        ),
    ] = None,
    mode: Annotated[
        Text,
        typer.Option(
            "-m",
            "--mode",
            help="blocking, nonblocking, persistent, ssend, onesided. [blocking; onesided for "
            "put, get]",
        ),
    ] = None,
    sizes: Annotated[
        Text,
        typer.Option(
            "-s", "--sizes", help="8,64,1K or 1..4M (doubles), 1..4M*4, 0..4000+4. [1..4M]"
        ),
    ] = None,
    perturb: Annotated[
        Text, typer.Option(help="Add each size less and more so many bytes. [0]")
    ] = None,
    refine: Annotated[
        bool, typer.Option("--refine", help="Add sizes where the curve bends, to locate it.")
    ] = False,
    window: Annotated[Text, typer.Option(help="Messages in flight. [64; 1 for put, get]")] = None,
    wait: Annotated[
        Text, typer.Option(help="How a receiver waits: block, spin or both. [as usual for each]")
    ] = None,
    buffers: Annotated[
        Text, typer.Option(help="Receive into the buffer sent from? same, separate. [separate]")
    ] = None,
    pages: Annotated[Text, typer.Option(help="Page size of buffers: 4K, huge. [4K]")] = None,
    cache: Annotated[
        Text, typer.Option(help="One buffer, or a ring larger than the cache: hot, cold. [hot]")
    ] = None,
    align: Annotated[
        Text, typer.Option(help="Align buffers to just so many bytes: 1, 2, 4 ... [a page]")
    ] = None,
    datatype: Annotated[
        Text, typer.Option(help="What MPI is told: byte, contiguous, vector. [byte]")
    ] = None,
    rate: Annotated[
        Text, typer.Option(help="What a udp stream offers, bytes per second. [all it can]")
    ] = None,
    timeout: Annotated[
        Text, typer.Option(help="How long to wait for an answer to a datagram. [1s]")
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Check every byte, outside the timed loops.")
    ] = False,
    rtt: Annotated[
        bool, typer.Option("--rtt", help="Print round trips of pingpong, not their half.")
    ] = False,
    ci: Annotated[
        Text, typer.Option(help="End a case when its interval is this narrow, or none. [1%]")
    ] = None,
    time: Annotated[Text, typer.Option(help="End a case after so much sampling. [0.3s]")] = None,
    iterations: Annotated[
        Text, typer.Option(help="End a case after exactly so many exchanges instead.")
    ] = None,
    repetitions: Annotated[
        Text, typer.Option("-r", "--repetitions", help="Passes over all cases, shuffled. [1]")
    ] = None,
    preset: Annotated[
        Text, typer.Option(help="quick, standard or paper: what holds where nothing is said.")
    ] = None,
    launches: Annotated[Text, typer.Option(help="Start fresh processes so often. [1]")] = None,
    until_ci: Annotated[
        bool, typer.Option("--until-ci", help="Launch again until every interval is within --ci.")
    ] = False,
    max_launches: Annotated[
        Text, typer.Option(help="With --until-ci, so many launches at most. [30]")
    ] = None,
    pairs: Annotated[
        Text, typer.Option(help="Who talks to whom: halves, neighbours, all. [halves]")
    ] = None,
    pairs_at_once: Annotated[
        Text, typer.Option(help="How many pairs talk at the same time. [all that can]")
    ] = None,
    threads: Annotated[
        Text, typer.Option(help="How many threads of each rank talk at the same time. [1]")
    ] = None,
    cores: Annotated[
        Text, typer.Option(help="A core for each rank, as 0,1, or none. [chosen]")
    ] = None,
    placement_state: Annotated[
        Text,
        typer.Option(
            help="Only samples taken while the cores were near, or far (by the line). [any]"
        ),
    ] = None,
    system_log: Annotated[
        bool | None,
        typer.Option(
            "--system-log/--no-system-log",
            help="Record every host's counters, case by case. [no]",
        ),
    ] = None,
    ranks: Annotated[Text, typer.Option("-n", "--ranks", help="How many ranks. [2]")] = None,
    launcher: Annotated[
        Text,
        typer.Option(
            help="Who starts them: local, mpiexec. [mpiexec where MPI is measured or one is named]"
        ),
    ] = None,
    mpiexec: Annotated[
        Text, typer.Option(help="Which mpiexec, and so which MPI; may have arguments.")
    ] = None,
    output: Annotated[
        Text, typer.Option("-o", "--output", help="The run file. [halftrip-DATE-TIME.jsonl]")
    ] = None,
    quiet: Annotated[
        bool, typer.Option("-q", "--quiet", help="Print the name of the run file only.")
    ] = False,
) -> None:
    """Measure, and print a table. With no argument: every transport, 1 byte to 4 MiB."""
    # A flag that is not given leaves it to the plan.
    given = {name: value for name, value in locals().items() if name != "plan"}
    options = {
        name: None if value is False and name != "system_log" else value
        for name, value in given.items()
    }
    from halftrip.cli.run import run_plan

    raise typer.Exit(run_plan(plan, options))


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
    from halftrip.cli.voice import in_job, speaks

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

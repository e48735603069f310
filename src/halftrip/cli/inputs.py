"""The runs that a command reads, the options that choose rows of them, and what is said of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar, get_args

from halftrip.cli import syntax
from halftrip.errors import UsageError, system_reason
from halftrip.plan import parsing
from halftrip.registry import TRANSPORTS
from halftrip.results.patterns import Pattern
from halftrip.texts import printable

if TYPE_CHECKING:
    from halftrip.report.selection import Selection
    from halftrip.results.run import Run

Text = str | None
_Read = TypeVar("_Read")

RunFile = Annotated[Text, syntax.Argument(metavar="RUN", help="The run file. [newest]")]
RunFiles = Annotated[
    list[str] | None,
    syntax.Argument(
        metavar="[RUN...]", help="Run files; several: side by side. [the newest one here]"
    ),
]
Transports = Annotated[
    Text, syntax.Option("-t", "--transport", metavar="NAME", help="Only of these.")
]
Patterns = Annotated[Text, syntax.Option("-p", "--pattern", metavar="NAME", help="Only of these.")]
Sizes = Annotated[
    Text,
    syntax.Option(
        "-s", "-m", "--sizes", metavar="SIZES", help="Only these: 8,1K..1M (all between)."
    ),
]
Pairs = Annotated[
    Text, syntax.Option("--pair", metavar="PAIR", help="Only these pairs of ranks: 0-1,2-3.")
]
LaunchSpread = Annotated[
    Text,
    syntax.Option(
        "--launch-spread",
        metavar="SHARE",
        help="By how much launches of a test differ. [as measured]",
    ),
]

# Of what a run has, so much is named; there may be thousands of pairs.
_MOST_NAMED = 8


def selection_of(
    transport: Text = None, pattern: Text = None, sizes: Text = None, pair: Text = None
) -> Selection:
    """The selection by these options. Raises UsageError, which names the option that is wrong."""
    from halftrip.report.selection import Selection

    return Selection(
        transports=given("--transport", parsing.some_of(TRANSPORTS), transport),
        patterns=given("--pattern", parsing.some_of(get_args(Pattern)), pattern),
        sizes=given("--sizes", parsing.size_ranges, sizes),
        pairs=given("--pair", parsing.pairs_of(()), pair),
    )


def given(option: str, read: Callable[[str], _Read], text: Text) -> _Read | None:
    """What an option says; None where it is not given. Raises UsageError, which names it."""
    try:
        return None if text is None else read(text)
    except UsageError as error:
        raise UsageError(f"{option}: {error}") from None


def path_of(run: Text) -> str:
    """The run file that is named, or the newest in this directory."""
    from halftrip.results.run_file import newest

    return str(newest()) if run is None else run


def paths_of(runs: Sequence[str] | None) -> list[str]:
    """The same of several."""
    return [*runs] if runs else [path_of(None)]


def files_in(paths: Sequence[str]) -> Iterator[str]:
    """The files that these paths name, or directories hold, each once. Raises UsageError for a path
    that there is not, and a directory that cannot be read."""
    seen = set()
    for path in paths:
        if not os.path.exists(path):
            raise UsageError(f"{printable(path)}: no such file or directory")
        for file in _in_directory(path) if os.path.isdir(path) else [path]:
            whole = os.path.realpath(file)
            if whole not in seen:
                seen.add(whole)
                yield file


def _in_directory(path: str) -> list[str]:
    """The files in a directory in the order of their names, without hidden ones."""
    try:
        with os.scandir(path) as entries:
            found = [each.path for each in entries if each.name[0] != "." and each.is_file()]
    except OSError as error:
        raise UsageError(f"{printable(path)}: {system_reason(error).lower()}") from None
    return sorted(os.path.normpath(each) for each in found)


def loaded(path: str) -> Run:
    """The run in a file; a line says what could not be read of it. Raises UsageError for a file
    that is no run file."""
    from halftrip.results.run_file import load

    run: Run = load(path)
    for problem in run.problems:
        print(f"halftrip: {problem}", file=sys.stderr)
    return run


def run_names(paths: Sequence[str]) -> list[str]:
    """What runs are called: by their files, by all of their paths where files have one name. Raises
    UsageError for a file that is named twice."""
    real = [os.path.realpath(path) for path in paths]
    twice = next((path for n, path in enumerate(paths) if real[n] in real[:n]), None)
    if twice is not None:
        raise UsageError(f"{printable(twice)}: named twice; leave one out")
    short = [printable(Path(path).name.removesuffix(".jsonl")) for path in paths]
    return short if len(set(short)) == len(short) else [*map(printable, paths)]


def check_output(output: str, paths: Sequence[str]) -> None:
    """Raises UsageError where a file to be written is one of the runs."""
    if os.path.realpath(output) in map(os.path.realpath, paths):
        raise UsageError(f"{printable(output)}: is the run itself; name another file with --output")


def no_such_curve(path: str, run: Run) -> UsageError:
    """That nothing of a run is selected, and what it has, in the words of the options that
    select."""
    configurations = run.by_configuration.keys()
    chosen = {
        "-t": (each.transport for each in configurations),
        "-p": (each.pattern for each in configurations),
        "--pair": ("-".join(map(str, each.pair)) for each in configurations),
    }
    has = "; ".join(f"{option} {_named(names)}" for option, names in chosen.items())
    if not configurations:
        has = "none: nothing was measured"
    return UsageError(f"{printable(path)}: no such curve; the run has {has}")


def _named(names: Iterable[str]) -> str:
    different = list(dict.fromkeys(names))
    more = len(different) - _MOST_NAMED
    said = ", ".join(different[:_MOST_NAMED])
    return f"{said} and {more} more" if more > 0 else said
